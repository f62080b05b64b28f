//! Attention: scores computed by hand, masks, equivariance, cones, gradients.

use std::sync::Arc;

use cotangent_engine::{Float, Row, Sparsity, check};
use cotangent_layers::score::{
    Distance, EntailmentCone, FiniteUmbralCone, HalfSpaceDistance, Laplacian, PenumbralCone, PolarDistance,
    ReleasedPenumbralCone, ReleasedUmbralCone, Score, UmbralCone,
};
use cotangent_layers::{Aggregation, Attention, Dropout, Mask, MultiHeadAttention, Weights, score};

use super::*;

/// One score of each kind, and cones with other constants than the papers'.
pub(super) fn scores<T: Float>() -> impl Iterator<Item = &'static dyn Score<T>> {
    let (light, radius) = (0.8, 0.2);
    let others: [Box<dyn Score<T>>; 6] = [
        Box::new(PenumbralCone { light }),
        Box::new(UmbralCone { radius }),
        Box::new(ReleasedPenumbralCone { light }),
        Box::new(ReleasedUmbralCone { radius }),
        Box::new(EntailmentCone { light }),
        Box::new(FiniteUmbralCone { radius: 0.5 }),
    ];
    score::all().into_iter().chain(others).map(|score| &*Box::leak(score))
}

pub(super) fn attention(score: &dyn Score<f64>) -> Attention<f64> {
    let mut attention = Attention::new(score, 3);
    attention.sharpness.value_mut().data_mut()[0] = 0.7;
    attention.offset.value_mut().data_mut()[0] = 0.2;
    attention
}

/// The light or the radius of cones, else 0.
pub(super) fn setting(score: &dyn Score<f64>) -> f64 {
    score.setting().map_or(0.0, |(_, value)| value)
}

/// Queries `[2, 4, 3]`, keys `[2, 5, 3]`, values `[2, 5, 2]`.
pub(super) fn inputs(seed: u64) -> [Tensor<f64>; 3] {
    let mut rng = rng::stream(seed, 3, 0);
    [[2, 4, 3], [2, 5, 3], [2, 5, 2]].map(|shape| uniform(&shape, 1.5, &mut rng))
}

/// The score of two rows, by the manifolds' operations on single rows.
pub(super) fn by_hand(score: &dyn Score<f64>, q: &[f64], k: &[f64]) -> f64 {
    score::by_hand(score, &Row::from(q), &Row::from(k))
}

#[test]
fn scores_are_those_of_the_manifolds() {
    let [q, k, _] = inputs(1);
    for score in scores() {
        let tape = Tape::new();
        let scores = attention(score).scores(tape.constant(&q), tape.constant(&k)).to_tensor();
        assert_eq!(scores.shape(), &[2, 4, 5].into());
        for (at, &value) in scores.data().iter().enumerate() {
            let (batch, i, j) = (at / 20, at / 5 % 4, at % 5);
            let want = 0.7 * by_hand(score, q.row(batch * 4 + i), k.row(batch * 5 + j)) - 0.2;
            assert!((value - want).abs() < 1e-12 * want.abs().max(1.0), "{score:?}: {value} {want}");
        }
    }
}

/// Keys close to a query, and the query itself: distances of 1e-3 to 1e-9 have lost no more digits than the
/// coordinates have. An arcosh of 1 + δ would have lost half of them.
#[test]
fn scores_of_near_keys_are_those_of_the_manifolds() {
    let [q, _, _] = inputs(1);
    let q = q.row(0).to_vec();
    let is_distance =
        |score: &&dyn Score<f64>| ["distance", "half-space", "polar-distance"].contains(&score.name());
    let distances: Vec<_> = scores().filter(is_distance).collect();
    assert_eq!(distances.len(), 3);
    for score in distances {
        for step in [0.0, 1e-9, 1e-6, 1e-3] {
            let k: Vec<f64> = q.iter().enumerate().map(|(i, x)| x + step * (i as f64 - 0.7)).collect();
            let tape = Tape::new();
            let [x, y] = [&q, &k].map(|row| tape.constant(&Tensor::new([1, row.len()], row.clone())));
            let value = Attention::new(score, q.len()).scores(x, y).item();
            let gamma = score.sharpness(q.len());
            let want = gamma * by_hand(score, &q, &k);
            let error = (value - want).abs();
            assert!(error < 2e-14 * want.abs().max(1.0), "{score:?}, {step:e}: {value:e} {want:e}");
        }
    }
}

