//! The kernels that are not formulas: values against plain loops, gradients and forward mode against finite
//! differences, messages of bad shapes.

use cotangent::engine::formulas::{EuclideanDistance, ScaledDot};
use cotangent::engine::{Sparsity, Weights, check, loss};
use cotangent::manifolds::scores::{BallDistance, PenumbralCone, UmbralCone};
use cotangent::prelude::*;

type Loss = for<'t> fn(&[Var<'t, f64>]) -> Var<'t, f64>;

fn tensor(shape: &[usize], seed: u64) -> Tensor<f64> {
    use rand::RngExt;
    let mut rng = rng::stream(seed, 98, shape.len() as u64);
    Tensor::from_fn(shape, |_| rng.random_range(-1.0..1.0))
}

/// A number that depends on every element differently.
fn weigh(v: Var<'_, f64>) -> Var<'_, f64> {
    let weights = Tensor::from_fn(v.shape(), |i| 0.4 + (i as f64 * 1.7).sin());
    10.0 + (v * v.tape().constant(&weights)).sum()
}

/// The reverse pass against finite differences, forward mode against the reverse pass, and second derivatives
/// against finite differences of first ones.
#[track_caller]
fn assert_derivatives(inputs: &[Tensor<f64>], loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>) {
    assert_gradients(inputs, &loss);
    let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape(), 77)).collect();
    let worst = check::forward_mode(inputs, &directions, &loss);
    assert!(worst < 1e-10, "forward mode differs by {worst:e}");
    let worst = check::gradients(inputs, |v| {
        let tape = v[0].tape();
        let tangents: Vec<_> = v.iter().zip(&directions).map(|(x, d)| (*x, tape.constant(d))).collect();
        10.0 + tape.jvp(loss(v), &tangents)
    });
    assert!(worst.relative < 1e-6, "second derivatives: {worst:?}");
}

#[track_caller]
fn assert_gradients(inputs: &[Tensor<f64>], loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>) {
    let worst = check::gradients(inputs, loss);
    assert!(worst.relative < 2e-8, "{worst:?}");
}

fn value<const N: usize>(
    inputs: [&Tensor<f64>; N],
    f: impl for<'t> FnOnce([Var<'t, f64>; N]) -> Var<'t, f64>,
) -> Tensor<f64> {
    let tape = Tape::new();
    f(inputs.map(|t| tape.constant(t))).to_tensor()
}

#[track_caller]
fn assert_close(got: &Tensor<f64>, want: &Tensor<f64>, tolerance: f64) {
    assert_eq!(got.shape(), want.shape());
    for (i, (g, w)) in got.data().iter().zip(want.data()).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "element {i}: {g}, not {w}");
    }
}

/// `op(a) op(b)` of single matrices, in plain loops.
fn product(a: &Tensor<f64>, b: &Tensor<f64>, ta: bool, tb: bool) -> Tensor<f64> {
    let at = |t: &Tensor<f64>, i: usize, j: usize, transposed: bool| {
        if transposed { t.row(j)[i] } else { t.row(i)[j] }
    };
    let m = a.shape()[usize::from(ta)];
    let k = a.shape()[usize::from(!ta)];
    let n = b.shape()[usize::from(!tb)];
    Tensor::from_fn([m, n], |p| (0..k).map(|q| at(a, p / n, q, ta) * at(b, q, p % n, tb)).sum())
}

#[test]
fn matmul_is_the_product_for_all_sizes_and_transposes() {
    for (m, k, n) in
        [(1, 1, 1), (3, 4, 5), (16, 8, 32), (17, 70, 33), (100, 130, 90), (64, 300, 1), (1, 9, 200)]
    {
        let (a, b) = (tensor(&[m, k], 1), tensor(&[k, n], 2));
        assert_close(&value([&a, &b], |[a, b]| a.matmul(b)), &product(&a, &b, false, false), 1e-12);
        let bt = tensor(&[n, k], 3);
        assert_close(&value([&a, &bt], |[a, b]| a.matmul_nt(b)), &product(&a, &bt, false, true), 1e-12);
        let at = tensor(&[k, m], 4);
        assert_close(&value([&at, &b], |[a, b]| a.matmul_tn(b)), &product(&at, &b, true, false), 1e-12);
    }
    // Nothing to sum over, nothing to compute.
    let zero = value([&tensor(&[2, 0], 1), &tensor(&[0, 3], 2)], |[a, b]| a.matmul(b));
    assert_eq!(zero, Tensor::zeros([2, 3]));
    assert_eq!(
        value([&tensor(&[0, 4], 1), &tensor(&[4, 3], 2)], |[a, b]| a.matmul(b)),
        Tensor::zeros([0, 3])
    );
}

#[test]
fn matmul_has_its_derivatives_in_every_batching() {
    let shapes: [(&[usize], &[usize]); 5] = [
        (&[3, 4], &[4, 2]),
        (&[2, 3, 4], &[2, 4, 2]),
        (&[2, 3, 4], &[4, 2]),
        (&[3, 4], &[2, 4, 2]),
        (&[2, 2, 3, 4], &[2, 2, 4, 2]),
    ];
    for (a, b) in shapes {
        let swap = |s: &[usize]| {
            let mut s = s.to_vec();
            let n = s.len();
            s.swap(n - 2, n - 1);
            s
        };
        assert_derivatives(&[tensor(a, 1), tensor(b, 2)], |v| weigh(v[0].matmul(v[1])));
        assert_derivatives(&[tensor(a, 1), tensor(&swap(b), 2)], |v| weigh(v[0].matmul_nt(v[1])));
        assert_derivatives(&[tensor(&swap(a), 1), tensor(b, 2)], |v| weigh(v[0].matmul_tn(v[1])));
    }
    // Batched products are those of the entries.
    let (a, b) = (tensor(&[3, 4, 5], 1), tensor(&[3, 5, 6], 2));
    let all = value([&a, &b], |[a, b]| a.matmul(b));
    for i in 0..3 {
        let part = |t: &Tensor<f64>, len: usize, shape: [usize; 2]| {
            Tensor::new(shape, t.data()[i * len..(i + 1) * len].to_vec())
        };
        let want = product(&part(&a, 20, [4, 5]), &part(&b, 30, [5, 6]), false, false);
        assert_close(&part(&all, 24, [4, 6]), &want, 1e-13);
    }
}

