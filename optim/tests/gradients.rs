//! Operations on gradients before a step: their norm, clipping, sums of several passes. And what happens
//! to points whose coordinates cannot hold a gradient.

mod common;

use common::*;
use cotangent_engine::domain::bounded_time;
use cotangent_engine::{Device, Float, Row, Tape, Tensor, rng};
use cotangent_manifolds::{Euclidean, Lorentz, Manifold, Module, Param, PoincareBall, Steps};
use cotangent_optim::{
    Accumulated, Algorithm, DataParallel, GradientSource, OptimError, Optimiser, RiemannianAdam,
    RiemannianSgd, clip,
};

/// The gradient of half the squared distance has the distance as its norm. If it is clipped to a length,
/// a step of rate 1 moves all rows together by that length.
#[test]
fn clipped_steps_have_the_length_that_was_asked_for() {
    struct Clip;
    impl OnManifold for Clip {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            let mut rng = rng::stream(1, 0, 0);
            let [start, target] = [(); 2].map(|()| points(&m, 300, dim, radius, &mut rng));
            let mut x = Param::new("x", m, start.clone());
            let tape = Tape::<f64>::new();
            let gradients = tape.backward(pull(&x.on(&tape), &target));
            let whole =
                |to: &Tensor<f64>| m.dist(&start, to).data().iter().map(|d| d * d).sum::<f64>().sqrt();
            let (norm, expected) = (clip::norm(&x, &gradients), whole(&target));
            assert!((norm / expected - 1.0).abs() < 1e-10, "{name}: {norm} {expected}");
            for (largest, length) in [(0.5, 0.5), (2.0 * norm, norm)] {
                *x.value_mut() = start.clone();
                RiemannianSgd::new(1.0).unwrap().clip(largest).unwrap().step(&mut x, &gradients).unwrap();
                let gone = whole(x.value());
                assert!((gone / length - 1.0).abs() < 1e-8, "{name}: {gone} {length}");
            }
        }
    }
    every_manifold(&mut Clip);
}

/// Several parameters have one norm together. Of a table, only the rows with a gradient count.
#[test]
fn the_norm_is_of_all_parameters_together() {
    let ball = PoincareBall::new(-1.0);
    let mut model = (
        Param::new("a", ball, Tensor::new([3, 1], vec![0.0_f64, 0.5, 0.9])),
        Param::new("b", Euclidean, Tensor::new([2], vec![1.0, 2.0])),
    );
    let tape = Tape::new();
    let (a, b) = (*model.0.on(&tape).coordinates(), *model.1.on(&tape).coordinates());
    let gradients = tape.backward(3.0 * a.gather(&[1, 1]).sum() + 4.0 * b.sum());
    // λ = 2/(1 − ¼); the norm of a gradient g is |g|/λ.
    let expected = (6.0 * 0.75 / 2.0_f64).hypot(4.0_f64.hypot(4.0));
    assert!((clip::norm(&model, &gradients) / expected - 1.0).abs() < 1e-15);
    RiemannianSgd::new(1.0).unwrap().clip(expected / 8.0).unwrap().step(&mut model, &gradients).unwrap();
    assert!((model.1.value().data()[0] - 0.5).abs() + (model.1.value().data()[1] - 1.5).abs() < 1e-14);
    assert_eq!((model.0.value().row(0), model.0.value().row(2)), (&[0.0][..], &[0.9][..]));
}

