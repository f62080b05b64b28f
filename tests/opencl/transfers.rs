//! Transfers between host and device, in a step and from several threads. These tests have a process of their
//! own, because the device has only one set of counters.

use std::sync::{Arc, Barrier, Mutex, PoisonError};

use cotangent::engine::Transfers;
use cotangent::manifolds::Product;
use cotangent::optim::{Algorithm, Average, Optimiser};
use cotangent::prelude::*;

/// Rows and columns of every parameter.
const SHAPE: [usize; 2] = [512, 8];
/// Number of rows in a sparse gradient.
const ROWS: usize = 4;

#[derive(Module)]
struct Model {
    flat: Param<Euclidean>,
    ball: Param<PoincareBall>,
    product: Param<Product<PoincareBall, Euclidean>>,
    table: Param<PoincareBall>,
}

impl Model {
    fn new() -> Self {
        let ball = PoincareBall::new(-1.0);
        let wave = || Tensor::from_fn(SHAPE, |i| ((i * 37) as f32).sin() * 0.2);
        Model {
            flat: Param::new("flat", Euclidean, wave()),
            ball: Param::new("ball", ball, wave()),
            product: Param::new("product", Product::new(ball, 3, Euclidean), wave()),
            table: Param::new("table", ball, wave()),
        }
    }

    /// Pulls all points to the origin; of the table, only some rows.
    fn loss<'t>(&self, tape: &'t Tape<f32>, step: usize) -> Var<'t, f32> {
        let [flat, ball, product] =
            [*self.flat.on(tape), *self.ball.on(tape).coordinates(), *self.product.on(tape).coordinates()];
        let rows: [u32; ROWS] = std::array::from_fn(|i| ((i * 7 + step) % SHAPE[0]) as u32);
        let table = *self.table.on(tape).rows(&rows).coordinates();
        [flat, ball, product, table].map(|x| x.square().sum()).into_iter().reduce(|a, b| a + b).unwrap()
    }
}

/// The largest number of bytes that a step uploads, and that it reads back, without the first step. The step
/// may include an average of the points.
fn step_transfers<A: Algorithm>(
    device: &Device,
    mut optimiser: Optimiser<A>,
    mut average: Option<Average>,
) -> Transfers {
    let (mut model, mut tape, mut largest) =
        (Model::new(), Tape::with_device(device.clone()), Transfers::default());
    for step in 0..4 {
        let before = device.transfers();
        tape.reset();
        let gradients = tape.backward(model.loss(&tape, step));
        optimiser.step(&mut model, &gradients).unwrap();
        if let Some(average) = &mut average {
            average.update(&model).unwrap();
        }
        let after = device.transfers();
        if step > 0 {
            largest.uploaded = largest.uploaded.max(after.uploaded - before.uploaded);
            largest.read_back = largest.read_back.max(after.read_back - before.read_back);
        } else {
            let all = 4 * (SHAPE[0] * SHAPE[1] * size_of::<f32>()) as u64;
            assert!(after.uploaded - before.uploaded >= all, "the parameters are uploaded once");
        }
    }
    largest
}

/// Bytes that a forward and backward pass along the edges of a graph uploads after the first one.
fn uploaded_along_edges(device: &Device, score: &dyn Score<f32>) -> u64 {
    let pairs: Vec<(u32, u32)> = (0..4096).map(|e| (e / 8, e * 7 % 512)).collect();
    let edges = Arc::new(Sparsity::new(512, 512, &pairs));
    let rows = Tensor::from_fn([512, 1, 4], |i| (i as f32).sin());
    let (mut tape, mut uploaded) = (Tape::<f32>::with_device(device.clone()), 0);
    for _ in 0..2 {
        let before = device.transfers().uploaded;
        tape.reset();
        let x = tape.variable(&rows);
        let y = Attention::new(score, 4).along_edges(x, x, x, &edges);
        drop(tape.backward(y.square().sum()));
        uploaded = device.transfers().uploaded - before;
    }
    uploaded
}

/// Held by each test, so that nothing else computes at the same time.
static ALONE: Mutex<()> = Mutex::new(());

/// Threads that put the same host tensor on a device at the same time share one upload. They can read it
/// while other threads start and end.
#[test]
fn threads_share_the_upload_of_a_tensor() {
    const THREADS: usize = 8;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = match Device::opencl(0) {
        Ok(device) => device,
        Err(error) => cotangent::engine::skip!("{error}"),
    };
    for round in 0..10 {
        let shared = Tensor::from_fn([1 << 18], |i| ((i + round) % 1024) as f32);
        let at_once = Barrier::new(THREADS);
        let before = device.transfers().uploaded;
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let tape = Tape::<f32>::with_device(device.clone());
                    at_once.wait();
                    let twice = (tape.constant(&shared) * 2.0).to_tensor();
                    assert!(twice.data().iter().zip(shared.data()).all(|(y, x)| *y == 2.0 * x));
                });
            }
        });
        let uploaded = device.transfers().uploaded - before;
        assert_eq!(uploaded, (shared.len() * size_of::<f32>()) as u64, "of {THREADS} threads");
    }
}

#[test]
fn points_and_state_stay_on_the_device() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = match Device::opencl(0) {
        Ok(device) => device,
        Err(error) => cotangent::engine::skip!("{error}"),
    };
    let number = size_of::<f32>() as u64;
    let check = |name: &str, largest: Transfers, numbers: u64| {
        // Only lists of row numbers and single numbers are uploaded. A parameter would take 16 KiB.
        assert!(largest.uploaded <= 1024, "{name}: {largest:?}");
        assert_eq!(largest.read_back, numbers * number, "{name}");
    };
    let sgd = || RiemannianSgd::<f32>::new(0.1).unwrap();
    let adam = || RiemannianAdam::<f32>::new(0.01).unwrap();
    // Two numbers: whether all gradients are finite, and whether all points are.
    check("sgd", step_transfers(&device, sgd(), None), 2);
    check("nesterov", step_transfers(&device, sgd().nesterov(0.9).unwrap().decay(0.1).unwrap(), None), 2);
    check("adam", step_transfers(&device, adam(), None), 2);
    check("amsgrad", step_transfers(&device, adam().amsgrad().decay(0.1).unwrap(), None), 2);
    // A third number: the norm.
    check("clipped", step_transfers(&device, adam().clip(0.5).unwrap(), None), 3);
    // One more number for each of the four parameters: whether its average is finite.
    check("averaged", step_transfers(&device, adam(), Some(Average::uniform())), 2 + 4);
    // The lists of edges, of 16 KiB each, also stay on the device.
    for score in [&score::Distance as &dyn Score<f32>, &score::UmbralCone { radius: 0.1 }] {
        let uploaded = uploaded_along_edges(&device, score);
        assert!(uploaded <= 256, "{score:?}: {uploaded} bytes");
    }
    // Dropout masks are drawn on the device.
    let before = device.transfers();
    let tape = Tape::<f32>::with_device(device.clone());
    tape.training(rng::stream(1, 0, 0));
    let dropped = (tape.zeros(SHAPE) + 1.0).dropout(0.5);
    let uploaded = device.transfers().uploaded - before.uploaded;
    assert!(dropped.to_tensor().data().contains(&0.0));
    let zeros = (SHAPE[0] * SHAPE[1]) as u64 * number;
    assert!(uploaded <= zeros, "{uploaded} bytes beside {zeros}");
    assert_eq!(Device::cpu().transfers(), Transfers::default());
}
