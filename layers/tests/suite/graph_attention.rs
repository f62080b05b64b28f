//! Graph attention: compared with its definition in plain loops, and its invariances.

use std::sync::Arc;

use cotangent_engine::{Sparsity, check};
use cotangent_layers::score::{Additive, Distance, Dot, PenumbralCone, Score, UmbralCone};
use cotangent_layers::{Attention, Dropout, Features, GraphAttention, Heads};

use super::*;

#[test]
fn a_graph_may_have_no_nodes() {
    for (heads, width) in [(Heads::Concat, 6), (Heads::Mean, 2)] {
        let tape = Tape::new();
        let x = Features::Dense(tape.constant(&Tensor::new([0, 4], vec![])));
        let y = layer(&Distance, heads, 1).forward(&x, &Arc::new(Sparsity::new(0, 0, &[])));
        assert_eq!(y.shape().axes(), [0, width]);
    }
}

const NODES: usize = 5;
const EDGES: [(u32, u32); 11] =
    [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 2), (2, 4), (3, 3), (4, 4), (4, 2), (4, 0)];

fn layer(score: &dyn Score<f64>, heads: Heads, seed: u64) -> GraphAttention<f64> {
    let mut layer = GraphAttention::new(score, 4, 3, 2, heads, &mut rng::stream(seed, 7, 0));
    let bias = layer.bias.as_mut().unwrap().value_mut();
    bias.data_mut().iter_mut().enumerate().for_each(|(i, b)| *b = 0.1 * i as f64);
    layer
}

fn features(seed: u64) -> Tensor<f64> {
    uniform(&[NODES, 4], 1.0, &mut rng::stream(seed, 8, 0))
}

fn run(layer: &GraphAttention<f64>, x: &Tensor<f64>, edges: &[(u32, u32)]) -> Tensor<f64> {
    let tape = Tape::new();
    let edges = Arc::new(Sparsity::new(NODES, NODES, edges));
    layer.forward(&Features::Dense(tape.constant(x)), &edges).to_tensor()
}

/// Veličković et al. 2018, eq. 1 to 6.
#[test]
fn additive_attention_is_that_of_the_paper() {
    let (x, concat) = (features(1), layer(&Additive, Heads::Concat, 2));
    let w = concat.weight.value();
    let h = |node: usize, head: usize, c: usize| -> f64 {
        (0..4).map(|i| x.row(node)[i] * w.row(i)[head * 2 + c]).sum()
    };
    let score = |i: usize, j: usize, head: usize| {
        let (a, b) = (concat.query.value().row(head), concat.key.value().row(head));
        let e: f64 = (0..2).map(|c| a[c] * h(i, head, c) + b[c] * h(j, head, c)).sum();
        (if e > 0.0 { e } else { 0.2 * e }).exp()
    };
    let mut sums = Tensor::zeros([NODES, 6]);
    for i in 0..NODES {
        let neighbours = || EDGES.iter().filter(|e| e.0 as usize == i).map(|e| e.1 as usize);
        for head in 0..3 {
            let total: f64 = neighbours().map(|j| score(i, j, head)).sum();
            for c in 0..2 {
                let sum: f64 = neighbours().map(|j| score(i, j, head) / total * h(j, head, c)).sum();
                sums.row_mut(i)[head * 2 + c] = sum;
            }
        }
    }
    let want = Tensor::from_fn([NODES, 6], |at| sums.data()[at] + 0.1 * (at % 6) as f64);
    close(&run(&concat, &x, &EDGES), &want, 1e-14);

    let mut mean = layer(&Additive, Heads::Mean, 2);
    mean.weight = concat.weight.clone();
    mean.query = concat.query.clone();
    mean.key = concat.key.clone();
    let want = Tensor::from_fn([NODES, 2], |at| {
        let (i, c) = (at / 2, at % 2);
        (0..3).map(|head| sums.row(i)[head * 2 + c]).sum::<f64>() / 3.0 + 0.1 * c as f64
    });
    close(&run(&mean, &x, &EDGES), &want, 1e-14);
}

