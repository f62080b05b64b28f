//! The formulas of attention scores: their definitions and their gradients, on both sides of every kink.

use cotangent_engine::{Dual, PairFormula, Row, Rows, Scalar, Tape, Tensor, Var, rng};
use cotangent_layers::score::{self, PenumbralCone, PolarDistance, ReleasedPenumbralCone, UmbralCone};
use cotangent_layers::{Attend, Mask};
use cotangent_manifolds::shadow_cones::formulas::PenumbralGap;

/// The slope of the distance between two points by one's distance from the origin does not depend on how
/// far the other is.
#[test]
fn slopes_of_polar_distances_from_afar() {
    let slope = |r: f64, square: f64| {
        let c = Dual::<f64, 1>::constant;
        let s = Dual { value: 3.0, partials: [1.0] };
        let query = [c(r), c(Scalar::sinh(r.min(PolarDistance::NEAR)))];
        let score = PolarDistance::eval(c(square), query, [s, s.sinh()], [c(1.0), c(0.0)]);
        -score.partials[0]
    };
    for square in [1e-4, 0.01, 1.0, 4.0] {
        let near = slope(43.0, square);
        for r in [45.0, 1e3, 1e8, 1e15] {
            assert!((slope(r, square) - near).abs() < 1e-12, "{r} {square}: {} {near}", slope(r, square));
        }
    }
    assert!((slope(1e8, 0.0) + 1.0).abs() < 1e-12, "on one ray");
}

/// Tseng et al. 2023, eq. 13, takes directions as they are: `(d sinh r, cosh r)` with ‖d‖ ≠ 1 is no
/// point of the hyperboloid, so for random activations −⟨q, k⟩ of many pairs is below 1, where arcosh
/// is NaN: a reason for the paper's 0.10 % on ImageNet with the hyperboloid. Directions of length 1 have
/// finite scores and gradients.
#[test]
fn polar_coordinates_fail_without_directions_of_length_one() {
    let (n, d) = (20, 65);
    let x = super::uniform(&[n, d], 2.0, &mut rng::stream(3, 4, 0));
    let as_printed = |q: &[f64], k: &[f64]| {
        let ((u, r), (v, s)) = ((&q[..d - 1], q[d - 1]), (&k[..d - 1], k[d - 1]));
        let dot: f64 = u.iter().zip(v).map(|(u, v)| u * v).sum();
        (r.cosh() * s.cosh() - r.sinh() * s.sinh() * dot).acosh()
    };
    let pairs = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let failed = pairs().filter(|&(i, j)| as_printed(x.row(i), x.row(j)).is_nan()).count();
    assert!(failed > n * n / 4, "{failed} of {} pairs", n * n);
    assert!((0..n).all(|i| as_printed(x.row(i), x.row(i)).is_nan()), "rows with themselves");

    let tape = Tape::new();
    let rows = tape.variable(&x);
    let attended = Attend::new(&PolarDistance).masked(Mask::None).forward(rows, rows, rows);
    let is_finite = |result: &Tensor<f64>| result.data().iter().all(|x| x.is_finite());
    assert!(is_finite(&attended.to_tensor()));
    assert!(is_finite(&tape.backward(attended.square().sum()).wrt(rows)));
}

/// Without a direction a row is the origin, at whatever distance.
#[test]
fn polar_rows_without_a_direction_are_the_origin() {
    let (q, keys) = ([0.0, 0.0, 2.0], [[1.0, 0.0, 1.0], [0.6, -0.8, 50.0], [0.0, 0.0, -50.0]]);
    let tape = Tape::<f64>::new();
    let queries = tape.variable(&Tensor::new([1, 3], q.to_vec()));
    let k = tape.variable(&Tensor::new([3, 3], keys.concat()));
    let scores = Attend::new(&PolarDistance).scores(queries, k);
    for ((score, want), key) in scores.to_tensor().data().iter().zip([-1.0, -50.0, 0.0]).zip(keys) {
        assert!((score - want).abs() < 1e-13, "{key:?}: {score} {want}");
        let by_hand = score::by_hand(&PolarDistance, &Row::from(q), &Row::from(key));
        assert!((score - by_hand).abs() < 1e-12, "{key:?}: {score} {by_hand}");
    }
    let gradients = tape.backward(scores.sum());
    assert_eq!(gradients.wrt(queries).data(), [0.0; 3]);
    let of_keys = gradients.wrt(k);
    assert!(of_keys.data().iter().all(|g| g.is_finite()), "{of_keys}");
    assert!((of_keys.row(0)[2] + 1.0).abs() < 1e-13 && of_keys.row(2) == [0.0; 3], "{of_keys}");
}

