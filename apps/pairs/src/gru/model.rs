//! The model: two encoders, a feed-forward layer, logistic regression.

use cotangent::layers::init;
use cotangent::prelude::*;
use cotangent_apps_common::confusion::Confusion;
use cotangent_apps_common::padded::Padded;

use super::{GruConfig, Protocol};
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
    fn start_ends<T: Float, B: Manifold, H: Manifold>(
        self,
        join: &mut Concat<B, T>,
        regression: &mut LogisticRegression<H, T>,
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

/// A model of pairs of sentences, whatever its geometries and its encoder are.
pub(super) trait Classifier<T: Float>: Module<T> + Sync {
    /// The input points of the logistic regression, `[batch, dim]`, and its logits, `[batch, classes]`.
    fn forward<'t>(&self, tape: &'t Tape<T>, sentences: &[Padded; 2]) -> [Var<'t, T>; 2];

    /// The points and the normals of the hyperplanes of the logistic regression, `[classes, dim]`.
    fn hyperplanes<'t>(&self, tape: &'t Tape<T>) -> [Var<'t, T>; 2];

    /// The curvatures that the body and the head have learned; `None` if they are fixed.
    fn learned_kappa(&self) -> [Option<f64>; 2];
}

/// Two encoders, one for each sentence. Their final states, and the squared distance of these, go through a
/// feed-forward layer into a logistic regression: Ganea et al. 2018, section 4, "Models architecture".
#[derive(Clone, Debug, Module)]
pub(super) struct GruModel<T: Float, B: Geometry<T>, H: Geometry<T>, C> {
    pub(super) body: B,
    pub(super) head: H,
    pub(super) words: Embedding<B::Learned, T>,
    first: C,
    second: C,
    pub(super) join: Concat<B::Learned, T>,
    pub(super) regression: LogisticRegression<H::Learned, T>,
    #[module(skip)]
    feed_forward: Activation<T>,
}

impl<T: Float, B: Geometry<T>, H: Geometry<T>, C: Cell<B::Learned, T>> GruModel<T, B, H, C> {
    pub(super) fn new(
        body: B,
        head: H,
        cell: impl Fn(B::Learned, &mut rng::Rng) -> C,
        config: &GruConfig,
        [words, classes]: [usize; 2],
    ) -> Self {
        let (mut rng, dim) = (rng::stream(config.seed, "initial", 0), config.dim);
        let manifold = body.manifold();
        let mut model = GruModel {
            words: Embedding::uniform(
                "words",
                manifold,
                words,
                dim,
                config.protocol.word_range(dim),
                &mut rng,
            ),
            first: cell(manifold, &mut rng),
            second: cell(manifold, &mut rng),
            join: Concat::new(manifold, &[dim, dim], 1, dim, &mut rng),
            regression: LogisticRegression::new(head.manifold(), dim, classes, &mut rng),
            feed_forward: config.feed_forward.activation(),
            body,
            head,
        };
        config.protocol.start_ends(&mut model.join, &mut model.regression, &mut rng);
        model
    }
}

impl<T, B, H, C> Classifier<T> for GruModel<T, B, H, C>
where
    T: Float,
    B: Geometry<T>,
    H: Geometry<T>,
    C: Cell<B::Learned, T>,
{
    fn forward<'t>(&self, tape: &'t Tape<T>, [first, second]: &[Padded; 2]) -> [Var<'t, T>; 2] {
        let (body, head) = (self.body.on(tape), self.head.on(tape));
        let encode = |cell: &C, sentences: &Padded| {
            let [len, batch] = sentences.shape();
            let words = body.points(self.words.forward(tape, &sentences.words));
            cell.forward(Sequence::new(words.arrange([len, batch])).with_lengths(&sentences.lengths)).last()
        };
        let (first, second) = (encode(&self.first, first), encode(&self.second, second));
        let squared_distance = body.dist(*first.coordinates(), *second.coordinates()).square().insert_axis(1);
        let joined = self.join.forward(&[first, second], Some(squared_distance));
        // If body and head have the same geometry, this is the Möbius version of the nonlinearity.
        let inputs = exp0(head, self.feed_forward.apply(*log0(joined)));
        [*inputs.coordinates(), self.regression.forward(inputs)]
    }

    fn hyperplanes<'t>(&self, tape: &'t Tape<T>) -> [Var<'t, T>; 2] {
        let points = self.head.on(tape).parameter(tape, &self.regression.points);
        [points, *self.regression.normals.on(tape)]
    }

    fn learned_kappa(&self) -> [Option<f64>; 2] {
        [learned_kappa(&self.body), learned_kappa(&self.head)]
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
    model: &impl Classifier<T>,
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

/// The curvature that a geometry has learned; `None` if its curvature is fixed.
fn learned_kappa<T: Float>(geometry: &impl Geometry<T>) -> Option<f64> {
    let state = geometry.state();
    state.first().map(|(_, kappa)| kappa.data()[0].to_f64())
}
