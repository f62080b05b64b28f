//! `poincare train`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Model, Models};
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::{self, SeedsOption, Summary};
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_embeddings::evaluate::reconstruction::Score;
use cotangent_apps_embeddings::graph::edges::{self, EdgeOptions, ReadGraph};
use cotangent_apps_embeddings::train::config::{Config, default_config};
use cotangent_apps_embeddings::train::initial_points::Start;
use cotangent_apps_embeddings::train::objective::{Loss, Objective};
use cotangent_apps_embeddings::train::poincare::{self, Metrics, RunOptions};

use crate::inputs::{SampleOption, read_edges};

#[derive(Args)]
pub(crate) struct Train {
    /// Edge list, plain or gzip: two columns of names, an optional weight, an optional header; columns are
    /// separated by tabs, commas, semicolons or spaces [default: the mammals of WordNet, which are built in].
    ///
    /// How the list is read is found out by all of its lines and printed first; --separator, --header,
    /// --columns and --weight say it. With a header (source, target, weight) columns have any order, and
    /// those that it does not name are left out. Lines at the beginning with "#" or "%" and a space are
    /// comments. A file .graphml is read as GraphML. An undirected edge counts as two, one for each
    /// direction.
    ///
    /// In a hierarchy the first name is the child. Subtrees are kept together best if the list has every
    /// ancestor of a node, not only its parent: see --closure.
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Use the transitive closure of the edges: with u -> v and v -> w also u -> w.
    #[arg(long, help_heading = "Data")]
    closure: bool,
    /// Dimension of the embedding [default: 5, or what --model says].
    #[arg(long, help_heading = "Model")]
    dim: Option<usize>,
    /// Space of the embedding: poincare, lorentz (the hyperboloid), half-space, sphere, euclidean
    /// [default: poincare]. Or a product of these, each with its dimension: poincare:5,sphere:3.
    #[arg(long, help_heading = "Model")]
    model: Option<Models>,
    /// Sectional curvature, of a product one for each factor [default: -1 for hyperbolic space, 1 for the
    /// sphere, 0 for euclidean].
    #[arg(long, allow_negative_numbers = true, value_delimiter = ',', help_heading = "Model")]
    kappa: Option<Vec<f64>>,
    /// Floating-point type of the coordinates.
    #[arg(long, value_enum, default_value_t = Precision::F64, help_heading = "Model")]
    precision: Precision,
    /// Passes over the edges, burn-in included. A graph of some hundred edges needs more, or a larger --lr.
    #[arg(long, default_value_t = default_config().epochs, help_heading = "Training")]
    epochs: u64,
    /// Learn the curvature of each factor, from --kappa on.
    #[arg(long, help_heading = "Model")]
    learn_kappa: bool,
    /// What is minimised. Cones are for hierarchies: they tell what is above from what is below.
    #[arg(long, value_enum, default_value_t = Loss::Ranking, help_heading = "Training")]
    loss: Loss,
    /// Size of cones: K of entailment cones, the radius of umbral cones, the height of the light source of
    /// penumbral cones [default: 0.1, 1, 4].
    #[arg(long, allow_negative_numbers = true, help_heading = "Training")]
    cone_size: Option<f64>,
    /// A negative pair with this energy costs nothing: in radians for entailment cones, a distance for shadow
    /// cones [default: 0.01, 0.2, 0.2]. Cones need a small --lr: for a tree of 40 nodes 0.005 for entailment,
    /// 0.05 for umbral and 0.01 for penumbral cones.
    #[arg(long, allow_negative_numbers = true, help_heading = "Training")]
    margin: Option<f64>,
    /// Number of negative samples for each edge.
    #[arg(long, default_value_t = default_config().negatives, help_heading = "Training")]
    negatives: usize,
    /// A node is a negative sample with a probability proportional to its degree to this power.
    #[arg(long, default_value_t = default_config().negative_power, help_heading = "Training")]
    negative_power: f64,
    /// Let all edges of a batch share this many negative samples, in place of --negatives for each.
    #[arg(long, default_value_t = 0, hide_default_value = true, help_heading = "Training")]
    shared_negatives: usize,
    /// Draw an edge as often as its weight says, in place of a weight of its loss.
    #[arg(long, help_heading = "Training")]
    sample_by_weight: bool,
    /// Number of edges in a batch.
    #[arg(long, default_value_t = default_config().batch, help_heading = "Training")]
    batch: usize,
    /// Let threads take batches without waiting for each other: faster, but the result differs from run to
    /// run. With one thread it is the result without this option.
    #[arg(long, help_heading = "Training")]
    lock_free: bool,
    /// Where the points start.
    #[arg(long, value_enum, default_value_t = default_config().start, help_heading = "Training")]
    start: Start,
    /// Learning rate of Riemannian SGD, per edge: the loss is summed over the batch.
    #[arg(long, default_value_t = default_config().lr)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Length of the burn-in in epochs: the first epochs, which have a lower learning rate.
    #[arg(long, default_value_t = default_config().burn_in, help_heading = "Training")]
    burn_in: u64,
    /// Factor of the learning rate during the burn-in.
    #[arg(long, default_value_t = default_config().burn_in_factor)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    burn_in_factor: f64,
    /// Factor of the learning rate in the last epoch: the rate falls to it along half a cosine.
    #[arg(long, default_value_t = default_config().lr_floor)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    lr_floor: f64,
    /// Number of epochs at the end in which the rate falls, with --lr-floor [default: all after the burn-in].
    #[arg(long, help_heading = "Training")]
    cool_down: Option<u64>,
    /// Share of the edges that is held out for validation, for example 0.05, drawn by the seed.
    ///
    /// It is a share of the edges between nodes that are neither roots nor leaves. Each node keeps an edge of
    /// each direction that it has. Held-out edges are not trained, and are unknown: their nodes can be drawn
    /// as negative samples. Each is ranked among the nodes that are no neighbours in the whole graph, and the
    /// list is written to validation.tsv. Of several seeds the best by validation is chosen.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Training")]
    validation: f64,
    /// Same as --validation, for a test, and test.tsv.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Training")]
    test: f64,
    /// Seed of all random draws. Same seed, same result, for any number of threads, but for --lock-free.
    #[arg(long, default_value_t = default_config().seed, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    seeds: SeedsOption,
    #[command(flatten)]
    sample: SampleOption,
    /// Evaluate after every so many epochs too: for the curves course.svg and the list in metrics.json.
    #[arg(long, help_heading = RUN)]
    evaluate_every: Option<u64>,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory. The files of an earlier run there go to its subdirectory "previous-1"
    /// or the next number that is free.
    #[arg(long, default_value = "runs/poincare", help_heading = RUN)]
    out: PathBuf,
    /// Continue from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
    /// Seconds between checkpoints, which are written between epochs. 0 writes one after every epoch.
    #[arg(long, default_value_t = 10, help_heading = RUN)]
    checkpoint_every: u64,
}

