//! Law 54: isometries, a single key, permutations, and the limits of sharp scores and of flat space.

use cotangent_engine::Row;
use cotangent_layers::score::{Distance, HalfSpaceDistance, Laplacian, PolarDistance, Score};
use cotangent_layers::{Aggregation, Attention, Mask, Weights};
use cotangent_manifolds::{HalfSpace, Hyperbolic, PoincareBall, Point};

use super::attention::{attention, by_hand, inputs, scores, setting};
use super::*;

const AGGREGATIONS: [Aggregation; 2] = [Aggregation::Sum, Aggregation::Barycentre];

fn ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

/// The result when all queries attend to all keys.
fn result(layer: &Attention<f64>, [q, k, v]: [&Tensor<f64>; 3]) -> Tensor<f64> {
    let tape = Tape::new();
    let [q, k, v] = [q, k, v].map(|x| tape.constant(x));
    layer.forward(q, k, v, Mask::None).to_tensor()
}

/// A tensor after changing each of its rows.
fn each(x: &Tensor<f64>, change: impl Fn(&mut [f64])) -> Tensor<f64> {
    let mut x = x.clone();
    let width = x.width();
    x.data_mut().chunks_exact_mut(width).for_each(change);
    x
}

/// A rotation.
fn rotate(x: &mut [f64]) {
    for (i, angle) in (1..x.len()).zip([0.7_f64, -1.1, 2.3]) {
        let (sin, cos) = angle.sin_cos();
        (x[i - 1], x[i]) = (cos * x[i - 1] - sin * x[i], sin * x[i - 1] + cos * x[i]);
    }
}

/// All isometries of hyperbolic space preserve distances, in any model. Applying an isometry to queries,
/// keys and values applies it to the results.
#[test]
fn isometries_go_through() {
    let mut rng = rng::stream(5, 3, 0);
    let ball = ball();
    let [q, k, v] = [4, 5, 5].map(|n| points(&ball, n, 3, 2.0, &mut rng));
    let by = Row::from([0.3, -0.5, 0.2]);
    let moved = |x: &Tensor<f64>| {
        each(x, |x| {
            rotate(x);
            x.copy_from_slice(&ball.add(&by, &Row::from(&*x)));
        })
    };
    // The activation that a score maps to a given point of the ball.
    let activations = |score: &dyn Score<f64>, x: &Tensor<f64>| {
        let rows = x.rows().map(|x| {
            let x = Row::from(x);
            match score.name() {
                "polar-distance" => {
                    // Time is the first coordinate.
                    let point = ball.onto_hyperboloid(&x);
                    let sinh = point[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
                    point[1..].iter().copied().chain([sinh.asinh()]).collect::<Vec<_>>()
                }
                "half-space" => {
                    let point = Point::new(ball, x).to::<HalfSpace>();
                    let height = point.coordinates()[2];
                    let horizontal = point.coordinates()[..2].iter().map(|x| x / height);
                    horizontal.chain([height.ln()]).collect()
                }
                _ => ball.log0(&x).to_vec(),
            }
        });
        let rows: Vec<Vec<f64>> = rows.collect();
        Tensor::new([rows.len(), rows[0].len()], rows.concat())
    };
    let flat = |x: &Tensor<f64>| each(x, |x| x.copy_from_slice(&ball.log0(&Row::from(&*x))));
    for score in [&Distance as &dyn Score<f64>, &PolarDistance, &HalfSpaceDistance] {
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            let aggregation = Aggregation::Barycentre;
            let layer = Attention { aggregation, weights, ..attention(score) };
            let run = |q: &Tensor<f64>, k: &Tensor<f64>, v: &Tensor<f64>| {
                let y = result(&layer, [&activations(score, q), &activations(score, k), &flat(v)]);
                each(&y, |y| y.copy_from_slice(&ball.exp0(&Row::from(&*y))))
            };
            let (before, after) = (run(&q, &k, &v), run(&moved(&q), &moved(&k), &moved(&v)));
            close(&after, &moved(&before), 1e-12);
            // Moving the values alone moves the results, too. Moving the keys alone changes the results.
            close(&run(&q, &k, &moved(&v)), &moved(&before), 1e-12);
            assert!(difference(&run(&q, &moved(&k), &v), &before) > 1e-3);
        }
    }
}

