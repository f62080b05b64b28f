//! The rows of a parameter and of what an optimiser keeps beside them: all of them in place, or some gathered.

use std::ops::Range;

use cotangent_engine::{Float, GradientView};
use cotangent_manifolds::momentum::Moving;

/// Elements that one task works on: a few microseconds, and small enough to stay in a cache with all that is computed
/// of them.
const TASK: usize = 4096;

/// Does something with all rows, in parallel. Rows do not depend on each other, so the split does not show.
pub(crate) fn for_each<T: Float, const K: usize>(
    rows: Moving<'_, T, K>,
    work: &(impl Fn(Moving<'_, T, K>) -> Result<(), usize> + Sync),
) -> Result<(), usize> {
    let (width, n) = (rows.width, rows.gradients.len() / rows.width);
    if n * width <= TASK || n == 1 {
        return work(rows);
    }
    let half = n / 2;
    let (left, right) = split(rows, half, n);
    let (left, right) = rayon::join(|| for_each(left, work), || for_each(right, work));
    left.and(right.map_err(|row| half + row))
}

/// The first `half` of `n` rows, and the others.
fn split<T, const K: usize>(
    rows: Moving<'_, T, K>,
    half: usize,
    n: usize,
) -> (Moving<'_, T, K>, Moving<'_, T, K>) {
    let width = rows.width;
    let (points, points_right) = rows.points.split_at_mut(half * width);
    let at = rows.momenta.len() / n * half;
    let (momenta, momenta_right) = rows.momenta.split_at_mut(at);
    let (gradients, gradients_right) = rows.gradients.split_at(half * width);
    let mut moments_right = std::array::from_fn(|_| [].as_mut_slice());
    let mut k = 0;
    let moments = rows.moments.map(|moments| {
        let at = moments.len() / n * half;
        let (left, right) = moments.split_at_mut(at);
        moments_right[k] = right;
        k += 1;
        left
    });
    (
        Moving { points, momenta, moments, gradients, width },
        Moving {
            points: points_right,
            momenta: momenta_right,
            moments: moments_right,
            gradients: gradients_right,
            width,
        },
    )
}

/// A table of rows, and which of their columns are meant.
struct Table<'a, T> {
    data: &'a mut [T],
    width: usize,
    columns: Range<usize>,
}

impl<T: Float> Table<'_, T> {
    fn row(&self, i: usize) -> Range<usize> {
        i * self.width + self.columns.start..i * self.width + self.columns.end
    }
    fn gather(&self, rows: impl Iterator<Item = usize>, to: &mut [T]) {
        for (to, i) in to.chunks_exact_mut(self.columns.len().max(1)).zip(rows) {
            to.copy_from_slice(&self.data[self.row(i)]);
        }
    }
    fn scatter(&mut self, rows: impl Iterator<Item = usize>, from: &[T]) {
        for (from, i) in from.chunks_exact(self.columns.len().max(1)).zip(rows) {
            let row = self.row(i);
            self.data[row].copy_from_slice(from);
        }
    }
}

/// What a factor of the manifold has of each row.
pub(crate) struct Part {
    /// Coordinates, of the points and of the momenta.
    pub(crate) columns: Range<usize>,
    /// Second moments.
    pub(crate) moments: Range<usize>,
}

/// Does something with the rows that have a gradient, `scale` times it: in place where that is all of all rows, else
/// gathered and, if all went well, put back. `rows.momenta` may be empty. `of_row` is the number of moments of a row.
pub(crate) fn with_gradient<T: Float, const K: usize>(
    rows: Moving<'_, T, K>,
    of_row: usize,
    part: &Part,
    gradient: GradientView<'_, T>,
    scale: f64,
    work: impl Fn(Moving<'_, T, K>) -> Result<(), usize> + Sync,
) -> Result<(), usize> {
    let scaled = |rows: Moving<'_, T, K>| {
        if scale == 1.0 {
            return work(rows);
        }
        T::with_scratch(rows.gradients.len(), |gradients| {
            for (to, g) in gradients.iter_mut().zip(rows.gradients) {
                *to = T::nearest(scale * g.to_f64());
            }
            work(Moving { gradients, ..rows })
        })
    };
    let width = rows.width;
    let (values, listed) = match gradient {
        GradientView::Dense(values) if part.columns.len() == width => {
            return for_each(Moving { gradients: values, ..rows }, &scaled);
        }
        GradientView::Dense(values) => (values, None),
        GradientView::Rows { rows, values, .. } => (values, Some(rows)),
    };
    let n = values.len() / width;
    let row_of = |i: usize| listed.map_or(i, |listed| listed[i] as usize);
    let numbers = || (0..n).map(row_of);
    let momenta_width = if rows.momenta.is_empty() { 0 } else { width };
    let mut points = Table { data: rows.points, width, columns: part.columns.clone() };
    let columns = if momenta_width == 0 { 0..0 } else { part.columns.clone() };
    let mut momenta = Table { data: rows.momenta, width: momenta_width, columns };
    let mut moments = rows.moments.map(|data| Table { data, width: of_row, columns: part.moments.clone() });
    let (own, own_moments) = (part.columns.len(), part.moments.len());
    let total = n * (2 * own + momenta.columns.len() + K * own_moments);
    T::with_scratch(total, |scratch| {
        let (at_points, rest) = scratch.split_at_mut(n * own);
        let (at_gradients, rest) = rest.split_at_mut(n * own);
        let (at_momenta, mut rest) = rest.split_at_mut(n * momenta.columns.len());
        points.gather(numbers(), at_points);
        momenta.gather(numbers(), at_momenta);
        for (i, to) in at_gradients.chunks_exact_mut(own).enumerate() {
            to.copy_from_slice(&values[i * width..][part.columns.clone()]);
        }
        let mut at_moments = std::array::from_fn(|_| {
            let (first, others) = std::mem::take(&mut rest).split_at_mut(n * own_moments);
            rest = others;
            first
        });
        for k in 0..K {
            moments[k].gather(numbers(), at_moments[k]);
        }
        let rows = Moving {
            points: &mut *at_points,
            momenta: &mut *at_momenta,
            moments: at_moments.each_mut().map(|m| &mut **m),
            gradients: at_gradients,
            width: own,
        };
        for_each(rows, &scaled).map_err(row_of)?;
        points.scatter(numbers(), at_points);
        momenta.scatter(numbers(), at_momenta);
        for k in 0..K {
            moments[k].scatter(numbers(), at_moments[k]);
        }
        Ok(())
    })
}
