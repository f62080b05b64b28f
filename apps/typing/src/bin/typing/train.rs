//! `typing train`.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent::prelude::Device;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::{self, SeedsOption, Summary};
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_typing::config::{
    AttentionWeights, Config, Loss, Reduction, Regression, Size, Space, Spaces,
};
use cotangent_apps_typing::data::{Data, Sources};
use cotangent_apps_typing::metrics::Figures;
use cotangent_apps_typing::published::{self, published};
use cotangent_apps_typing::train::{self, Metrics};
use cotangent_apps_typing::types::Levels;
use cotangent_apps_typing::words::VectorKind;

use crate::table::{self, Table};

#[derive(Args)]
pub(crate) struct Train {
    #[command(flatten)]
    data: DataOptions,
    #[command(flatten)]
    model: ModelSettings,
    #[command(flatten)]
    training: TrainingSettings,
    #[command(flatten)]
    pub(crate) seeds: SeedsOption,
    /// Train all models of a table of the paper and print it, the paper's figures beside ours. The results of
    /// each go to a subdirectory of --out.
    #[arg(long, value_enum, help_heading = "Training")]
    #[arg(conflicts_with_all = ["size", "space", "encoder", "attention", "concatenation", "mlr"])]
    #[arg(conflicts_with_all = ["mention_dim", "char_dim", "context_dim", "dim"])]
    table: Option<Table>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/typing", help_heading = RUN)]
    pub(crate) out: PathBuf,
    /// Continue from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
    /// Seconds between checkpoints. One is also written at the end.
    #[arg(long, default_value_t = 30, help_heading = RUN)]
    checkpoint_every: u64,
}

#[derive(Args)]
struct DataOptions {
    /// Mentions to train on: JSON lines of Ultra-Fine or OntoNotes, or tab-separated (number, left context,
    /// mention, right context, types); plain or gzip. Those without types are left out.
    #[arg(long, help_heading = "Data")]
    train: PathBuf,
    /// Mentions to select the model by: the epoch with the best total macro F1.
    #[arg(long, help_heading = "Data")]
    dev: PathBuf,
    /// Mentions to test on.
    #[arg(long, help_heading = "Data")]
    test: Option<PathBuf>,
    /// Word vectors: GloVe or word2vec, text or binary, plain or gzip; or a .npy file with words.txt beside
    /// it, or the directory of both.
    #[arg(long, help_heading = "Data")]
    words: PathBuf,
    /// The list of types, one a line; after a tab it may say coarse, fine or ultra-fine [default: the types
    /// of all mentions].
    #[arg(long, help_heading = "Data")]
    types: Option<PathBuf>,
    /// The first so many types of the list are coarse.
    #[arg(long, default_value_t = 9, help_heading = "Data")]
    coarse: usize,
    /// The next so many types of the list are fine. Types that are paths (/person/artist) have their depth
    /// instead.
    #[arg(long, default_value_t = 121, help_heading = "Data")]
    fine: usize,
    /// Where the word vectors live: plain vectors enter a hyperbolic encoder by exp at the origin, points of
    /// the ball a Euclidean one by log. A Euclidean encoder under hyperbolic attention learns badly from
    /// plain vectors as long as those of GloVe; give it points of the ball.
    #[arg(long, value_enum, default_value_t = VectorKind::Euclidean, help_heading = "Data")]
    vectors: VectorKind,
    /// Radius of the ball in which plain vectors become points, up to 1.
    #[arg(long, default_value_t = default().word_radius)]
    #[arg(allow_negative_numbers = true, help_heading = "Data")]
    word_radius: f64,
    /// Number of words of a mention that are read.
    #[arg(long, default_value_t = default().mention_words, help_heading = "Data")]
    mention_words: usize,
    /// Number of words that are read of a mention and the context around it, together.
    #[arg(long, default_value_t = default().context_words, help_heading = "Data")]
    context_words: usize,
    /// Number of characters of a mention that are read.
    #[arg(long, default_value_t = default().mention_chars, help_heading = "Data")]
    mention_chars: usize,
}

