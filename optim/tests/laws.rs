//! Laws 23, 60 and 61 of the optimisers: properties of a step on any manifold.

mod common;

use common::*;
use cotangent_engine::{Float, Row, Rows, Tape, Tensor, rng};
use cotangent_manifolds::{
    Euclidean, Grassmann, HalfSpace, Lorentz, Manifold, Param, PoincareBall, Point, Product, Spd, Sphere,
    Steps, Stereographic, Stiefel,
};
use cotangent_optim::{Algorithm, Average, OptimError, Optimiser, RiemannianAdam, RiemannianSgd};
use rand::RngExt;

/// Law 23: an exact step of rate 1 lands on the target.
#[test]
fn one_exact_step_lands_on_the_target() {
    struct Lands;
    impl OnManifold for Lands {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            let mut rng = rng::stream(1, 0, 0);
            let [start, target] = [(); 2].map(|()| points(&m, 20, dim, radius, &mut rng));
            let plain = RiemannianSgd::new(1.0).unwrap();
            // The first step with momentum is the plain one.
            for mut sgd in [plain.clone(), plain.momentum(0.9).unwrap()] {
                let mut x = Param::new("x", m, start.clone());
                let tape = Tape::<f64>::new();
                let gradients = tape.backward(pull(&x.on(&tape), &target));
                sgd.step(&mut x, &gradients).unwrap();
                let error = farthest(&m, x.value(), &target);
                assert!(error < 1e-11, "{name}: {error:e}");
            }
        }
    }
    every_manifold(&mut Lands);
}

/// Steps go along geodesics. Retractions are used only on request.
#[test]
fn retractions_are_used_on_request() {
    fn compare<M: Steps>(m: M) {
        let (mut rng, dim) = (rng::stream(10, 0, 0), m.fixed_dimension().unwrap());
        let [start, target]: [Tensor<f64>; 2] = [(); 2].map(|()| points(&m, 10, dim, 0.7, &mut rng));
        let mut velocity = m.log(&start, &target);
        velocity.data_mut().iter_mut().for_each(|v| *v *= 0.5);
        let (along, retracted) = (m.exp(&start, &velocity), m.retract(&start, &velocity));
        assert!(farthest(&m, &along, &retracted) > 1e-3);
        let sgd = || RiemannianSgd::new(0.5).unwrap();
        let asked =
            [(sgd(), &along), (sgd().momentum(0.9).unwrap(), &along), (sgd().by_retraction(), &retracted)];
        for (mut sgd, expected) in asked {
            let mut x = Param::new("x", m, start.clone());
            let tape = Tape::new();
            let gradients = tape.backward(pull(&x.on(&tape), &target));
            sgd.step(&mut x, &gradients).unwrap();
            let error = farthest(&m, x.value(), expected);
            assert!(error < 1e-12, "{}: {error:e}", M::NAME);
        }
    }
    compare(Grassmann::new(4, 2));
    compare(Stiefel::new(3, 2));
}

/// All optimisers, by name.
fn all(mut with: impl FnMut(&str, &mut dyn FnMut(&mut dyn Stepping))) {
    let sgd = || RiemannianSgd::<f64>::new(0.1).unwrap();
    let adam = || RiemannianAdam::<f64>::new(0.1).unwrap();
    with("sgd", &mut |run| run.run_sgd(sgd()));
    with("momentum", &mut |run| run.run_sgd(sgd().momentum(0.9).unwrap()));
    with("nesterov", &mut |run| run.run_sgd(sgd().nesterov(0.9).unwrap()));
    with("adam", &mut |run| run.run_adam(adam()));
    with("amsgrad", &mut |run| run.run_adam(adam().amsgrad()));
    with("clipped", &mut |run| run.run_sgd(sgd().momentum(0.8).unwrap().clip(0.7).unwrap()));
}

trait Stepping {
    fn run_sgd(&mut self, sgd: RiemannianSgd<f64>);
    fn run_adam(&mut self, adam: RiemannianAdam<f64>);
}

