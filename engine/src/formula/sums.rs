//! What basis vectors and invariants are made of: the one description that all kernels read.
//!
//! A basis vector is made of [terms](Terms), an invariant is a scalar function of the parts of a [`Sum`]
//! over the coordinates of a row. Whoever writes a kernel writes the terms and the [sums](RowSums), and
//! nothing else; a vector or an invariant that is made of these is new to no kernel.

use std::ops::{Add, Sub};

use crate::formula::plan::PARAMS;
use crate::formula::row::{Invariant, Metric, Vector};
use crate::numbers::compensated::{Compensated, Fused};
use crate::numbers::scalar::Scalar;

/// An end of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

impl End {
    /// The coordinate at this end.
    #[inline(always)]
    pub(crate) const fn coordinate(self, width: usize) -> usize {
        match self {
            End::First => 0,
            End::Last => width - 1,
        }
    }
}

/// What a basis vector is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terms {
    /// The unit vector of a coordinate.
    Unit(End),
    /// An input, and whether its first coordinate is negated.
    One(usize, bool),
    /// The sum of two inputs.
    Sum(usize, usize),
    /// The first input minus the second.
    Difference(usize, usize),
}

impl Vector {
    /// What it is made of.
    #[inline(always)]
    pub(crate) const fn terms(self) -> Terms {
        match self {
            Vector::Input(i) => Terms::One(i, false),
            Vector::Flip(i) => Terms::One(i, true),
            Vector::Sum(i, j) => Terms::Sum(i, j),
            Vector::Difference(i, j) => Terms::Difference(i, j),
            Vector::Time => Terms::Unit(End::First),
            Vector::Height => Terms::Unit(End::Last),
        }
    }

    /// A coordinate, or several: from those of the inputs, of an input that may have its first coordinate
    /// negated, and of a unit vector.
    #[inline(always)]
    pub(crate) fn coordinate<X: Add<Output = X> + Sub<Output = X>>(
        self,
        input: impl Fn(usize) -> X,
        flip: impl FnOnce(X) -> X,
        unit: impl FnOnce(End) -> X,
    ) -> X {
        match self.terms() {
            Terms::Unit(end) => unit(end),
            Terms::One(i, false) => input(i),
            Terms::One(i, true) => flip(input(i)),
            Terms::Sum(i, j) => input(i) + input(j),
            Terms::Difference(i, j) => input(i) - input(j),
        }
    }

    /// The factor of input `i`, but for a negated first coordinate.
    #[inline(always)]
    pub(crate) const fn share(self, i: usize) -> i32 {
        match self.terms() {
            Terms::Unit(_) => 0,
            Terms::One(j, _) => (i == j) as i32,
            Terms::Sum(j, k) => (i == j) as i32 + (i == k) as i32,
            Terms::Difference(j, k) => (i == j) as i32 - (i == k) as i32,
        }
    }

    /// Whether its first coordinate is negated.
    #[inline(always)]
    pub(crate) const fn flips(self) -> bool {
        matches!(self.terms(), Terms::One(_, true))
    }
}

/// A sum over the coordinates of a row. Its parts, at most four, are what an invariant is a function of.
/// Numbers are positions in the basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    /// An inner product.
    Plain(usize, usize),
    /// The inner product as if in twice the precision, in a metric of its own if it has one. Parts: the
    /// rounded sum, its error.
    Exact(usize, usize, Option<Metric>),
    /// Of vectors in units of their largest coordinates. Parts: ‖b‖, and ⟨a, b⟩/‖b‖,
    /// which is ‖b‖ where that is 0.
    Scaled(usize, usize),
    /// The norm of a vector whose square is no accurate sum. Parts: 1/‖a‖ and ‖a‖; otherwise zeros.
    Norm(usize),
    /// Inner products of a, b and c. Parts: ⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩.
    Products([usize; 3]),
    /// A coordinate of an input.
    Entry(usize, End),
    /// Nothing of the row's coordinates.
    Nothing,
}

impl Sum {
    /// The inner products that it depends on.
    #[inline(always)]
    const fn pairs(self) -> [Option<(usize, usize)>; 4] {
        match self {
            Sum::Plain(a, b) | Sum::Exact(a, b, _) => [Some((a, b)), None, None, None],
            Sum::Scaled(a, b) => [Some((a, b)), Some((b, b)), None, None],
            Sum::Norm(a) => [Some((a, a)), None, None, None],
            Sum::Products([a, b, c]) => [Some((a, a)), Some((a, b)), Some((a, c)), Some((b, c))],
            Sum::Entry(..) | Sum::Nothing => [None; 4],
        }
    }

