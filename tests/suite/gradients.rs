//! Gradients of the operations of the tape, compared with finite differences. Those of the manifolds are
//! tested as a law in `manifolds/tests/laws`.

use cotangent::engine::check;
use cotangent::prelude::*;

const TOLERANCE: f64 = 2e-8;

fn tensor(shape: &[usize], low: f64, high: f64, seed: u64) -> Tensor<f64> {
    use draws::uniform;
    let mut rng = rng::stream(seed, 99, shape.len() as u64);
    Tensor::from_fn(shape, |_| uniform(&mut rng, low, high))
}

mod draws {
    use cotangent::prelude::rng::Rng;

    /// Uniform in `[low, high)`, drawn from the stream.
    pub(super) fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
        use rand::RngExt;
        rng.random_range(low..high)
    }
}

#[track_caller]
fn assert_gradients(inputs: &[Tensor<f64>], loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>) {
    let worst = check::gradients(inputs, loss);
    assert!(worst.relative < TOLERANCE, "{worst:?}");
}

#[test]
fn elementwise() {
    let x = tensor(&[3, 4], 0.2, 2.0, 1);
    let y = tensor(&[3, 4], 0.5, 2.0, 2);
    let w = tensor(&[3, 4], -1.0, 1.0, 3);
    let inputs = [x, y, w];
    assert_gradients(&inputs, |v| (v[2] * (v[0] + v[1])).sum());
    assert_gradients(&inputs, |v| (v[2] * (v[0] - v[1])).sum());
    assert_gradients(&inputs, |v| (v[2] * (v[0] * v[1])).sum());
    assert_gradients(&inputs, |v| (v[2] * (v[0] / v[1])).sum());
    assert_gradients(&inputs, |v| (v[2] * -v[0]).sum());
    assert_gradients(&inputs, |v| (v[2] * (2.0 - v[0] * 3.0 + 1.0 / v[1])).sum());
    assert_gradients(&inputs, |v| (v[2] * v[0].square()).sum());
    assert_gradients(&inputs, |v| (v[2] * v[0].sqrt()).sum());
    assert_gradients(&inputs, |v| (v[2] * v[0].exp()).sum());
    assert_gradients(&inputs, |v| (v[2] * v[0].ln()).sum());
    assert_gradients(&inputs, |v| (v[0] * v[2].tanh()).sum());
    assert_gradients(&inputs, |v| (v[0] * v[2].sigmoid()).sum());
    assert_gradients(&inputs, |v| (v[0] * v[2].softplus()).sum());
}

#[test]
fn broadcasting() {
    let x = tensor(&[3, 4], -1.0, 1.0, 1);
    for shape in [&[3, 4][..], &[1], &[], &[4], &[3, 1], &[1, 4]] {
        let y = tensor(shape, 0.5, 1.0, 2);
        assert_gradients(&[x.clone(), y], |v| (v[0] * v[1] + v[1] / (2.0 + v[0])).square().sum());
    }
}

/// Every kind of broadcast operand, with either or neither operand constant. There are so many positions that
/// they are split over threads, and within a thread into parts. Neither split is at a multiple of a run of
/// the broadcast operand.
fn broadcast_over_many_positions<T: Float>(tolerance: f64) {
    let shape = [3, 7, 20, 101];
    let random = |axes: &[usize], low, seed| {
        let x = tensor(axes, low, 1.0, seed);
        Tensor::<T>::from_fn(axes, |i| T::nearest(x.data()[i]))
    };
    let (x, g) = (random(&shape, -1.0, 1), random(&shape, -1.0, 2));
    for kept in 0..16 {
        let axes: Vec<usize> = (0..4).map(|i| if kept >> i & 1 == 1 { shape[i] } else { 1 }).collect();
        let y = random(&axes, 0.5, 3);
        let read = |p: usize| {
            let at = [p / 14140, p / 2020 % 7, p / 101 % 20, p % 101];
            (0..4).fold(0, |q, i| q * axes[i] + if axes[i] == 1 { 0 } else { at[i] })
        };
        let mut y_gradient = vec![0.0; y.len()];
        for (p, (x, g)) in x.data().iter().zip(g.data()).enumerate() {
            y_gradient[read(p)] += x.to_f64() * g.to_f64();
        }
        for (x_varies, y_varies, swapped) in
            [(true, true, false), (true, true, true), (true, false, true), (false, true, false)]
        {
            let tape = Tape::new();
            let leaf = |x, varies| if varies { tape.variable(x) } else { tape.constant(x) };
            let (a, b) = (leaf(&x, x_varies), leaf(&y, y_varies));
            let z = if swapped { b * a } else { a * b };
            for (p, z) in z.to_tensor().data().iter().enumerate() {
                assert_eq!(*z, x.data()[p] * y.data()[read(p)], "{axes:?} at {p}");
            }
            let gradients = tape.backward_from(z, &g);
            let (da, db) = (gradients.view(a), gradients.view(b));
            assert_eq!((da.is_some(), db.is_some()), (x_varies, y_varies));
            for (p, da) in da.into_iter().flat_map(|da| da.to_dense(1, x.len())).enumerate() {
                assert_eq!(da, g.data()[p] * y.data()[read(p)], "{axes:?} at {p}");
            }
            for (got, want) in db.into_iter().flat_map(|db| db.to_dense(1, y_gradient.len())).zip(&y_gradient)
            {
                assert!((got.to_f64() - want).abs() < tolerance, "{axes:?}: {got}, not {want}");
            }
        }
    }
}