/// Trains, with one seed or several.
pub(crate) fn train(args: Train) -> Result<()> {
    let device = args.device.choose()?;
    let cones = [("cone-size", args.cone_size.is_some()), ("margin", args.margin.is_some())];
    if let (Loss::Ranking, Some(option)) = (args.loss, options::first_true(&cones)) {
        return Err(AppError::usage(format!("--{option}: only for --loss cones, umbral and penumbral")));
    }
    let models = args.model.unwrap_or_else(|| Model::Poincare.into());
    let config = Config {
        dim: models.dimension(args.dim)?,
        geometry: Geometry::new(models, args.kappa)?,
        precision: args.precision,
        epochs: args.epochs,
        objective: Objective::new(args.loss, args.cone_size, args.margin),
        learn_kappa: args.learn_kappa,
        negatives: args.negatives,
        shared_negatives: args.shared_negatives,
        sample_by_weight: args.sample_by_weight,
        negative_power: args.negative_power,
        batch: args.batch,
        lock_free: args.lock_free,
        start: args.start,
        lr: args.lr,
        burn_in: args.burn_in,
        burn_in_factor: args.burn_in_factor,
        lr_floor: args.lr_floor,
        cool_down: args.cool_down,
        validation: args.validation,
        test: args.test,
        seed: args.seed,
    };
    config.check()?;
    let runs = args.seeds.runs(args.seed, &args.out, args.resume, false)?;
    let evaluate_nodes = args.sample.checked()?;
    let evaluate_every = args.evaluate_every;
    options::at_least_one(&[("evaluate-every", evaluate_every.unwrap_or(1))])?;
    let threads = args.threads.start()?;
    let _held = args.seeds.hold(&args.out, false)?;
    let (graph, source, read_as) = match &args.edges {
        Some(path) => {
            let name = path.display();
            let source = if args.closure { format!("closure of {name}") } else { name.to_string() };
            let ReadGraph { graph, read_as } = read_edges(path, args.closure, &args.layout)?;
            (graph, source, Some(read_as))
        }
        None => (edges::mammals(), "built in: WordNet 3.0 mammals closure".to_owned(), None),
    };
    say!("{} nodes, {} pairs ({source})", graph.names.len(), graph.pairs.len());
    let mut results = Vec::new();
    for run in runs {
        let options = RunOptions {
            out: run.out,
            resume: run.resume,
            checkpoint_every: args.checkpoint_every,
            source: source.clone(),
            read_as: read_as.clone(),
            evaluate_nodes,
            evaluate_every,
            device: device.clone(),
        };
        let config = Config { seed: run.seed, ..config.clone() };
        let metrics = threads.run(|| poincare::train(&graph, &config, &options))?;
        report(&metrics, args.edges.is_none() && args.validation + args.test == 0.0);
        results.push((run.seed, metrics));
    }
    seeds::report(&summaries(&results), &args.out, 4)?;
    say!("written to {}", args.out.display());
    Ok(())
}

