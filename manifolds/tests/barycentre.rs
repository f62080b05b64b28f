//! Barycentres: laws 40 to 45 over the representable radius, agreement of the models, gradients.

mod common;

use astro_float_num::{BigFloat, RoundingMode};
use common::*;
use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row, Scalar, Tape, Tensor, Var, check, rng};
use cotangent_manifolds::{
    Barycentre, ConstantCurvature, Euclidean, HalfSpace, Isometric, Klein, Lorentz, Manifold, PoincareBall,
    Product, Sets, Sphere, Stereographic, barycentre,
};
use rand::RngExt;

const BITS: usize = 256;
const NEAREST: RoundingMode = RoundingMode::ToEven;

/// The defining formula in 256 bits, in the ball at κ: `Σ wλx / (t + √(t² + κ‖s‖²))`, t = Σ
/// w(λ − 1). Returns the distance from it to `got`, to first order.
fn distance_to_reference<T: Float>(points: &Tensor<T>, weights: &Tensor<f64>, kappa: f64, got: &[T]) -> f64 {
    let big = |x: f64| BigFloat::from_f64(x, BITS);
    let [zero, one, two, kappa] = [0.0, 1.0, 2.0, kappa].map(big);
    let mul = |a: &BigFloat, b: &BigFloat| a.mul(b, BITS, NEAREST);
    let add = |a: &BigFloat, b: &BigFloat| a.add(b, BITS, NEAREST);
    let d = points.width();
    let (mut s, mut t) = (vec![zero.clone(); d], zero.clone());
    for (x, &w) in points.rows().zip(weights.data()) {
        let x: Vec<BigFloat> = x.iter().map(|c| big(c.to_f64())).collect();
        let square = x.iter().fold(zero.clone(), |sum, c| add(&sum, &mul(c, c)));
        let lambda = two.div(&add(&one, &mul(&kappa, &square)), BITS, NEAREST);
        for (s, x) in s.iter_mut().zip(&x) {
            *s = add(s, &mul(&big(w), &mul(&lambda, x)));
        }
        t = add(&t, &mul(&big(w), &lambda.sub(&one, BITS, NEAREST)));
    }
    let square = s.iter().fold(zero.clone(), |sum, c| add(&sum, &mul(c, c)));
    let rho = add(&mul(&t, &t), &mul(&kappa, &square)).sqrt(BITS, NEAREST);
    let below = add(&t, &rho);
    let mut error = zero.clone();
    for (s, got) in s.iter().zip(got) {
        let miss = s.div(&below, BITS, NEAREST).sub(&big(got.to_f64()), BITS, NEAREST);
        error = add(&error, &mul(&miss, &miss));
    }
    // λ of the reference, 2/(1 + κ‖m‖²) = (t + ρ)/ρ.
    let scale = below.div(&rho, BITS, NEAREST);
    scale.mul(&error.sqrt(BITS, NEAREST), BITS, NEAREST).to_string().parse().unwrap()
}

/// A set of points somewhere in the representable ball, with random radius and spread; some sets are at
/// one place.
fn set<T: Float>(m: &Stereographic, rng: &mut rng::Rng) -> (Tensor<T>, Tensor<f64>) {
    let (n, dim) = (rng.random_range(1..9), rng.random_range(1..6));
    let limit = limit::<T>(m.kappa());
    let radius = limit * rng.random::<f64>();
    let spread = (limit - radius).min(limit / 2.0) * rng.random::<f64>().powi(2);
    (cluster(m, [n, dim], radius, spread, rng), weights(n, rng))
}

