//! Translation by transformers with attention of any score: Vaswani et al. 2017; Tseng et al. 2023,
//! section 4.

use std::path::Path;
use std::time::Instant;

use cotangent::engine::files::atomic;
use cotangent::engine::loss::IGNORE;
use cotangent::optim::{Average, OptimError, checkpoint};
use cotangent::prelude::*;
use cotangent_apps_common::checkpoints::{CHECKPOINT, Checkpoints};
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::output;
use cotangent_apps_common::progress::Progress;
use serde::{Deserialize, Serialize};

use crate::attention::Scores;

mod batches;
pub mod bleu;
pub mod bpe;
mod command;
mod config;
pub mod heatmap;
mod model;
pub mod parallel_text;
mod search;
mod translator;

use batches::{Batch, Pair, batches};
use bleu::Bleu;
use bpe::Bpe;
pub use command::run;
pub use config::{Config, NormOption, PositionsOption, Size};
use model::Model;
use parallel_text::{ParallelText, Sentences};
pub use search::Search;
use translator::fits;
pub use translator::{AttentionOf, Translator};

/// The result of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Mean loss per training place, with label smoothing and dropout.
    pub loss: f64,
    /// Mean loss per validation place, without label smoothing and dropout.
    pub validation: f64,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Hyperparameters and seed.
    pub config: Config,
    /// Number of sentences for training, validation and testing.
    pub sentences: [usize; 3],
    /// Number of training and validation sentences that were left out because they are too long.
    pub left_out: [usize; 2],
    /// Number of places of the training targets.
    pub tokens: usize,
    /// Number of parts of words.
    pub vocabulary: usize,
    /// Number of parameters of the model.
    pub parameters: usize,
    /// Threads of this run.
    pub threads: usize,
    /// The device it trained on.
    pub device: String,
    /// The result of every epoch.
    pub epochs: Vec<Epoch>,
    /// Mean loss per validation place with the averaged parameters.
    pub validation: f64,
    /// Number of beginnings kept in the search.
    pub beam: usize,
    /// The power of the length that divides a translation's logarithmic probability.
    pub length_penalty: f64,
    /// The score of the test sentences' translations.
    pub test: Bleu,
    /// How the score was counted, in sacreBLEU's notation.
    pub signature: String,
    /// Seconds of training, summed over all resumed parts.
    pub seconds: f64,
}

/// The content of a checkpoint besides the model and the optimiser.
#[derive(Clone, Serialize, Deserialize)]
struct State {
    config: Config,
    text: u32,
    steps: u64,
    /// Number of finished batches of the current epoch.
    batch: u64,
    /// Sum of the losses of this epoch's places so far.
    loss: f64,
    epochs: Vec<Epoch>,
    seconds: f64,
}

/// `config.json`.
#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(flatten)]
    config: Config,
    /// The name of the run, as in the files of its parameters. Older programs did not write it.
    #[serde(default)]
    run: Option<String>,
    /// The checksum of the encoding.
    #[serde(default)]
    tokenizer: Option<u32>,
}

/// The files of a model.
const MODEL: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";

mod purpose {
    pub(super) const INITIAL: u64 = 29;
    pub(super) const ORDER: u64 = 30;
    pub(super) const DROPOUT: u64 = 31;
}

/// Text as numbers.
struct Encoded {
    train: Vec<Pair>,
    validation: Vec<Pair>,
    left_out: [usize; 2],
    fingerprint: u32,
}

impl Encoded {
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
            for numbers in [&pair.source, &pair.target] {
                numbers.iter().for_each(|n| hasher.update(&n.to_le_bytes()));
                hasher.update(&u32::MAX.to_le_bytes());
            }
        }
        let left_out = [text.train.len() - train.len(), text.validation.len() - validation.len()];
        Encoded { train, validation, left_out, fingerprint: hasher.finalize() }
    }
}