/// A training from `start` to `target`, and where it ended.
struct Run<M> {
    m: M,
    start: Tensor<f64>,
    target: Tensor<f64>,
    end: Option<Tensor<f64>>,
}

impl<M: Steps> Run<M> {
    fn run<A: Algorithm>(&mut self, mut optimiser: Optimiser<A, f64>) {
        let mut x = Param::new("x", self.m, self.start.clone());
        for _ in 0..30 {
            let tape = Tape::new();
            let gradients = tape.backward(pull(&x.on(&tape), &self.target));
            optimiser.step(&mut x, &gradients).unwrap();
        }
        self.end = Some(x.value().clone());
    }
}

impl<M: Steps> Stepping for Run<M> {
    fn run_sgd(&mut self, sgd: RiemannianSgd<f64>) {
        self.run(sgd);
    }
    fn run_adam(&mut self, adam: RiemannianAdam<f64>) {
        self.run(adam);
    }
}

/// Asserts that the trajectories of moved points are the moved trajectories.
fn commutes<M: Steps>(m: M, dim: usize, radius: f64, isometry: impl Fn(&[f64]) -> Vec<f64>) {
    let mut rng = rng::stream(2, 0, 0);
    let [start, target] = [(); 2].map(|()| points(&m, 6, dim, radius, &mut rng));
    let isometry = |table: &Tensor<f64>| {
        let moved = table.rows().flat_map(|x| m.project(&Row::from(isometry(x).as_slice())).to_vec());
        Tensor::new(table.shape().clone(), moved.collect())
    };
    all(|name, optimise| {
        // One second moment per coordinate depends on the axes of Euclidean space: see the mutant
        // below.
        if m.moments(m.ambient(dim)) > 1 && name != "sgd" {
            return;
        }
        let mut plain = Run { m, start: start.clone(), target: target.clone(), end: None };
        let mut moved_run = Run { m, start: isometry(&start), target: isometry(&target), end: None };
        optimise(&mut plain);
        optimise(&mut moved_run);
        let (plain, moved_run) = (plain.end.unwrap(), moved_run.end.unwrap());
        let moved = m.dist(&plain, &start).data().iter().fold(f64::INFINITY, |least, d| d.min(least));
        assert!(moved > 0.01, "{} {name}: nothing moved", M::NAME);
        let error = farthest(&m, &isometry(&plain), &moved_run);
        assert!(error < 1e-11, "{} {name}: {error:e}", M::NAME);
    });
}

/// Law 60: if start and targets are moved by an isometry, the trajectory is the moved trajectory.
#[test]
fn trajectories_commute_with_isometries() {
    // A rotation of the first and the last coordinate.
    let (sin, cos) = 0.7_f64.sin_cos();
    let turned = move |x: &[f64]| {
        let (first, last) = (x[0], x[x.len() - 1]);
        let mut y = x.to_vec();
        (y[0], y[x.len() - 1]) = (cos * first - sin * last, sin * first + cos * last);
        y
    };
    commutes(Euclidean, 3, 2.0, turned);
    // In the ball, followed by a translation.
    for kappa in [-1.0, 0.5] {
        let ball = Stereographic::new(kappa);
        let by = Row::from([0.3, -0.4, 0.2]);
        commutes(ball, 3, 1.5, |x| ball.add(&by, &Row::from(turned(x).as_slice())).to_vec());
    }
    // A boost.
    let (sinh, cosh) = (0.8_f64.sinh(), 0.8_f64.cosh());
    let boost = |x: &[f64]| vec![cosh * x[0] + sinh * x[2], x[1], sinh * x[0] + cosh * x[2], x[3]];
    commutes(Lorentz::new(-1.0), 3, 2.0, boost);
    // A translation along the boundary, and a scaling.
    commutes(HalfSpace::new(-1.0), 2, 2.0, |x| vec![1.7 * (x[0] - 0.3), 1.7 * x[1]]);
    commutes(Sphere::new(1.0), 3, 1.2, turned);
    let product = Product::new(PoincareBall::new(-1.0), 2, Sphere::new(1.0));
    commutes(product, 4, 1.2, |x| [&[-x[1], x[0]], &turned(&x[2..])[..]].concat());
    // A rotation of a frame's rows, and the congruence with an invertible matrix.
    let rows = |x: &[f64]| {
        let n = x.len() / 2;
        let columns = [0, 1].map(|j| turned(&(0..n).map(|i| x[2 * i + j]).collect::<Vec<_>>()));
        (0..x.len()).map(|k| columns[k % 2][k / 2]).collect::<Vec<_>>()
    };
    commutes(Grassmann::new(4, 2), 4, 0.7, rows);
    commutes(Stiefel::new(3, 2), 3, 0.7, rows);
    let congruence = |x: &[f64]| {
        let a = [[1.5, 0.4], [-0.3, 0.8]];
        let entry = |i: usize, j: usize| (0..4).map(|k| a[i][k / 2] * x[k] * a[j][k % 2]).sum::<f64>();
        vec![entry(0, 0), entry(0, 1), entry(0, 1), entry(1, 1)]
    };
    commutes(Spd::affine_invariant(2), 3, 1.5, congruence);
}

