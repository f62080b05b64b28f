//! Sentence-pair classification with hyperbolic and Euclidean recurrent networks, from the command line.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use cotangent_apps_common::command_line::{RUN, parse};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_pairs::gru::{self, Architecture, Config, Encoder, Metrics, Nonlinearity, Space};
use cotangent_apps_pairs::sentence_pairs::{self, Prefix, SentencePairs};

const EXAMPLES: &str = "\
Examples:
  gru --noise 30 --epochs 5
  gru --model euclidean-gru --data snli --path data/snli --epochs 10
  gru --data pairs.tsv --encoder rnn --body hyperbolic --head euclidean --kappa learned";

/// Recurrent networks of any geometry on pairs of sentences (Ganea, Bécigneul, Hofmann 2018, section 4).
///
/// Without options: a fully hyperbolic GRU learns to tell noisy prefixes of sentences from random sentences
/// (PREFIX-10%), and its accuracy is printed beside the published one.
#[derive(Parser)]
#[command(name = "gru", version, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    architecture: ArchitectureOptions,
    /// Dimension of words, sentences and the feed-forward layer.
    #[arg(long, default_value_t = 5, help_heading = "Model")]
    dim: usize,
    /// Sectional curvature of the hyperbolic parts: a negative number, or "learned" or "learned:NUMBER",
    /// which is where it starts.
    #[arg(long, default_value = "-1", allow_negative_numbers = true, help_heading = "Model")]
    kappa: String,
    /// Nonlinearity of the recurrent cells [default: that of the paper's authors, identity in hyperbolic
    /// space and tanh in Euclidean space].
    #[arg(long, value_enum, help_heading = "Model")]
    cell: Option<Nonlinearity>,
    /// Nonlinearity of the feed-forward layer.
    #[arg(long, value_enum, default_value_t = Nonlinearity::Identity, help_heading = "Model")]
    feed_forward: Nonlinearity,
    /// Passes over the training pairs.
    #[arg(long, default_value_t = 10, help_heading = "Training")]
    epochs: u64,
    /// Pairs of a step.
    #[arg(long, default_value_t = 64, help_heading = "Training")]
    batch: usize,
    /// Type that numbers are stored in.
    #[arg(long, value_enum, default_value_t = Precision::F32, help_heading = "Model")]
    precision: Precision,
    /// Learning rate of Riemannian Adam.
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Factor of the rate at the end, to which it falls along half a cosine; 1 for a constant rate.
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, help_heading = "Training")]
    lr_floor: f64,
    /// Largest norm of a step's gradient, all parameters together; longer ones are shortened to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    clip: f64,
    /// Seed of the model and of the order of the pairs: same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/gru", help_heading = RUN)]
    out: PathBuf,
    /// Go on from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
    /// Seconds between checkpoints.
    #[arg(long, default_value_t = 10, help_heading = RUN)]
    checkpoint_every: u64,
}

#[derive(Args)]
struct Data {
    /// prefix, snli, or a file of labelled pairs: label, first sentence, second sentence; TSV or CSV,
    /// plain or gzip.
    #[arg(long, default_value = "prefix", help_heading = "Data")]
    data: String,
    /// How many of a hundred words of a prefix are replaced.
    #[arg(long, default_value_t = 10, help_heading = "Data")]
    noise: u32,
    /// Training pairs of prefix.
    #[arg(long, default_value_t = 500_000, help_heading = "Data")]
    pairs: usize,
    /// Seed of the pairs of prefix, or of the split of a file.
    #[arg(long, default_value_t = 1, help_heading = "Data")]
    data_seed: u64,
    /// Directory of SNLI: train, val and test, .tsv or .tsv.gz.
    #[arg(long, help_heading = "Data")]
    path: Option<PathBuf>,
}

#[derive(Args)]
struct ArchitectureOptions {
    /// A model of Table 1; the options below change parts of it.
    #[arg(long, default_value = "hyperbolic-gru", value_parser = gru::TABLE_1.map(|row| row.name), help_heading = "Model")]
    model: String,
    /// The recurrent layer.
    #[arg(long, value_enum, help_heading = "Model")]
    encoder: Option<Encoder>,
    /// Geometry of words, encoders and feed-forward layer.
    #[arg(long, value_enum, help_heading = "Model")]
    body: Option<Space>,
    /// Geometry of the logistic regression.
    #[arg(long, value_enum, help_heading = "Model")]
    head: Option<Space>,
}