#[test]
fn broadcasting_over_many_positions() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| broadcast_over_many_positions::<f64>(1e-12));
        pool.install(|| broadcast_over_many_positions::<f32>(1e-3));
    }
}

#[test]
fn reductions() {
    let x = tensor(&[2, 3, 4], -1.0, 1.0, 1);
    assert_gradients(std::slice::from_ref(&x), |v| v[0].square().mean());
    for axis in [0, 1, 2, -1] {
        assert_gradients(std::slice::from_ref(&x), |v| v[0].sum_axis(axis).square().sum());
        assert_gradients(std::slice::from_ref(&x), |v| v[0].mean_axis(axis).square().sum());
        assert_gradients(std::slice::from_ref(&x), |v| v[0].logsumexp(axis).square().sum());
    }
}

#[test]
fn indexing() {
    let x = tensor(&[5, 3], -1.0, 1.0, 1);
    assert_gradients(std::slice::from_ref(&x), |v| v[0].gather(&[4, 0, 4, 2]).square().sum());
    // Two gathers from the same leaf, from a computed table, and both dense and sparse.
    assert_gradients(std::slice::from_ref(&x), |v| (v[0].gather(&[4, 0]) * v[0].gather(&[1, 4])).sum());
    assert_gradients(std::slice::from_ref(&x), |v| v[0].tanh().gather(&[4, 0, 4]).square().sum());
    assert_gradients(std::slice::from_ref(&x), |v| v[0].gather(&[1, 1]).square().sum() + v[0].tanh().sum());
    assert_gradients(std::slice::from_ref(&x), |v| v[0].tanh().sum() * v[0].gather(&[1, 1]).square().sum());
    assert_gradients(std::slice::from_ref(&x), |v| v[0].reshape([3, 5]).sum_axis(0).square().sum());
    let y = tensor(&[2, 3, 4], -1.0, 1.0, 1);
    for (axis, range) in [(0, 1..2), (1, 0..2), (2, 1..4), (-1, 2..2)] {
        assert_gradients(std::slice::from_ref(&y), |v| {
            v[0].slice(axis, range.clone()).square().sum() + v[0].sum()
        });
    }
}

#[test]
fn loss_functions() {
    let distances = tensor(&[4, 6], 0.0, 3.0, 1);
    assert_gradients(&[distances], |v| loss::ranking(v[0]).square().sum());
}

/// Rows that broadcast: full, a single one, and repeated along either leading axis.
#[test]
fn row_formulas_broadcast() {
    let ball = Stereographic::new(-1.0);
    let y = tensor(&[2, 3, 2], -0.5, 0.5, 1);
    for shape in [&[2, 3, 2][..], &[2], &[1, 2], &[3, 2], &[2, 1, 2]] {
        let x = tensor(shape, -0.5, 0.5, 2);
        assert_gradients(&[x.clone(), y.clone()], |v| ball.dist(&v[0], &v[1]).square().sum());
        assert_gradients(&[x, y.clone()], |v| ball.add(&v[0], &v[1]).square().sum());
    }
}

