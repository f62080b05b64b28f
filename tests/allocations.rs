//! A training step allocates nothing after the first few: not in the tape, its kernels, its gradients,
//! nor in the optimiser. The memory of attention is linear in the number of rows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use cotangent::engine::loss;
use cotangent::layers::{Aggregation, Weights};
use cotangent::prelude::{loss as distance_loss, *};

/// Counts allocations.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Bytes in use.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The largest number of bytes in use so far.
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(size: usize) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

fn shrink(size: usize) {
    LIVE.fetch_sub(size, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrink(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size);
        shrink(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of allocations of one step, after several steps have run.
fn steady(mut step: impl FnMut()) -> usize {
    (0..5).for_each(|_| step());
    let before = COUNT.load(Ordering::Relaxed);
    step();
    COUNT.load(Ordering::Relaxed) - before
}

/// The peak memory of attention and its reverse pass for `n` queries and keys, in bytes. The tape's
/// memory is added, because its larger buffers do not come from this allocator.
fn attention_peak(n: usize, score: &dyn Score<f32>, aggregation: Aggregation) -> usize {
    let rows = Tensor::from_fn([n, 16], |i| (i as f32 * 0.37).sin());
    let layer = Attention { aggregation, ..Attention::new(score, 16) };
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let tape = Tape::<f32>::new();
    let [queries, keys, values] = [(); 3].map(|_| tape.variable(&rows));
    let y = layer.forward(queries, keys, values, Mask::None);
    assert!(tape.backward(y.square().sum()).view(keys).is_some());
    PEAK.load(Ordering::Relaxed) - before + tape.memory().peak
}

/// A single test, so that nothing else allocates at the same time.
#[test]
fn steps_allocate_nothing() {
    // Four times the rows. If all scores were stored, this would take 16 times the memory.
    let all = score::all();
    let sums = all.iter().map(|score| (&**score, Aggregation::Sum));
    for (score, aggregation) in sums.chain([(&score::Distance as _, Aggregation::Barycentre)]) {
        let [few, many] = [256, 1024].map(|n| attention_peak(n, score, aggregation));
        let what = format!("{score:?}, {aggregation:?}");
        assert!(many < 5 * few, "{what}: {few} bytes, {many} for four times the rows");
        // Less memory than the scores.
        assert!(many < 4 * 1024 * 1024, "{what}: {many} bytes");
    }

    let mut rng = rng::stream(1, 0, 0);

    // A classifier: two layers, layer normalisation, cross-entropy.
    let uniform = |shape: &[usize], rng: &mut rng::Rng| {
        use rand::RngExt;
        Tensor::from_fn(shape, |_| rng.random_range(-0.3..0.3_f32))
    };
    let x = uniform(&[16, 8], &mut rng);
    let mut weights = [&[8, 32][..], &[32], &[32], &[32], &[32, 4]]
        .map(|shape| Param::new("w", Euclidean, uniform(shape, &mut rng)));
    let labels: [u32; 16] = std::array::from_fn(|i| i as u32 % 4);
    let mut sgd = RiemannianSgd::new(0.1).unwrap();
    let mut adam = RiemannianAdam::new(1e-3).unwrap().clip(10.0).unwrap();
    let mut tape = Tape::new();
    let value = std::cell::Cell::new(0.0);
    let mut step = || {
        tape.reset();
        let [w1, b1, gain, bias, w2] = [0, 1, 2, 3, 4].map(|i| *weights[i].on(&tape));
        let h = (tape.constant(&x).matmul(w1) + b1).layer_norm(gain, bias, 1e-5).gelu();
        let loss = loss::cross_entropy(h.matmul(w2), &labels, 0.1);
        value.set(loss.item());
        let gradients = tape.backward(loss);
        for w in &mut weights {
            sgd.step(w, &gradients).unwrap();
        }
        adam.step(&mut weights, &gradients).unwrap();
    };
    assert_eq!(steady(&mut step), 0, "a classifier's step");
    let first = value.get();
    (0..50).for_each(|_| step());
    assert!(value.get() < first, "{} {first}", value.get());

    // Poincaré embeddings: row-sparse gradients.
    let ball = PoincareBall::new(-1.0);
    let mut table: Embedding<_, f64> = Embedding::uniform("points", ball, 200, 5, 1e-3, &mut rng);
    let mut sgd = RiemannianSgd::new(0.1).unwrap();
    let mut adam = RiemannianAdam::new(1e-3).unwrap();
    let mut momentum = RiemannianSgd::new(1e-3).unwrap().nesterov(0.9).unwrap();
    let mut tape = Tape::new();
    let (mut left, mut right) = (vec![0; 40], vec![0; 40]);
    let mut round = 0_u32;
    let mut step = || {
        // Different rows in every step, but always the same number of them.
        round += 1;
        for i in 0..40 {
            left[i] = (i as u32 / 8 * 7 + round) % 200;
            right[i] = (i as u32 * 3 + round) % 200;
        }
        tape.reset();
        let (u, v) = (table.forward(&tape, &left), table.forward(&tape, &right));
        let loss = distance_loss::ranking(u.dist(&v).reshape([5, 8])).sum();
        let gradients = tape.backward(loss);
        sgd.step(&mut table.points, &gradients).unwrap();
        adam.step(&mut table.points, &gradients).unwrap();
        momentum.step(&mut table.points, &gradients).unwrap();
    };
    assert_eq!(steady(&mut step), 0, "an embedding's step");

    // Attention with a pair formula, convolution, normalisation and pooling, index operations.
    let (q, k, image) =
        (uniform(&[2, 6, 4], &mut rng), uniform(&[2, 7, 4], &mut rng), uniform(&[2, 1, 6, 6], &mut rng));
    let (convolution, norm) = (Conv2d { padding: 1, ..Conv2d::new(1, 2, 3, &mut rng) }, BatchNorm2d::new(2));
    let mut tape = Tape::new();
    let mut step = || {
        tape.reset();
        let [q, k, image] = [&q, &k, &image].map(|t| tape.variable(t));
        let attended = q.attend(k, k, 0.5, true).permute(&[1, 0, 2]).softmax(-1).slice(0, 1..4);
        let pooled = norm.forward(convolution.forward(image)).relu().max_pool2d(2, 2);
        let loss = attended.square().sum() + pooled.norm_axis(-1).max_axis(0).sum();
        assert!(tape.backward(loss).view(image).is_some());
    };
    // These products are small. Large ones go through matrixmultiply, which allocates packing buffers.
    assert_eq!(steady(&mut step), 0, "an attention and convolution step");

    // Attention with a score allocates no more than its pair formula: the engine allocates for eight inputs
    // and more, which cones have together with the values, but the score does not.
    let mut tape = Tape::new();
    let cones = score::PenumbralCone::default();
    let by_score = steady(|| {
        tape.reset();
        let [q, k] = [&q, &k].map(|t| tape.variable(t));
        let attended = Attend::new(&cones).causal().forward(q, k, k);
        assert!(tape.backward(attended.square().sum()).view(q).is_some());
    });
    let half_space = HalfSpace::new(-1.0);
    let by_formula = steady(|| {
        tape.reset();
        let [q, k] = [&q, &k].map(|t| tape.variable(t));
        let [(q_rows, q_numbers), (k_rows, k_numbers)] = [q, k].map(|x| {
            let point = half_space.xi(&x, cones.light);
            let last = point.shape().width() - 1;
            let height = point.slice(-1, last..last + 1).reshape(point.shape().rows());
            let gap = half_space.penumbral_gap(&point, cones.light).reshape(height.shape());
            (point.slice(-1, 0..last), [height, gap])
        });
        let params = [1.0, 0.0, cones.light].map(|x| tape.scalar(x));
        let pairs = tape.pairs(cones, [q_rows, k_rows], q_numbers, k_numbers, params);
        let attended = pairs.attend(k, Weights::Softmax, true);
        assert!(tape.backward(attended.square().sum()).view(q).is_some());
    });
    assert_eq!(by_score, by_formula, "a step of attention with cones");
}
