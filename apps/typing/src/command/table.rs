//! The tables of the paper that `typing train --table` trains.

use clap::ValueEnum;
use cotangent::prelude::Device;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::say;

use super::train::Train;
use crate::config::{Regression, Size, Space, Spaces, TypingConfig};
use crate::data::Data;
use crate::metrics::Figures;
use crate::published::{F1s, published};
use crate::train::TypingMetrics;

/// A table of the paper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// Tables 3 and 4: base and large, each hyperbolic and Euclidean.
    Spaces,
    /// Table 5: base with one part Euclidean.
    Ablations,
}

impl Table {
    /// The name, the size and the geometries of each model.
    fn models(self) -> Vec<(&'static str, Size, Spaces)> {
        use Space::{Euclidean, Hyperbolic};
        let all = Spaces::all(Hyperbolic);
        match self {
            Table::Spaces => vec![
                ("hyperbolic-base", Size::Base, all),
                ("euclidean-base", Size::Base, Spaces::all(Euclidean)),
                ("hyperbolic-large", Size::Large, all),
                ("euclidean-large", Size::Large, Spaces::all(Euclidean)),
            ],
            Table::Ablations => vec![
                ("hyperbolic-base", Size::Base, all),
                ("euclidean-encoder", Size::Base, Spaces { encoder: Euclidean, ..all }),
                ("euclidean-attention", Size::Base, Spaces { attention: Euclidean, ..all }),
                ("euclidean-concatenation", Size::Base, Spaces { concatenation: Euclidean, ..all }),
                ("euclidean-mlr", Size::Base, Spaces { mlr: Euclidean, ..all }),
            ],
        }
    }

    /// The name and the settings of each model; all that the table does not decide is as in `config`.
    pub(crate) fn configs(self, config: &TypingConfig) -> Vec<(&'static str, TypingConfig)> {
        let of_model = |(name, size, spaces): (&'static str, Size, Spaces)| {
            let TypingConfig { mention_dim, char_dim, context_dim, dim, .. } =
                TypingConfig::for_crowd(size, Space::Hyperbolic);
            // The usual form is one of Euclidean logits alone.
            let regression = match (config.regression, spaces.mlr) {
                (Regression::Usual, Space::Hyperbolic) => Regression::Points,
                (regression, _) => regression,
            };
            let size = Some(size);
            let own =
                TypingConfig { size, spaces, mention_dim, char_dim, context_dim, dim, ..config.clone() };
            (name, TypingConfig { regression, ..own })
        };
        self.models().into_iter().map(of_model).collect()
    }
}

/// Trains the models of a table, all else as `config` says, and prints it.
pub(crate) fn train(
    args: &Train,
    table: Table,
    data: &Data,
    config: &TypingConfig,
    device: &Device,
) -> Result<()> {
    let mut lines = Vec::new();
    for (name, config) in table.configs(config) {
        say!("{name}");
        let results = args.runs(data, &config, &args.training.out.join(name), device)?;
        let runs: Vec<&TypingMetrics> = results.iter().map(|(_, metrics)| metrics).collect();
        lines.push(format!("{name:<24} dev  {}", means(&runs, |metrics| Some(metrics.dev))));
        if runs.iter().all(|metrics| metrics.test.is_some()) {
            lines.push(format!("{:<24} test {}", "", means(&runs, |metrics| metrics.test)));
        }
        let rows = published(&config, data.types.len()).into_iter();
        lines.extend(rows.map(|row| format!("{:<24} {}", "", paper(row.what, &row.f1))));
    }
    say!("macro/micro F1 in %: coarse, fine, ultra-fine; means over the seeds with 95 % intervals");
    lines.iter().for_each(|line| say!("{line}"));
    Ok(())
}

fn paper(what: &str, f1: &F1s) -> String {
    format!("paper, {what}: {}", f1s(f1))
}

/// Macro and micro F1 of the three granularities: `69.6/67.3, 42.0/39.7, 21.2/19.1`.
pub(crate) fn f1s(f1: &F1s) -> String {
    let number = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.1}"));
    f1.map(|[by_mention, by_type]| format!("{}/{}", number(by_mention), number(by_type))).join(", ")
}

/// The same of our runs, with intervals.
fn means(runs: &[&TypingMetrics], figures: impl Fn(&TypingMetrics) -> Option<Figures>) -> String {
    let level = |level: usize| {
        [false, true]
            .map(|by_type| {
                let f1 = |metrics: &&TypingMetrics| {
                    let averages = figures(metrics).unwrap_or_default().levels[level];
                    if by_type { averages.by_type.f1 } else { averages.by_mention.f1 }
                };
                Interval::mean(&runs.iter().map(f1).collect::<Vec<f64>>()).percent()
            })
            .join(" / ")
    };
    [0, 1, 2].map(level).join(", ")
}
