//! Busemann functions in the models. Law 24; those of the ball alone are in `tests/gyrovector`.

use cotangent_engine::{Float, Row, Rows, Tape, Tensor, rng};
use cotangent_manifolds::{
    Busemann, HalfSpace, Hyperbolic, Isometric, Klein, Lorentz, Manifold, PoincareBall, Point, Stereographic,
};

use crate::common::Worst;

/// A direction at the origin in a model's coordinates.
fn direction<M: Hyperbolic, T: Float>(omega: &Row<T>) -> Row<T> {
    if M::HYPERBOLOID { Row::concat(&omega.zeros(1), omega) } else { omega.clone() }
}

/// The values agree with those of the ball, up to the last radius that storage holds: towards the ideal
/// point, away from it and elsewhere.
fn isometry<N: Busemann, T: Float>(kappa: f64, radius: f64, condition: impl Fn(f64) -> f64) {
    let (m, mut rng, mut worst) = (PoincareBall::new(kappa), rng::stream(31, 0, 0), Worst::default());
    let length = (-kappa).sqrt().recip();
    for (i, dim) in [1, 2, 3, 5, 17].into_iter().cycle().enumerate().take(200) {
        let x = Point::new(m, m.random_point::<T>(dim, radius * (i + 1) as f64 / 200.0, &mut rng));
        let mut omega = x.coordinates().clone();
        match i % 3 {
            0 => omega = m.random_tangent(&m.origin::<T>(dim), &mut rng),
            1 => omega.iter_mut().for_each(|c| *c = -*c),
            _ => {}
        }
        let image: Point<N, _> = x.to();
        let got = image.manifold().busemann(image.coordinates(), &direction::<N, T>(&omega));
        let want = m.busemann(x.coordinates(), &omega);
        // The function changes by no more than its argument moves.
        let bound = 8.0 * T::EPSILON * condition(m.dist(&m.origin(dim), x.coordinates()));
        if bound < 0.1 {
            worst.see("busemann", (got - want).abs(), bound * (length + want.abs()), &(kappa, &x, &omega));
        }
    }
    worst.report(&format!("Busemann functions, {}, kappa {kappa}, {}", N::NAME, T::NAME));
}

#[test]
fn busemann_functions_are_the_same_in_all_models() {
    for kappa in [-2.5_f64, -1.0, -0.37, -1e-6] {
        let c = (-kappa).sqrt();
        let (plain, klein) = (|r: f64| (c * r).cosh(), |r: f64| (c * r).cosh().powi(2));
        isometry::<HalfSpace, f64>(kappa, 36.0 / c, plain);
        isometry::<Lorentz, f64>(kappa, 36.0 / c, plain);
        isometry::<Klein, f64>(kappa, 17.0 / c, klein);
        isometry::<HalfSpace, f32>(kappa, 16.0 / c, plain);
        isometry::<Lorentz, f32>(kappa, 16.0 / c, plain);
        isometry::<Klein, f32>(kappa, 7.5 / c, klein);
    }
}

/// The function is the limit of d(x, γ(t)) − t. Its gradient has length 1 and leads away from the ideal
/// point: a step of length t along it changes the function by t.
fn distance<M: Busemann + Isometric<Stereographic>>(m: M) {
    let (mut rng, length) = (rng::stream(32, 0, 0), (-m.kappa()).sqrt().recip());
    for dim in [1, 2, 3, 5] {
        let origin = m.origin::<f64>(dim);
        for i in 0..12 {
            let x = if i == 0 { origin.clone() } else { m.random_point(dim, length, &mut rng) };
            let omega = m.random_tangent(&origin, &mut rng);
            let what = format!("{m:?}: {x:?} {omega:?}");
            let value = m.busemann(&x, &omega);
            // The rest is less than e^-2(t − d).
            let t = 9.0 * length;
            let mut velocity = omega.clone();
            velocity.iter_mut().for_each(|c| *c *= t / m.norm(&origin, &omega));
            let want = m.dist(&x, &m.exp(&origin, &velocity)) - t;
            assert!((value - want).abs() < 1e-6 * length, "{what}: {value}, not {want}");

            let tape = Tape::new();
            let [row, ideal] =
                [&x, &omega].map(|row| tape.variable(&Tensor::new([1, row.len()], row.to_vec())));
            let gradients = tape.backward(m.busemann(&row, &ideal).sum());
            let g = gradients.wrt(row).data().to_vec();
            let mut g = m.egrad_to_rgrad(&x, &Row::from(g.as_slice()));
            assert!((m.norm(&x, &g) - 1.0).abs() < 1e-12, "{what}: gradient {}", m.norm(&x, &g));
            assert!(gradients.view(ideal).is_some(), "{what}");
            let ideal = gradients.wrt(ideal).data().to_vec();
            assert!(ideal.iter().all(|g| g.is_finite()), "{what}: {ideal:?}");
            g.iter_mut().for_each(|c| *c *= length);
            let moved = m.busemann(&m.exp(&x, &g), &omega) - value;
            assert!((moved - length).abs() < 1e-12 * length, "{what}: {moved}");
        }
    }
}

