//! Wrapped normal distributions: law 59. Densities integrate to 1, samples have the right moments, far
//! tails are right.

mod common;

use common::*;
use cotangent_engine::{Float, MapFormula, Row, Rows, Tape, Tensor, check, rng};
use cotangent_manifolds::formulas::wrapped_normal::LogVolume;
use cotangent_manifolds::{
    ConstantCurvature, Euclidean, HalfSpace, Isometric, Klein, Lorentz, Manifold, OriginFrame, Product,
    Sphere, Spread, Stereographic, WrappedNormal, standard_normal,
};

/// `∫ p dvol` in two dimensions, by the trapezoidal rule in geodesic polar coordinates about the origin.
fn integral<M: OriginFrame + ConstantCurvature>(
    m: M,
    normal: &WrappedNormal<M, Row<f64>>,
    reach: f64,
) -> f64 {
    let (radii, angles) = (120, 240);
    let origin = m.origin::<f64>(2);
    let mut total = 0.0;
    for i in 1..radii {
        // Equal steps in √r, so that an integrand that is proportional to r at 0 costs the rule no
        // accuracy.
        let t = f64::from(i) / f64::from(radii);
        let r = reach * t * t;
        // sin_κ(r) dr dφ
        let area = r * cotangent_engine::Scalar::sinc(m.kappa() * r * r) * 2.0 * reach * t;
        for j in 0..angles {
            let angle = std::f64::consts::TAU * f64::from(j) / f64::from(angles);
            let v = m.frame(&Row::from([r * angle.cos(), r * angle.sin()]));
            total += area * normal.log_density(&m.exp(&origin, &v)).exp();
        }
    }
    total / f64::from(radii) * std::f64::consts::TAU / f64::from(angles)
}

#[test]
fn density_integrates_to_one() {
    fn check<M: OriginFrame + ConstantCurvature>(m: M, size: f64, reach: f64) {
        let mean = at_distance(&m, &m.origin(2), size, &mut rng::stream(1, 0, 0));
        for spread in [Spread::Isotropic(0.4 * size), Spread::Diagonal(Row::from([0.3 * size, 0.5 * size]))] {
            let normal = WrappedNormal::new(m, mean.clone(), spread);
            let total = integral(m, &normal, reach);
            assert!((total - 1.0).abs() < 1e-8, "{m:?}: {total}");
        }
    }
    for kappa in [-2.5_f64, -1.0, -0.37] {
        let size = 1.0 / (-kappa).sqrt();
        check(Stereographic::new(kappa), size, 5.5 * size);
    }
    check(Lorentz::new(-1.0), 1.0, 5.5);
    check(Klein::new(-1.0), 1.0, 5.5);
    check(HalfSpace::new(-1.0), 1.0, 5.5);
    check(Stereographic::new(0.0), 1.0, 5.0);
    check(Euclidean, 1.0, 5.0);
    // On the sphere: seven standard deviations are short of the antipode.
    let antipode = std::f64::consts::PI / 0.1_f64.sqrt();
    check(Stereographic::new(0.1), 1.0, antipode * (1.0 - 1e-12));
    check(Sphere::new(0.1), 1.0, antipode * (1.0 - 1e-12));
}

/// The logarithm of a sample, carried to the origin, has the covariance asked for; its coordinates are
/// Riemannian.
#[test]
fn samples_have_the_moments() {
    fn check<M: OriginFrame>(m: M) {
        let scales = [0.2, 0.5, 0.8];
        let mut rng = rng::stream(2, 0, 0);
        let mean: Row<f64> = at_distance(&m, &m.origin(3), 1.0, &mut rng);
        let normal = WrappedNormal::new(m, mean.clone(), Spread::Diagonal(Row::from(scales)));
        assert_eq!(normal.manifold(), &m);
        let n = 20_000;
        let (mut first, mut second, mut square) = ([0.0; 3], [[0.0; 3]; 3], 0.0);
        for _ in 0..n {
            let y = normal.sample(&mut rng);
            let v = m.in_frame(&m.transport(&mean, &m.origin(3), &m.log(&mean, &y)));
            square += m.dist(&mean, &y).powi(2) / f64::from(n);
            for i in 0..3 {
                first[i] += v[i] / f64::from(n);
                (0..3).for_each(|j| second[i][j] += v[i] * v[j] / f64::from(n));
            }
        }
        // Five standard errors.
        let error = 5.0 / f64::from(n).sqrt();
        for i in 0..3 {
            assert!(first[i].abs() < error * scales[i], "{m:?}: {first:?}");
            for j in 0..3 {
                let want = if i == j { scales[i] * scales[i] } else { 0.0 };
                assert!(
                    (second[i][j] - want).abs() < 1.5 * error * scales[i] * scales[j],
                    "{m:?}: {second:?}"
                );
            }
        }
        let want: f64 = scales.iter().map(|s| s * s).sum();
        assert!((square - want).abs() < 1.5 * error * want, "{m:?}: {square} {want}");
    }
    check(Stereographic::new(-1.0));
    check(Stereographic::new(-0.37));
    check(Stereographic::new(0.0));
    check(Lorentz::new(-1.0));
    check(Klein::new(-0.37));
    check(HalfSpace::new(-0.37));
    check(Sphere::new(0.1));
    check(Product::new(HalfSpace::new(-0.37), 2, Sphere::new(0.1)));
    check(Euclidean);
}