/// The kernel that stores no scores agrees with the weights of all pairs, with and without a mask.
#[test]
fn both_ways_agree() {
    let [q, k, v] = inputs(2);
    for score in scores() {
        for aggregation in [Aggregation::Sum, Aggregation::Barycentre] {
            let layer = Attention { aggregation, ..attention(score) };
            let tape = Tape::new();
            let [q, k, v] = [&q, &k, &v].map(|x| tape.constant(x));
            let run = |mask| layer.forward(q, k, v, mask).to_tensor();
            let hidden = |hides: fn(usize, usize) -> bool| {
                let element = |at| f64::from(u8::from(hides(at / 5, at % 5)));
                Mask::Hidden(tape.constant(&Tensor::from_fn([4, 5], element)))
            };
            close(&run(Mask::None), &run(hidden(|_, _| false)), 1e-12);
            close(&run(Mask::Causal), &run(hidden(|i, j| j > i + 1)), 1e-12);
            let logistic = Attention { weights: Weights::Sigmoid, ..layer.clone() };
            let run = |mask| logistic.forward(q, k, v, mask).to_tensor();
            close(&run(Mask::Causal), &run(hidden(|i, j| j > i + 1)), 1e-15);
            assert!(difference(&run(Mask::Causal), &run(Mask::None)) > 1e-3);
        }
    }
}

/// Hidden keys have no weight at all: changing them changes no bit of the result, and no gradient
/// reaches them. A query without keys gives 0. A query with one key gives that key's value.
#[test]
fn hidden_keys_are_not_there() {
    let [q, k, v] = inputs(3);
    for score in scores() {
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            for aggregation in [Aggregation::Sum, Aggregation::Barycentre] {
                let layer = Attention { aggregation, weights, ..attention(score) };
                let run = |k: &Tensor<f64>, v: &Tensor<f64>| {
                    let tape = Tape::new();
                    let [q, k, v] = [&q, k, v].map(|x| tape.variable(x));
                    // Query 0 sees nothing, query 1 sees only key 3, the others see all keys but key 1.
                    let hidden = tape.constant(&Tensor::from_fn([4, 5], |at| {
                        f64::from(u8::from(match at / 5 {
                            0 => true,
                            1 => at % 5 != 3,
                            _ => at % 5 == 1,
                        }))
                    }));
                    let y = layer.forward(q, k, v, Mask::Hidden(hidden));
                    let value = y.to_tensor();
                    let gradients = tape.backward((y * y).sum());
                    assert!([k, v].iter().all(|x| gradients.view(x).is_some()));
                    let gradient = |x| gradients.wrt(x).data().to_vec();
                    (value, gradient(k), gradient(v))
                };
                let (y, dk, dv) = run(&k, &v);
                let (mut other, mut value) = (k.clone(), v.clone());
                other.row_mut(6).fill(40.0);
                value.row_mut(6).fill(3.0);
                assert_eq!(run(&other, &value).0, y, "{score:?}");
                assert!([1, 6].iter().all(|&row| dk[row * 3..row * 3 + 3] == [0.0; 3]), "{score:?}");
                assert!([1, 6].iter().all(|&row| dv[row * 2..row * 2 + 2] == [0.0; 2]), "{score:?}");
                assert!(y.row(0) == [0.0; 2] && y.data().iter().chain(&dk).chain(&dv).all(|x| x.is_finite()));
                if weights == Weights::Softmax || aggregation == Aggregation::Barycentre {
                    let error = y.row(5).iter().zip(v.row(8)).map(|(y, v)| (y - v).abs()).fold(0.0, f64::max);
                    assert!(error < 1e-12, "{score:?}, {weights:?}, {aggregation:?}: {error}");
                }
            }
        }
    }
}

/// A row with NaN makes all its own scores NaN, and no others.
#[test]
fn scores_of_rows_that_are_no_numbers_are_none() {
    let [q, k, _] = inputs(5);
    for score in scores() {
        for at in 0..3 {
            let (mut of_query, mut of_key) = (q.clone(), k.clone());
            (of_query.row_mut(2)[at], of_key.row_mut(8)[at]) = (f64::NAN, f64::NAN);
            let tape = Tape::new();
            let [of_query, of_key] = [&of_query, &of_key].map(|x| tape.constant(x));
            let scores = attention(score).scores(of_query, of_key).to_tensor();
            for (place, value) in scores.data().iter().enumerate() {
                let (batch, i, j) = (place / 20, place / 5 % 4, place % 5);
                let spoilt = (batch, i) == (0, 2) || (batch, j) == (1, 3);
                assert_eq!(value.is_nan(), spoilt, "{score:?}, coordinate {at}: query {i}, key {j}: {value}");
            }
        }
    }
}

