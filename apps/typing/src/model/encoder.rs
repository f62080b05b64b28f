//! The encoder: López & Strube 2020, sections 4.1 and 4.2.

use cotangent::layers::init;
use cotangent::prelude::*;

use super::space::{Located, geometry};
use crate::batches::{Batch, Padded};
use crate::config::TypingConfig;

/// Largest absolute value of an initial coordinate of a character or a position, before exp₀. Appendix F.
pub(super) const RANGE: f64 = 1e-4;

/// Words of mentions through a linear layer, their characters through an RNN, words of contexts through a GRU
/// in both directions.
#[derive(Clone, Debug, Module)]
pub(crate) struct Encoder<T: Float> {
    geometry: AnyGeometry<T>,
    /// W^M and b^M of eq. 5.
    mention: Linear<SpaceForm, T>,
    /// c of eq. 6: a point for each character.
    characters: Embedding<SpaceForm, T>,
    /// Eq. 6.
    rnn: Rnn<SpaceForm, T>,
    /// Eq. 15.
    context: Bidirectional<Gru<SpaceForm, T>>,
    /// Eq. 7, of the states of both directions.
    concat: Concat<SpaceForm, T>,
    #[module(skip)]
    dropout: Dropout,
}

/// What the encoder makes of a batch. The points of each mention are one after the other.
pub(crate) struct Encoded<'t, T: Float> {
    /// m_i of eq. 5: `[batch, words, d_M]`.
    pub(crate) mention: Located<'t, T>,
    /// h_t of eq. 6: `[batch, characters, d_C]`.
    pub(crate) characters: Located<'t, T>,
    /// s_i of section 4.2: `[batch, words, 2 d_S]`.
    pub(crate) context: Located<'t, T>,
}

impl<T: Float> Encoder<T> {
    /// For words of `width` dimensions and so many characters. All weights are drawn by Glorot's rule; biases
    /// start at the origin.
    pub(crate) fn new(width: usize, characters: usize, config: &TypingConfig, rng: &mut rng::Rng) -> Self {
        let &TypingConfig { mention_dim, char_dim, context_dim, .. } = config;
        let geometry = geometry(config.spaces.encoder);
        let space = geometry.manifold();
        let mention = Linear::new(space, width, mention_dim, rng);
        let characters = Embedding::uniform("characters", space, characters, char_dim, RANGE, rng);
        // The RNN has no nonlinearity: appendix F.
        let mut rnn = Rnn { activation: Activation::IDENTITY, ..Rnn::new(space, char_dim, char_dim, rng) };
        *rnn.hidden.value_mut() = init::glorot_uniform(char_dim, char_dim, rng);
        let mut gru = || {
            let mut gru = Gru::new(space, width, context_dim, rng);
            let mut weight = || init::glorot_uniform::<T>(context_dim, context_dim, rng);
            let gates = [weight(), weight()].map(|gate| gate.data().to_vec()).concat();
            *gru.gates.value_mut() = Tensor::new([2 * context_dim, context_dim], gates);
            *gru.hidden.value_mut() = weight();
            gru
        };
        let context = Bidirectional { onward: gru(), backward: gru() };
        let concat = Concat::new(space, &[context_dim; 2], 0, 2 * context_dim, rng);
        let dropout = Dropout { rate: config.input_dropout };
        Encoder { geometry, mention, characters, rnn, context, concat, dropout }
    }

    /// Encodes a batch. `words` has the point of each word in the encoder's space.
    pub(crate) fn forward<'t>(&self, tape: &'t Tape<T>, batch: &Batch, words: &Tensor<T>) -> Encoded<'t, T> {
        let states = self.rnn.forward(self.read_characters(tape, &batch.characters));
        let mention = self.mention.forward(self.read_words(tape, &batch.mention, words));
        Encoded {
            mention: by_mention(Activation::TANH.forward(mention)),
            characters: by_mention(states.points()),
            context: by_mention(self.context(self.read_words(tape, &batch.context, words), batch)),
        }
    }

    /// s_i = concat(h_i onward, h_i backward), for word i of each context: `[len, batch, 2 d_S]`.
    fn context<'t>(&self, words: Located<'t, T>, batch: &Batch) -> Located<'t, T> {
        let words = Sequence::new(words).with_lengths(&batch.context.lengths);
        let [onward, backward] = self.context.forward(words);
        // The cell that reads from the end gives its state of the last word first.
        self.concat.forward(&[onward.points(), backward.reversed().points()], None)
    }

    /// The points of words, `[len, batch, width]`, some of their coordinates dropped while training.
    fn read_words<'t>(&self, tape: &'t Tape<T>, padded: &Padded, words: &Tensor<T>) -> Located<'t, T> {
        let width = words.width();
        let rows = tape.constant_with([padded.len, padded.batch(), width], |rows| {
            for (row, &word) in rows.chunks_mut(width).zip(&padded.numbers) {
                row.copy_from_slice(words.row(word as usize));
            }
        });
        self.dropout.forward(Point::new(self.geometry.on(tape), rows))
    }

    fn read_characters<'t>(&self, tape: &'t Tape<T>, padded: &Padded) -> Sequence<'t, AnySpace<'t, T>, T> {
        let points = self.characters.forward(tape, &padded.numbers);
        let points =
            points.coordinates().reshape([padded.len, padded.batch(), points.coordinates().shape().width()]);
        Sequence::new(Point::new(self.geometry.on(tape), points)).with_lengths(&padded.lengths)
    }
}

/// From `[len, batch, n]` to `[batch, len, n]`.
fn by_mention<'t, T: Float>(x: Located<'t, T>) -> Located<'t, T> {
    Point::new(*x.manifold(), x.coordinates().permute(&[1, 0, 2]))
}
