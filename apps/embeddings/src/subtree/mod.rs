//! Logistic regression that separates the nodes below a root from all others, by their Poincaré embedding:
//! Ganea, Bécigneul, Hofmann 2018, section 4, Table 2 and Figure 2.

mod command;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cotangent::manifolds::Product;
use cotangent::optim::solvers::{Problem, Stopping, lbfgs};
use cotangent::optim::train::{Shuffled, Trainer};
use cotangent::prelude::*;
use cotangent_apps_common::confusion::Confusion;
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::{AppError, Result, finite};
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::metrics;
use cotangent_apps_common::options;
use cotangent_apps_common::output;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::evaluate::neighbours::gathered;
use crate::files::embeddings::Embeddings;
use crate::graph::Graph;
use crate::graph::edges::ReadGraph;

pub use command::{APP, run};

/// A kind of logistic regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Classifier {
    /// Logistic regression in the Poincaré ball.
    Hyperbolic,
    /// Euclidean logistic regression on the ball's coordinates.
    Euclidean,
    /// Euclidean logistic regression on the logarithms at the origin.
    Log0,
}

impl Classifier {
    /// All classifiers.
    pub const ALL: [Self; 3] = [Classifier::Hyperbolic, Classifier::Euclidean, Classifier::Log0];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        ["hyperbolic", "euclidean", "log0"][self as usize]
    }
}

/// How the classifiers are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Riemannian Adam on batches.
    Adam,
    /// L-BFGS on all training nodes, until the norm of the gradient is 1e-8.
    Lbfgs,
}

/// A subtree of Table 2.
pub struct Published {
    /// Its root.
    pub root: &'static str,
    /// F1 in percent and half the width of its 95 % interval: a row for each of [`Classifier::ALL`], with
    /// columns for 2, 3, 5 and 10 dimensions.
    pub f1: [[(f64, f64); 4]; 3],
}

/// Ganea et al. 2018, Table 2.
pub const TABLE_2: [Published; 4] = [
    Published {
        root: "animal.n.01",
        f1: [
            [(47.43, 1.07), (91.92, 0.61), (98.07, 0.55), (99.26, 0.59)],
            [(41.69, 0.19), (68.43, 3.90), (95.59, 1.18), (99.36, 0.18)],
            [(38.89, 0.01), (62.57, 0.61), (89.21, 1.34), (98.27, 0.70)],
        ],
    },
    Published {
        root: "group.n.01",
        f1: [
            [(81.72, 0.17), (89.87, 2.73), (87.89, 0.80), (91.91, 3.07)],
            [(61.13, 0.42), (63.56, 1.22), (67.82, 0.81), (91.38, 1.19)],
            [(60.75, 0.24), (61.98, 0.57), (67.92, 0.74), (91.41, 0.18)],
        ],
    },
    Published {
        root: "worker.n.01",
        f1: [
            [(12.68, 0.82), (24.09, 1.49), (55.46, 5.49), (66.83, 11.38)],
            [(10.86, 0.01), (22.39, 0.04), (35.23, 3.16), (47.29, 3.93)],
            [(9.04, 0.06), (22.57, 0.20), (26.47, 0.78), (36.66, 2.74)],
        ],
    },
    Published {
        root: "mammal.n.01",
        f1: [
            [(32.01, 17.14), (87.54, 4.55), (88.73, 3.22), (91.37, 6.09)],
            [(15.58, 0.04), (44.68, 1.87), (59.35, 1.31), (77.76, 5.08)],
            [(13.10, 0.13), (44.89, 1.18), (52.51, 0.85), (56.11, 2.21)],
        ],
    },
];

/// The published F1 and half the width of its 95 % interval, in percent.
pub fn published(root: &str, classifier: Classifier, dim: usize) -> Option<(f64, f64)> {
    let subtree = TABLE_2.iter().find(|subtree| subtree.root == root)?;
    let column = [2, 3, 5, 10].iter().position(|&d| d == dim)?;
    Some(subtree.f1[classifier as usize][column])
}

