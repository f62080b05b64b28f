//! Training a model, and testing its translations.

use cotangent::engine::files::atomic;
use cotangent::engine::loss::IGNORE;
use cotangent::optim::Average;
use cotangent::optim::train::{Batches, Goal, History, MODEL, load_model, save_model};
use cotangent::prelude::*;
use cotangent_apps_attention::saved::{CONFIG, Saved, TOKENIZER};
use cotangent_apps_attention::training::{adam, mean_loss};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task};
use cotangent_apps_common::{memory, output};

use super::batches::{Batch, BySource};
use super::bpe::Bpe;
use super::encoded::Encoded;
use super::model::TransformerModel;
use super::parallel_text::ParallelText;
use super::translator::fits;
use super::{Search, TransformerConfig, TransformerMetrics, bleu};

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
    for (part, pairs) in [("training", &data.train), ("validation", &data.validation)] {
        if pairs.is_empty() {
            let message = format!("--longest {}: all {part} sentences are longer", config.longest);
            return Err(AppError::usage(message));
        }
    }
    memory::training(&config.sizes(), config.least_parameters(bpe.size()), Precision::F32)?;
    let mut rng = rng::stream(config.seed, "initial", 0);
    let model = TransformerModel::new(config, &*score, bpe.size(), &mut rng);
    let sources: Vec<Vec<u32>> = text.test.iter().map(|(source, _)| bpe.encode(source)).collect();
    fits(&model, &sources).map_err(|(number, message)| {
        AppError::content(&text.test_file, format!("sentence {}: {message}", number + 1))
    })?;
    task::fit(&TransformerTask { text, config, search, options, bpe, data: &data, sources }, model, options)
}

/// A training and its test.
struct TransformerTask<'a> {
    text: &'a ParallelText,
    config: &'a TransformerConfig,
    search: &'a Search,
    options: &'a RunOptions,
    bpe: Bpe,
    data: &'a Encoded,
    /// The tokens of the test sentences.
    sources: Vec<Vec<u32>>,
}

impl TransformerTask<'_> {
    fn run_name(&self) -> String {
        self.name(self.data())
    }

    /// Writes the parameters after an epoch, and removes those that no average needs. One file more than that
    /// is kept: if this epoch is lost, the run resumes from the checkpoint of the previous epoch.
    fn keep_epoch(&self, model: &TransformerModel, epoch: u64) -> Result<()> {
        let out = &self.options.out;
        save_model(model, &out.join(epoch_file(epoch)), Some(&self.run_name()))?;
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
            load_model(model, &out.join(epoch_file(epoch)), Some(&self.run_name()))?;
            average.update(model)?;
        }
        Ok(average.swap(model)?)
    }

    /// Translates the test sentences, and writes the translations.
    fn translate(&self, model: &TransformerModel) -> Result<Vec<String>> {
        let found = self.search.translate(model, &self.sources, &self.options.device);
        let translations: Vec<String> = found.iter().map(|tokens| self.bpe.decode(tokens)).collect();
        let path = self.options.out.join(TRANSLATIONS);
        atomic::write(&path, |w| translations.iter().try_for_each(|line| writeln!(w, "{line}")))
            .map_err(AppError::io(&path))?;
        Ok(translations)
    }

    /// The mean loss per token of the validation targets.
    fn validation_loss(&self, model: &TransformerModel, tape: &mut Tape<f32>) -> f64 {
        let validation = &self.data.validation;
        let order = BySource { pairs: validation, tokens: self.config.batch_tokens, seed: 0 };
        mean_loss(tape, &order.epoch(0), |tape, items| {
            let batch = Batch::new(items.iter().map(|&item| &validation[item as usize]));
            (token_loss(model, tape, &batch, 0.0).item(), batch.tokens)
        })
    }
}

impl<'a> Task for TransformerTask<'a> {
    type Config = TransformerConfig;
    type Number = f32;
    type Model = TransformerModel;
    type Batches = BySource<'a>;
    type Metrics = TransformerMetrics;

