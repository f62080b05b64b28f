//! The authors' protocol: how it starts and how it steps.

use cotangent::optim::train::Batches;
use cotangent::prelude::*;
use cotangent_apps_common::config::{self, name};

use super::batches::PairBatches;
use super::model::GruModel;
use super::*;

fn config(protocol: Protocol, seed: u64) -> GruConfig {
    GruConfig { seed, ..config::parse(&["--protocol", &name(protocol)]) }.complete()
}

/// The largest absolute values of 20 seeds: of a word, a matrix behind the encoders, the point of the
/// distance and a normal.
fn largest_starts(protocol: Protocol) -> [f64; 4] {
    let mut largest = [0.0; 4];
    for seed in 0..20 {
        let model = GruModel::<f64>::new(&config(protocol, seed), [400, 2]);
        let values = [
            model.words.points.value(),
            model.join.weights[1].value(),
            model.join.features[0].value(),
            model.regression.normals.value(),
        ];
        for (largest, value) in largest.iter_mut().zip(values) {
            *largest = value.data().iter().fold(*largest, |most, x: &f64| most.max(x.abs()));
        }
    }
    largest
}

/// Glorot's bounds of matrices 5 × 5 and 1 × 5 are √0.6 and 1; of the blocks of one matrix 5 × 11, and
/// of 2 × 5, they are √0.375 and √(6/7).
#[test]
fn the_released_protocol_starts_as_the_authors_program() {
    let near = |x: f64, bound: f64| 0.97 * bound < x && x <= bound;
    let [word, weight, feature, normal] = largest_starts(Protocol::Released);
    assert!(near(word, (0.3e-6_f64).cbrt()) && near(weight, 0.6_f64.sqrt()), "{word} {weight}");
    assert!(feature == 0.0 && near(normal, 1.0), "{feature} {normal}");
    let [word, weight, feature, normal] = largest_starts(Protocol::Adam);
    assert!(near(word, 0.1) && near(weight, 0.375_f64.sqrt()), "{word} {weight}");
    assert!(feature > 0.1 && near(normal, (6.0_f64 / 7.0).sqrt()), "{feature} {normal}");
}

#[derive(Module)]
struct Parts {
    words: Embedding<PoincareBall, f64>,
    bias: Param<PoincareBall, f64>,
    matrix: Param<Euclidean, f64>,
}

/// Long gradients are shortened to coordinates of length 1, each by itself. At the origin of the ball
/// that is a Riemannian length of a half: words move by half their rate of 0.1, other points by half of
/// 0.01. The first step of Adam changes each coordinate by its rate, 0.001.
#[test]
fn the_released_protocol_steps_as_the_authors_program() {
    let ball = PoincareBall::new(-1.0);
    let mut parts = Parts {
        words: Embedding::uniform("words", ball, 3, 2, 1e-9, &mut rng::stream(1, 0, 0)),
        bias: Param::new("bias", ball, Tensor::zeros([2])),
        matrix: Param::new("matrix", Euclidean, Tensor::zeros([2])),
    };
    let mut optimiser = Protocol::Released.optimiser::<f64>(&config(Protocol::Released, 1), 2).unwrap();
    let tape = Tape::new();
    let word = *parts.words.forward(&tape, &[1]).coordinates();
    let loss =
        word.sum() + parts.bias.on(&tape).coordinates().sum() + parts.matrix.on(&tape).coordinates().sum();
    let gradients = tape.backward(loss * 40.0);
    optimiser.step(&mut parts, &gradients).unwrap();
    let moved = |x: &[f64]| ball.dist(&Row::from(x), &ball.origin(2));
    let word = moved(parts.words.points.value().row(1));
    let bias = moved(parts.bias.value().data());
    assert!((word - 0.05).abs() < 1e-8 && (bias - 0.005).abs() < 1e-8, "{word} {bias}");
    assert!(parts.matrix.value().data().iter().all(|x| (x + 0.001).abs() < 1e-8), "{:?}", parts.matrix);
    assert!(moved(parts.words.points.value().row(0)) < 1e-8);
}

#[derive(Module)]
struct Stacks {
    first: Gru<PoincareBall, f64>,
    regression: LogisticRegression<PoincareBall, f64>,
}

