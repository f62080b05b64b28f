//! Maps of activations to points: of queries and keys in every score that has a choice, and of values.

use std::sync::Arc;

use cotangent_engine::{Float, Row, Sparsity, check};
use cotangent_layers::score::{Distance, HalfSpaceDistance, Mapped, PolarDistance, Score, Side, UmbralCone};
use cotangent_layers::{Aggregation, Attend, Attention, Dropout, Mask, PointMap, Weights, score};
use cotangent_manifolds::{HalfSpace, Hyperbolic, Lorentz, PoincareBall};

use super::attention::{attention, inputs, scores, setting};
use super::*;

/// Every score with every map that it has.
fn mapped<T: Float>() -> Vec<(&'static dyn Score<T>, PointMap)> {
    let of_score = |score: &'static dyn Score<T>| score.maps().iter().map(move |&map| (score, map));
    scores().flat_map(of_score).collect()
}

/// `(√(1 + ‖x‖²), x)`.
fn lifted(x: &Row<f64>) -> Row<f64> {
    let time = (1.0_f64 + x.iter().map(|x| x * x).sum::<f64>()).sqrt();
    Row::from(&*[&[time], &x[..]].concat())
}

/// A row's point of the hyperboloid, by the manifolds' operations on single rows; the light of ξ is at this
/// height.
fn on_hyperboloid(map: PointMap, x: &Row<f64>, light: f64) -> Row<f64> {
    let (hyperboloid, half_space, ball) = (Lorentz::new(-1.0), HalfSpace::new(-1.0), PoincareBall::new(-1.0));
    match map {
        PointMap::Psi => half_space.onto_hyperboloid(&half_space.psi(x)),
        PointMap::Xi => half_space.onto_hyperboloid(&half_space.xi(x, light)),
        PointMap::Exp => ball.onto_hyperboloid(&ball.exp0(x)),
        PointMap::Polar => hyperboloid.pseudo_polar(x),
        PointMap::Weierstrass => lifted(x),
    }
}

/// The score of two rows.
fn by_hand(score: &dyn Score<f64>, map: PointMap, rows: [&[f64]; 2]) -> f64 {
    let (half_space, of_cones) = (HalfSpace::new(-1.0), setting(score));
    let light = if score.name().starts_with("penumbral") { of_cones } else { 1.0 };
    let points = rows.map(|x| {
        let mut x = Row::from(x);
        if score.name() == "umbral-released" {
            let d = x.len();
            x[d - 1] /= d as f64;
        }
        if map == PointMap::Exp && score.needs_height() {
            return half_space.exp(&half_space.origin(x.len()), &x);
        }
        half_space.back_from_hyperboloid(&on_hyperboloid(map, &x, light))
    });
    let below = points.clone().map(|mut x| {
        let height = x.len() - 1;
        x[height] = x[height].min(light);
        x
    });
    let ([p, q], [low_p, low_q]) = (&points, &below);
    match score.name() {
        "distance" | "half-space" => -half_space.dist(p, q),
        "penumbral" => -half_space.penumbral_ancestor(low_p, low_q, light),
        "penumbral-released" => -half_space.penumbral_ancestor(low_p, low_q, light).powi(2),
        "umbral" | "umbral-released" => -half_space.umbral_ancestor(p, q, of_cones),
        other => panic!("{other} is not computed by hand here"),
    }
}

#[test]
fn scores_are_those_of_the_mapped_points() {
    let [q, k, _] = inputs(21);
    let all = mapped();
    assert_eq!(all.len(), 2 + 9 * 5, "two maps of the distance in the ball, five of each score with heights");
    for (score, map) in all {
        let tape = Tape::new();
        let layer = attention(&Mapped::new(score, map));
        let scores = layer.scores(tape.constant(&q), tape.constant(&k)).to_tensor();
        assert_eq!(scores.shape(), &[2, 4, 5].into());
        for (at, &value) in scores.data().iter().enumerate() {
            let (batch, i, j) = (at / 20, at / 5 % 4, at % 5);
            let rows = [q.row(batch * 4 + i), k.row(batch * 5 + j)];
            let want = 0.7 * by_hand(score, map, rows) - 0.2;
            assert!((value - want).abs() < 1e-11 * want.abs().max(1.0), "{score:?}, {map:?}: {value} {want}");
        }
    }
}

