//! Calls every method of every manifold by its plain name, with only the prelude in scope. The test is
//! that this compiles: it does not if a method is in two traits of the prelude, or in none.

use cotangent::laws::Family;
use cotangent::prelude::*;

/// Methods of all manifolds.
fn manifold<M: Steps>(m: M) {
    let mut rng = rng::stream(1, 0, 0);
    let dim = m.fixed_dimension().unwrap_or(2);
    let o = m.origin::<f64>(dim);
    assert_eq!((m.ambient(dim), m.dimension(o.len())), (o.len(), dim));
    let [x, y] = [(); 2].map(|()| m.random_point::<f64>(dim, 0.5, &mut rng));
    let [u, v] = [(); 2].map(|()| m.random_tangent(&x, &mut rng));
    assert!(m.contains(&x).is_ok() && m.contains_tangent(&x, &v).is_ok());
    let numbers = [m.dist(&x, &y), m.inner(&x, &u, &v), m.norm(&x, &v)];
    assert!(numbers.iter().all(|n| n.is_finite()), "{m:?}: {numbers:?}");
    let rows = [
        m.exp(&x, &u),
        m.log(&x, &y),
        m.transport(&x, &y, &v),
        m.egrad_to_rgrad(&x, &v),
        m.project_tangent(&x, &v),
        m.project(&x),
        m.retract(&x, &u),
        m.geodesic(&x, &y, &0.5),
        m.descend(&x, &v, &0.1),
    ];
    assert!(rows.iter().all(|row| row.len() == x.len()), "{m:?}");
    let mut moved = x.to_vec();
    m.descend_rows(&mut moved, &v, x.len(), 0.1).unwrap();
    assert!(m.moments(x.len()) > 0);
    let tape = Tape::new();
    let [p, g] = [&x, &v].map(|row| tape.variable(&Tensor::new([1, x.len()], row.to_vec())));
    assert_eq!(m.descend_on_tape(p, g, 0.1).shape().axes(), [1, x.len()]);
}

/// Methods of the models of hyperbolic space.
fn hyperbolic<M: Hyperbolic + Busemann>(m: M) {
    let mut rng = rng::stream(2, 0, 0);
    let x = m.random_point::<f64>(2, 1.0, &mut rng);
    let v = m.random_tangent(&x, &mut rng);
    // On the hyperboloid, a time coordinate comes first.
    let omega = Row::from(&[0.0, 0.6, 0.8][3 - x.len()..]);
    assert!(m.busemann(&x, &omega).is_finite() && m.kappa() < 0.0);
    let (image, carried) = (m.onto_hyperboloid(&x), m.push_onto_hyperboloid(&x, &v));
    assert_eq!(
        [m.back_from_hyperboloid(&image).len(), m.push_back_from_hyperboloid(&image, &carried).len()],
        [x.len(); 2]
    );
    let (image, carried) = (m.onto_ball(&x), m.push_onto_ball(&x, &v));
    assert_eq!([image.len(), m.push_back_from_ball(&image, &carried).len()], [2, x.len()]);
}

/// Methods that convert to another model of the same space.
fn isometric<N: ConstantCurvature, M: Isometric<N>>(m: M) {
    let mut rng = rng::stream(3, 0, 0);
    let x = m.random_point::<f64>(2, 1.0, &mut rng);
    let v = m.random_tangent(&x, &mut rng);
    let image = m.counterpart();
    assert!(image.contains(&m.convert(&x)).is_ok() && m.push(&x, &v).len() == image.ambient(2));
    let (point, tangent) = (Point::new(m, x.clone()), Tangent::new(m, v));
    assert_eq!(point.to::<N>().coordinates()[..], m.convert(&x)[..]);
    assert_eq!(tangent.to::<N>(&point).coordinates().len(), image.ambient(2));
}

