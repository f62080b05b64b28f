//! Convolution of images: LeCun et al. 1989, and stacks of it with normalisation between.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Euclidean, Module, Param};

use crate::activation::Activation;
use crate::init;
use crate::norm::batch_norm::BatchStatistics;
use crate::norm::batch_norm_2d::BatchNorm2d;

/// 2-D convolution with learned filters: [`Var::conv2d`] with a bias for each filter.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::Conv2d;
/// use cotangent_manifolds::Module;
/// let conv = Conv2d { stride: 2, padding: 1, ..Conv2d::new(3, 24, 3, &mut rng::stream(1, 0, 0)) };
/// let tape = Tape::<f32>::new();
/// let maps = conv.forward(tape.constant(&Tensor::zeros([2, 3, 75, 75])));
/// assert_eq!(maps.shape().axes(), [2, 24, 38, 38]);
/// assert_eq!(conv.count(), 24 * 3 * 3 * 3 + 24);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Conv2d<T: Float = f32> {
    /// `[filters, channels, h, w]`.
    pub filters: Param<Euclidean, T>,
    /// `[filters]`.
    pub bias: Option<Param<Euclidean, T>>,
    /// The step between the filters' places: 1 at first.
    pub stride: usize,
    /// The number of zeros on every side of an image: 0 at first.
    pub padding: usize,
}

impl<T: Float> Conv2d<T> {
    /// Square filters of side `size` over images of so many channels. They are drawn by
    /// [`init::he_normal`], because a ReLU usually follows; the bias starts at 0.
    pub fn new(channels: usize, filters: usize, size: usize, rng: &mut Rng) -> Self {
        let weights = init::he_normal(filters, channels * size * size, rng);
        Conv2d {
            filters: Param::new("filters", Euclidean, weights.reshape([filters, channels, size, size])),
            bias: Some(Param::new("bias", Euclidean, Tensor::zeros([filters]))),
            stride: 1,
            padding: 0,
        }
    }

    /// The layer without a bias.
    pub fn without_bias(self) -> Self {
        Conv2d { bias: None, ..self }
    }

    /// Images `[batch, channels, height, width]` to maps
    /// `[batch, filters, (height + 2·padding − h) / stride + 1, (width + 2·padding − w) / stride + 1]`.
    ///
    /// # Panics
    /// As [`Var::conv2d`]: if the images have other axes or channels, a filter is larger than a padded image,
    /// or the stride is 0.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>) -> Var<'t, T> {
        let maps = x.conv2d(self.filters.on(x.tape()), self.stride, self.padding);
        match &self.bias {
            Some(bias) => maps + per_channel(*bias.on(x.tape())),
            None => maps,
        }
    }
}

/// A number for each channel, `[channels]`, as it goes with maps `[batch, channels, height, width]`.
pub(crate) fn per_channel<T: Float>(numbers: Var<'_, T>) -> Var<'_, T> {
    numbers.reshape([numbers.shape().elements(), 1, 1])
}

/// Convolutions without bias, each followed by [`BatchNorm2d`] and an activation, as encoders of images are:
/// Ioffe & Szegedy 2015, section 3.2; Santoro et al. 2017 (*A simple neural network module for relational
/// reasoning*), section 4.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::ConvStack;
/// let mut stack = ConvStack::new(&[3, 24, 24, 24, 24], 3, 2, &mut rng::stream(1, 0, 0));
/// let tape = Tape::<f32>::new();
/// let images = tape.constant(&Tensor::from_fn([2, 3, 75, 75], |i| (i as f32).sin()));
/// let (maps, batch) = stack.forward_batch(images);
/// assert_eq!(maps.shape().axes(), [2, 24, 5, 5]);
/// stack.observe(&batch);
/// assert_eq!(stack.forward(images).shape(), maps.shape());
/// ```
#[derive(Clone, Debug, Module)]
pub struct ConvStack<T: Float = f32> {
    /// The convolutions, from the images on.
    pub convolutions: Vec<Conv2d<T>>,
    /// The normalisation after each.
    pub norms: Vec<BatchNorm2d<T>>,
    /// After each normalisation: ReLU at first.
    #[module(skip)]
    pub activation: Activation<T>,
}

impl<T: Float> ConvStack<T> {
    /// From images of `channels[0]` channels through maps of the others, by square filters of side `size`.
    /// The padding is `size / 2`: for an odd size and stride 1 the maps are as large as the images.
    pub fn new(channels: &[usize], size: usize, stride: usize, rng: &mut Rng) -> Self {
        let convolution = |pair: &[usize]| {
            let convolution = Conv2d::new(pair[0], pair[1], size, rng).without_bias();
            Conv2d { stride, padding: size / 2, ..convolution }
        };
        ConvStack {
            convolutions: channels.windows(2).map(convolution).collect(),
            norms: channels.iter().skip(1).map(|&n| BatchNorm2d::new(n)).collect(),
            activation: Activation::RELU,
        }
    }

    /// Images `[batch, channels, height, width]` to the last maps, normalised by the running statistics.
    ///
    /// # Panics
    /// As [`Conv2d::forward`].
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>) -> Var<'t, T> {
        self.layers(x, |norm, maps| norm.forward(maps))
    }

    /// Same as [`forward`](Self::forward), normalised by the statistics of the batch, which are returned for
    /// each layer.
    ///
    /// # Panics
    /// As [`Conv2d::forward`] and [`BatchNorm2d::forward_batch`].
    #[track_caller]
    pub fn forward_batch<'t>(&self, x: Var<'t, T>) -> (Var<'t, T>, Vec<BatchStatistics<T>>) {
        let mut statistics = Vec::with_capacity(self.norms.len());
        let maps = self.layers(x, |norm, maps| {
            let (maps, batch) = norm.forward_batch(maps);
            statistics.push(batch);
            maps
        });
        (maps, statistics)
    }

    /// [`BatchNorm2d::observe`] of every layer.
    ///
    /// # Panics
    /// If there are not as many statistics as layers.
    #[track_caller]
    pub fn observe(&mut self, batch: &[BatchStatistics<T>]) {
        let (given, layers) = (batch.len(), self.norms.len());
        assert_eq!(given, layers, "ConvStack: {given} statistics for {layers} layers");
        self.norms.iter_mut().zip(batch).for_each(|(norm, batch)| norm.observe(batch));
    }

    #[track_caller]
    fn layers<'t>(
        &self,
        x: Var<'t, T>,
        mut normalise: impl FnMut(&BatchNorm2d<T>, Var<'t, T>) -> Var<'t, T>,
    ) -> Var<'t, T> {
        let layers = self.convolutions.iter().zip(&self.norms);
        layers.fold(x, |x, (layer, norm)| self.activation.apply(normalise(norm, layer.forward(x))))
    }
}
