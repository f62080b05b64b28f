//! Kernels that are not formulas: values compared with plain loops, gradients with finite differences,
//! forward mode with the reverse pass.

use cotangent::engine::{check, loss};
use cotangent::prelude::*;

use crate::common::{
    Loss, assert_close, assert_derivatives, assert_gradients, product, tensor, value, weigh,
};

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
    // An empty sum, and an empty result.
    let zero = value([&tensor(&[2, 0], 1), &tensor(&[0, 3], 2)], |[a, b]| a.matmul(b));
    assert_eq!(zero, Tensor::zeros([2, 3]));
    assert_eq!(
        value([&tensor(&[0, 4], 1), &tensor(&[4, 3], 2)], |[a, b]| a.matmul(b)),
        Tensor::zeros([0, 3])
    );
}

/// Sizes at the bounds of the methods that compute products. Sums of small integers are exact.
#[test]
fn matmul_of_integers_is_exact_by_every_method() {
    let integers =
        |shape: [usize; 2], seed: usize| Tensor::from_fn(shape, |i| ((i * 31 + seed) % 9) as f64 - 4.0);
    for (m, k, n) in [(128, 1024, 65), (97, 1025, 66), (130, 40, 512), (127, 40, 513), (200, 72, 80)] {
        let (a, b) = (integers([m, k], 1), integers([k, n], 2));
        let want = product(&a, &b, false, false);
        let transposed = |t: &Tensor<f64>| {
            let &[rows, columns] = t.shape().axes() else { panic!("two axes") };
            Tensor::from_fn([columns, rows], |i| t.data()[i % rows * columns + i / rows])
        };
        let [a, b, at, bt] = [&a, &b, &transposed(&a), &transposed(&b)]
            .map(|t| Tensor::from_fn(t.shape().clone(), |i| t.data()[i] as f32));
        let tape = Tape::<f32>::new();
        let [a, b, at, bt] = [a, b, at, bt].map(|t| tape.constant(&t));
        let bias = Tensor::from_fn([n], |i| i as f32);
        let biased = a.linear(bt, tape.constant(&bias));
        for (got, by_column) in
            [(a.matmul(b), 0.0), (a.matmul_nt(bt), 0.0), (at.matmul_tn(b), 0.0), (biased, 1.0)]
        {
            let same = got
                .to_tensor()
                .data()
                .iter()
                .zip(want.data())
                .enumerate()
                .all(|(i, (&got, &want))| f64::from(got) == want + by_column * (i % n) as f64);
            assert!(same, "{m} x {k} x {n}");
        }
    }
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
        let inputs = [tensor(a, 1), tensor(&swap(b), 2), tensor(&[2], 3)];
        assert_derivatives(&inputs, |v| weigh(v[0].linear(v[1], v[2])));
    }
    // The gradient of a bias from a single row, and alone.
    let (w, b) = (tensor(&[2, 4], 2), tensor(&[2], 3));
    assert_derivatives(&[tensor(&[1, 4], 1), w.clone(), b.clone()], |v| weigh(v[0].linear(v[1], v[2])));
    assert_gradients(&[b], |v| {
        let [x, w] = [&tensor(&[3, 4], 1), &w].map(|t| v[0].tape().constant(t));
        weigh(x.linear(w, v[0]))
    });
    // From no rows it is 0; rows of no elements give the bias itself.
    for shape in [&[0, 4][..], &[3, 0, 4]] {
        let tape = Tape::new();
        let [x, w, b] = [tensor(shape, 1), tensor(&[2, 4], 2), tensor(&[2], 3)].map(|t| tape.variable(&t));
        let gradients = tape.backward(x.linear(w, b).sum());
        assert_eq!(gradients.wrt(b), Tensor::zeros([2]));
        assert_eq!(gradients.wrt(w), Tensor::zeros([2, 4]));
    }
    let [x, w, b] = [&[3, 0][..], &[2, 0], &[2]].map(|shape| tensor(shape, 1));
    let rows = value([&x, &w, &b], |[x, w, b]| x.linear(w, b));
    assert_eq!(rows.data(), [b.data(), b.data(), b.data()].concat());
    // Batched products equal the products of their entries.
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