/// Trains a translation model and writes `metrics.json`, `config.json`, `tokenizer.json`,
/// `model.safetensors` (the average of the last epochs), `translations.txt` with those of the test
/// sentences, `curves.svg` and the checkpoint. It uses the current thread pool; the result does not
/// depend on the pool's size.
///
/// # Errors
/// If the configuration makes no sense, the output cannot be written, the checkpoint belongs to another
/// run, or training diverges.
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
        let both = text.train.iter().flat_map(|(source, target)| [source.as_str(), target.as_str()]);
        Bpe::train(both, config.vocabulary)?
    };
    let data = Encoded::new(text, &bpe, config.longest);
    if data.train.is_empty() || data.validation.is_empty() {
        return Err(AppError::usage(format!("--longest {}: no sentence is as short", config.longest)));
    }
    let mut model =
        Model::new(config, &*score, bpe.size(), &mut rng::stream(config.seed, purpose::INITIAL, 0));
    let mut adam =
        RiemannianAdam::new(config.lr)?.betas(0.9, 0.98)?.decay(config.decay)?.clip(config.clip)?;
    let mut state = State {
        config: config.clone(),
        text: data.fingerprint,
        steps: 0,
        batch: 0,
        loss: 0.0,
        epochs: Vec::new(),
        seconds: 0.0,
    };
    let fingerprint = config.fingerprint(data.fingerprint);
    if options.resume {
        state = load(&out.join(CHECKPOINT), &state, &mut model, &mut adam)?;
    }
    let sources: Vec<Vec<u32>> = text.test.iter().map(|(source, _)| bpe.encode(source)).collect();
    fits(&model, &sources)?;
    // From here on the directory belongs to this run. Writing these files now shows whether it can be
    // written to.
    if !options.resume {
        let model = out.join(MODEL);
        match std::fs::remove_file(&model) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(AppError::io(&model)(error));
            }
            _ => bpe.save(&out.join(TOKENIZER))?,
        }
    }
    let saved =
        Saved { config: config.clone(), run: Some(fingerprint.clone()), tokenizer: Some(bpe.fingerprint()) };
    metrics::write_json(&out.join(CONFIG), &saved)?;
    let checkpoints =
        Checkpoints::new(out, "step", state.steps, |path| checkpoint::save(path, &model, &adam, &state))?;
    let parallel = DataParallel::new(options.device.clone());
    let mut run = Run { data: &data, config, options, fingerprint: &fingerprint, checkpoints, parallel };
    run.epochs(&mut model, &mut adam, &mut state)?;

    // The average of the last epochs.
    let mut average = Average::uniform();
    let last = state.epochs.len() as u64;
    for epoch in (last - config.average.min(last)..last).map(|epoch| epoch + 1) {
        output::load(&mut model, &out.join(epoch_file(epoch)), Some(&fingerprint))?;
        average.update(&model)?;
    }
    average.swap(&mut model)?;
    output::save(&model, &out.join(MODEL), &fingerprint)?;
    let translations = search.translate(&model, &sources, &options.device);
    let translations: Vec<String> = translations.iter().map(|numbers| bpe.decode(numbers)).collect();
    let references: Vec<String> = text.test.iter().map(|(_, target)| target.clone()).collect();
    let path = out.join("translations.txt");
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
        epochs: state.epochs.clone(),
        beam: search.beam(),
        length_penalty: search.length_penalty(),
        test: bleu::corpus(&translations, &references),
        signature: bleu::SIGNATURE.to_owned(),
        seconds: state.seconds,
    };
    metrics::write(out, &metrics)?;
    let of = |f: fn(&Epoch) -> f64| state.epochs.iter().map(f).collect::<Vec<f64>>();
    let title = format!("{} attention: BLEU {:.2}", config.attention, metrics.test.score);
    curves::plot(
        &out.join("curves.svg"),
        &title,
        &[
            Series { name: "training loss", values: of(|epoch| epoch.loss), better: f64::min },
            Series { name: "validation loss", values: of(|epoch| epoch.validation), better: f64::min },
        ],
    )?;
    Ok(metrics)
}

/// The file of the parameters after an epoch, from 1.
fn epoch_file(epoch: u64) -> String {
    format!("epoch-{epoch}.safetensors")
}

struct Run<'a> {
    data: &'a Encoded,
    config: &'a Config,
    options: &'a RunOptions,
    fingerprint: &'a str,
    checkpoints: Checkpoints,
    parallel: DataParallel<f32>,
}