/// Rotating activations rotates the points that they stand for, and leaves every score unchanged, except
/// the one that adds coordinates up. In scores whose last coordinate is a height or a radius, only the
/// other coordinates are rotated.
#[test]
fn rotations_go_through() {
    let [q, k, _] = inputs(4);
    let v = uniform(&[2, 5, 3], 1.0, &mut rng::stream(6, 3, 0));
    for score in scores().filter(|score| score.name() != "additive") {
        let whole = matches!(score.name(), "dot" | "distance" | "laplacian");
        let turned = |x: &Tensor<f64>| each(x, |x| rotate(&mut x[..if whole { 3 } else { 2 }]));
        for aggregation in AGGREGATIONS {
            let layer = Attention { aggregation, ..attention(score) };
            let before = result(&layer, [&q, &k, &v]);
            close(&result(&layer, [&turned(&q), &turned(&k), &v]), &before, 1e-13);
            close(&result(&layer, [&q, &k, &each(&v, rotate)]), &each(&before, rotate), 1e-13);
            assert!(difference(&result(&layer, [&q, &turned(&k), &v]), &before) > 1e-3, "{score:?}");
        }
    }
}

/// Horizontal translations of the half-space preserve its distances and cones. Dilations preserve
/// distances, but raise umbral cones and the light of penumbral ones. Translations of activations
/// preserve the Laplacian kernel.
#[test]
fn the_half_space_can_be_moved() {
    let [q, k, v] = inputs(9);
    let by = [0.4, -1.3];
    let mut compared = 0;
    for score in scores() {
        let height: Box<dyn Fn(f64) -> f64> = match score.name() {
            "laplacian" => Box::new(|_| 1.0),
            "half-space" | "umbral" => Box::new(f64::exp),
            "umbral-released" => Box::new(|x| (x / 3.0).exp()),
            "penumbral" | "penumbral-released" => {
                let light = setting(score);
                Box::new(move |x| light / (1.0 + (-x).exp()))
            }
            _ => continue,
        };
        let layer = attention(score);
        let before = result(&layer, [&q, &k, &v]);
        // ψ and ξ multiply by the height.
        let moved = |x: &Tensor<f64>| {
            each(x, |x| {
                let height = height(x[2]);
                x.iter_mut().zip(by).for_each(|(x, by)| *x += by / height);
            })
        };
        close(&result(&layer, [&moved(&q), &moved(&k), &v]), &before, 1e-13);
        assert!(difference(&result(&layer, [&q, &moved(&k), &v]), &before) > 1e-3, "{score:?}");
        let raised = |x: &Tensor<f64>| each(x, |x| x[2] += 0.6);
        let dilated = result(&layer, [&raised(&q), &raised(&k), &v]);
        match score.name() {
            "half-space" | "laplacian" => close(&dilated, &before, 1e-13),
            // A dilation multiplies heights, and so the sharpness.
            "umbral" => {
                let mut sharper = layer.clone();
                sharper.sharpness.value_mut().data_mut()[0] *= 0.6_f64.exp();
                close(&dilated, &result(&sharper, [&q, &k, &v]), 1e-13);
            }
            _ => assert!(difference(&dilated, &before) > 1e-3, "{score:?}"),
        }
        compared += 1;
    }
    assert_eq!(compared, 10);
}

