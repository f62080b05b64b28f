//! Training a model, and testing its translations.

use cotangent::engine::files::atomic;
use cotangent::engine::loss::IGNORE;
use cotangent::optim::Average;
use cotangent::optim::train::{Batches, History, TrainError, load_model, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Progress;
use cotangent_apps_common::training::trainer;
use cotangent_apps_common::{curves, memory, metrics, output};

use super::batches::{Batch, BySource};
use super::bpe::Bpe;
use super::encoded::Encoded;
use super::model::TransformerModel;
use super::parallel_text::ParallelText;
use super::translator::fits;
use super::{Search, TransformerConfig, TransformerMetrics, bleu};
use crate::attention::Scores;
use crate::saved::{CONFIG, MODEL, Saved, TOKENIZER};
use crate::training::{adam, figures, mean_loss};

/// The translations of the test sentences.
const TRANSLATIONS: &str = "translations.txt";

/// Trains a translation model and writes `metrics.json`, `config.json`, `tokenizer.json`,
/// `model.safetensors` (the average of the last epochs), `translations.txt` (of the test sentences),
/// `curves.svg`, the checkpoint, and the parameters after each of the averaged epochs. It uses the current
/// thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, no
/// sentence is short enough, a test sentence is too long for learned positions, or training diverges.
pub fn train(
    text: &ParallelText,
    config: &TransformerConfig,
    scores: &Scores,
    search: &Search,
    options: &RunOptions,
) -> Result<TransformerMetrics> {
    let score = config.check(scores)?;
    let _held = output::hold(&options.out)?;
    let bpe = if options.resume {
        Bpe::load(&options.out.join(TOKENIZER))?
    } else {
        let sentences = text.train.iter().flat_map(|(source, target)| [source.as_str(), target.as_str()]);
        Bpe::train(sentences, config.vocabulary)?
    };
    let data = Encoded::new(text, &bpe, config.longest);
    if data.train.is_empty() || data.validation.is_empty() {
        return Err(AppError::usage(format!("--longest {}: all sentences are longer", config.longest)));
    }
    memory::training(&config.sizes(), config.least_parameters(bpe.size()), Precision::F32)?;
    let mut rng = rng::stream(config.seed, "initial", 0);
    let model = TransformerModel::new(config, &*score, bpe.size(), &mut rng);
    let name = config.fingerprint(data.fingerprint);
    Run { text, config, search, options, bpe, data, name }.fit(model)
}

/// A training and its test.
struct Run<'a> {
    text: &'a ParallelText,
    config: &'a TransformerConfig,
    search: &'a Search,
    options: &'a RunOptions,
    bpe: Bpe,
    data: Encoded,
    /// The name of the run, in the files of its parameters.
    name: String,
}