/// Entries of a table of one or of three axes are no rows; their gradients are dense.
#[test]
fn entries_of_any_table_are_stepped() {
    let tape = Tape::<f64>::new();
    let mut bias = Param::new("bias", Euclidean, Tensor::new([3], vec![0.0; 3]));
    let gradients = tape.backward(bias.on(&tape).gather(&[0, 2]).sum());
    assert_eq!(clip::norm(&bias, &gradients), 2.0_f64.sqrt());
    RiemannianSgd::new(1.0).unwrap().step(&mut bias, &gradients).unwrap();
    assert_eq!(bias.value().data(), [-1.0, 0.0, -1.0]);
    let mut blocks = Param::new("blocks", Euclidean, Tensor::new([4, 2, 3], vec![0.0; 24]));
    let gradients = tape.backward(blocks.on(&tape).gather(&[1, 1]).sum());
    assert_eq!(clip::norm(&blocks, &gradients), 24.0_f64.sqrt());
    RiemannianSgd::new(1.0).unwrap().step(&mut blocks, &gradients).unwrap();
    let stepped: Vec<f64> = (0..24).map(|i| if (6..12).contains(&i) { -2.0 } else { 0.0 }).collect();
    assert_eq!(blocks.value().data(), stepped);
}

/// With clipping by parameter each gradient has a norm of its own: that of its coordinates.
#[test]
fn each_parameter_is_clipped_by_itself() {
    let model = || {
        let ball = PoincareBall::new(-1.0);
        (
            Param::new("a", ball, Tensor::new([2, 2], vec![0.0_f64, 0.1, 0.2, 0.3])),
            (
                Param::new("b", Euclidean, Tensor::new([2], vec![1.0, 2.0])),
                Param::new("c", Euclidean, Tensor::new([2], vec![1.0, 2.0])),
            ),
        )
    };
    let step = |slopes: [f64; 3], clip: Option<f64>| {
        let (mut model, tape) = (model(), Tape::new());
        let [b, c] = [&model.1.0, &model.1.1].map(|param| *param.on(&tape));
        let a = *model.0.on(&tape).coordinates();
        // The gradient of a is sparse: its second row only.
        let loss = slopes[0] * a.gather(&[1]).sum() + slopes[1] * b.sum() + slopes[2] * c.sum();
        let mut sgd = RiemannianSgd::new(0.1).unwrap();
        if let Some(clip) = clip {
            sgd = sgd.clip_each(clip).unwrap();
        }
        sgd.step(&mut model, &tape.backward(loss)).unwrap();
        model.state()
    };
    let one = 0.5_f64.sqrt();
    let clipped = step([30.0, -40.0, 0.01], Some(1.0));
    let expected = step([one, -one, 0.01], None);
    for ((name, clipped), (_, expected)) in clipped.iter().zip(&expected) {
        for (x, y) in clipped.data().iter().zip(expected.data()) {
            assert!((x - y).abs() < 1e-15, "{name}: {x} {y}");
        }
    }
    assert_ne!(clipped, step([30.0, -40.0, 0.01], None));
    assert!(RiemannianSgd::<f32>::new(0.1).unwrap().clip_each(0.0).is_err());
}

/// Matrices that are one parameter, one below the other, are clipped as parameters of their own are.
#[test]
fn each_block_of_a_stacked_parameter_is_clipped_by_itself() {
    let slopes = [30.0, -40.0, 0.01, 0.02, 3.0, 4.0];
    let step = |param: &mut Param<Euclidean, f64>, slopes: &[f64], sgd: RiemannianSgd<f64>| {
        let (mut sgd, tape) = (sgd, Tape::new());
        let slopes = tape.constant(&Tensor::new(param.value().shape().axes(), slopes.to_vec()));
        let loss = (*param.on(&tape).coordinates() * slopes).sum();
        sgd.step(param, &tape.backward(loss)).unwrap();
        param.value().data().to_vec()
    };
    let sgd = || RiemannianSgd::new(0.1).unwrap().clip_each(1.0).unwrap();
    let start = |rows: usize| Param::new("m", Euclidean, Tensor::<f64>::zeros([rows, 2]));
    let stacked = step(&mut start(3), &slopes, sgd().stacked("", 3));
    let own: Vec<f64> = slopes.chunks(2).flat_map(|slopes| step(&mut start(1), slopes, sgd())).collect();
    assert_eq!(stacked, own);
    assert_ne!(stacked, step(&mut start(3), &slopes, sgd()));
    // Only parameters of that name.
    assert_eq!(step(&mut start(3), &slopes, sgd().stacked("other", 3)), step(&mut start(3), &slopes, sgd()));
}

