//! The figures of the paper, to be printed beside those of a run. All were trained on six million mentions
//! besides the crowd's, so a run on the crowd's alone is not expected to reach them.

use crate::config::{AttentionWeights, Regression, Size, Space, Spaces, TypingConfig};
use crate::words::VectorKind;

/// Macro and micro F1 on the test mentions in percent, of coarse, fine and ultra-fine types.
pub type F1s = [[Option<f64>; 2]; 3];

/// A row of a table of López & Strube 2020.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The table and the row.
    pub what: &'static str,
    /// The F1s.
    pub f1: F1s,
}

const fn row(what: &'static str, f: [f64; 6]) -> Published {
    Published { what, f1: [[Some(f[0]), Some(f[1])], [Some(f[2]), Some(f[3])], [Some(f[4]), Some(f[5])]] }
}

/// Number of types of Ultra-Fine, which the paper's models tell apart.
pub const TYPES: usize = 10_331;

/// The rows of Table 3 (Poincaré GloVe), Table 4 (GloVe) and Table 5 (one part Euclidean) for these settings
/// and so many types. There are none for a weight of the attention or a form of the regression that the paper
/// has no rows of, or for other types than Ultra-Fine's. The Euclidean row of Table 4 is legible only in its
/// last column.
pub fn published(config: &TypingConfig, types: usize) -> Vec<Published> {
    use Space::{Euclidean, Hyperbolic};
    let Some(size) = config.size else { return Vec::new() };
    let as_published = config.attention_weights == AttentionWeights::Softmax
        && config.regression == Regression::Points
        && types == TYPES;
    if !as_published {
        return Vec::new();
    }
    let all = Spaces::all(Hyperbolic);
    let flat = Spaces::all(Euclidean);
    let encoder = Spaces { encoder: Euclidean, ..all };
    let weights = Spaces { attention: Euclidean, ..all };
    let concatenation = Spaces { concatenation: Euclidean, ..all };
    let mlr = Spaces { mlr: Euclidean, ..all };
    let table_4 =
        Published { what: "Table 4, GloVe: EU BASE", f1: [[None, None], [None, None], [None, Some(18.6)]] };
    let [base, large, xlarge] = [Size::Base, Size::Large, Size::Xlarge];
    let rows = [
        (base, all, row("Table 4, GloVe: HY BASE", [68.7, 66.6, 41.5, 38.8, 22.1, 20.1])),
        (base, flat, table_4),
        (base, all, row("Table 3, Poincaré GloVe: HY BASE", [69.6, 67.3, 42.0, 39.7, 21.2, 19.1])),
        (base, flat, row("Table 3, Poincaré GloVe: EU BASE", [68.5, 66.1, 39.8, 36.5, 17.8, 16.1])),
        (large, all, row("Table 3, Poincaré GloVe: HY LARGE", [67.9, 65.4, 38.4, 36.3, 24.3, 22.3])),
        (large, flat, row("Table 3, Poincaré GloVe: EU LARGE", [67.1, 63.8, 36.7, 34.7, 22.0, 19.7])),
        (xlarge, encoder, row("Table 3, Poincaré GloVe: HY XLARGE", [69.1, 66.2, 39.7, 37.2, 26.1, 24.0])),
        (xlarge, flat, row("Table 3, Poincaré GloVe: EU XLARGE", [67.9, 65.4, 37.8, 35.3, 22.2, 20.0])),
        (base, encoder, row("Table 5, Poincaré GloVe: EU encoder", [68.8, 66.3, 41.7, 38.9, 22.0, 20.1])),
        (base, weights, row("Table 5, Poincaré GloVe: EU attention", [68.9, 66.4, 40.8, 38.0, 20.1, 18.4])),
        (
            base,
            concatenation,
            row("Table 5, Poincaré GloVe: EU concat", [68.6, 66.1, 40.6, 37.5, 21.8, 19.8]),
        ),
        (base, mlr, row("Table 5, Poincaré GloVe: EU MLR", [69.2, 67.1, 40.8, 38.0, 17.3, 15.8])),
    ];
    let plain = config.vectors == VectorKind::Euclidean;
    let fits = |named: Size, spaces: Spaces, published: &Published| {
        named == size && spaces == config.spaces && (plain || !published.what.starts_with("Table 4"))
    };
    rows.into_iter().filter(|(size, spaces, row)| fits(*size, *spaces, row)).map(|(_, _, row)| row).collect()
}

/// Parameters of the paper's models, in millions: Table 1.
pub fn published_parameters(size: Size) -> f64 {
    match size {
        Size::Base => 1.8,
        Size::Large => 4.6,
        Size::Xlarge => 9.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_settings() {
        let names =
            |config: &TypingConfig| published(config, TYPES).iter().map(|row| row.what).collect::<Vec<_>>();
        let base = TypingConfig::for_crowd(Size::Base, Space::Hyperbolic);
        assert_eq!(names(&base), ["Table 4, GloVe: HY BASE", "Table 3, Poincaré GloVe: HY BASE"]);
        let ball = TypingConfig { vectors: VectorKind::Hyperbolic, ..base.clone() };
        assert_eq!(names(&ball), ["Table 3, Poincaré GloVe: HY BASE"]);
        let mlr = TypingConfig { spaces: Spaces { mlr: Space::Euclidean, ..base.spaces }, ..base.clone() };
        assert_eq!(names(&mlr), ["Table 5, Poincaré GloVe: EU MLR"]);
        let xlarge = TypingConfig::for_crowd(Size::Xlarge, Space::Hyperbolic);
        assert_eq!(names(&xlarge), ["Table 3, Poincaré GloVe: HY XLARGE"]);
        assert_eq!(names(&TypingConfig { size: None, ..base.clone() }), [""; 0]);
        let weights = AttentionWeights::Sigmoid;
        assert_eq!(names(&TypingConfig { attention_weights: weights, ..base.clone() }), [""; 0]);
        assert_eq!(names(&TypingConfig { regression: Regression::Unidirectional, ..base.clone() }), [""; 0]);
        assert_eq!(published(&base, 12), []);
    }
}
