//! Training a language model, and testing it.

use cotangent::optim::train::{Batches, Goal, History, Shuffled};
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Progress;
use cotangent_apps_common::training::trainer;
use cotangent_apps_common::{curves, memory, metrics, output};

use super::blocks::{Stream, Window};
use super::model::LmModel;
use super::text::LmText;
use super::vocabulary::{Vocabulary, WORDS};
use super::{LmConfig, LmMetrics, Perplexity};
use crate::attention::Scores;
use crate::saved::{CONFIG, Saved, TOKENIZER};
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
    let data = hasher.finalize();
    let name = output::fingerprint(config, data);
    Run { config, options, vocabulary, streams, blocks, data, name }.fit(model)
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
struct Run<'a> {
    config: &'a LmConfig,
    options: &'a RunOptions,
    vocabulary: Vocabulary,
    /// Text for training, validation and testing.
    streams: [Stream; 3],
    /// Number of blocks of the training text.
    blocks: usize,
    /// The fingerprint of the text for training and validation.
    data: u32,
    /// The name of the run, in the file of its parameters.
    name: String,
}

impl Run<'_> {
    /// Trains the model, tests the best one and writes all results.
    fn fit(&self, mut model: LmModel) -> Result<LmMetrics> {
        let out = &self.options.out;
        let history = self.epochs(&mut model)?;
        let metrics = self.metrics(&model, &history);
        metrics::write(out, &metrics)?;
        let perplexity = metrics.test[1].perplexity;
        let title = format!("{} attention: test perplexity {perplexity:.2}", self.config.attention);
        curves::training(&out.join("curves.svg"), &title, &history.epochs, "validation loss", f64::min)?;
        Ok(metrics)
    }

    /// Trains the model. Afterwards it is the one with the least validation loss.
    fn epochs(&self, model: &mut LmModel) -> Result<History> {
        let Run { config, options, streams: [train, validation, _], .. } = self;
        let mut adam = adam(config.lr, config.decay, config.clip)?;
        let batches = Shuffled { items: self.blocks, batch: config.batch, seed: config.seed };
        let steps = options::steps(config.epochs, batches.epoch(0).len() as u64)?;
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = trainer(*config, self.data, options)
            .schedule(
                Schedule::Constant.warm_up(config.warm_up).cosine(steps.saturating_sub(config.warm_up), 0.0),
            )
            .parts(4, 1)
            .best(Goal::Least)
            .named(&self.name)
            .display(|now| progress.update(now.history.steps, || figures(&now, config.block)));
        trainer.check()?;
        self.begin()?;
        let history = trainer.run(
            model,
            &mut adam,
            &batches,
            |model, tape, items| {
                let windows: Vec<Window> =
                    items.iter().map(|&item| train.block(item, config.block)).collect();
                model.loss(tape, &train.batch(&windows))
            },
            |model, _| Ok(perplexity(model, validation, config, 0, &options.device).loss),
        )?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// Takes the directory for this run: moves the files of an earlier one, and writes those of the model.
    /// That shows whether the directory can be written to.
    fn begin(&self) -> Result<()> {
        let (out, config) = (&self.options.out, self.config);
        let saved = Saved {
            config: config.clone(),
            run: Some(self.name.clone()),
            tokenizer: Some(self.vocabulary.fingerprint()),
        };
        if self.options.resume {
            return saved.resumes(&out.join(CONFIG));
        }
        output::set_aside(out, |name| [CONFIG, TOKENIZER, WORDS].contains(&name))?;
        self.vocabulary.save(&out.join(Vocabulary::file(config.tokens)))?;
        metrics::write_json(&out.join(CONFIG), &saved)
    }

    fn metrics(&self, model: &LmModel, history: &History) -> LmMetrics {
        let Run { config, options, streams, .. } = self;
        let predicted = |stream, context| perplexity(model, stream, config, context, &options.device);
        let (best_epoch, _) = history.best(Goal::Least).expect("at least one epoch");
        LmMetrics {
            config: (*config).clone(),
            tokens: streams.each_ref().map(Stream::len),
            unknown: streams.each_ref().map(|stream| stream.unknown),
            vocabulary: self.vocabulary.size(),
            parameters: model.count(),
            layer_parameters: model.layer_parameters(),
            threads: rayon::current_num_threads(),
            device: options.device.to_string(),
            epochs: history.epochs.clone(),
            best_epoch,
            validation: predicted(&streams[1], 0),
            test: [0, config.context()].map(|context| predicted(&streams[2], context)),
            seconds: history.seconds,
        }
    }
}
