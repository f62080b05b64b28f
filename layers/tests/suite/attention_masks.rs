//! Hidden rows have no weight and no gradient, whatever they hold: in padding, after a query, without an
//! edge.

use std::sync::Arc;

use cotangent_engine::Sparsity;
use cotangent_layers::score::{Distance, Dot, PenumbralCone, Score};
use cotangent_layers::{Aggregation, Attention, Dropout, Mask, Weights};

use super::attention::scores;
use super::*;

const WEIGHTS: [Weights; 3] = [Weights::Softmax, Weights::Sigmoid, Weights::NormalisedSigmoid];
const AGGREGATIONS: [Aggregation; 2] = [Aggregation::Sum, Aggregation::Barycentre];

/// Numbers that a row of padding may hold, but a row that counts may not.
const ANYTHING: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300];

/// Queries `[n, width]`, keys `[m, width]` and values `[m, 2]`.
fn rows(n: usize, m: usize, width: usize, seed: u64) -> [Tensor<f64>; 3] {
    let mut rng = rng::stream(seed, 4, 0);
    [[n, width], [m, width], [m, 2]].map(|shape| uniform(&shape, 2.0 / (width as f64).sqrt(), &mut rng))
}

/// A result, and the gradients of queries, keys and values with respect to a part of it.
fn with_gradients(
    inputs: [&Tensor<f64>; 3],
    forward: impl for<'t> Fn([Var<'t, f64>; 3]) -> Var<'t, f64>,
    select: impl for<'t> Fn(Var<'t, f64>) -> Var<'t, f64>,
) -> (Tensor<f64>, [Tensor<f64>; 3]) {
    let tape = Tape::new();
    let variables = inputs.map(|x| tape.variable(x));
    let y = forward(variables);
    let (value, part) = (y.to_tensor(), select(y));
    let gradients = tape.backward((part * part).sum() + part.sum());
    let slopes = std::array::from_fn(|i| {
        let (v, x) = (variables[i], inputs[i]);
        let gradient = gradients.view(v).map(|g| g.to_dense(x.len() / x.width(), x.width()));
        Tensor::new(x.shape().axes(), gradient.unwrap_or_else(|| vec![0.0; x.len()]))
    });
    (value, slopes)
}

fn zero(row: &[f64]) -> bool {
    row.iter().all(|x| *x == 0.0)
}

