//! The command line of `transformer`.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use cotangent::prelude::Device;
use cotangent_apps_attention::saved::Running;
use cotangent_apps_attention::training::report_sharpness;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::{RUN, parse_app_with};
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::Summary;
use cotangent_apps_common::table::BYTE_ORDER_MARK;
use cotangent_apps_common::task::Reported;
use cotangent_apps_common::training::TrainingOptions;

use super::comparison::{self, Line};
use super::parallel_text::ParallelText;
use super::{LengthNorm, Queries, Search, TransformerConfig, TransformerMetrics, Translator, train};

/// The application `transformer`.
pub const APP: Application = Application {
    name: "transformer",
    about: "Translation by transformers. The attention score can be a dot product, a hyperbolic distance, \
        cones and others (Vaswani et al. 2017; Gulcehre et al. 2019; Tseng et al. 2023).",
    examples: [
        "transformer train --path data/multi30k --attention penumbral --epochs 20",
        "transformer train --train pairs.tsv --validation val.tsv --test test.tsv --size small",
        "transformer attend --sentence 'Ein Hund spielt im Schnee.' --queries source --out attention.svg",
    ],
    needs: &["train", "--path", "none"],
    commands: &[
        (
            "`transformer train --path DIR --attention NAME …`",
            "learns to translate: attention by dot product, hyperbolic distance, penumbral and umbral cones, \
             Laplacian kernel",
        ),
        (
            "`transformer translate --model DIR < FILE`",
            "translates lines; `transformer attend --sentence TEXT` draws the attention weights on its \
             tokens, `--queries source\\|translation`",
        ),
    ],
    writes: "`model.safetensors` (the average of the last epochs), `curves.svg`, `translations.txt`, \
        files of the model",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trains a model on parallel text, then translates the test sentences and computes BLEU.
    Train(Box<Train>),
    /// Translates standard input, line by line, with a trained model.
    Translate(Translate),
    /// Translates a sentence and draws the attention weights of the last layer.
    Attend(Attend),
}

#[derive(Args)]
struct Train {
    #[command(flatten)]
    text: Text,
    #[command(flatten)]
    config: TransformerConfig,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    training: TrainingOptions,
    /// Train with these attention scores in turn, separated by commas, and print a table [default: all
    /// scores]. The results of each go to the subdirectory of --out with its name.
    #[arg(long, num_args = 0.., value_delimiter = ',', conflicts_with = "attention")]
    #[arg(help_heading = "Training")]
    table: Option<Vec<String>>,
}

// clap does not show a doc comment here, so each option says what its files are.
#[derive(Args)]
struct Text {
    /// Directory of train.tsv, val.tsv and test.tsv, each plain or .gz. A line is a sentence, a tab, and its
    /// translation.
    #[arg(long, help_heading = "Data")]
    path: Option<PathBuf>,
    /// Text for training, instead of train.tsv: one file of lines "sentence, tab, translation", or a file
    /// of sentences and a file of their translations, line by line; plain or gzip.
    #[arg(long, num_args = 1..=2, help_heading = "Data")]
    train: Vec<PathBuf>,
    /// Text for validation, instead of val.tsv: one file or two, as for --train.
    #[arg(long, num_args = 1..=2, help_heading = "Data")]
    validation: Vec<PathBuf>,
    /// Text for testing, instead of test.tsv: one file or two, as for --train.
    #[arg(long, num_args = 1..=2, help_heading = "Data")]
    test: Vec<PathBuf>,
    /// Train only on this many sentences, the first ones [default: all].
    #[arg(long, help_heading = "Data")]
    sentences: Option<usize>,
    /// Translate in the other direction: swap the two languages.
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
            if let [_, file] = &self.test[..] {
                text.test_file.clone_from(file);
            }
        }
        Ok(text)
    }
}

#[derive(Args, Clone, Copy)]
struct SearchOptions {
    /// Number of hypotheses that beam search keeps at each step, from 1 to 100; 1 is greedy search.
    #[arg(long, default_value_t = 5, help_heading = "Search")]
    beam: usize,
    /// Hypotheses are compared by their log-probability divided by their length to this power.
    /// Larger values favour longer translations.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Search")]
    length_penalty: f64,
    /// How their length is measured.
    #[arg(long, value_enum, default_value_t, help_heading = "Search")]
    length_norm: LengthNorm,
}

impl SearchOptions {
    fn check(self) -> Result<Search> {
        Search::new(self.beam, self.length_penalty, self.length_norm)
    }
}