/// Everything that determines the result, except the embedding and the hierarchy.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubtreeConfig {
    /// Root of a subtree. May be given several times [default: the four roots of Table 2].
    #[arg(long = "root", value_name = "ROOT", help_heading = "Data")]
    pub roots: Vec<String>,
    /// How the classifiers are trained.
    #[arg(long, value_enum, default_value_t = Solver::Adam, help_heading = "Training")]
    pub solver: Solver,
    /// Passes over the training nodes; with --solver lbfgs, the largest number of iterations.
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    pub epochs: u64,
    /// Number of nodes in a batch of Adam.
    #[arg(long, default_value_t = 64, help_heading = "Training")]
    pub batch: usize,
    /// Initial learning rate of Adam; it falls to 0 along half a cosine.
    #[arg(long, default_value_t = 0.05, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Give the subtree and the other nodes the same total weight in the loss [default: each node has the
    /// same weight].
    #[arg(long, help_heading = "Training")]
    pub balanced: bool,
    /// First seed; a seed determines the split into training and test nodes, the initial weights and the
    /// order. Same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// Number of runs, with consecutive seeds, in parallel; two or more give a 95 % confidence interval.
    #[arg(long, default_value_t = 3, help_heading = "Training")]
    pub seeds: u64,
}

impl SubtreeConfig {
    fn check(&self) -> Result<()> {
        options::at_least_one(&[("epochs", self.epochs), ("batch", self.batch as u64)])?;
        options::seeds(self.seed, self.seeds)?;
        options::positive(&[("lr", self.lr)])
    }
}

/// The result of one classifier for one subtree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassifierResult {
    /// The subtree's root.
    pub root: String,
    /// Number of nodes of the subtree for training and for testing, including the root.
    pub positives: [usize; 2],
    /// Number of other nodes for training and for testing.
    pub negatives: [usize; 2],
    /// The classifier.
    pub classifier: Classifier,
    /// Test F1 of each seed, from 0 to 1.
    pub f1: Vec<f64>,
    /// Their mean and its 95 % interval.
    pub interval: Interval,
    /// Training loss of each seed.
    pub loss: Vec<f64>,
    /// The confusion matrix of the test nodes for the first seed; class 1 is the subtree.
    pub confusion: Confusion,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubtreeMetrics {
    /// Hyperparameters and seeds.
    pub config: SubtreeConfig,
    /// The file of the embedding.
    pub embedding: PathBuf,
    /// How the edge list was read.
    #[serde(default)]
    pub read_as: String,
    /// Its dimension.
    pub dim: usize,
    /// Its curvature.
    pub kappa: f64,
    /// Number of nodes of the hierarchy.
    pub nodes: usize,
    /// The device that the classifiers were trained on.
    pub device: String,
    /// A row for each subtree and classifier.
    pub rows: Vec<ClassifierResult>,
    /// Total time in seconds.
    pub seconds: f64,
}

/// The class of each node: 1 for the root and all nodes below it, from which pairs (node, ancestor) lead to
/// the root; 0 for all others.
pub fn below(graph: &Graph, root: u32) -> Vec<u32> {
    let children = Graph { pairs: graph.pairs.iter().map(|&(u, v)| (v, u)).collect(), ..graph.clone() };
    let children = children.neighbours();
    let mut labels = vec![0; graph.names.len()];
    let mut reached = vec![root];
    labels[root as usize] = 1;
    while let Some(node) = reached.pop() {
        for &child in children.of(node) {
            if std::mem::replace(&mut labels[child as usize], 1) == 0 {
                reached.push(child);
            }
        }
    }
    labels
}

/// The nodes for training and for testing.
struct Split {
    train: Vec<u32>,
    test: Vec<u32>,
}

impl Split {
    /// Takes four fifths of each class (rounded down) for training and the others for testing.
    fn new(labels: &[u32], seed: u64) -> Self {
        let mut split = Split { train: Vec::new(), test: Vec::new() };
        for class in [1, 0] {
            let mut nodes: Vec<u32> =
                (0..labels.len() as u32).filter(|&i| labels[i as usize] == class).collect();
            nodes.shuffle(&mut rng::stream(seed, "split", u64::from(class)));
            let test = nodes.split_off(nodes.len() * 4 / 5);
            split.train.extend(nodes);
            split.test.extend(test);
        }
        split
    }

