//! Scores of pairs and attention: values against plain loops, gradients and forward mode against finite
//! differences, single precision against double.

use cotangent::engine::formulas::{EuclideanDistance, ScaledDot};
use cotangent::engine::{Pairs, Weights, check};
use cotangent::layers::score::{Distance, HalfSpaceDistance, PenumbralCone, PolarDistance, UmbralCone};
use cotangent::prelude::*;

use crate::common::{Loss, PLACES, assert_close, assert_gradients, sparsity, tensor, value, weigh};

/// Attention with stored scores, in plain loops.
fn attention(q: &Tensor<f64>, k: &Tensor<f64>, v: &Tensor<f64>, scale: f64, causal: bool) -> Tensor<f64> {
    let axes = q.shape().axes();
    let (batch, n) = (axes[0], axes[1]);
    let (m, e) = (k.shape()[1], v.width());
    let mut out = Tensor::zeros([batch, n, e]);
    for b in 0..batch {
        for i in 0..n {
            let reach = if causal { (i + 1 + m).saturating_sub(n).min(m) } else { m };
            let row = |t: &Tensor<f64>, j: usize, len: usize| t.row(b * len + j).to_vec();
            let dot = |j: usize| row(q, i, n).iter().zip(row(k, j, m)).map(|(a, b)| a * b).sum::<f64>();
            let weights: Vec<f64> = (0..reach).map(|j| (scale * dot(j)).exp()).collect();
            let total: f64 = weights.iter().sum();
            for (j, w) in weights.iter().enumerate() {
                for (y, x) in out.row_mut(b * n + i).iter_mut().zip(row(v, j, m)) {
                    *y += w / total * x;
                }
            }
        }
    }
    out
}

#[test]
fn attend_is_attention_and_has_its_derivatives() {
    for (batch, n, m, d, e) in
        [(1, 1, 1, 1, 1), (2, 5, 7, 3, 4), (2, 7, 5, 3, 2), (1, 150, 1030, 4, 3), (3, 40, 40, 8, 8)]
    {
        let (q, k, v) = (tensor(&[batch, n, d], 1), tensor(&[batch, m, d], 2), tensor(&[batch, m, e], 3));
        for causal in [false, true] {
            let got = value([&q, &k, &v], |[q, k, v]| q.attend(k, v, 0.7, causal));
            assert_close(&got, &attention(&q, &k, &v, 0.7, causal), 1e-13);
        }
    }
    // With more queries than keys, a causal mask leaves the first queries without keys.
    for (n, m, causal) in [(5, 6, false), (5, 6, true), (7, 5, true)] {
        let (q, k, v) = (tensor(&[2, n, 3], 1), tensor(&[2, m, 3], 2), tensor(&[2, m, 4], 3));
        assert_gradients(&[q.clone(), k.clone(), v.clone()], |x| weigh(x[0].attend(x[1], x[2], 0.7, causal)));
        let inputs = [q.clone(), k.clone(), v.clone()];
        let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape().axes(), 9)).collect();
        let worst =
            check::forward_mode(&inputs, &directions, |x| weigh(x[0].attend(x[1], x[2], 0.7, causal)));
        assert!(worst < 1e-10, "{worst:e}");
    }
    // Many tiles: the reverse pass must recompute the same scores.
    let (q, k, v) = (tensor(&[1, 140, 2], 1), tensor(&[1, 1100, 2], 2), tensor(&[1, 1100, 2], 3));
    let directions: Vec<Tensor<f64>> = [&q, &k, &v].iter().map(|t| tensor(t.shape().axes(), 9)).collect();
    let worst = check::forward_mode(&[q, k, v], &directions, |x| weigh(x[0].attend(x[1], x[2], 1.0, true)));
    assert!(worst < 1e-9, "{worst:e}");
}

/// A score with numbers of left and right rows and a parameter. It has more numbers than the kernels
/// differentiate at once.
#[derive(Clone, Copy)]
pub(crate) struct Bump;

impl PairFormula<2, 3, 1> for Bump {
    const NAME: &'static str = "bump";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    fn eval<S: Scalar>(square: S, [a, e]: [S; 2], [b, c, f]: [S; 3], [s]: [S; 1]) -> S {
        (a * b - s * square) / (S::one() + c.square()) + a + e * f.square()
    }
}

