//! The command line of `gru`.

use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use cotangent::prelude::Device;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::command_line::parse_app_with;
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::options;
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::Summary;
use cotangent_apps_common::table::TableOptions;
use cotangent_apps_common::task::Reported;
use cotangent_apps_common::training::TrainingOptions;

use super::{Architecture, GruConfig, GruMetrics, Protocol, Space, TABLE_1, published};
use crate::sentence_pairs::{self, Prefix, SentencePairs};

/// The application `gru`.
pub const APP: Application = Application {
    name: "gru",
    about: "Classifies pairs of sentences with hyperbolic or Euclidean recurrent networks (Ganea, \
        Bécigneul, Hofmann 2018, section 4).\n\nWithout options: trains a fully hyperbolic GRU to \
        distinguish noisy prefixes of sentences from random sentences (PREFIX-10%), and prints its \
        accuracy beside the published one.",
    examples: [
        "gru --noise 30 --epochs 5 --seeds 3",
        "gru --model euclidean-gru --data snli --path data/snli --epochs 10",
        "gru --data pairs.tsv --encoder rnn --body hyperbolic --head euclidean --kappa learned",
    ],
    needs: &[],
    commands: &[
        (
            "`gru`",
            "a fully hyperbolic GRU (Ganea et al. 2018) tells noisy prefixes from random sentences: \
             PREFIX-10%",
        ),
        (
            "`gru --model NAME …`; `gru --data prefix\\|snli\\|FILE …`",
            "the six models of the paper's Table 1, or `--encoder`, `--body`, `--feed-forward-space` and \
             `--head` by themselves; other noise, SNLI, or your own labelled pairs of sentences",
        ),
    ],
    writes: "`model.safetensors` (the best by validation), `curves.svg` and, in two dimensions, \
        `sentences.svg`",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    config: GruConfig,
    #[command(flatten)]
    training: TrainingOptions,
    /// Train all models of Table 1 on PREFIX with a noise of 10, 30 and 50 %, and on SNLI if --path is
    /// given, and print the table. The results of each go to a subdirectory of --out.
    #[arg(long, help_heading = "Training")]
    #[arg(conflicts_with_all = ["data", "noise", "model", "encoder", "body", "feed_forward_space", "head"])]
    table: bool,
}

#[derive(Args)]
struct Data {
    /// What to train on: "prefix", which is generated; "snli", which is read from --path; or a file of
    /// labelled pairs, TSV or CSV, plain or gzip, with the columns label, first sentence, second sentence.
    /// How the file is read is printed first.
    #[arg(long, default_value = "prefix", help_heading = "Data")]
    data: String,
    #[command(flatten)]
    layout: TableOptions,
    /// Percentage of a prefix's words that are replaced by random ones; for prefix [default: 10].
    #[arg(long, help_heading = "Data")]
    noise: Option<u32>,
    /// Number of training pairs, even; for prefix [default: 500000].
    #[arg(long, help_heading = "Data")]
    pairs: Option<usize>,
    /// Number of validation pairs, even, and also of test pairs; for prefix [default: 10000].
    #[arg(long, help_heading = "Data")]
    held_out: Option<usize>,
    /// Seed that generates the pairs of prefix, or that splits a file into pairs for training, validation
    /// and testing [default: 1].
    #[arg(long, help_heading = "Data")]
    data_seed: Option<u64>,
    /// Directory of SNLI: the files train, val (with --protocol released dev_2class) and test, each .tsv or
    /// .tsv.gz.
    #[arg(long, help_heading = "Data")]
    path: Option<PathBuf>,
    /// Words that occur less often than this in the training pairs become the unknown word, whose vector is
    /// then trained. Not for --data prefix [default: 1].
    #[arg(long, help_heading = "Data")]
    min_count: Option<usize>,
}

impl Cli {
    /// The configuration of a run.
    fn config(&self, architecture: Architecture, seed: u64) -> Result<GruConfig> {
        let config = GruConfig { architecture, seed, ..self.config.clone() }.complete();
        config.check()?;
        Ok(config)
    }
}

impl Data {
    fn prefix(&self, noise: u32) -> Result<SentencePairs> {
        let paper = Prefix::paper(noise);
        let [pairs, held_out, _] = paper.sizes;
        let held_out = self.held_out.unwrap_or(held_out);
        let sizes = [self.pairs.unwrap_or(pairs), held_out, held_out];
        Prefix { sizes, ..paper }.generate(self.seed())
    }

    fn seed(&self) -> u64 {
        self.data_seed.unwrap_or(1)
    }

    /// Checks that no option is given that these data do not have.
    fn check(&self) -> Result<()> {
        let [prefix, snli] = ["prefix", "snli"].map(|data| self.data == data);
        let given = [
            ("noise", self.noise.is_some() && !prefix),
            ("pairs", self.pairs.is_some() && !prefix),
            ("held-out", self.held_out.is_some() && !prefix),
            ("data-seed", self.data_seed.is_some() && snli),
            ("min-count", self.min_count.is_some() && prefix),
            ("separator", self.layout.separator.is_some() && (prefix || snli)),
            ("header", self.layout.header.is_some() && (prefix || snli)),
            ("columns", !self.layout.columns.is_empty() && (prefix || snli)),
        ];
        match options::first_true(&given) {
            Some(option) => Err(AppError::usage(format!("--{option}: --data {} has none", self.data))),
            None => Ok(()),
        }
    }

