//! Numbers whose squares or exponentials leave the range, and sums of many small numbers.

use std::sync::Arc;

use cotangent_engine::{
    Device, Float, Row, Rows, Sparsity, Tape, Tensor, Var, Weights, norm, row_formula, softmax_in_place,
};

use super::gram::{By, COMPILED, INTERPRETED, SPECIALISED};

/// The value of a computation and the gradient of its only input.
fn differentiated<T: Float>(x: &Tensor<T>, f: impl for<'t> Fn(Var<'t, T>) -> Var<'t, T>) -> (Vec<T>, Vec<T>) {
    let tape = Tape::with_device(Device::cpu());
    let x = tape.variable(x);
    let y = f(x);
    let value = y.to_tensor().data().to_vec();
    let gradients = tape.backward(y.sum());
    assert!(gradients.view(x).is_some());
    (value, gradients.wrt(x).data().to_vec())
}

/// A norm has its digits, and its gradient is the unit vector, whatever the size of the numbers.
#[test]
fn norms_of_any_size() {
    fn check<T: Float>(units: &[f64]) {
        for &unit in units {
            // More than a vector of lanes, more lines than a group of neighbours.
            for (lines, pairs) in [(1, 1), (3, 20), (11, 2)] {
                let x = Tensor::from_fn([lines, 2 * pairs], |i| T::nearest([3.0, -4.0][i % 2] * unit));
                let want = 5.0 * unit * (pairs as f64).sqrt();
                for axis in [1, 0] {
                    let (y, dx) = differentiated(&x, |x| match axis {
                        1 => x.norm_axis(1),
                        _ => x.swap_axes(0, 1).norm_axis(0),
                    });
                    for y in y {
                        let error = (y.to_f64() / want - 1.0).abs();
                        assert!(error < 4.0 * T::EPSILON, "{unit:e}, axis {axis}: {y:?}, not {want}");
                    }
                    for (dx, x) in dx.iter().zip(x.data()) {
                        let slope = (x.to_f64() / unit) / (want / unit);
                        assert!(
                            (dx.to_f64() - slope).abs() < 4.0 * T::EPSILON,
                            "{unit:e}: {dx:?}, not {slope}"
                        );
                    }
                }
            }
        }
    }
    check::<f64>(&[1e-300, 1e-165, 1e-150, 1.0, 1e150, 1e200, 1e306]);
    check::<f32>(&[1e-36, 1e-23, 1.0, 1e19, 1e36]);
}

/// Where the norm itself is beyond the range, its gradient is NaN in both modes.
#[test]
fn an_infinite_norm_has_no_gradient() {
    fn check<T: Float>() {
        let x = Tensor::new([1, 2], vec![T::nearest(0.9 * T::LARGEST); 2]);
        for axis in [1, 0] {
            let (y, dx) = differentiated(&x, |x| match axis {
                1 => x.norm_axis(1),
                _ => x.swap_axes(0, 1).norm_axis(0),
            });
            assert!(y[0].to_f64() == f64::INFINITY && dx.iter().all(|x| x.is_nan()), "{y:?} {dx:?}");
        }
        let tape = Tape::with_device(Device::cpu());
        let x = tape.variable(&x);
        let slope = tape.jvp(x.norm_axis(1), &[(x, x * T::EPSILON)]);
        assert!(slope.to_tensor().data()[0].is_nan());
    }
    check::<f32>();
    check::<f64>();
}

/// A variance that overflows gives NaN; as an infinite one it would give a row of zeros without gradient.
#[test]
fn a_variance_beyond_the_range_is_nan() {
    let x = Tensor::new([1, 2], vec![1e200_f64, -1e200]);
    let (y, dx) = differentiated(&x, |x| {
        let ones = x.tape().constant(&Tensor::new([2], vec![1.0, 1.0]));
        x.layer_norm(ones, ones, 1e-5)
    });
    assert!(y.iter().chain(&dx).all(|x| x.is_nan()), "{y:?} {dx:?}");
}