#[derive(Args)]
struct ModelSettings {
    /// Dimensions of the paper's Table 8. The encoder of xlarge is Euclidean.
    #[arg(long, value_enum, default_value_t = Size::Base, help_heading = "Model")]
    size: Size,
    /// Geometry of all parts that have no option of their own.
    #[arg(long, value_enum, default_value_t = Space::Hyperbolic, help_heading = "Model")]
    space: Space,
    /// Geometry of the encoder [default: by --space].
    #[arg(long, value_enum, help_heading = "Model")]
    encoder: Option<Space>,
    /// Geometry of the attention [default: by --space].
    #[arg(long, value_enum, help_heading = "Model")]
    attention: Option<Space>,
    /// Geometry of the concatenation [default: by --space].
    #[arg(long, value_enum, help_heading = "Model")]
    concatenation: Option<Space>,
    /// Geometry of the logistic regression [default: by --space].
    #[arg(long, value_enum, help_heading = "Model")]
    mlr: Option<Space>,
    /// Dimension of mentions [default: by --size].
    #[arg(long, help_heading = "Model")]
    mention_dim: Option<usize>,
    /// Dimension of characters [default: by --size].
    #[arg(long, help_heading = "Model")]
    char_dim: Option<usize>,
    /// Dimension of each direction of the context [default: by --size].
    #[arg(long, help_heading = "Model")]
    context_dim: Option<usize>,
    /// Dimension of the concatenation and the logistic regression [default: the sum of the parts'
    /// dimensions].
    #[arg(long, help_heading = "Model")]
    dim: Option<usize>,
    /// How distances become the weights of the attention.
    #[arg(long, value_enum, default_value_t = AttentionWeights::Softmax, help_heading = "Model")]
    attention_weights: AttentionWeights,
    /// Subtract a learned number from the attention's scores, as the authors tried. In a softmax it cancels.
    #[arg(long, help_heading = "Model")]
    attention_offset: bool,
    /// Factor β of the attention's distances before the first step; it is learned. The authors' program
    /// starts within ±0.01.
    #[arg(long, default_value_t = default().sharpness, allow_negative_numbers = true, help_heading = "Model")]
    sharpness: f64,
    /// Form of the logistic regression.
    #[arg(long, value_enum, default_value_t = Regression::Points, help_heading = "Model")]
    regression: Regression,
    /// Floating-point type of all numbers. The paper has f64, which takes twice the time.
    #[arg(long, value_enum, default_value_t = Precision::F32, help_heading = "Model")]
    precision: Precision,
}

#[derive(Args)]
struct TrainingSettings {
    /// What is minimised.
    #[arg(long, value_enum, default_value_t = Loss::MultiTask, help_heading = "Training")]
    loss: Loss,
    /// How the cross-entropies of a mention's types become one number.
    #[arg(long, value_enum, default_value_t = Reduction::Mean, help_heading = "Training")]
    reduction: Reduction,
    /// A type is predicted if its probability is above this. If none is, the best one is predicted.
    #[arg(long, default_value_t = default().threshold)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    threshold: f64,
    /// Number of epochs. After each the model is evaluated on the dev mentions.
    #[arg(long, default_value_t = default().epochs, help_heading = "Training")]
    epochs: u64,
    /// Passes over the training mentions in an epoch.
    #[arg(long, default_value_t = default().cycles, help_heading = "Training")]
    cycles: u64,
    /// Number of mentions in a batch. The paper has 900 at base, 350 at large and 160 at xlarge, for many
    /// more mentions.
    #[arg(long, default_value_t = default().batch, help_heading = "Training")]
    batch: usize,
    /// Rate at which coordinates of words are dropped while training.
    #[arg(long, default_value_t = default().input_dropout)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    input_dropout: f64,
    /// Rate at which coordinates of what is concatenated are dropped while training.
    #[arg(long, default_value_t = default().concat_dropout)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    concat_dropout: f64,
    /// Initial learning rate of Riemannian Adam. The paper has 5e-4, for many more mentions.
    #[arg(long, default_value_t = default().lr, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Final learning rate as a factor of the initial one, from 0 to 1. The rate falls along half a cosine;
    /// 1 keeps it constant.
    #[arg(long, default_value_t = default().lr_floor)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    lr_floor: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it.
    #[arg(long, default_value_t = default().clip, allow_negative_numbers = true, help_heading = "Training")]
    clip: f64,
    /// Seed of the initial model, of dropout and of the order of the mentions. Same seed, same result, for
    /// any number of threads.
    #[arg(long, default_value_t = default().seed, help_heading = "Training")]
    seed: u64,
}