/// A score's first map is its own.
#[test]
fn the_first_map_is_that_of_the_paper() {
    let [q, k, _] = inputs(22);
    for score in scores() {
        let Some(&own) = score.maps().first() else {
            assert_eq!(score.map(), None);
            continue;
        };
        let run = |score: &dyn Score<f64>| {
            let tape = Tape::new();
            attention(score).scores(tape.constant(&q), tape.constant(&k)).to_tensor()
        };
        let chosen = Mapped::new(score, own);
        assert_eq!((run(&chosen), Score::<f64>::map(&chosen)), (run(score), score.map()));
        let want = match score.name() {
            "distance" => PointMap::Exp,
            "penumbral" | "penumbral-released" => PointMap::Xi,
            _ => PointMap::Psi,
        };
        assert_eq!(own, want, "{score:?}");
    }
}

#[test]
fn gradients_of_mapped_scores_agree() {
    let inputs = inputs(23);
    for (score, map) in mapped() {
        let layer = attention(&Mapped::new(score, map));
        let worst = check::gradients(&inputs, |x| {
            let y = layer.forward(x[0], x[1], x[2], Mask::None);
            (y * y).sum() + y.sum()
        });
        assert!(worst.relative < 1e-6 && worst.reverse != 0.0, "{score:?}, {map:?}: {worst:?}");
    }
}

/// Rows of every length and in every direction: `[n, 3]`.
fn rows_of_all_lengths<T: Float>() -> Tensor<T> {
    let mut rng = rng::stream(24, 3, 0);
    let mut rows = Vec::new();
    for exponent in -6..=6 {
        let up = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1e-3, 0.0, 1.0], [1.0, 0.0, 0.0]];
        let others = (0..4).map(|_| [(); 3].map(|()| rng.random_range(-1.0..1.0)));
        for row in up.into_iter().chain(others) {
            let norm = row.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
            rows.extend(row.map(|x| T::nearest(x / norm * 10.0_f64.powi(exponent))));
        }
    }
    Tensor::new([rows.len() / 3, 3], rows)
}

/// Heights are positive and finite, and at most that of the light in penumbral cones. Scores are finite, and
/// with their gradients they are numbers, for rows of length 1e-6 to 1e6.
#[test]
fn heights_are_in_their_domain() {
    fn check<T: Float>() {
        let rows = rows_of_all_lengths::<T>();
        for (score, map) in mapped::<T>() {
            let score = Mapped::new(score, map);
            let what = format!("{score:?}, {}", T::NAME);
            let tape = Tape::<T>::new();
            let x = tape.variable(&rows);
            let heights = score.prepare(x, Side::Key).numbers[0].to_tensor();
            let setting = score.setting().map_or(f64::INFINITY, |(_, value)| value);
            let light = if score.name().starts_with("penumbral") { setting } else { f64::INFINITY };
            for height in heights.data() {
                let height = height.to_f64();
                assert!(
                    height > 0.0 && height.is_finite() && height <= light * 1.000_001,
                    "{what}: {height}"
                );
            }
            let attend = Attend::new(&score);
            let scores = attend.scores(x, x).to_tensor();
            assert!(scores.data().iter().all(|s| s.is_finite()), "{what}: {scores}");
            let y = attend.forward(x, x, tape.constant(&rows));
            let value = y.to_tensor();
            let gradients = tape.backward(y.sum());
            let gradient = gradients.wrt(x).data().to_vec();
            assert!(value.data().iter().all(|y| y.is_finite()), "{what}: {value}");
            // Umbral heights by ψ may be as large as the type's numbers: see `UmbralCone`.
            let beyond = T::EPSILON > 1e-10 && score.name() == "umbral" && map == PointMap::Psi;
            assert!(beyond || gradient.iter().all(|x| !x.to_f64().is_nan()), "{what}: {gradient:?}");
        }
    }
    check::<f64>();
    check::<f32>();
}