fn accuracy<T: Float>(seed: u64) {
    let mut rng = rng::stream(seed, 0, 0);
    let (mut centred, mut summed) = (Worst::default(), Worst::default());
    for kappa in KAPPAS {
        let m = Stereographic::new(kappa);
        for _ in 0..300 {
            let (points, weights) = set::<T>(&m, &mut rng);
            let size = points.rows().map(|x| norm(x)).fold(0.0, f64::max);
            let mean = m.barycentre(&points, &weights);
            m.contains(mean.data()).unwrap();
            let error = distance_to_reference(&points, &weights, kappa, mean.data());
            // λ of the far side of an ulp: at the boundary that is the next point in.
            let bound = 8.0 * roundoff::<T>() * lambda(&m, mean.data()) * size;
            if bound < 0.5 {
                centred.see("barycentre", error, bound, &(kappa, &points, &weights, &mean));
            }

            let sum = Tensor::combine(&weights, &m.barycentre_features(&points));
            let mean = m.barycentre_from_sum(&sum);
            m.contains(mean.data()).unwrap();
            let error = distance_to_reference(&points, &weights, kappa, mean.data());
            let lambda = lambda(&m, m.barycentre(&points, &weights).data());
            let bound = 8.0 * roundoff::<T>() * lambda * lambda * size;
            if bound < 0.1 {
                summed.see("from a sum", error, bound, &(kappa, &points, &weights, &mean));
            }
        }
    }
    centred.report(&format!("{} barycentre, of 8 u λ |x|", T::NAME));
    summed.report(&format!("{} barycentre from a sum, of 8 u λ² |x|", T::NAME));
}

#[test]
fn accurate_over_the_representable_ball() {
    accuracy::<f64>(1);
    accuracy::<f32>(2);
}

/// Law 40.
#[test]
fn two_points_have_their_midpoint() {
    fn check<M: Barycentre + ConstantCurvature>(m: M, radius: f64, condition: impl Fn(&[f64]) -> f64) {
        let mut rng = rng::stream(3, 0, 0);
        let mut worst = Worst::default();
        for _ in 0..200 {
            let points: Tensor<f64> =
                cluster(&m, [2, 3], radius * rng.random::<f64>(), radius * rng.random::<f64>(), &mut rng);
            let (x, y) = (row(&points, 0), row(&points, 1));
            let got = Row::from(m.barycentre(&points, &Tensor::new([2], vec![0.3, 0.3])).data());
            let d = m.dist(&x, &y);
            let bound = 32.0 * roundoff::<f64>() * (1.0 + d) * (condition(&x) + condition(&y));
            if bound < 0.1 {
                let (a, b) = (m.dist(&x, &got), m.dist(&got, &y));
                worst.see("equidistance", (a - b).abs(), bound, &(m, &points));
                worst.see("on the geodesic", (a + b - d).abs(), bound, &(m, &points));
            }
            // A geodesic stretches the error of its velocity.
            let stretched =
                bound * if m.kappa() < 0.0 { (0.5 * d * (-m.kappa()).sqrt()).cosh() } else { 1.0 };
            if stretched < 0.1 {
                worst.see("midpoint", m.dist(&m.geodesic(&x, &y, &0.5), &got), stretched, &(m, &points));
            }
        }
        worst.report(&format!("{m:?} midpoint"));
    }
    for kappa in KAPPAS {
        let m = Stereographic::new(kappa);
        check(m, limit::<f64>(kappa) / 2.0, |x| lambda(&m, x) * norm(x).max(1.0));
    }
    check(Euclidean, 5.0, norm);
    for kappa in [-2.5_f64, -1.0, -0.37] {
        let radius = 4.0 / (-kappa).sqrt();
        check(Lorentz::new(kappa), radius, |x| -kappa * x[0] * x[0]);
        check(Klein::new(kappa), radius, |x| margin(x, kappa).powi(-2));
        let half_space = HalfSpace::new(kappa);
        let origin = half_space.origin::<f64>(3);
        let cosh = |x: &[f64]| ((-kappa).sqrt() * half_space.dist(&origin, &Row::from(x))).cosh();
        check(half_space, radius, |x| cosh(x).powi(2));
    }
    [0.6, 4.0]
        .iter()
        .for_each(|&kappa: &f64| check(Sphere::new(kappa), 0.7 / kappa.sqrt(), |x| 4.0 * norm(x)));
}

