//! The model: two encoders, a feed-forward layer, logistic regression.

use cotangent::layers::init;
use cotangent::prelude::*;
use cotangent_apps_common::confusion::Confusion;
use cotangent_apps_common::padded::Padded;

use super::{Architecture, Encoder, GruConfig, Nonlinearity, Protocol, Space};
use crate::sentence_pairs::Pair;

impl Protocol {
    /// Largest absolute value of an initial coordinate of a word in `dim` dimensions. In the authors' program
    /// it is `∛(3 ε²/(2 dim))` with ε = 0.001.
    fn word_range(self, dim: usize) -> f64 {
        match self {
            Protocol::Adam => 0.1,
            Protocol::Released => (3.0 * 1e-6 / (2.0 * dim as f64)).cbrt(),
        }
    }

    /// Draws matrices of `rows` rows, one below the other, in the authors' way: each by
    /// [`init::glorot_uniform`].
    pub(super) fn start<T: Float>(self, matrices: &mut Param<Euclidean, T>, rows: usize, rng: &mut rng::Rng) {
        if self == Protocol::Released {
            let width = matrices.value().width();
            for matrix in matrices.value_mut().data_mut().chunks_mut(rows * width) {
                matrix.copy_from_slice(init::glorot_uniform::<T>(rows, width, rng).data());
            }
        }
    }

    /// Starts the layers behind the encoders in the authors' way: a matrix for each sentence and a normal for
    /// each class by themselves, and the point of the distance at the origin. The bias is added before the
    /// distance.
    fn start_ends<T: Float>(
        self,
        join: &mut Concat<SpaceForm, T>,
        regression: &mut LogisticRegression<SpaceForm, T>,
        rng: &mut rng::Rng,
    ) {
        for weight in &mut join.weights {
            let rows = weight.value().rows().len();
            self.start(weight, rows, rng);
        }
        join.bias_first = self == Protocol::Released;
        self.start(&mut regression.normals, 1, rng);
        if self == Protocol::Released {
            for feature in &mut join.features {
                feature.value_mut().data_mut().copy_from_slice(join.bias.value().data());
            }
        }
    }
}

/// A recurrent layer that reads sentences.
#[derive(Clone, Debug, Module)]
pub(super) enum Reader<T: Float> {
    Rnn(Rnn<SpaceForm, T>),
    Gru(Gru<SpaceForm, T>),
}

impl<T: Float> Reader<T> {
    fn new(manifold: SpaceForm, config: &GruConfig, rng: &mut rng::Rng) -> Self {
        let (dim, protocol) = (config.dim, config.protocol);
        let activation = config.cell.unwrap_or(Nonlinearity::Identity).activation();
        match config.architecture.encoder {
            Encoder::Rnn => {
                let mut rnn = Rnn { activation, ..Rnn::new(manifold, dim, dim, rng) };
                protocol.start(&mut rnn.hidden, dim, rng);
                Reader::Rnn(rnn)
            }
            Encoder::Gru => {
                let mut gru = Gru { activation, ..Gru::new(manifold, dim, dim, rng) };
                protocol.start(&mut gru.gates, dim, rng);
                protocol.start(&mut gru.hidden, dim, rng);
                Reader::Gru(gru)
            }
        }
    }

    /// The state after the last word of each sentence.
    fn last<'t>(&self, words: Sequence<'t, AnySpace<'t, T>, T>) -> Point<AnySpace<'t, T>, Var<'t, T>> {
        match self {
            Reader::Rnn(rnn) => rnn.forward(words),
            Reader::Gru(gru) => gru.forward(words),
        }
        .last()
    }
}

/// Two encoders, one for each sentence. Their final states, and the squared distance of these, go through a
/// feed-forward layer into a logistic regression: Ganea et al. 2018, section 4, "Models architecture". Points
/// go from one geometry to another by log₀ and exp₀.
#[derive(Clone, Debug, Module)]
pub(super) struct GruModel<T: Float> {
    body: AnyGeometry<T>,
    /// The geometry of the feed-forward layer; `None` for that of the body.
    feed_forward_space: Option<AnyGeometry<T>>,
    head: AnyGeometry<T>,
    pub(super) words: Embedding<SpaceForm, T>,
    first: Reader<T>,
    second: Reader<T>,
    pub(super) join: Concat<SpaceForm, T>,
    pub(super) regression: LogisticRegression<SpaceForm, T>,
    #[module(skip)]
    feed_forward: Activation<T>,
}