/// Distances do not depend on the model that they are computed in.
#[test]
fn one_distance_in_all_models() {
    let [q, k, _] = inputs(25);
    let run = |score: &dyn Score<f64>, scale: f64| {
        let tape = Tape::new();
        let [q, k] = [&q, &k].map(|x| tape.constant(x) * scale);
        Attention::new(score, 3).scores(q, k).to_tensor()
    };
    let upper = |map| Mapped::new(&HalfSpaceDistance, map);
    close(&run(&upper(PointMap::Polar), 1.0), &run(&PolarDistance, 1.0), 1e-12);
    // exp₀ of the ball goes twice as far.
    close(&run(&upper(PointMap::Exp), 2.0), &run(&Distance, 1.0), 1e-12);
    let ball = Mapped::new(&Distance, PointMap::Weierstrass);
    close(&run(&upper(PointMap::Weierstrass), 1.0), &run(&ball, 1.0), 1e-12);
    // And so in the ball.
    let (ball, half_space) = (PoincareBall::new(-1.0), HalfSpace::new(-1.0));
    for map in PointMap::ALL {
        let rows = [q.row(0), k.row(0)].map(Row::from);
        let [u, v] = rows.each_ref().map(|x| map.ball(x));
        let [x, y] = rows.each_ref().map(|x| half_space.back_from_hyperboloid(&on_hyperboloid(map, x, 1.0)));
        assert!((ball.dist(&u, &v) - half_space.dist(&x, &y)).abs() < 1e-12, "{map:?}");
    }
}

/// The point with the Klein coordinates `Σ αγv/Σ αγ`, γ = 1/√(1 − ‖v‖²) of the values' Klein
/// coordinates v: Gulcehre et al. 2019, eq. 3.
#[test]
fn aggregated_values_are_the_einstein_midpoint() {
    let [q, k, _] = inputs(26);
    let v = uniform(&[2, 5, 3], 1.5, &mut rng::stream(27, 3, 0));
    let klein = |x: &[f64], map: PointMap| {
        let point = on_hyperboloid(map, &Row::from(x), 1.0);
        point[1..].iter().map(|x| x / point[0]).collect::<Vec<f64>>()
    };
    for weights in [Weights::Softmax, Weights::Sigmoid] {
        for values in PointMap::OF_VALUES {
            let aggregation = Aggregation::Barycentre;
            let layer = Attention { weights, aggregation, values, ..attention(&PolarDistance) };
            let tape = Tape::new();
            let [q, k, on_tape] = [&q, &k, &v].map(|x| tape.constant(x));
            let alphas = layer.weigh(q, k, Mask::None).to_tensor();
            let y = layer.forward(q, k, on_tape, Mask::None).to_tensor();
            assert_eq!(y.shape(), &[2, 4, 3].into());
            for (i, (alphas, y)) in alphas.rows().zip(y.rows()).enumerate() {
                let points: Vec<_> = (0..5).map(|j| klein(v.row(i / 4 * 5 + j), values)).collect();
                let factor = |v: &[f64]| 1.0 / (1.0 - v.iter().map(|v| v * v).sum::<f64>()).sqrt();
                let shares: Vec<_> = points.iter().zip(alphas).map(|(v, alpha)| alpha * factor(v)).collect();
                let total: f64 = shares.iter().sum();
                for (axis, have) in klein(y, values).into_iter().enumerate() {
                    let want =
                        points.iter().zip(&shares).map(|(v, share)| share * v[axis]).sum::<f64>() / total;
                    assert!((have - want).abs() < 1e-12, "{weights:?}, {values:?}: {have} {want}");
                }
            }
        }
    }
}

/// A query with one key has that key's value: in polar coordinates the same point, with a direction of length
/// 1. A query without keys has 0.
#[test]
fn a_single_value_stays_where_it_is() {
    let [q, k, _] = inputs(28);
    let v = uniform(&[2, 5, 3], 1.5, &mut rng::stream(29, 3, 0));
    for values in PointMap::OF_VALUES {
        let layer = Attention { aggregation: Aggregation::Barycentre, values, ..attention(&Distance) };
        let tape = Tape::new();
        let [q, k, on_tape] = [&q, &k, &v].map(|x| tape.constant(x));
        // Query 0 sees nothing, the others see key 2 alone.
        let hides = |at: usize| f64::from(u8::from(at / 5 == 0 || at % 5 != 2));
        let hidden = tape.constant(&Tensor::from_fn([4, 5], hides));
        let y = layer.forward(q, k, on_tape, Mask::Hidden(hidden)).to_tensor();
        for (i, y) in y.rows().enumerate() {
            if i % 4 == 0 {
                assert_eq!(y, [0.0; 3], "{values:?}");
                continue;
            }
            let value = v.row(i / 4 * 5 + 2);
            let want = if values == PointMap::Polar {
                let norm = value[0].hypot(value[1]) * value[2].signum();
                vec![value[0] / norm, value[1] / norm, value[2].abs()]
            } else {
                value.to_vec()
            };
            let error = y.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{values:?}: {y:?} {want:?}");
        }
    }
}

