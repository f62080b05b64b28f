//! Sums and other reductions: the terms of many positions are combined into one result.
//!
//! The gradient of a broadcast operand is such a sum, over the output positions that read an operand
//! position. A sum along an axis is described the same way: broadcasting its result along the axis reads
//! each result at the positions of its terms. Sums are accumulated in `f64`, if the device has it. Lines of
//! neighbouring elements are summed in the processor's order; other terms are summed in chunks, which are
//! combined in order.

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

/// The terms: `n` output positions of `width` elements each. Those that read the same operand position have
/// one result.
#[derive(Clone, Copy)]
pub(super) struct Broadcasted {
    pub(super) read: Broadcast,
    pub(super) n: usize,
    pub(super) width: usize,
}

impl Broadcasted {
    /// How many output positions read each operand position.
    fn terms(self) -> usize {
        self.n.checked_div(self.read.len).unwrap_or(0)
    }

    /// Whether those output positions are neighbours.
    fn is_lines(self) -> bool {
        let Broadcast { repeat, len, inner, hold } = self.read;
        self.width == 1 && (hold == 1 || inner == 1) && (len == 1 || repeat * hold == self.terms())
    }
}

/// A reduction, as OpenCL C. `j` is the index of the result, `p` that of the term.
pub(super) struct Fold {
    /// The program's name.
    pub(super) name: &'static str,
    /// The initial value.
    pub(super) start: &'static str,
    /// Combines the numbers `a` and `b`.
    pub(super) combine: &'static str,
    /// The term of an element `x`.
    pub(super) term: &'static str,
    /// The result, from the combination `s` of `terms` terms.
    pub(super) finish: &'static str,
    /// Whether `term` or `finish` use a second array `m` of the elements' type.
    pub(super) given: bool,
    /// Whether the terms are stored as `wide` instead of the elements' type.
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

/// The sum.
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

/// The largest element; NaN if there is one.
pub(super) const MAX: Fold = Fold {
    name: "max",
    start: "-INFINITY",
    combine: "(b) > (a) || isnan(b) ? (b) : (a)",
    order: Order::Blocks,
    ..SUM
};

/// `ln Σ eˣ`, given the largest element.
pub(super) const LOG_SUM_EXP: Fold = Fold {
    name: "logsumexp",
    term: "exp(x - m[j])",
    finish: "isfinite(m[j]) ? m[j] + wide_log(s) : m[j]",
    given: true,
    order: Order::Blocks,
    ..SUM
};

/// `1 / Σ e^(x − largest)`, given the largest element.
pub(super) const INVERSE_SUM_EXP: Fold =
    Fold { name: "softmax sum", term: "exp(x - m[j])", finish: "1 / s", given: true, ..SUM };

/// `ln Σ e^(x − largest)`, given the largest element.
pub(super) const LOG_SUM: Fold =
    Fold { name: "log_softmax sum", term: "exp(x - m[j])", finish: "wide_log(s)", given: true, ..SUM };

/// The inner product with another array. Products are rounded to the elements' type.
pub(super) const DOT: Fold =
    Fold { name: "dot", term: "(elem)(x * m[p])", given: true, order: Order::Blocks, ..SUM };

/// A work-item sums at least this many terms, if there are as many.
const TERMS: usize = 64;

/// The largest number of chunks of a result. The second pass combines them one after another.
const CHUNKS: usize = 1024;

/// The logarithm of a `wide`, for programs whose other functions may be of another type.
pub(super) const WIDE_LOG: &str = "static wide wide_log(wide x) { return log(x); }\n";

impl Fold {
    fn source<T: Storage>(&self, team: Team) -> String {
        let elem = c_type::<T>();
        let input = if self.wide { "wide" } else { elem };
        let given = if self.given { "__global const elem *m," } else { "" };
        let Fold { start, combine, term, finish, .. } = self;
        format!(
            "{PLAIN}{}#define IN {input}\n#define OUT {elem}\n#define START {start}\n\
             #define COMBINE(a, b) ({combine})\n\
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

    /// Writes the results: `width` elements for each operand position. `given` is the array `m`.
    pub(super) fn run<T: Storage>(
        &self,
        queue: &Queue,
        x: &Memory,
        positions: Broadcasted,
        given: Option<&Memory>,
        out: &Memory,
    ) {
        let team = queue.team(0);
        let program = queue.program::<T>(Key::new::<T>(self.name, None), || self.source::<T>(team));
        let Broadcasted { read, width, .. } = positions;
        let (results, terms, lines) = (read.len * width, positions.terms(), positions.is_lines());
        // The first pass computes `parts` partial results of each result. The second combines `piece` of them
        // at a time, and then the pieces.
        let parts = if lines { terms.div_ceil(BLOCK).max(1) } else { terms.div_ceil(TERMS).clamp(1, CHUNKS) };
        let in_pieces = lines && self.order == Order::Pieces && results == 1 && terms >= LONG;
        let piece = if in_pieces { parallel::pieces(terms, BLOCK, 1)[0].len() / BLOCK } else { parts };
        let partial = (parts > 1).then(|| queue.take_wide(&[results, parts]));
        let target = partial.as_deref().unwrap_or(out);
        let launch = |name| queue.launch(&program, name).size(results).size(parts);
        if lines {
            let launch = launch("lines").size(terms).given(given);
            launch.memory(x).memory(target).over_rows(team, results * parts);
        } else {
            let launch = launch("fold").size(terms).size(width).broadcast(read).given(given);
            launch.memory(x).memory(target).over(results * parts);
        }
        if let Some(partial) = &partial {
            let launch = launch("finish").size(piece).size(terms).given(given);
            launch.memory(partial).memory(out).over(results);
        }
    }
}
