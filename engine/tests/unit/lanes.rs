use cotangent_engine::{Element, Lanes, Scalar};

/// Not inlined, because the compiler takes minutes for one function with all of them in it.
#[inline(never)]
fn lane_by_lane<E: Element>(
    name: &str,
    x: [E; 8],
    f: impl Fn(Lanes<8, E>) -> Lanes<8, E>,
    g: impl Fn(E) -> E,
) {
    let lanes = f(Lanes::from(x)).to_array();
    for l in 0..8 {
        let (a, b) = (lanes[l], g(x[l]));
        // The sign of a NaN does not matter.
        let nan = a.partial_cmp(&a).or(b.partial_cmp(&b)).is_none();
        assert!(nan || a.to_bits() == b.to_bits(), "{name}({:?}): {a:?} {b:?}", x[l]);
    }
}

#[test]
fn every_lane_computes_what_a_scalar_does() {
    let x = [-0.9, -0.3, -1e-9, 0.0, 1e-30, 0.2, 0.7, 0.99];
    macro_rules! check {
        ($($f:ident)*) => { $(
            lane_by_lane(stringify!($f), x, |x| x.$f(), |x| Scalar::$f(x));
            lane_by_lane(stringify!($f), x.map(|x| x as f32), |x| x.$f(), |x| Scalar::$f(x));
        )* };
    }
    check!(
        sqrt exp exp_m1 ln ln_1p sin cos tan asin atan sinh cosh tanh asinh acosh atanh erf gelu
        tanc arctanc sinc cosc arcsinc sigmoid softplus log_sigmoid
    );
}

#[test]
fn a_lane_does_not_depend_on_its_neighbours() {
    // Neighbours that need another branch or the library's sine, or that are NaN.
    let x = [0.3, -2.0, 1e300, f64::NAN, 1.0, -0.1, 0.0, -1e3];
    macro_rules! check {
        ($($f:ident)*) => { $(
            lane_by_lane(stringify!($f), x, |x| x.$f(), |x| Lanes::<2>::splat(x).$f().get(1));
        )* };
    }
    check!(sin cos tan tanc arctanc sinc cosc arcsinc);
}