/// Attention along edges equals attention with all other pairs hidden, with the same gradients, head by
/// head.
#[test]
fn along_edges_all_else_is_hidden() {
    let mut rng = rng::stream(11, 3, 0);
    let (n, m, heads) = (6, 5, 2);
    let [q, k, v] = [[n, heads, 3], [m, heads, 3], [m, heads, 2]].map(|shape| uniform(&shape, 1.5, &mut rng));
    // Neither query 2 nor key 4 has an edge.
    let pairs = [(5, 3), (0, 1), (0, 0), (1, 2), (3, 3), (3, 0), (3, 1), (4, 2), (5, 0)];
    let edges = Arc::new(Sparsity::new(n, m, &pairs));
    for score in scores() {
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            for aggregation in [Aggregation::Sum, Aggregation::Barycentre] {
                let layer = Attention { aggregation, weights, ..attention(score) };
                let run = |sparse: bool| {
                    let tape = Tape::new();
                    let [q, k, v] = [&q, &k, &v].map(|x| tape.variable(x));
                    let y = if sparse {
                        layer.along_edges(q, k, v, &edges)
                    } else {
                        let hidden = Tensor::from_fn([n, m], |at| {
                            let pair = ((at / m) as u32, (at % m) as u32);
                            f64::from(u8::from(!pairs.contains(&pair)))
                        });
                        let [q, k, v] = [q, k, v].map(|x| x.swap_axes(0, 1));
                        let y = layer.forward(q, k, v, Mask::Hidden(tape.constant(&hidden)));
                        y.swap_axes(0, 1)
                    };
                    let value = y.to_tensor();
                    let gradients = tape.backward((y * y).sum() + y.sum());
                    let gradient = |x, n: usize, width: usize| {
                        assert!(gradients.view(x).is_some());
                        gradients.wrt(x).reshape([n, heads * width])
                    };
                    (value, [gradient(q, n, 3), gradient(k, m, 3), gradient(v, m, 2)])
                };
                let (have, of_have) = run(true);
                let (want, of_want) = run(false);
                close(&have, &want, 1e-13);
                assert!(have.data()[2 * heads * 2..3 * heads * 2].iter().all(|y| *y == 0.0));
                // Queries 1 and 4 see key 2 alone, and no other query sees it. The weight of a softmax is
                // then 1, and a barycentre of one point is that point, whatever the score: the exact gradient
                // is 0.
                let is_zero = |input, row| {
                    (weights == Weights::Softmax || aggregation == Aggregation::Barycentre)
                        && matches!((input, row), (0, 1) | (0, 4) | (1, 2))
                };
                for (input, (have, want)) in of_have.iter().zip(&of_want).enumerate() {
                    for (row, (have, want)) in have.rows().zip(want.rows()).enumerate() {
                        let distance = |a: &[f64], b: &[f64]| {
                            a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
                        };
                        let what = format!("{score:?}, {weights:?}, {aggregation:?}: {have:?} and {want:?}");
                        let zeros = vec![0.0; have.len()];
                        let (have, want) = if is_zero(input, row) {
                            assert!(distance(want, &zeros) <= 1e-12, "{what}");
                            (have, &zeros[..])
                        } else {
                            (have, want)
                        };
                        assert!(distance(have, want) <= 1e-12, "{what}");
                    }
                }
            }
        }
    }
}

