//! Training a language model, and testing it.

use cotangent::optim::train::{Goal, History, Progress, Shuffled};
use cotangent::prelude::*;
use cotangent_apps_attention::saved::{CONFIG, Saved, TOKENIZER};
use cotangent_apps_attention::training::{PARTS, adam, falling, mean_loss};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Figure;
use cotangent_apps_common::task::{self, Recipe, Task};
use cotangent_apps_common::training::figures;
use cotangent_apps_common::{memory, output};

use super::blocks::{Stream, Window};
use super::model::LmModel;
use super::text::LmText;
use super::vocabulary::{Vocabulary, WORDS};
use super::{LmConfig, LmMetrics, Perplexity};

/// Trains a language model and writes `metrics.json`, `config.json`, the vocabulary, `model.safetensors` (the
/// best by validation), `curves.svg` and the checkpoint. It uses the current thread pool; the result does not
/// depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, the
/// training text is shorter than a block, or training diverges.
pub fn train(text: &LmText, config: &LmConfig, scores: &Scores, options: &RunOptions) -> Result<LmMetrics> {
    let score = config.check(scores)?;
    let _held = output::hold(&options.out)?;
    let vocabulary = if options.resume {
        Vocabulary::of_run(&options.out, config.tokens)?
    } else {
        Vocabulary::learn(&text.train.lines, config)?
    };
    let streams = [&text.train, &text.validation, &text.test].map(|lines| Stream::new(lines, &vocabulary));
    let blocks = streams[0].blocks(config.block)?;
    memory::training(&config.sizes(), config.least_parameters(vocabulary.size()), Precision::F32)?;
    let mut rng = rng::stream(config.seed, "initial", 0);
    let model = LmModel::new(config, &*score, vocabulary.size(), &mut rng);
    let mut hasher = crc32fast::Hasher::new();
    streams[..2].iter().for_each(|stream| stream.fingerprint(&mut hasher));
    let (device, data) = (&options.device, hasher.finalize());
    task::fit(&LmTask { config, device, vocabulary, streams, blocks, data }, model, options)
}

/// How well a model predicts a text, each token from at least `context` earlier ones.
pub(super) fn perplexity(
    model: &LmModel,
    text: &Stream,
    config: &LmConfig,
    context: usize,
    tape: &mut Tape<f32>,
) -> Perplexity {
    let windows = text.windows(config.block, context);
    let loss = mean_loss(tape, &text.batches(&windows, config.batch), |tape, windows| {
        let batch = text.batch(windows);
        (model.loss(tape, &batch).item(), batch.next.len())
    });
    Perplexity { context, tokens: text.len(), loss, perplexity: loss.exp() }
}

/// A training and its test.
struct LmTask<'a> {
    config: &'a LmConfig,
    device: &'a Device,
    vocabulary: Vocabulary,
    /// Text for training, validation and testing.
    streams: [Stream; 3],
    /// Number of blocks of the training text.
    blocks: usize,
    /// The fingerprint of the streams that the training reads.
    data: u32,
}

impl LmTask<'_> {
    /// How well the model predicts a text, each token from at least `context` earlier ones.
    fn predicted(&self, model: &LmModel, text: &Stream, context: usize, tape: &mut Tape<f32>) -> Perplexity {
        perplexity(model, text, self.config, context, tape)
    }
}

impl Task for LmTask<'_> {
    type Config = LmConfig;
    type Number = f32;
    type Model = LmModel;
    type Batches = Shuffled;
    type Metrics = LmMetrics;

    const GOAL: Goal = Goal::Least;
    const VALIDATION: &'static str = "validation loss";
    const SHOWN: [&'static str; 2] = ["validation_loss", "tokens_per_second"];
    const FILES: &'static [&'static str] = &[CONFIG, TOKENIZER, WORDS];

    fn config(&self) -> &LmConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data
    }

    fn batches(&self) -> Shuffled {
        Shuffled { items: self.blocks, batch: self.config.batch, seed: self.config.seed }
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<f32>> {
        let LmConfig { lr, decay, clip, warm_up, .. } = *self.config;
        let schedule = falling(warm_up, steps);
        Ok(Recipe { schedule, parts: PARTS, ..Recipe::new(adam(lr, decay, clip)?) })
    }

    fn begin(&self, name: &str, options: &RunOptions) -> Result<()> {
        let (config, tokenizer) = (self.config.clone(), Some(self.vocabulary.fingerprint()));
        let saved = Saved { config, run: Some(name.to_owned()), tokenizer };
        saved.begin(options, &|name| Self::FILES.contains(&name))?;
        let path = options.out.join(Vocabulary::file(self.config.tokens));
        if options.resume { Ok(()) } else { self.vocabulary.save(&path) }
    }

    fn loss<'t>(&self, model: &LmModel, tape: &'t Tape<f32>, items: &[u32]) -> Result<Var<'t, f32>> {
        let train = &self.streams[0];
        let windows: Vec<Window> = items.iter().map(|&item| train.block(item, self.config.block)).collect();
        Ok(model.loss(tape, &train.batch(&windows)))
    }

    fn validate(&self, model: &mut LmModel, _: &History, tape: &mut Tape<f32>) -> Result<f64> {
        Ok(self.predicted(model, &self.streams[1], 0, tape).loss)
    }

    /// An item is a block of tokens.
    fn figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        let ([validation, rate], block) = (Self::SHOWN, self.config.block as f64);
        figures(&Progress { rate: block * now.rate, ..*now }, validation, rate)
    }

    fn test(&self, model: &mut LmModel, history: &History, tape: &mut Tape<f32>) -> Result<LmMetrics> {
        let LmTask { config, streams, .. } = self;
        Ok(LmMetrics {
            config: (*config).clone(),
            training: Training::new(model, history, self.device),
            sharpness: config.options.learned_sharpness(&*model),
            tokens: streams.each_ref().map(Stream::len),
            unknown: streams.each_ref().map(|stream| stream.unknown),
            vocabulary: self.vocabulary.size(),
            layer_parameters: model.layer_parameters(),
            best_epoch: task::best::<Self>(history).0,
            validation: self.predicted(model, &streams[1], 0, tape),
            test: [0, config.context()].map(|context| self.predicted(model, &streams[2], context, tape)),
        })
    }

    fn title(&self, metrics: &LmMetrics) -> String {
        let perplexity = metrics.test[1].perplexity;
        format!("{} attention: test perplexity {perplexity:.2}", self.config.attention)
    }
}