    /// Whether it needs these as plain sums.
    const fn is_plain(self) -> bool {
        matches!(self, Sum::Plain(..) | Sum::Norm(_) | Sum::Products(_))
    }
}

/// A row, or one in each lane, as kernels sum it. Arguments are those of a [`Sum`].
pub(crate) trait RowSums {
    type Number: Fused;
    /// See [`Sum::Plain`].
    fn plain(&self, a: usize, b: usize) -> Self::Number;
    /// See [`Sum::Exact`]; the metric is the formula's or its own.
    fn exact(&self, a: usize, b: usize, metric: Metric) -> Compensated<Self::Number>;
    /// See [`Sum::Scaled`].
    fn scaled(&self, a: usize, b: usize) -> [Self::Number; 2];
    /// See [`Sum::Norm`].
    fn norm(&self, a: usize) -> [Self::Number; 2];
    /// See [`Sum::Entry`].
    fn entry(&self, input: usize, end: End) -> Self::Number;
    /// `⟨a∧b, a∧c⟩`, for which products that cancel are not enough.
    fn wedge(&self, vectors: [usize; 3], products: &[Self::Number; 4]) -> Self::Number;
    /// A parameter.
    fn param(&self, p: usize) -> Self::Number;
    /// Machine epsilon of the storage type.
    fn epsilon(&self) -> Self::Number;
}

/// The parts of a [`Sum::Scaled`]: from the sums of products and of squares, and the units of a and b.
#[inline(always)]
pub(crate) fn component<S: Scalar>(dot: S, square: S, [unit_a, unit_b]: [S; 2]) -> [S; 2] {
    let norm = square.sqrt();
    // The component is 0 where b has length 0, and NaN where b holds a NaN.
    [norm * unit_b, S::select(S::zero().lt(norm), dot / norm * unit_a, norm)]
}

impl Invariant {
    /// What it is a function of, and how many parts the reverse pass reads.
    #[inline(always)]
    const fn reads(self) -> (Sum, usize) {
        match self {
            Invariant::Dot(a, b) => (Sum::Plain(a, b), 0),
            Invariant::Accurate(a, b) => (Sum::Exact(a, b, None), 0),
            Invariant::Along(a, b) => (Sum::Scaled(a, b), 1),
            Invariant::Extreme(a) => (Sum::Norm(a), 1),
            Invariant::First(i) => (Sum::Entry(i, End::First), 0),
            Invariant::Last(i) => (Sum::Entry(i, End::Last), 0),
            Invariant::Margin(a) => (Sum::Exact(a, a, Some(Metric::Euclidean)), 1),
            Invariant::Wedge(a, b, c) => (Sum::Products([a, b, c]), 4),
            Invariant::Param(_) | Invariant::Epsilon => (Sum::Nothing, 0),
        }
    }

    /// The sum that it is a function of.
    #[inline(always)]
    pub(crate) const fn sum(self) -> Sum {
        self.reads().0
    }

    /// How many parts of the sum the reverse pass reads: the first ones.
    #[inline(always)]
    pub(crate) const fn kept(self) -> usize {
        self.reads().1
    }

    /// Its value and the parts of its sum, from a row's sums in a formula's metric.
    #[inline(always)]
    pub(crate) fn find<R: RowSums>(self, metric: Metric, row: &R) -> (R::Number, [R::Number; 4]) {
        let zero = R::Number::splat(0.0);
        let two = |[x, y]: [R::Number; 2]| [x, y, zero.clone(), zero.clone()];
        let parts = match self.sum() {
            Sum::Plain(a, b) => two([row.plain(a, b), zero.clone()]),
            Sum::Exact(a, b, own) => {
                let Compensated { sum, error } = row.exact(a, b, own.unwrap_or(metric));
                two([sum, error])
            }
            Sum::Scaled(a, b) => two(row.scaled(a, b)),
            Sum::Norm(a) => two(row.norm(a)),
            Sum::Products([a, b, c]) => [row.plain(a, a), row.plain(a, b), row.plain(a, c), row.plain(b, c)],
            Sum::Entry(i, end) => two([row.entry(i, end), zero.clone()]),
            Sum::Nothing => two([zero.clone(), zero.clone()]),
        };
        let part = |k: usize| parts[k].clone();
        let value = match self {
            Invariant::Dot(..) | Invariant::First(_) | Invariant::Last(_) => part(0),
            Invariant::Along(..) | Invariant::Extreme(_) => part(1),
            Invariant::Accurate(..) => Compensated { sum: part(0), error: part(1) }.value(),
            Invariant::Margin(_) => Compensated { sum: part(0), error: part(1) }.margin(row.param(0)),
            Invariant::Wedge(a, b, c) => row.wedge([a, b, c], &parts),
            Invariant::Param(p) => row.param(p),
            Invariant::Epsilon => row.epsilon(),
        };
        (value, parts)
    }