impl<T: Float> GruModel<T> {
    /// For so many words and classes.
    pub(super) fn new(config: &GruConfig, [words, classes]: [usize; 2]) -> Self {
        let (mut rng, dim) = (rng::stream(config.seed, "initial", 0), config.dim);
        let Architecture { body, feed_forward_space, head, .. } = config.architecture;
        let geometry = |space: Space| space.geometry(config.curvature());
        let [body, head] = [body, head].map(geometry);
        let feed_forward_space = feed_forward_space.map(geometry);
        let manifold = body.manifold();
        let joined = feed_forward_space.as_ref().unwrap_or(&body).manifold();
        let range = config.protocol.word_range(dim);
        let mut model = GruModel {
            words: Embedding::uniform("words", manifold, words, dim, range, &mut rng),
            first: Reader::new(manifold, config, &mut rng),
            second: Reader::new(manifold, config, &mut rng),
            join: Concat::new(joined, &[dim, dim], 1, dim, &mut rng),
            regression: LogisticRegression::new(head.manifold(), dim, classes, &mut rng),
            feed_forward: config.feed_forward.activation(),
            body,
            feed_forward_space,
            head,
        };
        config.protocol.start_ends(&mut model.join, &mut model.regression, &mut rng);
        model
    }

    /// The input points of the logistic regression, `[batch, dim]`, and its logits, `[batch, classes]`.
    pub(super) fn forward<'t>(&self, tape: &'t Tape<T>, [first, second]: &[Padded; 2]) -> [Var<'t, T>; 2] {
        let (body, head) = (self.body.on(tape), self.head.on(tape));
        let encode = |reader: &Reader<T>, sentences: &Padded| {
            let [len, batch] = sentences.shape();
            let words = body.points(self.words.forward(tape, &sentences.words));
            reader.last(Sequence::new(words.arrange([len, batch])).with_lengths(&sentences.lengths))
        };
        let mut states = [encode(&self.first, first), encode(&self.second, second)];
        let [first, second] = states.map(|state| *state.coordinates());
        let squared_distance = body.dist(first, second).square().insert_axis(1);
        if let Some(own) = &self.feed_forward_space {
            let space = own.on(tape);
            states = states.map(|state| into_space(space, state));
        }
        let joined = self.join.forward(&states, Some(squared_distance));
        // If the layer and the head have the same geometry, this is the Möbius version of the nonlinearity.
        let inputs = exp0(head, self.feed_forward.apply(*log0(joined)));
        [*inputs.coordinates(), self.regression.forward(inputs)]
    }

    /// The points and the normals of the hyperplanes of the logistic regression, `[classes, dim]`.
    pub(super) fn hyperplanes<'t>(&self, tape: &'t Tape<T>) -> [Var<'t, T>; 2] {
        let points = self.head.on(tape).parameter(tape, &self.regression.points);
        [points, *self.regression.normals.on(tape)]
    }

    /// The curvatures that body, feed-forward layer and head have learned; `None` where it is fixed, or the
    /// layer's is that of the body.
    pub(super) fn learned_kappa(&self) -> [Option<f64>; 3] {
        let feed_forward = self.feed_forward_space.as_ref().and_then(AnyGeometry::learned_kappa);
        [self.body.learned_kappa(), feed_forward, self.head.learned_kappa()]
    }
}

/// The first sentences of some pairs, their second sentences, and their classes.
pub(super) fn side_by_side(pairs: &[&Pair]) -> ([Padded; 2], Vec<u32>) {
    let first = Padded::new(pairs.iter().map(|pair| pair.first.as_slice()));
    let second = Padded::new(pairs.iter().map(|pair| pair.second.as_slice()));
    ([first, second], pairs.iter().map(|pair| pair.class).collect())
}

/// Number of pairs that are classified together.
const CLASSIFIED_TOGETHER: usize = 512;

/// The confusion matrix of a model on these pairs.
pub(super) fn classify<T: Float>(
    model: &GruModel<T>,
    pairs: &[Pair],
    classes: usize,
    tape: &mut Tape<T>,
) -> Confusion {
    let mut confusion = Confusion::new(classes);
    for pairs in pairs.chunks(CLASSIFIED_TOGETHER) {
        let (sentences, classes) = side_by_side(&pairs.iter().collect::<Vec<_>>());
        tape.reset();
        let [_, logits] = model.forward(tape, &sentences);
        classes.iter().zip(logits.top_k(1).1).for_each(|(&class, found)| confusion.add(class, found));
    }
    confusion
}
