//! Translation by transformers with any attention score: Vaswani et al. 2017; Tseng et al. 2023, section 4.

use std::path::Path;
use std::time::Duration;

use cotangent::engine::files::atomic;
use cotangent::engine::loss::IGNORE;
use cotangent::optim::Average;
use cotangent::optim::train::{Batches, Epoch, Trainer, load_model, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::config::difference;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::output;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::attention::Scores;

mod batches;
pub mod bleu;
pub mod bpe;
mod command;
mod comparison;
mod config;
pub mod heatmap;
mod model;
pub mod parallel_text;
mod search;
mod translator;

use batches::{Batch, BySource, Pair};
use bleu::Bleu;
use bpe::Bpe;
pub use command::{APP, run};
pub use config::{Config, NormOption, PositionsOption, Size};
use model::Model;
use parallel_text::{ParallelText, Sentences};
pub use search::Search;
use translator::fits;
pub use translator::{Queries, Translator};

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Hyperparameters and seed.
    pub config: Config,
    /// Number of sentence pairs for training, validation and testing.
    pub sentences: [usize; 3],
    /// Number of training and validation pairs that were left out because they are too long.
    pub left_out: [usize; 2],
    /// Number of tokens of the training targets, end tokens included.
    pub tokens: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of parameters of the model.
    pub parameters: usize,
    /// Number of threads of this run.
    pub threads: usize,
    /// The device that the model was trained on.
    pub device: String,
    /// The result of every epoch.
    pub epochs: Vec<Epoch>,
    /// Mean loss per token of the validation targets, with the averaged parameters.
    pub validation: f64,
    /// Number of hypotheses that beam search keeps.
    pub beam: usize,
    /// The power of its length by which the log-probability of a translation is divided.
    pub length_penalty: f64,
    /// BLEU of the test sentences' translations.
    pub test: Bleu,
    /// How BLEU was computed, in sacreBLEU's notation.
    pub signature: String,
    /// Seconds of training, summed over all resumed parts.
    pub seconds: f64,
}

/// `config.json`.
#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(flatten)]
    config: Config,
    /// The name of the run, which the files of its parameters contain too. Older versions did not write it.
    #[serde(default)]
    run: Option<String>,
    /// The fingerprint of the byte-pair encoding.
    #[serde(default)]
    tokenizer: Option<u32>,
}

impl Saved {
    /// Checks that the settings in a file, if there is one, are of this version: a checkpoint of an earlier
    /// one lacks options.
    ///
    /// # Errors
    /// If an option of this version is missing.
    fn resumes(&self, path: &Path) -> Result<()> {
        fn missing<'a>(theirs: &Value, ours: &'a Value) -> Option<&'a str> {
            ours.as_object()?.iter().find_map(|(name, value)| match theirs.get(name) {
                Some(found) => missing(found, value),
                None => Some(name.as_str()),
            })
        }
        if !path.exists() {
            return Ok(());
        }
        let (theirs, ours) = (metrics::read_json(path)?, serde_json::json!(self));
        match missing(&theirs, &ours) {
            Some(name) => {
                let message = format!("a run of an earlier version, without {name:?}, cannot be resumed");
                Err(AppError::content(path, message))
            }
            None => Ok(()),
        }
    }
}

/// The files of a model.
const MODEL: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";
const TRANSLATIONS: &str = "translations.txt";

mod purpose {
    pub(super) const INITIAL: u64 = 29;
    pub(super) const ORDER: u64 = 30;
}

/// Training and validation text as tokens.
struct Encoded {
    train: Vec<Pair>,
    validation: Vec<Pair>,
    left_out: [usize; 2],
    fingerprint: u32,
}