/// Law 57: at equal heights h the umbral kernel is Laplacian, `e^{−γh} exp(−γΔ/(2 sinh r))`.
#[test]
fn umbral_cones_at_one_height_are_laplacian() {
    let [mut q, mut k, _] = inputs(6);
    let height = 0.4_f64;
    for x in [&mut q, &mut k] {
        (0..x.len() / 3).for_each(|i| x.row_mut(i)[2] = height.ln());
    }
    let tape = Tape::new();
    let cones = attention(&UmbralCone { radius: 0.3 });
    let scores = cones.scores(tape.constant(&q), tape.constant(&k)).to_tensor();
    for x in [&mut q, &mut k] {
        // ψ scales the horizontal part by the height.
        (0..x.len() / 3).for_each(|i| x.row_mut(i)[2] = 0.0);
        x.data_mut().iter_mut().for_each(|x| *x *= height / (2.0 * 0.3_f64.sinh()));
    }
    let laplacian = attention(&Laplacian).scores(tape.constant(&q), tape.constant(&k)).to_tensor();
    let want = Tensor::from_fn([2, 4, 5], |i| laplacian.data()[i] - 0.7 * height);
    close(&scores, &want, 1e-12);
}

/// Law 58: where two penumbral cones cease to meet, the height is that of the light. It is approached
/// from both sides.
#[test]
fn penumbral_scores_are_continuous() {
    let light = 1.0;
    let layer = Attention::<f64>::new(&PenumbralCone { light }, 2);
    let (a, b) = (0.3_f64, 0.6_f64); // heights
    let reach = (light - a * a).sqrt() + (light - b * b).sqrt();
    let score = |delta: f64| {
        let tape = Tape::new();
        // ξ⁻¹: the horizontal part divided by the height, and the logit of the height.
        let row =
            |x: f64, height: f64| Tensor::new([1, 2], vec![x / height, (height / (light - height)).ln()]);
        layer.scores(tape.constant(&row(0.0, a)), tape.constant(&row(delta, b))).item()
    };
    for side in [-1e-7, 1e-7] {
        assert!((score(reach + side) + light).abs() < 1e-6, "{}", score(reach + side));
    }
    assert!(score(0.5 * reach) > -light && score(2.0 * reach) < -light);
}

#[test]
fn gradients_agree() {
    let inputs = inputs(7);
    for score in scores() {
        for (weights, aggregation) in
            [(Weights::Softmax, Aggregation::Sum), (Weights::Sigmoid, Aggregation::Barycentre)]
        {
            let layer = Attention { weights, aggregation, ..attention(score) };
            let worst = check::gradients(&inputs, |x| {
                let y = layer.forward(x[0], x[1], x[2], Mask::None);
                (y * y).sum() + y.sum()
            });
            assert!(worst.relative < 1e-6 && worst.reverse != 0.0, "{score:?}: {worst:?}");
        }
    }
}

#[test]
fn sharpness_is_learned_if_asked_for() {
    let [q, k, v] = inputs(8);
    for score in scores() {
        for trainable in [false, true] {
            let layer = Attention { trainable, weights: Weights::Sigmoid, ..attention(score) };
            let tape = Tape::new();
            let y = layer.forward(tape.constant(&q), tape.constant(&k), tape.variable(&v), Mask::None);
            let gradients = tape.backward((y * y).sum());
            for param in [&layer.sharpness, &layer.offset] {
                assert_eq!(gradients.param(param.id()).is_some(), trainable, "{score:?}");
            }
        }
    }
}

/// Heights and distances from the origin that are far apart (where a sinh exceeds 10¹⁰) or of opposite
/// signs.
#[test]
fn far_scores_are_those_of_the_manifolds() {
    let q = Tensor::new([3, 3], vec![0.3, -0.8, 30.0, 1.0, 2.0, -25.0, 0.5, -1.0, 42.0]);
    let k = Tensor::new([3, 3], vec![-0.3, 0.8, -30.0, 0.4, 0.2, -31.0, 2.0, -1.0, 20.0]);
    let scores = |score: &dyn Score<f64>, q: &Tensor<f64>| {
        let tape = Tape::new();
        attention(score).scores(tape.constant(q), tape.constant(&k)).to_tensor()
    };
    for score in [&Distance as &dyn Score<f64>, &PolarDistance, &HalfSpaceDistance] {
        for (at, value) in scores(score, &q).data().iter().enumerate() {
            let want = 0.7 * by_hand(score, q.row(at / 3), k.row(at % 3)) - 0.2;
            assert!((value - want).abs() < 1e-9 * want.abs(), "{score:?} {at}: {value} {want}");
        }
    }
    // The first query and the first key are the same point in polar coordinates.
    let polar = scores(&PolarDistance, &q);
    assert!((polar.data()[0] + 0.2).abs() < 1e-12);
}