/// The barycentre of the same points in another model, taken back.
fn barycentre_in<N: Barycentre + ConstantCurvature + Isometric<PoincareBall>>(
    ball: &PoincareBall,
    points: &Tensor<f64>,
    weights: &Tensor<f64>,
) -> Row<f64>
where
    PoincareBall: Isometric<N>,
{
    let model: N = ball.counterpart();
    let moved = Isometric::<N>::convert(ball, points);
    model.convert(&Row::from(model.barycentre(&moved, weights).data()))
}

/// Law 41: gyromidpoint, Lorentz centroid and Einstein midpoint are one point.
#[test]
fn models_agree() {
    let mut rng = rng::stream(4, 0, 0);
    let (mut lorentz, mut klein) = (Worst::default(), Worst::default());
    for kappa in [-2.5_f64, -1.0, -0.37] {
        let (ball, hyperboloid) = (PoincareBall::new(kappa), Lorentz::new(kappa));
        for _ in 0..200 {
            let radius = 15.0 / (-kappa).sqrt() * rng.random::<f64>();
            let points: Tensor<f64> = cluster(&ball, [7, 3], radius, 2.0, &mut rng);
            let weights = weights(7, &mut rng);
            let mean = Row::from(ball.barycentre(&points, &weights).data());
            let lifted: Vec<f64> = points.rows().flat_map(|x| lift(&hyperboloid, x).to_vec()).collect();
            let lifted = Tensor::new([7, 4], lifted);
            let centroid = hyperboloid.barycentre(&lifted, &weights);
            hyperboloid.contains(centroid.data()).unwrap();
            let want = lift(&hyperboloid, &mean);
            let everywhere = [
                barycentre_in::<Klein>(&ball, &points, &weights),
                barycentre_in::<HalfSpace>(&ball, &points, &weights),
            ];
            let cosh = (-kappa).sqrt() * lifted.rows().map(|x| x[0]).fold(0.0, f64::max);
            let bound = 64.0 * roundoff::<f64>() * cosh * cosh;
            let summed = hyperboloid.barycentre_from_sum(&Tensor::combine(&weights, &lifted));
            for (what, got) in [("centroid", &centroid), ("from a sum", &summed)] {
                let error = hyperboloid.dist(&Row::from(got.data()), &want);
                if bound < 0.1 {
                    lorentz.see(what, error, bound, &(kappa, &points));
                }
            }

            for (model, got) in ["Klein", "half-space"].into_iter().zip(&everywhere) {
                // A Klein coordinate keeps half the digits.
                if bound * cosh * cosh < 0.1 {
                    klein.see(model, ball.dist(got, &mean), bound * cosh * cosh, &(kappa, &points));
                }
            }

            // Einstein: mean of Klein coordinates X_s/(√c X₀), weights w γ = w √c X₀; then to the
            // ball.
            let gammas: Vec<f64> =
                lifted.rows().zip(weights.data()).map(|(x, w)| w * (-kappa).sqrt() * x[0]).collect();
            let total: f64 = gammas.iter().sum();
            let mut q = [0.0; 3];
            for (x, g) in lifted.rows().zip(&gammas) {
                for (q, x_s) in q.iter_mut().zip(&x[1..]) {
                    *q += g / total * x_s / ((-kappa).sqrt() * x[0]);
                }
            }
            let root = (1.0 + kappa * norm(&q).powi(2)).sqrt();
            let einstein = Row::from(q.map(|q| q / (1.0 + root)));
            if bound < 0.1 {
                klein.see("Einstein midpoint", ball.dist(&einstein, &mean), bound, &(kappa, &points));
            }
        }
    }
    lorentz.report("Lorentz centroid");
    klein.report("Einstein midpoint");
}

