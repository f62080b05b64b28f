//! Graph convolution: compared with its definition in plain loops, in every curvature.

use std::sync::Arc;

use cotangent_engine::{Row, Sparsity};
use cotangent_layers::{Adjacency, Aggregation, Curvature, Dropout, Features, Geometry, GraphConvolution};
use cotangent_manifolds::{Barycentre, Euclidean};

use super::*;

pub(super) const NODES: usize = 4;
const EDGES: [(u32, u32); 9] = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (0, 2)];

pub(super) fn adjacency() -> Adjacency<f64> {
    Adjacency::mean(Arc::new(Sparsity::new(NODES, NODES, &EDGES)))
}

fn layer<M: Steps>(manifold: M, aggregation: Aggregation) -> GraphConvolution<M, f64> {
    let mut layer = GraphConvolution::new(manifold, 3, 2, &mut rng::stream(1, 7, 0));
    scatter(&mut layer, 0.6, 2);
    GraphConvolution { aggregation, ..layer }
}

fn bias_of<M: Steps>(layer: &GraphConvolution<M, f64>) -> Row<f64> {
    Row::from(layer.bias.as_ref().unwrap().value().data())
}

fn features() -> Tensor<f64> {
    uniform(&[NODES, 3], 1.0, &mut rng::stream(3, 8, 0))
}

/// The result for some features in the space of a geometry.
fn run<G: Geometry<f64>>(
    geometry: &G,
    layer: &GraphConvolution<G::Learned, f64>,
    x: &Tensor<f64>,
) -> Tensor<f64> {
    let tape = Tape::new();
    let x = Features::Dense(tape.constant(x));
    layer.forward(geometry.on(&tape), &x, &adjacency()).coordinates().to_tensor()
}

/// `x W` of a node.
fn product(x: &Tensor<f64>, w: &Tensor<f64>, node: usize) -> Row<f64> {
    let sum = |c: usize| (0..3).map(|i| x.row(node)[i] * w.row(i)[c]).sum();
    Row::from(&[sum(0), sum(1)][..])
}

#[test]
fn neighbours_are_put_together_in_the_tangent_space_or_by_their_midpoint() {
    let (x, weights) = (features(), adjacency().weights);
    for kappa in [-1.0, -0.3, 0.0, 0.3] {
        let ball = space(kappa);
        for aggregation in [Aggregation::Sum, Aggregation::Barycentre] {
            let layer = layer(ball, aggregation);
            let bias = bias_of(&layer);
            let points: Vec<Row<f64>> = (0..NODES)
                .map(|node| ball.add(&ball.exp0(&product(&x, layer.weight.value(), node)), &bias))
                .collect();
            let found = run(&ball, &layer, &x);
            for node in 0..NODES {
                let own = adjacency().edges.pairs().to_vec();
                let own = own.iter().enumerate().filter(|(_, edge)| edge.0 as usize == node);
                let neighbours: Vec<(f64, &Row<f64>)> =
                    own.map(|(e, edge)| (weights.data()[e], &points[edge.1 as usize])).collect();
                let want = match aggregation {
                    Aggregation::Sum => {
                        let mut sum = [0.0; 2];
                        for (weight, point) in &neighbours {
                            let v = ball.log0(*point);
                            sum.iter_mut().zip(v.iter()).for_each(|(sum, v)| *sum += weight * v);
                        }
                        ball.exp0(&Row::from(&sum[..]))
                    }
                    Aggregation::Barycentre => {
                        let rows = neighbours.iter().flat_map(|(_, point)| point.to_vec()).collect();
                        let weights = Tensor::new(
                            [neighbours.len()],
                            neighbours.iter().map(|(weight, _)| *weight).collect(),
                        );
                        let mean = ball.barycentre(&Tensor::new([neighbours.len(), 2], rows), &weights);
                        Row::from(mean.data())
                    }
                };
                for (found, want) in found.row(node).iter().zip(want.iter()) {
                    assert!((found - want).abs() < 1e-13, "{kappa} {aggregation:?}: {found} {want}");
                }
            }
        }
    }
}

/// `A (x W + b)`, whatever the aggregation: the mean of vectors is their midpoint.
#[test]
fn in_euclidean_space_it_is_the_layer_of_kipf_and_welling() {
    let (x, mut want) = (features(), Tensor::zeros([NODES, 2]));
    let sum = layer(Euclidean, Aggregation::Sum);
    let adjacency = adjacency();
    for (&(i, j), weight) in adjacency.edges.pairs().iter().zip(adjacency.weights.data()) {
        let y = product(&x, sum.weight.value(), j as usize);
        for (c, to) in want.row_mut(i as usize).iter_mut().enumerate() {
            *to += weight * (y[c] + bias_of(&sum)[c]);
        }
    }
    close(&run(&Euclidean, &sum, &x), &want, 1e-14);
    close(&run(&Euclidean, &layer(Euclidean, Aggregation::Barycentre), &x), &want, 1e-14);
}