#[test]
fn normalisations_have_their_values_and_derivatives() {
    let x = tensor(&[2, 3, 11], 1);
    let softmax = value([&x], |[x]| x.softmax(-1));
    for row in softmax.rows() {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
    assert_close(&value([&x], |[x]| x.log_softmax(-1).exp()), &softmax, 1e-14);
    for axis in [0, 1, 2, -1] {
        assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].softmax(axis)));
        assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].log_softmax(axis)));
    }
    // Far from where exp overflows, and shifted by any amount.
    let far = Tensor::new([1, 3], vec![1e4, 1e4 + 1.0, -1e4]);
    let e = 1_f64.exp();
    assert_close(
        &value([&far], |[x]| x.softmax(1)),
        &Tensor::new([1, 3], vec![1.0 / (1.0 + e), e / (1.0 + e), 0.0]),
        1e-14,
    );
    let (gain, bias) = (tensor(&[11], 2), tensor(&[11], 3));
    assert_derivatives(&[x.clone(), gain.clone(), bias.clone()], |v| {
        weigh(v[0].layer_norm(v[1], v[2], 1e-5))
    });
    assert_derivatives(&[tensor(&[1, 11], 5), gain, bias], |v| weigh(v[0].layer_norm(v[1], v[2], 1e-5)));
    // Mean 0 and variance 1, also far from zero.
    let ones = Tensor::from_fn([64], |_| 1.0_f32);
    let far = Tensor::from_fn([4, 64], |i| 1000.0 + (i % 64) as f32 * 0.25);
    let tape = Tape::new();
    let y = tape.constant(&far).layer_norm(tape.constant(&ones), tape.zeros([64]), 0.0).to_tensor();
    for row in y.rows() {
        let (mean, square) =
            row.iter().fold((0.0, 0.0), |(m, s), &x| (m + f64::from(x), s + f64::from(x * x)));
        assert!(mean.abs() < 1e-4 && (square / 64.0 - 1.0).abs() < 1e-5, "{mean} {square}");
    }
}

#[test]
fn reductions_are_those_of_plain_loops() {
    for (outer, n, inner) in [(1, 1, 1), (3, 7, 1), (2, 5, 3), (1, 40, 17), (4, 0, 2), (3, 1000, 1)] {
        let x = tensor(&[outer, n, inner], 1);
        let line = |p: usize| (0..n).map(move |j| (p / inner * n + j) * inner + p % inner);
        let each = |f: &dyn Fn(Vec<f64>) -> f64| {
            Tensor::from_fn([outer, inner], |p| f(line(p).map(|i| x.data()[i]).collect()))
        };
        assert_close(&value([&x], |[x]| x.sum_axis(1)), &each(&|l| l.iter().sum()), 1e-13);
        assert_close(
            &value([&x], |[x]| x.norm_axis(1)),
            &each(&|l| l.iter().map(|x| x * x).sum::<f64>().sqrt()),
            1e-13,
        );
        let max = value([&x], |[x]| x.max_axis(1));
        assert_eq!(max, each(&|l| l.into_iter().fold(f64::NEG_INFINITY, f64::max)));
        let lse = value([&x], |[x]| x.logsumexp(1));
        if n > 0 {
            assert_close(&lse, &each(&|l| l.iter().map(|x| x.exp()).sum::<f64>().ln()), 1e-13);
        } else {
            assert!(lse.data().iter().all(|&y| y == f64::NEG_INFINITY));
        }
    }
    let x = Tensor::new([2, 4], vec![1.0, f64::NAN, 2.0, 0.0, f64::INFINITY, 1.0, -f64::INFINITY, 0.0]);
    for axis in [0, 1] {
        let got = value([&x], |[x]| x.max_axis(axis));
        let nan = got.data().iter().filter(|x| x.is_nan()).count();
        assert_eq!(nan, 1, "{got}");
        let got = value([&x], |[x]| x.logsumexp(axis));
        assert_eq!(got.data().iter().filter(|x| x.is_nan()).count(), 1, "{got}");
        assert_eq!(got.data().iter().filter(|x| x.is_infinite()).count(), 1, "{got}");
    }
    let y = tensor(&[2, 5, 3], 1);
    for axis in [0, 1, 2] {
        assert_derivatives(std::slice::from_ref(&y), |v| weigh(v[0].norm_axis(axis)));
        assert_derivatives(std::slice::from_ref(&y), |v| weigh(v[0].logsumexp(axis)));
        assert_derivatives(std::slice::from_ref(&y), |v| weigh(v[0].mean_axis(axis)));
        assert_gradients(std::slice::from_ref(&y), |v| weigh(v[0].max_axis(axis)));
    }
    assert_gradients(std::slice::from_ref(&y), |v| 10.0 + v[0].max());
    assert_derivatives(std::slice::from_ref(&y), |v| 10.0 + v[0].sum() * v[0].mean());
}