/// Reordering the nodes reorders the results.
#[test]
fn the_order_of_nodes_and_edges_does_not_matter() {
    let order = [3, 0, 4, 1, 2];
    let x = features(3);
    let moved = Tensor::from_fn([NODES, 4], |at| x.row(order[at / 4])[at % 4]);
    let place = |node: u32| order.iter().position(|&old| old == node as usize).unwrap() as u32;
    let edges: Vec<(u32, u32)> = EDGES.iter().rev().map(|&(i, j)| (place(i), place(j))).collect();
    for score in [&Additive as &dyn Score<f64>, &Distance, &UmbralCone { radius: 0.1 }] {
        let layer = layer(score, Heads::Concat, 4);
        let (have, want) = (run(&layer, &moved, &edges), run(&layer, &x, &EDGES));
        close(&have, &Tensor::from_fn([NODES, 6], |at| want.row(order[at / 6])[at % 6]), 1e-14);
    }
}

#[test]
fn sparse_features_are_dense_ones_with_zeros() {
    let places = [(0, 1), (0, 3), (1, 0), (3, 2), (3, 3), (4, 0)]; // node 2 has none
    let mut dense = Tensor::zeros([NODES, 4]);
    for (e, &(i, j)) in places.iter().enumerate() {
        dense.row_mut(i as usize)[j as usize] = 0.3 + e as f64;
    }
    let layer = layer(&Distance, Heads::Concat, 5);
    let edges = Arc::new(Sparsity::new(NODES, NODES, &EDGES));
    let run = |x: Features<'_, f64>, tape: &Tape<f64>| {
        assert_eq!(x.width(), 4);
        let y = layer.forward(&x, &edges);
        let value = y.to_tensor();
        let gradients = tape.backward((y * y).sum());
        assert!(gradients.view(&layer.weight).is_some());
        (value, gradients.wrt(&layer.weight))
    };
    let tape = Tape::new();
    let want = run(Features::Dense(tape.constant(&dense)), &tape);
    let tape = Tape::new();
    let numbers = tape.constant(&Tensor::from_fn([places.len()], |e| 0.3 + e as f64));
    let have = run(Features::Sparse(Arc::new(Sparsity::new(NODES, 4, &places)), numbers), &tape);
    close(&have.0, &want.0, 1e-14);
    close(&have.1, &want.1, 1e-13);
}

#[test]
fn gradients_agree() {
    let edges = Arc::new(Sparsity::new(NODES, NODES, &EDGES));
    for score in [&Additive as &dyn Score<f64>, &Dot, &PenumbralCone { light: 1.0 }] {
        let layer = layer(score, Heads::Mean, 6);
        let worst = check::gradients(&[features(17)], |x| {
            let y = layer.forward(&Features::Dense(x[0]), &edges);
            (y * y).sum()
        });
        assert!(worst.relative < 1e-7 && worst.reverse != 0.0, "{score:?}: {worst:?}");
    }
}

/// While training, weights and values are dropped. The means stay the same.
#[test]
fn dropout_keeps_the_mean() {
    let plain = layer(&Distance, Heads::Concat, 8);
    let attention = Attention { dropout: Dropout { rate: 0.5 }, ..plain.attention.clone() };
    let dropped = GraphAttention { attention, ..plain.clone() };
    let x = features(9);
    close(&run(&dropped, &x, &EDGES), &run(&plain, &x, &EDGES), 0.0);
    let edges = Arc::new(Sparsity::new(NODES, NODES, &EDGES));
    let mut mean = Tensor::<f64>::zeros([NODES, 6]);
    const DRAWS: u64 = 4000;
    for draw in 0..DRAWS {
        let tape = Tape::new();
        tape.training(rng::stream(10, 0, draw));
        let y = dropped.forward(&Features::Dense(tape.constant(&x)), &edges).to_tensor();
        if draw == 0 {
            assert!(difference(&y, &run(&plain, &x, &EDGES)) > 0.1);
        }
        mean.data_mut().iter_mut().zip(y.data()).for_each(|(mean, y)| *mean += y / DRAWS as f64);
    }
    close(&mean, &run(&plain, &x, &EDGES), 0.1);
}

/// Kept values are dropped only as a whole, with their weights.
#[test]
fn kept_values_stay_whole() {
    let plain = layer(&Distance, Heads::Concat, 18).without_bias();
    let loops: Vec<(u32, u32)> = (0..NODES as u32).map(|node| (node, node)).collect();
    let (edges, x) = (Arc::new(Sparsity::new(NODES, NODES, &loops)), features(19));
    let whole = run(&plain, &x, &loops);
    for keep_values in [true, false] {
        let attention = Attention { dropout: Dropout { rate: 0.5 }, ..plain.attention.clone() };
        let dropped = GraphAttention { attention, keep_values, ..plain.clone() };
        let tape = Tape::new();
        tape.training(rng::stream(20, 0, 0));
        let y = dropped.forward(&Features::Dense(tape.constant(&x)), &edges).to_tensor();
        let factors: Vec<f64> = y.data().iter().zip(whole.data()).map(|(y, x)| (y / x).round()).collect();
        assert!(factors.contains(&0.0) && factors.contains(&if keep_values { 2.0 } else { 4.0 }));
        assert_eq!(factors.chunks(2).all(|head| head[0] == head[1]), keep_values, "{factors:?}");
    }
}