/// Law 60: in Euclidean space every algorithm is the textbook one, to the bit, in either type.
#[test]
fn euclidean_trajectories_are_the_textbook_ones() {
    fn textbook<T: Float>(which: &str) {
        let mut rng = rng::stream(3, 0, 0);
        let (start, target) =
            (points(&Euclidean, 7, 5, 2.0, &mut rng), points(&Euclidean, 7, 5, 2.0, &mut rng));
        let mut x = Param::new("x", Euclidean, start);
        let c = T::nearest;
        let (rate, mu, b1, b2, epsilon, decay) = (0.05, 0.9, 0.9, 0.999, 1e-8, 0.02);
        let mut sgd = RiemannianSgd::new(rate).unwrap();
        let mut adam = RiemannianAdam::new(rate).unwrap();
        match which {
            "momentum" => sgd = sgd.momentum(mu).unwrap(),
            "nesterov" => sgd = sgd.nesterov(mu).unwrap(),
            "adamw" => adam = adam.decay(decay).unwrap(),
            "amsgrad" => adam = adam.amsgrad(),
            _ => {}
        }
        let mut plain: Vec<T> = x.value().data().to_vec();
        let (mut m, mut v, mut largest) = (vec![c(0.0); 35], vec![c(0.0); 35], vec![c(0.0); 35]);
        let with_sgd = ["sgd", "momentum", "nesterov"].contains(&which);
        for t in 1..=40 {
            let tape = Tape::new();
            let gradients = tape.backward(pull(&x.on(&tape), &target).sqrt());
            let g = gradients.wrt(&x).data().to_vec();
            let correction = (1.0 - f64::powi(b2, t)).sqrt();
            let step = c(rate * correction / (1.0 - f64::powi(b1, t)));
            for i in 0..35 {
                match which {
                    "sgd" => plain[i] = plain[i] - c(rate) * g[i],
                    "momentum" => {
                        m[i] = c(mu) * m[i] + g[i];
                        plain[i] = plain[i] - c(rate) * m[i];
                    }
                    "nesterov" => {
                        m[i] = c(mu) * m[i] + g[i];
                        plain[i] = plain[i] - c(rate) * (c(mu) * m[i] + g[i]);
                    }
                    _ => {
                        m[i] = c(b1) * m[i] + c(1.0 - b1) * g[i];
                        v[i] = c(b2) * v[i] + c(1.0 - b2) * (g[i] * g[i]);
                        if largest[i].to_f64() < v[i].to_f64() || which != "amsgrad" {
                            largest[i] = v[i];
                        }
                        if which == "adamw" {
                            plain[i] = c(1.0 - rate * decay) * plain[i];
                        }
                        let root = c(largest[i].to_f64().sqrt());
                        plain[i] = plain[i] - step / (root + c(epsilon * correction)) * m[i];
                    }
                }
            }
            if with_sgd {
                sgd.step(&mut x, &gradients).unwrap();
            } else {
                adam.step(&mut x, &gradients).unwrap();
            }
            assert_eq!(x.value().data(), plain, "{which} {} step {t}", T::NAME);
        }
    }
    for which in ["sgd", "momentum", "nesterov", "adam", "adamw", "amsgrad"] {
        textbook::<f64>(which);
        textbook::<f32>(which);
    }
}