#[test]
fn pair_formulas_pass_gradients_to_numbers_of_rows_and_parameters() {
    // In the last shape, a row has more pairs than are differentiated at once.
    let shapes: [[&[usize]; 2]; 4] =
        [[&[2, 4, 3], &[2, 5, 3]], [&[2, 4, 3], &[5, 3]], [&[26, 3], &[70, 3]], [&[2, 1], &[530, 1]]];
    for [x, y] in shapes {
        let rows = |s: &[usize]| s[..s.len() - 1].to_vec();
        let inputs = [
            tensor(x, 1),
            tensor(y, 2),
            tensor(&rows(x), 3),
            tensor(&rows(y), 4),
            tensor(&rows(y), 5),
            Tensor::scalar(0.7),
            tensor(&rows(x), 7),
            tensor(&rows(y), 8),
        ];
        let score: Loss = |v| {
            weigh(v[0].tape().pairs(Bump, [v[0], v[1]], [v[2], v[6]], [v[3], v[4], v[7]], [v[5]]).scores())
        };
        assert_gradients(&inputs, score);
        let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape().axes(), 9)).collect();
        let worst = check::forward_mode(&inputs, &directions, score);
        assert!(worst < 1e-10, "{worst:e}");
        if x.len() == y.len() {
            let mut inputs = inputs.to_vec();
            inputs.push(tensor(y, 6));
            for weights in [Weights::Softmax, Weights::Sigmoid, Weights::NormalisedSigmoid] {
                assert_gradients(&inputs, |v| {
                    let (tape, rows) = (v[0].tape(), [v[0], v[1], v[8]]);
                    let pairs =
                        tape.pairs(Bump, [rows[0], rows[1]], [v[2], v[6]], [v[3], v[4], v[7]], [v[5]]);
                    weigh(pairs.attend(rows[2], weights, false))
                });
            }
        }
    }
}

/// A parameter with a number for each entry of the last leading axis: each entry is as if it were alone.
#[test]
fn entries_of_a_batch_may_have_parameters_of_their_own() {
    let rows = [tensor(&[3, 2, 5, 4], 1), tensor(&[3, 2, 6, 4], 2), tensor(&[3, 2, 6, 3], 3)];
    let own = Tensor::new([2], vec![0.4, 1.5]);
    type Reading = for<'t> fn(Pairs<'t, f64>, Var<'t, f64>) -> Var<'t, f64>;
    let readings: [Reading; 3] = [
        |pairs, _| pairs.scores(),
        |pairs, values| pairs.attend(values, Weights::Softmax, true),
        |pairs, values| pairs.attend_masked(values, Weights::Sigmoid, values.tape().scalar(0.0)),
    ];
    for reading in readings {
        let run = |together: bool| {
            let tape = Tape::<f64>::new();
            let [q, k, v, scale] = [&rows[0], &rows[1], &rows[2], &own].map(|x| tape.variable(x));
            let read = |q, k, v, scale| reading(tape.pairs(ScaledDot, [q, k], [], [], [scale]), v);
            let y = if together {
                read(q, k, v, scale)
            } else {
                let alone = [0, 1].map(|head| {
                    let [q, k, v] = [q, k, v].map(|x| x.slice(1, head..head + 1));
                    read(q, k, v, scale.slice(0, head..head + 1))
                });
                Var::concat(&alone, 1)
            };
            let value = y.to_tensor();
            let gradients = tape.backward(weigh(y));
            (value, [q, k, v, scale].map(|x| gradients.wrt(x)))
        };
        let [(together, of_together), (alone, of_alone)] = [true, false].map(run);
        assert_eq!(together, alone);
        of_together.iter().zip(&of_alone).for_each(|(together, alone)| assert_close(together, alone, 1e-13));
    }
    let mut inputs = rows.to_vec();
    inputs.push(own);
    let score: Loss = |v| {
        let pairs = v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [v[3]]);
        weigh(pairs.scores()) + weigh(pairs.attend(v[2], Weights::Softmax, false))
    };
    assert_gradients(&inputs, score);
    let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape().axes(), 9)).collect();
    let worst = check::forward_mode(&inputs, &directions, score);
    assert!(worst < 1e-10, "{worst:e}");
}

