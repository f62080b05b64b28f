//! Node classification by graph attention: Veličković et al. 2018; Gulcehre et al. 2019, Table 1; Tseng et
//! al. 2023, Table 1.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use cotangent::layers::score::least_dimensions;
use cotangent::layers::{PointMap, Score};
use cotangent::optim::train::{load_model, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::{AppError, Result, finite};
use cotangent_apps_common::geometry::{Geometry as PointGeometry, Model as PointModel};
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::memory;
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::{note, output, print};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::attention::{AttentionOptions, Scores, ValuesOption};

mod command;
pub mod labelled_graph;
mod published;

pub use command::{APP, run};
pub use published::published;

use labelled_graph::LabelledGraph;

/// Everything that determines the result of a run, except the graph.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "additive", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// Number of attention heads of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    pub heads: usize,
    /// Dimensions of each head of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    pub head_dim: usize,
    /// Number of attention heads of the last layer; the output is their mean.
    #[arg(long, default_value_t = 1, help_heading = "Model")]
    pub output_heads: usize,
    /// Dropout rate of features, attention weights and values, from 0 to below 1.
    #[arg(long, default_value_t = 0.6, allow_negative_numbers = true, help_heading = "Model")]
    pub dropout: f64,
    /// Learning rate of Adam.
    #[arg(long, default_value_t = 0.005, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Weight decay: the loss includes half this number times the sum of all squared weights. Biases
    /// are left out.
    #[arg(long, default_value_t = 0.0005, allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Decay biases too. With --patience 1000 --last this is the protocol of Tseng et al. 2023; the default
    /// is that of Veličković et al. 2018.
    // Files of earlier versions have neither this nor `last`, nor has one where they are not asked for.
    #[arg(long, help_heading = "Training")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decay_biases: bool,
    /// Test the model of the last epoch [default: that of the last epoch in which validation loss and
    /// validation accuracy were both at least as good as before].
    #[arg(long, help_heading = "Training")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// Stop after this many epochs in a row in which both validation loss and validation accuracy are
    /// worse than their best so far; with --last, in which neither is better.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub patience: u64,
    /// Largest number of epochs.
    #[arg(long, default_value_t = 100_000, help_heading = "Training")]
    pub epochs: u64,
    /// First seed; a seed determines initial weights and dropout. Same seed, same result, for any number
    /// of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// Number of runs, with consecutive seeds, trained in parallel; two or more give a 95 % confidence
    /// interval.
    #[arg(long, default_value_t = 1, help_heading = "Training")]
    pub seeds: u64,
}

impl Config {
    /// The same with another attention score.
    fn with_score(&self, name: &str) -> Self {
        Config { attention: name.to_owned(), ..self.clone() }
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        options::at_least_one(&[
            ("heads", self.heads as u64),
            ("head-dim", self.head_dim as u64),
            ("output-heads", self.output_heads as u64),
            ("patience", self.patience),
            ("epochs", self.epochs),
        ])?;
        options::seeds(self.seed, self.seeds)?;
        let score =
            self.options.score(&self.attention, scores, ("head-dim", self.head_dim), self.head_dim)?;
        options::below_one(&[("dropout", self.dropout)])?;
        options::positive(&[("lr", self.lr)])?;
        options::not_negative(&[("decay", self.decay)])?;
        Ok(score)
    }

    /// How values become points in the last layer, whose results are logits: a direction of length 1 and a
    /// radius could not be.
    fn output_values(&self) -> ValuesOption {
        match self.options.values {
            ValuesOption::Polar => ValuesOption::Exp,
            values => values,
        }
    }

    /// Checks that a training fits in memory: the weights of both layers, and the values of all nodes, of
    /// which there are queries and keys too.
    fn check_memory(&self, graph: &LabelledGraph) -> Result<()> {
        let &Config { heads, head_dim, output_heads, .. } = self;
        let widths = [heads as f64 * head_dim as f64, output_heads as f64 * graph.class_count as f64];
        let [inputs, outputs] = widths;
        let options = [("heads", heads), ("head-dim", head_dim), ("output-heads", output_heads)];
        memory::training(&options, inputs * (graph.features.columns() as f64 + outputs), Precision::F32)?;
        let values = 3.0 * (inputs + outputs) * memory::bytes::<f32>(&[graph.nodes()]);
        memory::check(&options, &format!("the values of {} nodes", graph.nodes()), values)
    }
}