    fn read(&self, protocol: Protocol) -> Result<SentencePairs> {
        let read = match (self.data.as_str(), &self.path) {
            ("snli", Some(path)) => sentence_pairs::snli(path, protocol.snli_validation()),
            ("snli", None) => {
                Err(AppError::usage("--data snli: --path is needed, the directory of its files"))
            }
            (_, Some(path)) => {
                Err(AppError::usage(format!("--path {}: only --data snli has one", path.display())))
            }
            ("prefix", None) => self.prefix(self.noise.unwrap_or(10)),
            (file, None) => sentence_pairs::read_file(Path::new(file), &self.layout, self.seed()),
        }?;
        Ok(match self.min_count {
            Some(least) => read.without_rare_words(least),
            None => read,
        })
    }
}

/// Runs the command `gru` with the process's arguments. Returns the exit code of the process: 0, or 2 after
/// an error.
pub fn run() -> std::process::ExitCode {
    exit_code(run_with(parse_app_with(&APP, |command| {
        // Checkpoints are small.
        command.mut_arg("checkpoint_every", |seconds| seconds.default_value("10"))
    })))
}

fn run_with(cli: Cli) -> Result<()> {
    let device = cli.training.device.choose()?;
    let architecture = cli.config.architecture;
    cli.config(architecture, cli.config.seed)?;
    cli.data.check()?;
    let Architecture { body, feed_forward_space, head, .. } = architecture;
    let flat = [body, feed_forward_space.unwrap_or(body), head] == [Space::Euclidean; 3];
    if cli.config.curvature.is_some() && !cli.table && flat {
        return Err(AppError::usage("--kappa: the model has no hyperbolic part"));
    }
    let threads = cli.training.threads.start()?;
    let _held = cli.training.seeds.hold(&cli.training.out, cli.table)?;
    if cli.table {
        return threads.run(|| table(&cli, &device));
    }
    let data = cli.data.read(cli.config.protocol)?;
    threads.run(|| train_seeds(&cli, &data, architecture, &cli.training.out, &device))?;
    say!("written to {}", cli.training.out.display());
    Ok(())
}

/// Trains a model with each seed.
fn train_seeds(
    cli: &Cli,
    data: &SentencePairs,
    architecture: Architecture,
    out: &Path,
    device: &Device,
) -> Result<Summary> {
    if let Some(read_as) = &data.read_as {
        say!("{}: {read_as}", data.name);
    }
    let [train, validation, test] = [&data.train, &data.validation, &data.test].map(Vec::len);
    say!(
        "{}: {train} pairs for training, {validation} for validation, {test} for testing; {} words",
        data.name,
        data.words.len()
    );
    let reported = Reported::<GruMetrics> {
        name: "test accuracy in %",
        digits: 2,
        figures: |run| [100.0 * run.test, run.validation],
    };
    let (_, summary) =
        reported.each_seed(&cli.training, cli.config.seed, out, cli.table, device, |seed, run| {
            let metrics = super::train(data, &cli.config(architecture, seed)?, run)?;
            report(&metrics);
            Ok(metrics)
        })?;
    Ok(summary)
}

/// Trains every model of Table 1 on all data and prints the table. A model's figure is the test accuracy of
/// the seed with the best validation accuracy.
fn table(cli: &Cli, device: &Device) -> Result<()> {
    let mut data: Vec<SentencePairs> =
        [10, 30, 50].into_iter().map(|noise| cli.data.prefix(noise)).collect::<Result<_>>()?;
    let snli = |path| sentence_pairs::snli(path, cli.config.protocol.snli_validation());
    data.extend(cli.data.path.as_deref().map(snli).transpose()?);
    let mut lines = Vec::new();
    for row in TABLE_1 {
        let mut line = format!("{:<28}", row.name);
        for data in &data {
            let out = cli.training.out.join(row.name).join(data.name.to_lowercase().replace('%', ""));
            let summary = train_seeds(cli, data, row.architecture, &out, device)?;
            let found = published(row.architecture, &data.name);
            let published = found.map_or(String::new(), |accuracy| format!("{accuracy:.2}"));
            line += &format!(" {:>7.2} {published:>7}", summary.best);
        }
        lines.push(line);
    }
    say!("test accuracy in %, of the seed with the best validation; then that of Ganea et al. 2018, Table 1");
    let names: String = data.iter().map(|data| format!(" {:>15}", data.name)).collect();
    say!("{:<28}{names}", "");
    lines.iter().for_each(|line| say!("{line}"));
    say!("written to {}", cli.training.out.display());
    Ok(())
}

fn report(metrics: &GruMetrics) {
    let GruMetrics { config, pairs: [pairs, ..], validation, best_epoch, .. } = metrics;
    say!(
        "{}; best validation accuracy {:.2} %, after epoch {best_epoch}",
        metrics.training.text(*pairs, "pairs"),
        100.0 * validation
    );
    for (part, kappa) in ["body", "feed-forward layer", "head"].iter().zip(metrics.learned_kappa) {
        if let Some(kappa) = kappa {
            say!("learned curvature of the {part}: {kappa:.4}");
        }
    }
    say!("{}", metrics.confusion.table(&metrics.classes).trim_end());
    say!("test accuracy");
    say!("{:>8.2} %  this run", 100.0 * metrics.test);
    if let Some(accuracy) = published(config.architecture, &metrics.data) {
        say!("{accuracy:>8.2} %  Ganea et al. 2018, Table 1: d = 5, best of three runs");
    }
}
