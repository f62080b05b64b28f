//! Scores of −∞, and sums of many small numbers.

use std::sync::Arc;

use cotangent_engine::{Device, Float, Sparsity, Tape, Tensor, Var, Weights, row_formula, softmax_in_place};

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
                let (y, dx) = differentiated(&scores, |x| weights.normalise_edges(x, &edges));
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

row_formula! {
    /// The same with kernels of its own.
    SpecialisedSquare = "test.specialised_square": number [Difference(1, 0)], kernel specialised;
    dd = Dot(0, 0) => dd
}

/// The gradient of a row that very many rows share is a sum in `f64`, whatever the rows are stored in. So is that of
/// a second derivative.
#[test]
fn shared_rows_have_accurate_gradients() {
    type Shared = for<'t> fn(Var<'t, f32>, Var<'t, f32>) -> Var<'t, f32>;
    let operations: [(&str, usize, Shared); 6] = [
        ("row formula", 1 << 20, |rows, x| Var::scalar(Square, [&rows, &x], [])),
        ("specialised", 1 << 20, |rows, x| Var::scalar(SpecialisedSquare, [&rows, &x], [])),
        ("elementwise", 1 << 20, |rows, x| rows * x),
        ("layer norm", 1 << 20, |rows, x| rows.layer_norm(x, x, 1e-5)),
        ("tangent", 1 << 16, |rows, x| {
            let tape = rows.tape();
            let y = Var::scalar(Square, [&rows, &x], []);
            tape.jvp(y, &[(x, tape.constant(&Tensor::new([2], vec![0.3, 0.1])))])
        }),
        ("tangents", 1 << 16, |rows, x| {
            let tape = rows.tape();
            let direction = tape.constant(&Tensor::new(rows.shape(), vec![0.3; rows.shape().len()]));
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