/// The result of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Number of epochs until training ended.
    pub epochs: u64,
    /// The epoch, counted from 1, whose model was tested: with [`Config::last`] the last one.
    pub best_epoch: u64,
    /// Accuracy on the validation nodes after that epoch, from 0 to 1.
    pub validation: f64,
    /// Accuracy on the test nodes after that epoch, from 0 to 1.
    pub test: f64,
    /// Seconds of training. Other seeds may have used the processor at the same time.
    pub seconds: f64,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Hyperparameters and seeds.
    pub config: Config,
    /// Name of the graph.
    pub graph: String,
    /// How its tables were read.
    #[serde(default)]
    pub read_as: Vec<String>,
    /// Number of nodes, edges (in both directions, with self-loops) and features.
    pub sizes: [usize; 3],
    /// Number of nodes for training, validation and testing.
    pub split: [usize; 3],
    /// Number of parameters of the model.
    pub parameters: usize,
    /// The device that the models were trained on.
    pub device: String,
    /// The result of each seed.
    pub outcomes: Vec<Outcome>,
    /// Test accuracy, from 0 to 1: the mean over the seeds and its 95 % interval.
    pub test: Interval,
}

/// A graph attention network of two layers.
#[derive(Clone, Module)]
struct Model {
    hidden: GraphAttention,
    output: GraphAttention,
    #[module(skip)]
    dropout: Dropout,
}

mod purpose {
    pub(super) const INITIAL: u64 = 27;
    pub(super) const DROPOUT: u64 = 28;
}

impl Model {
    fn new(graph: &LabelledGraph, config: &Config, score: &dyn Score<f32>, seed: u64) -> Self {
        let mut rng = rng::stream(seed, purpose::INITIAL, 0);
        let dropout = Dropout { rate: config.dropout };
        let mut layer = |width, heads, d, join| {
            let mut layer = GraphAttention::new(score, width, heads, d, join, &mut rng);
            config.options.apply(&mut layer.attention);
            layer.attention.dropout = dropout;
            layer
        };
        let (heads, d) = (config.heads, config.head_dim);
        let hidden = layer(graph.features.columns(), heads, d, Heads::Concat);
        let mut output = layer(heads * d, config.output_heads, graph.class_count, Heads::Mean);
        output.attention.values = config.output_values().into();
        Model { hidden, output, dropout }
    }

    /// The logits of all nodes, `[nodes, classes]`. `amounts` are the graph's, as [`amounts`] returns them.
    fn forward<'t>(&self, tape: &'t Tape<f32>, graph: &LabelledGraph, amounts: &Tensor<f32>) -> Var<'t, f32> {
        let x = features(tape, graph, amounts).dropout(self.dropout);
        let hidden = Features::Dense(self.hidden.forward(&x, &graph.edges).elu());
        self.output.forward(&hidden.dropout(self.dropout), &graph.edges)
    }

    /// The sum of the squares of all weights, and of the biases if they are decayed.
    fn squares<'t>(&self, tape: &'t Tape<f32>, decay_biases: bool) -> Var<'t, f32> {
        let layers = [&self.hidden, &self.output];
        let weights = layers.iter().flat_map(|layer| [&layer.weight, &layer.query, &layer.key]);
        let biases = layers.iter().map(|layer| &layer.bias).filter(|_| decay_biases);
        let squares = weights.chain(biases).map(|w| w.on(tape).square().sum());
        squares.reduce(|a, b| a + b).expect("two layers")
    }
}

/// The values of the nonzero features, as a tensor: it is created once per training, because a tensor stays
/// on the device where it is used.
fn amounts(graph: &LabelledGraph) -> Tensor<f32> {
    Tensor::from_fn([graph.amounts.len()], |i| graph.amounts[i] as f32)
}