impl Run<'_> {
    fn epochs(&mut self, model: &mut Model, adam: &mut RiemannianAdam<f32>, state: &mut State) -> Result<()> {
        let Run { data, config, options, .. } = *self;
        let out = &options.out;
        let schedule = Schedule::InverseSquareRoot { warm_up: config.warm_up };
        let tokens: usize = data.train.iter().map(|pair| pair.target.len() + 1).sum();
        let (start, before) = (Instant::now(), state.seconds);
        let mut done = 0;
        let mut progress = Progress::new("epoch", state.epochs.len() as u64, config.epochs);
        while (state.epochs.len() as u64) < config.epochs {
            let epoch = state.epochs.len() as u64;
            let order = batches(
                &data.train,
                config.batch_tokens,
                &mut rng::stream(config.seed, purpose::ORDER, epoch),
            );
            let count = order.len();
            while (state.batch as usize) < count {
                let pairs = &order[state.batch as usize];
                adam.set_rate(config.lr * schedule.factor(state.steps))?;
                let (loss, places) = self.step(model, adam, pairs, state.steps);
                let loss = self.checkpoints.checked(state.steps + 1, loss)?;
                state.loss += loss * places as f64;
                state.steps += 1;
                state.batch += 1;
                done += places;
                if state.batch as usize == count {
                    let validation = self.validate(model);
                    let validation = self.checkpoints.checked(state.steps, Ok(validation))?;
                    let loss = state.loss / tokens as f64;
                    state.epochs.push(Epoch { loss, validation });
                    (state.loss, state.batch) = (0.0, 0);
                    output::save(model, &out.join(epoch_file(epoch + 1)), self.fingerprint)?;
                    self.save(model, adam, state, before + start.elapsed().as_secs_f64())?;
                    if let Some(old) = (epoch + 1).checked_sub(config.average) {
                        // It does no harm if this file stays.
                        let _ = std::fs::remove_file(out.join(epoch_file(old)));
                    }
                } else if self.checkpoints.due(options.checkpoint_every) {
                    self.save(model, adam, state, before + start.elapsed().as_secs_f64())?;
                }
                progress.update(state.epochs.len() as u64, || {
                    let last = state.epochs.last().map_or(String::new(), |epoch| {
                        format!(", loss {:.3}, validation {:.3}", epoch.loss, epoch.validation)
                    });
                    let rate = done as f64 / start.elapsed().as_secs_f64();
                    format!("batch {}/{count}{last}, {rate:.0} tokens/s", state.batch)
                });
                if state.batch == 0 {
                    break;
                }
            }
        }
        progress.finish();
        self.checkpoints.keep()
    }

    fn save(
        &mut self,
        model: &Model,
        adam: &RiemannianAdam<f32>,
        state: &mut State,
        seconds: f64,
    ) -> Result<()> {
        state.seconds = seconds;
        self.checkpoints.write(state.steps, |path| checkpoint::save(path, model, adam, &*state))
    }

    /// Takes a step. Returns the mean loss of its places, and their number.
    fn step(
        &mut self,
        model: &mut Model,
        adam: &mut RiemannianAdam<f32>,
        pairs: &[&Pair],
        step: u64,
    ) -> (std::result::Result<f64, OptimError>, usize) {
        let Run { config, options, parallel, .. } = self;
        let places: usize = pairs.iter().map(|pair| pair.target.len() + 1).sum();
        let parts: Vec<(u64, Batch)> = pairs
            .chunks(part_size(pairs.len(), &options.device))
            .enumerate()
            .map(|(part, pairs)| (part as u64, Batch::new(pairs)))
            .collect();
        let loss = parallel.step(model, adam, &parts, |model, tape, (part, batch)| {
            tape.training(rng::stream(config.seed, purpose::DROPOUT, step * PARTS.0 as u64 + part));
            let loss = loss_of(model, tape, batch, config.label_smoothing);
            loss * (batch.tokens as f64 / places as f64)
        });
        (loss, places)
    }

    /// The mean loss per validation place.
    fn validate(&self, model: &Model) -> f64 {
        use rayon::prelude::*;
        let validation = &self.data.validation;
        let order = batches(validation, self.config.batch_tokens, &mut rng::stream(0, purpose::ORDER, 0));
        let losses: Vec<f64> = order
            .par_iter()
            .map_init(
                || Tape::with_device(self.options.device.clone()),
                |tape, pairs| {
                    tape.reset();
                    let batch = Batch::new(pairs);
                    loss_of(model, tape, &batch, 0.0).item() * batch.tokens as f64
                },
            )
            .collect();
        let places: usize = validation.iter().map(|pair| pair.target.len() + 1).sum();
        losses.iter().sum::<f64>() / places as f64
    }
}

/// The largest number of parts of a batch, which are trained in parallel, and the smallest number of
/// sentences of a part.
const PARTS: (usize, usize) = (8, 16);

fn part_size(batch: usize, device: &Device) -> usize {
    if *device == Device::cpu() { batch.div_ceil(PARTS.0).max(PARTS.1) } else { batch }
}

/// The mean loss of a batch's places.
fn loss_of<'t>(model: &Model, tape: &'t Tape<f32>, batch: &Batch, smoothing: f64) -> Var<'t, f32> {
    let encoded = model.encode(tape, &batch.sources, batch.source_len);
    let states = model.decode(encoded, &batch.given, batch.target_len);
    // Logits are most of the work, so they are computed only for places that count.
    let (places, next): (Vec<u32>, Vec<u32>) =
        (0..).zip(batch.next.iter().copied()).filter(|(_, next)| *next != IGNORE).unzip();
    let rows = states.reshape([batch.next.len(), states.shape().width()]).gather(&places);
    loss::cross_entropy(model.logits(rows), &next, smoothing)
}

/// Reads a checkpoint of the same run as `fresh`.
fn load(path: &Path, fresh: &State, model: &mut Model, adam: &mut RiemannianAdam<f32>) -> Result<State> {
    let state: State = checkpoint::progress(path)?;
    if let Some(option) = state.config.difference(&fresh.config) {
        return Err(AppError::content(path, format!("checkpoint of a run with another --{option}")));
    }
    if state.text != fresh.text {
        return Err(AppError::content(path, "checkpoint of a run on other text"));
    }
    // A resumed run may have more epochs.
    Ok(State { config: fresh.config.clone(), ..checkpoint::load(path, model, adam)? })
}
