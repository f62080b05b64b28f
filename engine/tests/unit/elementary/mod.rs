//! Asserts the errors that the doc comments state: of `f64` against a reference of 192 bits, and of `f32`
//! against the functions in `f64`.

// As in the functions themselves.
#![allow(clippy::redundant_closure)]

mod big;

use big::Big;
use cotangent_engine::{Dual, Element, Float, Lanes, Scalar};

type F<E> = fn(Lanes<1, E>) -> Lanes<1, E>;

/// A function with its reference, and where they are compared.
struct Case {
    double: F<f64>,
    single: F<f32>,
    reference: fn(&Big) -> Big,
    /// Where the result is finite.
    domain: [f64; 2],
    /// Where more points are tested.
    dense: [f64; 2],
}

/// Points in a domain: four in every binade, and `count` random ones in the interval `dense`.
fn points(domain: [f64; 2], dense: [f64; 2], count: u32) -> impl Iterator<Item = f64> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut all: Vec<f64> = (0..count).map(|_| dense[0] + (dense[1] - dense[0]) * random()).collect();
    for exponent in -1074..1024 {
        for m in [1.0, 1.0 + random()] {
            // In two steps: the standard library's 2^-1074 is 1/∞.
            let x = m * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2);
            all.extend([x, -x]);
        }
    }
    all.extend(domain);
    all.into_iter().filter(move |x| (domain[0]..=domain[1]).contains(x))
}

fn one<E: Element>(f: F<E>, x: E) -> E {
    f(Lanes::splat(x)).get(0)
}

/// Distance of a `f32` from a reference, in units in the reference's last place.
fn ulps_single(got: f32, want: f64) -> f64 {
    if f64::from(got) == want || got.is_nan() && want.is_nan() || got == want as f32 && got.is_infinite() {
        return 0.0;
    }
    let rounded = (want.abs() as f32).min(f32::MAX);
    let below = if f64::from(rounded) > want.abs() { f32::from_bits(rounded.to_bits() - 1) } else { rounded };
    let ulp = f64::from(f32::from_bits(below.to_bits() + 1)) - f64::from(below);
    let ulp = if ulp.is_finite() { ulp } else { 2f64.powi(104) };
    (f64::from(got) - want).abs() / ulp
}

impl Case {
    /// The largest errors found for `f64` and `f32`, and where.
    fn worst(&self) -> [(f64, f64); 2] {
        let mut worst = [(0.0, 0.0); 2];
        let mut record = |which: usize, error: f64, x: f64| {
            let error = if error.is_nan() { f64::INFINITY } else { error };
            if error > worst[which].0 {
                worst[which] = (error, x);
            }
        };
        for x in points(self.domain, self.dense, 8_000) {
            let want = (self.reference)(&x.into());
            record(0, want.ulps(one(self.double, x)), x);
        }
        for x in points(self.domain, self.dense, 150_000) {
            let x = x as f32;
            if (self.domain[0]..=self.domain[1]).contains(&f64::from(x)) {
                let want = one(self.double, f64::from(x));
                record(1, ulps_single(one(self.single, x), want), f64::from(x));
            }
        }
        worst
    }
}

macro_rules! cases {
    ($(
        $name:ident = $f:expr; $reference:expr; on $domain:expr, $dense:expr; $double:expr, $single:expr;
    )*) => { $(
        #[test]
        fn $name() {
            let case = Case {
                double: $f,
                single: $f,
                reference: $reference,
                domain: $domain,
                dense: $dense,
            };
            for (worst, stated) in case.worst().into_iter().zip([$double, $single]) {
                println!("{:16} {:.4} ulp at {:e}", stringify!($name), worst.0, worst.1);
                assert!(worst.0 <= stated, "{} ulp at {:e}, {stated} stated", worst.0, worst.1);
            }
        }
    )* };
}

const MAX: f64 = f64::MAX;
/// Up to here this crate computes sine and cosine itself, for `f64` and for `f32`.
const CIRCLE: f64 = circle::<f64>();
const SQUARED: f64 = circle::<f32>() * circle::<f32>();

const fn circle<E: Element>() -> f64 {
    E::CIRCLE_LIMIT
}