#[test]
fn the_gradient_of_a_norm_at_zero_is_zero() {
    let tape = Tape::<f64>::new();
    let x = tape.variable(&Tensor::zeros([2, 3]));
    let gradients = tape.backward(x.norm_axis(1).sum());
    assert_eq!(gradients.wrt(x).unwrap().to_dense(2, 3), [0.0; 6]);
}

#[test]
fn indexing_moves_the_right_elements() {
    let x = Tensor::from_fn([2, 3, 4], |i| i as f64);
    let permuted = value([&x], |[x]| x.permute(&[2, 0, 1]));
    assert_eq!(permuted.shape().axes(), [4, 2, 3]);
    for (i, j, k) in (0..4).flat_map(|i| (0..2).flat_map(move |j| (0..3).map(move |k| (i, j, k)))) {
        assert_eq!(permuted.data()[(i * 2 + j) * 3 + k], x.data()[(j * 3 + k) * 4 + i]);
    }
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].permute(&axes)));
    }
    let parts = [tensor(&[2, 1, 3], 1), tensor(&[2, 4, 3], 2), tensor(&[2, 0, 3], 3)];
    let whole = value([&parts[0], &parts[1], &parts[2]], |v| Var::concat(&v, 1));
    assert_eq!(whole.shape().axes(), [2, 5, 3]);
    assert_eq!(value([&whole], |[x]| x.slice(1, 1..5)), parts[1]);
    assert_derivatives(&parts[..2], |v| weigh(Var::concat(v, -2)));
    assert_derivatives(&[tensor(&[2, 3], 1), tensor(&[2, 3], 2)], |v| {
        weigh(Var::concat(&[v[0], v[1], v[0]], 0))
    });

    let table = tensor(&[4, 2, 3], 5);
    let rows = [3, 0, 3];
    let gathered = value([&table], |[t]| t.gather(&rows));
    assert_eq!(gathered.shape().axes(), [3, 2, 3]);
    assert_eq!(gathered.data()[6..12], table.data()[0..6]);
    let scattered = value([&gathered], |[g]| g.scatter_add(&rows, 4));
    assert_eq!(scattered.data()[18], 2.0 * table.data()[18]);
    assert_eq!(scattered.data()[6..18], [0.0; 12]);
    assert_derivatives(&[table], |v| weigh(v[0].gather(&rows)));
    assert_derivatives(&[gathered], |v| weigh(v[0].square().scatter_add(&rows, 5)));

    let x = tensor(&[2, 5], 6);
    assert_eq!(value([&x], |[x]| x.take_along(&[4, 0])).data(), [x.data()[4], x.data()[5]]);
    assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].take_along(&[4, 4, 0, 1])));
    assert_gradients(std::slice::from_ref(&x), |v| weigh(v[0].top_k(3).0));
    let tape = Tape::<f64>::new();
    let x =
        tape.constant(&Tensor::new([2, 4], vec![1.0, 3.0, 3.0, -1.0, 0.0, f64::NAN, 5.0, -f64::INFINITY]));
    let (values, columns) = x.top_k(2);
    assert_eq!(columns, [1, 2, 1, 2]);
    assert_eq!(values.to_tensor().data()[..2], [3.0, 3.0]);
    assert_eq!(tape.one_hot(&[2, 0], 3).to_tensor().data(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    let mask = tape.constant(&Tensor::new([4], vec![0.0, 1.0, 0.0, 1.0]));
    assert_eq!(x.masked_fill(mask, 7.0).to_tensor().row(0), [1.0, 7.0, 3.0, 7.0]);
}

#[test]
fn dropout_keeps_the_mean_and_the_gradient_its_mask() {
    let mut rng = rng::stream(5, 0, 0);
    let x = Tensor::from_fn([100, 100], |_| 1.0_f64);
    let tape = Tape::new();
    let v = tape.variable(&x);
    let y = v.dropout(0.3, &mut rng);
    let kept = y.to_tensor();
    let scale = 1.0 / 0.7;
    assert!(kept.data().iter().all(|&y| y == 0.0 || y == scale));
    let mean = kept.data().iter().sum::<f64>() / 1e4;
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    let gradients = tape.backward(y.sum());
    assert_eq!(gradients.wrt(v).unwrap().to_dense(100, 100), kept.data());
    drop(gradients);
    let again = value([&x], |[x]| x.dropout(0.3, &mut rng::stream(5, 0, 0)));
    assert_eq!(again, kept);
    assert_eq!(value([&x], |[x]| x.dropout(0.0, &mut rng)), x);
}

/// Attention with stored scores, in plain loops.
fn attention(q: &Tensor<f64>, k: &Tensor<f64>, v: &Tensor<f64>, scale: f64, causal: bool) -> Tensor<f64> {
    let axes = q.shape().axes();
    let (batch, n, d) = (axes[0], axes[1], axes[2]);
    let (m, e) = (k.shape()[1], v.width());
    let mut out = Tensor::zeros([batch, n, e]);
    for b in 0..batch {
        for i in 0..n {
            let reach = if causal { (i + 1 + m).saturating_sub(n).min(m) } else { m };
            let row = |t: &Tensor<f64>, j: usize, len: usize| t.row(b * len + j).to_vec();
            let dot = |j: usize| row(q, i, n).iter().zip(row(k, j, m)).map(|(a, b)| a * b).sum::<f64>();
            let weights: Vec<f64> = (0..reach).map(|j| (scale * dot(j)).exp()).collect();
            let total: f64 = weights.iter().sum();
            for (j, w) in weights.iter().enumerate() {
                for (y, x) in out.row_mut(b * n + i).iter_mut().zip(row(v, j, m)) {
                    *y += w / total * x;
                }
            }
        }
    }
    let _ = d;
    out
}

#[test]
fn attend_is_attention_and_has_its_derivatives() {
    for (batch, n, m, d, e) in
        [(1, 1, 1, 1, 1), (2, 5, 7, 3, 4), (2, 7, 5, 3, 2), (1, 150, 1030, 4, 3), (3, 40, 40, 8, 8)]
    {
        let (q, k, v) = (tensor(&[batch, n, d], 1), tensor(&[batch, m, d], 2), tensor(&[batch, m, e], 3));
        for causal in [false, true] {
            let got = value([&q, &k, &v], |[q, k, v]| q.attend(k, v, 0.7, causal));
            assert_close(&got, &attention(&q, &k, &v, 0.7, causal), 1e-13);
        }
    }
    // Of more queries than keys the first attend to nothing, if causal.
    for (n, m, causal) in [(5, 6, false), (5, 6, true), (7, 5, true)] {
        let (q, k, v) = (tensor(&[2, n, 3], 1), tensor(&[2, m, 3], 2), tensor(&[2, m, 4], 3));
        assert_gradients(&[q.clone(), k.clone(), v.clone()], |x| weigh(x[0].attend(x[1], x[2], 0.7, causal)));
        let inputs = [q.clone(), k.clone(), v.clone()];
        let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape(), 9)).collect();
        let worst =
            check::forward_mode(&inputs, &directions, |x| weigh(x[0].attend(x[1], x[2], 0.7, causal)));
        assert!(worst < 1e-10, "{worst:e}");
    }
    // Many tiles, with the reverse pass through the same scores again.
    let (q, k, v) = (tensor(&[1, 140, 2], 1), tensor(&[1, 1100, 2], 2), tensor(&[1, 1100, 2], 3));
    let directions: Vec<Tensor<f64>> = [&q, &k, &v].iter().map(|t| tensor(t.shape(), 9)).collect();
    let worst = check::forward_mode(&[q, k, v], &directions, |x| weigh(x[0].attend(x[1], x[2], 1.0, true)));
    assert!(worst < 1e-9, "{worst:e}");
}

