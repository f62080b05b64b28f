//! The model: objects of a scene, a question, and the relation network that puts them together.

use cotangent::engine::rng::Rng;
use cotangent::layers::{ConvStack, Lstm, RelationNetwork, RelationSizes, Score};
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::padded::Padded;

use super::batch::Batch;
use super::config::{Matching as MatchingOption, MatchingInput, ReasonConfig};
use super::dataset::{Dataset, Example};
use crate::clevr::features::FEATURES;

/// Relations between the objects of a scene, read for a question: Santoro et al. 2017; with attention
/// Gulcehre et al. 2019, section 3.2.
#[derive(Clone, Debug, Module)]
pub(super) struct Reasoner {
    /// Turns a picture into objects. Scenes that are lists of objects need none.
    pub(super) vision: Option<ConvStack>,
    /// Reads questions of words. Those of bits need none.
    reader: Option<Reader>,
    network: RelationNetwork,
    /// Whether the scene is hidden.
    #[module(skip)]
    blind: bool,
}

/// Reads a question word by word; its last state is the context.
#[derive(Clone, Debug, Module)]
struct Reader {
    words: Embedding<Euclidean>,
    lstm: Lstm<Euclidean>,
}

impl Reader {
    /// The states after the last words, `[questions, width]`.
    fn forward<'t>(&self, tape: &'t Tape<f32>, questions: &[&[u32]]) -> Var<'t, f32> {
        let padded = Padded::new(questions.iter().copied());
        let words = self.words.forward(tape, &padded.words).arrange(padded.shape());
        *self.lstm.forward(Sequence::new(words).with_lengths(&padded.lengths)).last().coordinates()
    }
}

/// The number of coordinates of an object's place in a picture.
const PLACE: usize = 2;

/// Number of scenes whose statistics are one batch's.
const TOGETHER: usize = 32;

/// Largest absolute value of a word's initial coordinate.
const WORDS: f64 = 1.0;

impl Reasoner {
    /// The model before the first step. Its random stream is named `"initial"`.
    pub(super) fn new(config: &ReasonConfig, data: &Dataset, score: &dyn Score<f32>) -> Self {
        let rng = &mut rng::stream(config.seed, "initial", 0);
        let channels = [&[3], &config.channels[..]].concat();
        let vision = data.pictures.then(|| ConvStack::new(&channels, 3, 2, rng));
        let maps = channels[channels.len() - 1];
        let reader = (!data.words.is_empty()).then(|| Reader {
            words: Embedding::uniform("words", Euclidean, data.words.len(), config.word_dim, WORDS, rng),
            lstm: Lstm::new(Euclidean, config.word_dim, config.question_dim, rng),
        });
        let sizes = RelationSizes {
            object: if vision.is_some() { maps + PLACE } else { FEATURES },
            context: if reader.is_some() { config.question_dim } else { data.bits },
            relation: &config.relation(),
            output: &[&config.read_out[..], &[data.answers.len()]].concat(),
        };
        let network = RelationNetwork::new(sizes, rng);
        let network = match config.matching {
            MatchingOption::None => network,
            MatchingOption::Euclidean | MatchingOption::Hyperbolic => {
                let reads_question = config.matching_input == MatchingInput::Question;
                let mut attention = Attention::new(score, config.key_dim);
                config.options.apply(&mut attention);
                network.matching(attention, config.key_dim, reads_question, rng)
            }
        };
        Reasoner {
            vision,
            reader,
            network: RelationNetwork { dropout: Dropout { rate: config.dropout }, ..network },
            blind: config.blind,
        }
    }