/// Law 42: of two points with weights 1 − t and t it is on the geodesic, where the sines balance.
#[test]
fn two_weighted_points_balance_in_sines() {
    let mut rng = rng::stream(5, 0, 0);
    for kappa in KAPPAS {
        let m = Stereographic::new(kappa);
        for _ in 0..100 {
            let points: Tensor<f64> = cluster(&m, [2, 3], 0.3, 0.9, &mut rng);
            let t = rng.random::<f64>();
            let mean = Row::from(m.barycentre(&points, &Tensor::new([2], vec![1.0 - t, t])).data());
            let sine = |d: f64| d * Scalar::sinc(kappa * d * d);
            let [dx, dy] = [0, 1].map(|i| m.dist(&row(&points, i), &mean));
            assert!(
                ((1.0 - t) * sine(dx) - t * sine(dy)).abs() < 1e-15 * (1.0 + dx + dy),
                "{kappa} {dx} {dy}"
            );
            let d = m.dist(&row(&points, 0), &row(&points, 1));
            assert!((dx + dy - d).abs() < 1e-14, "on the geodesic");
        }
    }
}

/// Law 43: isometries, permutations and the scale of the weights change nothing.
#[test]
fn equivariance() {
    let mut rng = rng::stream(6, 0, 0);
    let mut worst = Worst::default();
    for kappa in KAPPAS {
        let m = Stereographic::new(kappa);
        for _ in 0..100 {
            let (points, weights) = set::<f64>(&m, &mut rng);
            let (n, dim) = (points.shape()[0], points.width());
            let z = m.random_point::<f64>(dim, limit::<f64>(kappa) / 2.0, &mut rng);
            let moved = m.add(&Tensor::new([1, dim], z.to_vec()), &points);
            let got = Row::from(m.barycentre(&moved, &weights).data());
            let want = m.add(&z, &Row::from(m.barycentre(&points, &weights).data()));
            let lambdas = points.rows().chain(moved.rows()).map(|x| lambda(&m, x) * norm(x).max(1.0));
            let condition = lambdas.fold(0.0, f64::max) + lambda(&m, &z) * norm(&z).max(1.0);
            let bound = 32.0 * roundoff::<f64>() * condition;
            if bound < 0.01 {
                worst.see("translation", m.dist(&got, &want), bound, &(kappa, &points, &z));
            }
            let reversed = Tensor::new([n, dim], (0..n).rev().flat_map(|i| points.row(i).to_vec()).collect());
            let other = Tensor::from_fn([n], |i| 7.0 * weights.data()[n - 1 - i]);
            let got = Row::from(m.barycentre(&reversed, &other).data());
            let error = m.dist(&got, &Row::from(m.barycentre(&points, &weights).data()));
            if bound < 0.01 {
                worst.see("permutation", error, bound, &(kappa, &points));
            }
        }
    }
    worst.report("equivariance");
}

/// Law 44: `Σ w (sinh(√c d)/(√c d)) log_m x = 0`.
#[test]
fn stationarity() {
    fn check<M: Barycentre + ConstantCurvature>(m: M) {
        let mut rng = rng::stream(7, 0, 0);
        for _ in 0..100 {
            let points: Tensor<f64> = cluster(&m, [6, 3], 0.5, 1.0, &mut rng);
            let weights = weights(6, &mut rng);
            let mean = Row::from(m.barycentre(&points, &weights).data());
            let mut sum = vec![0.0; points.width()];
            for (x, w) in points.rows().zip(weights.data()) {
                let x = Row::from(x);
                let factor = w * Scalar::sinc(m.kappa() * m.dist(&mean, &x).powi(2));
                sum.iter_mut().zip(m.log(&mean, &x).iter()).for_each(|(s, v)| *s += factor * v);
            }
            assert!(norm(&sum) < 1e-14, "{m:?}: {sum:?}");
        }
    }
    KAPPAS.iter().for_each(|&kappa| check(Stereographic::new(kappa)));
    check(Euclidean);
    [-2.5, -0.37].iter().for_each(|&kappa| check(Lorentz::new(kappa)));
    [-2.5, -0.37].iter().for_each(|&kappa| check(Klein::new(kappa)));
    [-2.5, -0.37].iter().for_each(|&kappa| check(HalfSpace::new(kappa)));
    check(Sphere::new(0.6));
}