/// At the origin, wrapping is the exponential map; an isotropic spread is a diagonal one with equal
/// entries; tensors, tape and rows agree; the models of one space have the same samples and densities.
#[test]
fn samplers_and_models_agree() {
    fn check<M: OriginFrame>(m: M) -> (Tensor<f64>, Tensor<f64>) {
        let mut rng = rng::stream(3, 0, 0);
        let noise = standard_normal::<f64>([10, 3], &mut rng);
        let origin: Row<f64> = m.origin(3);
        let mean: Row<f64> = m.exp(&origin, &m.frame(&Row::from([0.5, -1.0, 0.3])));
        for mean in [&origin, &mean] {
            let many = Tensor::new([1, mean.len()], mean.to_vec());
            let isotropic = WrappedNormal::new(m, many.clone(), Spread::Isotropic(Tensor::scalar(0.7)));
            let diagonal = WrappedNormal::new(m, many, Spread::Diagonal(Tensor::new([3], vec![0.7; 3])));
            let (a, b) = (isotropic.sample_from(&noise), diagonal.sample_from(&noise));
            let (p, q) = (isotropic.log_density(&a), diagonal.log_density(&a));
            let tape = Tape::new();
            let on_tape =
                WrappedNormal::new(m, tape.constant(&Tensor::new([1, mean.len()], mean.to_vec())), {
                    Spread::Diagonal(tape.constant(&Tensor::new([3], vec![0.7; 3])))
                });
            let c = on_tape.sample_from(&tape.constant(&noise));
            let r = on_tape.log_density(&c).to_tensor();
            for i in 0..10 {
                let y = row(&a, i);
                m.contains(&y).unwrap();
                assert!(m.dist(&y, &row(&b, i)) < 1e-13);
                assert!(m.dist(&y, &row(&c.to_tensor(), i)) < 1e-13);
                let row = WrappedNormal::new(m, mean.clone(), Spread::Isotropic(0.7));
                for other in [q.data()[i], r.data()[i], row.log_density(&y)] {
                    assert!((p.data()[i] - other).abs() < 1e-12, "{m:?}: {} {other}", p.data()[i]);
                }
                if *mean == origin {
                    let v = Row::vector(
                        cotangent_manifolds::formulas::euclidean::Add,
                        [&row_of(&noise, i, 0.7), &Row::from([0.0; 3])],
                        [],
                    );
                    assert!(m.dist(&y, &m.exp(&origin, &m.frame(&v))) < 1e-14);
                }
            }
        }
        let normal = WrappedNormal::new(
            m,
            Tensor::new([1, mean.len()], mean.to_vec()),
            Spread::Diagonal(Tensor::new([3], vec![0.3, 0.5, 0.9])),
        );
        let samples = normal.sample_from(&noise);
        (normal.log_density(&samples), samples)
    }
    fn row_of(noise: &Tensor<f64>, i: usize, scale: f64) -> Row<f64> {
        let scaled: Vec<f64> = noise.row(i).iter().map(|x| scale * x).collect();
        Row::from(scaled.as_slice())
    }
    /// The samples of the other model are those of this one.
    fn alike<M: Isometric<N>, N: OriginFrame + ConstantCurvature>(m: M, (p, x): &(Tensor<f64>, Tensor<f64>)) {
        let other = m.counterpart();
        let (q, y) = check(other);
        for i in 0..10 {
            assert!((p.data()[i] - q.data()[i]).abs() < 1e-10, "{other:?}: {} {}", p.data()[i], q.data()[i]);
            assert!(other.dist(&m.convert(&row(x, i)), &row(&y, i)) < 1e-12, "{other:?}");
        }
    }
    for kappa in [-1.0, -0.37] {
        let ball = Stereographic::new(kappa);
        let samples = check(ball);
        alike::<_, Lorentz>(ball, &samples);
        alike::<_, Klein>(ball, &samples);
        alike::<_, HalfSpace>(ball, &samples);
    }
    let projected = Stereographic::new(0.05);
    alike::<_, Sphere>(projected, &check(projected));
    check(Stereographic::new(0.0));
    let sphere = Sphere::new(0.05);
    check(Product::new(Klein::new(-0.37), 2, sphere));
    check(Euclidean);
}

