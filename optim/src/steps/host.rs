//! The rows of a parameter and of an optimiser's state beside them: all of them in place, or a gathered
//! selection.

use std::ops::Range;

use cotangent_engine::Float;
use cotangent_manifolds::steps::Moving;

/// Elements of one task: a few microseconds of work, and small enough to stay in a cache with all
/// intermediate results.
const TASK: usize = 4096;

/// What is done to rows. It returns the first row whose result would not be finite. A trait object, so that
/// what divides rows and copies them is not compiled for each manifold.
pub(crate) type Work<'a, T, const K: usize> = dyn Fn(Moving<'_, T, K>) -> Result<(), usize> + Sync + 'a;

/// Runs `work` on all rows, in parallel. Rows do not depend on each other, so the split does not change
/// the result.
#[inline(never)]
pub(crate) fn for_each<T: Float, const K: usize>(
    rows: Moving<'_, T, K>,
    work: &Work<'_, T, K>,
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

/// A table of rows, and the range of columns to use.
struct Table<'a, T> {
    data: &'a mut [T],
    width: usize,
    columns: Range<usize>,
}

impl<T: Float> Table<'_, T> {
    fn row(&self, i: usize) -> Range<usize> {
        i * self.width + self.columns.start..i * self.width + self.columns.end
    }
    fn gather(&self, to: &mut [T]) {
        for (i, to) in to.chunks_exact_mut(self.columns.len().max(1)).enumerate() {
            to.copy_from_slice(&self.data[self.row(i)]);
        }
    }
    fn scatter(&mut self, from: &[T]) {
        for (i, from) in from.chunks_exact(self.columns.len().max(1)).enumerate() {
            let row = self.row(i);
            self.data[row].copy_from_slice(from);
        }
    }
}

/// The rows of a step with all their columns: points, the optimiser's state beside them, and gradients.
pub(crate) struct Tables<'a, T> {
    pub(crate) points: &'a mut [T],
    /// Empty if the optimiser keeps no state.
    pub(crate) momenta: &'a mut [T],
    /// Empty for each moment that the optimiser does not keep.
    pub(crate) moments: [&'a mut [T]; 2],
    pub(crate) gradients: &'a [T],
    pub(crate) width: usize,
    /// Moments per row, of all factors together.
    pub(crate) moments_per_row: usize,
}

/// Runs `work` on copies of the rows that are listed, or of all rows if there is no list. Gradients are
/// in the order of the list. If all went well, the copies are written back; otherwise all rows stay
/// unchanged.
pub(crate) fn with_copies<T: Float>(
    tables: Tables<'_, T>,
    listed: Option<&[u32]>,
    work: impl FnOnce(Tables<'_, T>) -> Result<(), usize>,
) -> Result<(), usize> {
    let Tables { points, momenta, moments: [first, second], gradients, width, moments_per_row } = tables;
    let n = gradients.len() / width;
    let row_of = |i: usize| listed.map_or(i, |listed| listed[i] as usize);
    let mut all = [(points, width), (momenta, width), (first, moments_per_row), (second, moments_per_row)]
        .map(|(data, width)| if data.is_empty() { (data, 0) } else { (data, width) });
    let total = all.iter().map(|(_, width)| n * width).sum();
    T::with_scratch(total, |mut scratch| {
        let mut copies = all.each_mut().map(|(data, width)| {
            let (copy, others) = std::mem::take(&mut scratch).split_at_mut(n * *width);
            scratch = others;
            for (i, to) in copy.chunks_exact_mut((*width).max(1)).enumerate() {
                to.copy_from_slice(&data[row_of(i) * *width..][..*width]);
            }
            copy
        });
        let [points, momenta, first, second] = copies.each_mut().map(|copy| &mut **copy);
        work(Tables { points, momenta, moments: [first, second], gradients, width, moments_per_row })
            .map_err(row_of)?;
        for ((data, width), copy) in all.iter_mut().zip(&copies) {
            for (i, from) in copy.chunks_exact((*width).max(1)).enumerate() {
                data[row_of(i) * *width..][..*width].copy_from_slice(from);
            }
        }
        Ok(())
    })
}

/// The part of each row that belongs to one factor of the manifold.
pub(crate) struct Part {
    /// Columns of the points and of the momenta.
    pub(crate) columns: Range<usize>,
    /// Columns of the second moments.
    pub(crate) moments: Range<usize>,
}

/// Runs `work` on one factor of the rows, with gradients multiplied by `scale`. If the factor spans the
/// whole rows, it works in place; otherwise on a gathered copy, which is written back if all went well.
/// `rows.momenta` may be empty.
#[inline(never)]
pub(crate) fn with_factor<T: Float, const K: usize>(
    rows: Moving<'_, T, K>,
    moments_per_row: usize,
    part: &Part,
    scale: f64,
    work: &Work<'_, T, K>,
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
    if part.columns.len() == width {
        return for_each(rows, &scaled);
    }
    let n = rows.gradients.len() / width;
    let momenta_width = if rows.momenta.is_empty() { 0 } else { width };
    let mut points = Table { data: rows.points, width, columns: part.columns.clone() };
    let columns = if momenta_width == 0 { 0..0 } else { part.columns.clone() };
    let mut momenta = Table { data: rows.momenta, width: momenta_width, columns };
    let mut moments =
        rows.moments.map(|data| Table { data, width: moments_per_row, columns: part.moments.clone() });
    let (own, own_moments) = (part.columns.len(), part.moments.len());
    let total = n * (2 * own + momenta.columns.len() + K * own_moments);
    T::with_scratch(total, |scratch| {
        let (points_copy, scratch) = scratch.split_at_mut(n * own);
        let (gradients_copy, scratch) = scratch.split_at_mut(n * own);
        let (momenta_copy, mut scratch) = scratch.split_at_mut(n * momenta.columns.len());
        points.gather(points_copy);
        momenta.gather(momenta_copy);
        for (i, to) in gradients_copy.chunks_exact_mut(own).enumerate() {
            to.copy_from_slice(&rows.gradients[i * width..][part.columns.clone()]);
        }
        let mut moments_copy = std::array::from_fn(|_| {
            let (first, others) = std::mem::take(&mut scratch).split_at_mut(n * own_moments);
            scratch = others;
            first
        });
        for k in 0..K {
            moments[k].gather(moments_copy[k]);
        }
        let rows = Moving {
            points: &mut *points_copy,
            momenta: &mut *momenta_copy,
            moments: moments_copy.each_mut().map(|m| &mut **m),
            gradients: gradients_copy,
            width: own,
        };
        for_each(rows, &scaled)?;
        points.scatter(points_copy);
        momenta.scatter(momenta_copy);
        for k in 0..K {
            moments[k].scatter(moments_copy[k]);
        }
        Ok(())
    })
}
