//! The value network: the recursive transformer (Gulcehre et al. 2019, section 5.1 and appendix A.6) on the
//! cities of a state.
//!
//! An encoder turns the features of each city into its state. One block of attention and feed-forward network
//! is applied several times, with the same weights. A read-out says the value of going to each city.

use cotangent::layers::{EncoderLayer, NormOrder, TransformerSizes};
use cotangent::prelude::*;

use super::config::TourConfig;
use super::state::{FEATURES, State, features};

/// Encoder, block and read-out.
#[derive(Clone, Debug, Module)]
pub(super) struct ValueNetwork {
    encoder: Linear<Euclidean>,
    block: EncoderLayer,
    norm: LayerNorm,
    read_out: FeedForward<Euclidean>,
    /// Number of times that the block is applied.
    depth: usize,
}

impl ValueNetwork {
    /// The network before the first step. Its random stream is named `"initial"`.
    pub(super) fn new(config: &TourConfig, score: &dyn Score<f32>) -> Self {
        let mut rng = rng::stream(config.seed, "initial", 0);
        let [width, hidden] = config.sizes();
        let (heads, head, order) = (config.heads, [config.head_dim; 2], NormOrder::Pre);
        let sizes = TransformerSizes { width, heads, head, hidden, dropout: 0.0, order };
        let encoder = Linear::new(Euclidean, FEATURES, width, &mut rng);
        let mut block = EncoderLayer::new(score, sizes, &mut rng);
        config.options.apply_to_heads(&mut block.attention);
        let read_out = FeedForward::new(Euclidean, &[width, hidden, 1], Activation::RELU, &mut rng);
        ValueNetwork {
            encoder,
            block,
            norm: LayerNorm::new(width),
            read_out: FeedForward { output: Activation::IDENTITY, ..read_out },
            depth: config.layers,
        }
    }

    /// The last states of the cities, `[states · cities, width]`.
    fn encode<'t>(&self, tape: &'t Tape<f32>, states: &[State<'_>]) -> Var<'t, f32> {
        let mut x = *self.encoder.forward(features(tape, states));
        for _ in 0..self.depth {
            x = self.block.forward(x, Mask::None);
        }
        let shape = x.shape();
        self.norm.forward(x).reshape([shape[0] * shape[1], shape.width()])
    }

    /// The value Q(s, a) of going to each city, `[states · cities, 1]`. Those of visited cities mean
    /// nothing.
    pub(super) fn values<'t>(&self, tape: &'t Tape<f32>, states: &[State<'_>]) -> Var<'t, f32> {
        *self.read_out.forward(self.encode(tape, states))
    }

    /// The value of going to one city of each state, `[states, 1]`.
    pub(super) fn values_of<'t>(
        &self,
        tape: &'t Tape<f32>,
        states: &[State<'_>],
        actions: &[usize],
    ) -> Var<'t, f32> {
        let cities = states[0].cities.len();
        let rows: Vec<u32> =
            actions.iter().enumerate().map(|(state, &city)| (state * cities + city) as u32).collect();
        *self.read_out.forward(self.encode(tape, states).gather(&rows))
    }
}
