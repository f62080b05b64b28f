//! Precision, recall and F1 of sets of types, in total and by granularity.
//!
//! Macro-averages are means over mentions, micro-averages are over all types of all mentions: Ling & Weld
//! 2012, section 5; Choi et al. 2018, section 5; Gillick et al. 2014, section 5. A macro precision is the
//! mean over the mentions with a predicted type, a macro recall that over the mentions with a gold type.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::types::{Granularity, Types};

/// Precision, recall, and F1, their harmonic mean: from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Precision; 0 if nothing is predicted.
    pub precision: f64,
    /// Recall; 0 if there are no gold types.
    pub recall: f64,
    /// 2PR/(P + R), or 0 if both are 0.
    pub f1: f64,
}

impl Score {
    fn new(precision: f64, recall: f64) -> Self {
        let sum = precision + recall;
        Score { precision, recall, f1: if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 } }
    }
}

/// Both averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Averages {
    /// Over mentions.
    #[serde(rename = "macro")]
    pub by_mention: Score,
    /// Over types.
    #[serde(rename = "micro")]
    pub by_type: Score,
}

impl Averages {
    /// The averages of pairs of gold and predicted types. Both are sorted and have no type twice.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a [u32], &'a [u32])>) -> Self {
        let [mut precision, mut recall] = [(0.0, 0.0); 2];
        let [mut common, mut gold_types, mut predicted_types] = [0; 3];
        for (gold, predicted) in pairs {
            let right = predicted.iter().filter(|number| gold.binary_search(number).is_ok()).count();
            for (sum, list) in [(&mut precision, predicted), (&mut recall, gold)] {
                if !list.is_empty() {
                    sum.0 += right as f64 / list.len() as f64;
                    sum.1 += 1.0;
                }
            }
            common += right;
            gold_types += gold.len();
            predicted_types += predicted.len();
        }
        let ratio = |(a, b): (f64, f64)| if b > 0.0 { a / b } else { 0.0 };
        let share = |count: usize| ratio((common as f64, count as f64));
        Averages {
            by_mention: Score::new(ratio(precision), ratio(recall)),
            by_type: Score::new(share(predicted_types), share(gold_types)),
        }
    }
}

/// The figures of a model on some mentions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Number of mentions.
    pub mentions: usize,
    /// The share of mentions whose predicted types are just the gold types.
    pub accuracy: f64,
    /// Over all types.
    pub total: Averages,
    /// Over coarse, fine and ultra-fine types alone.
    pub levels: [Averages; 3],
}

impl Figures {
    /// The figures of gold and predicted types, one pair for each mention. If types are paths
    /// (`/person/artist`), a type brings those above it along on both sides (Gillick et al. 2014, section 5).
    pub fn new(types: &Types, pairs: &[(Vec<u32>, Vec<u32>)]) -> Self {
        let closed: Vec<[Vec<u32>; 2]> = pairs
            .iter()
            .map(|(gold, predicted)| [gold, predicted].map(|list| with_ancestors(types, list)))
            .collect();
        let exact = closed.iter().filter(|[gold, predicted]| gold == predicted).count();
        let all = Averages::new(closed.iter().map(|[gold, predicted]| (&gold[..], &predicted[..])));
        let levels = Granularity::ALL.map(|level| {
            let of_level = |list: &Vec<u32>| -> Vec<u32> {
                list.iter().copied().filter(|&number| types.granularity(number) == level).collect()
            };
            let parts: Vec<[Vec<u32>; 2]> =
                closed.iter().map(|[gold, predicted]| [of_level(gold), of_level(predicted)]).collect();
            Averages::new(parts.iter().map(|[gold, predicted]| (&gold[..], &predicted[..])))
        });
        Figures {
            mentions: pairs.len(),
            accuracy: exact as f64 / pairs.len().max(1) as f64,
            total: all,
            levels,
        }
    }