/// Methods of spaces of constant curvature: distances to hyperplanes, a frame at the origin, means.
macro_rules! of_constant_curvature {
    ($m:expr) => {{
        let (m, mut rng) = ($m, rng::stream(4, 0, 0));
        let [x, y] = [(); 2].map(|()| m.random_point::<f64>(2, 0.5, &mut rng));
        let a = m.random_tangent(&x, &mut rng);
        assert!(m.gyroplane(&y, &x, &a).is_finite() && m.kappa().is_finite());
        let tangent = m.frame(&Row::from([0.1, 0.2]));
        assert_eq!(m.in_frame(&tangent).len(), m.log_in_frame(&x, &y).len());
        assert_eq!(m.origins(&x).len(), x.len());
        assert!(m.dist_and_log_volume(&x, &y).0.is_finite());
        let normal = WrappedNormal::new(m, x.clone(), Spread::Isotropic(0.3));
        assert!(normal.log_density(&normal.sample(&mut rng)).is_finite());
        barycentre!(m, x, y);
    }};
}

/// The mean of two points, as tensors and on a tape.
macro_rules! barycentre {
    ($m:ident, $x:ident, $y:ident) => {{
        let points = Tensor::new([2, $x.len()], [$x.to_vec(), $y.to_vec()].concat());
        let weights = Tensor::new([2], vec![0.25, 0.75]);
        let mean = $m.barycentre(&points, &weights);
        assert!($m.contains(mean.data()).is_ok());
        let sums = Tensor::combine(&weights.reshape([1, 2]), &$m.barycentre_features(&points));
        assert!($m.contains($m.barycentre_from_sum(&sums).data()).is_ok());
        assert_eq!(FrechetMean::default().solve(&$m, &points, &weights).unwrap().shape(), mean.shape());
        let tape = Tape::new();
        let (points, weights) = (tape.variable(&points), tape.variable(&weights));
        let means =
            [$m.barycentre(&points, &weights), FrechetMean::default().on_tape(&$m, points, weights).unwrap()];
        assert!(means.iter().all(|on_tape| on_tape.shape() == *mean.shape()));
        let features = $m.barycentre_features(&points).matmul_nt($m.barycentre_features(&points));
        assert!(features.to_tensor().data().iter().all(|x| x.is_finite()));
    }};
}

/// Operations that layers need of a geometry.
macro_rules! gyrovectors {
    ($m:ident, $tape:ident) => {{
        let param = Param::new("p", $m, Tensor::<f64>::new([3, 2], vec![0.1, 0.2, -0.3, 0.1, 0.2, -0.1]));
        let x = $m.parameter(&$tape, &param);
        let weights = $tape.constant(&Tensor::new([3], vec![1.0; 3]));
        let points: Var<'_, f64> = *$m.points(param.on(&$tape)).coordinates();
        let all =
            [points, $m.to_learned(x), $m.dist(&x, &x), $m.gyromidpoint(x, weights), $m.logits(x, x, x)];
        assert!(all.iter().all(|y| y.to_tensor().data().iter().all(|y| y.is_finite())));
        assert_eq!($m.unidirectional_logits(x, x, weights).shape().axes(), [3, 3]);
        let matrix = $tape.constant(&Tensor::new([2, 2], vec![1.0, 0.5, -0.5, 1.0]));
        (x, matrix, $tape.scalar(0.5))
    }};
}

#[test]
fn manifolds_of_every_kind() {
    let ball = PoincareBall::new(-1.0);
    let (lorentz, klein) = (Lorentz::new(-1.0), Klein::new(-1.0));
    let (half_space, sphere) = (HalfSpace::new(-1.0), Sphere::new(1.0));
    let projected = Stereographic::new(1.0);
    macro_rules! samples {
        ($name:ident, $family:ty $(, $curvature:ident)?) => {
            <$family>::samples().into_iter().for_each(|(m, _, _)| manifold(m));
        };
    }
    cotangent::manifolds::for_each_manifold!(samples);
    let product = Product::new(ball, 1, Euclidean);
    let (grassmann, stiefel) = (Grassmann::new(3, 1), Stiefel::new(3, 2).with_retraction(Retraction::Polar));
    let definite = [Spd::affine_invariant(2), Spd::log_euclidean(2)];
    manifold(ball);
    manifold(projected);
    manifold(product);
    manifold(stiefel);
    hyperbolic(ball);
    hyperbolic(lorentz);
    hyperbolic(klein);
    hyperbolic(half_space);
    assert!(Lorentz::with_curvature(-2.0).is_ok());
    isometric::<Lorentz, _>(ball);
    isometric::<HalfSpace, _>(klein);
    isometric::<Sphere, _>(projected);
    isometric::<Stereographic, _>(sphere);
    assert_eq!((product.left().kappa(), product.right().kappa(), product.split()), (-1.0, 0.0, 1));
    assert_eq!(product.parts(&Row::from([0.1, 0.2])).0[..], [0.1]);
    assert_eq!((grassmann.size(), stiefel.size()), ([3, 1], [3, 2]));
    assert_eq!(definite.map(|m| (m.size(), m.is_flat())), [(2, false), (2, true)]);
}