/// A function of √s for positive s, of √−s for negative s.
fn by_sign(s: &Big, circular: fn(Big) -> Big, hyperbolic: fn(Big) -> Big) -> Big {
    if s.is_negative() { hyperbolic((-s.clone()).sqrt()) } else { circular(s.sqrt()) }
}
fn tanc_of(s: &Big) -> Big {
    by_sign(s, |r| r.tan() / r, |r| r.tanh() / r)
}
fn arctanc_of(s: &Big) -> Big {
    by_sign(s, |r| r.atan() / r, |r| r.atanh() / r)
}
fn sinc_of(s: &Big) -> Big {
    by_sign(s, |r| r.sin() / r, |r| r.sinh() / r)
}
fn cosc_of(s: &Big) -> Big {
    by_sign(s, |r| r.cos(), |r| r.cosh())
}
fn arcsinc_of(s: &Big) -> Big {
    by_sign(s, |r| r.asin() / r, |r| r.asinh() / r)
}
/// `Φ(x)`.
fn normal(x: &Big) -> Big {
    (-x.clone() / Big::from(2.0).sqrt()).erfc() / 2.0
}
/// `x φ(x)`.
fn weighted_density(x: &Big) -> Big {
    (x.square() / -2.0).exp() * x.clone() / (Big::pi() * 2.0).sqrt()
}

cases! {
    exp = |x| x.exp(); |x| x.exp(); on [-745.2, 710.0], [-30.0, 30.0]; 1.0, 1.0;
    exp_m1 = |x| x.exp_m1(); |x| x.exp_m1(); on [-800.0, 710.0], [-9.0, 9.0]; 1.1, 1.2;
    ln = |x| x.ln(); |x| x.ln(); on [5e-324, MAX], [0.3, 3.0]; 0.9, 0.9;
    ln_1p = |x| x.ln_1p(); |x| x.ln_1p(); on [-1.0 + f64::EPSILON, MAX], [-0.7, 2.0]; 0.8, 0.9;
    sin = |x| x.sin(); |x| x.sin(); on [-CIRCLE, CIRCLE], [-20.0, 20.0]; 1.4, 1.5;
    cos = |x| x.cos(); |x| x.cos(); on [-CIRCLE, CIRCLE], [-20.0, 20.0]; 1.5, 1.5;
    tan = |x| x.tan(); |x| x.tan(); on [-CIRCLE, CIRCLE], [-20.0, 20.0]; 2.8, 2.8;
    asin = |x| x.asin(); |x| x.asin(); on [-1.0, 1.0], [-1.0, 1.0]; 2.1, 2.3;
    atan = |x| x.atan(); |x| x.atan(); on [-MAX, MAX], [-3.0, 3.0]; 1.4, 1.3;
    sinh = |x| x.sinh(); |x| x.sinh(); on [-711.0, 711.0], [-9.0, 9.0]; 0.9, 1.2;
    cosh = |x| x.cosh(); |x| x.cosh(); on [-711.0, 711.0], [-9.0, 9.0]; 0.9, 1.0;
    tanh = |x| x.tanh(); |x| x.tanh(); on [-1e6, 1e6], [-9.0, 9.0]; 1.2, 1.5;
    asinh = |x| x.asinh(); |x| x.asinh(); on [-MAX, MAX], [-5.0, 5.0]; 1.6, 1.8;
    acosh = |x| x.acosh(); |x| x.acosh(); on [1.0 + f64::EPSILON, MAX], [1.0, 5.0]; 1.9, 2.4;
    atanh = |x| x.atanh(); |x| x.atanh(); on [f64::EPSILON - 1.0, 1.0 - f64::EPSILON], [-1.0, 1.0]; 1.5, 2.0;
    erf = |x| x.erf(); |x| x.erf(); on [-30.0, 30.0], [-6.0, 6.0]; 1.1, 1.2;
    gelu = |x| x.gelu(); |x| normal(x) * x.clone(); on [-39.0, 39.0], [-10.0, 6.0]; 3.7, 5.0;
    sigmoid = |x| x.sigmoid(); |x| ((-x.clone()).exp() + 1.0).recip();
        on [-746.0, 746.0], [-9.0, 9.0]; 2.5, 2.8;
    softplus = |x| x.softplus(); |x| x.exp().ln_1p(); on [-746.0, 746.0], [-9.0, 9.0]; 1.6, 1.6;
    log_sigmoid = |x| x.log_sigmoid(); |x| -(-x.clone()).exp().ln_1p();
        on [-746.0, 746.0], [-9.0, 9.0]; 1.6, 1.6;
    tanc = |s| s.tanc(); tanc_of; on [-1e9, SQUARED], [-9.0, 9.0]; 4.0, 5.1;
    arctanc = |s| s.arctanc(); arctanc_of; on [f64::EPSILON - 1.0, MAX], [-1.0, 9.0]; 2.1, 3.0;
    sinc = |s| s.sinc(); sinc_of; on [-515_000.0, SQUARED], [-30.0, 90.0]; 3.3, 3.6;
    cosc = |s| s.cosc(); cosc_of; on [-505_000.0, SQUARED], [-30.0, 90.0]; 2.4, 5.2;
    arcsinc = |s| s.arcsinc(); arcsinc_of; on [-MAX, 1.0], [-9.0, 1.0]; 2.8, 3.4;

    tanh_slope = |x| x.tanh_with_slope().1; |x| x.cosh().square().recip();
        on [-373.0, 373.0], [-9.0, 9.0]; 4.9, 5.7;
    sigmoid_slope = |x| slope(x, |x| x.sigmoid()); |x| ((x / 2.0).cosh().square() * 4.0).recip();
        on [-745.0, 745.0], [-9.0, 9.0]; 4.6, 4.7;
    gelu_slope = |x| x.gelu_with_slope().1; |x| normal(x) + weighted_density(x);
        on [-0.5, 40.0], [-0.5, 9.0]; 5.6, 6.9;
    gelu_slope_left = |x| x.gelu_with_slope().1; |x| normal(x) + weighted_density(x);
        on [-40.0, -1.0], [-9.0, -1.0]; 6.0, 8.2;
    erf_slope = |x| slope(x, |x| x.erf()); |x| (-x.square()).exp() * 2.0 / Big::pi().sqrt();
        on [-6.0, 6.0], [-3.0, 3.0]; 8.1, 9.6;
}