#[test]
fn busemann_functions_are_distances() {
    for kappa in [-2.5, -1.0, -0.37] {
        distance(PoincareBall::new(kappa));
        distance(Lorentz::new(kappa));
        distance(Klein::new(kappa));
        distance(HalfSpace::new(kappa));
    }
}

/// Straight up and down, and with rows that have no coordinate but the height.
#[test]
fn busemann_functions_of_the_vertical_directions() {
    let m = HalfSpace::new(-0.25);
    for (x, up, want) in [
        (vec![7.0], vec![0.3], -2.0 * 7.0_f64.ln()),
        (vec![7.0], vec![-2.0], 2.0 * 7.0_f64.ln()),
        (vec![3.0, -4.0, 7.0], vec![0.0, 0.0, 1.0], -2.0 * 7.0_f64.ln()),
        (vec![3.0, -4.0, 7.0], vec![0.0, 0.0, -5.0], 2.0 * (74.0_f64 / 7.0).ln()),
        (vec![0.0, 0.0, 7.0], vec![0.0, 0.0, -1.0], 2.0 * 7.0_f64.ln()),
        (vec![0.0, 0.0, 1.0], vec![0.0, 0.0, -1.0], 0.0),
    ] {
        let tape = Tape::new();
        let height = *x.last().unwrap();
        let square = x.iter().map(|x| x * x).sum::<f64>();
        let w = *up.last().unwrap();
        let [row, ideal] = [&x, &up].map(|row| tape.variable(&Tensor::new([1, row.len()], row.clone())));
        let value = m.busemann(&row, &ideal);
        let got = value.to_tensor().data()[0];
        assert!((got - want).abs() <= 4e-16 * want.abs(), "{got}, not {want}");
        let gradients = tape.backward(value.sum());
        // The sum in the logarithm is 2w upwards and 2|w| ‖x‖² downwards; −2⟨t, ω_t⟩ is a term
        // of it.
        let [of_x, of_ideal] = [row, ideal].map(|row| gradients.wrt(row).data().to_vec());
        let mut want = [x.clone(), x.clone()];
        for i in 0..x.len() {
            let (above, last) = (w > 0.0, i + 1 == x.len());
            want[1][i] = if last { 0.0 } else { -2.0 * x[i] / if above { w } else { -w * square } };
            want[0][i] =
                if above { 0.0 } else { 4.0 * x[i] / square } - if last { 2.0 / height } else { 0.0 };
        }
        for (got, want) in [of_x, of_ideal].iter().zip(&want) {
            let near =
                got.iter().zip(want).all(|(got, want)| (got - want).abs() <= 1e-14 * (1.0 + want.abs()));
            assert!(near, "{x:?} {up:?}: {got:?}, not {want:?}");
        }
    }
}

/// Towards no direction the function is even, ln(cosh √c r)/√c in all models.
#[test]
fn busemann_functions_without_a_direction() {
    fn check<N: Busemann>(x: &Point<PoincareBall, Row<f64>>) {
        let image: Point<N, _> = x.to();
        let length = (-image.manifold().kappa()).sqrt().recip();
        let r = x.manifold().dist(&x.manifold().origin(x.coordinates().len()), x.coordinates());
        let want = (r / length).cosh().ln() * length;
        let tape = Tape::new();
        let rows = [image.coordinates().clone(), image.coordinates().zeros(image.coordinates().len())]
            .map(|row| tape.variable(&Tensor::new([1, row.len()], row.to_vec())));
        let value = image.manifold().busemann(&rows[0], &rows[1]);
        let got = value.to_tensor().data()[0];
        assert!((got - want).abs() < 1e-14 * length, "{} {x:?}: {got}, not {want}", N::NAME);
        let gradients = tape.backward(value.sum());
        for row in rows {
            let g = gradients.wrt(row).data().to_vec();
            assert!(g.iter().all(|g| g.is_finite()), "{} {x:?}: {g:?}", N::NAME);
        }
    }
    let mut rng = rng::stream(33, 0, 0);
    for kappa in [-2.5, -1.0, -0.37] {
        let m = PoincareBall::new(kappa);
        for dim in [1, 2, 3] {
            let x = Point::new(m, m.random_point::<f64>(dim, 1.5 / f64::sqrt(-kappa), &mut rng));
            check::<PoincareBall>(&x);
            check::<Lorentz>(&x);
            check::<Klein>(&x);
            check::<HalfSpace>(&x);
        }
    }
}
