//! Confusion matrices of classifiers, and what is computed from them.

use serde::{Deserialize, Serialize};

/// How often objects of one class were classified as another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// `counts[i][j]`: number of objects of class i that were classified as class j.
    pub counts: Vec<Vec<u64>>,
}

impl Confusion {
    /// A matrix of zeros.
    pub fn new(classes: usize) -> Self {
        Confusion { counts: vec![vec![0; classes]; classes] }
    }

    /// Counts an object of class `class` that was classified as `predicted`.
    pub fn add(&mut self, class: u32, predicted: u32) {
        self.counts[class as usize][predicted as usize] += 1;
    }

    /// Adds the counts of a matrix of the same classes.
    pub fn merge(&mut self, other: &Confusion) {
        let counts = self.counts.iter_mut().flatten().zip(other.counts.iter().flatten());
        counts.for_each(|(count, more)| *count += more);
    }

    /// Number of classified objects.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// The share of objects that were classified correctly; NaN if there are no objects.
    pub fn accuracy(&self) -> f64 {
        let right: u64 = self.counts.iter().enumerate().map(|(i, row)| row[i]).sum();
        right as f64 / self.total() as f64
    }

    /// The share of the objects classified as a class that belongs to it; NaN if there are none.
    pub fn precision(&self, class: usize) -> f64 {
        self.counts[class][class] as f64 / self.counts.iter().map(|row| row[class]).sum::<u64>() as f64
    }

    /// The share of the objects of a class that was classified as it; NaN if there are none.
    pub fn recall(&self, class: usize) -> f64 {
        self.counts[class][class] as f64 / self.counts[class].iter().sum::<u64>() as f64
    }

    /// The harmonic mean of precision and recall, `2 TP / (2 TP + FP + FN)`; 0 if no object of the class was
    /// classified as it.
    pub fn f1(&self, class: usize) -> f64 {
        let found = self.counts[class][class];
        let sum =
            self.counts.iter().map(|row| row[class]).sum::<u64>() + self.counts[class].iter().sum::<u64>();
        if found == 0 { 0.0 } else { 2.0 * found as f64 / sum as f64 }
    }

    /// A table with the classes' names: a row for each true class, a column for each predicted class.
    pub fn table(&self, names: &[String]) -> String {
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
        let line = |first: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!(" {cell:>width$}")).collect();
            format!("{first:<width$}{cells}\n")
        };
        let header = line("", names.iter().map(|name| format!("\u{2192} {name}")).collect());
        let rows = names.iter().zip(&self.counts);
        let rows = rows.map(|(name, row)| line(name, row.iter().map(u64::to_string).collect()));
        header + &rows.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let mut confusion = Confusion::new(2);
        for (class, predicted, times) in [(0, 0, 5), (0, 1, 1), (1, 0, 2), (1, 1, 3)] {
            (0..times).for_each(|_| confusion.add(class, predicted));
        }
        assert_eq!(confusion.counts, [[5, 1], [2, 3]]);
        assert_eq!((confusion.total(), confusion.accuracy()), (11, 8.0 / 11.0));
        assert_eq!((confusion.precision(1), confusion.recall(1)), (0.75, 0.6));
        assert!((confusion.f1(1) - 2.0 * 0.75 * 0.6 / 1.35).abs() < 1e-15);
        let mut twice = confusion.clone();
        twice.merge(&confusion);
        assert_eq!(twice.counts, [[10, 2], [4, 6]]);
        let nothing = Confusion { counts: vec![vec![4, 0], vec![2, 0]] };
        assert!(nothing.precision(1).is_nan() && nothing.f1(1) == 0.0);
        let table = confusion.table(&["no".to_owned(), "yes".to_owned()]);
        assert_eq!(table.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>(), ["yes", "2", "3"]);
    }
}
