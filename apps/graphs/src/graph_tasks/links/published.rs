//! What the paper and its program report.

use cotangent_apps_common::space::Space;

use super::{AggregationOption, LinkConfig};

/// Published ROC AUC in percent, with its source, for a run with the settings of the program of Chami et al.
/// 2019. Empty if the settings differ. The paper has the mean of ten seeds, the program's page one seed.
pub fn published(config: &LinkConfig) -> Vec<(f64, &'static str)> {
    const PAPER: &str = "Chami et al. 2019, HGCN";
    const PROGRAM: &str = "its program, one seed";
    let usual = LinkConfig::of_data(&config.data);
    let same = LinkConfig { seed: config.seed, space: config.space, ..usual }.complete() == *config;
    if !same || config.space != Space::Hyperbolic || config.aggregation != AggregationOption::Tangent {
        return Vec::new();
    }
    match config.data.as_str() {
        "disease" => vec![(90.8, PAPER), (87.14, PROGRAM)],
        "airport" => vec![(96.4, PAPER), (97.43, PROGRAM)],
        "cora" => vec![(92.9, PAPER), (93.79, PROGRAM)],
        _ => Vec::new(),
    }
}
