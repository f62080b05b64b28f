//! Row formulas on the tape, forward and forward with backward: effective GB/s (inputs read once, outputs
//! written once; backward adds the inputs and the output's gradient read and the inputs' gradients written).
//!
//! `cargo bench --bench rows`

use cotangent::prelude::*;
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

const SHAPES: [(usize, usize); 3] = [(65536, 16), (65536, 128), (8192, 512)];

fn points<T: Float>(n: usize, d: usize, seed: u64) -> Tensor<T> {
    let ball = PoincareBall::ball(-1.0).expect("negative");
    let mut rng = rng::stream(seed, 0, 0);
    let mut t = Tensor::zeros([n, d]);
    for i in 0..n {
        t.row_mut(i).copy_from_slice(&ball.random_point::<T>(d, 3.0, &mut rng));
    }
    t
}

type Operation<T> = for<'t> fn(&PoincareBall, &Var<'t, T>, &Var<'t, T>) -> Var<'t, T>;

fn run<T: Float>(
    bencher: Bencher<'_, '_>,
    (n, d): (usize, usize),
    op: Operation<T>,
    vector: bool,
    backward: bool,
) {
    let ball = PoincareBall::ball(-1.0).expect("negative");
    let (x, y) = (points::<T>(n, d, 1), points::<T>(n, d, 2));
    let mut tape = Tape::new();
    let out = if vector { n * d } else { n };
    let elements = 2 * n * d + out + if backward { 4 * n * d + out } else { 0 };
    bencher.counter(BytesCount::new(elements * size_of::<T>())).bench_local(|| {
        tape.reset();
        let (x, y) = if backward {
            (tape.variable(&x), tape.variable(&y))
        } else {
            (tape.constant(&x), tape.constant(&y))
        };
        let z = op(&ball, &x, &y);
        if backward {
            divan::black_box(tape.backward(z.sum()).wrt(x).is_some());
        } else {
            divan::black_box(z);
        }
    });
}

macro_rules! benches {
    ($($name:ident $vector:literal = $op:expr;)*) => { $(
        mod $name {
            use super::*;
            #[divan::bench(args = SHAPES, sample_count = 10, sample_size = 1)]
            fn forward_f32(b: Bencher<'_, '_>, shape: (usize, usize)) {
                run::<f32>(b, shape, $op, $vector, false);
            }
            #[divan::bench(args = SHAPES, sample_count = 10, sample_size = 1)]
            fn backward_f32(b: Bencher<'_, '_>, shape: (usize, usize)) {
                run::<f32>(b, shape, $op, $vector, true);
            }
            #[divan::bench(args = SHAPES, sample_count = 10, sample_size = 1)]
            fn forward_f64(b: Bencher<'_, '_>, shape: (usize, usize)) {
                run::<f64>(b, shape, $op, $vector, false);
            }
            #[divan::bench(args = SHAPES, sample_count = 10, sample_size = 1)]
            fn backward_f64(b: Bencher<'_, '_>, shape: (usize, usize)) {
                run::<f64>(b, shape, $op, $vector, true);
            }
        }
    )* };
}

benches! {
    mobius_add true = |m, x, y| m.add(x, y);
    dist false = |m, x, y| m.dist(x, y);
    exp true = |m, x, y| m.exp(x, y);
    log true = |m, x, y| m.log(x, y);
}