/// The derivative of a function, by dual numbers.
fn slope<E: Float>(x: Lanes<1, E>, f: fn(Dual<Lanes<1, E>, 1>) -> Dual<Lanes<1, E>, 1>) -> Lanes<1, E> {
    f(Dual::variables([x])[0]).partials[0]
}

/// Slopes of the functions of s: `(g(s) − f(s))/2s`. For |s| below 1e-18 the slope there, which is the same
/// to all digits.
macro_rules! square_slopes {
    ($(
        $name:ident = $f:expr; $value:ident, $other:expr; on $domain:expr, $dense:expr;
        $double:expr, $single:expr;
    )*) => { cases! { $(
        $name = |s| slope(s, $f);
        |s| {
            const SMALL: f64 = 1e-18;
            let s = if (s.abs() - SMALL).is_negative() { Big::from(SMALL) } else { s.clone() };
            let g: fn(&Big) -> Big = $other;
            (g(&s) - $value(&s)) / (s * 2.0)
        };
        on $domain, $dense; $double, $single;
    )* } };
}

square_slopes! {
    tanc_slope = |s| s.tanc(); tanc_of, |s| tanc_of(s).square() * s.clone() + 1.0;
        on [-1e6, 2.4], [-9.0, 2.4]; 28.0, 22.0;
    arctanc_slope = |s| s.arctanc(); arctanc_of, |s| (s + 1.0).recip();
        on [f64::EPSILON - 1.0, 1e100], [-1.0, 9.0]; 23.0, 17.0;
    sinc_slope = |s| s.sinc(); sinc_of, cosc_of; on [-7_800.0, 15.0], [-30.0, 15.0]; 32.0, 30.0;
    arcsinc_slope = |s| s.arcsinc(); arcsinc_of, |s| (-(s - 1.0)).sqrt().recip();
        on [-1e100, 1.0 - f64::EPSILON], [-9.0, 1.0]; 44.0, 54.0;
}