/// The settings without any option.
fn default() -> Config {
    Config::for_crowd(Size::Base, Space::Hyperbolic)
}

impl Train {
    /// The configuration that the options ask for.
    fn config(&self) -> Config {
        let Train { data, model, training, .. } = self;
        let base = Config::for_crowd(model.size, model.space);
        let spaces = Spaces {
            encoder: model.encoder.unwrap_or(base.spaces.encoder),
            attention: model.attention.unwrap_or(base.spaces.attention),
            concatenation: model.concatenation.unwrap_or(base.spaces.concatenation),
            mlr: model.mlr.unwrap_or(base.spaces.mlr),
        };
        let mention_dim = model.mention_dim.unwrap_or(base.mention_dim);
        let char_dim = model.char_dim.unwrap_or(base.char_dim);
        let context_dim = model.context_dim.unwrap_or(base.context_dim);
        let sum =
            [mention_dim, char_dim, context_dim, context_dim].into_iter().fold(0, usize::saturating_add);
        let dim = model.dim.unwrap_or(sum);
        let dims = [mention_dim, char_dim, context_dim, dim];
        let of_size = dims == [base.mention_dim, base.char_dim, base.context_dim, base.dim];
        Config {
            size: of_size.then_some(model.size),
            spaces,
            mention_dim,
            char_dim,
            context_dim,
            dim,
            attention_weights: model.attention_weights,
            attention_offset: model.attention_offset,
            regression: model.regression,
            vectors: data.vectors,
            word_radius: data.word_radius,
            mention_words: data.mention_words,
            context_words: data.context_words,
            mention_chars: data.mention_chars,
            loss: training.loss,
            reduction: training.reduction,
            threshold: training.threshold,
            epochs: training.epochs,
            cycles: training.cycles,
            batch: training.batch,
            input_dropout: training.input_dropout,
            concat_dropout: training.concat_dropout,
            lr: training.lr,
            lr_floor: training.lr_floor,
            clip: training.clip,
            precision: model.precision,
            seed: training.seed,
            sharpness: model.sharpness,
        }
    }

    /// Trains a model with each seed.
    pub(crate) fn runs(
        &self,
        data: &Data,
        config: &Config,
        out: &Path,
        device: &Device,
    ) -> Result<Vec<(u64, Metrics)>> {
        let mut results = Vec::new();
        for run in self.seeds.runs(config.seed, out, self.resume, self.table.is_some())? {
            let options = RunOptions {
                out: run.out,
                resume: run.resume,
                checkpoint_every: self.checkpoint_every,
                device: device.clone(),
            };
            let metrics = train::train(data, &Config { seed: run.seed, ..config.clone() }, &options)?;
            report(&metrics);
            results.push((run.seed, metrics));
        }
        seeds::report(&summaries(&results), out, 2)?;
        Ok(results)
    }
}