/// A product's density is the product of its factors'.
#[test]
fn factors_are_independent() {
    let (left, right) = (HalfSpace::new(-0.37), Sphere::new(0.1));
    let m = Product::new(left, 2, Product::new(right, 1, Euclidean));
    let mut rng = rng::stream(6, 0, 0);
    let [x, y] = [0, 0].map(|_| m.random_point::<f64>(5, 0.7, &mut rng));
    let ((a, x_right), (b, y_right)) = (m.parts(&x), m.parts(&y));
    let scales = [0.3, 0.5, 0.7, 0.9, 1.1];
    let diagonal = |range: std::ops::Range<usize>| Spread::Diagonal(Row::from(&scales[range]));
    let got = WrappedNormal::new(m, x.clone(), diagonal(0..5)).log_density(&y);
    let ((c, d), (e, f)) = (m.right().parts(&x_right), m.right().parts(&y_right));
    let want = WrappedNormal::new(left, a.clone(), diagonal(0..2)).log_density(&b)
        + WrappedNormal::new(right, c.clone(), diagonal(2..3)).log_density(&e)
        + WrappedNormal::new(Euclidean, d.clone(), diagonal(3..5)).log_density(&f);
    assert!((got - want).abs() < 1e-13, "{got} {want}");
    let isotropic = || Spread::Isotropic(0.4);
    let got = WrappedNormal::new(m, x, isotropic()).log_density(&y);
    let want = WrappedNormal::new(left, a, isotropic()).log_density(&b)
        + WrappedNormal::new(right, c, isotropic()).log_density(&e)
        + WrappedNormal::new(Euclidean, d, isotropic()).log_density(&f);
    assert!((got - want).abs() < 1e-13, "{got} {want}");
}

