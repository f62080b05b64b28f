//! Which separator a table has: each is tried on the lines that decide.

use super::layout::{Wanted, is_number};
use super::row::{Row, Separator};

/// The error for a line with too few columns.
fn too_few(wanted: &Wanted, found: usize) -> String {
    match found {
        1 => format!("{}; this line has one", wanted.needed),
        _ => format!("{}; this line has {found}", wanted.needed),
    }
}

/// A separator, tried on the lines that decide.
pub(super) struct Trial {
    pub(super) separator: Separator,
    /// The columns of the first line: up to the last that is not empty, and all. 0 if its quotes are not
    /// closed.
    pub(super) first: [usize; 2],
    /// The smallest number of columns of all other lines, and its line.
    least: (usize, u64),
    /// The largest number of columns up to the last that is not empty, and its line.
    largest: (usize, u64),
    /// Whether all columns of all other lines are numbers.
    numbers: bool,
    /// Why the separator is none, and the line; `None` for the first one.
    pub(super) failed: Option<(Option<u64>, String)>,
}

impl Trial {
    pub(super) fn new(separator: Separator) -> Self {
        Trial {
            separator,
            first: [0, 0],
            least: (usize::MAX, 0),
            largest: (0, 0),
            numbers: separator == Separator::Space,
            failed: None,
        }
    }

    /// Tries another line than the first.
    pub(super) fn add(&mut self, number: u64, line: &str, wanted: &Wanted, row: &mut Row) {
        if let Err(message) = row.fill(line, self.separator, wanted.quotes) {
            self.failed = Some((Some(number), message));
            return;
        }
        let (all, filled) = (row.len(), row.filled());
        if all < self.least.0 {
            self.least = (all, number);
        }
        if filled > self.largest.0 {
            self.largest = (filled, number);
        }
        self.numbers = self.numbers && row.iter().all(is_number);
        if self.largest.0.max(wanted.count) > self.least.0 {
            let message = if all < wanted.count {
                too_few(wanted, all)
            } else {
                let other = if number == self.least.1 { self.largest } else { self.least };
                format!("{all} columns; line {} has {}", other.1, other.0)
            };
            // If the first line has too few as well, it is the one to name.
            let is_first = all.max(self.first[1]) < wanted.count;
            self.failed = Some(((!is_first).then_some(number), message));
        }
    }

    /// Whether it splits the first line, or would if the quotes there were closed.
    fn splits(&self) -> bool {
        self.first[1] != 1
    }

    /// Whether a field has a tab that no quotes enclose, beside commas or semicolons that split the line.
    pub(super) fn has_tab(&self, line: &str, row: &Row) -> bool {
        matches!(self.separator, Separator::Comma | Separator::Semicolon)
            && row.len() > 1
            && line.contains('\t')
            && !line.contains('"')
    }

    /// Whether there are other lines than the first.
    fn has_rows(&self) -> bool {
        self.largest.1 > 0 || self.least.1 > 0
    }

    /// The number of columns that all lines have, or which line has not, and why. The first line may lack
    /// one.
    fn width(&self, wanted: &Wanted) -> std::result::Result<usize, (Option<u64>, String)> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let [filled, all] = self.first;
        let others = self.largest.0;
        let lacks_one = self.has_rows() && all >= wanted.count && all + 1 == others;
        let width = filled.max(others).max(wanted.count);
        if !lacks_one && width > all.min(self.least.0) {
            let few = all < wanted.count;
            let message = format!("{all} columns; the other lines have {}", self.least.0);
            return Err((None, if few { too_few(wanted, all) } else { message }));
        }
        Ok(width)
    }
}

/// The separator and the number of columns of a table, or which line fits none, and why.
pub(super) fn choose(
    trials: &[Trial],
    wanted: &Wanted,
) -> std::result::Result<(Separator, usize), (Option<u64>, String)> {
    let mut chosen = None;
    for (i, trial) in trials.iter().enumerate() {
        let Ok(width) = trial.width(wanted) else { continue };
        let numbers = trial.numbers && trial.has_rows();
        let is_better = match chosen {
            // Spaces are in names too. They separate if nothing else does, or if that leaves only numbers:
            // some files have tabs as well.
            None => trial.separator != Separator::Space || numbers || !trials[..i].iter().any(Trial::splits),
            Some((_, other)) => numbers && width > other,
        };
        if is_better {
            chosen = Some((trial.separator, width));
        }
    }
    chosen.ok_or_else(|| {
        let trial = trials.iter().find(|trial| trial.splits()).unwrap_or(&trials[0]);
        trial.width(wanted).err().unwrap_or_else(|| (None, too_few(wanted, 1)))
    })
}