    /// A table: a line for the total and one for each granularity, figures in percent.
    pub fn table(&self) -> Vec<String> {
        let line = |name: &str, averages: &Averages| {
            let Averages { by_mention, by_type } = averages;
            let numbers = [by_mention, by_type].map(|score| {
                [score.precision, score.recall, score.f1].map(|x| format!(" {:>6.2}", 100.0 * x)).concat()
            });
            format!("{name:<11}{} {}", numbers[0], numbers[1])
        };
        let mut lines = vec![format!("{:<11}{}", "", " macro P      R     F1  micro P      R     F1")];
        lines.push(line("total", &self.total));
        let levels = Granularity::ALL.iter().zip(&self.levels);
        lines.extend(levels.map(|(level, averages)| line(level.name(), averages)));
        lines
    }
}

/// Types with those above them, sorted: `/person/artist` has `/person` above it, if that is in the list.
pub(crate) fn with_ancestors(types: &Types, list: &[u32]) -> Vec<u32> {
    let mut all: BTreeSet<u32> = list.iter().copied().collect();
    for &number in list {
        let mut name = types.name(number);
        if !name.starts_with('/') {
            continue;
        }
        while let Some((above, _)) = name.rsplit_once('/') {
            all.extend(types.find(above));
            name = above;
        }
    }
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::Mention;
    use crate::types::Levels;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-15, "{a} {b}");
    }

    #[test]
    fn averages_by_hand() {
        // Two of three predicted types are right, of four gold ones; one of one, of one; none predicted.
        let pairs: [(&[u32], &[u32]); 3] = [(&[1, 2, 3, 4], &[2, 4, 9]), (&[5], &[5]), (&[6, 7], &[])];
        let Averages { by_mention, by_type } = Averages::new(pairs);
        let (p, r) = ((2.0 / 3.0 + 1.0) / 2.0, (0.5 + 1.0) / 3.0);
        close(by_mention.precision, p);
        close(by_mention.recall, r);
        close(by_mention.f1, 2.0 * p * r / (p + r));
        close(by_type.precision, 3.0 / 4.0);
        close(by_type.recall, 3.0 / 7.0);
        assert_eq!(Averages::new([(&[][..], &[][..])]), Averages::default());
        // A predicted type where there is no gold type costs precision, but no recall.
        let averages = Averages::new([(&[][..], &[1][..]), (&[1][..], &[1][..])]);
        assert_eq!((averages.by_mention.precision, averages.by_mention.recall), (0.5, 1.0));
    }

    #[test]
    fn levels_are_measured_by_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        std::fs::write(&path, "c\nd\nf\nu\nv\n").unwrap();
        let types = Types::read(&path, Levels { coarse: 2, fine: 1 }).unwrap();
        let figures = Figures::new(&types, &[(vec![0, 3], vec![0, 2, 4]), (vec![1, 2], vec![0, 2])]);
        assert_eq!((figures.mentions, figures.accuracy), (2, 0.0));
        close(figures.levels[0].by_mention.f1, 0.5);
        // Fine: predicted twice, right once; gold once, found.
        let fine = figures.levels[1].by_mention;
        assert_eq!((fine.precision, fine.recall), (0.5, 1.0));
        assert_eq!(figures.levels[2].by_type, Score::default());
        let table = figures.table();
        assert_eq!(table.len(), 5);
        let words: Vec<&str> = table[2].split_whitespace().collect();
        assert_eq!(words, ["coarse", "50.00", "50.00", "50.00", "50.00", "50.00", "50.00"]);
    }

    #[test]
    fn paths_bring_their_ancestors() {
        let list = ["/a", "/a/b", "/a/b/c", "/d/e"].map(str::to_owned).to_vec();
        let types = Types::from_mentions([&Mention { types: list, ..Mention::default() }]).unwrap();
        assert_eq!(with_ancestors(&types, &[2]), [0, 1, 2]);
        assert_eq!(with_ancestors(&types, &[3]), [3]);
        let figures = Figures::new(&types, &[(vec![1], vec![0, 1]), (vec![0, 1, 2], vec![1])]);
        assert_eq!(figures.accuracy, 0.5);
        close(figures.total.by_mention.recall, (1.0 + 2.0 / 3.0) / 2.0);
    }
}
