//! The figures of the paper, to be printed beside those of a run. All were trained on six million mentions
//! besides the crowd's, so a run on the crowd's alone is not expected to reach them.

use crate::config::{Config, Size, Space, Spaces};
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

/// The rows of Table 3 (Poincaré GloVe), Table 4 (plain GloVe) and Table 5 (one part Euclidean) for these
/// settings. The Euclidean row of Table 4 is legible only in its last column.
pub fn published(config: &Config) -> Vec<Published> {
    use Space::{Euclidean, Hyperbolic};
    let Some(size) = config.size else { return Vec::new() };
    let [hyperbolic, euclidean] = [Hyperbolic, Euclidean].map(Spaces::all);
    let spaces = config.spaces;
    let mut rows = Vec::new();
    let mut add = |is: bool, published| rows.extend(is.then_some(published));
    let base = size == Size::Base;
    let plain = config.vectors == VectorKind::Euclidean;
    let table_4 = Published {
        what: "Table 4: EU BASE, plain GloVe",
        f1: [[None, None], [None, None], [None, Some(18.6)]],
    };
    add(
        base && plain && spaces == hyperbolic,
        row("Table 4: HY BASE, plain GloVe", [68.7, 66.6, 41.5, 38.8, 22.1, 20.1]),
    );
    add(base && plain && spaces == euclidean, table_4);
    add(base && spaces == hyperbolic, row("Table 3: HY BASE", [69.6, 67.3, 42.0, 39.7, 21.2, 19.1]));
    add(base && spaces == euclidean, row("Table 3: EU BASE", [68.5, 66.1, 39.8, 36.5, 17.8, 16.1]));
    let large = size == Size::Large;
    add(large && spaces == hyperbolic, row("Table 3: HY LARGE", [67.9, 65.4, 38.4, 36.3, 24.3, 22.3]));
    add(large && spaces == euclidean, row("Table 3: EU LARGE", [67.1, 63.8, 36.7, 34.7, 22.0, 19.7]));
    let xlarge = size == Size::Xlarge;
    let euclidean_encoder = Spaces { encoder: Euclidean, ..hyperbolic };
    add(
        xlarge && spaces == euclidean_encoder,
        row("Table 3: HY XLARGE", [69.1, 66.2, 39.7, 37.2, 26.1, 24.0]),
    );
    add(xlarge && spaces == euclidean, row("Table 3: EU XLARGE", [67.9, 65.4, 37.8, 35.3, 22.2, 20.0]));
    add(
        base && spaces == euclidean_encoder,
        row("Table 5: EU encoder", [68.8, 66.3, 41.7, 38.9, 22.0, 20.1]),
    );
    let part = Spaces { attention: Euclidean, ..hyperbolic };
    add(base && spaces == part, row("Table 5: EU attention", [68.9, 66.4, 40.8, 38.0, 20.1, 18.4]));
    let part = Spaces { concatenation: Euclidean, ..hyperbolic };
    add(base && spaces == part, row("Table 5: EU concat", [68.6, 66.1, 40.6, 37.5, 21.8, 19.8]));
    let part = Spaces { mlr: Euclidean, ..hyperbolic };
    add(base && spaces == part, row("Table 5: EU MLR", [69.2, 67.1, 40.8, 38.0, 17.3, 15.8]));
    rows
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
        let names = |config: &Config| published(config).iter().map(|row| row.what).collect::<Vec<_>>();
        let base = Config::of_paper(Size::Base, Space::Hyperbolic);
        assert_eq!(names(&base), ["Table 4: HY BASE, plain GloVe", "Table 3: HY BASE"]);
        let mlr = Config { spaces: Spaces { mlr: Space::Euclidean, ..base.spaces }, ..base.clone() };
        assert_eq!(names(&mlr), ["Table 5: EU MLR"]);
        assert_eq!(names(&Config::of_paper(Size::Xlarge, Space::Hyperbolic)), ["Table 3: HY XLARGE"]);
        assert_eq!(names(&Config { size: None, ..base }), [""; 0]);
    }
}