#[test]
fn manifolds_of_constant_curvature() {
    of_constant_curvature!(PoincareBall::new(-1.0));
    of_constant_curvature!(Stereographic::new(0.5));
    of_constant_curvature!(Lorentz::new(-1.0));
    of_constant_curvature!(Klein::new(-1.0));
    of_constant_curvature!(HalfSpace::new(-1.0));
    of_constant_curvature!(Sphere::new(1.0));
    of_constant_curvature!(Euclidean);
    let m = Product::new(Euclidean, 1, Sphere::new(1.0));
    let [x, y] = [0, 1].map(|i| m.random_point::<f64>(2, 0.5, &mut rng::stream(i, 0, 0)));
    barycentre!(m, x, y);
}

#[test]
fn methods_of_one_model() {
    let row = |x: [f64; 2]| Row::from(x);
    let (ball, [x, y, w]) = (PoincareBall::new(-1.0), [row([0.3, 0.1]), row([-0.2, 0.4]), row([0.5, 0.6])]);
    let rows = [
        ball.add(&x, &y),
        ball.sub(&x, &y),
        ball.neg(&x),
        ball.coadd(&x, &y),
        ball.scale(&0.5, &x),
        ball.gyration(&x, &y, &w),
        ball.exp0(&w),
        ball.log0(&x),
        ball.map(&x, |v| ball.neg(v)),
        ball.matvec(&Tensor::new([2, 2], vec![1.0, 0.0, 0.0, 1.0]), &x),
    ];
    assert!(rows.iter().all(|row| row.iter().all(|x| x.is_finite())));
    let numbers = [
        ball.lambda(&x),
        ball.logit(&x, &y, &w),
        ball.unidirectional_logit(&x, &w, &0.1),
        ball.cone_angle(&x, &y),
        ball.cone_aperture(&x, 0.1),
        ball.cone_energy(&x, &y, 0.1),
    ];
    assert!(numbers.iter().all(|x| x.is_finite()));
    let lorentz = Lorentz::new(-1.0);
    let image = lorentz.pseudo_polar(&Row::from([3.0, 4.0, 0.5]));
    let further = lorentz.pseudo_polar(&Row::from([3.0, 4.1, 0.6]));
    assert!(lorentz.cone_energy(&image, &further, 0.1).is_finite());
    assert!(lorentz.cone_angle(&image, &further) + lorentz.cone_aperture(&image, 0.1) > 0.0);
    let half_space = HalfSpace::new(-1.0);
    let (high, low) = (half_space.psi(&row([0.3, 0.1])), half_space.xi(&row([0.3, -0.1]), 1.0));
    let numbers = [
        half_space.umbral_ancestor(&high, &low, 1.0),
        half_space.umbral_slack(&high, &low, 1.0),
        half_space.penumbral_ancestor(&high, &low, 2.0),
        half_space.penumbral_slack(&high, &low, 2.0),
    ];
    assert!(numbers.iter().all(|x| x.is_finite()));
}

#[test]
fn what_layers_ask_of_a_geometry() {
    let tape = Tape::new();
    let (ball, flat) = (PoincareBall::new(-1.0), Euclidean);
    let (x, matrix, r) = gyrovectors!(ball, tape);
    let all = [
        ball.add(&x, &x),
        ball.exp0(&x),
        ball.log0(&x),
        ball.scale(&r, &x),
        ball.map(&x, |v| *v),
        ball.matvec(&matrix, &x),
    ];
    assert!(all.iter().all(|y| y.shape() == x.shape()));
    let (x, matrix, r) = gyrovectors!(flat, tape);
    let all = [
        flat.add(x, x),
        flat.exp0(x),
        flat.log0(x),
        flat.scale(r, x),
        flat.map(x, |v| v),
        flat.matvec(matrix, x),
    ];
    assert!(all.iter().all(|y| y.shape() == x.shape()));
}
