//! What Tseng, Yu, Liu, De Sa 2023 (*Coneheads*) state about shadow cones and partial orders.

use std::f64::consts::TAU;

use cotangent_engine::{Row, rng};
use cotangent_manifolds::{HalfSpace, Manifold};
use rand::RngExt;

/// A partial order of the half-space: the slack by which y is below x, and the lowest common ancestor.
struct Order {
    name: &'static str,
    slack: fn(&Row<f64>, &Row<f64>) -> f64,
    height: fn(&Row<f64>, &Row<f64>) -> f64,
    supremum: fn(&Row<f64>, &Row<f64>) -> Row<f64>,
}

const RADIUS: f64 = 0.6;
const LIGHT: f64 = 2.0;

fn half_space() -> HalfSpace {
    HalfSpace::new(-1.0)
}

const UMBRAL: Order = Order {
    name: "umbral",
    slack: |x, y| half_space().umbral_slack(x, y, RADIUS),
    height: |x, y| half_space().umbral_ancestor(x, y, RADIUS),
    supremum: |x, y| half_space().umbral_supremum(x, y, RADIUS),
};

const PENUMBRAL: Order = Order {
    name: "penumbral",
    slack: |x, y| half_space().penumbral_slack(x, y, LIGHT),
    height: |x, y| half_space().penumbral_ancestor(x, y, LIGHT),
    supremum: |x, y| half_space().penumbral_supremum(x, y, LIGHT),
};

/// A point with a height below the light source.
fn point(rng: &mut rng::Rng) -> Row<f64> {
    Row::from([rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0), rng.random_range(0.05..1.9)])
}

/// A point of the cone at x. Straight below x the slack is the width of the cone at that height.
fn descendant(order: &Order, x: &Row<f64>, rng: &mut rng::Rng) -> Row<f64> {
    let height = x[2] * rng.random_range(0.01..1.0);
    let width = (order.slack)(x, &Row::from([x[0], x[1], height]));
    let (sin, cos) = rng.random_range(0.0..TAU).sin_cos();
    let away = width * rng.random_range(0.0..1.0);
    Row::from([x[0] + away * cos, x[1] + away * sin, height])
}

/// Section 2.3: penumbral cones are geodesically convex, umbral ones are not.
#[test]
fn penumbral_cones_are_convex_and_umbral_ones_are_not() {
    let mut rng = rng::stream(21, 0, 0);
    let mut outside = [0, 0];
    for (order, outside) in [PENUMBRAL, UMBRAL].iter().zip(&mut outside) {
        for _ in 0..500 {
            let x = point(&mut rng);
            let [y, z] = [(); 2].map(|()| descendant(order, &x, &mut rng));
            for t in [0.1, 0.3, 0.5, 0.8] {
                let between = half_space().geodesic(&y, &z, &t);
                *outside += usize::from((order.slack)(&x, &between) < -1e-12);
            }
        }
    }
    assert_eq!(outside[0], 0, "penumbral");
    assert!(outside[1] > 100, "umbral: {}", outside[1]);
}

/// Theorems 1 and 2: the supremum is a common ancestor, and no common ancestor is lower. It lies in the
/// vertical plane through both points.
#[test]
fn suprema_are_the_lowest_common_ancestors() {
    let mut rng = rng::stream(22, 0, 0);
    for order in [UMBRAL, PENUMBRAL] {
        let (mut tried, mut common) = (0, 0);
        for _ in 0..300 {
            let [x, y] = [(); 2].map(|()| point(&mut rng));
            let (top, height) = ((order.supremum)(&x, &y), (order.height)(&x, &y));
            assert!((top[2] - height).abs() < 1e-14 * (1.0 + height), "{}: {top:?} {height}", order.name);
            let area = (y[0] - x[0]) * (top[1] - x[1]) - (y[1] - x[1]) * (top[0] - x[0]);
            assert!(area.abs() < 1e-13 * (1.0 + height), "{}: {area}", order.name);
            let back = (order.supremum)(&y, &x);
            assert!(top.iter().zip(back.iter()).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + height)));
            if order.name == "penumbral" && height > LIGHT {
                // No common cone: the top of the geodesic through both.
                let [of_x, of_y] = [&x, &y].map(|p| (p[0] - top[0]).hypot(p[1] - top[1]).hypot(p[2]));
                assert!((of_x / height - 1.0).abs() + (of_y / height - 1.0).abs() < 1e-12);
                continue;
            }
            common += 1;
            for p in [&x, &y] {
                assert!((order.slack)(&top, p) > -1e-12, "{}: {x:?} {y:?} {top:?}", order.name);
            }
            // Points a little lower, anywhere around, are no common ancestors.
            for _ in 0..50 {
                let step = 10.0_f64.powf(rng.random_range(-6.0..0.0));
                let [u, v] = [(); 2].map(|()| rng.random_range(-1.0..1.0) * step);
                let lower = Row::from([top[0] + u, top[1] + v, top[2] * (1.0 - 1e-7)]);
                tried += 1;
                let slack = (order.slack)(&lower, &x).min((order.slack)(&lower, &y));
                assert!(slack < 0.0, "{}: {lower:?} is lower than {top:?}", order.name);
            }
        }
        assert!(common > 50 && tried > 1000, "{}: {common}", order.name);
    }
    // One above the other: the upper one.
    let (x, y) = (Row::from([0.2, -0.3, 1.5]), Row::from([0.2, -0.3, 0.5]));
    for order in [UMBRAL, PENUMBRAL] {
        assert_eq!((order.supremum)(&x, &y), x);
        assert!((order.supremum)(&y, &x).iter().zip(x.iter()).all(|(a, b)| (a - b).abs() < 1e-15));
    }
}