impl Data {
    fn read(&self) -> Result<SentencePairs> {
        match (self.data.as_str(), &self.path) {
            ("snli", Some(path)) => sentence_pairs::snli(path),
            ("snli", None) => {
                Err(AppError::usage("--data snli: --path is needed, the directory of its files"))
            }
            (_, Some(path)) => {
                Err(AppError::usage(format!("--path {}: only --data snli has one", path.display())))
            }
            ("prefix", None) => {
                let prefix = Prefix::of_paper(self.noise);
                let [_, validation, test] = prefix.sizes;
                Prefix { sizes: [self.pairs, validation, test], ..prefix }.generate(self.data_seed)
            }
            (file, None) => sentence_pairs::read_file(Path::new(file), self.data_seed),
        }
    }
}

impl ArchitectureOptions {
    fn choose(&self) -> Architecture {
        let of_table = gru::TABLE_1.into_iter().find(|row| row.name == self.model);
        let Architecture { encoder, body, head } = of_table.expect("one of the possible values").architecture;
        Architecture {
            encoder: self.encoder.unwrap_or(encoder),
            body: self.body.unwrap_or(body),
            head: self.head.unwrap_or(head),
        }
    }
}

/// The curvature, and whether it is learned.
fn curvature(option: &str) -> Result<(f64, bool)> {
    let (number, learned) = match option.strip_prefix("learned") {
        Some("") => ("-1", true),
        Some(rest) => (rest.strip_prefix(':').unwrap_or(rest), true),
        None => (option, false),
    };
    let wrong =
        |_| AppError::usage(format!("--kappa {option}: a number, learned, or learned:NUMBER is needed"));
    Ok((number.parse().map_err(wrong)?, learned))
}

fn main() -> std::process::ExitCode {
    exit_code(train(parse()))
}

fn train(cli: Cli) -> Result<()> {
    let device = cli.device.choose()?;
    let (kappa, learn_kappa) = curvature(&cli.kappa)?;
    let architecture = cli.architecture.choose();
    let config = Config {
        architecture,
        dim: cli.dim,
        kappa,
        learn_kappa,
        cell: cli.cell.unwrap_or(Nonlinearity::of_authors(architecture.body)),
        feed_forward: cli.feed_forward,
        epochs: cli.epochs,
        batch: cli.batch,
        precision: cli.precision,
        lr: cli.lr,
        lr_floor: cli.lr_floor,
        clip: cli.clip,
        seed: cli.seed,
    };
    config.check()?;
    let threads = cli.threads.start()?;
    let data = cli.data.read()?;
    let [train, validation, test] = [&data.train, &data.validation, &data.test].map(Vec::len);
    say!(
        "{}: {train} pairs to train on, {validation} to select by, {test} to test on; {} words",
        data.name,
        data.words.len()
    );
    let options =
        RunOptions { out: cli.out, resume: cli.resume, checkpoint_every: cli.checkpoint_every, device };
    let metrics = threads.run(|| gru::train(&data, &config, &options))?;
    report(&metrics);
    say!("written to {}", options.out.display());
    Ok(())
}

fn report(metrics: &Metrics) {
    let Metrics { config, seconds, .. } = metrics;
    let pairs = metrics.pairs[0] as f64 * config.epochs as f64;
    say!(
        "trained {} numbers for {} epochs in {seconds:.1} s ({:.0} pairs/s, {} threads); best: epoch {}, validation {:.2} %",
        metrics.parameters,
        config.epochs,
        pairs / seconds,
        metrics.threads,
        metrics.best_epoch,
        100.0 * metrics.validation
    );
    for (part, kappa) in ["body", "head"].iter().zip(metrics.learned_kappa) {
        if let Some(kappa) = kappa {
            say!("learned curvature of the {part}: {kappa:.4}");
        }
    }
    say!("{}", metrics.confusion.table(&metrics.classes).trim_end());
    say!("test accuracy");
    say!("{:>8.2} %  this run", 100.0 * metrics.test);
    if let Some(accuracy) = gru::published(config.architecture, &metrics.data) {
        say!("{accuracy:>8.2} %  Ganea et al. 2018, Table 1: d = 5, best of three runs");
    }
}
