//! Orthonormal frames.

use cotangent_manifolds::{Retraction, Stiefel};

use super::*;

const SIZES: [[usize; 2]; 7] = [[1, 1], [2, 1], [3, 3], [5, 1], [5, 2], [4, 3], [20, 6]];

/// The factor by which shooting at this distance stretches a rounding error of a point, where curvature
/// is 1.
fn stretch(radius: f64) -> f64 {
    if radius > 0.0 { 2.0 * radius / radius.sin() } else { 2.0 }
}

#[test]
fn laws() {
    for [n, p] in SIZES {
        for retraction in [Retraction::Qr, Retraction::Polar] {
            let m = Stiefel::new(n, p).with_retraction(retraction);
            Laws { m, radius: 0.9, condition: stretch, parallel: false }.all();
        }
    }
}

#[test]
fn gradients_equal_finite_differences() {
    for [n, p] in [[2, 1], [4, 1], [4, 2], [5, 3], [3, 3]] {
        gradients(Stiefel::new(n, p), n as u64);
    }
    // The polar retraction changes nothing else, so two sizes are enough.
    for [n, p] in [[2, 1], [4, 2]] {
        gradients(Stiefel::new(n, p).with_retraction(Retraction::Polar), n as u64);
    }
}

#[test]
fn levels_agree_bit_for_bit() {
    for retraction in [Retraction::Qr, Retraction::Polar] {
        levels::<_, f64>(Stiefel::new(5, 2).with_retraction(retraction));
        levels::<_, f32>(Stiefel::new(5, 2).with_retraction(retraction));
    }
}

#[test]
fn retractions_are_of_their_order() {
    for [n, p] in [[5, 2], [3, 3]] {
        assert_slope(Stiefel::new(n, p), 2.0);
        assert_slope(Stiefel::new(n, p).with_retraction(Retraction::Polar), 3.0);
    }
}

/// One column: the unit sphere, nearly as far as its antipodes.
#[test]
fn sphere() {
    let m = Stiefel::new(3, 1);
    for angle in [1e-9_f64, 1e-3, 1.0, 2.0, 3.0] {
        let (x, y) =
            (Row::from([1.0, 0.0, 0.0]), Row::from([angle.cos(), 0.6 * angle.sin(), 0.8 * angle.sin()]));
        assert!((m.dist(&x, &y) - angle).abs() < 16.0 * f64::EPSILON, "{angle}");
        let v = Row::from([0.0, 0.6 * angle, 0.8 * angle]);
        let bound = 8.0 * f64::EPSILON * stretch(angle);
        assert!(m.norm(&x, &combine(&m.log(&x, &y), -1.0, &v)) < bound, "{angle}");
        assert!(m.norm(&x, &combine(&m.exp(&x, &v), -1.0, &y)) < 16.0 * f64::EPSILON, "{angle}");
    }
}

/// Square matrices: rotations by an angle are √2 angles apart, and all are reached within their component.
#[test]
fn rotations() {
    let m = Stiefel::new(2, 2);
    let rotation = |t: f64| Row::from([t.cos(), -t.sin(), t.sin(), t.cos()]);
    for angle in [1e-6, 0.5, 1.5, 2.1] {
        let d = m.dist(&rotation(0.3), &rotation(0.3 + angle));
        assert!((d - angle * 2f64.sqrt()).abs() < 32.0 * f64::EPSILON, "{angle}: {d}");
    }
}

/// Shooting converges well beyond the distances of practice.
#[test]
fn logarithms_reach_far() {
    for [n, p] in [[5, 1], [5, 2], [4, 3], [10, 3], [30, 5]] {
        let m = Stiefel::new(n, p);
        let dim = m.fixed_dimension().unwrap();
        for draw in 0..8 {
            let mut rng = rng::stream(draw, 77, dim as u64);
            let x = m.random_point::<f64>(dim, 2.0, &mut rng);
            let v = m.random_tangent(&x, &mut rng);
            for length in [1.0, 2.0, 2.8] {
                let v = scaled(&v, length / m.norm(&x, &v));
                let error = m.norm(&x, &combine(&m.log(&x, &m.exp(&x, &v)), -1.0, &v));
                assert!(error < 1e-11, "{n} {p} {draw} {length}: {error:e}");
            }
        }
    }
}

/// No geodesic leads to the other component of the orthogonal group: both passes give NaN, and so does
/// exp of the NaN.
#[test]
fn other_component() {
    let m = Stiefel::new(2, 2);
    let (x, y) = (Row::from([1.0, 0.0, 0.0, 1.0]), Row::from([1.0, 0.0, 0.0, -1.0]));
    assert!(m.dist(&x, &y).is_nan());
    let velocity = m.log(&x, &y);
    assert!(velocity.iter().all(|v| v.is_nan()) && m.exp(&x, &velocity).iter().all(|x| x.is_nan()));
    assert!(m.retract(&x, &velocity).iter().any(|x| x.is_nan()));
    for distance in [true, false] {
        let tape = Tape::new();
        let [x, y] = [&x, &y].map(|row| tape.variable(&Tensor::new([1, 4], row.to_vec())));
        let loss = if distance { m.dist(&x, &y).sum() } else { m.log(&x, &y).sum() };
        let gradients = tape.backward(loss);
        assert!(gradients.wrt(x).data().iter().all(|g| g.is_nan()));
    }
}