#[test]
fn hypotenuses_of_any_size() {
    fn check<T: Float>(units: &[f64]) {
        for &unit in units {
            let [a, b] = [3.0, -4.0].map(|x| T::nearest(x * unit));
            let x = Tensor::new([2], vec![a, b]);
            let (c, dx) = differentiated(&x, |x| x.slice(0, 0..1).hypot(x.slice(0, 1..2)));
            assert!((c[0].to_f64() / (5.0 * unit) - 1.0).abs() < 2.0 * T::EPSILON, "{unit:e}: {c:?}");
            let error = (dx[0].to_f64() - 0.6).abs().max((dx[1].to_f64() + 0.8).abs());
            assert!(error < 2.0 * T::EPSILON, "{unit:e}: {dx:?}");
        }
    }
    check::<f64>(&[1e-305, 1e-200, 1e-165, 1e-150, 1e-15, 1.0, 1e15, 1e150, 1e200, 1e306]);
    check::<f32>(&[1e-38, 1e-37, 1e-36, 1e-23, 1.0, 1e19, 1e37]);
    // Below the normal numbers of `f32` the operands themselves have few digits.
    let c = differentiated(&Tensor::new([2], vec![3e-40_f32, 4e-40]), |x| {
        x.slice(0, 0..1).hypot(x.slice(0, 1..2))
    });
    assert!((f64::from(c.0[0]) / 5e-40 - 1.0).abs() < 1e-5 && (c.1[0] - 0.6).abs() < 1e-5, "{c:?}");
    assert_eq!(differentiated(&Tensor::<f64>::zeros([1]), |x| x.hypot(x)).1, [0.0]);
}

row_formula! {
    /// The distance.
    Distance = "test.distance": number [Difference(1, 0)];
    dd = Dot(0, 0), extreme = Extreme(0) => norm(dd, extreme)
}

/// The distances of rows from 0, and the gradient of their sum, with the formula run in one of its ways.
fn lengths<const WAY: u8>(x: &Tensor<f64>) -> (Vec<f64>, Vec<f64>) {
    let zero = Tensor::zeros(x.shape().clone());
    differentiated(x, |x| Var::scalar(By::<_, WAY>(Distance), [&x, &x.tape().constant(&zero)], []))
}

/// Distances beyond the range of squares stand beside others: each has its digits and its gradient, in
/// every way of running a formula. Second derivatives would need the squares: they are NaN.
#[test]
fn distances_of_any_size_side_by_side() {
    let units = [1.0, 1e200, 0.0, 1e-165, 2.0, 1e306, 1e-300, 1e-3, 1e155];
    for width in [2, 8, 21] {
        let x = Tensor::from_fn([units.len(), width], |i| match i % width {
            0 => 3.0 * units[i / width],
            c if c + 1 == width => -4.0 * units[i / width],
            _ => 0.0,
        });
        let zero = Tensor::zeros([units.len(), width]);
        let (y, dx) = lengths::<COMPILED>(&x);
        assert_eq!(lengths::<INTERPRETED>(&x), (y.clone(), dx.clone()));
        assert_eq!(lengths::<SPECIALISED>(&x), (y.clone(), dx.clone()));
        for (i, unit) in units.into_iter().enumerate() {
            let want = 5.0 * unit;
            assert!((y[i] - want).abs() <= 4.0 * f64::EPSILON * want, "{width}, {unit:e}: {}", y[i]);
            let (first, last) = (dx[i * width], dx[(i + 1) * width - 1]);
            let slopes = if unit == 0.0 { [0.0, 0.0] } else { [0.6, -0.8] };
            assert!((first - slopes[0]).abs() + (last - slopes[1]).abs() < 1e-15, "{unit:e}: {first} {last}");
            let rows = [&x, &zero].map(|x| Row::from(x.row(i)));
            assert_eq!(Row::scalar(Distance, rows.each_ref(), []), y[i]);
        }
        // The derivative of the gradient along (1, 0, …) is (1 − 0.36, …)/‖x‖.
        let tape = Tape::with_device(Device::cpu());
        let at = tape.variable(&x);
        let ahead = Tensor::from_fn([units.len(), width], |i| f64::from(i % width == 0));
        let distance = Var::scalar(Distance, [&at, &tape.constant(&zero)], []);
        let slope = tape.jvp(distance, &[(at, tape.constant(&ahead))]);
        assert!((slope.to_tensor().data()[1] - 0.6).abs() < 1e-15);
        let second = tape.backward(slope.sum()).wrt(at).data().to_vec();
        for (i, unit) in units.into_iter().enumerate() {
            let got = second[i * width] * (5.0 * unit);
            match unit {
                0.0 => assert_eq!(got, 0.0),
                1e-3 | 1.0 | 2.0 => assert!((got - 0.64).abs() < 1e-12, "{width}, {unit:e}: {got}"),
                _ => assert!(got.is_nan(), "{width}, {unit:e}: {got}"),
            }
        }
    }
    // A distance that is beyond the range itself.
    let x = Tensor::new([1, 2], vec![f64::MAX, 0.0]);
    let (y, dx) = differentiated(&x, |x| Var::scalar(Distance, [&x, &-x], []));
    assert!(y[0] == f64::INFINITY && dx.iter().all(|x| x.is_nan()), "{y:?} {dx:?}");
}