/// Keys that are hidden from all queries have no weight and no gradient, exactly, in rows of any width.
/// The result is that of the other keys alone.
#[test]
fn padding_is_not_there() {
    let hidden = [false, true, false, false, true];
    let keys = [0, 2, 3];
    // The same mask for all queries.
    let mask = Tensor::from_fn([5], |j| f64::from(u8::from(hidden[j])));
    for width in [3, 16, 64] {
        let [q, k, v] = rows(4, 5, width, 1);
        let fewer = |x: &Tensor<f64>| {
            Tensor::new([3, x.width()], keys.iter().flat_map(|&j| x.row(j)).copied().collect())
        };
        let (fewer_k, fewer_v) = (fewer(&k), fewer(&v));
        for score in scores() {
            for weights in WEIGHTS {
                for aggregation in AGGREGATIONS {
                    let layer = Attention { aggregation, weights, ..Attention::new(score, width) };
                    fn whole(y: Var<'_, f64>) -> Var<'_, f64> {
                        y
                    }
                    let run = |k: &Tensor<f64>, v: &Tensor<f64>| {
                        with_gradients(
                            [&q, k, v],
                            |[q, k, v]| layer.forward(q, k, v, Mask::Hidden(q.tape().constant(&mask))),
                            whole,
                        )
                    };
                    let (y, [dq, dk, dv]) = run(&k, &v);
                    let what = format!("{score:?}, {weights:?}, {aggregation:?}, {width}");
                    for (j, hidden) in hidden.into_iter().enumerate() {
                        assert_eq!((zero(dk.row(j)), zero(dv.row(j))), (hidden, hidden), "{what}: key {j}");
                    }
                    let tape = Tape::new();
                    let [query, key] = [&q, &k].map(|x| tape.constant(x));
                    let weighed = layer.weigh(query, key, Mask::Hidden(tape.constant(&mask))).to_tensor();
                    for (at, weight) in weighed.data().iter().enumerate() {
                        assert_eq!(*weight == 0.0, hidden[at % 5], "{what}: {weight}");
                    }
                    let alone = with_gradients(
                        [&q, &fewer_k, &fewer_v],
                        |[q, k, v]| layer.forward(q, k, v, Mask::None),
                        whole,
                    );
                    close(&y, &alone.0, 1e-12);
                    for (have, want) in [dq.clone(), fewer(&dk), fewer(&dv)].iter().zip(&alone.1) {
                        close(have, want, 1e-11);
                    }
                    // Equal to the last bit, whatever the hidden rows hold.
                    for anything in ANYTHING {
                        let (mut k, mut v) = (k.clone(), v.clone());
                        for j in [1, 4] {
                            k.row_mut(j).fill(anything);
                            v.row_mut(j).fill(anything);
                        }
                        assert_eq!(
                            run(&k, &v),
                            (y.clone(), [dq.clone(), dk.clone(), dv.clone()]),
                            "{what}: {anything}"
                        );
                        let key = tape.constant(&k);
                        let weights = layer.weigh(query, key, Mask::Hidden(tape.constant(&mask)));
                        assert_eq!(weights.to_tensor(), weighed, "{what}: {anything}");
                    }
                }
            }
        }
    }
}

/// Each sequence of a batch has its own padding, in every head.
#[test]
fn sequences_have_padding_of_their_own() {
    let mut rng = rng::stream(2, 4, 0);
    let [q, k, v] = [[2, 2, 3, 4], [2, 2, 5, 4], [2, 2, 5, 4]].map(|shape| uniform(&shape, 1.0, &mut rng));
    let lengths = [3, 4];
    for score in scores() {
        let layer = Attention::new(score, 4);
        let run = |k: &Tensor<f64>, v: &Tensor<f64>| {
            with_gradients(
                [&q, k, v],
                |[q, k, v]| {
                    let mask =
                        Tensor::from_fn([2, 1, 1, 5], |at| f64::from(u8::from(at % 5 >= lengths[at / 5])));
                    layer.forward(q, k, v, Mask::Hidden(q.tape().constant(&mask)))
                },
                |y| y,
            )
        };
        let want = run(&k, &v);
        let (mut k, mut v) = (k.clone(), v.clone());
        for row in 0..20 {
            let beyond = row % 5 >= lengths[row / 10];
            assert_eq!((zero(want.1[1].row(row)), zero(want.1[2].row(row))), (beyond, beyond), "{score:?}");
            if beyond {
                k.row_mut(row).fill(f64::NAN);
                v.row_mut(row).fill(f64::INFINITY);
            }
        }
        assert_eq!(run(&k, &v), want, "{score:?}");
    }
}

/// Keys that all sequences and heads share, or that all heads share, with one mask per sequence. A key
/// that all masks hide may hold anything.
#[test]
fn shared_keys_have_masks_of_their_own() {
    let mut rng = rng::stream(7, 4, 0);
    let q = uniform(&[2, 3, 4, 3], 0.5, &mut rng);
    // The last key is hidden from both sequences, the first from one.
    let mask = Tensor::new([2, 1, 1, 5], vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    for shape in [&[5, 3][..], &[2, 3, 5, 3]] {
        let [k, v] = [(); 2].map(|()| uniform(shape, 0.5, &mut rng));
        let spoilt = |x: &Tensor<f64>| {
            let mut x = x.clone();
            x.data_mut().chunks_exact_mut(15).for_each(|rows| rows[12..].fill(f64::NAN));
            x
        };
        for score in [&Dot as &dyn Score<f64>, &Distance] {
            let run = |k: &Tensor<f64>, v: &Tensor<f64>| {
                let tape = Tape::new();
                let [q, k, v, mask] = [&q, k, v, &mask].map(|x| tape.constant(x));
                let attention = Attention::<f64>::new(score, 3);
                attention.forward(q, k, v, Mask::Hidden(mask)).to_tensor()
            };
            let want = run(&k, &v);
            assert!(want.shape().axes() == [2, 3, 4, 3] && want.data().iter().all(|x| x.is_finite()));
            assert_eq!(run(&spoilt(&k), &spoilt(&v)), want, "{shape:?} {score:?}");
        }
    }
}

/// Squared distances of wide rows are computed together. A key that some queries see can change the last
/// bits of the other queries' results, but no more.
#[test]
fn keys_that_others_see_change_no_more_than_rounding() {
    let [q, k, v] = rows(4, 5, 16, 5);
    for score in scores() {
        let layer = Attention::new(score, 16);
        let run = |k: &Tensor<f64>| {
            let tape = Tape::new();
            let hidden =
                tape.constant(&Tensor::from_fn([4, 5], |at| f64::from(u8::from(at / 5 < 3 && at % 5 == 1))));
            let [q, k, v] = [&q, k, &v].map(|x| tape.constant(x));
            layer.forward(q, k, v, Mask::Hidden(hidden)).to_tensor()
        };
        let mut other = k.clone();
        other.row_mut(1).fill(2.0);
        let (have, want) = (run(&other), run(&k));
        let of_blind = |y: &Tensor<f64>| Tensor::new([3, 2], y.data()[..6].to_vec());
        close(&of_blind(&have), &of_blind(&want), 1e-12);
        assert!(difference(&have, &want) > 1e-3, "{score:?}");
    }
}

/// No query gives a weight or a gradient to a key after it, within a tile and across tiles.
#[test]
fn what_comes_later_is_not_there() {
    let check = |n: usize, m: usize, width, layer: &Attention<f64>| {
        let inputs = rows(n, m, width, 3);
        for i in [0, n / 2, n - 1] {
            let (_, [_, dk, dv]) = with_gradients(
                inputs.each_ref(),
                |[q, k, v]| layer.forward(q, k, v, Mask::Causal),
                |y| y.slice(-2, i..i + 1),
            );
            for j in 0..m {
                let later = j > i + m - n;
                let what = || format!("{:?}, {:?}, {width}: query {i}, key {j}", layer.score, layer.weights);
                assert!(!later || zero(dk.row(j)), "{}", what());
                // The gradient of a value is its weight.
                assert_eq!(zero(dv.row(j)), later, "{}", what());
            }
        }
    };
    for score in scores() {
        for weights in WEIGHTS {
            for width in [3, 16, 64] {
                check(5, 7, width, &Attention { weights, ..Attention::new(score, width) });
            }
        }
    }
    check(300, 310, 16, &Attention::new(&Distance, 16));
    check(300, 310, 4, &Attention::new(&PenumbralCone { light: 1.0 }, 4));
}

/// A key or a query without an edge has no gradient, and does not affect the others whatever it holds.
#[test]
fn what_has_no_edge_is_not_there() {
    let edges = Arc::new(Sparsity::new(4, 5, &[(0, 0), (0, 2), (1, 3), (3, 0), (3, 4)]));
    for width in [3, 16] {
        let [q, k, v] = rows(4, 5, width, 4);
        for score in scores() {
            for weights in WEIGHTS {
                for aggregation in AGGREGATIONS {
                    let layer = Attention { aggregation, weights, ..Attention::new(score, width) };
                    let run = |inputs: [&Tensor<f64>; 3]| {
                        with_gradients(inputs, |[q, k, v]| layer.along_edges(q, k, v, &edges), |y| y)
                    };
                    let what = format!("{score:?}, {weights:?}, {aggregation:?}, {width}");
                    let want = run([&q, &k, &v]);
                    let [dq, dk, dv] = &want.1;
                    assert!(zero(dq.row(2)) && zero(dk.row(1)) && zero(dv.row(1)), "{what}");
                    assert!([0, 2, 3, 4].iter().all(|&j| !zero(dv.row(j))), "{what}");
                    let with = |anything| {
                        let (mut q, mut k, mut v) = (q.clone(), k.clone(), v.clone());
                        q.row_mut(2).fill(anything);
                        k.row_mut(1).fill(anything);
                        v.row_mut(1).fill(anything);
                        run([&q, &k, &v])
                    };
                    assert_eq!(with(1.7), want, "{what}");
                    for anything in ANYTHING {
                        let (y, gradients) = with(anything);
                        assert_eq!(y, want.0, "{what}: {anything}");
                        for ((have, want), unseen) in gradients.iter().zip(&want.1).zip([2, 1, 1]) {
                            let mut seen = (0..have.len() / have.width()).filter(|row| *row != unseen);
                            assert!(seen.all(|row| have.row(row) == want.row(row)), "{what}: {anything}");
                        }
                    }
                }
            }
        }
    }
}

/// A mask that is a variable has the gradient 0, and changes no other.
#[test]
fn a_mask_has_no_gradient() {
    let [q, k, v] = rows(4, 5, 3, 6);
    let mask = Tensor::from_fn([4, 5], |at| f64::from(u8::from(at % 3 == 1)));
    let layer = Attention::<f64>::new(&Distance, 3);
    let run = |variable: bool| {
        let tape = Tape::new();
        let [q, k, v] = [&q, &k, &v].map(|x| tape.variable(x));
        let hidden = if variable { tape.variable(&mask) } else { tape.constant(&mask) };
        let gradients = tape.backward(layer.forward(q, k, v, Mask::Hidden(hidden)).square().sum());
        (gradients.wrt(hidden), [q, k, v].map(|x| gradients.wrt(x)))
    };
    let (of_mask, others) = run(true);
    assert_eq!(of_mask, Tensor::zeros([4, 5]));
    assert_eq!(others, run(false).1);
}

/// With more queries and keys than a tile has, results and gradients are those of stored weights: for any
/// mask, with dropout of weights and without.
#[test]
fn many_tiles() {
    let mut rng = rng::stream(3, 4, 0);
    let [q, k, v] = [[2, 300, 4], [2, 530, 4], [2, 530, 3]].map(|shape| uniform(&shape, 1.0, &mut rng));
    // Padding of each sequence; then keys hidden here and there, one query from all keys.
    let padding = Tensor::from_fn([2, 1, 530], |at| f64::from(u8::from(at % 530 >= [529, 270][at / 530])));
    let scattered = Tensor::from_fn([300, 530], |at| f64::from(u8::from(at / 530 == 7 || at * at % 11 < 4)));
    for score in [&Dot as &dyn Score<f64>, &Distance] {
        for weights in WEIGHTS {
            for (rate, mask) in [
                (0.0, None),
                (0.3, None),
                (0.0, Some(&padding)),
                (0.0, Some(&scattered)),
                (0.3, Some(&scattered)),
            ] {
                let layer = Attention { weights, dropout: Dropout { rate }, ..Attention::new(score, 4) };
                let run = |stored: bool| {
                    with_gradients(
                        [&q, &k, &v],
                        |[q, k, v]| {
                            q.tape().training(rng::stream(1, 5, 0));
                            let hidden =
                                mask.map_or(Mask::Causal, |mask| Mask::Hidden(q.tape().constant(mask)));
                            match stored {
                                true => layer.dropout.forward(layer.weigh(q, k, hidden)).matmul(v),
                                false => layer.forward(q, k, v, hidden),
                            }
                        },
                        |y| y,
                    )
                };
                let (tiled, stored) = (run(false), run(true));
                close(&tiled.0, &stored.0, 1e-12);
                for (have, want) in tiled.1.iter().zip(&stored.1) {
                    close(have, want, 1e-10);
                }
            }
        }
    }
}