fn features<'t>(tape: &'t Tape<f32>, graph: &LabelledGraph, amounts: &Tensor<f32>) -> Features<'t, f32> {
    Features::Sparse(graph.features.clone(), tape.constant(amounts))
}

/// The model of the first seed.
const MODEL: &str = "model.safetensors";

/// Trains a model for each seed. Writes `metrics.json`, and `seed-N.json` for each seed N. For the first
/// seed it also writes `model.safetensors`, `curves.svg`, and `embeddings-1.svg` and `embeddings-2.svg`: the
/// queries and keys of the first head of each layer (Gulcehre et al. 2019, Figure 8). It uses the current
/// thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, or training diverges. If `options.resume` is
/// set and a `seed-N.json` belongs to another run.
pub fn classify(
    graph: &LabelledGraph,
    config: &Config,
    scores: &Scores,
    options: &RunOptions,
) -> Result<Metrics> {
    let score = config.check(scores)?;
    let least = least_dimensions(&*score);
    if graph.class_count < least {
        let message = format!("--map polar: --attention {} needs {least} classes or more", config.attention);
        return Err(AppError::usage(message));
    }
    config.check_memory(graph)?;
    let out = &options.out;
    let _held = output::hold(out)?;
    let seeds: Vec<u64> = options::seeds(config.seed, config.seeds)?.collect();
    let fingerprint = graph.fingerprint();
    let name = output::fingerprint(&Config { seeds: 1, ..config.clone() }, fingerprint);
    let run_seed = |&seed: &u64| {
        let path = out.join(format!("seed-{seed}.json"));
        let first = seed == config.seed;
        // The model and the pictures may be those of a run with another first seed.
        let pictured = || {
            let mut model = Model::new(graph, config, &*score, seed);
            load_model(&mut model, &out.join(MODEL), Some(&name)).is_ok()
        };
        if options.resume && path.exists() {
            let outcome = read_outcome(&path, config, fingerprint)?;
            if !first || pictured() {
                return Ok(outcome);
            }
        }
        let pictures = first.then_some((out.as_path(), name.as_str()));
        let outcome = train(graph, config, &*score, seed, pictures, &options.device)?;
        let output_values = config.output_values();
        let done =
            Done { config: config.clone(), output_values, graph: fingerprint, outcome: outcome.clone() };
        metrics::write_json(&path, &done)?;
        if !print::style().quiet {
            note!(
                "seed {seed}: {} epochs in {:.1} s, validation {:.1} %, test {:.1} %",
                outcome.epochs,
                outcome.seconds,
                100.0 * outcome.validation,
                100.0 * outcome.test
            );
        }
        Ok(outcome)
    };
    let outcomes: Vec<Outcome> = seeds.par_iter().map(run_seed).collect::<Result<_>>()?;
    let tests: Vec<f64> = outcomes.iter().map(|outcome| outcome.test).collect();
    let metrics = Metrics {
        config: config.clone(),
        graph: graph.name.clone(),
        read_as: graph.read_as.clone(),
        sizes: [graph.nodes(), graph.edges.pairs().len(), graph.features.columns()],
        split: [&graph.train, &graph.validation, &graph.test].map(Vec::len),
        parameters: Model::new(graph, config, &*score, config.seed).count(),
        device: options.device.to_string(),
        outcomes,
        test: Interval::of_mean(&tests),
    };
    metrics::write(out, &metrics)?;
    Ok(metrics)
}

/// `seed-N.json`.
#[derive(Serialize, Deserialize)]
struct Done {
    config: Config,
    /// How values became points in the last layer: in files of earlier versions, which do not say it, by exp.
    #[serde(default)]
    output_values: ValuesOption,
    /// The fingerprint of the graph.
    graph: u32,
    outcome: Outcome,
}

fn read_outcome(path: &Path, config: &Config, graph: u32) -> Result<Outcome> {
    let done: Done = metrics::read_json(path)?;
    // The result of one seed does not depend on which other seeds are run.
    let same = Config { seed: config.seed, seeds: config.seeds, ..done.config };
    if same != *config || done.output_values != config.output_values() || done.graph != graph {
        return Err(AppError::content(path, "a seed of a run with other options or on another graph"));
    }
    Ok(done.outcome)
}

