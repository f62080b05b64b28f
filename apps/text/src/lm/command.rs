//! The command line of `lm`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent_apps_attention::saved::Running;
use cotangent_apps_attention::training::report_sharpness;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::parse_app_with;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::task::{self, Reported};
use cotangent_apps_common::training::TrainingOptions;
use serde::Serialize;

use super::text::{Lines, LmText};
use super::{LanguageModel, LmConfig, LmMetrics, Perplexity, Sampling, train};

/// The application `lm`.
pub const APP: Application = Application {
    name: "lm",
    about: "Language models: transformers that predict the next word. The attention score can be a dot \
        product, a hyperbolic distance, cones and others (Baevski & Auli 2019; Tseng et al. 2023).",
    examples: [
        "lm train --path data/wikitext2 --attention penumbral",
        "lm evaluate runs/lm data/wikitext2 --context 480",
        "lm generate runs/lm --prompt 'The river' --temperature 0.8 --top-k 40",
    ],
    needs: &["train", "--path", "none"],
    commands: &[
        (
            "`lm train --path DIR --attention NAME …`",
            "trains a decoder-only transformer on text (WikiText's format or plain files), with a plain or \
             an adaptive softmax",
        ),
        (
            "`lm evaluate MODEL DATA`, `lm generate MODEL`",
            "the perplexity of a text, `--context N`; text that follows `--prompt TEXT`, `--temperature`, \
             `--top-k`",
        ),
    ],
    writes: "`model.safetensors` (the best by validation), `curves.svg`, files of the model",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trains a model on text, then tests how well it predicts another.
    Train(Box<Train>),
    /// Computes the perplexity of a text by a trained model.
    Evaluate(Evaluate),
    /// Continues a prompt with a trained model.
    Generate(Generate),
}

#[derive(Args)]
struct Train {
    #[command(flatten)]
    text: Text,
    #[command(flatten)]
    config: LmConfig,
    #[command(flatten)]
    training: TrainingOptions,
}

// clap does not show a doc comment here, so each option says what its files are.
#[derive(Args)]
struct Text {
    /// Directory of train.txt, valid.txt and test.txt, or of wiki.train.tokens and so on, each plain or .gz.
    /// Every line ends with the token <eos>.
    #[arg(long, help_heading = "Data")]
    path: Option<PathBuf>,
    /// Text for training, instead of train.txt; plain or gzip.
    #[arg(long, help_heading = "Data")]
    train: Option<PathBuf>,
    /// Text for validation, instead of valid.txt; plain or gzip.
    #[arg(long, help_heading = "Data")]
    validation: Option<PathBuf>,
    /// Text for testing, instead of test.txt; plain or gzip.
    #[arg(long, help_heading = "Data")]
    test: Option<PathBuf>,
}

impl Text {
    fn read(&self) -> Result<LmText> {
        let given = [&self.train, &self.validation, &self.test].map(|file| file.as_deref());
        LmText::read(self.path.as_deref(), given)
    }
}

#[derive(Args)]
struct Evaluate {
    /// Output directory of `lm train`, with the trained model.
    #[arg(help_heading = "Data")]
    model: PathBuf,
    /// A text, plain or gzip, or a directory with test.txt or wiki.test.tokens.
    #[arg(help_heading = "Data")]
    data: PathBuf,
    /// Predict each token from at least this many, with windows of a block whose last tokens count, beside
    /// the prediction from blocks [default: as in training].
    #[arg(long, help_heading = "Data")]
    context: Option<usize>,
    #[command(flatten)]
    running: Running,
}

#[derive(Args)]
struct Generate {
    /// Output directory of `lm train`, with the trained model.
    #[arg(default_value = "runs/lm", help_heading = "Data")]
    model: PathBuf,
    /// The beginning of the text [default: a new line].
    #[arg(long, default_value = "", hide_default_value = true, help_heading = "Search")]
    prompt: String,
    /// Number of tokens to add.
    #[arg(long, default_value_t = 100, help_heading = "Search")]
    tokens: usize,
    /// Probabilities are taken to the power of the inverse of this: below 1 likely tokens become likelier.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Search")]
    temperature: f64,
    /// Draw from this many of the likeliest tokens; 1 always takes the likeliest [default: all].
    #[arg(long, help_heading = "Search")]
    top_k: Option<usize>,
    /// Seed of the draws.
    #[arg(long, default_value_t = 42, help_heading = "Search")]
    seed: u64,
    #[command(flatten)]
    running: Running,
}

/// Runs the command `lm` with the process's arguments. `--attention` offers these scores, so a program can
/// add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2 after an error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli =
        parse_app_with(&APP, |command| command.mut_subcommand("train", |train| scores.offer(train)));
    exit_code(match cli.command {
        Command::Train(train) => train.run(scores),
        Command::Evaluate(evaluate) => evaluate.run(scores),
        Command::Generate(generate) => generate.run(scores),
    })
}

impl Train {
    fn run(&self, scores: &Scores) -> Result<()> {
        let TrainingOptions { threads, device, .. } = &self.training;
        let (config, device) = (self.config.clone().complete(), device.choose()?);
        config.check(scores)?;
        let threads = threads.start()?;
        let text = self.text.read()?;
        let reported = Reported::<LmMetrics> {
            name: "test perplexity",
            digits: 2,
            figures: |run| [run.test[1].perplexity, -run.validation.loss],
        };
        task::run(&self.training, &threads, &device, config.seed, reported, |seed, run| {
            let metrics = train(&text, &LmConfig { seed, ..config.clone() }, scores, run)?;
            report(&metrics);
            Ok(metrics)
        })
    }
}

fn report(metrics: &LmMetrics) {
    let training = metrics.training.text(metrics.tokens[0], "tokens");
    say!("{training}; {} parameters are in layers", metrics.layer_parameters);
    report_sharpness(&metrics.sharpness);
    say!("validation: {}", text(&metrics.validation));
    metrics.test.iter().for_each(|perplexity| say!("test: {}", text(perplexity)));
}

fn text(Perplexity { context, perplexity, loss, tokens }: &Perplexity) -> String {
    format!("perplexity {perplexity:.2} (loss {loss:.4}, {tokens} tokens, context {context})")
}

/// The result of `lm evaluate`.
#[derive(Serialize)]
struct Evaluated {
    perplexities: [Perplexity; 2],
    unknown: usize,
}

impl Evaluate {
    fn run(self, scores: &Scores) -> Result<()> {
        let threads = self.running.threads.start()?;
        let model = LanguageModel::load(&self.model, scores, self.running.device.choose()?)?;
        let lines = Lines::read_part(&self.data, "test")?;
        let context = self.context.unwrap_or(model.config().context());
        model.check_context(context)?;
        let (perplexities, unknown) = threads
            .run(|| ([0, context].map(|context| model.perplexity(&lines, context)), model.unknown(&lines)));
        perplexities.iter().for_each(|perplexity| say!("{}", text(perplexity)));
        say!("{unknown} tokens are not in the vocabulary");
        print::event("result", &Evaluated { perplexities, unknown });
        Ok(())
    }
}

impl Generate {
    fn run(self, scores: &Scores) -> Result<()> {
        let sampling = Sampling::new(self.temperature, self.top_k, self.seed)?;
        let threads = self.running.threads.start()?;
        let model = LanguageModel::load(&self.model, scores, self.running.device.choose()?)?;
        say!("{}", threads.run(|| model.generate(&self.prompt, self.tokens, &sampling)));
        Ok(())
    }
}