/// The distance of two points at distances r and s from the origin, `angle` apart. Uses the logarithms
/// of both terms of `4 sinh²(d/2) = 4 sinh²((r − s)/2) + 4 sinh r sinh s
/// sin²(angle/2)`, so that they may be of any size.
fn polar_distance(r: f64, s: f64, angle: f64) -> f64 {
    let log_sinh = |x: f64| x + (-(-2.0 * x).exp_m1()).ln(); // of 2 sinh x
    let terms =
        [2.0 * log_sinh(0.5 * (r - s).abs()), log_sinh(r) + log_sinh(s) + 2.0 * (0.5 * angle).sin().ln()];
    let [less, more] = if terms[0] < terms[1] { terms } else { [terms[1], terms[0]] };
    let log = if more > f64::NEG_INFINITY { more + (less - more).exp().ln_1p() } else { more };
    if log > 80.0 { log } else { 2.0 * (0.5 * (0.5 * log).exp()).asinh() }
}

/// The score of two points in polar coordinates, at distances r and s from the origin and `angle` apart,
/// and its gradients in the type `T`.
fn polar_score<T: Float>(r: f64, s: f64, angle: f64) -> (f64, [Vec<T>; 2]) {
    let tape = Tape::<T>::new();
    let row = |angle: f64, r: f64| {
        tape.variable(&Tensor::new([1, 3], [angle.cos(), angle.sin(), r].map(T::nearest).to_vec()))
    };
    let (q, k) = (row(0.0, r), row(angle, s));
    let score = Attention::<T>::new(&PolarDistance, 3).scores(q, k);
    let value = score.item();
    let gradients = tape.backward(score.sum());
    (value, [q, k].map(|x| gradients.wrt(x).data().to_vec()))
}

/// Distances in polar coordinates have no upper limit: they grow with the radius, for all radii of the
/// type.
#[test]
fn polar_distances_have_no_end() {
    fn check<T: Float>(radii: &[f64], tolerance: f64) {
        for &r in radii {
            for &s in radii {
                for angle in [0.0, 1e-6, 1e-3, 0.5, 3.0, std::f64::consts::PI] {
                    let (score, [dq, dk]) = polar_score::<T>(r, s, angle);
                    // The angle after its direction was rounded to the type.
                    let [x, y] = [angle.cos(), angle.sin()].map(|x| T::nearest(x).to_f64());
                    let stored = y.atan2(x);
                    let want = -polar_distance(T::nearest(r).to_f64(), T::nearest(s).to_f64(), stored);
                    let size = want.abs().max(1.0);
                    assert!((score - want).abs() < tolerance * size, "{r}, {s}, {angle}: {score} {want}");
                    // Central differences of the reference distance.
                    let h = 1e-3 * want.abs().min(r).min(1.0);
                    let [before, after] = [r - h, r + h].map(|r| -polar_distance(r, s, stored));
                    let slope = (after - before) / (2.0 * h);
                    if r != s || stored > 1e-4 {
                        let (have, margin) = (dq[2].to_f64(), 1e-5 + 1e3 * tolerance);
                        assert!((have - slope).abs() < margin, "{r}, {s}, {angle}: {have} {slope}");
                    }
                    assert!(dq.iter().chain(&dk).all(|x| x.is_finite()), "{r}, {s}, {angle}: {dq:?} {dk:?}");
                }
            }
        }
    }
    // Radii on both sides of the one where the formula changes.
    let radii = [0.7, 20.0, 43.9, 44.1, 50.0, 90.0, 200.0, 5e3, 1e6];
    check::<f64>(&radii, 1e-12);
    check::<f32>(&radii, 2e-5);
    let at = |r| polar_score::<f32>(r, 3.0, 0.5).0;
    assert!(at(60.0) < at(44.0) && at(1e30) < at(1e29) && at(-60.0) != at(60.0));
}

