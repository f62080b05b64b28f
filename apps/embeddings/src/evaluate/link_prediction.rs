//! Link prediction: some pairs of a graph are held out, and found again by the embedding of the others.
//! Nickel & Kiela 2017, section 4.1.
//!
//! Each held-out pair (u, v) is ranked by d(u, v) among d(u, w) for all w that are no neighbours of u in the
//! whole graph. Held-out pairs are unknown in training. As in the paper and in its program
//! (facebookresearch/poincare-embeddings), their nodes can be drawn as negative samples of one another:
//! leaving them out would tell the trainer which pairs they are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use rand::seq::SliceRandom;

use crate::evaluate::reconstruction::{self, Candidates, Sample, Score};
use crate::graph::edges::OWN_HEADERS;
use crate::graph::{Graph, Neighbours};

/// A graph whose pairs are divided into training, validation and test.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    /// The graph with all its pairs.
    pub whole: &'a Graph,
    /// The graph without the pairs that are held out.
    pub training: Cow<'a, Graph>,
    /// The numbers of the pairs of the whole graph that are held out for validation, in ascending order.
    validation: Vec<usize>,
    /// Those that are held out for the test.
    test: Vec<usize>,
}

/// The file of each list of held-out pairs.
const FILES: [&str; 2] = ["validation.tsv", "test.tsv"];

impl<'a> Split<'a> {
    /// Holds out shares of the pairs, drawn by the seed. They are shares of the pairs whose nodes are neither
    /// roots nor leaves. A root is no first node of any pair, a leaf no second one: the paper leaves pairs
    /// with them in training, because they would be trivial or impossible to predict.
    ///
    /// A pair is only held out if another pair with the same first node and another one with the same second
    /// node stay in training. A pair whose reverse is a pair too is held out together with it, so that no
    /// direction of an undirected edge shows the other; the shares may then be exceeded by one pair.
    ///
    /// # Errors
    /// If that leaves fewer pairs than the shares ask for. If a name cannot be written into a list of pairs.
    pub fn new(graph: &'a Graph, validation: f64, test: f64, seed: u64) -> Result<Self> {
        let mut split =
            Split { whole: graph, training: Cow::Borrowed(graph), validation: vec![], test: vec![] };
        if validation == 0.0 && test == 0.0 {
            return Ok(split);
        }
        if let Some(name) = graph.names.iter().find(|name| name.contains(['\t', '\n', '\r'])) {
            let message = format!("--validation, --test: a tab or a line break is in the name {name:?}");
            return Err(AppError::usage(message));
        }
        let (mut outgoing, mut incoming) = degrees(graph);
        let inner = |&i: &usize| {
            let (u, v) = graph.pairs[i];
            incoming[u as usize] > 0 && outgoing[v as usize] > 0
        };
        let mut order: Vec<usize> = (0..graph.pairs.len()).filter(inner).collect();
        order.shuffle(&mut rng::stream(seed, "held-out pairs", 0));
        let inner = order.len();
        let validation = count("validation", validation, inner)?;
        let wanted = validation + count("test", test, inner)?;
        let numbers: HashMap<(u32, u32), usize> = graph.pairs.iter().copied().zip(0..).collect();
        let (mut held, mut is_held) = (0, vec![false; graph.pairs.len()]);
        for i in order {
            if is_held[i] || held >= wanted {
                continue;
            }
            let (u, v) = graph.pairs[i];
            let directions: Vec<usize> = [i].into_iter().chain(numbers.get(&(v, u)).copied()).collect();
            let may_go = |&k: &usize| {
                let (u, v) = graph.pairs[k];
                outgoing[u as usize] > 1 && incoming[v as usize] > 1
            };
            if directions.iter().all(may_go) {
                let part = if held < validation { &mut split.validation } else { &mut split.test };
                for &k in &directions {
                    let (u, v) = graph.pairs[k];
                    outgoing[u as usize] -= 1;
                    incoming[v as usize] -= 1;
                    is_held[k] = true;
                }
                held += directions.len();
                part.extend(directions);
            }
        }
        if held < wanted {
            return Err(AppError::usage(format!(
                "--validation, --test: {wanted} of {inner} pairs between inner nodes are asked for, but only \
                 {held} can be held out: each of their nodes must keep a pair"
            )));
        }
        split.validation.sort_unstable();
        split.test.sort_unstable();
        split.training = Cow::Owned(split.without_held_out());
        Ok(split)
    }