    /// Passes its cotangent `w` on to what it is made of. `kept`: the first parts of its sum; κ is
    /// parameter 0.
    #[inline(always)]
    pub(crate) fn pull<S: Scalar, const V: usize, const B: usize>(
        self,
        w: S,
        value: S,
        kept: &[S; 4],
        kappa: S,
        to: &mut Received<S, V, B>,
    ) {
        match self {
            Invariant::Dot(a, b) | Invariant::Accurate(a, b) => to.product(a, b, w),
            Invariant::Margin(a) => {
                to.half(a, a, S::constant(2.0) * kappa * w);
                // A margin that the result does not depend on gives nothing, even if the square is infinite.
                to.param(0, S::select(S::zero().lt(w.abs()), w * kept[0], w));
            }
            Invariant::Along(a, b) => {
                // ∂(⟨a, b⟩/‖b‖) =
                // (⟨∂a, b⟩ + ⟨a, ∂b⟩)/‖b‖ − (⟨a, b⟩/‖b‖) ⟨b, ∂b⟩/‖b‖².
                let norm = kept[0];
                let positive = S::zero().lt(norm);
                // Where the norm is 0 or NaN, so are the cotangents.
                let w_per_norm = S::select(positive, w / norm, norm);
                let along_b = S::select(positive, w_per_norm * (value / norm), norm);
                to.product(a, b, w_per_norm);
                to.half(b, b, -along_b);
            }
            Invariant::Extreme(a) => to.half(a, a, w * kept[0]),
            Invariant::Wedge(a, b, c) => {
                // The product rule on ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩.
                let [aa, ab, ac, bc] = *kept;
                for (i, j, y) in [(a, a, bc), (b, c, aa), (a, b, -ac), (a, c, -ab)] {
                    to.product(i, j, w * y);
                }
            }
            Invariant::First(i) => to.ends[0][i] = to.ends[0][i] + w,
            Invariant::Last(i) => to.ends[1][i] = to.ends[1][i] + w,
            Invariant::Param(p) => to.param(p, w),
            Invariant::Epsilon => {}
        }
    }
}

/// What the invariants of a row, or of one in each lane, have passed on.
#[derive(Clone, Copy)]
pub(crate) struct Received<S, const V: usize, const B: usize> {
    /// The cotangents of inner products: `[a][b]` goes to the vector `a`.
    pub(crate) pairs: [[S; B]; B],
    /// Those of the parameters.
    pub(crate) params: [S; PARAMS],
    /// Those of the first and the last coordinate of each input.
    pub(crate) ends: [[S; V]; 2],
}

impl<S: Scalar, const V: usize, const B: usize> Received<S, V, B> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let zero = S::zero();
        Received { pairs: [[zero; B]; B], params: [zero; PARAMS], ends: [[zero; V]; 2] }
    }

    /// Forgets it all, for a basis of `count` vectors.
    #[inline(always)]
    pub(crate) fn clear(&mut self, count: usize) {
        let zero = S::zero();
        for row in &mut self.pairs[..count] {
            row[..count].fill(zero);
        }
        (self.params, self.ends) = ([zero; PARAMS], [[zero; V]; 2]);
    }

    /// The cotangent of ⟨a, b⟩.
    #[inline(always)]
    fn product(&mut self, a: usize, b: usize, w: S) {
        self.half(a, b, w);
        self.half(b, a, w);
    }

    /// What `a` receives of ⟨a, b⟩.
    #[inline(always)]
    fn half(&mut self, a: usize, b: usize, w: S) {
        self.pairs[a][b] = self.pairs[a][b] + w;
    }

    #[inline(always)]
    fn param(&mut self, p: usize, w: S) {
        self.params[p] = self.params[p] + w;
    }
}