/// Matrices without elements, for each axis that may be 0. The result and the gradients are zeros of the
/// right shape.
#[test]
fn products_of_empty_matrices_are_zeros_in_every_batching() {
    let leads: [(&[usize], &[usize]); 5] = [(&[], &[]), (&[], &[3]), (&[3], &[]), (&[3], &[3]), (&[], &[0])];
    let extents = || [0, 2, 5].into_iter();
    for (lead_a, lead_b) in leads {
        let sizes = extents().flat_map(|m| extents().flat_map(move |k| extents().map(move |n| [m, k, n])));
        for [m, k, n] in sizes.filter(|sizes| sizes.contains(&0) || lead_b == [0]) {
            for (ta, tb) in [(false, false), (true, false), (false, true)] {
                let matrices = |lead: &[usize], rows, columns, transposed| {
                    let extents = if transposed { [columns, rows] } else { [rows, columns] };
                    tensor(&[lead, &extents].concat(), 1)
                };
                let (a, b) = (matrices(lead_a, m, k, ta), matrices(lead_b, k, n, tb));
                let tape = Tape::new();
                let (x, y) = (tape.variable(&a), tape.variable(&b));
                let product = if ta {
                    x.matmul_tn(y)
                } else if tb {
                    x.matmul_nt(y)
                } else {
                    x.matmul(y)
                };
                let lead = if lead_a.is_empty() { lead_b } else { lead_a };
                assert_eq!(product.to_tensor(), Tensor::zeros([lead, &[m, n]].concat().as_slice()));
                let gradients = tape.backward(product.sum());
                for (v, t) in [(x, &a), (y, &b)] {
                    assert!(gradients.view(v).is_some());
                    assert_eq!(gradients.wrt(v), Tensor::zeros(t.shape().clone()), "{a} {b}");
                }
            }
        }
    }
}