/// The skip connection adds x S, whose heads become one like those of the attention.
#[test]
fn a_skip_connection_adds_a_linear_map_of_the_input() {
    let x = features(11);
    for (heads, width) in [(Heads::Concat, 6), (Heads::Mean, 2)] {
        let plain = layer(&PenumbralCone { light: 1.0 }, heads, 12);
        let skipped = plain.clone().with_skip(&mut rng::stream(13, 0, 0));
        let skip = skipped.skip.as_ref().unwrap().value();
        assert!(skip.data().iter().all(|s| s.abs() <= 0.5) && skip.data().iter().any(|s| s.abs() > 0.4));
        let without = run(&plain, &x, &EDGES);
        let mapped = |node: usize, column: usize| -> f64 {
            (0..4).map(|i| x.row(node)[i] * skip.row(i)[column]).sum()
        };
        let want = Tensor::from_fn([NODES, width], |at| {
            let (node, c) = (at / width, at % width);
            let added = match heads {
                Heads::Concat => mapped(node, c),
                Heads::Mean => (0..3).map(|head| mapped(node, head * 2 + c)).sum::<f64>() / 3.0,
            };
            without.data()[at] + added
        });
        close(&run(&skipped, &x, &EDGES), &want, 1e-14);
        let edges = Arc::new(Sparsity::new(NODES, NODES, &EDGES));
        let tape = Tape::new();
        let y = skipped.forward(&Features::Dense(tape.constant(&x)), &edges);
        // The sum of all results has the gradient Σ x for each column of S, divided by the heads of a mean.
        let gradient = tape.backward(y.sum()).wrt(skipped.skip.as_ref().unwrap());
        let share = if heads == Heads::Mean { 1.0 / 3.0 } else { 1.0 };
        let want =
            Tensor::from_fn([4, 6], |at| share * (0..NODES).map(|node| x.row(node)[at / 6]).sum::<f64>());
        close(&gradient, &want, 1e-14);
    }
}

/// Queries and keys of their own matrices are x times these, times the vectors; values are as before.
#[test]
fn queries_and_keys_can_have_matrices() {
    let x = features(15);
    let plain = layer(&Distance, Heads::Concat, 16);
    let mut own = plain.clone().with_matrices(&mut rng::stream(17, 0, 0));
    let tape = Tape::new();
    let input = Features::Dense(tape.constant(&x));
    let (values, made) = own.project(&input);
    close(&values.to_tensor(), &plain.project(&input).0.to_tensor(), 1e-15);
    let matrices = [&own.query_weight, &own.key_weight].map(|weight| weight.as_ref().unwrap().value());
    let vectors = [&own.query, &own.key].map(|vector| vector.value());
    assert!(matrices[0] != matrices[1] && matrices[0] != own.weight.value());
    for ((made, matrix), vector) in made.iter().zip(matrices).zip(vectors) {
        let want = Tensor::from_fn([NODES, 3, 2], |at| {
            let (node, column) = (at / 6, at % 6);
            let product: f64 = (0..4).map(|i| x.row(node)[i] * matrix.row(i)[column]).sum();
            product * vector.data()[column]
        });
        close(&made.to_tensor(), &want, 1e-14);
    }
    let weight = own.weight.value().clone();
    for matrix in [&mut own.query_weight, &mut own.key_weight] {
        *matrix.as_mut().unwrap().value_mut() = weight.clone();
    }
    close(&run(&own, &x, &EDGES), &run(&plain, &x, &EDGES), 1e-15);
}

#[test]
fn without_a_bias_none_is_added() {
    let biased = layer(&Distance, Heads::Concat, 14);
    let plain = biased.clone().without_bias();
    let (with, without) = (run(&biased, &features(15), &EDGES), run(&plain, &features(15), &EDGES));
    close(&with, &Tensor::from_fn([NODES, 6], |at| without.data()[at] + 0.1 * (at % 6) as f64), 1e-15);
    assert_eq!(biased.count() - plain.count(), 6);
}
