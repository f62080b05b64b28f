//! The split, and what the model reads.

use std::collections::HashSet;

use cotangent_apps_common::space::Space;

use super::link_graph::LinkGraph;
use super::model::Input;
use super::split::Split;
use super::*;

/// A tree of 60 nodes, each with two features.
fn tree() -> LinkGraph {
    let edges = (1..60).map(|node| ((node - 1) / 3, node)).collect();
    let features = (0..60).map(|node| vec![(0, 1.0), (1, f64::from(node))]).collect();
    LinkGraph { name: "tree".to_owned(), read_as: Vec::new(), edges, features }
}

#[test]
fn a_split_holds_out_edges_and_as_many_other_pairs() {
    let graph = tree();
    let split = Split::draw(&graph, 3).unwrap();
    assert_eq!([split.train.len(), split.validation.edges.len(), split.test.edges.len()], [52, 2, 5]);
    let mut all = [&split.train[..], &split.validation.edges, &split.test.edges].concat();
    all.sort_unstable();
    assert_eq!(all, graph.edges);
    let others = [&split.validation.others[..], &split.test.others].concat();
    assert_eq!((split.validation.others.len(), split.test.others.len()), (2, 5));
    assert!(others.iter().all(|pair| pair.0 < pair.1 && !graph.edges.contains(pair)));
    assert_eq!(others.iter().collect::<HashSet<_>>().len(), 7);
    let same = Split::draw(&graph, 3).unwrap();
    assert_eq!((&split.train, &split.test), (&same.train, &same.test));
    let other = Split::draw(&graph, 4).unwrap();
    assert!(split.test.edges != other.test.edges && split.test.others != other.test.others);
}

/// Each training edge is followed by a pair that is none, and another one in each epoch.
#[test]
fn each_epoch_has_other_negatives() {
    let split = Split::draw(&tree(), 1).unwrap();
    let [first, second] = [0, 1].map(|epoch| split.epoch(epoch));
    assert_eq!(first.iter().step_by(2).copied().collect::<Vec<_>>(), split.train);
    let negatives = |pairs: &[(u32, u32)]| pairs.iter().skip(1).step_by(2).copied().collect::<Vec<_>>();
    let [first, second] = [negatives(&first), negatives(&second)];
    assert_eq!(first.len(), split.train.len());
    assert!(first.iter().all(|pair| pair.0 < pair.1 && !split.train.contains(pair)));
    assert!(first != second && first == negatives(&split.epoch(0)));
}

/// In a graph of 8 nodes with 27 of 28 edges there are no two pairs without one.
#[test]
fn a_graph_without_other_pairs_is_refused() {
    let pairs = (0..8_u32).flat_map(|v| (0..v).map(move |u| (u, v)));
    let edges = pairs.skip(1).collect();
    let graph = LinkGraph { edges, features: tree().features[..8].to_vec(), ..tree() };
    let error = Split::draw(&graph, 1).unwrap_err().to_string();
    assert_eq!(error, "tree: only 1 pairs of its 8 nodes are no edges; 6 are needed");
}

/// Degrees are those of the training edges alone.
#[test]
fn degrees_are_features() {
    let (graph, split) = (tree(), Split::draw(&tree(), 2).unwrap());
    let width = |degrees: u32| {
        let config = LinkConfig { degrees, ..LinkConfig::of_data("disease") };
        Input::<f32>::new(&graph, &split, &config).unwrap().width()
    };
    assert_eq!((width(0), width(2)), (2, 2 + 3 + 1));
    assert_eq!(split.degrees().iter().sum::<u32>() as usize, 2 * split.train.len());
}

#[test]
fn data_sets_have_the_settings_of_the_program() {
    let [disease, airport, cora, own] =
        ["disease", "airport", "cora", "own"].map(|data| LinkConfig::of_data(data).complete());
    let settings = |c: &LinkConfig| (c.features, c.degrees, c.dropout, c.decay, c.kappa.unwrap().learned);
    assert_eq!(settings(&disease), (FeaturesOption::Raw, 0, 0.0, 0.0, false));
    assert_eq!(settings(&airport), (FeaturesOption::Scaled, 5, 0.0, 0.0, true));
    assert_eq!(settings(&cora), (FeaturesOption::Scaled, 0, 0.5, 0.001, true));
    assert_eq!(settings(&own), (FeaturesOption::Scaled, 0, 0.0, 0.0, false));
    assert_eq!(published(&disease).first(), Some(&(90.8, "Chami et al. 2019, HGCN")));
    assert_eq!(published(&LinkConfig { seed: 7, ..airport.clone() }).len(), 2);
    assert!(published(&own).is_empty());
    assert!(published(&LinkConfig { dim: 8, ..disease.clone() }).is_empty());
    let centroid = LinkConfig { aggregation: AggregationOption::Centroid, ..disease.clone() };
    assert!(published(&centroid).is_empty());
    let euclidean = LinkConfig { space: Space::Euclidean, kappa: None, ..disease };
    assert!(published(&euclidean).is_empty() && euclidean.check().is_ok());
}