/// A mutant of law 60: second moments by coordinate do not commute with rotations.
#[test]
fn a_second_moment_for_each_coordinate_is_not_equivariant() {
    let mut adam = RiemannianAdam::new(0.1).unwrap();
    let mut run = |start: [f64; 2]| {
        let mut x = Param::new("x", Euclidean, Tensor::new([1, 2], start.to_vec()));
        let tape = Tape::new();
        let gradients = tape.backward(x.on(&tape).coordinates().square().sum());
        adam.step(&mut x, &gradients).unwrap();
        x.value().data().to_vec()
    };
    let (a, b) = (run([1.0, 0.0]), run([0.5_f64.sqrt(), 0.5_f64.sqrt()]));
    assert!((a[0] - 2.0_f64.sqrt() * b[0]).abs() > 0.01);
}

/// Law 61: a sparse step equals the dense one on the rows that have a gradient, and does not change a
/// bit of the others. Gradients of rows that are read twice are summed first.
#[test]
fn sparse_steps_equal_dense_ones_on_touched_rows() {
    fn compare<M: Steps, A: Algorithm>(m: M, optimiser: Optimiser<A, f64>) {
        let mut rng = rng::stream(4, 0, 0);
        let (n, dim) = (40, m.fixed_dimension().unwrap_or(3));
        let start: Tensor<f64> = points(&m, n, dim, 1.0, &mut rng);
        let rows: Vec<u32> = (0..30).map(|i| (i * i * 7) % 25).collect();
        let weights = Tensor::from_fn([30, m.ambient(dim)], |_| rng.random_range(-1.0..1.0));
        let (mut sparse, mut dense) =
            (Param::new("sparse", m, start.clone()), Param::new("dense", m, start.clone()));
        let (mut of_sparse, mut of_dense) = (optimiser.clone(), optimiser);
        for _ in 0..5 {
            let tape = Tape::new();
            let read = sparse.on(&tape).coordinates().gather(&rows);
            of_sparse.step(&mut sparse, &tape.backward((read * tape.constant(&weights)).sum())).unwrap();
            let tape = Tape::new();
            let all = *dense.on(&tape).coordinates();
            // 0 · x makes the gradient dense.
            let loss = (all.gather(&rows) * tape.constant(&weights)).sum() + (0.0 * all).sum();
            of_dense.step(&mut dense, &tape.backward(loss)).unwrap();
        }
        let mut touched = 0;
        for i in 0..n {
            if rows.contains(&(i as u32)) {
                assert_eq!(sparse.value().row(i), dense.value().row(i), "{} row {i}", M::NAME);
                assert_ne!(sparse.value().row(i), start.row(i));
                touched += 1;
            } else {
                assert_eq!(sparse.value().row(i), start.row(i), "{} row {i}", M::NAME);
            }
        }
        assert!(touched > 5 && touched < n);
    }
    let (ball, lorentz) = (Stereographic::new(-1.0), Lorentz::new(-1.0));
    let adam = || RiemannianAdam::new(0.05).unwrap();
    let sgd = || RiemannianSgd::new(0.02).unwrap();
    compare(ball, adam());
    compare(ball, adam().amsgrad());
    compare(lorentz, adam());
    compare(Euclidean, adam());
    compare(Euclidean, sgd().momentum(0.9).unwrap().decay(0.1).unwrap());
    compare(ball, sgd().nesterov(0.9).unwrap());
    compare(ball, sgd().decay(0.1).unwrap());
    compare(Product::new(ball, 2, Euclidean), adam().amsgrad());
    compare(Spd::affine_invariant(2), adam());
}