impl Run<'_> {
    /// Trains the model, tests it and writes all results.
    fn fit(&self, mut model: TransformerModel) -> Result<TransformerMetrics> {
        let out = &self.options.out;
        let sources: Vec<Vec<u32>> =
            self.text.test.iter().map(|(source, _)| self.bpe.encode(source)).collect();
        let history = self.epochs(&mut model, &sources)?;
        self.average(&mut model, history.epochs.len() as u64)?;
        save_model(&model, &out.join(MODEL), Some(&self.name))?;
        let translations = self.translate(&model, &sources)?;
        let metrics = self.metrics(&model, &history, &translations);
        metrics::write(out, &metrics)?;
        let title = format!("{} attention: BLEU {:.2}", self.config.attention, metrics.test.score);
        curves::training(&out.join("curves.svg"), &title, &history.epochs, "validation loss", f64::min)?;
        Ok(metrics)
    }

    /// Trains the model. Writes the parameters after each epoch.
    fn epochs(&self, model: &mut TransformerModel, sources: &[Vec<u32>]) -> Result<History> {
        let Run { data, config, options, .. } = self;
        let mut adam = adam(config.lr, config.decay, config.clip)?;
        let saved = Saved {
            config: (*config).clone(),
            run: Some(self.name.clone()),
            tokenizer: Some(self.bpe.fingerprint()),
        };
        if options.resume {
            saved.resumes(&options.out.join(CONFIG))?;
        }
        let mut progress = Progress::new("epoch", 0, config.epochs);
        let mut trainer = trainer(*config, data.fingerprint, options)
            .schedule(Schedule::InverseSquareRoot { warm_up: config.warm_up })
            .checkpoint_each_epoch()
            .display(|now| progress.update(now.history.epochs.len() as u64, || figures(&now, 1)));
        trainer.check()?;
        fits(model, sources)?;
        self.begin(&saved)?;
        let history = trainer.run(
            model,
            &mut adam,
            &BySource { pairs: &data.train, tokens: config.batch_tokens, seed: config.seed },
            |model, tape, items| {
                let batch = Batch::new(items.iter().map(|&item| &data.train[item as usize]));
                token_loss(model, tape, &batch, config.label_smoothing)
            },
            |model, before| {
                let validation = self.validate(model);
                if validation.is_finite() {
                    self.keep_epoch(model, before.epochs.len() as u64 + 1)?;
                }
                Ok(validation)
            },
        )?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// Takes the directory for this run: moves the files of an earlier one, and writes those of the model.
    /// That shows whether the directory can be written to.
    fn begin(&self, saved: &Saved<TransformerConfig>) -> Result<()> {
        let out = &self.options.out;
        if !self.options.resume {
            output::set_aside(out, |name| {
                [CONFIG, TOKENIZER, TRANSLATIONS].contains(&name) || name.starts_with("epoch-")
            })?;
            self.bpe.save(&out.join(TOKENIZER))?;
        }
        metrics::write_json(&out.join(CONFIG), saved)
    }

    /// Writes the parameters after an epoch, and removes those that no average needs. One file more than that
    /// is kept: if this epoch is lost, the run resumes from the checkpoint of the previous epoch.
    fn keep_epoch(&self, model: &TransformerModel, epoch: u64) -> std::result::Result<(), TrainError> {
        let out = &self.options.out;
        save_model(model, &out.join(epoch_file(epoch)), Some(&self.name))?;
        if let Some(old) = epoch.checked_sub(self.config.average.saturating_add(1)) {
            // An error is ignored, because the file does no harm.
            let _ = std::fs::remove_file(out.join(epoch_file(old)));
        }
        Ok(())
    }

    /// Averages the parameters of the last epochs, of `last` epochs that are done.
    fn average(&self, model: &mut TransformerModel, last: u64) -> Result<()> {
        let out = &self.options.out;
        let mut average = Average::uniform();
        let before = last - self.config.average.min(last);
        // The file of the epoch before them is no longer needed.
        let _ = std::fs::remove_file(out.join(epoch_file(before)));
        for epoch in before + 1..=last {
            load_model(model, &out.join(epoch_file(epoch)), Some(&self.name))?;
            average.update(model)?;
        }
        Ok(average.swap(model)?)
    }

    /// Translates the test sentences, and writes the translations.
    fn translate(&self, model: &TransformerModel, sources: &[Vec<u32>]) -> Result<Vec<String>> {
        let found = self.search.translate(model, sources, &self.options.device);
        let translations: Vec<String> = found.iter().map(|tokens| self.bpe.decode(tokens)).collect();
        let path = self.options.out.join(TRANSLATIONS);
        atomic::write(&path, |w| translations.iter().try_for_each(|line| writeln!(w, "{line}")))
            .map_err(AppError::io(&path))?;
        Ok(translations)
    }

    fn metrics(
        &self,
        model: &TransformerModel,
        history: &History,
        translations: &[String],
    ) -> TransformerMetrics {
        let Run { text, data, .. } = self;
        let references: Vec<String> = text.test.iter().map(|(_, target)| target.clone()).collect();
        TransformerMetrics {
            config: self.config.clone(),
            sentences: [text.train.len(), text.validation.len(), text.test.len()],
            left_out: data.left_out,
            tokens: data.train.iter().map(|pair| pair.target.len() + 1).sum(),
            vocabulary: self.bpe.size(),
            parameters: model.count(),
            threads: rayon::current_num_threads(),
            device: self.options.device.to_string(),
            validation: self.validate(model),
            epochs: history.epochs.clone(),
            beam: self.search.beam(),
            length_penalty: self.search.length_penalty(),
            test: bleu::corpus(translations, &references),
            signature: bleu::SIGNATURE.to_owned(),
            seconds: history.seconds,
        }
    }

    /// The mean loss per token of the validation targets.
    fn validate(&self, model: &TransformerModel) -> f64 {
        let validation = &self.data.validation;
        let order = BySource { pairs: validation, tokens: self.config.batch_tokens, seed: 0 };
        mean_loss(&order.epoch(0), &self.options.device, |tape, items| {
            let batch = Batch::new(items.iter().map(|&item| &validation[item as usize]));
            (token_loss(model, tape, &batch, 0.0).item(), batch.tokens)
        })
    }
}

/// The name of the file with the parameters after an epoch, counted from 1.
fn epoch_file(epoch: u64) -> String {
    format!("epoch-{epoch}.safetensors")
}

/// The mean loss of a batch per target token.
pub(super) fn token_loss<'t>(
    model: &TransformerModel,
    tape: &'t Tape<f32>,
    batch: &Batch,
    smoothing: f64,
) -> Var<'t, f32> {
    let encoded = model.encode(tape, &batch.sources, batch.source_len);
    let states = model.decode(encoded, &batch.given, batch.target_len);
    // Logits are most of the work, so they are not computed for padding.
    let (positions, next): (Vec<u32>, Vec<u32>) =
        (0..).zip(batch.next.iter().copied()).filter(|(_, next)| *next != IGNORE).unzip();
    let rows = states.reshape([batch.next.len(), states.shape().width()]).gather(&positions);
    loss::cross_entropy(model.logits(rows), &next, smoothing)
}
