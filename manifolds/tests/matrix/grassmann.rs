//! Subspaces.

use cotangent_manifolds::Grassmann;

use super::*;

const SIZES: [[usize; 2]; 7] = [[1, 1], [2, 1], [3, 3], [5, 1], [5, 2], [4, 3], [20, 6]];

#[test]
fn laws() {
    for [n, p] in SIZES {
        // The angles of a tangent are no larger than its norm, so they stay below a right angle.
        Laws { m: Grassmann::new(n, p), radius: 0.7, condition: |_| 1.0, parallel: true }.all();
    }
}

#[test]
fn gradients_equal_finite_differences() {
    for [n, p] in [[2, 1], [4, 1], [4, 2], [5, 3]] {
        gradients(Grassmann::new(n, p), n as u64);
    }
}

#[test]
fn levels_agree_bit_for_bit() {
    levels::<_, f64>(Grassmann::new(5, 2));
    levels::<_, f32>(Grassmann::new(5, 2));
}

/// Points with chosen principal angles, from 1e-15 to a right angle, in different gauges.
#[test]
fn principal_angles_are_accurate() {
    let right = std::f64::consts::FRAC_PI_2;
    for angles in
        [[1e-9, 3e-9], [1e-15, 0.5], [1e-8, right - 1e-8], [1.0, 1.0], [right - 1e-12, right - 1e-13]]
    {
        let m = Grassmann::new(4, 2);
        let (sin, cos) = (angles.map(f64::sin), angles.map(f64::cos));
        let x = Row::from([1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let y = Row::from([cos[0], 0.0, 0.0, cos[1], sin[0], 0.0, 0.0, sin[1]]);
        let want = angles[0].hypot(angles[1]);
        assert!((m.dist(&x, &y) / want - 1.0).abs() < 4.0 * f64::EPSILON, "{angles:?} {}", m.dist(&x, &y));
        // In another gauge only the subspaces are near each other, each known to an ulp.
        let turn = Row::from([0.6, -0.8, 0.8, 0.6]);
        let turned = product(&y, &turn, 2);
        assert!((m.dist(&x, &turned) - want).abs() < 8.0 * f64::EPSILON, "{angles:?}");
    }
}

/// Distances do not depend on the gauge of a subspace; logarithms and transports turn with it.
#[test]
fn gauge() {
    let m = Grassmann::new(6, 2);
    let mut rng = rng::stream(4, 75, 0);
    let (x, y) = (m.random_point::<f64>(8, 0.7, &mut rng), m.random_point::<f64>(8, 0.7, &mut rng));
    let v = m.random_tangent(&x, &mut rng);
    let turn = Row::from([0.6, -0.8, 0.8, 0.6]);
    let turned = |row: &Row<f64>| product(row, &turn, 2);
    let bound = 64.0 * f64::EPSILON;
    assert!((m.dist(&turned(&x), &y) - m.dist(&x, &y)).abs() < bound);
    assert!(m.dist(&turned(&x), &x) < bound);
    let near = |a: &Row<f64>, b: &Row<f64>| assert!(m.norm(&x, &combine(a, -1.0, b)) < bound, "{a:?} {b:?}");
    near(&m.log(&turned(&x), &y), &turned(&m.log(&x, &y)));
    near(&m.log(&x, &turned(&y)), &m.log(&x, &y));
    near(&m.transport(&x, &turned(&y), &v), &turned(&m.transport(&x, &y, &v)));
    near(&m.transport(&turned(&x), &y, &turned(&v)), &m.transport(&x, &y, &v));
    near(&m.exp(&turned(&x), &turned(&v)), &turned(&m.exp(&x, &v)));
}

/// Orthogonal subspaces are π/2 √p apart. There are several geodesics between them, and any will do.
#[test]
fn orthogonal_subspaces() {
    let m = Grassmann::new(4, 2);
    let x = Row::from([1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let y = Row::from([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let want = std::f64::consts::FRAC_PI_2 * 2f64.sqrt();
    assert!((m.dist(&x, &y) - want).abs() < 8.0 * f64::EPSILON);
    assert!(m.dist(&m.exp(&x, &m.log(&x, &y)), &y) < 8.0 * f64::EPSILON);
    assert!(m.transport(&x, &y, &m.log(&x, &y)).iter().all(|c| c.is_finite()));
}

#[test]
fn retraction_is_of_second_order_and_agrees_with_exp() {
    // As subspaces, QR and polar factor are the same, so the error is of the third power of the step.
    let m = Grassmann::new(5, 2);
    assert_slope(m, 3.0);
}