/// A validation loss and accuracy: of an epoch, or the best so far.
#[derive(Clone, Copy)]
struct Best {
    loss: f64,
    accuracy: f64,
}

/// Trains with one seed, until for `patience` epochs in a row both validation loss and accuracy were worse
/// than their best, or with [`Config::last`] no better. The tested model is that of the last epoch in which
/// both were at least as good as before, as in the program of Veličković et al., or with [`Config::last`]
/// that of the last epoch. `pictures` are a directory for the model and pictures, and the name of the run.
fn train(
    graph: &LabelledGraph,
    config: &Config,
    score: &dyn Score<f32>,
    seed: u64,
    pictures: Option<(&Path, &str)>,
    device: &Device,
) -> Result<Outcome> {
    let start = Instant::now();
    let (mut model, amounts) = (Model::new(graph, config, score, seed), amounts(graph));
    let mut adam = RiemannianAdam::new(config.lr)?;
    let mut tape = Tape::with_device(device.clone());
    let [train_classes, validation_classes, test_classes] =
        [&graph.train, &graph.validation, &graph.test].map(|nodes| graph.classes_of(nodes));
    let mut best = Best { loss: f64::INFINITY, accuracy: 0.0 };
    let mut outcome = Outcome { seed, epochs: 0, best_epoch: 0, validation: 0.0, test: 0.0, seconds: 0.0 };
    let (mut kept, mut losses, mut accuracies, mut waited) = (None, Vec::new(), Vec::new(), 0);
    while outcome.epochs < config.epochs && waited < config.patience {
        tape.reset();
        tape.training(rng::stream(seed, purpose::DROPOUT, outcome.epochs));
        let logits = model.forward(&tape, graph, &amounts).gather(&graph.train);
        let loss = loss::cross_entropy(logits, &train_classes, 0.0);
        outcome.epochs += 1;
        losses.push(finite(outcome.epochs, loss.item())?);
        let penalty = model.squares(&tape, config.decay_biases) * (config.decay / 2.0);
        adam.step(&mut model, &tape.backward(loss + penalty))
            .map_err(|e| AppError::diverged(outcome.epochs, e))?;

        tape.reset();
        let logits = model.forward(&tape, graph, &amounts);
        let validation_logits = logits.gather(&graph.validation);
        let validation_loss = loss::cross_entropy(validation_logits, &validation_classes, 0.0);
        let validation = Best {
            loss: finite(outcome.epochs, validation_loss.item())?,
            accuracy: accuracy(validation_logits, &validation_classes),
        };
        accuracies.push(validation.accuracy);
        let (loss_is_best, accuracy_is_best) =
            (validation.loss <= best.loss, validation.accuracy >= best.accuracy);
        if config.last || loss_is_best && accuracy_is_best {
            outcome.best_epoch = outcome.epochs;
            outcome.validation = validation.accuracy;
            outcome.test = accuracy(logits.gather(&graph.test), &test_classes);
            kept = pictures.map(|_| model.clone());
        }
        let improved = match config.last {
            true => validation.loss < best.loss || validation.accuracy > best.accuracy,
            false => loss_is_best || accuracy_is_best,
        };
        waited = if improved { 0 } else { waited + 1 };
        best.loss = best.loss.min(validation.loss);
        best.accuracy = best.accuracy.max(validation.accuracy);
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    if let Some(((out, name), model)) = pictures.zip(kept) {
        let title = format!(
            "{}, {} attention: test accuracy {:.1} %",
            graph.name,
            config.attention,
            100.0 * outcome.test
        );
        curves::plot(
            &out.join("curves.svg"),
            &title,
            &[
                Series { name: "training loss", values: losses, better: f64::min },
                Series { name: "validation accuracy", values: accuracies, better: f64::max },
            ],
        )?;
        tape.reset();
        embeddings(out, &model, graph, features(&tape, graph, &amounts))?;
        // Last: where it is, the pictures are too.
        save_model(&model, &out.join(MODEL), Some(name))?;
    }
    Ok(outcome)
}

/// The share of the nodes whose largest logit is that of their class.
fn accuracy(logits: Var<'_, f32>, classes: &[u32]) -> f64 {
    let (_, largest) = logits.top_k(1);
    largest.iter().zip(classes).filter(|(a, b)| a == b).count() as f64 / classes.len() as f64
}

/// Draws the queries and keys of the first head of both layers: as points of the Poincaré ball if the score
/// is a distance, otherwise as points of Euclidean space. The title has the rate of dropout and the largest
/// distance from the origin, which the paper compares with and without dropout.
fn embeddings(out: &Path, model: &Model, graph: &LabelledGraph, features: Features<'_, f32>) -> Result<()> {
    let hidden = Features::Dense(model.hidden.forward(&features, &graph.edges).elu());
    for (number, layer, features) in [(1, &model.hidden, features), (2, &model.output, hidden)] {
        let (_, rows) = layer.project(&features);
        let rows = Var::concat(&rows.map(|rows| rows.slice(1, 0..1)), 0).to_tensor().cast::<f64>();
        let rows = Tensor::new([rows.len() / rows.width(), rows.width()], rows.data().to_vec());
        let (points, geometry) = points_of(&rows, &*layer.attention.score);
        let layout = disk::layout(&points, geometry)?;
        let kappa = geometry.single().map_or(0.0, |space| space.kappa);
        let nodes = graph.nodes() as u32;
        let title = format!(
            "{}, layer {number}, first head: {}; dropout {}, at most {:.2} from the origin",
            graph.name,
            layout.caption,
            model.dropout.rate,
            layout.depth.iter().copied().fold(0.0, f64::max)
        );
        disk::classes(
            &out.join(format!("embeddings-{number}.svg")),
            &Classes {
                points: &layout.points,
                labels: &(0..2 * nodes).map(|i| 1 - i / nodes).collect::<Vec<u32>>(),
                names: &["keys", "queries"].map(str::to_owned),
                hyperplanes: &[],
                coloured: false,
                kappa,
                geodesics: kappa < 0.0,
                title: &title,
            },
        )?;
    }
    Ok(())
}

/// The points that a score takes rows of queries and keys for, and their geometry.
fn points_of(rows: &Tensor<f64>, score: &dyn Score<f32>) -> (Tensor<f64>, PointGeometry) {
    let geometry =
        |model: PointModel| PointGeometry::new(model, None).expect("a model has a usual curvature");
    let map = match score.name() {
        "distance" | "half-space" => score.map(),
        "polar-distance" => Some(PointMap::Polar),
        _ => None,
    };
    match map {
        // exp₀ of the ball goes twice as far as the exponential map of the half-space.
        Some(PointMap::Exp) if score.needs_height() => {
            let half = Tensor::from_fn(rows.shape().axes(), |i| 0.5 * rows.data()[i]);
            (PointMap::Exp.ball(&half), geometry(PointModel::Poincare))
        }
        Some(map) => (map.ball(rows), geometry(PointModel::Poincare)),
        None => (rows.clone(), geometry(PointModel::Euclidean)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cotangent::layers::score::{Distance, HalfSpaceDistance, Mapped, PolarDistance};

    use cotangent_apps_common::config;

    use super::*;
    use crate::attention::AggregateOption;

    /// Two nodes with an edge, each with a feature of its own.
    fn two_nodes() -> LabelledGraph {
        let own = Arc::new(Sparsity::new(2, 2, &[(0, 0), (1, 1)]));
        LabelledGraph {
            name: "two".to_owned(),
            edges: Arc::new(Sparsity::new(2, 2, &[(0, 0), (0, 1), (1, 0), (1, 1)])),
            features: own,
            amounts: vec![1.0; 2],
            classes: vec![Some(0), Some(1)],
            class_count: 2,
            train: vec![0],
            validation: vec![1],
            test: vec![1],
            read_as: Vec::new(),
        }
    }

    fn config(options: AttentionOptions) -> Config {
        let sizes = ["--heads", "2", "--head-dim", "2", "--dropout", "0"];
        Config { options, ..config::parse(&[&["--attention", "dot"][..], &sizes].concat()) }
    }

    /// Both layers take the map of the values, but no logits are a direction of length 1 and a radius.
    #[test]
    fn the_last_layer_takes_the_map_of_the_values_if_it_can() {
        use ValuesOption::{Exp, Polar, Weierstrass};
        let graph = two_nodes();
        for (values, output) in [(Exp, Exp), (Weierstrass, Weierstrass), (Polar, Exp)] {
            let options =
                AttentionOptions { values, aggregate: AggregateOption::Barycentre, ..Default::default() };
            let config = config(options);
            let score = config.check(&Scores::default()).unwrap();
            let mut model = Model::new(&graph, &config, &*score, 1);
            assert_eq!(model.hidden.attention.values, PointMap::from(values));
            assert_eq!(model.output.attention.values, PointMap::from(output));
            let logits = |model: &Model| {
                let tape = Tape::new();
                model.forward(&tape, &graph, &amounts(&graph)).to_tensor().data().to_vec()
            };
            let found = logits(&model);
            model.output.attention.values = PointMap::Exp;
            assert_eq!(found == logits(&model), output == Exp, "{values:?}");
        }
    }

    /// Half the decay times the squares of weights, and of biases if that is asked for.
    #[test]
    fn biases_are_decayed_if_asked_for() {
        let (graph, config) = (two_nodes(), config(AttentionOptions::default()));
        let score = config.check(&Scores::default()).unwrap();
        let mut model = Model::new(&graph, &config, &*score, 1);
        *model.output.bias.value_mut() = Tensor::new([2], vec![3.0, 4.0]);
        let squares = |decay_biases: bool| model.squares(&Tape::new(), decay_biases).item();
        assert!((squares(true) - squares(false) - 25.0).abs() < 1e-4);
    }

    /// The distance between drawn points is that of their polar coordinates, by the law of cosines.
    #[test]
    fn polar_rows_are_points_of_the_ball() {
        let rows = Tensor::new([3, 3], vec![3.0, 4.0, 1.5, -1.0, 0.0, -0.7, 0.0, 0.0, 2.0]);
        let (points, geometry) = points_of(&rows, &PolarDistance);
        assert!(geometry.is(PointModel::Poincare));
        assert_eq!(points.shape().axes(), &[3, 2][..]);
        let ball = PoincareBall::new(-1.0);
        let dist = |a: &[f64], b: &[f64]| ball.dist(&Row::from(a), &Row::from(b));
        let [p, q] = [0, 1].map(|i| points.row(i));
        assert!((dist(p, &[0.0; 2]) - 1.5).abs() < 1e-12 && (dist(q, &[0.0; 2]) - 0.7).abs() < 1e-12);
        // The law of cosines for the directions (0.6, 0.8) and (1, 0). The second point is (−1, 0) times a
        // negative radius, so its direction is (1, 0).
        let (r, s) = (1.5_f64, 0.7_f64);
        let cosh = r.cosh() * s.cosh() - r.sinh() * s.sinh() * 0.6;
        assert!((dist(p, q) - cosh.acosh()).abs() < 1e-12);
        assert_eq!(points.row(2), [0.0, 0.0]);
    }

    /// Distances are drawn by the map of their score: a row of norm 5 is at the distance 2 · 5, arsinh 5
    /// or 5.
    #[test]
    fn cartesian_rows_are_points_by_their_map() {
        let rows = Tensor::new([1, 2], vec![3.0, 4.0]);
        let depth = |score: &dyn Score<f32>| {
            let (points, geometry) = points_of(&rows, score);
            assert!(geometry.is(PointModel::Poincare));
            PoincareBall::new(-1.0).dist(&Row::from([0.0; 2]), &Row::from(points.row(0)))
        };
        assert!((depth(&Distance) - 10.0).abs() < 1e-9);
        assert!((depth(&Mapped::new(&Distance, PointMap::Weierstrass)) - 5.0_f64.asinh()).abs() < 1e-12);
        assert!((depth(&Mapped::new(&HalfSpaceDistance, PointMap::Exp)) - 5.0).abs() < 1e-9);
    }
}
