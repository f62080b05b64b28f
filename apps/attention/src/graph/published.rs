//! What the papers report.

use super::GraphConfig;
use crate::attention::{AggregateOption, AttentionOptions, ValuesOption};

/// Published test accuracies in percent, with their sources, for a run with the same settings: the protocol
/// of Veličković et al. 2018, or that of Tseng et al. 2023, and the paper's options for the score. Empty if
/// the settings differ.
pub fn published(graph: &str, config: &GraphConfig) -> Vec<(f64, &'static str)> {
    const VELICKOVIC: &str = "Veličković et al. 2018";
    const GULCEHRE: &str = "Gulcehre et al. 2019, H-GAT";
    const TSENG: &str = "Tseng et al. 2023";
    let sizes = [config.heads, config.head_dim, config.output_heads] == [8, 8, 1];
    let rates = [config.dropout, config.lr, config.decay] == [0.6, 0.005, 0.0005];
    if !(sizes && rates && config.patience >= 100 && config.epochs >= 10_000) {
        return Vec::new();
    }
    let by_tseng = config.last && config.decay_biases && config.patience >= 1000;
    if (config.last || config.decay_biases) && !by_tseng {
        return Vec::new();
    }
    let plain = AttentionOptions::default();
    // Sections 4 and 5.3: pseudo-polar coordinates, learned β and c, softmax, the Einstein midpoint.
    let h_gat = AttentionOptions { aggregate: AggregateOption::Barycentre, learn_sharpness: true, ..plain };
    // The paper does not say which coordinates the values have.
    let h_gat = if config.options.values == ValuesOption::Polar {
        AttentionOptions { values: ValuesOption::Polar, ..h_gat }
    } else {
        h_gat
    };
    let published_options = if config.attention == "polar-distance" { h_gat } else { plain };
    if config.options != published_options {
        return Vec::new();
    }
    let mut figures = match (graph, config.attention.as_str()) {
        ("cora", "additive") => vec![(83.0, VELICKOVIC), (83.1, TSENG)],
        ("cora", "dot") => vec![(83.4, TSENG)],
        ("cora", "polar-distance") => vec![(83.5, GULCEHRE)],
        ("cora", "half-space") => vec![(83.4, TSENG)],
        ("cora", "penumbral") => vec![(83.5, TSENG)],
        ("cora", "umbral") => vec![(83.6, TSENG)],
        ("cora", "laplacian") => vec![(82.3, TSENG)],
        ("citeseer", "additive") => vec![(72.5, VELICKOVIC)],
        ("citeseer", "polar-distance") => vec![(72.9, GULCEHRE)],
        _ => Vec::new(),
    };
    figures.retain(|(_, source)| !by_tseng || *source == TSENG);
    figures
}