    /// Examples side by side, with what the model looks at: see [`Batch::new`].
    ///
    /// # Errors
    /// As [`Batch::new`].
    pub(super) fn batch<'e>(&self, examples: &'e [&'e Example], rng: Option<&mut Rng>) -> Result<Batch<'e>> {
        if self.blind { Ok(Batch::blind(examples)) } else { Batch::new(examples, rng) }
    }

    /// The logits of the questions, `[questions, answers]`. While training, maps are normalised by the
    /// statistics of the batch.
    pub(super) fn logits<'t>(&self, tape: &'t Tape<f32>, batch: &Batch<'_>) -> Var<'t, f32> {
        let (objects, absent) = self.objects(tape, batch);
        let logits = self.network.forward(objects, self.contexts(tape, batch), absent);
        let [scenes, places] = batch.sizes();
        logits.reshape([scenes * places, logits.shape().width()]).gather(&batch.rows())
    }

    /// The weights of pairs of objects, `[scenes, questions or 1, n, n]`. `None` if objects do not match.
    pub(super) fn weights<'t>(&self, tape: &'t Tape<f32>, batch: &Batch<'_>) -> Option<Var<'t, f32>> {
        self.network.matching.as_ref()?;
        let (objects, absent) = self.objects(tape, batch);
        self.network.weights(objects, self.contexts(tape, batch), absent)
    }

    /// The mean loss of the questions.
    pub(super) fn loss<'t>(&self, tape: &'t Tape<f32>, batch: &Batch<'_>) -> Var<'t, f32> {
        loss::cross_entropy(self.logits(tape, batch), &batch.answers(), 0.0)
    }

    /// Number of parameters that belong to pairs of objects: g, and the matching.
    pub(super) fn relation_parameters(&self) -> usize {
        let network = &self.network;
        network.first.count() + network.relation.count() + network.matching.as_ref().map_or(0, Module::count)
    }

    /// Sets the running statistics to the mean of those of batches of some examples: Ioffe & Szegedy 2015,
    /// algorithm 2.
    ///
    /// # Errors
    /// If a picture cannot be read.
    pub(super) fn observe(&mut self, tape: &mut Tape<f32>, examples: &[Example]) -> Result<()> {
        let Some(vision) = self.vision.as_mut().filter(|_| !self.blind) else { return Ok(()) };
        for (number, examples) in examples.chunks(TOGETHER).enumerate() {
            tape.reset();
            let examples: Vec<&Example> = examples.iter().collect();
            let images = Batch::new(&examples, None)?.images(tape).expect("pictures");
            let (_, statistics) = vision.forward_batch(images);
            vision.norms.iter_mut().for_each(|norm| norm.momentum = 1.0 / (number + 1) as f64);
            vision.observe(&statistics);
        }
        Ok(())
    }

    /// The objects of the scenes, `[scenes, n, width]`, and which of them are absent, `[scenes, n]`.
    fn objects<'t>(&self, tape: &'t Tape<f32>, batch: &Batch<'_>) -> (Var<'t, f32>, Option<Var<'t, f32>>) {
        if self.blind {
            let width = self.network.first.weights[0].value().width();
            return (tape.zeros([batch.sizes()[0], 1, width]), None);
        }
        let Some(vision) = &self.vision else {
            let [objects, absent] = batch.objects(tape);
            return (objects, Some(absent));
        };
        let images = batch.images(tape).expect("pictures");
        let maps = if tape.is_training() { vision.forward_batch(images).0 } else { vision.forward(images) };
        (located(maps), None)
    }

    /// The questions, `[scenes, places, width]`.
    fn contexts<'t>(&self, tape: &'t Tape<f32>, batch: &Batch<'_>) -> Var<'t, f32> {
        let Some(reader) = &self.reader else { return batch.bits(tape).expect("questions as bits") };
        let states = reader.forward(tape, &batch.words());
        let [scenes, places] = batch.sizes();
        states.gather(&batch.questions()).reshape([scenes, places, states.shape().width()])
    }
}

/// The objects of maps `[scenes, channels, height, width]`: what all channels say at a place, and the place,
/// from −1 to 1: `[scenes, height · width, channels + 2]`.
fn located(maps: Var<'_, f32>) -> Var<'_, f32> {
    let shape = maps.shape();
    let &[scenes, channels, height, width] = shape.axes() else { unreachable!("maps") };
    let tape = maps.tape();
    let places = tape.constant_with([scenes, height * width, PLACE], |numbers| {
        let part = |i: usize, n: usize| (2 * i + 1) as f32 / n as f32 - 1.0;
        for (i, place) in numbers.chunks_mut(PLACE).enumerate() {
            let position = i % (height * width);
            place.copy_from_slice(&[part(position % width, width), part(position / width, height)]);
        }
    });
    let channels_last = maps.reshape([scenes, channels, height * width]).swap_axes(1, 2);
    Var::concat(&[channels_last, places], -1)
}