/// Rows without a gradient stay where they are, though momentum would move them on.
#[test]
fn blocks_of_a_table_are_clipped_without_the_rows_that_were_not_read() {
    let adam = || RiemannianAdam::new(0.1).unwrap().clip_each(1.0).unwrap();
    let steps = |mut adam: RiemannianAdam<f64>, reads: &[&[u32]]| {
        let mut table = Param::new("m", Euclidean, Tensor::<f64>::zeros([4, 2]));
        for rows in reads {
            let tape = Tape::new();
            let loss = (table.on(&tape).coordinates().gather(rows) * 3.0).sum();
            adam.step(&mut table, &tape.backward(loss)).unwrap();
        }
        table.value().clone()
    };
    let moved = steps(adam().stacked("", 2), &[&[3, 0], &[2]]);
    let first = steps(adam().stacked("", 2), &[&[3, 0]]);
    assert_eq!([0, 1, 3].map(|row| moved.row(row)), [0, 1, 3].map(|row| first.row(row)));
    assert!(moved.row(2)[0] < 0.0 && first.row(2) == [0.0; 2] && first.row(0)[0] < 0.0);
    // The rows of a block are clipped together: SGD shows by how much.
    let sgd = RiemannianSgd::new(1.0).unwrap().clip_each(1.0).unwrap().stacked("", 2);
    let (mut sgd, mut table) = (sgd, Param::new("m", Euclidean, Tensor::<f64>::zeros([4, 2])));
    let tape = Tape::new();
    let rows = table.on(&tape).coordinates().gather(&[3, 0, 2]);
    sgd.step(&mut table, &tape.backward((rows * 3.0).sum())).unwrap();
    let want = [-0.5_f64.sqrt(), -0.5_f64.sqrt(), 0.0, 0.0, -0.5, -0.5, -0.5, -0.5];
    assert!(table.value().data().iter().zip(want).all(|(x, want)| (x - want).abs() < 1e-15));
}

/// Clipping must work on exploding gradients, whose squares overflow `f32`.
#[test]
fn large_gradients_are_clipped_and_not_lost() {
    let mut x = Param::new("x", Euclidean, Tensor::new([2], vec![0.0_f32, 0.0]));
    let tape = Tape::new();
    let loss = (*x.on(&tape).coordinates() * tape.constant(&Tensor::new([2], vec![3e30, -4e30]))).sum();
    let gradients = tape.backward(loss);
    RiemannianSgd::new(1.0).unwrap().clip(5.0).unwrap().step(&mut x, &gradients).unwrap();
    assert!((x.value().data()[0] + 3.0).abs() < 1e-6 && (x.value().data()[1] - 4.0).abs() < 1e-6);
}