/// Attention, also of queries that attend to nothing, is the product of stored weights and values; forward
/// mode agrees with the reverse pass. A query that is NaN has a result that is NaN.
#[test]
fn attention_by_all_weights() {
    let inputs = [tensor(&[7, 3], 1), tensor(&[5, 3], 2), tensor(&[5, 2], 3)];
    let directions: Vec<Tensor<f64>> = inputs.iter().map(|x| tensor(x.shape().axes(), 4)).collect();
    for weights in [Weights::Softmax, Weights::Sigmoid, Weights::NormalisedSigmoid] {
        for causal in [false, true] {
            let worst = check::forward_mode(&inputs, &directions, |v| {
                let scale = v[0].tape().scalar(3.0);
                weigh(
                    v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [scale]).attend(v[2], weights, causal),
                )
            });
            assert!(worst < 1e-12, "{weights:?}: {worst:e}");
            let tape = Tape::new();
            let [q, k, v] = inputs.each_ref().map(|x| tape.constant(x));
            let pairs = tape.pairs(ScaledDot, [q, k], [], [], [tape.scalar(3.0)]);
            let hidden = causal.then(|| tape.causal_mask(7, 5));
            let stored = weights.normalise(pairs.scores(), hidden).matmul(v).to_tensor();
            assert_close(&pairs.attend(v, weights, causal).to_tensor(), &stored, 1e-14);
            let mut spoilt = inputs[0].clone();
            spoilt.row_mut(5)[1] = f64::NAN;
            let pairs = tape.pairs(ScaledDot, [tape.constant(&spoilt), k], [], [], [tape.scalar(3.0)]);
            let y = pairs.attend(v, weights, causal).to_tensor();
            assert!(
                y.rows().enumerate().all(|(i, row)| row.iter().all(|x| x.is_nan() == (i == 5))),
                "{weights:?}"
            );
        }
    }
}

/// Dropped keys are hidden keys: the same results, gradients and derivatives. They are those whose weights
/// dropout would drop. There are more keys than a tile has, two batch entries, and keys that are hidden
/// anyway. A query that is NaN has a result that is NaN.
#[test]
fn dropped_keys_are_hidden() {
    let (n, m) = (5, 300);
    let inputs = [tensor(&[2, n, 3], 1), tensor(&[2, m, 3], 2), tensor(&[2, m, 2], 3)];
    let mask = Tensor::from_fn([n, m], |at| f64::from(u8::from(at * at % 11 < 4)));
    fn pairs<'t>(v: &[Var<'t, f64>]) -> Pairs<'t, f64> {
        v[0].tape().training(rng::stream(4, 0, 0));
        v[0].tape().pairs(ScaledDot, [v[0], v[1]], [], [], [v[0].tape().scalar(3.0)])
    }
    let each = Tensor::from_fn([2, m, m], |at| f64::from(u8::from(at / m % m == at % m)));
    for weights in [Weights::Softmax, Weights::Sigmoid, Weights::NormalisedSigmoid] {
        for (causal, mask) in [(false, None), (true, None), (false, Some(&mask))] {
            fn attend<'t>(
                pairs: &Pairs<'t, f64>,
                values: Var<'t, f64>,
                weights: Weights,
                (causal, mask): (bool, Option<&Tensor<f64>>),
            ) -> Var<'t, f64> {
                match mask {
                    Some(mask) => pairs.attend_masked(values, weights, values.tape().constant(mask)),
                    None => pairs.attend(values, weights, causal),
                }
            }
            let run = |inputs: &[Tensor<f64>; 3], dropped: bool| {
                let tape = Tape::new();
                let v = inputs.each_ref().map(|x| tape.variable(x));
                let pairs = pairs(&v);
                let y = if dropped {
                    attend(&pairs.drop_keys(0.4), v[2], weights, (causal, mask))
                } else {
                    let single = pairs.clone().dropout(0.4);
                    let single = attend(&single, tape.constant(&each), weights, (causal, mask));
                    let hidden = tape.scalar(1.0).masked_fill(single, 0.0);
                    let share = hidden.mean().item();
                    let want = if mask.is_some() { 0.6..0.75 } else { 0.37..0.43 };
                    assert!(want.contains(&share), "{share}");
                    pairs.attend_masked(v[2], weights, hidden)
                };
                let (result, gradients) = (y.to_tensor(), tape.backward(weigh(y)));
                (result, v.map(|x| gradients.wrt(x)))
            };
            let (dropped, hidden) = (run(&inputs, true), run(&inputs, false));
            assert_close(&dropped.0, &hidden.0, 1e-14);
            for (dropped, hidden) in dropped.1.iter().zip(&hidden.1) {
                assert_close(dropped, hidden, 1e-13);
            }
            let directions: Vec<Tensor<f64>> = inputs.iter().map(|x| tensor(x.shape().axes(), 4)).collect();
            let worst = check::forward_mode(&inputs, &directions, |v| {
                weigh(attend(&pairs(v).drop_keys(0.4), v[2], weights, (causal, mask)))
            });
            assert!(worst < 1e-11, "{weights:?}: {worst:e}");
            let mut spoilt = inputs.clone();
            spoilt[0].row_mut(3)[1] = f64::NAN;
            let result = run(&spoilt, true).0;
            assert!(result.rows().enumerate().all(|(i, row)| row.iter().all(|y| y.is_nan() == (i == 3))));
        }
    }
}

