//! `typing train`.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent::prelude::Device;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::{self, Summary};
use cotangent_apps_common::training::TrainingOptions;

use super::table::{self, Table};
use crate::config::TypingConfig;
use crate::data::{Data, Sources};
use crate::metrics::Figures;
use crate::published::{self, published};
use crate::train::{self, TypingMetrics};
use crate::types::Levels;

#[derive(Args)]
pub(crate) struct Train {
    #[command(flatten)]
    data: DataOptions,
    #[command(flatten)]
    config: TypingConfig,
    #[command(flatten)]
    pub(crate) training: TrainingOptions,
    /// Train all models of a table of the paper and print it, the paper's figures beside ours. The results of
    /// each go to a subdirectory of --out.
    #[arg(long, value_enum, help_heading = "Training")]
    #[arg(conflicts_with_all = ["size", "space", "encoder", "attention", "concatenation", "mlr"])]
    #[arg(conflicts_with_all = ["mention_dim", "char_dim", "context_dim", "dim"])]
    table: Option<Table>,
}

#[derive(Args)]
struct DataOptions {
    /// Mentions to train on: JSON lines of Ultra-Fine or OntoNotes, or tab-separated (number, left context,
    /// mention, right context, types); plain or gzip. Those without types are left out.
    #[arg(long, help_heading = "Data")]
    train: PathBuf,
    /// Mentions whose types people did not give, such as the distant ones of Ultra-Fine, from entity links
    /// and head words. Each epoch has one pass over them, then --cycles passes over those of --train.
    #[arg(long, help_heading = "Data")]
    distant: Option<PathBuf>,
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
    #[arg(long, default_value_t = 9, requires = "types", help_heading = "Data")]
    coarse: usize,
    /// The next so many types of the list are fine. Types that are paths (/person/artist) have their depth
    /// instead.
    #[arg(long, default_value_t = 121, requires = "types", help_heading = "Data")]
    fine: usize,
}

impl Train {
    /// Trains a model with each seed.
    pub(crate) fn runs(
        &self,
        data: &Data,
        config: &TypingConfig,
        out: &Path,
        device: &Device,
    ) -> Result<Vec<(u64, TypingMetrics)>> {
        let in_table = self.table.is_some();
        let results = self.training.each_seed(config.seed, out, in_table, device, |seed, run| {
            let metrics = train::train(data, &TypingConfig { seed, ..config.clone() }, run)?;
            report(&metrics);
            Ok(metrics)
        })?;
        seeds::report(&summaries(&results), out, 2)?;
        Ok(results)
    }
}

/// Trains, with one seed or several, one model or those of a table.
pub(crate) fn train(args: &Train) -> Result<()> {
    let device = args.training.device.choose()?;
    let config = args.config.clone().complete();
    match args.table {
        Some(table) => table.configs(&config).iter().try_for_each(|(_, config)| config.check())?,
        None => config.check()?,
    }
    let threads = args.training.threads.start()?;
    let DataOptions { distant, train, dev, test, words, types, coarse, fine, .. } = &args.data;
    let sources = Sources {
        distant: distant.clone(),
        train: train.clone(),
        dev: dev.clone(),
        test: test.clone(),
        words: words.clone(),
        types: types.clone(),
        levels: Levels { coarse: *coarse, fine: *fine },
    };
    let _held = args.training.seeds.hold(&args.training.out, args.table.is_some())?;
    let data = Data::read(&sources, &config)?;
    let [train, dev, test] = data.parts.each_ref().map(Vec::len);
    let (types, words) = (data.types.len(), data.words.len());
    say!("mentions: {train} to train, {dev} dev, {test} test; {types} types; {words} words with vectors");
    if data.distant > 0 {
        say!("of those to train, {} are distant", data.distant);
    }
    let untyped: usize = data.untyped.iter().sum();
    if untyped > 0 {
        say!("left out: {untyped} mentions without types");
    }
    threads.run(|| match args.table {
        Some(table) => table::train(args, table, &data, &config, &device),
        None => args.runs(&data, &config, &args.training.out, &device).map(drop),
    })?;
    say!("written to {}", args.training.out.display());
    Ok(())
}

/// The means of several runs: total macro F1, and the macro F1 of each granularity. The best is chosen by the
/// total on dev.
fn summaries(runs: &[(u64, TypingMetrics)]) -> Vec<Summary> {
    const NAMES: [[&str; 4]; 2] = [
        ["dev macro F1 in %", "dev coarse macro F1", "dev fine macro F1", "dev ultra-fine macro F1"],
        ["test macro F1 in %", "test coarse macro F1", "test fine macro F1", "test ultra-fine macro F1"],
    ];
    let tested = runs.iter().all(|(_, metrics)| metrics.test.is_some());
    let mut summaries = Vec::new();
    for (part, names) in NAMES.into_iter().enumerate().take(if tested { 2 } else { 1 }) {
        for (i, name) in names.into_iter().enumerate() {
            let figure = |metrics: &TypingMetrics| {
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
fn report(metrics: &TypingMetrics) {
    let TypingMetrics { config, seconds, best_epoch, parameters, dev, test, .. } = metrics;
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
                metrics.types,
                config.dim()
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