/// A score with numbers of both rows and a parameter, through both of its kernels.
#[derive(Clone, Copy)]
struct Bump;

impl PairFormula<1, 2, 1> for Bump {
    const NAME: &'static str = "bump";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    fn eval<S: Scalar>(square: S, [a]: [S; 1], [b, c]: [S; 2], [s]: [S; 1]) -> S {
        (a * b - s * square) / (S::one() + c.square()) + a
    }
}

#[test]
fn pair_formulas_pass_gradients_to_numbers_of_rows_and_parameters() {
    // The last has more pairs in a row than are derived at a time.
    let shapes: [[&[usize]; 2]; 4] =
        [[&[2, 4, 3], &[2, 5, 3]], [&[2, 4, 3], &[5, 3]], [&[40, 3], &[90, 3]], [&[2, 1], &[530, 1]]];
    for [x, y] in shapes {
        let rows = |s: &[usize]| s[..s.len() - 1].to_vec();
        let inputs = [
            tensor(x, 1),
            tensor(y, 2),
            tensor(&rows(x), 3),
            tensor(&rows(y), 4),
            tensor(&rows(y), 5),
            Tensor::scalar(0.7),
        ];
        let score: Loss = |v| weigh(v[0].tape().pairs(Bump, v[0], v[1], [v[2]], [v[3], v[4]], [v[5]]));
        assert_gradients(&inputs, score);
        let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape(), 9)).collect();
        let worst = check::forward_mode(&inputs, &directions, score);
        assert!(worst < 1e-10, "{worst:e}");
        if x.len() == y.len() {
            let mut inputs = inputs.to_vec();
            inputs.push(tensor(y, 6));
            for weights in [Weights::Softmax, Weights::Sigmoid] {
                assert_gradients(&inputs, |v| {
                    let (tape, rows) = (v[0].tape(), [v[0], v[1], v[6]]);
                    weigh(tape.attend(Bump, rows, [v[2]], [v[3], v[4]], [v[5]], weights, false))
                });
            }
        }
    }
}