    /// Number of nodes of a class for training and for testing.
    fn count(&self, labels: &[u32], class: u32) -> [usize; 2] {
        [&self.train, &self.test].map(|nodes| nodes.iter().filter(|&&i| labels[i as usize] == class).count())
    }
}

/// A trained classifier and its test result.
struct Fit {
    /// A point on the hyperplane of each class, `[2, dim]`.
    points: Tensor<f64>,
    /// The normals of the hyperplanes, `[2, dim]`.
    normals: Tensor<f64>,
    confusion: Confusion,
    /// The loss of the training nodes.
    loss: f64,
}

/// Mean cross-entropy of logits `[nodes, 2]`, with a weight for each of the two classes.
fn loss<'t>(logits: Var<'t, f64>, classes: &[u32], weight: [f64; 2]) -> Var<'t, f64> {
    let of_class = logits.log_softmax(-1).take_along(classes); // [nodes, 1]
    let weights = logits.tape().constant_with(of_class.shape(), |to| {
        to.iter_mut().zip(classes).for_each(|(to, &class)| *to = weight[class as usize]);
    });
    (of_class * weights).mean() * -1.0
}

/// A subtree, and how its nodes are told from the others.
#[derive(Clone, Copy)]
struct Task<'a> {
    root: &'a str,
    /// The class of each node.
    labels: &'a [u32],
    classifier: Classifier,
    seed: u64,
    /// What is classified: the points, or their logarithms.
    points: &'a Tensor<f64>,
}

impl Task<'_> {
    fn fit(&self, ball: PoincareBall, config: &SubtreeConfig, device: &Device) -> Result<Fit> {
        let split = Split::new(self.labels, self.seed);
        let (task, split) = (self, &split);
        let geometry = match self.classifier {
            Classifier::Hyperbolic => ball.into(),
            Classifier::Euclidean | Classifier::Log0 => Euclidean.into(),
        };
        Fitting { geometry, task, split, config, device }.fit()
    }

    /// The results of all seeds, of which this task has the first.
    fn row(&self, fits: &[Fit]) -> ClassifierResult {
        let split = Split::new(self.labels, self.seed);
        let f1: Vec<f64> = fits.iter().map(|fit| fit.confusion.f1(1)).collect();
        let [positives, negatives] = [1, 0].map(|class| split.count(self.labels, class));
        ClassifierResult {
            root: self.root.to_owned(),
            positives,
            negatives,
            classifier: self.classifier,
            interval: Interval::mean(&f1),
            f1,
            loss: fits.iter().map(|fit| fit.loss).collect(),
            confusion: fits[0].confusion.clone(),
        }
    }
}

/// A fit that is under way.
struct Fitting<'a> {
    geometry: AnyGeometry<f64>,
    task: &'a Task<'a>,
    split: &'a Split,
    config: &'a SubtreeConfig,
    device: &'a Device,
}

