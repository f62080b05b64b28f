//! The command `transformer`.

use std::io::BufRead;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent_apps_common::command_line::{RUN, parse_with};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;

use super::parallel_text::ParallelText;
use super::{AttentionOf, Config, Metrics, NormOption, PositionsOption, Search, Size, Translator, train};
use crate::attention::{AttentionOptions, Scores};

const EXAMPLES: &str = "\
Examples:
  transformer train --path data/multi30k --attention penumbral --epochs 20
  transformer train --train pairs.tsv --validation val.tsv --test test.tsv --size small
  transformer attend --sentence 'Ein Hund spielt im Schnee.' --of source --out attention.svg";

/// Transformers with attention by dot product, hyperbolic distance or cones, for translation (Vaswani et
/// al. 2017; Gulcehre et al. 2019; Tseng et al. 2023).
#[derive(Parser)]
#[command(name = "transformer", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Learns from parallel text, and translates the test sentences.
    #[command(after_help = EXAMPLES)]
    Train(Box<Train>),
    /// Translates standard input, line by line.
    Translate(Translate),
    /// Translates a sentence and draws what its parts attend to.
    Attend(Attend),
}

#[derive(Args)]
struct Train {
    #[command(flatten)]
    text: Text,
    #[command(flatten)]
    model: ModelOptions,
    /// Passes over the training sentences. A resumed run may have more.
    #[arg(long, default_value_t = 10, help_heading = "Training")]
    epochs: u64,
    /// Numbers of a batch on either side, about.
    #[arg(long, default_value_t = 4096, help_heading = "Training")]
    batch_tokens: usize,
    /// Learning rate at the end of the warm-up.
    #[arg(long, default_value_t = 0.002, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Steps in which the rate rises; then it falls as the inverse square root of the step.
    #[arg(long, default_value_t = 1000, help_heading = "Training")]
    warm_up: u64,
    /// Part of the target that is spread over all words.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Training")]
    label_smoothing: f64,
    /// Rate of dropout.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Model")]
    dropout: f64,
    /// Weight decay, apart from the gradient.
    #[arg(long, default_value_t = 0.0001, allow_negative_numbers = true, help_heading = "Training")]
    decay: f64,
    /// Largest norm of a step's gradient, all parameters together; longer ones are shortened to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    clip: f64,
    /// The last epochs whose parameters are averaged.
    #[arg(long, default_value_t = 5, help_heading = "Training")]
    average: u64,
    /// Seed of weights, order and dropout: same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/transformer", help_heading = RUN)]
    out: PathBuf,
    /// Go on from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
    /// Seconds between checkpoints.
    #[arg(long, default_value_t = 30, help_heading = RUN)]
    checkpoint_every: u64,
}

/// Each of the three parts is one file with two columns split by a tab, or two files, line by line;
/// plain or gzip.
#[derive(Args)]
struct Text {
    /// Directory of train.tsv, val.tsv and test.tsv: a sentence, a tab, its translation.
    #[arg(long, help_heading = "Data")]
    path: Option<PathBuf>,
    /// Text to train on: one file, or two.
    #[arg(long, num_args = 1..=2, help_heading = "Data")]
    train: Vec<PathBuf>,
    /// Text to select by.
    #[arg(long, num_args = 1..=2, help_heading = "Data")]
    validation: Vec<PathBuf>,
    /// Text to test on.
    #[arg(long, num_args = 1..=2, help_heading = "Data")]
    test: Vec<PathBuf>,
    /// Train on the first so many sentences alone.
    #[arg(long, help_heading = "Data")]
    sentences: Option<usize>,
    /// Translate the other way.
    #[arg(long, help_heading = "Data")]
    reverse: bool,
}

impl Text {
    fn read(&self) -> Result<ParallelText> {
        let mut text = ParallelText::read(self.path.as_deref(), [&self.train, &self.validation, &self.test])?;
        if let Some(sentences) = self.sentences {
            options::at_least_one(&[("sentences", sentences as u64)])?;
            text.train.truncate(sentences);
        }
        if self.reverse {
            for part in [&mut text.train, &mut text.validation, &mut text.test] {
                part.iter_mut().for_each(|(source, target)| std::mem::swap(source, target));
            }
        }
        Ok(text)
    }
}

#[derive(Args)]
struct ModelOptions {
    /// What scores are made of.
    #[arg(long, default_value = "dot", help_heading = "Model")]
    attention: String,
    #[command(flatten)]
    options: AttentionOptions,
    /// Layers, width, heads and hidden units by name; the options below change each.
    #[arg(long, value_enum, default_value_t = Size::Tiny, help_heading = "Model")]
    size: Size,
    /// Layers of the encoder, and of the decoder.
    #[arg(long, help_heading = "Model")]
    layers: Option<usize>,
    /// The recursive transformer: all layers are one and the same.
    #[arg(long, help_heading = "Model")]
    recursive: bool,
    /// Width of a layer's rows.
    #[arg(long, help_heading = "Model")]
    width: Option<usize>,
    /// Heads of each attention.
    #[arg(long, help_heading = "Model")]
    heads: Option<usize>,
    /// Hidden units of the feed-forward networks.
    #[arg(long, help_heading = "Model")]
    hidden: Option<usize>,
    /// Dimensions of a head [default: the width divided by the heads].
    #[arg(long, help_heading = "Model")]
    head_dim: Option<usize>,
    /// Where residual blocks normalise.
    #[arg(long, value_enum, default_value_t = NormOption::Pre, help_heading = "Model")]
    norm: NormOption,
    /// Positions of words.
    #[arg(long, value_enum, default_value_t = PositionsOption::Sinusoidal, help_heading = "Model")]
    positions: PositionsOption,
    /// Parts of words, of both languages together.
    #[arg(long, default_value_t = 4000, help_heading = "Model")]
    vocabulary: usize,
    /// Longest sentences to train on, in parts; longer ones are left out.
    #[arg(long, default_value_t = 128, help_heading = "Model")]
    longest: usize,
}