impl Encoded {
    /// Encodes a text, without pairs of which one sentence has more than `longest` tokens.
    fn new(text: &ParallelText, bpe: &Bpe, longest: usize) -> Self {
        let encode = |sentences: &[Sentences]| -> Vec<Pair> {
            sentences
                .iter()
                .map(|(source, target)| Pair { source: bpe.encode(source), target: bpe.encode(target) })
                .filter(|pair| pair.source.len().max(pair.target.len()) <= longest)
                .collect()
        };
        let (train, validation) = (encode(&text.train), encode(&text.validation));
        let mut hasher = crc32fast::Hasher::new();
        for pair in train.iter().chain(&validation) {
            for tokens in [&pair.source, &pair.target] {
                tokens.iter().for_each(|n| hasher.update(&n.to_le_bytes()));
                hasher.update(&u32::MAX.to_le_bytes());
            }
        }
        let left_out = [text.train.len() - train.len(), text.validation.len() - validation.len()];
        Encoded { train, validation, left_out, fingerprint: hasher.finalize() }
    }
}

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
    config: &Config,
    scores: &Scores,
    search: &Search,
    options: &RunOptions,
) -> Result<Metrics> {
    let score = config.check(scores)?;
    let out = &options.out;
    let _held = output::hold(out)?;
    let bpe = if options.resume {
        Bpe::load(&out.join(TOKENIZER))?
    } else {
        let sentences = text.train.iter().flat_map(|(source, target)| [source.as_str(), target.as_str()]);
        Bpe::train(sentences, config.vocabulary)?
    };
    let data = Encoded::new(text, &bpe, config.longest);
    if data.train.is_empty() || data.validation.is_empty() {
        return Err(AppError::usage(format!("--longest {}: all sentences are longer", config.longest)));
    }
    memory::training(&config.sizes(), config.least_parameters(bpe.size()), Precision::F32)?;
    let mut model =
        Model::new(config, &*score, bpe.size(), &mut rng::stream(config.seed, purpose::INITIAL, 0));
    let mut adam =
        RiemannianAdam::new(config.lr)?.betas(0.9, 0.98)?.decay(config.decay)?.clip(config.clip)?;
    let fingerprint = config.fingerprint(data.fingerprint);
    let saved =
        Saved { config: config.clone(), run: Some(fingerprint.clone()), tokenizer: Some(bpe.fingerprint()) };
    if options.resume {
        saved.resumes(&out.join(CONFIG))?;
    }
    let mut progress = Progress::new("epoch", 0, config.epochs);
    let mut trainer = Trainer::of_run(config.epochs, (config.clone(), data.fingerprint), |found, ours| {
        // A resumed run may have more epochs.
        let difference = difference(&found.0, &ours.0, &["epochs"]);
        options::same_run(difference.as_deref(), [found.1, ours.1], "text")
    })
    .schedule(Schedule::InverseSquareRoot { warm_up: config.warm_up })
    .seed(config.seed)
    .device(options.device.clone())
    .directory(out)
    .resume(options.resume)
    .checkpoint_every(Duration::from_secs(options.checkpoint_every))
    .checkpoint_each_epoch()
    .display(|now| {
        progress.update(now.history.epochs.len() as u64, || {
            let [batch, batches] = now.batch.map(|count| count as f64);
            let mut figures = vec![Figure::new("batch", batch, 0), Figure::new("batches", batches, 0)];
            if let Some(epoch) = now.history.epochs.last() {
                figures.push(Figure::new("loss", epoch.loss, 3));
                figures.push(Figure::new("validation_loss", epoch.validation, 3));
            }
            figures.push(Figure::new("tokens_per_second", now.rate, 0));
            figures
        })
    });
    trainer.check()?;
    let sources: Vec<Vec<u32>> = text.test.iter().map(|(source, _)| bpe.encode(source)).collect();
    fits(&model, &sources)?;
    // From here on the directory belongs to this run. Writing these files now shows whether it can be
    // written to.
    if !options.resume {
        output::set_aside(out, |name| {
            [CONFIG, TOKENIZER, TRANSLATIONS].contains(&name) || name.starts_with("epoch-")
        })?;
        bpe.save(&out.join(TOKENIZER))?;
    }
    metrics::write_json(&out.join(CONFIG), &saved)?;
    let run = Run { data: &data, config, options };
    let history = trainer.run(
        &mut model,
        &mut adam,
        &BySource { pairs: &data.train, tokens: config.batch_tokens, seed: config.seed },
        |model, tape, items| {
            let batch = Batch::new(items.iter().map(|&item| &data.train[item as usize]));
            loss_of(model, tape, &batch, config.label_smoothing)
        },
        |model, before| {
            let (epoch, validation) = (before.epochs.len() as u64 + 1, run.validate(model));
            if validation.is_finite() {
                save_model(model, &out.join(epoch_file(epoch)), Some(&fingerprint))?;
            }
            // One file more than the average needs is kept: if this epoch is lost, the run resumes from the
            // checkpoint of the previous epoch.
            if let Some(old) = epoch.checked_sub(config.average.saturating_add(1)) {
                // An error is ignored, because the file does no harm.
                let _ = std::fs::remove_file(out.join(epoch_file(old)));
            }
            Ok(validation)
        },
    )?;
    drop(trainer);
    progress.finish();

    // The average of the last epochs. The file of the epoch before them is no longer needed.
    let mut average = Average::uniform();
    let last = history.epochs.len() as u64;
    let before = last - config.average.min(last);
    let _ = std::fs::remove_file(out.join(epoch_file(before)));
    for epoch in before + 1..=last {
        load_model(&mut model, &out.join(epoch_file(epoch)), Some(&fingerprint))?;
        average.update(&model)?;
    }
    average.swap(&mut model)?;
    save_model(&model, &out.join(MODEL), Some(&fingerprint))?;
    let translations = search.translate(&model, &sources, &options.device);
    let translations: Vec<String> = translations.iter().map(|tokens| bpe.decode(tokens)).collect();
    let references: Vec<String> = text.test.iter().map(|(_, target)| target.clone()).collect();
    let path = out.join(TRANSLATIONS);
    atomic::write(&path, |w| translations.iter().try_for_each(|line| writeln!(w, "{line}")))
        .map_err(AppError::io(&path))?;
    let metrics = Metrics {
        config: config.clone(),
        sentences: [text.train.len(), text.validation.len(), text.test.len()],
        left_out: data.left_out,
        tokens: data.train.iter().map(|pair| pair.target.len() + 1).sum(),
        vocabulary: bpe.size(),
        parameters: model.count(),
        threads: rayon::current_num_threads(),
        device: options.device.to_string(),
        validation: run.validate(&model),
        epochs: history.epochs.clone(),
        beam: search.beam(),
        length_penalty: search.length_penalty(),
        test: bleu::corpus(&translations, &references),
        signature: bleu::SIGNATURE.to_owned(),
        seconds: history.seconds,
    };
    metrics::write(out, &metrics)?;
    let values = |f: fn(&Epoch) -> f64| history.epochs.iter().map(f).collect::<Vec<f64>>();
    let title = format!("{} attention: BLEU {:.2}", config.attention, metrics.test.score);
    curves::plot(
        &out.join("curves.svg"),
        &title,
        &[
            Series { name: "training loss", values: values(|epoch| epoch.loss), better: f64::min },
            Series { name: "validation loss", values: values(|epoch| epoch.validation), better: f64::min },
        ],
    )?;
    Ok(metrics)
}

