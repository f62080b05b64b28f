//! The sums of a row in plain loops, on any scalar: for forward mode and for tests.

use std::ops::Deref;

use crate::formula::plan::RowPlan;
use crate::formula::row::Metric;
use crate::formula::sums::{End, RowSums, component};
use crate::numbers::compensated::{Compensated, Fused};
use crate::numbers::norm::LEAST_SQUARE;
use crate::numbers::scalar::Scalar;

/// The basis vectors of a row.
pub(crate) struct Basis<S> {
    metric: Metric,
    /// One coordinate of each, then the next.
    vectors: Vec<S>,
    count: usize,
    pub(crate) width: usize,
}

impl<S: Scalar> Basis<S> {
    pub(crate) fn new(plan: &RowPlan, inputs: &[impl Deref<Target = [S]>]) -> Self {
        let (metric, count, width) = (plan.metric, plan.basis.len(), inputs[0].len());
        let mut vectors = Vec::with_capacity(width * count);
        for c in 0..width {
            let is_flat = metric == Metric::Horizontal && c + 1 == width;
            vectors.extend(plan.basis.iter().map(|vector| {
                vector.coordinate(
                    |i| if is_flat { S::zero() } else { inputs[i][c] },
                    |x| if c == 0 { -x } else { x },
                    |end| S::constant(f64::from(c == end.coordinate(width))),
                )
            }));
        }
        Basis { metric, vectors, count, width }
    }

    /// For each coordinate its number, and those of the vectors.
    pub(crate) fn coordinates(&self) -> impl Iterator<Item = (usize, &[S])> + Clone {
        self.vectors.chunks_exact(self.count.max(1)).enumerate()
    }

    /// Coordinate `c` of a vector, with its index lowered.
    pub(crate) fn lowered(&self, metric: Metric, x: S, c: usize) -> S {
        let is_end = metric != Metric::Euclidean && c == metric.end().coordinate(self.width);
        if is_end { x * S::constant(f64::from(metric.end_factor())) } else { x }
    }
}

/// A row.
pub(crate) struct Plain<'a, S, V> {
    pub(crate) basis: &'a Basis<S>,
    pub(crate) inputs: &'a [V],
    pub(crate) params: &'a [S],
    pub(crate) epsilon: f64,
}

impl<S: Scalar + Fused, V: Deref<Target = [S]>> RowSums for Plain<'_, S, V> {
    type Number = S;

    fn plain(&self, a: usize, b: usize) -> S {
        self.exact(a, b, self.basis.metric).sum
    }

    fn exact(&self, a: usize, b: usize, metric: Metric) -> Compensated<S> {
        let terms = self.basis.coordinates().map(|(c, v)| self.basis.lowered(metric, v[a] * v[b], c));
        Compensated { sum: terms.fold(S::zero(), |sum, x| sum + x), error: S::zero() }
    }

    fn scaled(&self, a: usize, b: usize) -> [S; 2] {
        let coordinates = || self.basis.coordinates();
        let [xs, ys] = [
            coordinates().map(|(_, v)| v[a]).collect::<Vec<S>>(),
            coordinates().map(|(c, v)| self.basis.lowered(self.basis.metric, v[b], c)).collect(),
        ];
        let largest = |x: &[S]| {
            x.iter().fold(S::constant(f64::MIN_POSITIVE), |largest, x| largest.max(x.abs())).detached()
        };
        let (unit_a, unit_b) = (largest(&xs), largest(&ys));
        let (mut dot, mut square) = (S::zero(), S::zero());
        for (x, y) in xs.into_iter().zip(ys) {
            let y = y / unit_b;
            dot = dot + x / unit_a * y;
            square = square + y * y;
        }
        component(dot, square, [unit_a, unit_b])
    }

    fn norm(&self, a: usize) -> [S; 2] {
        let (square, [norm, _]) = (self.plain(a, a), self.scaled(a, a));
        let (zero, infinity) = (S::zero(), S::constant(f64::INFINITY));
        let slope = S::select(zero.lt(norm), norm.recip(), norm);
        let slope = S::select(norm.lt(infinity), slope, S::constant(f64::NAN));
        let unless_accurate = |x: S| {
            let unless_large = S::select(square.lt(infinity), zero, x);
            S::select(square.lt(S::constant(LEAST_SQUARE)), x, unless_large)
        };
        [unless_accurate(slope), unless_accurate(norm)]
    }

    fn entry(&self, input: usize, end: End) -> S {
        self.inputs[input][end.coordinate(self.basis.width)]
    }

    fn wedge(&self, _: [usize; 3], [aa, ab, ac, bc]: &[S; 4]) -> S {
        *aa * *bc - *ab * *ac
    }

    fn param(&self, p: usize) -> S {
        self.params[p]
    }

    fn epsilon(&self) -> S {
        S::constant(self.epsilon)
    }
}