/// The bias of a linear layer is added in the product. Its gradient is the sum of many rows, of few, and
/// of two that are so long that each of two threads takes one.
#[test]
fn a_linear_layer_is_a_product_and_a_sum() {
    fn same<T: Float>([rows, n, m]: [usize; 3], tolerance: f64) {
        let [x, w, b] = [&[rows, n][..], &[m, n], &[m]].map(|shape| {
            let wide = tensor(shape, 1);
            Tensor::from_fn(shape, |i| T::nearest(wide.data()[i]))
        });
        let run = |layer: fn([Var<'_, T>; 3]) -> Var<'_, T>| {
            let tape = Tape::new();
            let inputs = [&x, &w, &b].map(|t| tape.variable(t));
            let y = layer(inputs);
            let value = y.to_tensor();
            let gradients = tape.backward(y.square().sum());
            let [dx, dw, db] = inputs.map(|input| gradients.wrt(input));
            [value, dx, dw, db].map(|t| Tensor::from_fn(t.shape().clone(), |i| t.data()[i].to_f64()))
        };
        let fused = run(|[x, w, b]| x.linear(w, b));
        for (fused, plain) in fused.iter().zip(&run(|[x, w, b]| x.matmul_nt(w) + b)) {
            assert_close(fused, plain, tolerance);
        }
    }
    for sizes in [[3, 24, 40], [5000, 24, 40], [2, 1, 25_000]] {
        same::<f64>(sizes, 1e-12);
        same::<f32>(sizes, 1e-4);
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
    // Scores so large that exp alone would overflow.
    let large = Tensor::new([1, 3], vec![1e4, 1e4 + 1.0, -1e4]);
    let e = 1_f64.exp();
    assert_close(
        &value([&large], |[x]| x.softmax(1)),
        &Tensor::new([1, 3], vec![1.0 / (1.0 + e), e / (1.0 + e), 0.0]),
        1e-14,
    );
    let (gain, bias) = (tensor(&[11], 2), tensor(&[11], 3));
    assert_derivatives(&[x.clone(), gain.clone(), bias.clone()], |v| {
        weigh(v[0].layer_norm(v[1], v[2], 1e-5))
    });
    assert_derivatives(&[tensor(&[1, 11], 5), gain, bias], |v| weigh(v[0].layer_norm(v[1], v[2], 1e-5)));
    // Mean 0 and variance 1, also for rows whose mean is much larger than their deviation.
    let ones = Tensor::from_fn([64], |_| 1.0_f32);
    let shifted = Tensor::from_fn([4, 64], |i| 1000.0 + (i % 64) as f32 * 0.25);
    let tape = Tape::new();
    let y = tape.constant(&shifted).layer_norm(tape.constant(&ones), tape.zeros([64]), 0.0).to_tensor();
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
    assert!(gradients.view(x).is_some());
    assert_eq!(gradients.wrt(x).data(), [0.0; 6]);
}

/// Where a derivative is 0 by definition, or infinite terms would cancel, both modes agree and second
/// derivatives are finite.
#[test]
fn singular_points_have_the_same_derivatives_in_both_modes() {
    let infinity = f64::INFINITY;
    let zero_row = Tensor::new([3, 2], vec![0.0, 0.0, 3.0, 4.0, 1.0, 2.0]);
    let empty_line = Tensor::new([3, 2], vec![-infinity, -infinity, 1.0, -infinity, 0.5, 2.0]);
    let directions = [tensor(&[3, 2], 5)];
    let losses: [(&Tensor<f64>, Loss); 4] = [
        (&zero_row, |v| weigh(v[0].norm_axis(1))),
        (&zero_row, |v| weigh(v[0].swap_axes(0, 1).norm_axis(0))),
        (&empty_line, |v| v[0].logsumexp(1).slice(0, 1..3).sum() + v[0].logsumexp(1).exp().sum()),
        (&empty_line, |v| weigh(v[0].swap_axes(0, 1).logsumexp(0).exp())),
    ];
    for (x, loss) in losses {
        let worst = check::forward_mode(std::slice::from_ref(x), &directions, loss);
        assert!(worst < 1e-12, "forward mode differs by {worst:e} at\n{x}");
        let tape = Tape::new();
        let v = tape.variable(x);
        let slope = tape.jvp(loss(&[v]), &[(v, tape.constant(&directions[0]))]);
        let gradients = tape.backward(slope);
        assert!(gradients.view(v).is_some());
        let second = gradients.wrt(v).data().to_vec();
        assert!(second.iter().all(|x| x.is_finite()), "second derivatives {second:?} at\n{x}");
    }
    // The derivative is 0 for a row of length 0, and for a line of -infinity.
    let tape = Tape::new();
    let row = tape.variable(&Tensor::zeros([1, 2]));
    let line = tape.variable(&Tensor::from_fn([1, 2], |_| -infinity));
    let ones = tape.constant(&Tensor::from_fn([1, 2], |_| 1.0));
    assert_eq!(tape.jvp(row.norm_axis(1), &[(row, ones)]).item(), 0.0);
    assert_eq!(tape.jvp(line.logsumexp(1), &[(line, ones)]).item(), 0.0);
}

#[test]
fn nan_stays_nan_in_reductions_and_their_gradients() {
    type Reduced = for<'t> fn(Var<'t, f64>) -> Var<'t, f64>;
    let reductions: [(&str, Reduced); 8] = [
        ("norm", |x| x.norm_axis(2)),
        ("norm along another axis", |x| x.swap_axes(1, 2).norm_axis(1)),
        ("max", |x| x.max_axis(2)),
        ("max along another axis", |x| x.swap_axes(1, 2).max_axis(1)),
        ("logsumexp", |x| x.logsumexp(2)),
        ("softmax", |x| x.softmax(2)),
        ("log_softmax", |x| x.log_softmax(2)),
        ("max_pool2d", |x| x.reshape([1, 3, 37]).max_pool2d(1, 1).reshape([3, 1, 37]) + x),
    ];
    for (name, reduction) in reductions {
        for at in [0, 17, 36] {
            let mut x = tensor(&[3, 1, 37], 8);
            x.data_mut()[37 + at] = f64::NAN;
            let tape = Tape::new();
            let v = tape.variable(&x);
            let y = reduction(v);
            let values = y.to_tensor();
            let gradients = tape.backward(weigh(y)).wrt(v).data().to_vec();
            let whole = name != "max_pool2d";
            for (values, what) in [(values.data(), "values"), (&gradients, "gradients")] {
                for (i, line) in values.chunks(values.len() / 3).enumerate() {
                    let nan = line.iter().enumerate().filter(|(_, x)| x.is_nan()).map(|(j, _)| j);
                    let nan: Vec<usize> = nan.collect();
                    let want = match (i, whole) {
                        (1, true) => (0..line.len()).collect(),
                        (1, false) => vec![at],
                        _ => vec![],
                    };
                    assert_eq!(nan, want, "{name}: {what} of line {i}, NaN at {at}");
                }
            }
        }
    }
    // NaN spreads over the window that contains it.
    let mut x = tensor(&[1, 4, 4], 8);
    x.data_mut()[1] = f64::NAN;
    let tape = Tape::new();
    let v = tape.variable(&x);
    let y = v.max_pool2d(2, 2);
    assert!(y.to_tensor().data()[0].is_nan());
    let gradients = tape.backward(y.sum()).wrt(v).data().to_vec();
    let nan: Vec<usize> = (0..16).filter(|&i| gradients[i].is_nan()).collect();
    assert_eq!(nan, [0, 1, 4, 5]);
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
    let x = Tensor::from_fn([100, 100], |_| 1.0_f64);
    let mut tape = Tape::new();
    tape.training(rng::stream(5, 0, 0));
    let v = tape.variable(&x);
    let y = v.dropout(0.3);
    let kept = y.to_tensor();
    let scale = 1.0 / 0.7;
    assert!(kept.data().iter().all(|&y| y == 0.0 || y == scale));
    let mean = kept.data().iter().sum::<f64>() / 1e4;
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    let gradients = tape.backward(y.sum());
    assert_eq!(gradients.wrt(v).data(), kept.data());
    drop(gradients);
    let trained = |rate| {
        value([&x], |[x]| {
            x.tape().training(rng::stream(5, 0, 0));
            x.dropout(rate)
        })
    };
    assert_eq!(trained(0.3), kept);
    assert_eq!(trained(0.0), x);
    tape.reset();
    assert!(!tape.is_training());
    assert_eq!(tape.variable(&x).dropout(0.3).to_tensor(), x);
}

#[test]
fn products_do_not_depend_on_the_number_of_threads() {
    for [m, k, n] in [[33, 512, 32], [130, 64, 100], [130, 64, 600]] {
        let (a, b) = (tensor(&[m, k], 1), tensor(&[n, k], 2));
        let [a, b] = [a, b].map(|x| Tensor::from_fn(x.shape().clone(), |i| x.data()[i] as f32));
        let run = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let tape = Tape::<f32>::new();
                tape.constant(&a).matmul_nt(tape.constant(&b)).to_tensor()
            })
        };
        let one = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one), "{m} x {k} x {n}");
    }
}