/// The part of its formula that gives the height of the lowest cone with a query and a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// The higher of the two points; its cone contains the other.
    Higher,
    /// Where the sides of the two cones cross.
    Crossing,
    /// The semicircle through both: no cone contains both.
    Semicircle,
}

/// How near pairs are to a change of the formula, relative to the horizontal distance at which it
/// changes.
const GAPS: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// The step of the differences. Moving all arguments by it leaves a pair on its side of the change.
const STEP: f64 = 2e-6;

/// Horizontal distances at which a height comes from each part, for cones whose formula changes at
/// `edges`: near these on both sides, and far from them.
fn distances(edges: &[f64]) -> Vec<(f64, Part)> {
    let parts = [Part::Higher, Part::Crossing, Part::Semicircle];
    let mut all = vec![(0.3 * edges[0], parts[0])];
    for (i, &edge) in edges.iter().enumerate() {
        assert!(edge * GAPS[2] > 5.0 * STEP, "{edges:?}");
        all.extend(GAPS.iter().map(|gap| (edge * (1.0 - gap), parts[i])));
        all.extend(GAPS.iter().map(|gap| (edge * (1.0 + gap), parts[i + 1])));
        let next = edges.get(i + 1).map_or(3.0 * edge, |next| 0.5 * (edge + next));
        all.push((next, parts[i + 1]));
    }
    all
}

/// Scores from a query, keys, their heights, sharpness, offset and the cones' own number (light or radius).
type Scores = for<'t> fn(&[Var<'t, f64>]) -> Var<'t, f64>;

fn umbral<'t>(v: &[Var<'t, f64>]) -> Var<'t, f64> {
    let params = [v[4], v[5], v[6].sinh()];
    v[0].tape().pairs(UmbralCone::default(), [v[0], v[1]], [v[2]], [v[3]], params).scores()
}

fn penumbral<'t, F: PairFormula<2, 2, 3> + Default>(v: &[Var<'t, f64>]) -> Var<'t, f64> {
    let [q, k] = [v[2], v[3]].map(|height| {
        let points = height.reshape([height.shape().elements(), 1]);
        [height, Rows::scalar(PenumbralGap, [&points], [&v[6]]).reshape(height.shape())]
    });
    v[0].tape().pairs(F::default(), [v[0], v[1]], q, k, [v[4], v[5], v[6]]).scores()
}

