//! Training a language model, and testing it.

use std::path::Path;

use cotangent::optim::train::{Goal, History, Progress};
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Figure;
use cotangent_apps_common::{memory, output};

use super::blocks::{Stream, Window};
use super::model::LmModel;
use super::text::LmText;
use super::vocabulary::{Vocabulary, WORDS};
use super::{LmConfig, LmMetrics, Perplexity};
use crate::attention::Scores;
use crate::saved::TOKENIZER;
use crate::task::{self, Recipe, Task};
use crate::training::{adam, figures, mean_loss};

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
        Vocabulary::load(&options.out.join(Vocabulary::file(config.tokens)), config.tokens)?
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
    let task = LmTask { config, device: &options.device, vocabulary, streams, blocks };
    task::fit(&task, model, hasher.finalize(), options)
}

/// How well a model predicts a text, each token from at least `context` earlier ones.
pub(super) fn perplexity(
    model: &LmModel,
    text: &Stream,
    config: &LmConfig,
    context: usize,
    device: &Device,
) -> Perplexity {
    let windows = text.windows(config.block, context);
    let loss = mean_loss(&text.batches(&windows, config.batch), device, |tape, windows| {
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
}

impl LmTask<'_> {
    /// How well the model predicts a text, each token from at least `context` earlier ones.
    fn predicted(&self, model: &LmModel, text: &Stream, context: usize) -> Perplexity {
        perplexity(model, text, self.config, context, self.device)
    }
}

impl Task for LmTask<'_> {
    type Config = LmConfig;
    type Settings = LmConfig;
    type Model = LmModel;
    type Metrics = LmMetrics;

    const GOAL: Goal = Goal::Least;
    const VALIDATION: &'static str = "validation loss";
    const FILES: &'static [&'static str] = &[TOKENIZER, WORDS];

    fn config(&self) -> &LmConfig {
        self.config
    }

    fn settings(&self) -> LmConfig {
        self.config.clone()
    }

    fn tokenizer(&self) -> Option<u32> {
        Some(self.vocabulary.fingerprint())
    }

    fn write_files(&self, out: &Path) -> Result<()> {
        self.vocabulary.save(&out.join(Vocabulary::file(self.config.tokens)))
    }

    fn recipe(&self) -> Result<Recipe> {
        let LmConfig { batch, lr, decay, clip, warm_up, .. } = *self.config;
        let optimiser = adam(lr, decay, clip)?;
        Ok(Recipe { items: self.blocks, batch, optimiser, warm_up, falls: true, ema: 0.0 })
    }

    fn loss<'t>(&self, model: &LmModel, tape: &'t Tape<f32>, items: &[u32]) -> Var<'t, f32> {
        let train = &self.streams[0];
        let windows: Vec<Window> = items.iter().map(|&item| train.block(item, self.config.block)).collect();
        model.loss(tape, &train.batch(&windows))
    }

    fn validate(&self, model: &LmModel) -> f64 {
        self.predicted(model, &self.streams[1], 0).loss
    }

    fn figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        figures(now, self.config.block)
    }

    fn metrics(&self, model: &LmModel, history: &History, (best_epoch, _): (u64, f64)) -> LmMetrics {
        let LmTask { config, streams, .. } = self;
        LmMetrics {
            config: (*config).clone(),
            tokens: streams.each_ref().map(Stream::len),
            unknown: streams.each_ref().map(|stream| stream.unknown),
            vocabulary: self.vocabulary.size(),
            parameters: model.count(),
            layer_parameters: model.layer_parameters(),
            threads: rayon::current_num_threads(),
            device: self.device.to_string(),
            epochs: history.epochs.clone(),
            best_epoch,
            validation: self.predicted(model, &streams[1], 0),
            test: [0, config.context()].map(|context| self.predicted(model, &streams[2], context)),
            seconds: history.seconds,
        }
    }

    fn title(&self, metrics: &LmMetrics) -> String {
        let perplexity = metrics.test[1].perplexity;
        format!("{} attention: test perplexity {perplexity:.2}", self.config.attention)
    }
}