/// The name tells whether a product's terms are rounded before they are summed.
#[test]
fn the_instruction_set_of_products_is_the_one_that_is_named() {
    use cotangent::engine::{instruction_set, simd};
    let named = instruction_set();
    let (kernels, products) = named.split_once(", matrix products ").expect("the names of two");
    assert_eq!(kernels, simd::level());
    fn remainder<T: Float>(digits: i32) -> f64 {
        // Two products that cancel. With a fused multiply-add the second is not rounded before it is
        // added, so the rounding error of the first is left.
        let x = 1.0 + 0.5_f64.powi(digits / 2 + 2);
        let first_two = |x: [f64; 2]| Tensor::from_fn([80, 80], |i| T::nearest(*x.get(i).unwrap_or(&0.0)));
        let tape = Tape::<T>::new();
        let [a, b] = [first_two([x, x]), first_two([-x, x])].map(|t| tape.constant(&t));
        a.matmul_nt(b).to_tensor().data()[0].to_f64()
    }
    let fused = ["avx512", "avx2+fma", "neon"].contains(&products);
    for remainder in [remainder::<f32>(24), remainder::<f64>(53)] {
        assert_eq!(remainder != 0.0, fused, "{named}: {remainder:e}");
    }
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
    let gradients = tape.backward(nothing);
    assert!(gradients.view(v).is_some());
    assert_eq!(gradients.wrt(v).data(), [0.0; 20]);
    drop(gradients);

    let targets = Tensor::from_fn([4, 5], |i| (i % 3) as f64 / 2.0);
    assert_derivatives(std::slice::from_ref(&x), |v| 10.0 + loss::binary_cross_entropy(v[0], &targets));
    let large = Tensor::new([2], vec![800.0, -800.0]);
    assert_eq!(
        value([&large], |[x]| loss::binary_cross_entropy(x, &Tensor::new([2], vec![1.0, 0.0]))).data(),
        [0.0]
    );
    assert_derivatives(&[x, targets], |v| 10.0 + loss::mean_squared_error(v[0], v[1]));
}