impl Fitting<'_> {
    /// Fits logistic regression to the training points and tests it on the test points. Each of the two
    /// classes has a hyperplane: Ganea et al. 2018, eq. 23.
    fn fit(&self) -> Result<Fit> {
        let mut rng = rng::stream(self.task.seed, "initial", 0);
        let (manifold, width) = (self.geometry.manifold(), self.task.points.width());
        let mut regression = LogisticRegression::<SpaceForm, f64>::new(manifold, width, 2, &mut rng);
        let steps = match self.config.solver {
            Solver::Adam => self.by_adam(&mut regression)?,
            Solver::Lbfgs => self.by_lbfgs(&mut regression),
        };
        let logits = |nodes: &[u32]| {
            let (tape, (x, classes)) = (Tape::with_device(self.device.clone()), self.part(nodes));
            let logits = regression.forward(Point::new(self.geometry.on(&tape), tape.constant(&x)));
            (loss(logits, &classes, self.weight()).item(), logits.top_k(1).1, classes)
        };
        let mut confusion = Confusion::new(2);
        let (_, found, classes) = logits(&self.split.test);
        classes.iter().zip(found).for_each(|(&class, found)| confusion.add(class, found));
        let loss = finite(steps, logits(&self.split.train).0)?;
        let LogisticRegression { points, normals } = regression;
        Ok(Fit { points: points.value().clone(), normals: normals.value().clone(), confusion, loss })
    }

    /// The points of some nodes, `[nodes, dim]`, and their classes.
    fn part(&self, nodes: &[u32]) -> (Tensor<f64>, Vec<u32>) {
        let rows = nodes.iter().flat_map(|&i| self.task.points.row(i as usize)).copied().collect();
        let classes: Vec<u32> = nodes.iter().map(|&i| self.task.labels[i as usize]).collect();
        (Tensor::new([nodes.len(), self.task.points.width()], rows), classes)
    }

    /// The weight of each class.
    fn weight(&self) -> [f64; 2] {
        [0, 1].map(|class| {
            let share = self.split.count(self.task.labels, class)[0] as f64 / self.split.train.len() as f64;
            if self.config.balanced { 0.5 / share } else { 1.0 }
        })
    }

    /// Trains on batches. Returns the number of steps.
    fn by_adam(&self, regression: &mut LogisticRegression<SpaceForm, f64>) -> Result<u64> {
        let Fitting { geometry, split, config, .. } = self;
        let batches = Shuffled { items: split.train.len(), batch: config.batch, seed: self.task.seed };
        let steps = options::steps(config.epochs, batches.items.div_ceil(config.batch) as u64)?;
        let weight = self.weight();
        let history = Trainer::new(config.epochs)
            .schedule(Schedule::Cosine { steps, floor: 0.0 })
            .device(self.device.clone())
            .parts(1, 1)
            .run(
                regression,
                &mut RiemannianAdam::new(config.lr)?,
                &batches,
                |regression, tape, items| {
                    let nodes: Vec<u32> = items.iter().map(|&item| split.train[item as usize]).collect();
                    let (x, classes) = self.part(&nodes);
                    loss(
                        regression.forward(Point::new(geometry.on(tape), tape.constant(&x))),
                        &classes,
                        weight,
                    )
                },
                |_, _| Ok(0.0),
            )?;
        Ok(history.steps)
    }

    /// Solves for the hyperplanes of all training points. Returns the largest number of iterations.
    fn by_lbfgs(&self, regression: &mut LogisticRegression<SpaceForm, f64>) -> u64 {
        let (manifold, dim, weight) = (self.geometry.manifold(), self.task.points.width(), self.weight());
        let (x, classes) = self.part(&self.split.train);
        // The unknowns are the points of both hyperplanes, then their normals: p₀ p₁ a₀ a₁.
        let manifold = Product::new(manifold, dim, Product::new(manifold, dim, Euclidean));
        let mut problem = Problem::on_device(self.device.clone(), manifold, |hyperplanes| {
            let row = *hyperplanes.coordinates();
            let half = |range| row.slice(0, range).reshape([2, dim]);
            let x = row.tape().constant(&x);
            let (p, a) = (half(0..2 * dim), half(2 * dim..4 * dim));
            loss(self.geometry.on(row.tape()).logits(x, p, a), &classes, weight)
        });
        let [p, a] = [regression.points.value().data(), regression.normals.value().data()];
        let start = Row::from([p, a].concat().as_slice());
        let stopping = Stopping { iterations: self.config.epochs as usize, ..Stopping::default() };
        let found = lbfgs(&mut problem, start, stopping).point;
        regression.points.value_mut().data_mut().copy_from_slice(&found[..2 * dim]);
        regression.normals.value_mut().data_mut().copy_from_slice(&found[2 * dim..]);
        self.config.epochs
    }
}

impl Fit {
    /// Points and normals of the lines that are drawn between the classes in two dimensions. For hyperbolic
    /// regression they are the hyperplanes of the other nodes and of the subtree. The paper's Figure 2 has
    /// the latter, but either may be too near the rim to be seen. For Euclidean regression it is the line
    /// where both classes are equally likely.
    fn boundaries(&self, classifier: Classifier) -> Vec<([f64; 2], [f64; 2])> {
        let [[q, b], [p, a]] =
            [0, 1].map(|class| [&self.points, &self.normals].map(|x| [x.row(class)[0], x.row(class)[1]]));
        if classifier == Classifier::Hyperbolic {
            return vec![(q, b), (p, a)];
        }
        let dot = |x: [f64; 2], y: [f64; 2]| x[0] * y[0] + x[1] * y[1];
        let normal = [a[0] - b[0], a[1] - b[1]];
        let along = (dot(p, a) - dot(q, b)) / dot(normal, normal);
        vec![(normal.map(|x| along * x), normal)]
    }
}