#[derive(Args)]
struct Translate {
    /// Output directory of `transformer train`, with the trained model.
    #[arg(long, default_value = "runs/transformer", help_heading = "Data")]
    model: PathBuf,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    running: Running,
}

#[derive(Args)]
struct Attend {
    /// Output directory of `transformer train`, with the trained model.
    #[arg(long, default_value = "runs/transformer", help_heading = "Data")]
    model: PathBuf,
    #[command(flatten)]
    search: SearchOptions,
    /// The sentence to translate.
    #[arg(long, help_heading = "Data")]
    sentence: String,
    /// Whose tokens are the queries; the keys are the tokens of the sentence.
    #[arg(long, value_enum, default_value_t = Queries::Translation, help_heading = "Data")]
    queries: Queries,
    /// The picture to write, as SVG.
    #[arg(long, default_value = "attention.svg", help_heading = RUN)]
    out: PathBuf,
    #[command(flatten)]
    running: Running,
}

/// Runs the command `transformer` with the process's arguments. `--attention` offers these scores, so a
/// program can add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2
/// after an error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let choices = scores.choices();
    let cli: Cli = parse_app_with(&APP, |command| {
        command.mut_subcommand("train", |train| {
            scores
                .offer(train)
                .mut_arg("checkpoint_every", |seconds| {
                    seconds.help("Seconds between checkpoints. One is also written after every epoch")
                })
                .mut_arg("table", |score| score.value_parser(choices).hide_possible_values(true))
        })
    });
    exit_code(match cli.command {
        Command::Train(train) => train.run(scores),
        Command::Translate(translate) => translate.run(scores),
        Command::Attend(attend) => attend.run(scores),
    })
}

/// One of the models that a command trains.
struct Variant<'a> {
    /// The name of its score.
    attention: &'a str,
    /// Dimensions of its queries and keys, if they are given.
    key_dim: Option<usize>,
    /// Its output directory, or that of the directories of its seeds.
    out: PathBuf,
}

/// The results of a model: a row of the table.
struct Compared<'a> {
    variant: Variant<'a>,
    summary: Summary,
    /// BLEU of each seed.
    results: Vec<f64>,
}

/// The picture of models with different dimensions.
const KEY_DIM: &str = "key-dim.svg";