/// Scores of −∞ alone are those of an empty set: weights 0, and no gradient.
#[test]
fn nothing_to_attend_to_has_weights_of_zero() {
    /// The elements, each with another gradient.
    fn weigh<T: Float>(y: Var<'_, T>) -> Var<'_, T> {
        y * y.tape().constant(&Tensor::from_fn(y.shape(), |i| T::nearest((i as f64).sin())))
    }
    fn check<T: Float>() {
        let lowest = T::nearest(f64::NEG_INFINITY);
        for width in [1, 3, 40] {
            let x = Tensor::from_fn([3, width], |i| if i / width == 1 { T::nearest(0.5) } else { lowest });
            let (y, dx) = differentiated(&x, |x| weigh(x.softmax(-1)));
            for i in [0, 2] {
                assert!(y[i * width..][..width].iter().all(|&y| y == T::zero()), "{y:?}");
                assert!(dx[i * width..][..width].iter().all(|&x| x == T::zero()), "{dx:?}");
            }
            let (y, _) = differentiated(&x, |x| x.swap_axes(0, 1).softmax(0));
            let [ones, rest]: [f64; 2] = [1, 0].map(|i| (0..width).map(|c| y[c * 3 + i].to_f64()).sum());
            assert!((ones - 1.0).abs() < 1e-6 && rest == 0.0, "{y:?}");
            let (y, dx) = differentiated(&x, |x| x.log_softmax(-1).exp());
            assert!(y[..width].iter().all(|&y| y == T::zero()), "{y:?}");
            assert!(dx.iter().all(|x| x.is_finite()), "{dx:?}");
            let mut row = x.row(0).to_vec();
            assert_eq!(softmax_in_place(&mut row), f64::NEG_INFINITY);
            assert!(row.iter().all(|&y| y == T::zero()), "{row:?}");
            for weights in [Weights::Softmax, Weights::NormalisedSigmoid, Weights::Sigmoid] {
                let (y, dx) = differentiated(&x, |x| weigh(weights.normalise(x, None)));
                assert!(y[..width].iter().chain(&dx[..width]).all(|&y| y == T::zero()), "{y:?} {dx:?}");
                let edges: Vec<(u32, u32)> = (0..width as u32).map(|c| (0, c)).collect();
                let edges = Arc::new(Sparsity::new(1, width, &edges));
                let scores = Tensor::new([width], x.row(2).to_vec());
                let (y, dx) = differentiated(&scores, |x| weights.normalise_edges(x, None, &edges));
                assert!(y.iter().chain(&dx).all(|&y| y == T::zero()), "{y:?} {dx:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

row_formula! {
    /// The square of the distance.
    Square = "test.square": number [Difference(1, 0)];
    dd = Dot(0, 0) => dd
}

/// The gradient of a row that very many rows share is a sum in `f64`, whatever the rows are stored in. So
/// is that of a second derivative.
#[test]
fn shared_rows_have_accurate_gradients() {
    type Shared = for<'t> fn(Var<'t, f32>, Var<'t, f32>) -> Var<'t, f32>;
    let operations: [(&str, usize, Shared); 6] = [
        ("row formula", 1 << 20, |rows, x| Var::scalar(Square, [&rows, &x], [])),
        ("specialised", 1 << 20, |rows, x| Var::scalar(By::<_, SPECIALISED>(Square), [&rows, &x], [])),
        ("elementwise", 1 << 20, |rows, x| rows * x),
        ("layer norm", 1 << 20, |rows, x| rows.layer_norm(x, x, 1e-5)),
        ("tangent", 1 << 16, |rows, x| {
            let tape = rows.tape();
            let y = Var::scalar(Square, [&rows, &x], []);
            tape.jvp(y, &[(x, tape.constant(&Tensor::new([2], vec![0.3, 0.1])))])
        }),
        ("tangents", 1 << 16, |rows, x| {
            let tape = rows.tape();
            let direction = tape.constant(&Tensor::new(rows.shape(), vec![0.3; rows.shape().elements()]));
            tape.jvp(Var::scalar(Square, [&rows, &x], []), &[(rows, direction)])
        }),
    ];
    for (name, n, operation) in operations {
        let gradient = |n: usize| {
            let rows = Tensor::from_fn([n, 2], |i| [0.3, 0.1][i % 2]);
            let x = Tensor::new([2], vec![-0.2_f32, 0.43]);
            let (_, dx) = differentiated(&x, |x| operation(x.tape().constant(&rows), x));
            dx.into_iter().map(f64::from).collect::<Vec<_>>()
        };
        for (all, one) in gradient(n).into_iter().zip(gradient(1)) {
            let error = all / (n as f64 * one) - 1.0;
            assert!(error.abs() < 2e-7, "{name}: {error:e}");
        }
    }
}