/// Trains and tests every classifier on every subtree with every seed, in parallel in the current thread
/// pool. Writes `metrics.json` and, in two dimensions, `ROOT-CLASSIFIER.svg` for the first seed. The result
/// does not depend on the number of threads. `embedding` and `edges` are the files, for errors.
///
/// # Errors
/// If the configuration is wrong, the embedding is not in the Poincaré ball or lacks a node, a root is not
/// in the hierarchy, a subtree or its complement has fewer than five nodes, training diverges, or the output
/// cannot be written.
pub fn separate(
    embedding: &Path,
    embeddings: &Embeddings,
    edges: &Path,
    ReadGraph { graph, read_as }: &ReadGraph,
    config: &SubtreeConfig,
    out: &Path,
    device: &Device,
) -> Result<SubtreeMetrics> {
    config.check()?;
    device.computes::<f64>()?;
    let Some(SpaceForm::PoincareBall(ball)) = embeddings.geometry.single() else {
        let message = format!("an embedding in {}: the Poincaré ball is needed", embeddings.geometry);
        return Err(AppError::content(embedding, message));
    };
    let start = std::time::Instant::now();
    let _held = output::hold_without_model(out)?;
    let at = embeddings.index(embedding, &graph.names)?;
    let dim = embeddings.points.width();
    let points = gathered(&embeddings.points, &at);
    let logarithms = ball.log0(&points);
    let subtrees: Vec<(&String, Vec<u32>)> =
        config.roots.iter().map(|root| Ok((root, subtree(edges, graph, root)?))).collect::<Result<_>>()?;

    let seeds = options::seeds(config.seed, config.seeds)?;
    let mut tasks = Vec::new();
    for (root, labels) in &subtrees {
        for classifier in Classifier::ALL {
            let points = if classifier == Classifier::Log0 { &logarithms } else { &points };
            tasks.extend(seeds.clone().map(|seed| Task { root, labels, classifier, seed, points }));
        }
    }
    // Of several errors the first task's counts, whichever came first.
    let fits: Vec<Result<Fit>> = tasks.par_iter().map(|task| task.fit(ball, config, device)).collect();
    let fits: Vec<Fit> = fits.into_iter().collect::<Result<_>>()?;
    let mut rows = Vec::new();
    let seeds = config.seeds as usize;
    for (tasks, fits) in tasks.chunks(seeds).zip(fits.chunks(seeds)) {
        let row = tasks[0].row(fits);
        if dim == 2 {
            picture(out, &row, &tasks[0], &fits[0], ball.kappa())?;
        }
        rows.push(row);
    }
    let metrics = SubtreeMetrics {
        config: config.clone(),
        embedding: embedding.into(),
        read_as: read_as.clone(),
        dim,
        kappa: ball.kappa(),
        nodes: graph.names.len(),
        device: device.to_string(),
        rows,
        seconds: start.elapsed().as_secs_f64(),
    };
    metrics::write(out, &metrics)?;
    Ok(metrics)
}

/// The classes of the nodes as [`below`] gives them. Checks that each class is large enough to be split.
fn subtree(edges: &Path, graph: &Graph, root: &str) -> Result<Vec<u32>> {
    let at = graph.names.iter().position(|name| name == root);
    let at = at.ok_or_else(|| AppError::content(edges, format!("--root {root}: no such node")))?;
    let labels = below(graph, at as u32);
    let size = labels.iter().filter(|&&class| class == 1).count();
    if size < 5 || labels.len() - size < 5 {
        let message = format!(
            "--root {root}: {size} of {} nodes are in its subtree; 5 in it and 5 outside are needed",
            labels.len()
        );
        return Err(AppError::content(edges, message));
    }
    Ok(labels)
}