/// Heights of e^±50 and e^±90 beside usual ones, in both types: results are finite, and gradients are
/// finite wherever heights are.
#[test]
fn far_heights_are_finite() {
    fn check<T: Float>() {
        for score in scores() {
            for weights in [Weights::Softmax, Weights::Sigmoid] {
                for high in [50.0, -50.0, 90.0, -90.0] {
                    // The other two heights: near these, with the opposite sign, or usual.
                    for other in [high, high - 0.5, -high, 0.3] {
                        let rows = [1.0, -0.4, high, 0.3, 0.8, other, -0.7, 0.2, other, 0.5, 0.5, high + 0.2];
                        let layer = Attention { weights, ..Attention::<T>::new(score, 3) };
                        for hidden in [None, Some(Tensor::zeros([4]))] {
                            let tape = Tape::<T>::new();
                            let x = tape.variable(&Tensor::new([4, 3], rows.map(T::nearest).to_vec()));
                            let mask = hidden.as_ref().map_or(Mask::None, |h| Mask::Hidden(tape.constant(h)));
                            let y = layer.forward(x, x, x, mask);
                            let value = y.to_tensor();
                            let gradients = tape.backward(y.sum());
                            assert!(gradients.view(x).is_some());
                            let gradient = gradients.wrt(x).data().to_vec();
                            let what =
                                format!("{score:?}, {weights:?}, {high}, {other}: {value} {gradient:?}");
                            assert!(value.data().iter().all(|x| x.is_finite()), "{what}");
                            // `f32` ends at e^88.
                            let beyond = T::EPSILON > 1e-10 && high.abs() > 88.0 && score.name() == "umbral";
                            assert!(beyond || gradient.iter().all(|x| x.is_finite()), "{what}");
                        }
                    }
                }
            }
        }
    }
    check::<f64>();
    check::<f32>();
}

/// Far away points, where a naive distance overflows or loses all digits, give finite results and
/// gradients.
#[test]
fn far_activations_are_finite() {
    for score in scores() {
        let tape = Tape::<f32>::new();
        let rows = Tensor::new([3, 3], vec![30.0_f32, -60.0, 6.0, 120.0, -150.0, -35.0, 210.0, -240.0, 38.0]);
        let x = tape.variable(&rows);
        let y = Attention::<f32>::new(score, 3).forward(x, x, x, Mask::None);
        let value = y.to_tensor();
        let gradients = tape.backward(y.sum());
        assert!(gradients.view(x).is_some());
        let gradient = gradients.wrt(x).data().to_vec();
        assert!(value.data().iter().chain(&gradient).all(|x| x.is_finite()), "{score:?}");
    }
}

/// With one head, identity matrices and no biases, it is the attention itself. Heads do not see each
/// other.
#[test]
fn heads_are_attentions() {
    let mut rng = rng::stream(9, 3, 0);
    let x = uniform(&[2, 5, 3], 1.0, &mut rng);
    let mut layer = MultiHeadAttention::<f64>::new(&Distance, 3, 1, [3, 3], &mut rng);
    for linear in [&mut layer.query, &mut layer.key, &mut layer.value, &mut layer.output] {
        *linear.weight.value_mut() = Tensor::from_fn([3, 3], |i| f64::from(u8::from(i % 4 == 0)));
    }
    let tape = Tape::new();
    let rows = tape.constant(&x);
    close(
        &layer.forward(rows, rows, Mask::Causal).to_tensor(),
        &layer.attention.forward(rows, rows, rows, Mask::Causal).to_tensor(),
        1e-13,
    );
    let mut two = MultiHeadAttention::<f64>::new(&Laplacian, 4, 2, [2, 2], &mut rng);
    *two.output.weight.value_mut() = Tensor::from_fn([4, 4], |i| f64::from(u8::from(i % 5 == 0)));
    let x = uniform(&[1, 3, 4], 1.0, &mut rng);
    let run = |layer: &MultiHeadAttention<f64>| {
        let tape = Tape::new();
        layer.forward(tape.constant(&x), tape.constant(&x), Mask::None).to_tensor()
    };
    let before = run(&two);
    two.query.weight.value_mut().row_mut(3).fill(2.0); // of the second head
    let after = run(&two);
    for (before, after) in before.rows().zip(after.rows()) {
        assert!(before[..2] == after[..2] && before[2..] != after[2..]);
    }
}