/// If the norm overflows, or becomes NaN by overflow, gradients must not be clipped to 0. The step is
/// refused, with the name of the parameter.
#[test]
fn norms_that_are_not_finite_are_refused_by_name() {
    type Model<M, T> = (Param<Euclidean, T>, (Param<M, T>, Param<Euclidean, T>));
    fn tensor<T: Float>(values: &[f64]) -> Tensor<T> {
        Tensor::new([1, values.len()], values.iter().map(|&x| T::nearest(x)).collect::<Vec<T>>())
    }
    fn step<M: Steps, T: Float>(
        model: &mut Model<M, T>,
        sgd: &mut RiemannianSgd<T>,
        gradient: f64,
    ) -> Result<(), OptimError> {
        let tape = Tape::<T>::new();
        let (x, y) = (*model.0.on(&tape).coordinates(), *model.1.0.on(&tape).coordinates());
        let z = *model.1.1.on(&tape).coordinates();
        let weights = tape.constant(&tensor(&vec![gradient; y.shape().width()]));
        sgd.step(model, &tape.backward(x.sum() + (y * weights).sum() + z.sum()))
    }
    fn refused<M: Steps, T: Float>(m: M, point: &[f64], gradient: f64) -> String {
        let flat = |name: &str| Param::new(name, Euclidean, tensor(&[0.5]));
        let mut model: Model<M, T> = (flat("first"), (Param::new("second", m, tensor(point)), flat("third")));
        let before = model.state();
        let clipped = || RiemannianSgd::new(0.1).unwrap().momentum(0.5).unwrap().clip(5.0).unwrap();
        let mut sgd = clipped();
        let message = step(&mut model, &mut sgd, gradient).unwrap_err().to_string();
        assert_eq!(model.state(), before);
        // Momenta did not change either: the next step is like a first one.
        let mut fresh = model.clone();
        step(&mut model, &mut sgd, 0.1).unwrap();
        step(&mut fresh, &mut clipped(), 0.1).unwrap();
        assert_eq!(model.state(), fresh.state());
        message
    }
    let says = |norm: &str| {
        format!(
            "parameter \"1.0\": with its gradient the norm of all is {norm}; clipping needs a finite norm"
        )
    };
    assert_eq!(refused::<_, f32>(Euclidean, &[0.0, 0.0], 3e38), says("inf"));
    assert_eq!(refused::<_, f64>(Euclidean, &[0.0, 0.0], 1e200), says("inf"));
    let lorentz = Lorentz::new(-1.0);
    assert_eq!(refused::<_, f32>(lorentz, &[1.25, 0.75], 3e38), says("NaN"));
}

/// Sums of sparse and dense gradients in any order are the gradient of the sum.
#[test]
fn accumulated_gradients_are_those_of_the_sum() {
    let x = Param::new("x", Euclidean, Tensor::from_fn([4, 2], |i| i as f64));
    let pass = |sum: &mut Accumulated<f64>, rows: &[u32], weight: f64| {
        let tape = Tape::new();
        let all = *x.on(&tape).coordinates();
        let read = if rows.is_empty() { all } else { all.gather(rows) };
        sum.add(&x, &tape.backward(read.square().sum()), weight);
    };
    let passes: [(&[u32], f64); 3] = [(&[2, 0, 2], 1.0), (&[], 0.5), (&[3, 2], 2.0)];
    for order in [[0, 1, 2], [1, 0, 2], [2, 0, 1]] {
        let mut sum = Accumulated::new();
        order.iter().for_each(|&i| pass(&mut sum, passes[i].0, passes[i].1));
        let dense = sum.gradient(x.id()).unwrap().to_dense(4, 2);
        let expected: Vec<f64> = (0..8).map(|i| 2.0 * i as f64 * [1.5, 0.5, 4.5, 2.5][i / 2]).collect();
        assert_eq!(dense, expected, "{order:?}");
        sum.clear();
        assert!(sum.gradient(x.id()).is_none());
    }
}

/// Rows of no elements are counted, too.
#[test]
fn gradients_of_rows_without_elements_are_accumulated() {
    let x = Param::new("x", Euclidean, Tensor::<f64>::zeros([3, 0]));
    let mut sum = Accumulated::new();
    for rows in [&[2, 0][..], &[2], &[], &[1]] {
        let tape = Tape::new();
        let all = *x.on(&tape).coordinates();
        let read = if rows.is_empty() { all } else { all.gather(rows) };
        sum.add(&x, &tape.backward(read.sum()), 1.0);
    }
    assert!(sum.gradient(x.id()).unwrap().to_dense(3, 0).is_empty());
}