/// Scores whose derivatives are taken at once, in single precision and so on whole registers: values and gradients
/// against those in double precision. A row has more pairs than are derived at a time.
#[test]
fn pair_formulas_in_single_precision_are_those_in_double() {
    fn run<T: Float, F: PairFormula<1, 1, 3>>(
        formula: F,
        inputs: &[Tensor<f64>; 5],
        params: [f64; 3],
        stored: bool,
    ) -> Vec<Vec<f64>> {
        let tape = Tape::<T>::new();
        let [x, y, a, b, v] = inputs
            .each_ref()
            .map(|x| tape.variable(&Tensor::from_fn(x.shape().clone(), |i| T::nearest(x.data()[i]))));
        let params = params.map(|p| tape.variable(&Tensor::scalar(T::nearest(p))));
        let out = if stored {
            tape.pairs(formula, x, y, [a], [b], params)
        } else {
            tape.attend(formula, [x, y, v], [a], [b], params, Weights::Softmax, false)
        };
        let weights = Tensor::from_fn(out.shape(), |i| T::nearest(0.4 + (i as f64 * 1.7).sin()));
        let mut all = vec![out.to_tensor().data().iter().map(|x| x.to_f64()).collect()];
        let of_inputs: Vec<_> =
            [x, y, a, b].into_iter().chain(params).map(|x| (x, x.shape().len())).collect();
        let gradients = tape.backward((out * tape.constant(&weights)).sum());
        for (x, len) in of_inputs {
            let dense = gradients.wrt(x).expect("a gradient").to_dense(1, len);
            all.push(dense.iter().map(|x| x.to_f64()).collect());
        }
        all
    }
    fn compare<F: PairFormula<1, 1, 3>>(formula: F, params: [f64; 3]) {
        for (m, width) in [(530, 16), (37, 5)] {
            let numbers = |n: usize, seed| {
                let x = tensor(&[1, n], seed);
                Tensor::from_fn([1, n], |i| 0.5 + 0.3 * x.data()[i])
            };
            let rows = |n: usize, seed| tensor(&[1, n, width], seed);
            // What single precision can hold, so that both take the same numbers.
            let inputs = [rows(3, 1), rows(m, 2), numbers(3, 3), numbers(m, 4), rows(m, 5)]
                .map(|x| Tensor::from_fn(x.shape().clone(), |i| f64::from(x.data()[i] as f32)));
            for stored in [true, false] {
                let single = run::<f32, F>(formula, &inputs, params, stored);
                let double = run::<f64, F>(formula, &inputs, params, stored);
                for (which, (single, double)) in single.iter().zip(&double).enumerate() {
                    let largest = double.iter().fold(0.0_f64, |max, x| max.max(x.abs()));
                    for (s, d) in single.iter().zip(double) {
                        let error = (s - d).abs();
                        // An offset makes no difference to a softmax: its gradient cancels.
                        assert!(error <= 1e-4 * largest + 1e-6, "{} {m} {which}: {s} {d}", F::NAME);
                    }
                }
            }
        }
    }
    compare(BallDistance, [0.7, 0.2, -1.0]);
    compare(PenumbralCone, [0.7, 0.2, 1.0]);
    compare(UmbralCone, [0.7, 0.2, 0.1]);
}

#[test]
fn products_do_not_depend_on_the_number_of_threads() {
    let (a, b) = (tensor(&[33, 512], 1), tensor(&[512, 32], 2));
    let [a, b] = [a, b].map(|x| Tensor::from_fn(x.shape().clone(), |i| x.data()[i] as f32));
    let run = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let tape = Tape::<f32>::new();
            tape.constant(&a).matmul(tape.constant(&b)).to_tensor()
        })
    };
    let one = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
}

#[test]
fn convolution_and_pooling_are_those_of_plain_loops() {
    let (x, w) = (tensor(&[2, 3, 6, 7], 1), tensor(&[4, 3, 3, 2], 2));
    for (stride, padding) in [(1, 0), (2, 0), (1, 1), (2, 2), (3, 1)] {
        let got = value([&x, &w], |[x, w]| x.conv2d(w, stride, padding));
        let &[_, _, oh, ow] = got.shape().axes() else { panic!("four axes") };
        assert_eq!((oh, ow), ((6 + 2 * padding - 3) / stride + 1, (7 + 2 * padding - 2) / stride + 1));
        let want = Tensor::from_fn(got.shape().clone(), |p| {
            let (px, py, f, b) = (p % ow, p / ow % oh, p / (ow * oh) % 4, p / (ow * oh * 4));
            let mut sum = 0.0;
            for (c, ky, kx) in (0..3).flat_map(|c| (0..3).flat_map(move |y| (0..2).map(move |x| (c, y, x)))) {
                let (y, xx) = (py * stride + ky, px * stride + kx);
                if (padding..6 + padding).contains(&y) && (padding..7 + padding).contains(&xx) {
                    let at = ((b * 3 + c) * 6 + y - padding) * 7 + xx - padding;
                    sum += x.data()[at] * w.data()[((f * 3 + c) * 3 + ky) * 2 + kx];
                }
            }
            sum
        });
        assert_close(&got, &want, 1e-13);
        let small = [tensor(&[2, 2, 4, 5], 1), tensor(&[3, 2, 3, 2], 2)];
        assert_derivatives(&small, |v| weigh(v[0].conv2d(v[1], stride, padding)));
    }
    let x = tensor(&[2, 3, 5, 6], 3);
    for (size, stride) in [(2, 2), (3, 1), (1, 1), (5, 3)] {
        assert_gradients(std::slice::from_ref(&x), |v| weigh(v[0].max_pool2d(size, stride)));
        assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].mean_pool2d(size, stride)));
    }
    let x = Tensor::from_fn([1, 4, 4], |i| i as f64);
    assert_eq!(value([&x], |[x]| x.max_pool2d(2, 2)).data(), [5.0, 7.0, 13.0, 15.0]);
    assert_eq!(value([&x], |[x]| x.mean_pool2d(2, 2)).data(), [2.5, 4.5, 10.5, 12.5]);
}

