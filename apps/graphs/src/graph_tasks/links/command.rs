//! The command line of `graph-tasks links`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;
use cotangent_apps_common::task::{self, Reported};
use cotangent_apps_common::training::TrainingOptions;

use super::link_graph::LinkGraph;
use super::{LinkConfig, LinkMetrics, published, train};

/// The options of `graph-tasks links`.
#[derive(Args)]
pub struct Links {
    /// Directory of the graphs. Each is a subdirectory with edges.tsv and features.txt or features.tsv, plain
    /// or .gz. Without features, each line of labels.txt is a node, and each node is its own feature.
    #[arg(long, help_heading = "Data")]
    data_dir: PathBuf,
    #[command(flatten)]
    config: LinkConfig,
    #[command(flatten)]
    training: TrainingOptions,
}

/// Trains a model for each seed and prints its test.
///
/// # Errors
/// If an option or a file is wrong, the output cannot be written, or training diverges.
pub fn command(args: &Links) -> Result<()> {
    let Links { data_dir, config, training } = args;
    let device = training.device.choose()?;
    let config = config.clone().complete();
    config.check()?;
    training.seeds.runs(config.seed, &training.out, training.resume, false)?;
    let threads = training.threads.start()?;
    let graph = LinkGraph::read(&data_dir.join(config.directory()), config.features)?;
    graph.read_as.iter().for_each(|sentence| say!("{sentence}"));
    say!("{}: {} nodes, {} edges", graph.name, graph.nodes(), graph.edges.len());
    let reported = Reported::<LinkMetrics> {
        name: "test ROC AUC in %",
        digits: 2,
        figures: |run| [100.0 * run.test, run.validation],
    };
    task::run(training, &threads, &device, config.seed, reported, |seed, run| {
        let metrics = train(&graph, &LinkConfig { seed, ..config.clone() }, run)?;
        report(&metrics);
        Ok(metrics)
    })
}

fn report(metrics: &LinkMetrics) {
    let LinkMetrics { config, split: [edges, ..], validation, best_epoch, .. } = metrics;
    say!(
        "seed {}: {}; best validation ROC AUC {:.2} %, after epoch {best_epoch}",
        config.seed,
        metrics.training.text(*edges, "edges"),
        100.0 * validation
    );
    if !metrics.learned_kappa.is_empty() {
        let kappas: Vec<String> = metrics.learned_kappa.iter().map(|kappa| format!("{kappa:.4}")).collect();
        say!("learned curvatures of the layers and the result: {}", kappas.join(", "));
    }
    say!("test ROC AUC in %");
    say!("{:>8.2}  this run", 100.0 * metrics.test);
    for (auc, source) in published(config) {
        say!("{auc:>8.2}  {source}");
    }
}
