use cotangent_engine::{Float, Lanes, Scalar};
use cotangent_numbers::line::{
    line_exp, line_exp_m1, line_ln, line_log_sigmoid, line_sigmoid, line_sigmoid_with_slope,
};

/// The lanes' results for a function, and what it makes of each number.
fn lane_by_lane<T: Float, const R: usize>(
    name: &str,
    numbers: &[f64],
    f: impl Fn(Lanes<R, T>) -> Lanes<R, T>,
    g: impl Fn(T) -> T,
) {
    for start in 0..numbers.len() {
        let x: [T; R] = std::array::from_fn(|l| T::nearest(numbers[(start + l) % numbers.len()]));
        let lanes = f(Lanes::from(x)).to_array();
        for l in 0..R {
            let (a, b) = (lanes[l], g(x[l]));
            // The sign of a NaN does not matter.
            let nan = a.is_nan() && b.is_nan();
            assert!(nan || a.to_bits() == b.to_bits(), "{name}({:?}), {R} lanes: {a:?} {b:?}", x[l]);
        }
    }
}

/// Less and more lanes than a register has, and no whole number of them.
fn every_function_of_lanes<T: Float, const R: usize>() {
    // Neighbours that need another branch or the library's sine, or that are NaN.
    let numbers =
        [-0.9, -0.3, -1e-9, 0.0, 1e-30, 0.2, 0.7, 0.99, 0.3, -2.0, 1e300, f64::NAN, 1.0, -0.1, 0.0, -1e3];
    macro_rules! check {
        ($($f:ident)*; $($pair:ident)*) => {
            $( lane_by_lane::<T, R>(stringify!($f), &numbers, |x| x.$f(), |x| Scalar::$f(x)); )*
            $(
                lane_by_lane::<T, R>(stringify!($pair), &numbers, |x| x.$pair().0, |x| Scalar::$pair(x).0);
                lane_by_lane::<T, R>(stringify!($pair), &numbers, |x| x.$pair().1, |x| Scalar::$pair(x).1);
            )*
        };
    }
    check!(
        sqrt exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu
        tanc arctanc sinc cosc arcsinc sigmoid softplus log_sigmoid;
        sin_cos sinh_cosh tanh_with_slope gelu_with_slope sigmoid_with_slope sinc_cosc tanc_secant
    );
}

#[test]
fn every_lane_computes_what_a_scalar_does() {
    macro_rules! check {
        ($($lanes:literal)*) => { $(
            every_function_of_lanes::<f32, $lanes>();
            every_function_of_lanes::<f64, $lanes>();
        )* };
    }
    check!(1 2 4 8 9 12 16 21);
}

/// The functions of whole lines, of every length up to a few registers.
fn line_by_line<T: Float>() {
    let c = T::nearest;
    let special = [f64::NEG_INFINITY, 0.0, 90.0, -1e-9, f64::NAN, f64::INFINITY, -0.0, -101.0, -740.0];
    let all: Vec<T> =
        (0..40).map(|i| c(special.get(i % 19).copied().unwrap_or((i as f64).sin() * 6.0))).collect();
    // All NaN are the same.
    let bits =
        |x: &[T]| x.iter().map(|x| if x.is_nan() { 0 } else { x.to_f64().to_bits() + 1 }).collect::<Vec<_>>();
    let each = |x: &[T], f: &dyn Fn(T) -> T| bits(&x.iter().map(|&x| f(x)).collect::<Vec<_>>());
    for len in 0..=all.len() {
        let x = &all[..len];
        let mut y = x.to_vec();
        line_exp(&mut y);
        assert_eq!(bits(&y), each(x, &|x| Scalar::exp(x)), "{len}");
        let mut y = x.to_vec();
        line_exp_m1(&mut y);
        assert_eq!(bits(&y), each(x, &|x| Scalar::exp_m1(x)), "{len}");
        let mut y = x.to_vec();
        line_ln(&mut y);
        assert_eq!(bits(&y), each(x, &|x| Scalar::ln(x)), "{len}");
        let mut y = x.to_vec();
        line_sigmoid(&mut y);
        assert_eq!(bits(&y), each(x, &|x| x.sigmoid()), "{len}");
        let mut y = x.to_vec();
        line_log_sigmoid(&mut y);
        assert_eq!(bits(&y), each(x, &|x| x.log_sigmoid()), "{len}");
        let (mut y, mut slopes) = (x.to_vec(), vec![c(0.0); len]);
        line_sigmoid_with_slope(&mut y, &mut slopes);
        assert_eq!(bits(&y), each(x, &|x| x.sigmoid()), "{len}");
        assert_eq!(bits(&slopes), each(x, &|x| x.sigmoid_with_slope().1), "{len}");
    }
}

#[test]
fn lines_compute_what_scalars_do() {
    line_by_line::<f32>();
    line_by_line::<f64>();
}