/// The order of the keys does not matter if values and masks are permuted with them.
#[test]
fn keys_have_no_order() {
    let [q, k, v] = inputs(10);
    let order = [3, 0, 4, 1, 2];
    let permuted = |x: &Tensor<f64>| {
        let rows = (0..2).flat_map(|b| order.map(|j| x.row(b * 5 + j)));
        Tensor::new(x.shape().axes(), rows.flatten().copied().collect())
    };
    let hidden = |order: [usize; 5]| {
        Tensor::from_fn([4, 5], |at| f64::from(u8::from((at / 5 + 2 * order[at % 5]) % 3 == 1)))
    };
    for score in scores() {
        for weights in [Weights::Softmax, Weights::Sigmoid] {
            for aggregation in AGGREGATIONS {
                let layer = Attention { aggregation, weights, ..attention(score) };
                let run = |k: &Tensor<f64>, v: &Tensor<f64>, mask: Option<Tensor<f64>>| {
                    let tape = Tape::new();
                    let mask = mask.map_or(Mask::None, |mask| Mask::Hidden(tape.constant(&mask)));
                    let [q, k, v] = [&q, k, v].map(|x| tape.constant(x));
                    layer.forward(q, k, v, mask).to_tensor()
                };
                let before = run(&k, &v, None);
                close(&run(&permuted(&k), &permuted(&v), None), &before, 1e-13);
                assert!(difference(&run(&permuted(&k), &v, None), &before) > 1e-3, "{score:?}");
                let masked = run(&k, &v, Some(hidden([0, 1, 2, 3, 4])));
                close(&run(&permuted(&k), &permuted(&v), Some(hidden(order))), &masked, 1e-13);
                assert!(difference(&masked, &before) > 1e-3, "{score:?}");
            }
        }
    }
}

/// As β → ∞, the result tends to the value of the nearest key.
#[test]
fn sharp_attention_is_to_the_nearest_key() {
    let [q, k, v] = inputs(11);
    for score in [&Distance as &dyn Score<f64>, &PolarDistance, &HalfSpaceDistance, &Laplacian] {
        for aggregation in AGGREGATIONS {
            let run = |sharpness| {
                let mut layer = Attention { aggregation, ..attention(score) };
                layer.sharpness.value_mut().data_mut()[0] = sharpness;
                result(&layer, [&q, &k, &v])
            };
            let (sharp, dull) = (run(1e4), run(1.0));
            for i in 0..8 {
                let distance = |j: usize| -by_hand(score, q.row(i), k.row(j));
                let mut keys: Vec<usize> = (i / 4 * 5..i / 4 * 5 + 5).collect();
                keys.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)));
                assert!(distance(keys[1]) - distance(keys[0]) > 4e-3, "{score:?} {i}");
                let off = |y: &Tensor<f64>| {
                    y.row(i).iter().zip(v.row(keys[0])).map(|(y, v)| (y - v).abs()).fold(0.0, f64::max)
                };
                assert!(off(&sharp) < 1e-13 && off(&dull) > 1e-3, "{score:?} {i}: {}", off(&sharp));
            }
        }
    }
}

/// The limit c → 0. The curvature of the layer is −1. To get a space of curvature −ε², multiply
/// activations by ε and the sharpness by 1/ε, and divide results by ε (law 47). They tend to the
/// Euclidean weighted mean, with the weights of a Laplacian kernel of twice the sharpness. The error is
/// linear in the curvature.
#[test]
fn attention_in_flat_space_is_euclidean() {
    let [q, k, v] = inputs(12);
    let mut euclidean = attention(&Laplacian);
    euclidean.sharpness.value_mut().data_mut()[0] *= 2.0;
    let want = result(&euclidean, [&q, &k, &v]);
    let error = |epsilon: f64| {
        let mut layer = Attention { aggregation: Aggregation::Barycentre, ..attention(&Distance) };
        layer.sharpness.value_mut().data_mut()[0] /= epsilon;
        let [q, k, v] = [&q, &k, &v].map(|x| each(x, |x| x.iter_mut().for_each(|x| *x *= epsilon)));
        difference(&each(&result(&layer, [&q, &k, &v]), |y| y.iter_mut().for_each(|y| *y /= epsilon)), &want)
    };
    let (coarse, fine) = (error(1e-2), error(1e-3));
    assert!(fine < 1e-5 && (coarse / fine / 100.0 - 1.0).abs() < 0.02, "{coarse:e} {fine:e}");
}
