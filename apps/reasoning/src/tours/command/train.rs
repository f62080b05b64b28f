//! `tours train`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cotangent::prelude::Device;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::curves::Series;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::seeds::{self, Summary};
use cotangent_apps_common::training::TrainingOptions;
use cotangent_apps_common::{config, curves, metrics, say};
use serde::Serialize;

use crate::tours::{TourConfig, TourGeometry, TourMetrics, train};

/// The options of `tours train`.
#[derive(Args)]
pub(super) struct Train {
    #[command(flatten)]
    config: TourConfig,
    #[command(flatten)]
    training: TrainingOptions,
    /// Train with each geometry, and print a table. The results of each go to the subdirectory of --out with
    /// its name, the table to table.json, the learning curves to curves.svg.
    #[arg(long, help_heading = "Training")]
    #[arg(conflicts_with_all = ["geometry", "attention", "map", "aggregate", "values", "learn_sharpness"])]
    table: bool,
}

/// The results of one geometry, in `table.json`.
#[derive(Serialize)]
struct Row {
    geometry: TourGeometry,
    parameters: usize,
    /// The mean gap of greedy tours of each seed, and the mean over the seeds with its 95 % interval.
    greedy: Vec<f64>,
    mean_greedy: Interval,
    /// The same of the best of the samples.
    best_of_samples: Vec<f64>,
    mean_best_of_samples: Interval,
    /// The mean gap of greedy tours on the validation instances after each epoch, over the seeds.
    learning_curve: Vec<f64>,
}

impl Train {
    pub(super) fn run(self, scores: &Scores) -> Result<()> {
        let device = self.training.device.choose()?;
        let out = &self.training.out;
        let configs: Vec<(TourConfig, PathBuf)> = match self.table {
            true => {
                let row = |&geometry: &TourGeometry| {
                    (self.config.clone().in_geometry(geometry), out.join(config::name(geometry)))
                };
                TourGeometry::value_variants().iter().map(row).collect()
            }
            false => vec![(self.config.clone(), out.clone())],
        };
        configs.iter().try_for_each(|(config, _)| config.check(scores).map(drop))?;
        let threads = self.training.threads.start()?;
        let _held = self.training.seeds.hold(out, self.table)?;
        let row = |(config, out): &(TourConfig, PathBuf)| {
            threads.run(|| self.train_seeds(config, out, scores, &device))
        };
        let rows: Vec<Row> = configs.iter().map(row).collect::<Result<_>>()?;
        if self.table {
            say!("mean gap in %, of all seeds: greedy, best of {} samples", self.config.decoding.samples);
            for row in &rows {
                let gaps = [row.mean_greedy, row.mean_best_of_samples].map(|gap| gap.percent());
                say!("{:<16} {:>14} {:>14}", config::name(row.geometry), gaps[0], gaps[1]);
            }
            metrics::write_json(&out.join("table.json"), &rows)?;
            self.draw_curves(&rows)?;
        }
        say!("written to {}", out.display());
        Ok(())
    }

    /// Draws the learning curves of the geometries, a panel for each: Gulcehre et al. 2019, Figure 10.
    fn draw_curves(&self, rows: &[Row]) -> Result<()> {
        let names: Vec<String> = rows.iter().map(|row| config::name(row.geometry)).collect();
        let series = names.iter().zip(rows).map(|(name, row)| Series {
            name,
            values: row.learning_curve.clone(),
            better: f64::min,
        });
        let title = format!("{} cities: mean gap of greedy tours while training", self.config.cities);
        curves::plot(&self.training.out.join(curves::FILE), &title, &series.collect::<Vec<_>>())
    }

    /// Trains an agent with each seed.
    fn train_seeds(&self, config: &TourConfig, out: &Path, scores: &Scores, device: &Device) -> Result<Row> {
        let runs = self.training.each_seed(config.seed, out, self.table, device, |seed, run| {
            let metrics = train(&TourConfig { seed, ..config.clone() }, scores, run)?;
            report(&metrics);
            Ok(metrics)
        })?;
        let gaps = |gap: fn(&TourMetrics) -> Interval| -> Vec<f64> {
            runs.iter().map(|(_, run)| gap(run).mean).collect()
        };
        let [greedy, best_of_samples] = [gaps(|run| run.gaps.greedy), gaps(|run| run.gaps.best_of_samples)];
        let mean_of_epoch = |epoch: usize| {
            let gaps: Vec<f64> = runs.iter().map(|(_, run)| run.training.epochs[epoch].validation).collect();
            Interval::mean(&gaps).mean
        };
        let learning_curve = (0..runs[0].1.training.epochs.len()).map(mean_of_epoch).collect();
        // The best run is that with the smallest validation gap.
        let validation =
            |run: &TourMetrics| run.training.epochs.last().map_or(f64::NAN, |epoch| -epoch.validation);
        let summary = |figure: &'static str, gaps: &[f64]| {
            let results: Vec<_> = (runs.iter().zip(gaps))
                .map(|((seed, run), gap)| (*seed, 100.0 * gap, validation(run)))
                .collect();
            Summary::new(figure, "validation", &results)
        };
        let summaries = [
            summary("gap of greedy tours in %", &greedy),
            summary("gap of the best samples in %", &best_of_samples),
        ];
        seeds::report(&summaries, out, 2)?;
        Ok(Row {
            geometry: config.geometry,
            parameters: runs[0].1.training.parameters,
            mean_greedy: Interval::mean(&greedy),
            greedy,
            mean_best_of_samples: Interval::mean(&best_of_samples),
            best_of_samples,
            learning_curve,
        })
    }
}

fn report(metrics: &TourMetrics) {
    let TourMetrics { config, training, .. } = metrics;
    say!("{}", training.text((config.epoch_steps * config.batch) as usize, "decisions"));
    let (instances, length) = (config.test_instances, metrics.reference_length.text(4));
    say!("{instances} instances of {} cities; {}: mean length {length}", config.cities, metrics.reference);
    say!("mean gap in %, with its 95 % interval over the instances");
    for (method, gap) in metrics.gaps.named(config.decoding) {
        say!("{method:<20} {:>14}", gap.percent());
    }
}