/// Law 45, and its first order: the gradient with respect to κ is that of finite differences, through 0.
#[test]
fn flat_limit_and_learned_curvature() {
    let mut rng = rng::stream(8, 0, 0);
    let points: Tensor<f64> = cluster(&Euclidean, [5, 3], 0.3, 0.4, &mut rng);
    let w = weights(5, &mut rng);
    let flat = Euclidean.barycentre(&points, &w);
    let total: f64 = w.data().iter().sum();
    for c in 0..3 {
        let want: f64 = points.rows().zip(w.data()).map(|(x, w)| w * x[c] / total).sum();
        assert!((flat.data()[c] - want).abs() < 1e-15);
    }
    for kappa in [-1e-3, -1e-9, 0.0, 1e-9, 1e-3] {
        let got = Stereographic::new(kappa).barycentre(&points, &w);
        let error = got.data().iter().zip(flat.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error <= 1e-15 + kappa.abs(), "{kappa}: {error:e}");
    }
    let direction = Tensor::from_fn([3], |i| 0.4 + i as f64);
    for kappa in [-1.3, -1e-3, 0.0, 1e-3, 0.6] {
        let inputs = [points.clone(), w.clone(), Tensor::scalar(kappa)];
        let worst = check::gradients(&inputs, |v| {
            (barycentre::barycentre(&v[0], &v[1], &v[2]) * v[0].tape().constant(&direction)).sum()
        });
        assert!(worst.relative < 1e-9, "{kappa}: {worst:?}");
        let worst = check::gradients(&inputs, |v| {
            let sum = Var::combine(&v[1], &barycentre::features(&v[0], &v[2]));
            (barycentre::from_sum(&sum, &v[2]) * v[0].tape().constant(&direction)).sum()
        });
        assert!(worst.relative < 1e-9, "{kappa}: {worst:?}");
    }
}

/// Batches, shared points and shared weights; tensors and tape agree; gradients are those of finite
/// differences.
#[test]
fn batches_and_gradients() {
    fn check<M: Barycentre>(m: M) {
        let mut rng = rng::stream(9, 0, 0);
        let sets: Vec<Tensor<f64>> = (0..6).map(|_| cluster(&m, [4, 2], 0.4, 0.8, &mut rng)).collect();
        let width = m.ambient(2);
        let points = Tensor::new([2, 3, 4, width], sets.iter().flat_map(|s| s.data().to_vec()).collect());
        let weights = Tensor::from_fn([2, 3, 4], |_| rng.random_range(0.2..1.0));
        let tape = Tape::new();
        let means = m.barycentre(&points, &weights);
        assert_eq!(means.shape().axes(), [2, 3, width]);
        let on_tape = m.barycentre(&tape.constant(&points), &tape.constant(&weights)).to_tensor();
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
        assert_eq!(on_tape.shape(), means.shape());
        assert!(close(on_tape.data(), means.data()));
        for (i, set) in sets.iter().enumerate() {
            let alone = m.barycentre(set, &Tensor::new([4], weights.row(i).to_vec()));
            assert_eq!(alone.data(), means.row(i), "neighbours do not matter");
        }
        // Six sets of weights for one set of points, as in attention; then one set of weights for six
        // sets of points.
        let many = m.barycentre(&sets[0], &weights);
        let many_on_tape = m.barycentre(&tape.constant(&sets[0]), &tape.constant(&weights)).to_tensor();
        assert!(many.shape() == means.shape() && close(many.data(), many_on_tape.data()));
        let summed = Tensor::combine(&weights, &m.barycentre_features(&sets[0]));
        assert!(close(m.barycentre_from_sum(&summed).data(), many.data()));
        let one = Tensor::new([4], weights.row(1).to_vec());
        assert!(close(m.barycentre(&points, &one).row(0), m.barycentre(&sets[0], &one).data()));

        let direction = Tensor::from_fn([2, 3, width], |i| (i as f64).sin());
        fn along<'t>(means: Var<'t, f64>, direction: &Tensor<f64>) -> Var<'t, f64> {
            (means * means.tape().constant(direction)).sum()
        }
        let inputs = [points, weights];
        // Points that are settled onto a surface can only move along it, so free coordinates are moved
        // and then projected.
        let worst = check::gradients(&inputs, |v| along(m.barycentre(&m.project(&v[0]), &v[1]), &direction));
        assert!(worst.relative < 1e-8, "{m:?}: {worst:?}");
        let worst = check::gradients(&inputs, |v| {
            let features = m.barycentre_features(&m.project(&v[0]));
            along(m.barycentre_from_sum(&Var::combine(&v[1], &features)), &direction)
        });
        assert!(worst.relative < 1e-8, "{m:?}: {worst:?}");
    }
    [-1.0, -0.37, 0.0, 0.6].iter().for_each(|&kappa| check(Stereographic::new(kappa)));
    check(Euclidean);
    check(Lorentz::new(-0.37));
    check(Klein::new(-0.37));
    check(HalfSpace::new(-0.37));
    check(Sphere::new(0.6));
    check(Product::new(Stereographic::new(-1.0), 1, Lorentz::new(-0.37)));
    check(Product::new(HalfSpace::new(-2.0), 1, Klein::new(-1.0)));
}