/// Section 5.4: if y is below x and z below y, z is below x. So are the scores of any three points: with the
/// height H of an ancestor, `H(x, z) ≤ H(x, y) + H(y, z) − h(y)`, in the penumbral order with the gaps of
/// heights, where there are common cones. The dot product has no such bound: the paper's example.
#[test]
fn scores_are_transitive() {
    let mut rng = rng::stream(23, 0, 0);
    for order in [UMBRAL, PENUMBRAL] {
        let (mut below, mut bounded, mut nearly) = (0, 0, 0);
        for _ in 0..3000 {
            let x = point(&mut rng);
            let y = descendant(&order, &x, &mut rng);
            let z = descendant(&order, &y, &mut rng);
            assert!((order.slack)(&x, &z) > -1e-12, "{}", order.name);
            below += usize::from((order.slack)(&y, &x) < 0.0);

            let [x, y, z] = [(); 3].map(|()| point(&mut rng));
            let heights = [(&x, &y), (&y, &z), (&x, &z)].map(|(a, b)| (order.height)(a, b));
            if order.name == "penumbral" && heights.iter().any(|&height| height > LIGHT) {
                continue;
            }
            let gap = |height: f64| match order.name {
                "umbral" => height,
                _ => half_space().penumbral_gap(&Row::from([0.0, 0.0, height]), LIGHT),
            };
            let [xy, yz, xz] = heights.map(gap);
            let bound = xy + yz - gap(y[2]);
            assert!(xz <= bound + 1e-12, "{}: {xy} {yz} {xz}", order.name);
            bounded += 1;
            nearly += usize::from(xz > 0.95 * bound);
        }
        assert!(below == 3000 && bounded > 300 && nearly > 10, "{}: {bounded} {nearly}", order.name);
    }
    let dot = |a: [f64; 4], b: [f64; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (x, y, z) = ([1.0, 1.0, 0.0, 0.0], [10.0; 4], [0.0, 0.0, 1.0, 1.0]);
    assert_eq!([dot(x, y), dot(y, z), dot(x, z)], [20.0, 20.0, 0.0]);
}

/// Appendix 7.7: the order of a tree whose nodes are numbered depth first is a sign matrix of rank 3 at most.
/// In a row the descendants are consecutive, from a to b. So a parabola of the column has the signs, here one
/// with integers: `−(2j − 2a + 1)(2j − 2b − 1)`. All is exact.
#[test]
fn orders_of_trees_have_sign_rank_three() {
    let mut rng = rng::stream(24, 0, 0);
    for n in [1_usize, 2, 7, 40, 200] {
        // Numbered depth first: a node's parent is on the path from the root to the node before.
        let mut parents = vec![0];
        for i in 1..n {
            let mut parent = i - 1;
            while parent > 0 && rng.random_bool(0.5) {
                parent = parents[parent];
            }
            parents.push(parent);
        }
        let below = |i: usize, j: usize| {
            std::iter::successors(Some(j), |&j| (j > 0).then(|| parents[j])).any(|ancestor| ancestor == i)
        };
        for i in 0..n {
            let signs: Vec<bool> = (0..n).map(|j| below(i, j)).collect();
            assert!(signs.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 2);
            let a = signs.iter().position(|&sign| sign).unwrap() as i64;
            let b = signs.iter().rposition(|&sign| sign).unwrap() as i64;
            // The row of a matrix of rank 3: coefficients of (1, j, j²).
            let row = [-(1 - 2 * a) * (-1 - 2 * b), 4 * (a + b), -4];
            for (j, &sign) in (0_i64..).zip(&signs) {
                let entry = row[0] + row[1] * j + row[2] * j * j;
                assert!((entry > 0) == sign && entry != 0, "{i} {j}: {entry}");
                assert_eq!(entry, -(2 * j - 2 * a + 1) * (2 * j - 2 * b - 1));
            }
        }
    }
}