impl Train {
    /// The models to train: one, or all of a table.
    fn variants<'a>(&'a self, scores: &'a Scores) -> Vec<Variant<'a>> {
        let all = || scores.iter().map(|score| score.name()).collect();
        let names: Vec<&str> = match &self.table {
            None => vec![&self.config.attention],
            Some(names) if names.is_empty() => all(),
            Some(names) => names.iter().map(String::as_str).collect(),
        };
        let key_dims = self.key_dims();
        let several = key_dims.len() > 1;
        let dimensions: Vec<Option<usize>> =
            if key_dims.is_empty() { vec![None] } else { key_dims.into_iter().map(Some).collect() };
        let variant = |attention: &'a str, key_dim: Option<usize>| {
            let mut out = self.training.out.clone();
            if self.table.is_some() {
                out.push(attention);
            }
            if let Some(d) = key_dim.filter(|_| several) {
                out.push(format!("key-dim-{d}"));
            }
            Variant { attention, key_dim, out }
        };
        names.iter().flat_map(|&name| dimensions.iter().map(move |&d| variant(name, d))).collect()
    }

    /// The dimensions of queries and keys that are given, each once, in ascending order.
    fn key_dims(&self) -> Vec<usize> {
        let mut dimensions = self.config.key_dims.clone();
        dimensions.sort_unstable();
        dimensions.dedup();
        dimensions
    }

    /// The configuration of a run.
    fn config(&self, scores: &Scores, variant: &Variant<'_>, seed: u64) -> Result<TransformerConfig> {
        let (attention, key_dim) = (variant.attention.to_owned(), variant.key_dim);
        let config = TransformerConfig { attention, key_dim, seed, ..self.config.clone() }.complete();
        config.check(scores)?;
        Ok(config)
    }

    fn run(&self, scores: &Scores) -> Result<()> {
        let out = &self.training.out;
        let device = self.training.device.choose()?;
        let variants = self.variants(scores);
        for variant in &variants {
            self.config(scores, variant, self.config.seed)?;
        }
        let search = self.search.check()?;
        let threads = self.training.threads.start()?;
        let text = self.text.read()?;
        say!(
            "{} sentences for training, {} for validation, {} for testing",
            text.train.len(),
            text.validation.len(),
            text.test.len()
        );
        let several = variants.iter().any(|variant| variant.out != *out);
        let _held = self.training.seeds.hold(out, several)?;
        let train = |variant| threads.run(|| self.train_seeds(variant, &text, scores, &search, &device));
        let rows: Vec<Compared<'_>> = variants.into_iter().map(train).collect::<Result<_>>()?;
        if rows.len() > 1 {
            self.compare(&rows)?;
        }
        say!("written to {}", out.display());
        Ok(())
    }

    /// Trains a model with each seed.
    fn train_seeds<'a>(
        &self,
        variant: Variant<'a>,
        text: &ParallelText,
        scores: &Scores,
        search: &Search,
        device: &Device,
    ) -> Result<Compared<'a>> {
        let in_table = self.table.is_some() || variant.out != self.training.out;
        let first = self.config.seed;
        let reported = Reported::<TransformerMetrics> {
            name: "BLEU",
            digits: 2,
            figures: |run| [run.test.score, -run.validation],
        };
        let train = |seed: u64, run: &RunOptions| {
            let metrics = train(text, &self.config(scores, &variant, seed)?, scores, search, run)?;
            report(&metrics);
            Ok(metrics)
        };
        let (runs, summary) =
            reported.each_seed(&self.training, first, &variant.out, in_table, device, train)?;
        let results = runs.iter().map(|(_, run)| run.test.score).collect();
        Ok(Compared { variant, summary, results })
    }

    /// Prints a table of several models, and draws those of different dimensions.
    fn compare(&self, rows: &[Compared<'_>]) -> Result<()> {
        say!("test BLEU: of the seed with the best validation loss, and the mean of all seeds");
        for Compared { variant: Variant { attention, key_dim, .. }, summary, .. } in rows {
            let d = key_dim.map_or(String::new(), |d| format!(", dimensions {d}"));
            say!("{attention:<16} {:>6.2} {:>14}{d}", summary.best, summary.mean.text(2));
        }
        let dimensions = self.key_dims();
        if dimensions.len() < 2 {
            return Ok(());
        }
        let mut lines: Vec<Line> = Vec::new();
        for row in rows {
            let name = row.variant.attention;
            if lines.last().is_none_or(|line| line.name != name) {
                lines.push(Line { name: name.to_owned(), results: vec![Vec::new(); dimensions.len()] });
            }
            let at = dimensions.iter().position(|&d| Some(d) == row.variant.key_dim).expect("one of them");
            lines.last_mut().expect("just added").results[at] = row.results.clone();
        }
        comparison::draw(&self.training.out.join(KEY_DIM), "test BLEU", &dimensions, &lines)
    }
}

fn report(metrics: &TransformerMetrics) {
    if metrics.left_out != [0, 0] {
        let [train, validation] = metrics.left_out;
        say!("left out, longer than --longest: {train} training pairs, {validation} validation pairs");
    }
    let training = metrics.training.text(metrics.tokens, "target tokens");
    say!("{training}; validation loss {:.4}", metrics.validation);
    report_sharpness(&metrics.sharpness);
    say!("{}", metrics.test);
    say!("{}", metrics.signature);
}

impl Translate {
    fn run(self, scores: &Scores) -> Result<()> {
        let (search, threads) = (self.search.check()?, self.running.threads.start()?);
        let translator = Translator::load(&self.model, scores, self.running.device.choose()?)?;
        let (mut lines, input) = (Vec::new(), Path::new("standard input"));
        for (number, line) in std::io::stdin().lock().lines().enumerate() {
            let line = line.map_err(|e| AppError::line(input, number as u64 + 1, e.to_string()))?;
            let mark = if number == 0 { BYTE_ORDER_MARK } else { "" };
            lines.push(line.strip_prefix(mark).unwrap_or(&line).to_owned());
        }
        let translations = threads.run(|| translator.translate(&lines, input, &search))?;
        translations.iter().for_each(|line| say!("{line}"));
        Ok(())
    }
}

impl Attend {
    fn run(self, scores: &Scores) -> Result<()> {
        let (search, threads) = (self.search.check()?, self.running.threads.start()?);
        let translator = Translator::load(&self.model, scores, self.running.device.choose()?)?;
        let draw = || translator.heatmap(&self.sentence, self.queries, &search, &self.out);
        say!("{}", threads.run(draw)?);
        say!("written to {}", self.out.display());
        Ok(())
    }
}