/// Values at ±0, at ±∞, at NaN and outside the domain, in `f32` and `f64`.
macro_rules! edges {
    ($d:tt $($test:ident $t:ident)*) => { $(
        #[test]
        fn $test() {
            const INF: $t = $t::INFINITY;
            const NAN: $t = $t::NAN;
            const TINY: $t = $t::from_bits(1);
            // Function pointers, because the compiler takes minutes for one function with all of them
            // inlined.
            fn check(name: &str, f: fn($t) -> $t, values: &[($t, $t)]) {
                for (x, want) in values {
                    let got = f(*x);
                    let same = got.is_nan() && want.is_nan() || got.to_bits() == want.to_bits();
                    assert!(same, "{name}({x:e}) = {got:e}, not {want:e}");
                }
            }
            macro_rules! check {
                ($d($f:ident: $d($x:expr => $y:expr),+;)*) => {
                    $d( check(stringify!($f), Scalar::$f, &[$d(($x, $y)),+]); )*
                };
            }
            check! {
                exp: INF => INF, -INF => 0.0, 1e4 => INF, -1e4 => 0.0, -0.0 => 1.0, TINY => 1.0, NAN => NAN;
                exp_m1: INF => INF, -INF => -1.0, 1e4 => INF, -0.0 => -0.0, -TINY => -TINY, NAN => NAN;
                ln: INF => INF, 0.0 => -INF, -0.0 => -INF, 1.0 => 0.0, -1.0 => NAN, -INF => NAN, NAN => NAN;
                ln_1p: INF => INF, -1.0 => -INF, -0.0 => -0.0, -TINY => -TINY, -1.1 => NAN, -INF => NAN,
                    NAN => NAN;
                sin: 0.0 => 0.0, -0.0 => -0.0, -TINY => -TINY, INF => NAN, NAN => NAN;
                cos: 0.0 => 1.0, -0.0 => 1.0, TINY => 1.0, -INF => NAN, NAN => NAN;
                tan: 0.0 => 0.0, -0.0 => -0.0, TINY => TINY, INF => NAN, NAN => NAN;
                asin: -0.0 => -0.0, TINY => TINY, 1.0 => std::$t::consts::FRAC_PI_2, 1.1 => NAN, -INF => NAN,
                    NAN => NAN;
                atan: -0.0 => -0.0, TINY => TINY, -INF => -std::$t::consts::FRAC_PI_2, NAN => NAN;
                sinh: -0.0 => -0.0, TINY => TINY, -INF => -INF, -1e4 => -INF, NAN => NAN;
                cosh: 0.0 => 1.0, -INF => INF, 1e4 => INF, NAN => NAN;
                tanh: -0.0 => -0.0, TINY => TINY, -INF => -1.0, 1e4 => 1.0, NAN => NAN;
                asinh: -0.0 => -0.0, TINY => TINY, -INF => -INF, NAN => NAN;
                acosh: 1.0 => 0.0, INF => INF, 0.9 => NAN, -2.0 => NAN, -INF => NAN, NAN => NAN;
                atanh: -0.0 => -0.0, TINY => TINY, 1.0 => INF, -1.0 => -INF, 1.1 => NAN, INF => NAN,
                    NAN => NAN;
                erf: -0.0 => -0.0, INF => 1.0, -1e4 => -1.0, NAN => NAN;
                gelu: 0.0 => 0.0, INF => INF, -INF => -0.0, 1e4 => 1e4, -1e4 => -0.0, NAN => NAN;
                sigmoid: 0.0 => 0.5, INF => 1.0, -INF => 0.0, NAN => NAN;
                softplus: INF => INF, -INF => 0.0, 1e4 => 1e4, NAN => NAN;
                log_sigmoid: INF => -0.0, -INF => -INF, -1e4 => -1e4, NAN => NAN;
                tanc: 0.0 => 1.0, -0.0 => 1.0, TINY => 1.0, -TINY => 1.0, -INF => 0.0, NAN => NAN;
                arctanc: 0.0 => 1.0, -0.0 => 1.0, TINY => 1.0, -TINY => 1.0, INF => 0.0, -1.0 => INF,
                    -1.1 => NAN, NAN => NAN;
                sinc: 0.0 => 1.0, -0.0 => 1.0, TINY => 1.0, -TINY => 1.0, -INF => INF, NAN => NAN;
                cosc: 0.0 => 1.0, -0.0 => 1.0, TINY => 1.0, -TINY => 1.0, -INF => INF, NAN => NAN;
                arcsinc: 0.0 => 1.0, -0.0 => 1.0, TINY => 1.0, -TINY => 1.0,
                    1.0 => std::$t::consts::FRAC_PI_2, 1.1 => NAN, NAN => NAN;
            }
        }
    )* };
}
edges!($ edges_of_double f64 edges_of_single f32);

/// Beyond [`CIRCLE`], sine and cosine are those of the standard library.
#[test]
fn huge_angles() {
    for x in [1e10, -3e15, 1e22, 1e300, f64::MAX] {
        assert_eq!((Scalar::sin(x), Scalar::cos(x)), x.sin_cos());
    }
    for x in [1e5_f32, -1e9, 1e30] {
        assert_eq!((Scalar::sin(x), Scalar::cos(x)), x.sin_cos());
    }
}

#[test]
fn integer_powers() {
    for x in points([-1e30, 1e30], [-3.0, 3.0], 2_000) {
        for n in [-7, -2, -1, 0, 1, 2, 3, 10, 31] {
            let mut want = Big::from(1.0);
            for _ in 0..i32::abs(n) {
                want = want * x;
            }
            let want = if n < 0 { want.recip() } else { want };
            let error = want.ulps(Scalar::powi(x, n));
            assert!(error <= 1.5 * f64::from(n).abs() + 0.5, "{x:e}^{n}: {error} ulp");
        }
    }
    assert_eq!((1e-160_f64.powi(-2), Scalar::powi(1e160_f64, -2)), (f64::INFINITY, 1e-320));
    assert_eq!((Scalar::powi(-1.0, i32::MIN), Scalar::powi(0.0, -3)), (1.0, f64::INFINITY));
}