/// The name of the file with the parameters after an epoch, counted from 1.
fn epoch_file(epoch: u64) -> String {
    format!("epoch-{epoch}.safetensors")
}

struct Run<'a> {
    data: &'a Encoded,
    config: &'a Config,
    options: &'a RunOptions,
}

impl Run<'_> {
    /// The mean loss per token of the validation targets.
    fn validate(&self, model: &Model) -> f64 {
        use rayon::prelude::*;
        let validation = &self.data.validation;
        let order = BySource { pairs: validation, tokens: self.config.batch_tokens, seed: 0 };
        let losses: Vec<f64> = order
            .of_epoch(0)
            .par_iter()
            .map_init(
                || Tape::with_device(self.options.device.clone()),
                |tape, items| {
                    tape.reset();
                    let batch = Batch::new(items.iter().map(|&item| &validation[item as usize]));
                    loss_of(model, tape, &batch, 0.0).item() * batch.tokens as f64
                },
            )
            .collect();
        let tokens: usize = validation.iter().map(|pair| pair.target.len() + 1).sum();
        losses.iter().sum::<f64>() / tokens as f64
    }
}

/// The mean loss of a batch per target token.
fn loss_of<'t>(model: &Model, tape: &'t Tape<f32>, batch: &Batch, smoothing: f64) -> Var<'t, f32> {
    let encoded = model.encode(tape, &batch.sources, batch.source_len);
    let states = model.decode(encoded, &batch.given, batch.target_len);
    // Logits are most of the work, so they are not computed for padding.
    let (positions, next): (Vec<u32>, Vec<u32>) =
        (0..).zip(batch.next.iter().copied()).filter(|(_, next)| *next != IGNORE).unzip();
    let rows = states.reshape([batch.next.len(), states.shape().width()]).gather(&positions);
    loss::cross_entropy(model.logits(rows), &next, smoothing)
}