/// Compares scores of a query and keys with their definition. Compares their gradients by query, keys,
/// heights, sharpness, offset and the cones' own number (light or radius) with central differences. Keys
/// are at the given distances.
fn check_scores(
    name: &str,
    of_inputs: Scores,
    height: impl Fn(f64) -> f64,
    [q, k, of_cones]: [f64; 3],
    distances: &[(f64, Part)],
    width: usize,
) {
    let (gamma, c, m) = (0.7, 0.2, distances.len());
    let query: Vec<f64> = (0..width).map(|i| 0.3 - 0.1 * i as f64).collect();
    // Keys in two directions from the query.
    let keys = Tensor::from_fn([m, width], |at| {
        let (j, i) = (at / width, at % width);
        let along = if j % 2 == 0 { [0.6, 0.8] } else { [-0.8, 0.6] };
        query[i] + distances[j].0 * along.get(i).unwrap_or(&0.0)
    });
    let inputs = [
        Tensor::new([1, width], query.clone()),
        keys,
        Tensor::new([1], vec![q]),
        Tensor::new([m], vec![k; m]),
        Tensor::new([1], vec![gamma]),
        Tensor::new([1], vec![c]),
        Tensor::new([1], vec![of_cones]),
    ];
    let scores = |inputs: &[Tensor<f64>]| {
        let tape = Tape::new();
        of_inputs(&inputs.iter().map(|x| tape.constant(x)).collect::<Vec<_>>()).to_tensor()
    };
    for (score, (delta, _)) in scores(&inputs).data().iter().zip(distances) {
        let want = -gamma * height(*delta) - c;
        assert!((score - want).abs() < 1e-13, "{name} {delta}: {score} {want}");
    }
    // Every score by itself, because in a sum one error could hide another.
    for (j, (delta, part)) in distances.iter().enumerate() {
        let tape = Tape::new();
        let v: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
        let gradients = tape.backward(of_inputs(&v).slice(-1, j..j + 1).sum());
        for (which, &variable) in v.iter().enumerate() {
            let gradient = gradients.wrt(variable).data().to_vec();
            for (at, have) in gradient.iter().enumerate() {
                let moved = |by: f64| {
                    let mut inputs = inputs.clone();
                    inputs[which].data_mut()[at] += by;
                    scores(&inputs).data()[j]
                };
                let want = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
                assert!(
                    (have - want).abs() < 2e-9 * want.abs().max(1.0),
                    "{name}: heights {q}, {k}, distance {delta}, {part:?}, input {which}, element {at}: \
                     {have} {want}"
                );
            }
        }
    }
}

/// The gradients of penumbral scores are those of the scores: inside one another's cones, outside, and
/// on both sides of where the formula changes.
#[test]
fn gradients_of_penumbral_scores_on_both_sides_of_their_kinks() {
    for [q, k, light] in [[0.3, 0.6, 1.0], [0.6, 0.3, 1.0], [0.5, 0.2, 0.8]] {
        let [a, b] = [q, k].map(|h: f64| (light * light - h * h).sqrt());
        let distances = distances(&[(a - b).abs(), a + b]);
        // The definition, and with it which part each distance is in.
        let height = |delta: f64| {
            let semicircle = ((delta * delta + k * k - q * q) / (2.0 * delta)).powi(2) + q * q;
            if delta > a + b {
                semicircle.sqrt()
            } else {
                q.max(k).max((light * light - (0.5 * (a + b - delta)).powi(2)).sqrt())
            }
        };
        for &(delta, part) in &distances {
            let height = height(delta);
            let from = match () {
                () if height == q.max(k) => Part::Higher,
                () if height < light => Part::Crossing,
                () => Part::Semicircle,
            };
            assert_eq!(from, part, "{delta}: {height}");
        }
        for width in [2, 12] {
            let numbers = [q, k, light];
            check_scores("penumbral", penumbral::<PenumbralCone>, height, numbers, &distances, width);
            check_scores(
                "penumbral-released",
                penumbral::<ReleasedPenumbralCone>,
                |x| height(x).powi(2),
                numbers,
                &distances,
                width,
            );
        }
    }
}

/// The same for umbral scores: where the query is the highest, where the key is, and where the sides of
/// their cones cross.
#[test]
fn gradients_of_umbral_scores_on_both_sides_of_their_kinks() {
    for [q, k, radius] in [[0.3, 0.9, 0.6], [0.9, 0.3, 0.6], [2.0, 0.4, 0.1]] {
        let distances = distances(&[f64::sinh(radius) * (q - k).abs()]);
        let crossing = |delta: f64| 0.5 * (delta / radius.sinh() + q + k);
        for &(delta, part) in &distances {
            assert_eq!(crossing(delta) > q.max(k), part == Part::Crossing, "{delta}");
        }
        for width in [2, 12] {
            let height = |delta| crossing(delta).max(q).max(k);
            check_scores("umbral", umbral, height, [q, k, radius], &distances, width);
        }
    }
}
