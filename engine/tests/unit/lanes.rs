use cotangent_engine::{Element, Float, Lanes, Scalar};
use cotangent_numbers::line::{
    line_exp, line_exp_m1, line_ln, line_log_sigmoid, line_sigmoid, line_sigmoid_with_slope,
};

/// Compares a function of four lanes, as row formulas call it, with that of each number. Kernels of more
/// lanes are tested by programs and lines.
fn lane_by_lane<E: Element>(
    name: &str,
    x: [E; 8],
    f: impl Fn(Lanes<4, E>) -> Lanes<4, E>,
    g: impl Fn(E) -> E,
) {
    for &x in x.as_chunks().0 {
        let lanes = f(Lanes::from(x)).to_array();
        for l in 0..4 {
            let (a, b) = (lanes[l], g(x[l]));
            // The sign of a NaN does not matter.
            let nan = a.partial_cmp(&a).or(b.partial_cmp(&b)).is_none();
            assert!(nan || a.to_bits() == b.to_bits(), "{name}({:?}): {a:?} {b:?}", x[l]);
        }
    }
}

#[test]
fn every_lane_computes_what_a_scalar_does() {
    // Neighbours that need another branch or the library's sine, or that are NaN.
    let numbers =
        [[-0.9, -0.3, -1e-9, 0.0, 1e-30, 0.2, 0.7, 0.99], [0.3, -2.0, 1e300, f64::NAN, 1.0, -0.1, 0.0, -1e3]];
    macro_rules! check {
        ($($f:ident)*) => { $(
            for x in numbers {
                lane_by_lane(stringify!($f), x, |x| x.$f(), |x| Scalar::$f(x));
                lane_by_lane(stringify!($f), x.map(|x| x as f32), |x| x.$f(), |x| Scalar::$f(x));
            }
        )* };
    }
    check!(
        sqrt exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu
        tanc arctanc sinc cosc arcsinc sigmoid softplus log_sigmoid
    );
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