/// A curvature that is learned gives the points of the same curvature that is fixed, and has a gradient.
#[test]
fn its_curvature_can_be_learned() {
    for aggregation in [Aggregation::Sum, Aggregation::Barycentre] {
        let (learned, fixed) = (Curvature::new(-0.7), space(-0.7));
        let mut fixed_layer = layer(fixed, aggregation);
        let mut learned_layer = layer(Euclidean, aggregation);
        *learned_layer.weight.value_mut() = fixed_layer.weight.value().clone();
        *learned_layer.bias.as_mut().unwrap().value_mut() = Tensor::new([2], vec![0.2, -0.3]);
        let bias = fixed.exp0(&bias_of(&learned_layer));
        fixed_layer.bias.as_mut().unwrap().value_mut().data_mut().copy_from_slice(&bias);
        close(&run(&learned, &learned_layer, &features()), &run(&fixed, &fixed_layer, &features()), 1e-14);
        let tape = Tape::new();
        let x = Features::Dense(tape.constant(&features()));
        let z = learned_layer.forward(learned.on(&tape), &x, &adjacency());
        let slope = tape.backward(z.coordinates().square().sum()).wrt(&learned.kappa).data()[0];
        let at = |kappa: f64| {
            let z = run(&Curvature::new(kappa), &learned_layer, &features());
            z.data().iter().map(|z| z * z).sum::<f64>()
        };
        let finite = (at(-0.7 + 1e-5) - at(-0.7 - 1e-5)) / 2e-5;
        assert!((slope - finite).abs() < 1e-8 && slope != 0.0, "{slope} {finite}");
    }
}

/// Without a bias it is the layer whose bias is the origin.
#[test]
fn the_bias_can_be_left_out() {
    let ball = space(-0.7);
    let mut with = layer(ball, Aggregation::Sum);
    let without = with.clone().without_bias();
    with.bias.as_mut().unwrap().value_mut().data_mut().fill(0.0);
    close(&run(&ball, &without, &features()), &run(&ball, &with, &features()), 1e-14);
    let names: Vec<String> = without.state().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["weight"]);
}

/// A node that has no edges of its own has no degree to divide by: an edge to it weighs 0.
#[test]
fn an_edge_to_a_node_without_edges_weighs_nothing() {
    let edges = Arc::new(Sparsity::new(3, 3, &[(0, 0), (0, 1), (0, 2), (1, 0)]));
    let weights = Adjacency::<f64>::symmetric(edges).weights;
    let root = 1.0 / 3.0_f64.sqrt();
    close(&weights, &Tensor::new([4], vec![1.0 / 3.0, root, 0.0, root]), 1e-15);
}

#[test]
#[should_panic(expected = "Adjacency: edges of shape [2, 3], not [nodes, nodes]")]
fn adjacencies_are_square() {
    let _ = Adjacency::<f64>::symmetric(Arc::new(Sparsity::new(2, 3, &[(0, 2)])));
}

/// Weights are dropped while training, and only then.
#[test]
fn dropout_is_that_of_the_weight() {
    let plain = layer(Euclidean, Aggregation::Sum);
    let dropped = GraphConvolution { dropout: Dropout { rate: 0.5 }, ..plain.clone() };
    close(&run(&Euclidean, &dropped, &features()), &run(&Euclidean, &plain, &features()), 0.0);
    // All that each column of W has is one number, so a dropped one leaves the bias.
    let mut single = dropped;
    single.weight = Param::new("weight", Euclidean, Tensor::new([1, 2], vec![1.0, 1.0]));
    let mut kept = [0; 2];
    for draw in 0..50 {
        let tape = Tape::new();
        tape.training(rng::stream(4, 0, draw));
        let x = Features::Dense(tape.constant(&Tensor::new([NODES, 1], vec![1.0; NODES])));
        let z = single.forward(Euclidean, &x, &adjacency()).coordinates().to_tensor();
        for (c, kept) in kept.iter_mut().enumerate() {
            let share = z.row(0)[c] - bias_of(&single)[c];
            assert!(share.abs() < 1e-14 || (share - 2.0).abs() < 1e-14, "{share}");
            *kept += usize::from(share > 1.0);
        }
    }
    assert!(kept.iter().all(|&kept| (10..40).contains(&kept)), "{kept:?}");
}