/// Squared distances of nearby rows far from the origin. Forward mode uses differences, as the reverse
/// pass does, so that nothing cancels.
#[test]
fn forward_mode_of_distances_does_not_cancel() {
    for width in [3, 20] {
        let near = |x: Tensor<f64>| Tensor::from_fn(x.shape().clone(), |i| 1e8 + x.data()[i]);
        let [x, y] = [([4, width], 1), ([5, width], 2)].map(|(shape, seed)| near(tensor(&shape, seed)));
        let directions = [tensor(&[4, width], 3), tensor(&[5, width], 4)];
        let scores: [Loss; 3] = [
            |v| weigh(v[0].tape().pairs(EuclideanDistance, [v[0], v[1]], [], [], []).scores()),
            |v| weigh(v[0].tape().pairs(EuclideanDistance, [v[0], v[0]], [], [], []).scores()) + v[1].sum(),
            |v| {
                let places = sparsity(4, 5, &PLACES);
                weigh(v[0].tape().pairs(EuclideanDistance, [v[0], v[1]], [], [], []).along(&places))
            },
        ];
        for score in scores {
            let worst = check::forward_mode(&[x.clone(), y.clone()], &directions, score);
            assert!(worst < 1e-9, "width {width}: {worst:e}");
        }
    }
}

