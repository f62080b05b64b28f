//! The model, its decay, and the points of its pictures.

use std::sync::Arc;

use cotangent::layers::score::{Distance, HalfSpaceDistance, Mapped, PolarDistance};
use cotangent::layers::{PointMap, Score};
use cotangent_apps_common::attention::{AggregateOption, AttentionOptions};
use cotangent_apps_common::config;

use super::data::Split;
use super::labelled_graph::LabelledGraph;
use super::pictures::points_of;
use super::training::GraphTask;
use super::*;

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

fn config(options: AttentionOptions) -> GraphConfig {
    let sizes = ["--heads", "2", "--head-dim", "2", "--dropout", "0"];
    let config: GraphConfig = config::parse(&[&["--attention", "dot"][..], &sizes].concat());
    GraphConfig { options, ..config }.complete(Split::Nodes)
}

/// Both layers take the map of the values, but no logits are a direction of length 1 and a radius.
#[test]
fn the_last_layer_takes_the_map_of_the_values_if_it_can() {
    use ValuesOption::{Exp, Polar, Weierstrass};
    let graph = two_nodes();
    let task = NodeTask::new(&graph, 1);
    for (values, output) in [(Exp, Exp), (Weierstrass, Weierstrass), (Polar, Exp)] {
        let options =
            AttentionOptions { values, aggregate: AggregateOption::Barycentre, ..Default::default() };
        let config = config(options);
        let score = config.check(&Scores::default()).unwrap();
        let mut model = GraphModel::new([2, 2], &config, &*score, 1);
        assert_eq!(model.hidden.attention.values, PointMap::from(values));
        assert_eq!(model.output.attention.values, PointMap::from(output));
        let logits = |model: &GraphModel| {
            let tape = Tape::new();
            let (features, edges) = task.drawn(&tape);
            model.forward(features, edges).to_tensor().data().to_vec()
        };
        let found = logits(&model);
        model.output.attention.values = PointMap::Exp;
        assert_eq!(found == logits(&model), output == Exp, "{values:?}");
    }
}

/// Half the decay times the squares of weights, and of biases if that is asked for.
#[test]
fn biases_are_decayed_if_asked_for() {
    let config = config(AttentionOptions::default());
    let score = config.check(&Scores::default()).unwrap();
    let mut model = GraphModel::new([2, 2], &config, &*score, 1);
    *model.output.bias.as_mut().unwrap().value_mut() = Tensor::new([2], vec![3.0, 4.0]);
    let squares = |decay_biases: bool| model.squares(&Tape::new(), decay_biases).item();
    assert!((squares(true) - squares(false) - 25.0).abs() < 1e-4);
}

/// The distance between drawn points is that of their polar coordinates, by the law of cosines.
#[test]
fn polar_rows_are_points_of_the_ball() {
    let rows = Tensor::new([3, 3], vec![3.0, 4.0, 1.5, -1.0, 0.0, -0.7, 0.0, 0.0, 2.0]);
    let (points, geometry) = points_of(&rows, &PolarDistance);
    assert_eq!(geometry.to_string(), "poincare");
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
        assert_eq!(geometry.to_string(), "poincare");
        PoincareBall::new(-1.0).dist(&Row::from([0.0; 2]), &Row::from(points.row(0)))
    };
    assert!((depth(&Distance) - 10.0).abs() < 1e-9);
    assert!((depth(&Mapped::new(&Distance, PointMap::Weierstrass)) - 5.0_f64.asinh()).abs() < 1e-12);
    assert!((depth(&Mapped::new(&HalfSpaceDistance, PointMap::Exp)) - 5.0).abs() < 1e-9);
}