/// One point, equal points, no weight, no point. Gradients stay finite there and at the last radius, and have
/// their limits.
#[test]
fn edges() {
    fn check<M: Barycentre, T: Float>(m: M, radius: f64) {
        let mut rng = rng::stream(10, 0, 0);
        let x: Row<T> = at_distance(&m, &m.origin(3), radius, &mut rng);
        let close = |got: &Tensor<T>| {
            let scale = norm(&x) * roundoff::<T>();
            got.data().iter().zip(x.iter()).all(|(a, b)| (a.to_f64() - b.to_f64()).abs() <= 8.0 * scale)
        };
        for n in [1, 5] {
            let points = Tensor::new([n, x.len()], (0..n).flat_map(|_| x.to_vec()).collect());
            let got = m.barycentre(&points, &Tensor::from_fn([n], |i| 0.1 + i as f64));
            assert!(close(&got), "{m:?}: {got:?} {x:?}");
            m.contains(got.data()).unwrap();
            let origin = m.barycentre(&points, &Tensor::zeros([n]));
            assert_eq!(*origin.data(), *m.origin::<T>(3), "no weight");
            let tape = Tape::new();
            let (p, w) = (tape.variable(&points), tape.variable(&Tensor::from_fn([n], |_| T::one())));
            let gradients = tape.backward(m.barycentre(&p, &w).sum());
            for v in [p, w] {
                assert!(gradients.view(v).is_some());
                assert!(gradients.wrt(v).data().iter().all(|g| g.is_finite()));
            }
            // Of equal points it is their mean to first order, in the coordinates of a chart. These are
            // known up to λ roundings.
            if x.len() == 3 {
                for row in gradients.wrt(p).rows() {
                    let miss = row.iter().map(|g| (g.to_f64() - 1.0 / n as f64).abs()).fold(0.0, f64::max);
                    let first: Row<T> = Row::from(&[T::one(), T::zero(), T::zero()][..]);
                    let bound = T::EPSILON * m.norm(&x, &first).max(1.0);
                    assert!(miss <= bound, "{m:?} at {x:?}: {row:?}, bound {bound:e}");
                }
            }
        }
        let empty = m.barycentre(&Tensor::<T>::zeros([0, x.len()]), &Tensor::zeros([0]));
        assert_eq!(*empty.data(), *m.origin::<T>(3), "no point");
    }
    for kappa in KAPPAS {
        for part in [0.0, 0.5, 0.99] {
            check::<_, f64>(Stereographic::new(kappa), part * limit::<f64>(kappa));
            check::<_, f32>(Stereographic::new(kappa), part * limit::<f32>(kappa));
        }
    }
    for radius in [0.0, 5.0, 16.0] {
        check::<_, f64>(Lorentz::new(-1.0), radius);
        check::<_, f32>(Lorentz::new(-1.0), radius);
        check::<_, f32>(Euclidean, radius);
    }
}

