//! Layer normalisation. Ba, Kiros, Hinton 2016.

use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Euclidean, Module, Param};

/// Brings rows to mean 0 and variance 1, then applies a gain and a bias: [`Var::layer_norm`] with
/// learned parameters. For Euclidean rows.
#[derive(Clone, Debug, Module)]
pub struct LayerNorm<T: Float = f32> {
    /// `[width]`, 1 at first.
    pub gain: Param<Euclidean, T>,
    /// `[width]`, 0 at first.
    pub bias: Param<Euclidean, T>,
}

impl<T: Float> LayerNorm<T> {
    /// ε of the definition, which is added to the variance: 1e-5, as in PyTorch.
    pub const EPSILON: f64 = 1e-5;

    /// For rows of this width.
    pub fn new(width: usize) -> Self {
        LayerNorm {
            gain: Param::new("gain", Euclidean, Tensor::from_fn([width], |_| T::one())),
            bias: Param::new("bias", Euclidean, Tensor::zeros([width])),
        }
    }

    /// Normalises rows `[…, width]`.
    ///
    /// # Panics
    /// If the rows are of another width.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>) -> Var<'t, T> {
        let [gain, bias] = [&self.gain, &self.bias].map(|param| *param.on(x.tape()));
        x.layer_norm(gain, bias, Self::EPSILON)
    }
}