/// Values and gradients in single precision, where kernels compute whole registers of pairs, compared with
/// those in double precision. A row has more pairs than are differentiated at once.
#[test]
fn pair_formulas_in_single_precision_are_those_in_double() {
    fn run<T: Float, F: PairFormula<N, N, P>, const N: usize, const P: usize>(
        formula: F,
        rows: &[Tensor<f64>; 3],
        numbers: &[[Tensor<f64>; N]; 2],
        params: [f64; P],
        stored: bool,
    ) -> Vec<Vec<f64>> {
        let tape = Tape::<T>::new();
        let variable =
            |x: &Tensor<f64>| tape.variable(&Tensor::from_fn(x.shape().clone(), |i| T::nearest(x.data()[i])));
        let [x, y, v] = rows.each_ref().map(variable);
        let [a, b] = numbers.each_ref().map(|side| side.each_ref().map(variable));
        let params = params.map(|p| tape.variable(&Tensor::scalar(T::nearest(p))));
        let out = if stored {
            tape.pairs(formula, [x, y], a, b, params).scores()
        } else {
            tape.pairs(formula, [x, y], a, b, params).attend(v, Weights::Softmax, false)
        };
        let weights = Tensor::from_fn(out.shape(), |i| T::nearest(0.4 + (i as f64 * 1.7).sin()));
        let mut all = vec![out.to_tensor().data().iter().map(|x| x.to_f64()).collect()];
        let gradients = tape.backward((out * tape.constant(&weights)).sum());
        for x in [x, y].into_iter().chain(a).chain(b).chain(params) {
            assert!(gradients.view(x).is_some());
            all.push(gradients.wrt(x).data().iter().map(|x| x.to_f64()).collect());
        }
        all
    }
    fn compare<F: PairFormula<N, N, P>, const N: usize, const P: usize>(formula: F, params: [f64; P]) {
        for (m, width) in [(530, 16), (37, 5)] {
            let numbers = |n: usize, seed| {
                let x = tensor(&[1, n], seed);
                Tensor::from_fn([1, n], |i| 0.5 + 0.3 * x.data()[i])
            };
            // Inputs are rounded to single precision, so that both types get the same numbers.
            let held = |x: Tensor<f64>| Tensor::from_fn(x.shape().clone(), |i| f64::from(x.data()[i] as f32));
            let rows = [(3, 1), (m, 2), (m, 5)].map(|(n, seed)| held(tensor(&[1, n, width], seed)));
            let numbers = [(3, 10), (m, 20)]
                .map(|(n, seed)| std::array::from_fn(|k| held(numbers(n, seed + k as u64))));
            for stored in [true, false] {
                let single = run::<f32, F, N, P>(formula, &rows, &numbers, params, stored);
                let double = run::<f64, F, N, P>(formula, &rows, &numbers, params, stored);
                for (which, (single, double)) in single.iter().zip(&double).enumerate() {
                    let largest = double.iter().fold(0.0_f64, |max, x| max.max(x.abs()));
                    for (s, d) in single.iter().zip(double) {
                        let error = (s - d).abs();
                        // A softmax does not change with an offset of the scores, whose gradient cancels to
                        // rounding errors: hence the absolute term.
                        assert!(error <= 1e-4 * largest + 1e-6, "{} {m} {which}: {s} {d}", F::NAME);
                    }
                }
            }
        }
    }
    compare(Distance, [0.7, 0.2]);
    compare(PolarDistance, [0.7, 0.2]);
    compare(HalfSpaceDistance, [0.7, 0.2]);
    compare(PenumbralCone::default(), [0.7, 0.2, 1.0]);
    compare(UmbralCone::default(), [0.7, 0.2, 0.1]);
}

/// With few batch entries, the queries are split over threads, and the gradients of keys and values are
/// summed over the parts. Values and gradients equal those with stored weights, and no bit depends on the
/// number of threads.
#[test]
fn attention_of_few_batch_entries_is_split() {
    let run = |batch: usize, causal: bool, stored: bool, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tape = Tape::new();
            let (n, m) = (210, 200);
            let [q, k, v] =
                [(n, 1), (m, 2), (m, 3)].map(|(n, seed)| tape.variable(&tensor(&[batch, n, 32], seed)));
            let [x, y] =
                [n, m].map(|n| tape.variable(&Tensor::from_fn([batch, n], |i| 1.0 + (i % 7) as f64)));
            let params = [0.7, 0.2].map(|p| tape.variable(&Tensor::scalar(p)));
            let out = if stored {
                let hidden = causal.then(|| tape.causal_mask(n, m));
                Weights::Softmax
                    .normalise(tape.pairs(Distance, [q, k], [x], [y], params).scores(), hidden)
                    .matmul(v)
            } else {
                tape.pairs(Distance, [q, k], [x], [y], params).attend(v, Weights::Softmax, causal)
            };
            let value = out.to_tensor();
            let inputs = [q, k, v, x, y, params[0]];
            let gradients = tape.backward(weigh(out));
            assert!(inputs.iter().all(|x| gradients.view(x).is_some()));
            [vec![value], inputs.map(|x| gradients.wrt(x)).to_vec()].concat()
        })
    };
    for (batch, causal) in [(1, true), (3, false)] {
        let got = run(batch, causal, false, 3);
        assert_eq!(got, run(batch, causal, false, 1), "{batch}");
        for (got, want) in got.iter().zip(&run(batch, causal, true, 1)) {
            assert_close(got, want, 1e-11);
        }
    }
}
