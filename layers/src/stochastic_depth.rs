//! Stochastic depth: Huang et al. 2016 (*Deep Networks with Stochastic Depth*).

use cotangent_engine::{Float, Shape, Var};

/// Drops the result of a residual block for some samples of a batch, and scales that of the others, so that
/// its expected value stays the same: each sample is 0 with probability `rate`, and otherwise divided by
/// `1 − rate`. It does nothing unless the tape is [`training`](cotangent_engine::Tape::training). Huang et
/// al. 2016, eq. 2; scaled while training, as in Touvron et al. 2021 (*DeiT*).
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::StochasticDepth;
/// let tape = Tape::<f64>::new();
/// let x = tape.constant(&Tensor::from_fn([50, 2, 3], |_| 1.0)); // 50 samples
/// tape.training(rng::stream(1, 0, 0));
/// let y = StochasticDepth { rate: 0.5 }.forward(x).to_tensor();
/// assert!(y.data().chunks(6).all(|sample| sample == [0.0; 6] || sample == [2.0; 6]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StochasticDepth {
    /// The probability with which a sample is dropped, in [0, 1).
    pub rate: f64,
}

impl StochasticDepth {
    /// The rate of a layer, of `layers` numbered from 0: it rises linearly, from 0 in the first layer to
    /// `largest` in the last. Huang et al. 2016, eq. 4, where it starts above 0; as here in DeiT.
    pub fn rising(largest: f64, layer: usize, layers: usize) -> Self {
        StochasticDepth { rate: largest * layer as f64 / layers.saturating_sub(1).max(1) as f64 }
    }

    /// Samples `[batch, …]`.
    ///
    /// # Panics
    /// If the rate is not in [0, 1), or x has no axes.
    #[track_caller]
    pub fn forward<'t, T: Float>(&self, x: Var<'t, T>) -> Var<'t, T> {
        self.dropped(x, |shape| shape[0])
    }

    /// All of x as one sample, such as the nodes of a graph.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    #[track_caller]
    pub fn forward_one<'t, T: Float>(&self, x: Var<'t, T>) -> Var<'t, T> {
        self.dropped(x, |_| 1)
    }

    /// x by so many samples: the extent of its first axis, or 1.
    #[track_caller]
    fn dropped<'t, T: Float>(&self, x: Var<'t, T>, samples: fn(&Shape) -> usize) -> Var<'t, T> {
        assert!((0.0..1.0).contains(&self.rate), "stochastic depth: a rate of {}", self.rate);
        if self.rate == 0.0 || !x.tape().is_training() {
            return x;
        }
        let shape = x.shape();
        let mut axes = vec![1; shape.rank()];
        axes[0] = samples(&shape);
        x * x.tape().constant_with(&axes[..], |ones| ones.fill(T::one())).dropout(self.rate)
    }
}