    const GOAL: Goal = Goal::Least;
    const VALIDATION: &'static str = "validation loss";
    const SHOWN: [&'static str; 2] = ["validation_loss", "tokens_per_second"];
    const FILES: &'static [&'static str] = &[CONFIG, TOKENIZER, TRANSLATIONS];

    fn config(&self) -> &TransformerConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.fingerprint
    }

    /// It does not depend on the number of epochs, because a resumed run may have more.
    fn name(&self, data: u32) -> String {
        output::fingerprint(&TransformerConfig { epochs: 0, ..self.config.clone() }, data)
    }

    fn batches(&self) -> BySource<'a> {
        let (tokens, seed) = (self.config.batch_tokens, self.config.seed);
        BySource { pairs: &self.data.train, tokens, seed }
    }

    fn recipe(&self, _: u64) -> Result<Recipe<f32>> {
        let TransformerConfig { lr, decay, clip, warm_up, .. } = *self.config;
        let schedule = Schedule::InverseSquareRoot { warm_up };
        let recipe = Recipe::new(adam(lr, decay, clip)?);
        Ok(Recipe { schedule, keeps_best: false, checkpoint_each_epoch: true, ..recipe })
    }

    fn begin(&self, name: &str, options: &RunOptions) -> Result<()> {
        let (config, tokenizer) = (self.config.clone(), Some(self.bpe.fingerprint()));
        let is_own = |name: &str| Self::FILES.contains(&name) || name.starts_with("epoch-");
        Saved { config, run: Some(name.to_owned()), tokenizer }.begin(options, &is_own)?;
        if options.resume { Ok(()) } else { self.bpe.save(&options.out.join(TOKENIZER)) }
    }

    fn loss<'t>(&self, model: &TransformerModel, tape: &'t Tape<f32>, items: &[u32]) -> Result<Var<'t, f32>> {
        let batch = Batch::new(items.iter().map(|&item| &self.data.train[item as usize]));
        Ok(token_loss(model, tape, &batch, self.config.label_smoothing))
    }

    /// Writes the parameters too.
    fn validate(&self, model: &mut TransformerModel, before: &History, tape: &mut Tape<f32>) -> Result<f64> {
        let validation = self.validation_loss(model, tape);
        if validation.is_finite() {
            self.keep_epoch(model, before.epochs.len() as u64 + 1)?;
        }
        Ok(validation)
    }

    /// The model that is tested is the average of the last epochs.
    fn test(
        &self,
        model: &mut TransformerModel,
        history: &History,
        tape: &mut Tape<f32>,
    ) -> Result<TransformerMetrics> {
        let TransformerTask { text, data, options, .. } = self;
        self.average(model, history.epochs.len() as u64)?;
        save_model(model, &options.out.join(MODEL), Some(&self.run_name()))?;
        let translations = self.translate(model)?;
        let references: Vec<String> = text.test.iter().map(|(_, target)| target.clone()).collect();
        Ok(TransformerMetrics {
            config: self.config.clone(),
            training: Training::new(model, history, &options.device),
            sentences: [text.train.len(), text.validation.len(), text.test.len()],
            left_out: data.left_out,
            tokens: data.train.iter().map(|pair| pair.target.len() + 1).sum(),
            vocabulary: self.bpe.size(),
            sharpness: self.config.options.learned_sharpness(&*model),
            validation: self.validation_loss(model, tape),
            beam: self.search.beam(),
            length_penalty: self.search.length_penalty(),
            length_norm: self.search.length_norm(),
            test: bleu::corpus(&translations, &references),
            signature: bleu::SIGNATURE.to_owned(),
        })
    }

    fn title(&self, metrics: &TransformerMetrics) -> String {
        format!("{} attention: BLEU {:.2}", self.config.attention, metrics.test.score)
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
