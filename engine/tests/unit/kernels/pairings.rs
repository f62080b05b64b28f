use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::{Device, PairFormula, Pairing, Scalar, Tape, Tensor, rng};
use rand::RngExt;

use crate::simd::Digest;

/// The squared distance itself.
#[derive(Clone, Copy)]
struct Square;

impl PairFormula<0, 0, 0> for Square {
    const NAME: &'static str = "square";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], _: [S; 0]) -> S {
        square
    }
}

/// Squared distances of all pairs of rows.
fn squares(x: &[f32], y: &[f32], width: usize) -> Vec<f32> {
    let tape = Tape::with_device(Device::cpu());
    let [x, y] = [x, y].map(|rows| tape.constant(&table(rows, width)));
    tape.pairs(Square, [x, y], [], [], []).scores().to_tensor().data().to_vec()
}

fn table(rows: &[f32], width: usize) -> Tensor<f32> {
    Tensor::new([rows.len() / width, width], rows.to_vec())
}

/// Rows in four clusters. Rows of one cluster differ by about `gap`, those of different clusters by about 1.
/// All are far from the origin.
fn clusters(rows: usize, width: usize, gap: f64, seed: u64) -> Vec<f32> {
    let mut rng = rng::stream(seed, 0, 0);
    let centres: Vec<f64> = {
        let mut rng = rng::stream(7, 0, 0);
        (0..4 * width).map(|_| 30.0 + rng.random_range(-1.0..1.0)).collect()
    };
    (0..rows * width)
        .map(|i| (centres[(i / width % 4) * width + i % width] + gap * rng.random_range(-1.0..1.0)) as f32)
        .collect()
}

fn difference(x: &[f32], y: &[f32]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| f64::from(*x) - f64::from(*y)).collect()
}

#[test]
fn squared_distances_and_their_gradients_are_accurate_near_and_far() {
    for width in [1, 3, 8, 9, 16, 37, 64] {
        for (n, m) in [(1, 1), (5, 1), (13, 29), (64, 64)] {
            for gap in [1e-3, 0.3] {
                let (x, y) = (clusters(n, width, gap, 1), clusters(m, width, gap, 2));
                let tape = Tape::with_device(Device::cpu());
                let [left, right] = [&x, &y].map(|rows| tape.variable(&table(rows, width)));
                let pairs = tape.pairs(Square, [left, right], [], [], []).scores();
                let s = pairs.to_tensor().data().to_vec();
                let mut rng = rng::stream(3, 0, 0);
                let w: Vec<f32> = s.iter().map(|s| rng.random_range(0.5..1.0) / (s.sqrt() + 1e-6)).collect();
                let gradients = tape.backward_from(pairs, &Tensor::new([n, m], w.clone()));
                let [dx, dy] = [left, right].map(|rows| gradients.wrt(rows).data().to_vec());
                // The same in f64, and the sums of the terms' absolute values, to which rounding is relative.
                let (mut ex, mut ey) = (vec![0.0; n * width], vec![0.0; m * width]);
                let (mut sums_x, mut sums_y) = (vec![0.0_f64; n], vec![0.0_f64; m]);
                for i in 0..n {
                    for j in 0..m {
                        let d = difference(&x[i * width..][..width], &y[j * width..][..width]);
                        let square: f64 = d.iter().map(|d| d * d).sum();
                        let (got, w) = (f64::from(s[i * m + j]), f64::from(w[i * m + j]));
                        assert!((got - square).abs() <= 4e-6 * square, "{width} {gap}: {got} {square}");
                        for (c, d) in d.iter().enumerate() {
                            ex[i * width + c] += 2.0 * w * d;
                            ey[j * width + c] -= 2.0 * w * d;
                        }
                        sums_x[i] += w * square.sqrt();
                        sums_y[j] += w * square.sqrt();
                    }
                }
                for (d, e, sums) in [(&dx, &ex, &sums_x), (&dy, &ey, &sums_y)] {
                    for (at, (d, e)) in d.iter().zip(e).enumerate() {
                        let error = (f64::from(*d) - e).abs();
                        assert!(error <= 4e-6 * sums[at / width], "{width} {gap}: {d} {e}");
                    }
                }
            }
        }
    }
}

#[test]
fn rows_that_are_not_finite_affect_only_their_own_distances() {
    let width = 16;
    let (x, mut y) = (clusters(9, width, 0.3, 1), clusters(11, width, 0.3, 2));
    let expected = squares(&x, &y, width);
    (y[0], y[width], y[2 * width]) = (f32::NAN, f32::INFINITY, 3e38);
    let s = squares(&x, &y, width);
    for (s, expected) in s.chunks(11).zip(expected.chunks(11)) {
        assert!(s[0].is_nan() && s[1] == f32::INFINITY && s[2] == f32::INFINITY, "{s:?}");
        assert!(
            s[3..].iter().zip(&expected[3..]).all(|(a, b)| (a - b).abs() <= 1e-5 * b),
            "{s:?} {expected:?}"
        );
    }
}

/// Uses functions that are single instructions on registers, and functions that are not.
#[derive(Clone, Copy)]
struct Mixed;

impl PairFormula<1, 1, 1> for Mixed {
    const NAME: &'static str = "mixed";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    fn compiled() -> &'static Compiled<Pair> {
        Compiled::pair_compiled::<Self, 1, 1, 1>()
    }
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [a]: [S; 1], [b]: [S; 1], [p]: [S; 1]) -> S {
        let curved = (p * square).arcsinc() * (-a * b).abs().sqrt();
        curved.max(square / (a + b)) - S::select(a.lt(b), square.exp(), (a - b).tanh())
    }
}

/// Scores of tiles whose columns fill whole registers and of others, and the gradients of all inputs.
pub(crate) fn digest(digest: &mut Digest) {
    let mut rng = rng::stream(1, 0, 0);
    let mut draw = |axes: &[usize]| Tensor::from_fn(axes, |_| rng.random_range(0.1..2.0_f32));
    for columns in [6, 7, 8, 16, 17, 37, 64] {
        let inputs = [draw(&[2, 3]), draw(&[columns, 3]), draw(&[2]), draw(&[columns]), Tensor::scalar(-0.7)];
        let tape = Tape::with_device(Device::cpu());
        let [x, y, left, right, p] = inputs.each_ref().map(|input| tape.variable(input));
        let scores = tape.pairs(Mixed, [x, y], [left], [right], [p]).scores();
        let mut results = vec![scores.to_tensor().data().to_vec()];
        let gradients = tape.backward_from(scores, &draw(&[2, columns]));
        for input in [x, y, left, right, p] {
            assert!(gradients.view(input).is_some());
            results.push(gradients.wrt(input).data().to_vec());
        }
        digest.line(format_args!("scores of 2 rows with {columns}"), &results);
    }
}
