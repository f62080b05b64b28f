//! The diffusion transformer: Peebles & Xie 2023 (*DiT*), with any attention score.

use cotangent::engine::rng::Rng;
use cotangent::layers::{Embedding, FeedForward, MultiHeadAttention, Score, init, position};
use cotangent::prelude::*;

use super::DitConfig;
use super::diffusion::TIMES;
use crate::pictured::Ends;

/// Standard deviation of the initial vectors of times and classes.
const DEVIATION: f64 = 0.02;

/// Numbers that a time becomes, before the network that makes a vector of it.
pub(super) const FREQUENCIES: usize = 256;

/// ε of the normalisations.
const EPSILON: f64 = 1e-6;

/// What a model predicts of patches `[n, patches, numbers]`, each of this shape.
#[derive(Clone, Copy)]
pub(super) struct Prediction<'t> {
    /// The noise.
    pub(super) noise: Var<'t, f32>,
    /// Where ln σ² is between ln β̃ₜ, at 0, and ln βₜ, at 1, if variances are learned. It can be
    /// beyond them. Nichol & Dhariwal 2021, eq. 15.
    pub(super) place: Option<Var<'t, f32>>,
}

/// Predicts the noise in a picture from its time and its class, and with `--learn-variances` the variances of
/// a step back.
#[derive(Clone, Debug, Module)]
pub(super) struct DitModel {
    /// A patch as a vector.
    patches: Linear<Euclidean>,
    /// From the sinusoid of a time to its vector.
    time: FeedForward<Euclidean>,
    /// `[classes + 1, width]`: the vectors of classes. The last one is that of no class.
    classes: Embedding<Euclidean>,
    blocks: Vec<DitBlock>,
    /// Shift and scale of the last normalisation.
    modulation: Linear<Euclidean>,
    /// The noise in a patch, then what variances are predicted from.
    head: Linear<Euclidean>,
    #[module(skip)]
    learns_variances: bool,
    /// `[patches, width]`, fixed.
    #[module(skip)]
    positions: Tensor<f32>,
    /// `[times, 256]`: the sinusoids of times.
    #[module(skip)]
    sinusoids: Tensor<f32>,
}

impl DitModel {
    pub(super) fn new(config: &DitConfig, score: &dyn Score<f32>, ends: Ends, rng: &mut Rng) -> Self {
        let width = config.width;
        let numbers = config.patch * config.patch * ends.channels;
        let outputs = if config.learn_variances { 2 * numbers } else { numbers };
        let patches = Linear::new(Euclidean, numbers, width, rng);
        let mut time = FeedForward {
            output: Activation::IDENTITY,
            ..FeedForward::new(Euclidean, &[FREQUENCIES, width, width], silu(), rng)
        };
        for layer in &mut time.layers {
            let [m, n] = [layer.weight.value().shape()[0], layer.weight.value().shape()[1]];
            *layer.weight.value_mut() = init::normal(m, n, DEVIATION, rng);
        }
        let classes = init::normal(ends.classes + 1, width, DEVIATION, rng);
        DitModel {
            patches,
            time,
            classes: Embedding { points: Param::new("classes", Euclidean, classes) },
            blocks: (0..config.layers).map(|_| DitBlock::new(config, score, rng)).collect(),
            modulation: zero_linear(width, 2 * width),
            head: zero_linear(width, outputs),
            learns_variances: config.learn_variances,
            positions: position::sinusoidal_grid(config.grid(), width),
            sinusoids: position::sinusoidal(TIMES, FREQUENCIES),
        }
    }

    /// The number that stands for no class.
    pub(super) fn no_class(&self) -> u32 {
        self.classes.points.value().shape()[0] as u32 - 1
    }