/// How a row's invariants combine two basis vectors.
#[derive(Clone, Copy)]
pub(crate) struct Paired {
    /// Whether some invariant depends on their inner product.
    pub(crate) at_all: bool,
    /// Whether some invariant needs it as a plain sum.
    pub(crate) plainly: bool,
}

/// How the invariants combine the vectors of a basis: for a and b, and for b and a.
pub(crate) const fn paired<const B: usize>(invariants: &[Invariant]) -> [[Paired; B]; B] {
    let (mut paired, mut k) = ([[Paired { at_all: false, plainly: false }; B]; B], 0);
    while k < invariants.len() {
        let sum = invariants[k].sum();
        let (pairs, mut i) = (sum.pairs(), 0);
        while i < pairs.len() {
            if let Some((a, b)) = pairs[i] {
                paired[a][b] = Paired { at_all: true, plainly: paired[a][b].plainly || sum.is_plain() };
                paired[b][a] = paired[a][b];
            }
            i += 1;
        }
        k += 1;
    }
    paired
}

/// Whether something holds for an entry of a list: a constant.
macro_rules! any {
    ($x:ident in $list:ident, $holds:expr) => {{
        let (mut any, mut k) = (false, 0);
        while k < $list.len() {
            let $x = $list[k];
            any |= $holds;
            k += 1;
        }
        any
    }};
}

/// Whether a basis vector has its first coordinate negated.
pub(crate) const fn has_flip(basis: &[Vector]) -> bool {
    any!(vector in basis, vector.flips())
}

/// Whether an invariant is a wedge.
pub(crate) const fn has_wedge(invariants: &[Invariant]) -> bool {
    any!(invariant in invariants, matches!(invariant.sum(), Sum::Products(_)))
}

/// Whether an invariant is of vectors in units of their largest coordinates.
pub(crate) const fn has_scaled(invariants: &[Invariant]) -> bool {
    any!(invariant in invariants, matches!(invariant.sum(), Sum::Scaled(..)))
}

/// Whether the first or the last coordinate is an invariant of its own.
pub(crate) const fn reads_ends(invariants: &[Invariant]) -> bool {
    any!(invariant in invariants, matches!(invariant.sum(), Sum::Entry(..)))
}

impl Metric {
    /// The end of a row that the metric or a basis vector may treat separately.
    #[inline(always)]
    pub(crate) const fn end(self) -> End {
        if matches!(self, Metric::Horizontal) { End::Last } else { End::First }
    }

    /// The factor of the coordinate at that end in inner products.
    #[inline(always)]
    pub(crate) const fn end_factor(self) -> i32 {
        match self {
            Metric::Euclidean => 1,
            Metric::Minkowski => -1,
            Metric::Space | Metric::Horizontal => 0,
        }
    }
}

/// All coordinates of a row, without the one at an [`END`] if a formula has one.
pub(crate) const BODY: usize = 0;

/// The first or last coordinate of a row, where the metric or a basis vector treats it separately.
pub(crate) const END: usize = 1;

/// The region of a row that a coordinate is in, [`BODY`] or [`END`], for a formula that has an end.
#[inline(always)]
pub(crate) fn region_of(metric: Metric, coordinate: usize, width: usize) -> usize {
    if coordinate == metric.end().coordinate(width) { END } else { BODY }
}

/// How input `i` takes part in a basis vector: its factor, and the factor with the index lowered by the
/// metric. `region` is [`BODY`] or [`END`]. `None` where the input takes no part.
#[inline(always)]
pub(crate) const fn share_of(vector: Vector, metric: Metric, region: usize, i: usize) -> Option<[i32; 2]> {
    let times = vector.share(i);
    if times == 0 || region == END && matches!(metric, Metric::Horizontal) {
        return None;
    }
    let factor = if region == END && vector.flips() { -times } else { times };
    Some([factor, if region == END { factor * metric.end_factor() } else { factor }])
}

/// Whether the basis vectors' coordinates in a region enter the inner products. If not, their terms are left
/// out, so that infinite coordinates are not multiplied by 0.
#[inline(always)]
pub(crate) const fn leaves(metric: Metric, region: usize) -> bool {
    region == BODY || metric.end_factor() != 0
}

/// Whether the metric or a basis vector treats a coordinate at an end of the row separately.
pub(crate) const fn has_end(metric: Metric, basis: &[Vector]) -> bool {
    !matches!(metric, Metric::Euclidean) || has_flip(basis)
}