#[cfg(test)]
mod tests {
    use cotangent::layers::score::Dot;

    use super::*;

    fn model(config: &Config, vocabulary: usize) -> Model {
        Model::new(config, &Dot, vocabulary, &mut rng::stream(config.seed, purpose::INITIAL, 0))
    }

    /// Tseng et al. 2023, Figure 4: queries and keys of 16 dimensions in place of 128 save `2 (512 · 448 +
    /// 448)` parameters in each of the 18 attentions, so that 39.5 million become 31.2 million.
    #[test]
    fn narrow_queries_and_keys_save_what_the_paper_says() {
        const LAYERS: usize = 6;
        assert_eq!(Size::Iwslt.numbers(), [LAYERS, 512, 4, 1024]);
        // One layer and two give the number of any: the larger models need not be made.
        let count = |key: usize| {
            let [one, two] =
                [1, 2].map(|layers| model(&Config::of_size(Size::Iwslt, layers, Some(key)), 8).count());
            one + (LAYERS - 1) * (two - one)
        };
        let [wide, narrow] = [128, 16].map(count);
        assert_eq!(wide - narrow, 3 * LAYERS * 2 * (512 * 448 + 448));
        // The words of both languages in fairseq's IWSLT data, which have a vector each.
        let words = 512 * (8848 + 6632 - 8);
        let millions = [wide, narrow].map(|count| ((count + words) as f64 / 1e5).round() / 10.0);
        assert_eq!(millions, [39.5, 31.2]);
    }

    /// Vaswani et al. 2017, Table 3: 213 million parameters of the big model, and 65 million of the base
    /// model, with a shared vocabulary of about 37,000 tokens.
    #[test]
    fn base_and_big_have_the_parameters_that_the_paper_says() {
        for (size, published) in [(Size::Base, 65), (Size::Big, 213)] {
            let [layers, width, ..] = size.numbers();
            let count = |layers: usize| model(&Config::of_size(size, layers, None), 8).count();
            let [one, two] = [1, 2].map(count);
            let millions = (one + (layers - 1) * (two - one) + width * (37_000 - 8)) as f64 / 1e6;
            assert!((millions / f64::from(published) - 1.0).abs() < 0.05, "{size:?}: {millions}");
        }
    }

    /// The model of Tseng et al. 2023 takes a step, after which the loss of the same sentences is lower.
    #[test]
    fn the_iwslt_model_takes_a_step() {
        let [layers, ..] = Size::Iwslt.numbers();
        let config = Config::of_size(Size::Iwslt, layers, Some(16));
        let mut model = model(&config, 20);
        let pairs = [
            Pair { source: vec![5, 6], target: vec![8, 9] },
            Pair { source: vec![10, 7], target: vec![11, 12, 13] },
        ];
        let batch = Batch::new(pairs.iter());
        let loss = |model: &Model| loss_of(model, &Tape::new(), &batch, 0.0).item();
        let before = loss(&model);
        let tape = Tape::new();
        tape.training(rng::stream(1, purpose::ORDER, 0));
        let gradients = tape.backward(loss_of(&model, &tape, &batch, config.label_smoothing));
        let mut adam = RiemannianAdam::new(1e-4).unwrap().betas(0.9, 0.98).unwrap();
        adam.step(&mut model, &gradients).unwrap();
        let after = loss(&model);
        assert!(after < before, "{before} {after}");
    }
}