/// Law 61: a transported momentum is tangent at the new point and keeps its norm. If gradients are zero
/// from the second step on, the momentum is only scaled and transported. The points then continue along
/// a geodesic, with steps of 0.5, 0.25, … times the first. Stiefel is left out, because its transport
/// does not keep norms, as documented.
#[test]
fn momenta_are_carried_isometrically() {
    struct Glide;
    impl OnManifold for Glide {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            if M::NAME == Stiefel::NAME {
                return;
            }
            let mut rng = rng::stream(6, 0, 0);
            let [start, target] = [(); 2].map(|()| points(&m, 10, dim, radius, &mut rng));
            let mut x = Param::new("x", m, start.clone());
            let mut sgd = RiemannianSgd::new(0.4).unwrap().momentum(0.5).unwrap();
            for step in 0..6 {
                let tape = Tape::new();
                let loss = pull(&x.on(&tape), &target) * if step == 0 { 1.0 } else { 0.0 };
                sgd.step(&mut x, &tape.backward(loss)).unwrap();
            }
            let part = 0.4 * (0..6).map(|k| 0.5_f64.powi(k)).sum::<f64>();
            let expected = m.geodesic(&start, &target, &start.constant(part));
            let error = farthest(&m, x.value(), &expected);
            assert!(error < 1e-12, "{name}: {error:e}");
        }
    }
    every_manifold(&mut Glide);
}

/// Weight decay moves along the geodesic to the origin.
#[test]
fn decay_shrinks_distances_to_the_origin() {
    struct Shrink;
    impl OnManifold for Shrink {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            let mut rng = rng::stream(7, 0, 0);
            let start: Tensor<f64> = points(&m, 10, dim, radius, &mut rng);
            let mut x = Param::new("x", m, start.clone());
            let mut sgd = RiemannianSgd::new(0.5).unwrap().decay(0.2).unwrap();
            let tape = Tape::new();
            let nothing = (0.0 * *x.on(&tape).coordinates()).sum();
            sgd.step(&mut x, &tape.backward(nothing)).unwrap();
            let origin = Tensor::new([m.ambient(dim)], m.origin::<f64>(dim).to_vec());
            let expected = m.geodesic(&start, &origin, &start.constant(0.1));
            let error = farthest(&m, x.value(), &expected);
            assert!(error < 1e-11, "{name}: {error:e}");
            let shrunk = m.dist(x.value(), &origin);
            for (after, before) in shrunk.data().iter().zip(m.dist(&start, &origin).data()) {
                assert!((after / before - 0.9).abs() < 1e-11, "{name}: {after} {before}");
            }
        }
    }
    every_manifold(&mut Shrink);
}

/// The factors of a product have their own momenta and second moments: a step of the product is a step
/// of each factor.
#[test]
fn products_are_stepped_factor_by_factor() {
    fn compare<A: Algorithm>(optimiser: Optimiser<A, f64>) {
        let (ball, sphere) = (PoincareBall::new(-1.0), Sphere::new(1.0));
        let product = Product::new(ball, 2, sphere);
        let mut rng = rng::stream(11, 0, 0);
        // A target that is far away in one factor and near in the other.
        let [start, near] = [0.5, 0.6].map(|radius| points(&product, 10, 4, radius, &mut rng));
        let target = (points(&ball, 10, 2, 3.0, &mut rng), product.parts(&near).1);
        let (left, right) = product.parts(&start);
        let mut whole = Param::new("whole", product, start);
        let mut parts = (Param::new("left", ball, left), Param::new("right", sphere, right));
        let (mut of_whole, mut of_parts) = (optimiser.clone(), optimiser);
        for _ in 0..5 {
            let tape = Tape::new();
            let (left, right) = product.parts(whole.on(&tape).coordinates());
            let (left, right) = (Point::new(ball, left), Point::new(sphere, right));
            let gradients = tape.backward(pull(&left, &target.0) + pull(&right, &target.1));
            of_whole.step(&mut whole, &gradients).unwrap();
            let tape = Tape::new();
            let (left, right) = (parts.0.on(&tape), parts.1.on(&tape));
            let gradients = tape.backward(pull(&left, &target.0) + pull(&right, &target.1));
            of_parts.step(&mut parts, &gradients).unwrap();
        }
        let (left, right) = product.parts(whole.value());
        assert!(farthest(&ball, &left, parts.0.value()) < 1e-14);
        assert!(farthest(&sphere, &right, parts.1.value()) < 1e-14);
    }
    compare(RiemannianAdam::new(0.1).unwrap());
    compare(RiemannianAdam::new(0.1).unwrap().amsgrad());
    compare(RiemannianSgd::new(0.1).unwrap().nesterov(0.9).unwrap().decay(0.1).unwrap());
}

