//! Maxima, sums and inner products of lines of elements.

use std::sync::Arc;

use cotangent_engine::formulas::ScaledDot;
use cotangent_engine::{Device, Float, Sparsity, Tape, Tensor, Var, rng};
use rand::RngExt;

use crate::simd::Digest;

/// Elements of a block. The sums of blocks are added in order.
const BLOCK: usize = 4096;
/// Sets of lanes in which a block is summed.
const SETS: usize = 4;
const LANES: usize = 8;

/// A line of random numbers, and ten copies of it, each with more of the special numbers than the one before.
fn lines<T: Float>(len: usize, special: &[T]) -> Tensor<T> {
    let mut rng = rng::stream(1, 0, 0);
    let mut x: Vec<T> = (0..len).map(|_| T::nearest(rng.random_range(-2.0..2.0))).collect();
    let mut lines = x.clone();
    let more = if len > 0 { 10 } else { 0 };
    for _ in 0..more {
        for &special in special {
            x[rng.random_range(0..len)] = special;
        }
        lines.extend(&x);
    }
    Tensor::new([1 + more, len], lines)
}

#[test]
fn the_largest_of_a_line() {
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    for special in [[nan, -infinity], [infinity, -infinity], [-infinity, -infinity], [f32::MAX, f32::MAX]] {
        for len in 0..=70 {
            let (tape, lines) = (Tape::with_device(Device::cpu()), lines::<f32>(len, &special));
            let largest = tape.constant(&lines).max_axis(-1).to_tensor();
            for (i, &max) in largest.data().iter().enumerate() {
                let x = lines.row(i);
                let expected = x.iter().fold(-infinity, |m, &x| if x > m || x.is_nan() { x } else { m });
                let expected = if x.iter().any(|x| x.is_nan()) { nan } else { expected };
                assert!(max == expected || max.is_nan() && expected.is_nan(), "{x:?}: {max}");
            }
        }
    }
}

/// The sum in the order that the kernels promise: each block in four sets of eight lanes, block after block.
fn sum_in_order(x: &[f64]) -> f64 {
    let mut total = 0.0;
    for block in x.chunks(BLOCK) {
        let mut sets = [[0.0; LANES]; SETS];
        for (i, &x) in block.iter().enumerate() {
            sets[i / LANES % SETS][i % LANES] += x;
        }
        let [a, b, c, d] = sets;
        let l: [f64; LANES] = std::array::from_fn(|l| (a[l] + b[l]) + (c[l] + d[l]));
        total += ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
    }
    total
}

#[test]
fn sums_of_a_line() {
    for len in (0..=70).chain([BLOCK, BLOCK + 1, 2 * BLOCK + 37]) {
        let lines = lines::<f64>(len, &[1e-9, -1e3]);
        let want: Vec<f64> = (0..lines.shape()[0]).map(|i| sum_in_order(lines.row(i))).collect();
        let tape = Tape::with_device(Device::cpu());
        let x = tape.constant(&lines);
        assert_eq!(x.sum_axis(-1).to_tensor().data(), want, "{len}");
        if len == 0 {
            // A pair formula refuses rows without elements.
            continue;
        }
        // Inner products of rows with ones, as scores of single pairs.
        let ones = tape.constant(&Tensor::from_fn([1, len], |_| 1.0));
        let pairs: Vec<(u32, u32)> = (0..want.len() as u32).map(|i| (i, 0)).collect();
        let pairs = Arc::new(Sparsity::new(want.len(), 1, &pairs));
        let dots = tape.pairs(ScaledDot, [x, ones], [], [], [tape.scalar(1.0)]).along(&pairs);
        assert_eq!(dots.to_tensor().data(), want, "{len}");
    }
}

type LineOperation<T> = for<'t> fn(Var<'t, T>) -> Var<'t, T>;

/// What reductions and normalisations compute from lines, and their gradients.
pub(crate) fn digest<T: Float>(digest: &mut Digest) {
    let operations: [(&str, LineOperation<T>); 9] = [
        ("sum", |x| x.sum_axis(-1)),
        ("mean", |x| x.mean_axis(-1)),
        ("norm", |x| x.norm_axis(-1)),
        ("logsumexp", |x| x.logsumexp(-1)),
        ("logsumexp of columns", |x| x.logsumexp(0)),
        ("softmax", |x| x.softmax(-1)),
        ("softmax of columns", |x| x.softmax(0)),
        ("log softmax", |x| x.log_softmax(-1)),
        ("layer norm", |x| {
            let width = x.shape().width();
            let weights = x.tape().constant(&Tensor::from_fn([width], |i| T::nearest(1.0 + i as f64)));
            x.layer_norm(weights, weights, 1e-5)
        }),
    ];
    for len in (1..=20).chain([40, 70, BLOCK + 3]) {
        let lines = lines::<T>(len, &[T::nearest(1e-9), T::nearest(-30.0)]);
        for (name, operation) in operations {
            let tape = Tape::with_device(Device::cpu());
            let x = tape.variable(&lines);
            let y = operation(x);
            let result = y.to_tensor();
            let g = Tensor::from_fn(result.shape().clone(), |i| T::nearest((i as f64).sin()));
            let gradients = tape.backward_from(y, &g);
            assert!(gradients.view(x).is_some());
            let gradient = gradients.wrt(x).data().to_vec();
            digest.line(format_args!("{name} of {len} {}", T::NAME), &[result.data().to_vec(), gradient]);
        }
    }
}