/// What is stacked here, biases of gates and points of classes, is clipped one by one: the long gradient of
/// the first does not shorten that of the second.
#[test]
fn the_released_protocol_clips_each_matrix_by_itself() {
    let (ball, rng) = (PoincareBall::new(-1.0), &mut rng::stream(1, 0, 0));
    let mut stacks =
        Stacks { first: Gru::new(ball, 5, 5, rng), regression: LogisticRegression::new(ball, 5, 2, rng) };
    let mut optimiser = Protocol::Released.optimiser::<f64>(&config(Protocol::Released, 1), 2).unwrap();
    let tape = Tape::new();
    let biases = *stacks.first.gate_biases.on(&tape).coordinates();
    let points = *stacks.regression.points.on(&tape).coordinates();
    let slopes = tape.constant(&Tensor::from_fn([2, 5], |i| if i < 5 { 40.0 } else { 0.01 }));
    optimiser.step(&mut stacks, &tape.backward(((biases + points) * slopes).sum())).unwrap();
    for points in [stacks.first.gate_biases.value(), stacks.regression.points.value()] {
        // At the origin a step of SGD is a quarter of the gradient: 0.01/4 at the rate 0.01.
        let moved = points.row(1)[0];
        assert!((moved + 0.01 * 0.01 / 4.0).abs() < 1e-9, "{moved}");
    }
}

/// The sum of the feed-forward layer is M₁ ⊗ x₁ ⊕ M₂ ⊗ x₂ ⊕ b ⊕ d ⊗ c in the authors'
/// program; by eq. 28 the bias is last.
#[test]
fn the_released_protocol_adds_the_bias_before_the_distance() {
    let ball = PoincareBall::new(-1.0);
    for (protocol, first) in [(Protocol::Adam, false), (Protocol::Released, true)] {
        let mut join = GruModel::new(&config(protocol, 3), [4, 2]).join;
        *join.bias.value_mut() = Tensor::new([5], vec![0.1, -0.2, 0.3, 0.0, 0.2]);
        *join.features[0].value_mut() = Tensor::new([5], vec![0.3, 0.2, -0.1, 0.4, 0.0]);
        let tape = Tape::new();
        let at = |seed: f64| tape.constant(&Tensor::from_fn([1, 5], |i| 0.2 * (seed + i as f64).sin()));
        let (x, y, distance) = (at(1.0), at(2.0), tape.constant(&Tensor::new([1, 1], vec![0.7])));
        let found = join.forward(&[x, y].map(|x| Point::new(AnySpace::from(ball), x)), Some(distance));
        let add = |x, y| GyrovectorSpace::add(&ball, x, y);
        let multiplied = |i: usize, x| GyrovectorSpace::matvec(&ball, *join.weights[i].on(&tape), x);
        let point = |param: &Param<SpaceForm, f64>| *param.on(&tape).coordinates();
        let sum = add(multiplied(0, x), multiplied(1, y));
        let bias = point(&join.bias);
        let feature = GyrovectorSpace::scale(&ball, distance.reshape([1]), point(&join.features[0]));
        let want = if first { add(add(sum, bias), feature) } else { add(add(sum, feature), bias) };
        assert_eq!(found.coordinates().to_tensor().data(), want.to_tensor().data(), "{protocol:?}");
    }
}

/// All pairs once, in batches of 4, in an order that changes from epoch to epoch. The released protocol keeps
/// its batches.
#[test]
fn the_released_protocol_keeps_its_batches() {
    for protocol in [Protocol::Adam, Protocol::Released] {
        let batches = PairBatches::new(10, &GruConfig { batch: 4, ..config(protocol, 42) });
        let epochs: Vec<_> = (0..6).map(|epoch| batches.epoch(epoch)).collect();
        for epoch in &epochs {
            let mut all = epoch.concat();
            all.sort_unstable();
            assert_eq!(all, (0..10).collect::<Vec<u32>>());
            let mut sorted = epoch.clone();
            sorted.sort();
            let kept = sorted == [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]];
            assert_eq!(kept, protocol == Protocol::Released, "{epoch:?}");
        }
        assert!(epochs.iter().any(|epoch| *epoch != epochs[0]), "{protocol:?}");
    }
}

#[test]
fn nonlinearities_are_those_of_their_names() {
    let tape = Tape::<f64>::new();
    let x = tape.constant(&Tensor::new([2], vec![-1.0, 2.0]));
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    for (nonlinearity, want) in [
        (Nonlinearity::Identity, [-1.0, 2.0]),
        (Nonlinearity::Tanh, [(-1.0_f64).tanh(), 2.0_f64.tanh()]),
        (Nonlinearity::Relu, [0.0, 2.0]),
        (Nonlinearity::Sigmoid, [logistic(-1.0), logistic(2.0)]),
    ] {
        let y = nonlinearity.activation::<f64>().apply(x).to_tensor();
        assert!(y.data().iter().zip(want).all(|(y, want)| (y - want).abs() < 1e-15), "{nonlinearity:?}: {y}");
    }
}