/// A batch in parts, some of which touch the same rows, gives the same step as the whole batch. The bits
/// do not depend on the number of threads.
#[test]
fn a_batch_in_parts_is_a_batch() {
    let ball = PoincareBall::new(-1.0);
    let fresh = || {
        let mut rng = rng::stream(3, 0, 0);
        let table = Param::new("table", ball, points(&ball, 20, 3, 2.0, &mut rng));
        (table, Param::new("scale", Euclidean, Tensor::new([1], vec![0.7_f64])))
    };
    let rows: Vec<u32> = (0..50).map(|i| i * i % 17).collect();
    let run = |size: usize, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut model = fresh();
        let mut sgd = RiemannianSgd::new(0.01).unwrap();
        let mut parallel = DataParallel::new(Device::cpu());
        let losses: Vec<f64> = pool.install(|| {
            let step = |batch: &[u32]| {
                let parts: Vec<&[u32]> = batch.chunks(size).collect();
                let loss = parallel.step(&mut model, &mut sgd, &parts, |(table, scale), tape, rows| {
                    let x = table.on(tape).coordinates().gather(rows);
                    (x * *scale.on(tape).coordinates()).square().sum()
                });
                loss.unwrap()
            };
            // Fewer parts than before: leftovers of earlier parts must not count.
            [&rows[..], &rows[..20], &rows[5..]].map(step).to_vec()
        });
        (losses, model.0.value().clone(), model.1.value().clone())
    };
    let (whole, few, many) = (run(50, 2), run(7, 1), run(7, 2));
    assert_eq!(few, many);
    for (a, b) in whole.0.iter().zip(&few.0) {
        assert!((a / b - 1.0).abs() < 1e-13, "{a} {b}");
    }
    for (a, b) in [(&whole.1, &few.1), (&whole.2, &few.2)] {
        assert!(a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-13), "{a:?} {b:?}");
    }
    assert_ne!(fresh().1.value(), &whole.2);
}

#[test]
fn a_part_that_diverges_stops_the_step() {
    let mut x = Param::new("x", Euclidean, Tensor::new([2, 1], vec![1.0_f64, 2.0]));
    let mut sgd = RiemannianSgd::new(0.1).unwrap();
    let factors = [1.0, f64::NAN];
    let outcome = DataParallel::new(Device::cpu())
        .step(&mut x, &mut sgd, &factors, |x, tape, &factor| (*x.on(tape).coordinates() * factor).sum());
    assert!(outcome.unwrap_err().to_string().contains("\"x\""));
}

/// Each step drives points of the hyperboloid outward, and each optimiser leaves them where coordinates can
/// hold a gradient.
#[test]
fn steps_on_the_hyperboloid_are_bounded() {
    fn run<A: Algorithm, T: Float>(mut optimiser: Optimiser<A, T>) {
        let (m, largest) = (Lorentz::new(-1.0), bounded_time::<T>(-1.0));
        let near = m.project(&Row::from([0.0, 0.6, 0.8].map(T::nearest)));
        let start = m.project(&Row::from([0.0, 0.6 * 0.9 * largest, 0.8 * 0.9 * largest].map(T::nearest)));
        let table =
            |rows: [&Row<T>; 2]| Tensor::new([2, 3], rows.iter().flat_map(|row| row.to_vec()).collect());
        let mut x = Param::new("x", m, table([&start, &near]));
        for _ in 0..5 {
            let tape = Tape::new();
            let away = -pull(&x.on(&tape), &table([&near, &start]));
            optimiser.step(&mut x, &tape.backward(away)).unwrap();
        }
        for row in x.value().rows() {
            m.contains(row).unwrap();
        }
        let time = x.value().row(0)[0].to_f64();
        assert!((0.99 * largest..largest).contains(&time), "{time:e}, bound {largest:e}");
    }
    fn check<T: Float>() {
        run::<_, T>(RiemannianSgd::new(0.1).unwrap());
        run::<_, T>(RiemannianSgd::new(0.1).unwrap().nesterov(0.9).unwrap());
        run::<_, T>(RiemannianAdam::new(0.1).unwrap());
    }
    check::<f32>();
    check::<f64>();
}