/// A sum of no weights, or of less than 1e-30, gives the origin, with finite gradients.
#[test]
fn sums_of_nothing() {
    fn check<M: Barycentre, T: Float>(m: M) {
        let origin = m.origin::<T>(3);
        let width = m.barycentre_features(&origin).len();
        for size in [0.0, 1e-35] {
            let tape = Tape::new();
            // One of the coordinates is the sum of the weights; here all have its size.
            let sum = tape.variable(&Tensor::from_fn([width], |_| T::nearest(size)));
            let point = m.barycentre_from_sum(&sum);
            assert_eq!(*point.to_tensor().data(), *origin, "{m:?}, {size}");
            let gradients = tape.backward(point.sum());
            assert!(gradients.wrt(sum).data().iter().all(|g| g.is_finite()), "{m:?}, {size}");
        }
    }
    fn each_type<M: Barycentre>(m: M) {
        check::<M, f32>(m);
        check::<M, f64>(m);
    }
    for kappa in [-1.0, -0.3] {
        each_type(Stereographic::new(kappa));
        each_type(Lorentz::new(kappa));
        each_type(Klein::new(kappa));
        each_type(HalfSpace::new(kappa));
    }
    each_type(Stereographic::new(0.5));
    each_type(Euclidean);
}

/// In the half-space at all heights of the storage type: scaling a set scales its barycentre, and points
/// as far apart as possible have the barycentre that the formula gives.
fn ends_of_the_half_space<T: Float>(reach: i32) {
    let m = HalfSpace::new(-0.37);
    let mut rng = rng::stream(11, 0, 0);
    let power = |e: i32| 2.0_f64.powi(e);
    let means = |points: &Tensor<T>, weights: &Tensor<f64>| {
        let mean = m.barycentre(points, weights);
        m.contains(mean.data()).unwrap();
        let tape = Tape::new();
        let on_tape = m.barycentre(&tape.constant(points), &tape.constant(&weights.cast::<T>())).to_tensor();
        m.contains(on_tape.data()).unwrap();
        [mean, on_tape].map(|mean| mean.data().iter().map(|x| x.to_f64()).collect::<Vec<f64>>())
    };
    let close = |got: &[f64], want: &[f64]| {
        let size = want.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let error = got.iter().zip(want).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs())) / size;
        assert!(error <= 16.0 * roundoff::<T>(), "{error:e}: {got:?}, not {want:?}");
    };
    for _ in 0..20 {
        let points: Tensor<T> = cluster(&m, [5, 3], 2.0, 3.0, &mut rng);
        let weights = weights(5, &mut rng).cast::<T>().cast::<f64>();
        let want = &means(&points, &weights)[0];
        for e in [-reach, -reach / 2, reach / 2, reach] {
            let moved = Tensor::from_fn([5, 3], |i| T::nearest(points.data()[i].to_f64() * power(e)));
            let want: Vec<f64> = want.iter().map(|x| x * power(e)).collect();
            means(&moved, &weights).iter().for_each(|got| close(got, &want));
        }
    }
    let two = |x: [f64; 4], weights: [f64; 2], want: [f64; 2]| {
        let points = Tensor::new([2, 2], x.map(T::nearest).to_vec());
        means(&points, &Tensor::new([2], weights.to_vec())).iter().for_each(|got| close(got, &want));
    };
    let (low, high) = (power(-reach), power(reach));
    two([0.0, low, 0.0, high], [1.0, 1.0], [0.0, 1.0]);
    two([0.0, low, 0.0, high], [1.0, 4.0], [0.0, 2.0]);
    two([high, low, -high, low], [0.5, 0.5], [0.0, high]);
    two([high, high, 1.0, 1.0], [0.0, 3.0], [1.0, 1.0]);
    two([high, high, 0.0, low], [0.0, 3.0], [0.0, low]);
    two([high, high, 0.0, low], [0.0, 0.0], [0.0, 1.0]);
}

#[test]
fn ends_of_the_half_space_are_in_reach() {
    ends_of_the_half_space::<f64>(1000);
    ends_of_the_half_space::<f32>(110);
}

#[test]
#[should_panic(expected = "combine: weights [3] of rows [4, 2]")]
fn shapes_that_do_not_fit_are_named() {
    Euclidean.barycentre(&Tensor::<f64>::zeros([4, 2]), &Tensor::zeros([3]));
}
