//! Sums, and other reductions, of what many output positions give to one operand position.
//!
//! The gradient of a broadcast operand is one. So is a sum along an axis: its result could be read that
//! way. Accumulated in `f64`, if the device has it. Lines of neighbouring elements are summed as the
//! processor does; all else is summed in chunks that are combined in order.

use super::scalar::PLAIN;
use super::team::Team;
use crate::kernels::reduce::LONG;
use crate::numbers::line::BLOCK;
use crate::numbers::parallel;
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, c_type};
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::Broadcast;

/// What is folded: `n` output positions, of `width` elements each, that read an operand.
#[derive(Clone, Copy)]
pub(super) struct Broadcasted {
    pub(super) read: Broadcast,
    pub(super) n: usize,
    pub(super) width: usize,
}

impl Broadcasted {
    /// How many positions read each operand position.
    fn terms(self) -> usize {
        self.n.checked_div(self.read.len).unwrap_or(0)
    }

    /// Whether those positions lie side by side.
    fn is_lines(self) -> bool {
        let Broadcast { repeat, len, inner, hold } = self.read;
        self.width == 1 && (hold == 1 || inner == 1) && (len == 1 || repeat * hold == self.terms())
    }
}

/// A reduction. `j` is the number of the result.
pub(super) struct Fold {
    /// The program's name.
    pub(super) name: &'static str,
    /// The initial value: a number.
    pub(super) start: &'static str,
    /// Combines the numbers `a` and `b`.
    pub(super) combine: &'static str,
    /// The term of an element `x`.
    pub(super) term: &'static str,
    /// The result from the combined terms `s`, of which there were `terms`.
    pub(super) finish: &'static str,
    /// Whether `term` and `finish` use `m[j]`, a number of the elements' type for each result.
    pub(super) given: bool,
    /// Whether the terms are `wide`, whatever the elements are.
    pub(super) wide: bool,
    pub(super) order: Order,
}

/// How the processor sums a line of neighbouring elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// In blocks.
    Blocks,
    /// In blocks, and a long line in pieces of many blocks.
    Pieces,
}

/// The plain sum.
pub(super) const SUM: Fold = Fold {
    name: "sum",
    start: "0",
    combine: "(a) + (b)",
    term: "x",
    finish: "s",
    given: false,
    wide: false,
    order: Order::Pieces,
};

/// The sum of terms that are `wide`.
pub(super) const WIDE_SUM: Fold = Fold { name: "wide sum", wide: true, ..SUM };

/// The mean.
pub(super) const MEAN: Fold = Fold { name: "mean", finish: "s / terms", ..SUM };

/// The norm.
pub(super) const NORM: Fold =
    Fold { name: "norm", term: "(wide)x * (wide)x", finish: "sqrt(s)", order: Order::Blocks, ..SUM };

/// The largest; NaN if there is one.
pub(super) const MAX: Fold = Fold {
    name: "max",
    start: "-INFINITY",
    combine: "(b) > (a) || isnan(b) ? (b) : (a)",
    order: Order::Blocks,
    ..SUM
};

/// The logarithm of the sum of exponentials, given the largest.
pub(super) const LOG_SUM_EXP: Fold = Fold {
    name: "logsumexp",
    term: "exp(x - m[j])",
    finish: "isfinite(m[j]) ? m[j] + wide_log(s) : m[j]",
    given: true,
    order: Order::Blocks,
    ..SUM
};

/// The inverse of the sum of exponentials, given the largest.
pub(super) const INVERSE_SUM_EXP: Fold =
    Fold { name: "softmax sum", term: "exp(x - m[j])", finish: "1 / s", given: true, ..SUM };

/// The logarithm of the sum of exponentials less than the largest.
pub(super) const LOG_SUM: Fold =
    Fold { name: "log_softmax sum", term: "exp(x - m[j])", finish: "wide_log(s)", given: true, ..SUM };

/// The inner product with another array. Products are rounded to the elements' type.
pub(super) const DOT: Fold =
    Fold { name: "dot", term: "(elem)(x * m[p])", given: true, order: Order::Blocks, ..SUM };

/// The least number of terms of a work-item.
const TERMS: usize = 64;

/// The largest number of chunks: the second pass goes over them.
const CHUNKS: usize = 1024;

/// The logarithm of a `wide`, whatever the type of the other functions.
pub(super) const WIDE_LOG: &str = "static wide wide_log(wide x) { return log(x); }\n";

impl Fold {
    fn source<T: Storage>(&self, team: Team) -> String {
        let elem = c_type::<T>();
        let input = if self.wide { "wide" } else { elem };
        let given = if self.given { "__global const elem *m," } else { "" };
        let Fold { start, combine, term, finish, .. } = self;
        format!(
            "{PLAIN}{}#define IN {input}\n#define OUT {elem}\n#define START {start}\n#define COMBINE(a, b) ({combine})\n\
             #define TERM(x) ({term})\n#define FINISH(s) ({finish})\n#define ARGUMENTS {given}\n\
             {}{}",
            if self.given {
                format!("{WIDE_LOG}{}", crate::tensor::device::program::functions(elem, &[]))
            } else {
                String::new()
            },
            team.source(),
            include_str!("fold.cl"),
        )
    }

    /// Writes one result for each operand position and element of it.
    pub(super) fn run<T: Storage>(
        &self,
        queue: &Queue,
        x: &Memory,
        of: Broadcasted,
        given: Option<&Memory>,
        out: &Memory,
    ) {
        let team = queue.team(0);
        let program = queue.program::<T>(Key::new::<T>(self.name, None), || self.source::<T>(team));
        let (results, terms, lines) = (of.read.len * of.width, of.terms(), of.is_lines());
        // How many parts the first pass computes for a result, and how many of these are combined at a time.
        let parts = if lines { terms.div_ceil(BLOCK).max(1) } else { terms.div_ceil(TERMS).clamp(1, CHUNKS) };
        let in_pieces = lines && self.order == Order::Pieces && results == 1 && terms >= LONG;
        let piece = if in_pieces { parallel::pieces(terms, BLOCK, 1)[0].len() / BLOCK } else { parts };
        let partial = (parts > 1).then(|| queue.take_wide(&[results, parts]));
        let to = partial.as_deref().unwrap_or(out);
        let launch = |name| queue.launch(&program, name).size(results).size(parts);
        if lines {
            let launch = launch("lines").size(terms).given(given);
            launch.memory(x).memory(to).over_rows(team, results * parts);
        } else {
            let launch = launch("fold").size(terms).size(of.width).broadcast(of.read).given(given);
            launch.memory(x).memory(to).over(results * parts);
        }
        if let Some(partial) = &partial {
            let launch = launch("finish").size(piece).size(terms).given(given);
            launch.memory(partial).memory(out).over(results);
        }
    }
}
