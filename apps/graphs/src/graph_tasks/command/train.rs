//! `graph-tasks train`.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent::prelude::Device;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::seeds::Summary;
use cotangent_apps_common::space::Space;
use cotangent_apps_common::task::Reported;
use cotangent_apps_common::training::TrainingOptions;
use cotangent_apps_common::{config, metrics, say};
use serde::Serialize;

use crate::graph_tasks::task::Task;
use crate::graph_tasks::{GraphTasksConfig, GraphTasksMetrics, train};

/// The options of `graph-tasks train`.
#[derive(Args)]
pub(super) struct Train {
    #[command(flatten)]
    config: GraphTasksConfig,
    #[command(flatten)]
    training: TrainingOptions,
    /// Train with hyperbolic and with Euclidean attention, and print a table. The results of each go to the
    /// subdirectory of --out with its name, their difference to table.json.
    #[arg(long, help_heading = "Training")]
    #[arg(conflicts_with_all = ["geometry", "attention", "aggregate", "values", "learn_sharpness"])]
    table: bool,
}

/// The results of one geometry.
struct Row {
    name: String,
    summary: Summary,
    /// The test accuracy of each seed.
    accuracies: Vec<f64>,
    constant: f64,
}

/// `table.json`.
#[derive(Serialize)]
struct Table {
    /// Test accuracy of hyperbolic attention minus that of Euclidean attention: the mean over the seeds, with
    /// its 95 % interval.
    difference: Interval,
    /// The difference of each seed.
    differences: Vec<f64>,
}

impl Train {
    pub(super) fn run(self, scores: &Scores) -> Result<()> {
        let device = self.training.device.choose()?;
        let out = &self.training.out;
        let configs: Vec<(GraphTasksConfig, PathBuf)> = match self.table {
            true => [Space::Hyperbolic, Space::Euclidean]
                .map(|space| (self.config.clone().in_space(space), out.join(config::name(space))))
                .to_vec(),
            false => vec![(self.config.clone(), out.clone())],
        };
        for (config, _) in &configs {
            config.clone().complete().check(scores)?;
        }
        let threads = self.training.threads.start()?;
        let _held = self.training.seeds.hold(out, self.table)?;
        let row = |(config, out): &(GraphTasksConfig, PathBuf)| {
            threads.run(|| self.train_seeds(config, out, scores, &device))
        };
        let rows: Vec<Row> = configs.iter().map(row).collect::<Result<_>>()?;
        if let [hyperbolic, euclidean] = &rows[..] {
            self.compare(hyperbolic, euclidean)?;
        }
        say!("written to {}", out.display());
        Ok(())
    }

    /// Trains a model with each seed.
    fn train_seeds(
        &self,
        config: &GraphTasksConfig,
        out: &Path,
        scores: &Scores,
        device: &Device,
    ) -> Result<Row> {
        let reported = Reported::<GraphTasksMetrics> {
            name: "test accuracy in %",
            digits: 2,
            figures: |run| {
                [100.0 * run.accuracy, run.training.epochs.last().map_or(0.0, |epoch| epoch.validation)]
            },
        };
        let train = |seed: u64, run: &RunOptions| {
            let metrics = train(&GraphTasksConfig { seed, ..config.clone() }.complete(), scores, run)?;
            report(&metrics);
            Ok(metrics)
        };
        let (runs, summary) =
            reported.each_seed(&self.training, config.seed, out, self.table, device, train)?;
        Ok(Row {
            name: config::name(config.geometry),
            summary,
            accuracies: runs.iter().map(|(_, run)| run.accuracy).collect(),
            constant: runs[0].1.constant,
        })
    }

    /// Prints both geometries and their difference, and writes the difference.
    fn compare(&self, hyperbolic: &Row, euclidean: &Row) -> Result<()> {
        say!("test accuracy in %, the mean of all seeds");
        for row in [hyperbolic, euclidean] {
            say!("{:<20} {:>14}", row.name, row.summary.mean.text(2));
        }
        say!("{:<20} {:>14.2}", "best constant answer", 100.0 * hyperbolic.constant);
        let pairs = hyperbolic.accuracies.iter().zip(&euclidean.accuracies);
        let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        let difference = Interval::mean(&differences);
        say!("hyperbolic minus Euclidean: {}", difference.percent());
        metrics::write_json(&self.training.out.join("table.json"), &Table { difference, differences })
    }
}

fn report(metrics: &GraphTasksMetrics) {
    let GraphTasksMetrics { config, training, .. } = metrics;
    say!("{}", training.text((config.epoch_steps * config.batch) as usize, "graphs"));
    for lesson in &metrics.lessons {
        let accuracy =
            lesson.validation.map_or(String::new(), |last| format!(", accuracy {:.1} %", 100.0 * last));
        say!("lesson {}: {} epochs{accuracy}", lesson.name, lesson.epochs);
    }
    if config.task == Task::Path {
        say!("length  questions  accuracy in %");
        for (length, class) in (1..).zip(&metrics.test.classes).filter(|(_, class)| class.questions > 0) {
            let accuracy = 100.0 * class.correct as f64 / class.questions as f64;
            say!("{length:>6} {:>10} {accuracy:>14.1}", class.questions);
        }
    }
    let [queries, keys] = metrics.radii.means;
    say!("{}: mean {queries:.2} of queries, {keys:.2} of keys", metrics.radii.what);
    say!("test accuracy, of {} questions", metrics.test.questions());
    say!("{:>8.2} %  this run", 100.0 * metrics.accuracy);
    say!("{:>8.2} %  best constant answer", 100.0 * metrics.constant);
}