/// `ln (sinh(r)/r)` against its definition where that does not overflow, against its asymptote beyond;
/// densities far out.
#[test]
fn tails_do_not_overflow() {
    let mut worst = Worst::default();
    for i in 0..2000 {
        let d: f64 = 700.0 * f64::from(i) / 2000.0 + 1e-3;
        let want = (d.sinh() / d).ln();
        let got = LogVolume::eval([d, -1.0, 1.0]);
        worst.see("ln sinh(d)/d", (got - want).abs(), 8.0 * roundoff::<f64>() * (1.0 + want), &d);
        let got = f64::from(LogVolume::eval([d as f32, -1.0, 1.0]));
        worst.see("f32", (got - want).abs(), 8.0 * roundoff::<f32>() * (1.0 + want), &d);
    }
    worst.report("ln sinh(d)/d");
    for d in [1e3_f64, 1e10, 1e100] {
        assert_eq!(LogVolume::eval([d, -1.0, 2.0]), 2.0 * (d - (2.0 * d).ln()));
    }
    assert_eq!(LogVolume::eval([0.0_f64, -1.0, 1.0]), 0.0);
    assert_eq!(LogVolume::eval([1e100_f64, 0.0, 1.0]), 0.0);

    fn check<M: OriginFrame + ConstantCurvature, T: Float>(m: M, radius: f64) {
        let mut rng = rng::stream(4, 0, 0);
        let (x, y) = (at_distance::<_, T>(&m, &m.origin(3), radius, &mut rng), {
            at_distance::<_, T>(&m, &m.origin(3), radius, &mut rng)
        });
        let tape = Tape::new();
        let [a, b] = [&x, &y].map(|p| tape.variable(&Tensor::new([1, p.len()], p.to_vec())));
        let s = tape.variable(&Tensor::new([1, 3], vec![T::nearest(0.5); 3]));
        let diagonal = WrappedNormal::new(m, a, Spread::Diagonal(s)).log_density(&b);
        let isotropic = WrappedNormal::new(m, a, Spread::Isotropic(tape.scalar(0.5))).log_density(&b);
        let d = m.dist(&x, &y);
        let r = (-m.kappa()).sqrt() * d;
        let want = -2.0 * d * d - 3.0 * (0.5_f64.ln() + 0.918_938_533_204_672_8) - 2.0 * (r - (2.0 * r).ln());
        for got in [diagonal.item(), isotropic.item()] {
            let miss = (got - want).abs() / want.abs();
            assert!(miss < 32.0 * T::EPSILON, "{m:?} {}: {got} {want}: {miss:e}", T::NAME);
        }
        let g = tape.backward((diagonal + isotropic).sum());
        for v in [a, b, s] {
            assert!(g.view(v).is_some(), "{m:?}");
            assert!(g.wrt(v).data().iter().all(|g| g.is_finite()), "{m:?}");
        }
    }
    check::<_, f64>(Stereographic::new(-1.0), 36.0);
    check::<_, f32>(Stereographic::new(-1.0), 16.0);
    check::<_, f64>(Lorentz::new(-1.0), 8.0);
    check::<_, f64>(Klein::new(-1.0), 17.0);
    check::<_, f32>(Klein::new(-1.0), 7.5);
    check::<_, f64>(HalfSpace::new(-1.0), 300.0);
    check::<_, f32>(HalfSpace::new(-1.0), 40.0);
}

/// Gradients of the density in points, means and spreads, and of samples (the reparametrisation).
#[test]
fn gradients() {
    fn check<M: OriginFrame>(m: M) {
        let mut rng = rng::stream(5, 0, 0);
        let mut means: Tensor<f64> = cluster(&m, [4, 3], 0.5, 0.8, &mut rng);
        // The mean of a prior.
        means.row_mut(0).copy_from_slice(&m.origin::<f64>(3));
        let points: Tensor<f64> = cluster(&m, [4, 3], 0.5, 0.8, &mut rng);
        let scales = Tensor::from_fn([4, 3], |i| 0.5 + 0.1 * i as f64);
        let each = Tensor::from_fn([4], |i| 0.5 + 0.1 * i as f64);
        let noise = standard_normal([4, 3], &mut rng);
        let direction = Tensor::from_fn([4, m.ambient(3)], |i| (i as f64).sin());
        let worst = check::gradients(&[means.clone(), points.clone(), scales.clone()], |v| {
            let normal = WrappedNormal::new(m, m.project(&v[0]), Spread::Diagonal(v[2]));
            normal.log_density(&m.project(&v[1])).sum()
        });
        assert!(worst.relative < 1e-8, "{m:?}: {worst:?}");
        let worst = check::gradients(&[means.clone(), points, each], |v| {
            let normal = WrappedNormal::new(m, m.project(&v[0]), Spread::Isotropic(v[2]));
            normal.log_density(&m.project(&v[1])).sum()
        });
        assert!(worst.relative < 1e-8, "{m:?}: {worst:?}");
        let worst = check::gradients(&[means, scales, noise], |v| {
            let normal = WrappedNormal::new(m, m.project(&v[0]), Spread::Diagonal(v[1]));
            10.0 + (normal.sample_from(&v[2]) * v[0].tape().constant(&direction)).sum()
        });
        assert!(worst.relative < 1e-8, "{m:?}: {worst:?}");
    }
    [-1.0, -0.37, 0.0, 0.3].iter().for_each(|&kappa| check(Stereographic::new(kappa)));
    check(Lorentz::new(-0.37));
    check(Klein::new(-0.37));
    check(HalfSpace::new(-0.37));
    check(Sphere::new(0.3));
    check(Product::new(HalfSpace::new(-0.37), 1, Sphere::new(0.3)));
    check(Euclidean);
}

