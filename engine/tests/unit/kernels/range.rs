//! Scores of −∞, and sums of many small numbers.

use std::sync::Arc;

use cotangent_engine::{Device, Float, Sparsity, Tape, Tensor, Var, Weights, softmax_in_place};

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