#[test]
fn losses_have_their_values_and_gradients() {
    let x = tensor(&[4, 5], 1);
    let labels = [1, loss::IGNORE, 4, 0];
    for smoothing in [0.0, 0.2] {
        let want: f64 = [(0, 1), (2, 4), (3, 0)]
            .into_iter()
            .map(|(row, label)| {
                let lse = x.row(row).iter().map(|x| x.exp()).sum::<f64>().ln();
                let mean = x.row(row).iter().sum::<f64>() / 5.0;
                lse - (1.0 - smoothing) * x.row(row)[label] - smoothing * mean
            })
            .sum::<f64>()
            / 3.0;
        let got = value([&x], |[x]| loss::cross_entropy(x, &labels, smoothing)).data()[0];
        assert!((got - want).abs() < 1e-14, "{got} {want}");
        assert_derivatives(std::slice::from_ref(&x), |v| {
            10.0 + loss::cross_entropy(v[0], &labels, smoothing)
        });
    }
    let ignored = [loss::IGNORE; 4];
    let tape = Tape::new();
    let v = tape.variable(&x);
    let nothing = loss::cross_entropy(v, &ignored, 0.0);
    assert_eq!(nothing.item(), 0.0);
    assert_eq!(tape.backward(nothing).wrt(v).unwrap().to_dense(4, 5), [0.0; 20]);

    let targets = Tensor::from_fn([4, 5], |i| (i % 3) as f64 / 2.0);
    assert_derivatives(std::slice::from_ref(&x), |v| 10.0 + loss::binary_cross_entropy(v[0], &targets));
    let far = Tensor::new([2], vec![800.0, -800.0]);
    assert_eq!(
        value([&far], |[x]| loss::binary_cross_entropy(x, &Tensor::new([2], vec![1.0, 0.0]))).data(),
        [0.0]
    );
    assert_derivatives(&[x, targets], |v| 10.0 + loss::mean_squared_error(v[0], v[1]));
}

/// Shapes that do not fit: the message names the operation and the shapes.
#[test]
fn bad_shapes_are_named() {
    fn message(f: impl FnOnce(&Tape<f64>) + std::panic::UnwindSafe) -> String {
        let panic = std::panic::catch_unwind(|| f(&Tape::new())).unwrap_err();
        panic
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).into())
    }
    fn zeros<'t>(tape: &'t Tape<f64>, shape: &[usize]) -> Var<'t, f64> {
        tape.zeros(shape)
    }
    type Bad = fn(&Tape<f64>);
    let cases: &[(Bad, &str)] = &[
        (|t| drop(zeros(t, &[2, 3]).matmul(zeros(t, &[4, 5])).shape()), "matmul: [2, 3] × [4, 5]: matrices"),
        (
            |t| drop(zeros(t, &[2, 3]).matmul_nt(zeros(t, &[3, 5])).shape()),
            "matmul: [2, 3] × [3, 5] transposed",
        ),
        (|t| drop(zeros(t, &[3]).matmul(zeros(t, &[3, 5])).shape()), "matmul: [3] × [3, 5]"),
        (|t| drop(zeros(t, &[2, 3]).sum_axis(2).shape()), "sum: shape [2, 3] has no axis 2"),
        (|t| drop(zeros(t, &[2, 3]).softmax(-3).shape()), "softmax: shape [2, 3] has no axis -3"),
        (
            |t| drop(zeros(t, &[2, 3]).slice(1, 2..4).shape()),
            "slice: 2..4 of axis 1 of shape [2, 3], which has 3",
        ),
        (
            |t| drop(zeros(t, &[2, 3]).permute(&[0, 0]).shape()),
            "permute: [0, 0] is not an order of the axes of shape [2, 3]",
        ),
        (|t| drop(zeros(t, &[2, 3]).reshape([7]).shape()), "reshape: [2, 3] has 6 elements, [7] has 7"),
        (|t| drop(zeros(t, &[2, 3]).take_along(&[0, 3]).shape()), "take_along: position 3 of rows of 3"),
        (
            |t| drop(zeros(t, &[2, 3]).take_along(&[0]).shape()),
            "take_along: 1 positions for 2 rows of shape [2, 3]",
        ),
        (
            |t| drop(zeros(t, &[2, 3]).scatter_add(&[0, 9], 4).shape()),
            "scatter_add: row 9 of a table of 4 rows",
        ),
        (|t| drop(zeros(t, &[2, 3]).top_k(4).1), "top_k: 4 of rows of 3, shape [2, 3]"),
        (|t| drop(t.one_hot(&[4], 3).shape()), "one_hot: position 4 of 3"),
        (
            |t| drop(Var::concat(&[zeros(t, &[2, 3]), zeros(t, &[3, 2])], 0).shape()),
            "concat: shapes [2, 3], [3, 2] differ in more than axis 0",
        ),
        (
            |t| drop(zeros(t, &[2, 3]).layer_norm(zeros(t, &[2]), zeros(t, &[3]), 0.0).shape()),
            "layer_norm: rows of shape [2, 3] need a gain and a bias [3], not [2], [3]",
        ),
        (
            |t| drop(zeros(t, &[1, 2, 3, 3]).conv2d(zeros(t, &[1, 3, 2, 2]), 1, 0).shape()),
            "conv2d: images [batch, channels, h, w]",
        ),
        (
            |t| drop(zeros(t, &[1, 2, 3, 3]).conv2d(zeros(t, &[1, 2, 4, 4]), 1, 0).shape()),
            "conv2d: a window [4, 4] does not fit an image [3, 3]",
        ),
        (|t| drop(zeros(t, &[3, 3]).max_pool2d(2, 0).shape()), "max_pool2d: a window [2, 2] of stride 0"),
        (
            |t| {
                drop(
                    zeros(t, &[1, 2, 3])
                        .attend(zeros(t, &[1, 4, 3]), zeros(t, &[1, 5, 3]), 1.0, false)
                        .shape(),
                )
            },
            "attend: queries [1, 2, 3], keys [1, 4, 3] and values [1, 5, 3] do not fit",
        ),
        (
            |t| {
                let (q, k) = (zeros(t, &[1, 2, 3]), zeros(t, &[1, 0, 3]));
                q.attend(k, k, 1.0, false);
            },
            "attend: there is nothing to pair with: rows [1, 2, 3], [1, 0, 3]",
        ),
        (
            |t| {
                let (q, v) = (zeros(t, &[1, 2, 3]), zeros(t, &[1, 2, 0]));
                q.attend(q, v, 1.0, false);
            },
            "attend: values [1, 2, 0] of no elements",
        ),
        (
            |t| drop(t.jvp(zeros(t, &[2]), &[(zeros(t, &[2]), zeros(t, &[3]))]).shape()),
            "jvp: a tangent of shape [3] for a variable of shape [2]",
        ),
        (
            |t| drop(loss::cross_entropy(zeros(t, &[2, 3]), &[0, 3], 0.0).shape()),
            "cross_entropy: label 3 of row 1, of 3 classes",
        ),
        (
            |t| drop(zeros(t, &[8]).sparse_matmul(&sparsity(4, 5, &PLACES), zeros(t, &[4, 2])).shape()),
            "sparse_matmul: rows [5, d] or [5, heads, d] are needed, not [4, 2]",
        ),
        (
            |t| drop(zeros(t, &[8]).sparse_matmul(&sparsity(4, 5, &PLACES), zeros(t, &[5, 3, 2])).shape()),
            "sparse_matmul: 8 elements, for each head, are needed, not [8], for [5, 3, 2]",
        ),
        (
            |t| drop(zeros(t, &[7]).segment_softmax(&sparsity(4, 5, &PLACES)).shape()),
            "segment_softmax: scores [8, …] of the elements are needed, not [7]",
        ),
        (
            |t| {
                let rows = [zeros(t, &[4, 2]), zeros(t, &[5, 3])];
                t.sparse_pairs(EuclideanDistance, &sparsity(4, 5, &PLACES), rows, [], [], []);
            },
            "sparse_pairs: rows [4, 2] and [5, 3] do not go together",
        ),
        (
            |_| drop(Sparsity::new(2, 3, &[(0, 0), (1, 3)])),
            "element (1, 3) of a sparse matrix of 2 rows and 3 columns",
        ),
    ];
    for (bad, want) in cases {
        let got = message(*bad);
        assert!(got.contains(want), "{got:?} should contain {want:?}");
    }
}