/// Averages of parameters move along geodesics. The uniform one goes half of the way to the second
/// point.
#[test]
fn averages_go_along_geodesics() {
    struct Averages;
    impl OnManifold for Averages {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            let mut rng = rng::stream(9, 0, 0);
            let [start, end]: [Tensor<f64>; 2] = [(); 2].map(|()| points(&m, 10, dim, radius, &mut rng));
            for (mut average, part) in [(Average::uniform(), 0.5), (Average::exponential(0.1).unwrap(), 0.9)]
            {
                let mut x = Param::new("x", m, start.clone());
                average.update(&x).unwrap();
                *x.value_mut() = end.clone();
                average.update(&x).unwrap();
                average.swap(&mut x).unwrap();
                let error = farthest(&m, x.value(), &m.geodesic(&start, &end, &start.constant(part)));
                assert!(error < 1e-12, "{name}: {error:e}");
            }
        }
    }
    every_manifold(&mut Averages);
}

/// The result does not depend on the number of threads.
#[test]
fn threads_do_not_show() {
    let run = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let ball = Stereographic::new(-1.0);
            let mut rng = rng::stream(8, 0, 0);
            let start: Tensor<f32> = points(&ball, 5000, 7, 2.0, &mut rng);
            let target = points(&ball, 5000, 7, 2.0, &mut rng);
            let mut x = Param::new("x", ball, start);
            let mut adam = RiemannianAdam::new(0.1).unwrap().clip(1.0).unwrap();
            for _ in 0..3 {
                let tape = Tape::new();
                let gradients = tape.backward(pull(&x.on(&tape), &target));
                adam.step(&mut x, &gradients).unwrap();
            }
            x.value().data().to_vec()
        })
    };
    assert_eq!(run(1), run(3));
}

/// Takes a step with the gradient `weights` of some rows, or of all rows.
fn step_by<M: Steps, A: Algorithm>(
    x: &mut Param<M, f32>,
    optimiser: &mut Optimiser<A, f32>,
    rows: Option<&[u32]>,
    weights: &Tensor<f32>,
) -> Result<(), OptimError> {
    let tape = Tape::new();
    let all = *x.on(&tape).coordinates();
    let read = rows.map_or(all, |rows| all.gather(rows));
    optimiser.step(x, &tape.backward((read * tape.constant(weights)).sum()))
}