    /// The prediction for patches x, `[n, patches, numbers]`, of n pictures with these times and classes.
    pub(super) fn predict<'t>(&self, x: Var<'t, f32>, times: &[u32], classes: &[u32]) -> Prediction<'t> {
        let (tape, numbers) = (x.tape(), x.shape().width());
        let sinusoids = tape.constant_with([times.len(), FREQUENCIES], |numbers| {
            for (to, &time) in numbers.chunks_exact_mut(FREQUENCIES).zip(times) {
                to.copy_from_slice(self.sinusoids.row(time as usize));
            }
        });
        let condition = *self.time.forward(sinusoids) + *self.classes.forward(tape, classes);
        let condition = silu().apply(condition);
        let mut x = *self.patches.forward(x) + tape.constant(&self.positions);
        for block in &self.blocks {
            x = block.forward(x, condition);
        }
        let [shift, scale] = modulations(&self.modulation, condition);
        let predicted = *self.head.forward(modulated(x, shift, scale));
        if !self.learns_variances {
            return Prediction { noise: predicted, place: None };
        }
        // The network says −1 for β̃ₜ and 1 for βₜ, as in the released program of DiT.
        let place = predicted.slice(2, numbers..2 * numbers) * 0.5 + 0.5;
        Prediction { noise: predicted.slice(2, 0..numbers), place: Some(place) }
    }

    /// The prediction at one time under a guidance g: its noise is
    /// `ε(x, no class) + g (ε(x, class) − ε(x, no class))`. With 1 it is that of the class. Ho &
    /// Salimans 2022, eq. 6, where g is w + 1. Variances are those of the class, unless g is 0.
    pub(super) fn guided<'t>(
        &self,
        x: Var<'t, f32>,
        time: u32,
        classes: &[u32],
        guidance: f64,
    ) -> Prediction<'t> {
        let predict = |classes: &[u32]| self.predict(x, &vec![time; classes.len()], classes);
        let none = vec![self.no_class(); classes.len()];
        match guidance {
            1.0 => predict(classes),
            0.0 => predict(&none),
            _ => {
                let (without, with) = (predict(&none).noise, predict(classes));
                Prediction { noise: without + (with.noise - without) * guidance, ..with }
            }
        }
    }
}

/// The numbers of n pictures in patches, as `[n, patches, numbers]`.
pub(super) fn on_tape<'t>(tape: &'t Tape<f32>, numbers: &[f32], [n, patches]: [usize; 2]) -> Var<'t, f32> {
    let shape = [n, patches, numbers.len() / (n * patches)];
    tape.constant_with(shape, |to| to.copy_from_slice(numbers))
}

/// Attention of patches to one another, then a feed-forward network. The condition c, `[n, width]`, gives
/// each of them a shift, a scale and a gate (adaLN-Zero):
/// `x ← x + gate · f(norm(x) (1 + scale) + shift)`, with a normalisation that has no parameters. All three
/// are 0 at first, so that the block returns x. Peebles & Xie 2023, section 3.2.
#[derive(Clone, Debug, Module)]
pub(super) struct DitBlock {
    attention: MultiHeadAttention,
    feed_forward: FeedForward<Euclidean>,
    /// `[6 width, width]`.
    pub(super) modulation: Linear<Euclidean>,
}

impl DitBlock {
    pub(super) fn new(config: &DitConfig, score: &dyn Score<f32>, rng: &mut Rng) -> Self {
        let (body, width) = (config.body(), config.width);
        let mut attention = MultiHeadAttention::new(score, width, body.heads, body.head(), rng);
        body.apply(&mut attention);
        let gelu = Activation::new(|v| v.gelu());
        let feed_forward = FeedForward {
            output: Activation::IDENTITY,
            ..FeedForward::new(Euclidean, &[width, body.hidden, width], gelu, rng)
        };
        DitBlock { attention, feed_forward, modulation: zero_linear(width, 6 * width) }
    }

    /// Patches `[n, patches, width]` under conditions `[n, width]`.
    pub(super) fn forward<'t>(&self, x: Var<'t, f32>, condition: Var<'t, f32>) -> Var<'t, f32> {
        let [shift, scale, gate, shift_2, scale_2, gate_2] = modulations(&self.modulation, condition);
        let normed = modulated(x, shift, scale);
        let x = x + gate * self.attention.forward(normed, normed, Mask::None);
        x + gate_2 * *self.feed_forward.forward(modulated(x, shift_2, scale_2))
    }
}

/// `x σ(x)`.
fn silu() -> Activation {
    Activation::new(|v| v * v.sigmoid())
}

/// A linear layer from n to m dimensions whose weights are 0 at first.
fn zero_linear(n: usize, m: usize) -> Linear<Euclidean> {
    Linear {
        weight: Param::new("weight", Euclidean, Tensor::zeros([m, n])),
        bias: Some(Param::new("bias", Euclidean, Tensor::zeros([m]))),
    }
}

/// The results of a linear layer on conditions `[n, width]`, as parts of `[n, 1, width]` each.
fn modulations<'t, const N: usize>(linear: &Linear<Euclidean>, condition: Var<'t, f32>) -> [Var<'t, f32>; N] {
    let (all, width) = (*linear.forward(condition), condition.shape().width());
    std::array::from_fn(|part| all.slice(1, part * width..(part + 1) * width).insert_axis(1))
}

/// `norm(x) (1 + scale) + shift`.
fn modulated<'t>(x: Var<'t, f32>, shift: Var<'t, f32>, scale: Var<'t, f32>) -> Var<'t, f32> {
    let (tape, width) = (x.tape(), x.shape().width());
    let gain = tape.constant_with([width], |gain| gain.fill(1.0));
    x.layer_norm(gain, tape.zeros([width]), EPSILON) * (scale + 1.0) + shift
}