/// Every formula has a gradient with respect to curvature, also at κ = 0.
#[test]
fn curvature() {
    use cotangent::manifolds::formulas::stereographic as f;
    let x = tensor(&[3, 4], -0.4, 0.4, 1);
    let y = tensor(&[3, 4], -0.4, 0.4, 2);
    let w = tensor(&[3, 4], -1.0, 1.0, 3);
    for kappa in [-1.3, -1e-3, 0.0, 1e-3, 0.6] {
        let inputs = [x.clone(), y.clone(), w.clone(), Tensor::scalar(kappa)];
        assert_gradients(&inputs, |v| Var::scalar(f::Dist, [&v[0], &v[1]], [&v[3]]).square().sum());
        assert_gradients(&inputs, |v| (v[2] * Var::vector(f::Exp, [&v[0], &v[1]], [&v[3]])).sum());
        assert_gradients(&inputs, |v| (v[2] * Var::vector(f::Log, [&v[0], &v[1]], [&v[3]])).sum());
        assert_gradients(&inputs, |v| {
            (v[1] * Var::vector(f::Transport, [&v[0], &v[1], &v[2]], [&v[3]])).sum()
        });
        assert_gradients(&inputs, |v| Var::scalar(f::Inner, [&v[0], &v[1], &v[2]], [&v[3]]).sum());
        assert_gradients(&inputs, |v| Var::scalar(f::Norm, [&v[0], &v[1]], [&v[3]]).sum());
        let r = Tensor::new([3], vec![0.5, -1.5, 2.0]); // one for each row
        assert_gradients(&[x.clone(), w.clone(), Tensor::scalar(kappa), r], |v| {
            (v[1] * Var::vector(f::Scale, [&v[0]], [&v[2], &v[3]])).sum()
        });
    }
}

/// With many rows, the split over pieces and threads does not change the result.
#[test]
fn results_do_not_depend_on_threads() {
    let n = 20_000;
    let ball = Stereographic::new(-1.0);
    let x = tensor(&[n, 5], -0.4, 0.4, 1);
    let center = tensor(&[5], -0.4, 0.4, 2);
    let kappa = Tensor::scalar(-1.0);
    let run = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let tape = Tape::new();
            let (x, c, k) = (tape.variable(&x), tape.variable(&center), tape.variable(&kappa));
            let d = Var::scalar(cotangent::manifolds::formulas::stereographic::Dist, [&x, &c], [&k]);
            let bias = d * c.slice(0, 0..1) + ball.norm(&c, &x);
            let loss = bias.tanh().sum();
            let g = tape.backward(loss);
            assert!([x, c, k].iter().all(|v| g.view(v).is_some()));
            let dense = |v| g.wrt(v).data().to_vec();
            (loss.item(), dense(x), dense(c)[..5].to_vec(), dense(k))
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
    // The result is also right: it equals the sum computed row by row.
    let small: f64 = (0..n)
        .map(|i| {
            let (row, c) = (Row::from(x.row(i)), Row::from(center.data()));
            (ball.dist(&row, &c) * c[0] + ball.norm(&c, &row)).tanh()
        })
        .sum();
    assert!((one.0 - small).abs() < 1e-10 * small.abs());
}

/// The gradient of a curvature that many rows share is a sum in `f64`, whatever the rows are stored in.
#[test]
fn a_shared_curvature_has_an_accurate_gradient() {
    use cotangent::manifolds::Curved;
    // Rows that share one curvature, and rows of which each column has its own.
    for columns in [1, 4] {
        let gradient = |n: usize| -> Vec<f64> {
            let tape = Tape::<f32>::new();
            let row = |a: f32, b: f32| Tensor::from_fn([n, columns, 2], |i| if i % 2 == 0 { a } else { b });
            let [x, y] = [row(0.3, 0.1), row(-0.2, 0.4)].map(|rows| tape.constant(&rows));
            let kappa = tape.variable(&Tensor::from_fn([columns], |i| -1.0 - 0.1 * i as f32));
            let distances = Curved::new(kappa).dist(&x, &y);
            tape.backward(distances.sum()).wrt(kappa).data().iter().map(|&g| f64::from(g)).collect()
        };
        let n = 1 << 18;
        for (all, one) in gradient(n).into_iter().zip(gradient(1)) {
            assert!((all / (n as f64 * one) - 1.0).abs() < 1e-6, "{columns}: {all} {one}");
        }
    }
}