/// Elements of a sparse matrix: a row and a column without any, a place with two, in no order.
const PLACES: [(u32, u32); 8] = [(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (0, 1), (3, 3), (2, 0)];

fn sparsity(rows: usize, columns: usize, pairs: &[(u32, u32)]) -> std::sync::Arc<Sparsity> {
    std::sync::Arc::new(Sparsity::new(rows, columns, pairs))
}

/// The matrix itself, of one head.
fn dense(sparsity: &Sparsity, elements: &Tensor<f64>, head: usize) -> Tensor<f64> {
    let heads = elements.len() / sparsity.pairs().len();
    let mut matrix = Tensor::zeros([sparsity.rows(), sparsity.columns()]);
    for (e, &(i, j)) in sparsity.pairs().iter().enumerate() {
        matrix.row_mut(i as usize)[j as usize] += elements.data()[e * heads + head];
    }
    matrix
}

#[test]
fn sparse_products_are_those_of_the_matrices() {
    let small = sparsity(4, 5, &PLACES);
    let many: Vec<(u32, u32)> = (0..20_000).map(|e| (e * 7919 % 700, e * 104_729 % 300)).collect();
    for (of, d) in [(small, 3), (sparsity(700, 300, &many), 17)] {
        let count = of.pairs().len();
        let (w, x) = (tensor(&[count], 1), tensor(&[of.columns(), d], 2));
        let want = product(&dense(&of, &w, 0), &x, false, false);
        assert_close(&value([&w, &x], |[w, x]| w.sparse_matmul(&of, x)), &want, 1e-12);
        // Of each head its own.
        let (w, x) = (tensor(&[count, 2], 3), tensor(&[of.columns(), 2, d], 4));
        let have = value([&w, &x], |[w, x]| w.sparse_matmul(&of, x).swap_axes(0, 1));
        for head in 0..2 {
            let part = Tensor::from_fn([of.columns(), d], |i| x.data()[(i / d * 2 + head) * d + i % d]);
            let want = product(&dense(&of, &w, head), &part, false, false);
            let size = want.len();
            let have =
                Tensor::new(want.shape().clone(), have.data()[head * size..(head + 1) * size].to_vec());
            assert_close(&have, &want, 1e-12);
        }
    }
    let of = sparsity(4, 5, &PLACES);
    assert_derivatives(&[tensor(&[8], 1), tensor(&[5, 3], 2)], |v| weigh(v[0].sparse_matmul(&of, v[1])));
    assert_derivatives(&[tensor(&[8, 2], 1), tensor(&[5, 2, 3], 2)], |v| {
        weigh(v[0].sparse_matmul(&of, v[1]))
    });
    // Nothing at all.
    let none = sparsity(2, 3, &[]);
    assert_eq!(
        value([&tensor(&[0], 1), &tensor(&[3, 2], 2)], |[w, x]| w.sparse_matmul(&none, x)),
        Tensor::zeros([2, 2])
    );
}

#[test]
fn segment_softmax_is_softmax_of_the_elements_of_each_row() {
    let of = sparsity(4, 5, &PLACES);
    let x = tensor(&[8, 2], 1);
    let y = value([&x], |[x]| x.segment_softmax(&of));
    for head in 0..2 {
        for row in 0..4 {
            let of_row = || (0..8).filter(|&e| of.pairs()[e].0 == row).map(|e| e * 2 + head);
            let total: f64 = of_row().map(|p| x.data()[p].exp()).sum();
            for p in of_row() {
                assert!((y.data()[p] - x.data()[p].exp() / total).abs() < 1e-15);
            }
        }
    }
    // Far from where exp overflows.
    let far = value([&x], |[x]| (x * 0.0 + 1e4).segment_softmax(&of));
    assert!((far.data()[0] - 1.0 / 3.0).abs() < 1e-15);
    assert_derivatives(&[tensor(&[8], 3)], |v| weigh(v[0].segment_softmax(&of)));
    assert_derivatives(std::slice::from_ref(&x), |v| weigh(v[0].segment_softmax(&of)));
    // As many as several threads share: each row sums to 1.
    let many: Vec<(u32, u32)> = (0..50_000).map(|e| (e * 7919 % 900, 0)).collect();
    let of = sparsity(1000, 1, &many);
    let ones = value([&tensor(&[1, 3], 2)], |[x]| {
        let scores = x.tape().constant(&tensor(&[50_000, 3], 4));
        scores.segment_softmax(&of).sparse_matmul(&of, (x * 0.0 + 1.0).reshape([1, 3, 1]))
    });
    let want = Tensor::from_fn([1000, 3, 1], |i| f64::from(u8::from(i < 2700)));
    assert_close(&ones, &want, 1e-12);
}

/// Some pairs have the scores that they have among all.
#[test]
fn sparse_pairs_are_some_of_all_pairs() {
    let of = sparsity(4, 5, &PLACES);
    let (x, y) = (tensor(&[4, 2, 3], 1), tensor(&[5, 2, 3], 2));
    let heights = |n| Tensor::from_fn([n, 2], |i| 0.3 + 0.1 * i as f64);
    let inputs = [x, y, heights(4), heights(5), Tensor::new([], vec![0.8])];
    fn heads_first<'t>(x: Var<'t, f64>) -> Var<'t, f64> {
        x.swap_axes(0, 1)
    }
    type Score = for<'t> fn(&std::sync::Arc<Sparsity>, &[Var<'t, f64>], bool) -> Var<'t, f64>;
    macro_rules! score {
        ($formula:expr, |$v:ident| $left:expr, $right:expr, $params:expr) => {
            |of, $v, sparse| {
                let tape = $v[0].tape();
                let (x, left, right) = ([$v[0], $v[1]], $left, $right);
                if sparse {
                    return tape.sparse_pairs($formula, of, x, left, right, $params);
                }
                let ([x, y], left, right) =
                    (x.map(heads_first), left.map(heads_first), right.map(heads_first));
                let all = tape.pairs($formula, x, y, left, right, $params).permute(&[1, 2, 0]);
                let places: Vec<u32> = of.pairs().iter().map(|(i, j)| i * 5 + j).collect();
                all.reshape([20, 2]).gather(&places)
            }
        };
    }
    let scores: [Score; 3] = [
        score!(ScaledDot, |v| [], [], [v[4]]),
        score!(EuclideanDistance, |v| [], [], []),
        score!(UmbralCone, |v| [v[2]], [v[3]], [v[4], v[4] * 0.1, v[4] * 0.7]),
    ];
    for score in scores {
        let tape = Tape::new();
        let v: Vec<Var<'_, f64>> = inputs.iter().map(|x| tape.variable(x)).collect();
        assert_close(&score(&of, &v, true).to_tensor(), &score(&of, &v, false).to_tensor(), 1e-14);
        assert_gradients(&inputs, |v| weigh(score(&of, v, true)) + v[2].sum() + v[3].sum() + v[4]);
        let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape(), 77)).collect();
        let worst = check::forward_mode(&inputs, &directions, |v| weigh(score(&of, v, true)));
        assert!(worst < 1e-10, "forward mode differs by {worst:e}");
    }
    // As many as several threads share, with numbers of rows and parameters.
    let many: Vec<(u32, u32)> = (0..20_000).map(|e| (e * 7919 % 70, e * 104_729 % 300)).collect();
    let of = sparsity(70, 300, &many);
    let run = |sparse: bool, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tape = Tape::new();
            let [x, y] = [70, 300].map(|n| tape.variable(&tensor(&[n, 3, 9], 5)));
            let [a, b] =
                [70, 300].map(|n| tape.variable(&Tensor::from_fn([n, 3], |i| 0.3 + 1e-3 * i as f64)));
            let params = [0.7, 0.1, 0.4].map(|p| tape.variable(&Tensor::new([], vec![p])));
            let scores = if sparse {
                tape.sparse_pairs(UmbralCone, &of, [x, y], [a], [b], params)
            } else {
                let [x, y, a, b] = [x, y, a, b].map(heads_first);
                let places: Vec<u32> = of.pairs().iter().map(|(i, j)| i * 300 + j).collect();
                let all = tape.pairs(UmbralCone, x, y, [a], [b], params).permute(&[1, 2, 0]);
                all.reshape([21_000, 3]).gather(&places)
            };
            let value = scores.to_tensor();
            let gradients = tape.backward((scores * scores).sum());
            let of = |x: Var<'_, f64>, n, width| {
                Tensor::new([n, width], gradients.wrt(x).unwrap().to_dense(n, width))
            };
            let rows = [of(x, 70, 27), of(y, 300, 27), of(a, 70, 3), of(b, 300, 3)];
            [vec![value], rows.to_vec(), params.map(|p| of(p, 1, 1)).to_vec()].concat()
        })
    };
    let have = run(true, 2);
    for (have, want) in have.iter().zip(&run(false, 1)) {
        assert_close(have, want, 1e-11);
    }
    assert_eq!(run(true, 1), have);
}