/// Equal factors of the heads are one factor. Another one of the second head changes its results alone, and
/// each has its own gradient.
#[test]
fn heads_may_have_factors_of_their_own() {
    let mut rng = rng::stream(9, 4, 0);
    let [q, k, v] = [5, 6, 6].map(|n| uniform(&[2, 3, n, 4], 1.0, &mut rng));
    let single = Attention::<f64> { trainable: true, ..Attention::new(&Distance, 4) };
    let mut own = single.clone().by_head(3);
    let run = |attention: &Attention<f64>| {
        let tape = Tape::new();
        let [q, k, v] = [&q, &k, &v].map(|x| tape.constant(x));
        let y = attention.forward(q, k, v, Mask::Causal);
        let value = y.to_tensor();
        let gradients = tape.backward(y.square().sum());
        (value, [&attention.sharpness, &attention.offset].map(|param| gradients.wrt(param)))
    };
    let ((y, [of_single, _]), (same, [of_own, of_offsets])) = (run(&single), run(&own));
    assert_eq!(y, same);
    assert_eq!((of_single.data().len(), of_own.data().len(), of_offsets.data().len()), (1, 3, 3));
    assert!((of_single.data()[0] - of_own.data().iter().sum::<f64>()).abs() < 1e-13);
    own.sharpness.value_mut().data_mut()[1] = 3.0;
    let (other, _) = run(&own);
    for (entry, (y, other)) in y.data().chunks(20).zip(other.data().chunks(20)).enumerate() {
        assert_eq!(y == other, entry % 3 != 1, "{entry}");
    }
}

#[test]
#[should_panic(expected = "attention: UmbralCone { radius: 0.1 } needs 2 dimensions or more; queries have 1")]
fn cones_have_heights() {
    let _ = Attention::<f64>::new(&UmbralCone { radius: 0.1 }, 1);
}

/// A setting that is changed is the one that attention uses.
#[test]
fn settings_can_be_changed() {
    let [q, k, _] = inputs(14);
    let scores = |score: &dyn Score<f64>| {
        let tape = Tape::new();
        attention(score).scores(tape.constant(&q), tape.constant(&k)).to_tensor()
    };
    let mut changed = 0;
    for mut score in score::all::<f64>() {
        let Some((name, value)) = score.setting() else { continue };
        let before = scores(&*score);
        score.set(2.0 * value);
        assert_eq!(score.setting(), Some((name, 2.0 * value)));
        assert!(difference(&scores(&*score), &before) > 1e-3, "{score:?}");
        changed += 1;
    }
    assert_eq!(changed, 6);
}

#[test]
#[should_panic(expected = "score dot: no setting to change to 2")]
fn a_score_without_a_setting_cannot_be_changed() {
    Score::<f64>::set(&mut score::Dot, 2.0);
}

#[test]
#[should_panic(expected = "attention: the light of PenumbralCone { light: 0.0 } is 0; a positive number")]
fn lights_are_positive() {
    let _ = Attention::<f64>::new(&PenumbralCone { light: 0.0 }, 3);
}

/// Dropout of weights: a seed determines the result, the mean is the result without dropout, and on a tape
/// that is not training nothing is dropped.
#[test]
fn weights_are_dropped_while_training() {
    let [q, k, v] = inputs(13);
    let hidden = Tensor::from_fn([4, 5], |at| f64::from(u8::from(at % 7 == 3)));
    for masked in [false, true] {
        let layer = Attention { dropout: Dropout { rate: 0.4 }, ..attention(&Distance) };
        let run = |layer: &Attention<f64>, seed: Option<u64>| {
            let tape = Tape::new();
            let mask = if masked { Mask::Hidden(tape.constant(&hidden)) } else { Mask::Causal };
            let [q, k, v] = [&q, &k, &v].map(|x| tape.constant(x));
            if let Some(seed) = seed {
                tape.training(rng::stream(seed, 5, 0));
            }
            layer.forward(q, k, v, mask).to_tensor()
        };
        let without = run(&Attention { dropout: Dropout { rate: 0.0 }, ..layer.clone() }, None);
        assert_eq!(run(&layer, None), without);
        assert_eq!(run(&layer, Some(1)), run(&layer, Some(1)));
        assert!(difference(&run(&layer, Some(1)), &run(&layer, Some(2))) > 0.1);
        let seeds = 4000;
        let mut mean = Tensor::<f64>::zeros(without.shape().axes());
        for seed in 0..seeds {
            let y = run(&layer, Some(seed));
            mean.data_mut().iter_mut().zip(y.data()).for_each(|(mean, y)| *mean += y / seeds as f64);
        }
        // Six standard errors. A result is a sum of weights with total 1, times values up to 1.5, times
        // a random factor of variance ⅔.
        let error = 6.0 * 1.5 * (2.0_f64 / 3.0 / seeds as f64).sqrt();
        close(&mean, &without, error);
        assert!(error < 0.12);
    }
}
