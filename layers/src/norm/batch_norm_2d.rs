//! Batch normalisation of maps, for each channel: Ioffe & Szegedy 2015, section 3.2.

use cotangent_engine::{Float, MapFormula, Scalar, Tensor, Var};
use cotangent_manifolds::{Euclidean, Module, Param};

use crate::convolution::per_channel;
use crate::norm::batch_norm::{BatchStatistics, towards};

/// Brings each channel of a batch of maps to mean β and deviation |γ|, both learned for each channel. With
/// m and v the channel's mean and variance over batch, height and width:
///
/// ```text
/// x ↦ β + γ (x − m)/√(v + ε)
/// ```
///
/// In training, [`forward_batch`](Self::forward_batch) normalises by the batch's own mean and variance and
/// returns them. Pass them to [`observe`](Self::observe), which updates the running ones.
/// [`forward`](Self::forward) normalises by the running ones. [`BatchNorm`](crate::BatchNorm) is the layer of
/// points, with one variance for all coordinates. For rows `[batch, n]` that are normalised coordinate by
/// coordinate, pass the shape `[batch, n, 1, 1]`.
///
/// A `Trainer` splits a batch into parts, and its loss sees the model for reading only. So each part is
/// normalised by its own statistics (`Trainer::parts(1, 1)` makes it the whole batch), and the running ones
/// are set in the evaluation after each epoch, from a fixed sample of training data, as in algorithm 2 of the
/// paper. With a `momentum` of 1 one [`observe`](Self::observe) sets them.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::BatchNorm2d;
/// let mut norm = BatchNorm2d::new(2);
/// let tape = Tape::<f64>::new();
/// let x = tape.constant(&Tensor::new([2, 2, 1, 1], vec![1.0, 10.0, 3.0, 50.0])); // channels 1 3, and 10 50
/// let (y, batch) = norm.forward_batch(x);
/// let want = [-1.0, -1.0, 1.0, 1.0];
/// assert!(y.to_tensor().data().iter().zip(want).all(|(y, w)| (y - w).abs() < 1e-5)); // but for ε
/// assert_eq!(batch.variance.data(), [2.0, 800.0]); // 1 and 400, times 2/(2 − 1)
/// norm.observe(&batch);
/// ```
#[derive(Clone, Debug, Module)]
pub struct BatchNorm2d<T: Float = f32> {
    /// β: `[channels]`, 0 at first.
    pub bias: Param<Euclidean, T>,
    /// γ: `[channels]`, 1 at first.
    pub scale: Param<Euclidean, T>,
    /// The running mean: `[channels]`, 0 at first. No gradient reaches it.
    pub mean: Param<Euclidean, T>,
    /// The running variance: `[channels]`, 1 at first. No gradient reaches it.
    pub variance: Param<Euclidean, T>,
    /// ε: 10⁻⁵ at first.
    pub epsilon: f64,
    /// How far one batch moves the running mean and variance towards its own: 0.1 at first.
    pub momentum: f64,
}

/// `(x − m) s + β`, with one pass over the maps.
#[derive(Clone, Copy)]
struct Normalised;

impl MapFormula<4> for Normalised {
    const NAME: &'static str = "normalised";
    fn eval<S: Scalar>([x, mean, scale, bias]: [S; 4]) -> S {
        (x - mean) * scale + bias
    }
}

/// `(x − m)²`.
#[derive(Clone, Copy)]
struct SquaredDeviation;

impl MapFormula<2> for SquaredDeviation {
    const NAME: &'static str = "squared deviation";
    fn eval<S: Scalar>([x, mean]: [S; 2]) -> S {
        let deviation = x - mean;
        deviation * deviation
    }
}

impl<T: Float> BatchNorm2d<T> {
    /// For maps of so many channels.
    pub fn new(channels: usize) -> Self {
        let param = |name, value| Param::new(name, Euclidean, Tensor::from_fn([channels], |_| value));
        BatchNorm2d {
            bias: param("bias", T::zero()),
            scale: param("scale", T::one()),
            mean: param("mean", T::zero()),
            variance: param("variance", T::one()),
            epsilon: 1e-5,
            momentum: 0.1,
        }
    }

    /// Maps `[batch, channels, height, width]`, normalised by the running mean and variance.
    ///
    /// # Panics
    /// If the maps have other axes or channels.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>) -> Var<'t, T> {
        self.check_channels(x);
        let [mean, variance] = [&self.mean, &self.variance].map(|param| x.tape().constant(param.value()));
        self.normalised(x, mean, variance)
    }

    /// Maps `[batch, channels, height, width]`, normalised by their own mean and variance, through which
    /// gradients flow. Of n numbers of a channel the variance is the mean of the squares, as the formula has
    /// it; the one that is returned is n/(n − 1) times that, the unbiased estimate, as in the paper's
    /// algorithm 2 and in PyTorch.
    ///
    /// # Panics
    /// As [`forward`](Self::forward); if a channel has fewer than two numbers.
    #[track_caller]
    pub fn forward_batch<'t>(&self, x: Var<'t, T>) -> (Var<'t, T>, BatchStatistics<T>) {
        self.check_channels(x);
        let shape = x.shape();
        let (batch, channels, size) = (shape[0], shape[1], shape[2] * shape[3]);
        let n = batch * size;
        assert!(n >= 2, "BatchNorm2d: no variance in maps of shape {shape}");
        let means = |x: Var<'t, T>| x.reshape([batch, channels, size]).mean_axis(-1).mean_axis(0);
        let mean = means(x);
        let variance = means(x.tape().map(SquaredDeviation, [x, per_channel(mean)]));
        let unbiased = variance * (n as f64 / (n - 1) as f64);
        let statistics = BatchStatistics { mean: mean.to_tensor(), variance: unbiased.to_tensor() };
        (self.normalised(x, mean, variance), statistics)
    }

    /// Moves the running mean and the running variance towards those of a batch.
    pub fn observe(&mut self, batch: &BatchStatistics<T>) {
        towards(&mut self.mean, &batch.mean, self.momentum);
        towards(&mut self.variance, &batch.variance, self.momentum);
    }

    /// `β + γ (x − m)/√(v + ε)`.
    fn normalised<'t>(&self, x: Var<'t, T>, mean: Var<'t, T>, variance: Var<'t, T>) -> Var<'t, T> {
        let [bias, scale] = [&self.bias, &self.scale].map(|param| *param.on(x.tape()));
        let scale = scale / (variance + self.epsilon).sqrt();
        let [mean, scale, bias] = [mean, scale, bias].map(per_channel);
        x.tape().map(Normalised, [x, mean, scale, bias])
    }

    /// Panics unless the maps have the layer's channels.
    #[track_caller]
    fn check_channels(&self, x: Var<'_, T>) {
        let (shape, channels) = (x.shape(), self.bias.value().len());
        assert!(
            shape.rank() == 4 && shape[1] == channels,
            "BatchNorm2d: maps of shape {shape} where [batch, {channels}, height, width] fit"
        );
    }
}