/// If a finite gradient overflows to a result that is not finite, the row and its state stay unchanged,
/// in dense and in sparse steps.
#[test]
fn rows_whose_step_is_not_finite_stay() {
    fn stays<M: Steps, A: Algorithm>(m: M, dim: usize, bad: &[f32], fresh: impl Fn() -> Optimiser<A, f32>) {
        let mut rng = rng::stream(12, 0, 0);
        // More rows than one task of a step.
        let (n, at, width) = (900, 411, bad.len());
        let start: Tensor<f32> = points(&m, n, dim, 0.5, &mut rng);
        let small = Tensor::from_fn([n, width], |i| (i as f32).sin() * 0.1);
        let mut large = small.clone();
        large.row_mut(at).copy_from_slice(bad);
        let order: Vec<u32> = (0..n as u32).rev().collect();
        let reversed =
            |table: &Tensor<f32>| Tensor::from_fn([n, width], |i| table.row(n - 1 - i / width)[i % width]);
        for rows in [None, Some(&order[..])] {
            let weights = |table: &Tensor<f32>| if rows.is_none() { table.clone() } else { reversed(table) };
            let mut x = Param::new("w", m, start.clone());
            let mut optimiser = fresh();
            let error = step_by(&mut x, &mut optimiser, rows, &weights(&large)).unwrap_err();
            assert_eq!(error, OptimError::NotFinite { param: "w".into(), row: at }, "{}", M::NAME);
            assert_eq!(x.value().row(at), start.row(at), "{}", M::NAME);
            assert!(x.value().data().iter().all(|x| x.is_finite()));
            // No trace of the failed step is left: the row's next step is like its first one.
            let mut copy = x.clone();
            step_by(&mut x, &mut optimiser, rows, &weights(&small)).unwrap();
            step_by(&mut copy, &mut fresh(), rows, &weights(&small)).unwrap();
            assert_ne!(x.value().row(at), start.row(at));
            if A::NAME == "sgd" {
                assert_eq!(x.value().row(at), copy.value().row(at), "{}", M::NAME);
            }
        }
    }
    let (flat, ball) = (Stereographic::new(0.0), Stereographic::new(-1.0));
    let sgd = || RiemannianSgd::new(10.0).unwrap();
    let momentum = || RiemannianSgd::new(1e-3).unwrap().momentum(0.9).unwrap();
    let adam = || RiemannianAdam::new(0.01).unwrap();
    let wide: Vec<f32> = (0..700).map(|i| if i == 690 { 3e38 } else { 0.1 }).collect();
    stays(Euclidean, 3, &[0.1, 3e38, 0.1], sgd);
    stays(Euclidean, 700, &wide, sgd);
    stays(Euclidean, 3, &[0.1, 3e38, 0.1], || momentum().decay(0.1).unwrap().group("", 1e5, 0.1).unwrap());
    // Their squares overflow `f32`. Without the check, all later steps would have length 0.
    stays(Euclidean, 3, &[0.1, 1e20, 0.1], adam);
    stays(Euclidean, 3, &[0.1, 1e20, 0.1], || adam().amsgrad());
    stays(ball, 3, &[0.1, 1e30, 0.1], adam);
    stays(ball, 3, &[0.1, 1e30, 0.1], || adam().amsgrad());
    stays(flat, 2, &[0.1, 3e38], sgd);
    stays(flat, 2, &[0.1, 3e38], || momentum().group("", 1e5, 0.0).unwrap());
    // In a product, all factors of the row stay.
    stays(Product::new(ball, 2, Euclidean), 3, &[0.1, 0.1, 3e38], sgd);
    stays(Product::new(ball, 2, Euclidean), 3, &[0.1, 0.1, 1e20], adam);
}

