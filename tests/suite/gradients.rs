//! Gradients of every operation on the tape, against finite differences.

use cotangent::engine::check;
use cotangent::prelude::*;
use proptest::prelude::*;

const TOLERANCE: f64 = 2e-8;

fn tensor(shape: &[usize], low: f64, high: f64, seed: u64) -> Tensor<f64> {
    use draws::uniform;
    let mut rng = rng::stream(seed, 99, shape.len() as u64);
    Tensor::from_fn(shape, |_| uniform(&mut rng, low, high))
}

mod draws {
    use cotangent::prelude::rng::Rng;

    /// Uniform in `[low, high)`, from the stream's words.
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
    // Twice from the same leaf, from a computed table, and both dense and sparse.
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

/// Rows that broadcast: full, one, column-like and cycled.
#[test]
fn row_formulas_broadcast() {
    let ball = Stereographic::new(-1.0).unwrap();
    let y = tensor(&[2, 3, 2], -0.5, 0.5, 1);
    for shape in [&[2, 3, 2][..], &[2], &[1, 2], &[3, 2], &[2, 1, 2]] {
        let x = tensor(shape, -0.5, 0.5, 2);
        assert_gradients(&[x.clone(), y.clone()], |v| ball.dist(&v[0], &v[1]).square().sum());
        assert_gradients(&[x, y.clone()], |v| ball.add(&v[0], &v[1]).square().sum());
    }
}

/// The gradient with respect to curvature comes with every formula: also at κ = 0.
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

/// All operations of a manifold, on points and tangents made from free coordinates.
fn operations<M: Manifold>(m: M, dim: usize, seed: u64) {
    let width = m.ambient(dim);
    let free = |s| tensor(&[3, width], -0.4, 0.4, seed * 10 + s);
    let inputs = [free(1), free(2), free(3), free(4)];
    macro_rules! check {
        (|$x:ident, $y:ident, $u:ident, $v:ident| $body:expr) => {
            assert_gradients(&inputs, |free| {
                let ($x, $y) = (m.project(&free[0]), m.project(&free[1]));
                let ($u, $v) = (m.project_tangent(&$x, &free[2]), m.project_tangent(&$x, &free[3]));
                let _ = (&$y, &$u, &$v);
                weighted_sum($body)
            })
        };
    }
    check!(|x, y, u, v| m.dist(&x, &y));
    check!(|x, y, u, v| m.dist(&x, &y).square());
    check!(|x, y, u, v| m.inner(&x, &u, &v));
    check!(|x, y, u, v| m.norm(&x, &u));
    check!(|x, y, u, v| m.exp(&x, &u));
    check!(|x, y, u, v| m.log(&x, &y));
    check!(|x, y, u, v| m.transport(&x, &y, &u));
    check!(|x, y, u, v| m.egrad_to_rgrad(&x, &u));
    check!(|x, y, u, v| m.geodesic(&x, &y, &x.constant(0.3)));
    check!(|x, y, u, v| m.descend(&x, &u, &x.constant(0.3)));
}

fn weighted_sum(v: Var<'_, f64>) -> Var<'_, f64> {
    let n = v.shape().len();
    let w = v.tape().constant(&Tensor::from_fn(v.shape(), |i| 0.3 + (i as f64).sin() / n as f64));
    // Near 10, which derivatives and rounding are then measured against.
    10.0 + (v * w).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn manifold_operations(seed in 0_u64..1000, dim in 1_usize..12) {
        operations(Euclidean, dim, seed);
        for kappa in [-1.0, -0.37, -1e-6, 0.0, 0.6] {
            operations(Stereographic::new(kappa).unwrap(), dim, seed);
        }
        for kappa in [-1.0, -0.37] {
            operations(Lorentz::new(kappa).unwrap(), dim, seed);
        }
    }
}

/// Many rows: the split over pieces and threads changes nothing.
#[test]
fn results_do_not_depend_on_threads() {
    let n = 20_000;
    let ball = Stereographic::new(-1.0).unwrap();
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
            let dense = |v| g.wrt(v).unwrap().to_dense(n, 5);
            (loss.item(), dense(x), dense(c)[..5].to_vec(), dense(k))
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
    // And it is right: against the sum over small pieces.
    let small: f64 = (0..n)
        .map(|i| {
            let (row, c) = (Row::from(x.row(i)), Row::from(center.data()));
            (ball.dist(&row, &c) * c[0] + ball.norm(&c, &row)).tanh()
        })
        .sum();
    assert!((one.0 - small).abs() < 1e-10 * small.abs());
}

/// One row, a tensor of rows and a tape give the same bits, whatever the number of rows (full blocks of lanes
/// or not) and the width (one panel of coordinates or several).
#[test]
fn levels_agree_bit_for_bit() {
    fn check<M: Manifold, T: Float>(m: M, dim: usize, n: usize) {
        let width = m.ambient(dim);
        let mut rng = rng::stream(11, dim as u64, n as u64);
        let mut table = |f: &mut dyn FnMut(&mut rng::Rng) -> Row<T>| {
            let mut t = Tensor::zeros([n, width]);
            (0..n).for_each(|i| t.row_mut(i).copy_from_slice(&f(&mut rng)));
            t
        };
        let x = table(&mut |rng| m.random_point(dim, 2.0, rng));
        let y = table(&mut |rng| m.random_point(dim, 2.0, rng));
        let v = table(&mut |rng| {
            let origin = m.origin(dim);
            m.random_tangent(&origin, rng)
        });
        let tape = Tape::new();
        let [a, b, c] = [&x, &y, &v].map(|t| tape.constant(t));
        let row = |t: &Tensor<T>, i| Row::from(t.row(i));
        macro_rules! vector {
            (|$m:ident, $x:ident, $y:ident, $v:ident| $op:expr) => {{
                let of_tensor = {
                    let ($m, $x, $y, $v) = (&m, &x, &y, &v);
                    let _ = ($y, $v);
                    $op
                };
                let of_tape = {
                    let ($m, $x, $y, $v) = (&m, &a, &b, &c);
                    let _ = ($y, $v);
                    $op
                }
                .to_tensor();
                for i in 0..n {
                    let ($m, $x, $y, $v) = (&m, &row(&x, i), &row(&y, i), &row(&v, i));
                    let _ = ($y, $v);
                    assert_eq!($op[..], *of_tensor.row(i), "{m:?} {dim} {n}");
                }
                assert_eq!(of_tensor.data(), of_tape.data(), "{m:?} {dim} {n}");
            }};
        }
        vector!(|m, x, y, v| m.exp(x, v));
        vector!(|m, x, y, v| m.log(x, y));
        vector!(|m, x, y, v| m.transport(x, y, v));
        vector!(|m, x, y, v| m.egrad_to_rgrad(x, v));
        vector!(|m, x, y, v| m.project(x));
        let (of_tensor, of_tape) = (m.dist(&x, &y), m.dist(&a, &b).to_tensor());
        for i in 0..n {
            let one = m.dist(&row(&x, i), &row(&y, i));
            assert_eq!(one.to_bits(), of_tensor.data()[i].to_bits());
            assert_eq!(T::nearest(one), of_tape.data()[i]);
        }
    }
    for dim in [1, 3, 63, 64, 65, 200] {
        for n in [1, 3, 4, 5, 9] {
            check::<_, f64>(PoincareBall::ball(-1.0).unwrap(), dim, n);
            check::<_, f32>(PoincareBall::ball(-1.0).unwrap(), dim, n);
            check::<_, f64>(Stereographic::new(0.6).unwrap(), dim, n);
            check::<_, f64>(Lorentz::new(-1.0).unwrap(), dim, n);
            check::<_, f32>(Lorentz::new(-1.0).unwrap(), dim, n);
            check::<_, f32>(Euclidean, dim, n);
        }
    }
}

/// Rows wider than one panel of coordinates.
#[test]
fn wide_rows() {
    operations(PoincareBall::ball(-0.1).unwrap(), 70, 1);
    operations(Lorentz::new(-1.0).unwrap(), 70, 2);
}
