//! Divided differences of the exponential.

use cotangent_manifolds::internal::{exp_divided, exp_divided_twice};

/// Divided differences agree with their definition where that is accurate, and are continuous elsewhere.
#[test]
fn divided_differences() {
    for (a, b, c) in [(-3.0, 1.0, 2.5), (0.1, 0.4, 0.9), (5.0, 4.2, 4.6), (-0.3, 0.8, 0.2)] {
        let one = |a: f64, b: f64| (a.exp() - b.exp()) / (a - b);
        let two = (one(a, b) - one(b, c)) / (a - c);
        assert!((exp_divided(a, b) / one(a, b) - 1.0).abs() < 1e-14);
        assert!((exp_divided_twice(a, b, c) / two - 1.0).abs() < 1e-13, "{a} {b} {c}");
        assert_eq!(exp_divided_twice(a, b, c), exp_divided_twice(c, a, b));
    }
    assert_eq!(exp_divided(1.0, 1.0), 1f64.exp());
    assert!(exp_divided(300.0, -300.0).is_finite() && exp_divided(-300.0, -300.0) > 0.0);
    assert!((exp_divided_twice(-2.0, -2.0, -2.0) / (0.5 * (-2f64).exp()) - 1.0).abs() < 1e-15);
    for middle in [0.0, 0.5, 1.0] {
        let (left, right) =
            (exp_divided_twice(0.0, middle, 1.0), exp_divided_twice(0.0, middle, 1.0 + 1e-15));
        assert!((left / right - 1.0).abs() < 1e-14, "{middle}: {left} {right}");
    }
}