    /// The graph for training.
    fn without_held_out(&self) -> Graph {
        let mut held = vec![false; self.whole.pairs.len()];
        self.validation.iter().chain(&self.test).for_each(|&i| held[i] = true);
        let kept = || held.iter().enumerate().filter(|(_, held)| !**held).map(|(i, _)| i);
        let Graph { names, pairs, weights, .. } = self.whole;
        Graph {
            names: names.clone(),
            pairs: kept().map(|i| pairs[i]).collect(),
            weights: if weights.is_empty() { Vec::new() } else { kept().map(|i| weights[i]).collect() },
            self_loops: self.whole.self_loops,
            duplicates: self.whole.duplicates,
        }
    }

    /// Ranks the held-out pairs of validation and test by the points of the nodes. `None` where no pairs are
    /// held out. `known` has all neighbours of the whole graph; of large graphs a sample of nodes is ranked.
    pub fn evaluate(
        &self,
        candidates: Candidates<'_>,
        known: &Neighbours,
        sample: Sample,
    ) -> [Option<Score>; 2] {
        let nodes = self.whole.names.len();
        let identity: Vec<u32> = (0..nodes as u32).collect();
        [&self.validation, &self.test].map(|held| {
            let pairs: Vec<(u32, u32)> = held.iter().map(|&i| self.whole.pairs[i]).collect();
            let ranked = Neighbours::new(nodes, || pairs.iter().copied());
            let score = || reconstruction::rank(candidates, &identity, [&ranked, known], sample);
            (!pairs.is_empty()).then(score)
        })
    }

    /// Writes the held-out pairs as edge lists into a directory: `validation.tsv` and `test.tsv`. A list
    /// without pairs is not written; one of an earlier run is removed.
    ///
    /// # Errors
    /// If a file cannot be written or removed.
    pub fn write(&self, directory: &Path) -> Result<()> {
        for (name, held) in FILES.into_iter().zip([&self.validation, &self.test]) {
            let path = directory.join(name);
            if !held.is_empty() {
                self.write_pairs(&path, held)?;
            } else if path.exists() {
                std::fs::remove_file(&path).map_err(AppError::io(&path))?;
            }
        }
        Ok(())
    }

    /// The header keeps a first pair from being taken for one.
    fn write_pairs(&self, path: &Path, held: &[usize]) -> Result<()> {
        let Graph { names, pairs, weights, .. } = self.whole;
        atomic::write(path, |w| {
            writeln!(w, "{}", OWN_HEADERS[usize::from(!weights.is_empty())])?;
            for &i in held {
                let (u, v) = pairs[i];
                write!(w, "{}\t{}", &names[u as usize], &names[v as usize])?;
                weights.get(i).map_or(Ok(()), |weight| write!(w, "\t{weight}"))?;
                writeln!(w)?;
            }
            Ok(())
        })
        .map_err(AppError::io(path))
    }
}

/// The number of pairs that a share is, rounded.
fn count(option: &str, share: f64, pairs: usize) -> Result<usize> {
    let count = (share * pairs as f64).round() as usize;
    if share > 0.0 && count == 0 {
        return Err(AppError::usage(format!(
            "--{option} {share}: not one of {pairs} pairs between inner nodes"
        )));
    }
    Ok(count)
}