/// Draws the subtree, some of the other nodes, and the boundary between them.
fn picture(out: &Path, row: &ClassifierResult, task: &Task<'_>, fit: &Fit, kappa: f64) -> Result<()> {
    /// At most this many nodes of each class are drawn, the first ones in the hierarchy's order.
    const SHOWN: usize = 10_000;
    let &Task { points, labels, .. } = task;
    let drawn = |class: u32| (0..labels.len()).filter(move |&i| labels[i] == class).take(SHOWN);
    let nodes: Vec<usize> = drawn(0).chain(drawn(1)).collect();
    let pair = |row: &[f64]| [row[0], row[1]];
    let title =
        format!("{} in two dimensions, {}: F1 {:.2} %", row.root, row.classifier.name(), 100.0 * row.f1[0]);
    let flat = row.classifier == Classifier::Log0;
    disk::classes(
        &out.join(format!("{}-{}.svg", row.root.replace('/', "_"), row.classifier.name())),
        &Classes {
            points: &nodes.iter().map(|&i| pair(points.row(i))).collect::<Vec<_>>(),
            labels: &nodes.iter().map(|&i| labels[i]).collect::<Vec<_>>(),
            names: &["other nodes".to_owned(), format!("{} and below", row.root)],
            hyperplanes: &fit.boundaries(row.classifier),
            coloured: row.classifier == Classifier::Hyperbolic,
            kappa: if flat { 0.0 } else { kappa },
            geodesics: row.classifier == Classifier::Hyperbolic,
            title: &title,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;

    #[test]
    fn subtrees_follow_edges_and_closures_alike() {
        let build = |pairs: &[(&str, &str)]| {
            let mut builder = Builder::default();
            pairs.iter().for_each(|(u, v)| builder.add(u, v, None));
            builder.finish()
        };
        let edges = build(&[("b", "a"), ("c", "b"), ("d", "b"), ("d", "e"), ("f", "a")]);
        let closure =
            build(&[("b", "a"), ("c", "b"), ("c", "a"), ("d", "b"), ("d", "a"), ("d", "e"), ("f", "a")]);
        for graph in [edges, closure] {
            let at = |name: &str| graph.names.iter().position(|n| n == name).unwrap() as u32;
            let labels = below(&graph, at("b"));
            let mut names: Vec<&str> =
                (0..labels.len()).filter(|&i| labels[i] == 1).map(|i| &graph.names[i]).collect();
            names.sort_unstable();
            assert_eq!(names, ["b", "c", "d"]);
        }
    }

    #[test]
    fn a_split_takes_every_node_once_and_a_fifth_of_each_class() {
        let labels: Vec<u32> = (0..1000).map(|i| u32::from(i % 10 == 3)).collect();
        let split = Split::new(&labels, 1);
        assert_eq!((split.count(&labels, 1), split.count(&labels, 0)), ([80, 20], [720, 180]));
        let mut all: Vec<u32> = split.train.iter().chain(&split.test).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_ne!(split.train, Split::new(&labels, 2).train);
    }

    /// On the line, both classes are equally likely.
    #[test]
    fn the_line_between_the_classes() {
        let points = Tensor::new([2, 2], vec![0.1, 0.2, -0.3, 0.5]);
        let normals = Tensor::new([2, 2], vec![2.0, 1.0, -1.0, 3.0]);
        let fit = Fit { points, normals, confusion: Confusion::new(2), loss: 0.0 };
        let (point, normal) = fit.boundaries(Classifier::Euclidean)[0];
        for t in [-2.0, 0.0, 1.0] {
            let x = [point[0] - t * normal[1], point[1] + t * normal[0]];
            let logit = |class: usize| {
                let (p, a) = (fit.points.row(class), fit.normals.row(class));
                (x[0] - p[0]) * a[0] + (x[1] - p[1]) * a[1]
            };
            assert!((logit(0) - logit(1)).abs() < 1e-12);
        }
        let hyperplanes = [([0.1, 0.2], [2.0, 1.0]), ([-0.3, 0.5], [-1.0, 3.0])];
        assert_eq!(fit.boundaries(Classifier::Hyperbolic), hyperplanes);
    }

    #[test]
    fn published_figures_are_found() {
        assert_eq!(published("worker.n.01", Classifier::Euclidean, 5), Some((35.23, 3.16)));
        assert_eq!(published("worker.n.01", Classifier::Euclidean, 4), None);
        assert_eq!(published("dog.n.01", Classifier::Euclidean, 5), None);
    }
}