/// Trains, with one seed or several, one model or those of a table.
pub(crate) fn train(args: &Train) -> Result<()> {
    let device = args.device.choose()?;
    let config = args.config();
    match args.table {
        Some(table) => table.configs(&config).iter().try_for_each(|(_, config)| config.check())?,
        None => config.check()?,
    }
    let threads = args.threads.start()?;
    let DataOptions { train, dev, test, words, types, coarse, fine, .. } = &args.data;
    let sources = Sources {
        train: train.clone(),
        dev: dev.clone(),
        test: test.clone(),
        words: words.clone(),
        types: types.clone(),
        levels: Levels { coarse: *coarse, fine: *fine },
    };
    let _held = args.seeds.hold(&args.out, args.table.is_some())?;
    let data = Data::read(&sources, &config)?;
    let [train, dev, test] = data.parts.each_ref().map(Vec::len);
    let (types, words) = (data.types.len(), data.words.len());
    say!("mentions: {train} to train, {dev} dev, {test} test; {types} types; {words} words with vectors");
    let untyped: usize = data.untyped.iter().sum();
    if untyped > 0 {
        say!("left out: {untyped} mentions without types");
    }
    threads.run(|| match args.table {
        Some(table) => table::train(args, table, &data, &config, &device),
        None => args.runs(&data, &config, &args.out, &device).map(drop),
    })?;
    say!("written to {}", args.out.display());
    Ok(())
}

/// The means of several runs: total macro F1, and the macro F1 of each granularity. The best is chosen by the
/// total on dev.
fn summaries(runs: &[(u64, Metrics)]) -> Vec<Summary> {
    const NAMES: [[&str; 4]; 2] = [
        ["dev macro F1 in %", "dev coarse macro F1", "dev fine macro F1", "dev ultra-fine macro F1"],
        ["test macro F1 in %", "test coarse macro F1", "test fine macro F1", "test ultra-fine macro F1"],
    ];
    let tested = runs.iter().all(|(_, metrics)| metrics.test.is_some());
    let mut summaries = Vec::new();
    for (part, names) in NAMES.into_iter().enumerate().take(if tested { 2 } else { 1 }) {
        for (i, name) in names.into_iter().enumerate() {
            let figure = |metrics: &Metrics| {
                let figures = if part == 0 { metrics.dev } else { metrics.test.unwrap_or_default() };
                let averages = if i == 0 { figures.total } else { figures.levels[i - 1] };
                100.0 * averages.by_mention.f1
            };
            let runs: Vec<(u64, f64, f64)> = runs
                .iter()
                .map(|(seed, metrics)| (*seed, figure(metrics), metrics.dev.total.by_mention.f1))
                .collect();
            summaries.push(Summary::new(name, "dev macro F1", &runs));
        }
    }
    summaries
}

/// Prints the result of a run.
fn report(metrics: &Metrics) {
    let Metrics { config, seconds, best_epoch, parameters, dev, test, .. } = metrics;
    let [encoder, attention, concatenation, mlr] = parameters;
    let epochs = metrics.epochs.len();
    say!(
        "trained {} parameters (encoder {encoder}, attention {attention}, concatenation {concatenation}, MLR \
         {mlr}) for {epochs} epochs in {seconds:.1} s ({:.2} s an epoch, {} threads)",
        metrics.parameter_count(),
        seconds / epochs as f64,
        metrics.threads
    );
    if let Some(size) = config.size
        && metrics.types == published::TYPES
    {
        let millions = published::published_parameters(size);
        let own = *mlr as f64 / 1e6;
        let why = match own > millions {
            true => format!(
                "; the MLR alone has {own:.2}, for {} types in {} dimensions",
                metrics.types, config.dim
            ),
            false => String::new(),
        };
        say!("Table 1: {millions} million parameters{why}");
    }
    say!("best total macro F1 on dev after epoch {best_epoch}");
    let part = |name: &str, figures: &Figures| {
        say!("{name}: {} mentions, exact: {:.2} %; in %:", figures.mentions, 100.0 * figures.accuracy);
        figures.table().iter().for_each(|line| say!("{line}"));
    };
    part("dev", dev);
    if let Some(test) = test {
        part("test", test);
        for row in published(config, metrics.types) {
            say!("{}: macro/micro F1 on test {}", row.what, table::f1s(&row.f1));
        }
    }
}
