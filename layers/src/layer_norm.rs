//! Layer normalisation. Ba, Kiros, Hinton 2016.

use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Euclidean, Param, ParamOnTape, module};

/// Rows to mean 0 and variance 1, then gain and bias: [`Var::layer_norm`] with what is learned. Of Euclidean rows.
#[derive(Clone, Debug)]
pub struct LayerNorm<T: Float = f32> {
    /// `[width]`, 1 at first.
    pub gain: Param<Euclidean, T>,
    /// `[width]`, 0 at first.
    pub bias: Param<Euclidean, T>,
}
module!(impl[T: Float] Module<T> for LayerNorm<T> { gain, bias });

impl<T: Float> LayerNorm<T> {
    /// What is added to the variance.
    pub const EPSILON: f64 = 1e-5;

    /// Of rows of a width.
    pub fn new(width: usize) -> Self {
        LayerNorm {
            gain: Param::new("gain", Euclidean, Tensor::from_fn([width], |_| T::one())),
            bias: Param::new("bias", Euclidean, Tensor::zeros([width])),
        }
    }

    /// Rows `[…, width]`.
    ///
    /// # Panics
    /// If they are of another width.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>) -> Var<'t, T> {
        let [gain, bias] = [&self.gain, &self.bias].map(|param| *x.tape().point(param).coordinates());
        x.layer_norm(gain, bias, Self::EPSILON)
    }
}
