use cotangent_engine::{Dual, Scalar};

fn check(name: &str, dual: fn(Dual<f64, 1>) -> Dual<f64, 1>, plain: fn(f64) -> f64, points: &[f64]) {
    for &x in points {
        let [v] = Dual::variables([x]);
        let got = dual(v);
        assert_eq!(got.value, plain(x), "{name}({x})");
        let h = 1e-4 * x.abs().max(1.0);
        let central = |h: f64| (plain(x + h) - plain(x - h)) / (2.0 * h);
        let want = (4.0 * central(h / 2.0) - central(h)) / 3.0;
        assert!((got.partials[0] - want).abs() <= 1e-9 * want.abs().max(1e-2), "{name}'({x})");
    }
}

#[test]
fn derivatives_equal_finite_differences() {
    macro_rules! check_all {
        ($($f:ident: $points:expr;)*) => { $( check(stringify!($f), Scalar::$f, Scalar::$f, &$points); )* };
    }
    check_all! {
        sqrt: [0.3, 1.0, 7.0];
        exp: [-2.0, 0.0, 3.0];
        exp_m1: [-2.0, 0.0, 3.0];
        ln: [0.3, 1.0, 7.0];
        ln_1p: [-0.5, 0.0, 7.0];
        sin: [-2.0, 0.0, 3.0];
        cos: [-2.0, 0.1, 3.0];
        sinh: [-2.0, 0.0, 3.0];
        cosh: [-2.0, 0.1, 3.0];
        tanh: [-2.0, 0.0, 3.0];
        asinh: [-20.0, 0.0, 3.0];
        acosh: [1.1, 3.0];
        atanh: [-0.9, 0.0, 0.5];
        tan: [-1.0, 0.0, 2.0];
        asin: [-0.9, 0.0, 0.5];
        atan: [-3.0, 0.0, 0.5];
        erf: [-2.0, 0.0, 1.0];
        gelu: [-3.0, 0.0, 1.0];
        sigmoid: [-2.0, 0.0, 3.0];
        softplus: [-2.0, 0.5, 3.0];
        log_sigmoid: [-2.0, 0.5, 3.0];
        square: [-2.0, 0.0, 3.0];
        recip: [-2.0, 3.0];
        abs: [-2.0, 3.0];
        tanc: [-5.0, -0.01, 0.0, 0.02, 1.0];
        arctanc: [-0.5, -0.01, 0.0, 0.02, 5.0];
        sinc: [-5.0, -0.01, 0.0, 0.02, 5.0];
        cosc: [-5.0, -0.01, 0.02, 5.0];
        arcsinc: [-5.0, -0.01, 0.0, 0.02, 0.5];
    }
}

#[test]
fn second_derivatives_by_nesting() {
    // d²/dx² of x³ + tanc(x) at x = 0.
    let inner = Dual { value: 0.0, partials: [1.0] };
    let x = Dual { value: inner, partials: [Dual::constant(1.0)] };
    let y = x * x * x + x.tanc();
    assert!((y.partials[0].partials[0] - 4.0 / 15.0).abs() < 1e-15);
    // Some functions compute their slope together with their value. The slope must have the right derivative.
    macro_rules! check_all {
        ($($f:ident)*) => { $(
            let first: fn(f64) -> f64 = |x| Dual::variables([x])[0].$f().partials[0];
            let dual = |x: Dual<f64, 1>| Dual::variables([x])[0].$f().partials[0];
            check(concat!(stringify!($f), "'"), dual, first, &[-2.0, 0.3, 1.5]);
        )* };
    }
    check_all!(sin cosh tanh gelu sigmoid softplus erf sinc cosc tanc);
}

#[test]
fn integer_powers_have_a_slope_at_zero() {
    let slope = |x: f64, n| Dual::variables([x])[0].powi(n).partials[0];
    assert_eq!([slope(0.0, 0), slope(0.0, 1), slope(0.0, 2), slope(2.0, -1)], [0.0, 1.0, 0.0, -0.25]);
    assert_eq!(slope(3.0, 4), 108.0);
}

#[test]
fn tanh_keeps_its_slope_where_it_saturates() {
    let [x] = Dual::variables([30.0f64]);
    let slope = x.tanh().partials[0];
    assert!((slope / (4.0 * (-60.0f64).exp()) - 1.0).abs() < 1e-12);
}