#[test]
fn gradients_of_aggregated_values_agree() {
    let [q, k, _] = inputs(30);
    let v = uniform(&[2, 5, 3], 1.5, &mut rng::stream(31, 3, 0));
    for values in PointMap::OF_VALUES {
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            let aggregation = Aggregation::Barycentre;
            let layer = Attention { weights, aggregation, values, ..attention(&PolarDistance) };
            let worst = check::gradients(&[q.clone(), k.clone(), v.clone()], |x| {
                let y = layer.forward(x[0], x[1], x[2], Mask::Causal);
                (y * y * x[2].tape().constant(&uniform(&[3], 1.0, &mut rng::stream(32, 3, 0)))).sum()
            });
            assert!(worst.relative < 1e-6 && worst.reverse != 0.0, "{values:?}, {weights:?}: {worst:?}");
        }
    }
}

/// Results and gradients of barycentres: of attention in tiles, with stored weights (the queries share their
/// keys) and along edges. Query 0 of the second, and query 1 of the third, attend to no key.
fn barycentres<T: Float>(values: PointMap, weights: Weights, c: f64) -> [Vec<f64>; 3] {
    let edges = Arc::new(Sparsity::new(4, 5, &[(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (3, 3), (2, 0)]));
    let [queries, keys, rows] = inputs(33);
    let set = |x: &Tensor<f64>, n: usize| {
        let d = x.shape().width();
        Tensor::new([n, d], x.data()[..n * d].to_vec())
    };
    let (one_k, one_v) = (set(&keys, 5), set(&rows, 5));
    let run = |form: usize, given: [&Tensor<f64>; 3]| {
        let tape = Tape::<T>::new();
        let [q, k, v] = given.map(|x| tape.variable(&x.cast()));
        let attend = Attend::new(&PolarDistance).weights(weights).offset(tape.scalar(c));
        let attend = attend.aggregation(Aggregation::Barycentre).values(values);
        let hidden = Tensor::from_fn([4, 5], |i| if i < 5 || i % 4 == 1 { T::one() } else { T::zero() });
        let y = match form {
            0 => attend.causal().forward(q, k, v),
            1 => attend.mask(tape.constant(&hidden)).forward(q, k, v),
            _ => attend.along_edges(q, k, v, &edges),
        };
        let of_sum = tape.constant(&uniform(&[2], 1.0, &mut rng::stream(34, 3, 0)).cast());
        let result = y.to_tensor();
        let gradients = tape.backward((y * of_sum).sum());
        let slopes = [q, k, v].map(|x| gradients.wrt(x).data().to_vec()).concat();
        result.data().iter().chain(&slopes).map(|x| x.to_f64()).collect::<Vec<_>>()
    };
    [
        run(0, [&queries, &keys, &rows]),
        run(1, [&queries, &one_k, &one_v]),
        run(2, [&set(&queries, 4), &one_k, &one_v]),
    ]
}

/// A barycentre depends on the weights' shares alone. Logistic weights of far keys are tiny, in proportion
/// to those of softmax. Results and gradients are then the same, though e^-200 is not a number of `f32`,
/// nor e^-800 one of `f64`.
#[test]
fn tiny_weights_have_the_shares_of_softmax() {
    fn check<T: Float>(offsets: [f64; 3]) {
        for values in PointMap::OF_VALUES {
            let want = barycentres::<T>(values, Weights::Softmax, 0.0);
            assert!(want[1][..2] == [0.0; 2] && want[2][2..4] == [0.0; 2], "{values:?}: {want:?}");
            for c in offsets {
                let got = barycentres::<T>(values, Weights::Sigmoid, c);
                // The weights differ by e^-c; and scores of the size of c are rounded.
                let bound = 100.0 * ((-c).exp() + c * T::EPSILON);
                for (form, (got, want)) in got.iter().zip(&want).enumerate() {
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= bound;
                    assert!(
                        got.len() == want.len() && got.iter().zip(want).all(close),
                        "{values:?}, {c}, {form}"
                    );
                }
            }
        }
    }
    check::<f32>([25.0, 60.0, 200.0]);
    check::<f64>([35.0, 200.0, 800.0]);
}

/// Where dropout leaves a key whose weight is e^-95, of which `f32` cannot hold the inverse, the result is
/// that key's value: with scores that are stored and not, and along edges.
#[test]
fn dropout_leaves_whole_shares() {
    let all: Vec<(u32, u32)> = (0..64).flat_map(|i| [(i, 0), (i, 1)]).collect();
    let edges = Arc::new(Sparsity::new(64, 2, &all));
    let v: Tensor<f32> = uniform(&[2, 3], 1.5, &mut rng::stream(36, 3, 0)).cast();
    for values in PointMap::OF_VALUES {
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            let run = |form: &str| {
                let tape = Tape::<f32>::new();
                tape.training(rng::stream(35, 3, 0));
                let [q, k] = [Tensor::from_fn([64, 1], |_| 1.0), Tensor::new([2, 1], vec![0.0, -95.0])];
                let [q, k, v] = [&q, &k, &v].map(|x| tape.variable(x));
                let attend = Attend::new(&score::Dot).sharpness(tape.scalar(1.0)).weights(weights);
                let attend = attend.dropout(Dropout { rate: 0.5 }).aggregation(Aggregation::Barycentre);
                let attend = attend.values(values);
                let y = match form {
                    "edges" => attend.along_edges(q, k, v, &edges),
                    // Sets of one query each, which share their keys.
                    "stored" => {
                        let none = tape.constant(&Tensor::zeros([1, 1]));
                        attend.mask(none).forward(q.reshape([64, 1, 1]), k, v).reshape([64, 3])
                    }
                    _ => attend.forward(q, k, v),
                };
                let result = y.to_tensor();
                let none = result.rows().filter(|row| *row == [0.0; 3]).count();
                assert!((6..27).contains(&none), "{form}, {values:?}, {weights:?}: {none}");
                let gradients = tape.backward(y.sum());
                let gradients = [q, k, v].map(|x| gradients.wrt(x));
                let finite = |g: &Tensor<f32>| g.data().iter().all(|g| g.is_finite());
                assert!(gradients.iter().all(finite), "{form}, {values:?}, {weights:?}");
                (result, gradients)
            };
            let (result, gradients) = run("tiles");
            if values != PointMap::Polar {
                // Of both keys the first has all the weight.
                for row in result.rows().filter(|row| *row != [0.0; 3]) {
                    let is = |value: &[f32]| row.iter().zip(value).all(|(y, v)| (y - v).abs() < 1e-5);
                    assert!(is(v.row(0)) || is(v.row(1)), "{values:?}, {weights:?}: {row:?}");
                }
                let second = result.rows().filter(|row| (row[0] - v.row(1)[0]).abs() < 1e-5).count();
                assert!((6..27).contains(&second), "{values:?}, {weights:?}: {second}");
            }
            for form in ["edges", "stored"] {
                let (others, other_gradients) = run(form);
                close(&others.cast(), &result.cast(), 1e-6);
                for (have, want) in other_gradients.iter().zip(&gradients) {
                    // A rounding error of the weights' gradients, times a key of 95.
                    close(&have.cast(), &want.cast(), 1e-3);
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "score dot: no map Exp")]
fn dot_products_have_no_map() {
    let _ = Mapped::<f64>::new(&score::Dot, PointMap::Exp);
}

#[test]
#[should_panic(expected = "attention: values cannot be aggregated by Psi")]
fn values_have_no_heights() {
    let layer = Attention { values: PointMap::Psi, ..attention(&Distance) };
    let tape = Tape::new();
    let x = tape.constant(&Tensor::zeros([2, 3]));
    let _ = layer.forward(x, x, x, Mask::None);
}

/// A height and a direction need a coordinate each beside the radius.
#[test]
#[should_panic(expected = "map: Polar } needs 3 dimensions or more; queries have 2")]
fn polar_cones_have_three_dimensions() {
    let cones = Mapped::new(&UmbralCone { radius: 0.1 }, PointMap::Polar);
    assert_eq!(score::least_dimensions::<f64>(&cones), 3);
    let _ = Attention::<f64>::new(&cones, 2);
}