#[test]
#[should_panic(expected = "3 coordinates and 2 standard deviations")]
fn widths_that_do_not_fit_are_named() {
    let normal = WrappedNormal::new(Euclidean, Row::from([0.0; 3]), Spread::Diagonal(Row::from([1.0; 2])));
    normal.log_density(&Row::from([0.0; 3]));
}

/// The logarithm at a mean, in the frame, has the same coordinates in the other models.
#[test]
fn frames_of_models_are_the_same() {
    fn in_frame<M: OriginFrame>(m: M, x: &Row<f64>, y: &Row<f64>) -> Row<f64> {
        let got = m.log_in_frame(x, y);
        let want = m.in_frame(&m.transport(x, &m.origins(x), &m.log(x, y)));
        assert!(got.iter().zip(want.iter()).all(|(a, b)| (a - b).abs() < 1e-13), "{m:?}: {got:?} {want:?}");
        let (back, end) = (m.in_frame(&m.frame(&got)), m.exp(&m.origins(x), &m.frame(&got)));
        assert!(back.iter().zip(got.iter()).all(|(a, b)| (a - b).abs() < 1e-15), "{m:?}: {back:?} {got:?}");
        assert!((m.dist(&m.origins(x), &end) - m.dist(x, y)).abs() < 1e-13, "{m:?}");
        got
    }
    fn alike<M: Isometric<N> + OriginFrame, N: OriginFrame + ConstantCurvature>(m: M) {
        let mut rng = rng::stream(7, 0, 0);
        for dim in [1, 2, 3, 5] {
            let x = at_distance(&m, &m.origin::<f64>(dim), 1.3, &mut rng);
            let y = at_distance(&m, &x, 0.9, &mut rng);
            let (ours, theirs) =
                (in_frame(m, &x, &y), in_frame(m.counterpart(), &m.convert(&x), &m.convert(&y)));
            let error = ours.iter().zip(theirs.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-13, "{m:?}, {}: {ours:?} {theirs:?}", N::NAME);
        }
    }
    for kappa in [-1.0, -0.37] {
        let ball = Stereographic::new(kappa);
        alike::<_, Lorentz>(ball);
        alike::<_, Klein>(ball);
        alike::<_, HalfSpace>(ball);
    }
    alike::<_, Sphere>(Stereographic::new(0.1));
}

/// Means and points whose logarithm storage could not hold.
#[test]
fn means_at_all_heights() {
    let m = HalfSpace::new(-1.0);
    for (height, other) in [(1e37_f32, 1.0_f32), (1e-37, 1.0), (1e37, 1e-37), (1.0, 1e37)] {
        let [x, y] = [height, other].map(|height| Row::from([0.3, height]));
        let d = m.dist(&x, &y);
        let v = m.log_in_frame(&x, &y);
        assert!((f64::from(v[0].hypot(v[1])) - d).abs() < 1e-6 * d, "{x:?} {y:?}: {v:?}, not {d}");
        let [isotropic, diagonal] = [Spread::Isotropic(9.0), Spread::Diagonal(Row::from([9.0; 2]))]
            .map(|spread| WrappedNormal::new(m, x.clone(), spread).log_density(&y));
        assert!((isotropic - diagonal).abs() < 1e-6 * isotropic.abs(), "{x:?} {y:?}: {isotropic} {diagonal}");
    }
}

/// No single direction leads there, but the density by distance is finite.
#[test]
fn antipodes_of_the_mean() {
    for kappa in [0.05, 0.1, 0.37, 0.4, 1.0, 3.7] {
        let m = Sphere::new(kappa);
        for dim in [1, 2, 3] {
            let x: Row<f64> = m.random_point(dim, 1.0, &mut rng::stream(8, 0, 0));
            let mut y = x.clone();
            y.iter_mut().for_each(|c| *c = -*c);
            let density = WrappedNormal::new(m, x, Spread::Isotropic(0.5)).log_density(&y);
            assert!(density.is_finite(), "{m:?}, {dim}: {density}");
        }
    }
}

#[test]
#[should_panic(
    expected = "product: 1 coordinates of a tangent vector, of which the left factor alone takes 2"
)]
fn noise_that_does_not_fit_is_named() {
    let m = Product::new(HalfSpace::new(-1.0), 2, Euclidean);
    WrappedNormal::new(m, m.origin::<f64>(3), Spread::Isotropic(1.0)).sample_from(&Row::from([0.0]));
}