/// Weight decay moves to the origin. From the other component of the orthogonal group there is no
/// geodesic to it.
#[test]
fn decay_without_a_way_to_the_origin_is_refused() {
    let m = Stiefel::new(2, 2);
    let frames = |last: f32| Tensor::new([2, 4], vec![0.6_f32, -0.8, 0.8, 0.6, 1.0, 0.0, 0.0, last]);
    let weights = Tensor::from_fn([2, 4], |i| (i as f32).cos());
    fn refused<M: Steps, A: Algorithm>(
        m: M,
        start: &Tensor<f32>,
        weights: &Tensor<f32>,
        optimiser: Optimiser<A, f32>,
    ) {
        for rows in [None, Some(&[0_u32, 1][..])] {
            let mut x = Param::new("frames", m, start.clone());
            let error = step_by(&mut x, &mut optimiser.clone(), rows, weights).unwrap_err();
            assert_eq!(error, OptimError::Decay { param: "frames".into(), row: 1 });
            let want =
                "parameter \"frames\", row 1: no geodesic to the manifold's origin is found for weight decay";
            assert_eq!(error.to_string(), want);
            assert_eq!(x.value().row(1), start.row(1));
        }
    }
    let sgd = || RiemannianSgd::new(0.1).unwrap();
    refused(m, &frames(-1.0), &weights, sgd().decay(0.1).unwrap());
    refused(m, &frames(-1.0), &weights, sgd().decay(0.1).unwrap().by_retraction());
    refused(m, &frames(-1.0), &weights, RiemannianAdam::new(0.1).unwrap().decay(0.1).unwrap());
    let start = Tensor::new([2, 5], [&[0.5][..], frames(-1.0).row(0), &[0.5], frames(-1.0).row(1)].concat());
    let wide = Tensor::from_fn([2, 5], |i| (i as f32).cos());
    refused(Product::new(Euclidean, 1, m), &start, &wide, sgd().decay(0.1).unwrap());
    // In the origin's component, or without decay, the step succeeds. A gradient that is too large by
    // itself is not blamed on decay.
    let mut x = Param::new("frames", m, frames(1.0));
    step_by(&mut x, &mut sgd().decay(0.1).unwrap(), None, &weights).unwrap();
    let mut x = Param::new("frames", m, frames(-1.0));
    step_by(&mut x, &mut sgd(), None, &weights).unwrap();
    step_by(&mut x, &mut sgd().decay(0.1).unwrap().group("", 1.0, 0.0).unwrap(), None, &weights).unwrap();
    let mut x = Param::new("x", Euclidean, Tensor::zeros([1, 2]));
    let large = Tensor::new([1, 2], vec![3e38, 0.0]);
    let error = step_by(&mut x, &mut RiemannianSgd::new(10.0).unwrap().decay(0.01).unwrap(), None, &large);
    assert_eq!(error.unwrap_err(), OptimError::NotFinite { param: "x".into(), row: 0 });
}

#[test]
fn bad_input_is_refused_by_name_and_changes_nothing() {
    let ball = Stereographic::new(-1.0);
    let mut x = Param::new("points", ball, Tensor::new([2, 2], vec![0.1, 0.2, 0.3, 0.4]));
    let mut adam = RiemannianAdam::<f64>::new(0.1).unwrap();
    let mut step = |x: &mut Param<_, f64>, weight: f64| {
        let tape = Tape::new();
        let loss = (x.on(&tape).coordinates().square() * weight).sum();
        adam.step(x, &tape.backward(loss)).map_err(|e| e.to_string())
    };
    step(&mut x, 1.0).unwrap();
    let before = x.value().clone();
    let message = step(&mut x, f64::NAN).unwrap_err();
    assert!(message.starts_with("parameter \"points\": the step of row 0 is not finite"), "{message}");
    assert_eq!(*x.value(), before);
    x.value_mut().row_mut(1)[0] = 1.5;
    let message = step(&mut x, 1.0).unwrap_err();
    assert!(
        message.starts_with("parameter \"points\", row 1: not a point of the stereographic model"),
        "{message}"
    );
    *x.value_mut() = Tensor::new([1, 2], vec![0.1, 0.2]);
    let message = step(&mut x, 1.0).unwrap_err();
    assert_eq!(message, "parameter \"points\" of shape [1, 2]: a state of shape [2, 2]");
    // The same number of elements in other rows.
    *x.value_mut() = Tensor::new([4, 1], vec![0.1, 0.2, 0.3, 0.4]);
    let message = step(&mut x, 1.0).unwrap_err();
    assert_eq!(message, "parameter \"points\" of shape [4, 1]: a state of shape [2, 2]");
    *x.value_mut() = before.clone();
    step(&mut x, 1.0).unwrap();
    assert_ne!(*x.value(), before);

    // If one of several parameters is bad, none is moved. The error names its path.
    let mut layers = [x.clone(), Param::new("points", ball, before)];
    let still = layers.each_ref().map(|layer| layer.value().clone());
    let tape = Tape::new();
    let [a, b] = layers.each_ref().map(|layer| layer.on(&tape).coordinates().square().sum());
    let message = adam.step(&mut layers, &tape.backward(a + b * f64::INFINITY)).unwrap_err().to_string();
    assert!(message.starts_with("parameter \"1\": the step of row 0 is not finite"), "{message}");
    assert_eq!(layers.each_ref().map(|layer| layer.value().clone()), still);
}
