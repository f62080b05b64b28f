use cotangent_engine::Scalar;
use cotangent_engine::scalar::{arcsinc_slope, arctanc_slope, sinc_slope, tanc_slope};

type Family = (&'static str, fn(f64) -> f64, fn(f64, f64) -> f64, f64, f64);

const FAMILY: [Family; 4] = [
    ("tanc", f64::tanc, |s, f| tanc_slope(s, f, s.tanc_secant().1), -30.0, 2.0),
    ("arctanc", f64::arctanc, arctanc_slope, -0.9, 30.0),
    ("sinc", f64::sinc, |s, f| sinc_slope(s, f, s.cosc()), -30.0, 30.0),
    ("arcsinc", f64::arcsinc, arcsinc_slope, -30.0, 0.9),
];

/// Richardson-extrapolated central difference.
fn derivative(f: impl Fn(f64) -> f64, x: f64, h: f64) -> f64 {
    let central = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
    (4.0 * central(h / 2.0) - central(h)) / 3.0
}

#[test]
fn slopes_equal_finite_differences() {
    for (name, f, slope, low, high) in FAMILY {
        for i in 0..=400 {
            let s = low + (high - low) * f64::from(i) / 400.0;
            let s = s.clamp(low + 0.02, high - 0.02);
            let (got, want) = (slope(s, f(s)), derivative(f, s, 2e-3));
            assert!((got - want).abs() <= 1e-8 * want.abs().max(1e-3), "{name}'({s}) = {got}, not {want}");
        }
    }
}

#[test]
fn slopes_join_at_the_edge_of_the_series() {
    for (name, f, slope, ..) in FAMILY {
        for edge in [-0.125, 0.125] {
            let (inside, outside) = (edge * (1.0 - 1e-15), edge * (1.0 + 1e-15));
            let (a, b) = (slope(inside, f(inside)), slope(outside, f(outside)));
            assert!((a - b).abs() <= 2e-14 * a.abs(), "{name} at {edge}: {a} {b}");
        }
    }
}

#[test]
fn family_is_continuous_through_zero_and_subnormals() {
    for (name, f, slope, ..) in FAMILY {
        for s in [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e-300] {
            assert_eq!(f(s), 1.0, "{name}({s})");
        }
        assert!((slope(0.0, 1.0) - slope(1e-18, 1.0)).abs() < 1e-15, "{name}");
    }
    assert_eq!(tanc_slope(0.0, 1.0, 1.0), 1.0 / 3.0);
    assert_eq!(arctanc_slope(0.0, 1.0), -1.0 / 3.0);
    assert_eq!(sinc_slope(0.0, 1.0, 1.0), -1.0 / 6.0);
    assert_eq!(arcsinc_slope(0.0, 1.0), 1.0 / 6.0);
}

#[test]
fn overflow_edges_are_safe() {
    assert_eq!(1000f64.sigmoid(), 1.0);
    assert_eq!((-1000f64).sigmoid(), 0.0);
    assert_eq!(1000f64.softplus(), 1000.0);
    assert_eq!((-1000f64).softplus(), 0.0);
    assert_eq!((-1e300f64).tanc(), 1e-150);
}