/// The summaries of several runs: (seed, metrics) each. The best is chosen by the MAP of validation. If no
/// edges are held out for it, that of reconstruction is used.
fn summaries(runs: &[(u64, Metrics)]) -> Vec<Summary> {
    let validated = runs.iter().all(|(_, metrics)| metrics.validation.is_some());
    let best_by = if validated { "validation MAP" } else { "MAP" };
    let chosen = |metrics: &Metrics| metrics.validation.map_or(metrics.map, |score| score.map);
    let summary = |name, figure: &dyn Fn(&Metrics) -> f64| {
        let runs: Vec<(u64, f64, f64)> =
            runs.iter().map(|(seed, metrics)| (*seed, figure(metrics), chosen(metrics))).collect();
        Summary::new(name, best_by, &runs)
    };
    let mut summaries = vec![summary("mean rank", &|m| m.mean_rank), summary("MAP", &|m| m.map)];
    if runs.iter().all(|(_, metrics)| metrics.test.is_some()) {
        summaries.push(summary("test mean rank", &|m| m.test.map_or(f64::NAN, |score| score.mean_rank)));
        summaries.push(summary("test MAP", &|m| m.test.map_or(f64::NAN, |score| score.map)));
    }
    summaries
}

fn report(metrics: &Metrics, mammals: bool) {
    let Metrics { config, train_seconds, pairs_per_second, evaluation_seconds, .. } = metrics;
    say!(
        "trained {} epochs in {train_seconds:.1} s ({pairs_per_second:.0} pairs/s, {} threads), \
         evaluated in {evaluation_seconds:.1} s",
        config.epochs,
        metrics.threads
    );
    if let Some(sampled) = metrics.sampled() {
        say!("mean rank and MAP {sampled}");
    }
    say!("{:>10} {:>8}", "mean rank", "MAP");
    let kappas =
        if config.learn_kappa { format!(", kappa {}", metrics.geometry.kappas()) } else { String::new() };
    let this = format!("this run: {}{kappas}, d = {}, {} epochs", config.geometry, config.dim, config.epochs);
    say!("{:>10.4} {:>8.4}  {this}", metrics.mean_rank, metrics.map);
    for (name, score) in [("validation", metrics.validation), ("test", metrics.test)] {
        if let Some(Score { mean_rank, map, pairs, .. }) = score {
            say!("{mean_rank:>10.4} {map:>8.4}  {name}: {pairs} held-out pairs");
        }
    }
    if mammals {
        for published in poincare::published_mammals(config.dim) {
            say!("{:>10.4} {:>8.4}  {}", published.mean_rank, published.map, published.what);
        }
    }
}