/// For each node the number of pairs that it is the first node in, and the second one.
fn degrees(graph: &Graph) -> (Vec<u32>, Vec<u32>) {
    let (mut outgoing, mut incoming) = (vec![0; graph.names.len()], vec![0; graph.names.len()]);
    for &(u, v) in &graph.pairs {
        outgoing[u as usize] += 1;
        incoming[v as usize] += 1;
    }
    (outgoing, incoming)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use cotangent_apps_common::geometry::{Geometry, SpaceModel};

    use super::*;
    use crate::graph::Builder;
    use crate::graph::edges;

    /// A binary tree of `nodes` nodes with all ancestors, with weights.
    fn tree(nodes: u32) -> Graph {
        let mut builder = Builder::default();
        for i in 2..=nodes {
            let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
            ancestors.for_each(|a| builder.add(&i.to_string(), &a.to_string(), Some(f64::from(i))));
        }
        builder.finish()
    }

    #[test]
    fn held_out_pairs_are_between_inner_nodes_and_leave_others() {
        let graph = tree(127);
        let split = Split::new(&graph, 0.1, 0.2, 3).unwrap();
        let (outgoing, incoming) = degrees(&graph);
        // Inner nodes that are not the root: depths 1 to 5. Pairs between them: the sum of 2^d (d − 1).
        assert_eq!((split.validation.len(), split.test.len()), (20, 39));
        for &i in split.validation.iter().chain(&split.test) {
            let (u, v) = graph.pairs[i];
            assert!(incoming[u as usize] > 0 && outgoing[v as usize] > 0, "{u} {v}");
        }
        let held: HashSet<usize> = split.validation.iter().chain(&split.test).copied().collect();
        assert_eq!(held.len(), 59, "no pair is in two lists");
        assert_eq!(split.training.pairs.len() + 59, graph.pairs.len());
        let (out_in_training, in_in_training) = degrees(&split.training);
        for u in 0..graph.names.len() {
            assert_eq!(out_in_training[u] > 0, outgoing[u] > 0, "first nodes stay first nodes");
            assert_eq!(in_in_training[u] > 0, incoming[u] > 0, "second nodes stay second nodes");
        }
        let weight = |(&(u, _), &weight): (&(u32, u32), &f64)| graph.names[u as usize] == weight.to_string();
        assert!(split.training.pairs.iter().zip(&split.training.weights).all(weight));
        let other = Split::new(&graph, 0.1, 0.2, 4).unwrap();
        assert!(split.validation != other.validation, "another seed, other pairs");
        assert!(split.validation == Split::new(&graph, 0.1, 0.2, 3).unwrap().validation);
    }

    /// Of an undirected edge both directions are held out, in one part.
    #[test]
    fn directions_of_an_edge_stay_together() {
        let mut builder = Builder::default();
        for i in 0..60 {
            for j in [(i + 1) % 60, (i + 7) % 60] {
                builder.add(&i.to_string(), &j.to_string(), None);
                builder.add(&j.to_string(), &i.to_string(), None);
            }
        }
        let graph = builder.finish();
        assert_eq!(graph.pairs.len(), 240);
        let split = Split::new(&graph, 0.1, 0.2, 3).unwrap();
        assert_eq!((split.validation.len(), split.test.len()), (24, 48));
        for held in [&split.validation, &split.test] {
            let pairs: HashSet<(u32, u32)> = held.iter().map(|&i| graph.pairs[i]).collect();
            assert!(pairs.iter().all(|&(u, v)| pairs.contains(&(v, u))));
        }
        let training: HashSet<(u32, u32)> = split.training.pairs.iter().copied().collect();
        assert!(training.len() == 168 && training.iter().all(|&(u, v)| training.contains(&(v, u))));
    }

    #[test]
    fn nothing_is_held_out_by_default_and_too_much_is_an_error() {
        let graph = edges::mammals();
        let split = Split::new(&graph, 0.0, 0.0, 1).unwrap();
        assert!(matches!(split.training, Cow::Borrowed(_)));
        // In a tree without the ancestors every node has one pair only.
        let mut chain = Builder::default();
        (1..40).for_each(|i| chain.add(&i.to_string(), &(i - 1).to_string(), None));
        let error = Split::new(&chain.finish(), 0.05, 0.0, 1).unwrap_err().to_string();
        assert!(error.contains("2 of 37 pairs between inner nodes are asked for, but only 0"), "{error}");
        let error = Split::new(&tree(15), 0.0, 0.01, 1).unwrap_err().to_string();
        assert_eq!(error, "--test 0.01: not one of 4 pairs between inner nodes");
        let mut odd = Builder::default();
        odd.add("a\tb", "c", None);
        let error = Split::new(&odd.finish(), 0.0, 0.5, 1).unwrap_err().to_string();
        assert!(error.contains("in the name \"a\\tb\""), "{error}");
    }

    /// By the definition, from distances on a line.
    #[test]
    fn a_held_out_pair_is_ranked_among_nodes_that_are_no_neighbours() {
        let mut builder = Builder::default();
        // 0 has the neighbours 1, 2 and 3.
        for (u, v) in [("0", "1"), ("0", "2"), ("0", "3"), ("4", "0"), ("5", "0")] {
            builder.add(u, v, None);
        }
        let graph = builder.finish();
        let held = Split { validation: vec![2], ..Split::new(&graph, 0.0, 0.0, 1).unwrap() };
        // Nodes 1 and 5 are nearer to 0 than 3 is, and 5 alone is no neighbour.
        let points = Tensor::new([6, 1], vec![0.0, 0.1, 0.9, 0.5, 0.7, -0.2]);
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let candidates = Candidates { points: &points, geometry, translation: None };
        let [validation, test] = held.evaluate(candidates, &graph.neighbours(), Sample::ALL);
        assert_eq!(validation, Some(Score { mean_rank: 2.0, map: 0.5, nodes: 1, pairs: 1, all_nodes: 1 }));
        assert_eq!(test, None);
    }
}