#[derive(Args, Clone, Copy)]
struct SearchOptions {
    /// Beginnings of a translation that are kept at each step; 1 for greedy search.
    #[arg(long, default_value_t = 5, help_heading = "Search")]
    beam: usize,
    /// A translation of n parts counts with its logarithmic probability divided by n to this power.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Search")]
    length_penalty: f64,
}

impl SearchOptions {
    fn check(self) -> Result<Search> {
        Search::new(self.beam, self.length_penalty)
    }
}

#[derive(Args)]
struct Translate {
    /// Output directory of a training.
    #[arg(long, default_value = "runs/transformer", help_heading = "Data")]
    model: PathBuf,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Args)]
struct Attend {
    /// Output directory of a training.
    #[arg(long, default_value = "runs/transformer", help_heading = "Data")]
    model: PathBuf,
    #[command(flatten)]
    search: SearchOptions,
    /// The sentence.
    #[arg(long, help_heading = "Data")]
    sentence: String,
    /// What attends to the sentence's parts.
    #[arg(long, value_enum, default_value_t = AttentionOf::Translation, help_heading = "Data")]
    of: AttentionOf,
    /// The picture.
    #[arg(long, default_value = "attention.svg", help_heading = RUN)]
    out: PathBuf,
    #[command(flatten)]
    device: DeviceOption,
}

/// Runs the command `transformer` with the process's arguments, and with these scores to choose from. A
/// program that calls it with [`Scores::with`] has a score of its own under its own name.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let choices = scores.choices();
    let cli: Cli = parse_with(|command| {
        command
            .mut_subcommand("train", |train| train.mut_arg("attention", |score| score.value_parser(choices)))
    });
    exit_code(match cli.command {
        Command::Train(train) => train.run(scores),
        Command::Translate(translate) => translate.run(scores),
        Command::Attend(attend) => attend.run(scores),
    })
}

impl Train {
    fn run(self, scores: &Scores) -> Result<()> {
        let device = self.device.choose()?;
        let ModelOptions { size, layers, width, heads, hidden, head_dim, .. } = self.model;
        let numbers = size.numbers();
        let [layers, width, heads, hidden] = [layers, width, heads, hidden]
            .iter()
            .zip(numbers)
            .map(|(given, of_size)| given.unwrap_or(of_size))
            .collect::<Vec<_>>()[..]
        else {
            unreachable!("four numbers")
        };
        let config = Config {
            attention: self.model.attention,
            options: self.model.options,
            layers,
            width,
            heads,
            head_dim: head_dim.unwrap_or((width / heads.max(1)).max(1)),
            hidden,
            norm: self.model.norm,
            positions: self.model.positions,
            recursive: self.model.recursive,
            vocabulary: self.model.vocabulary,
            longest: self.model.longest,
            epochs: self.epochs,
            batch_tokens: self.batch_tokens,
            lr: self.lr,
            warm_up: self.warm_up,
            label_smoothing: self.label_smoothing,
            dropout: self.dropout,
            decay: self.decay,
            clip: self.clip,
            average: self.average,
            seed: self.seed,
        };
        config.check(scores)?;
        let search = self.search.check()?;
        let threads = self.threads.start()?;
        let text = self.text.read()?;
        say!(
            "{} sentences to train on, {} to select by, {} to test on",
            text.train.len(),
            text.validation.len(),
            text.test.len()
        );
        let options = RunOptions {
            out: self.out,
            resume: self.resume,
            checkpoint_every: self.checkpoint_every,
            device,
        };
        let metrics = threads.run(|| train(&text, &config, scores, &search, &options))?;
        report(&metrics);
        say!("written to {}", options.out.display());
        Ok(())
    }
}

fn report(metrics: &Metrics) {
    let epochs = metrics.epochs.len();
    if metrics.left_out != [0, 0] {
        let [train, validation] = metrics.left_out;
        say!("longer than --longest and left out: {train} training sentences, {validation} to select by");
    }
    say!(
        "trained {} numbers for {epochs} epochs of {} parts in {:.1} s ({:.0} parts/s, {} threads); \
         validation loss {:.4}",
        metrics.parameters,
        metrics.tokens,
        metrics.seconds,
        (metrics.tokens * epochs) as f64 / metrics.seconds,
        metrics.threads,
        metrics.validation
    );
    say!("{}", metrics.test);
    say!("{}", metrics.signature);
}

impl Translate {
    fn run(self, scores: &Scores) -> Result<()> {
        let (search, threads) = (self.search.check()?, self.threads.start()?);
        let translator = Translator::load(&self.model, scores, self.device.choose()?)?;
        let mut lines = Vec::new();
        for (number, line) in std::io::stdin().lock().lines().enumerate() {
            let input = std::path::Path::new("standard input");
            lines.push(line.map_err(|e| AppError::line(input, number as u64 + 1, e.to_string()))?);
        }
        let translations = threads.run(|| translator.translate(&lines, &search))?;
        translations.iter().for_each(|line| say!("{line}"));
        Ok(())
    }
}

impl Attend {
    fn run(self, scores: &Scores) -> Result<()> {
        let translator = Translator::load(&self.model, scores, self.device.choose()?)?;
        say!("{}", translator.heatmap(&self.sentence, self.of, &self.search.check()?, &self.out)?);
        say!("written to {}", self.out.display());
        Ok(())
    }
}
