//! The `index` kernel: gather, scatter-add, take-along, slice, concat, permute, reshape.
//!
//! All are linear, so forward mode is the same operation on the tangents.

use smallvec::SmallVec;

use crate::kernels::reduce::Axis;
use crate::numbers::line::line_add;
use crate::numbers::parallel;
use crate::numbers::storage::Storage;
use crate::tensor::pool::Buffer;
use crate::tensor::shape::{Shape, ShapeError, row_numbers};
use crate::tensor::view::{Outcome, View};

fn check_rows(rows: &[u32], n: usize) -> Result<(), ShapeError> {
    match rows.iter().find(|&&row| row as usize >= n) {
        Some(row) => Err(ShapeError::new(format!("row {row} of a table of {n} rows"))),
        None => Ok(()),
    }
}

/// How many entries a table has, and the number of elements of each.
fn table(shape: &Shape) -> Result<(usize, usize), ShapeError> {
    match shape.axes() {
        [] => Err(ShapeError::new("a table [n, …] is needed, not a number")),
        [n, inner @ ..] => Ok((*n, inner.iter().product())),
    }
}

/// Entries `rows` of a table `[n, …]`: the result is `[rows.len(), …]`.
pub(crate) struct Gather {
    pub(crate) rows: Vec<u32>,
}

impl Gather {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        check_rows(&self.rows, table(inputs[0])?.0)?;
        Ok(inputs[0].with(0, self.rows.len()))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (_, width) = table(inputs[0].shape).expect("checked");
        gather(inputs[0].data, &self.rows, width, out);
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        _: &[View<'_, T>],
        _: Outcome<'_, T>,
        _: &[T],
        _: &mut [Option<&mut [T]>],
    ) {
        unreachable!("the tape sums the gradient into the table's own, row-sparse where it can be")
    }
}

/// Copies rows of `width` elements of a table.
fn gather<T: Storage>(table: &[T], rows: &[u32], width: usize, out: &mut [T]) {
    parallel::for_each_part(out, width, 1, 4 + width / 4, |range, out| {
        for (&row, out) in rows[range].iter().zip(out.chunks_exact_mut(width.max(1))) {
            out.copy_from_slice(&table[row as usize * width..][..width]);
        }
    });
}

/// Adds entry `i` of a tensor `[rows.len(), …]` to row `rows[i]` of zeros `[n, …]`.
pub(crate) struct ScatterAdd {
    pub(crate) rows: Vec<u32>,
    pub(crate) n: usize,
}

impl ScatterAdd {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (entries, _) = table(inputs[0])?;
        if entries != self.rows.len() {
            return Err(ShapeError::new(format!(
                "{entries} entries of shape {} for {} rows",
                inputs[0],
                self.rows.len()
            )));
        }
        check_rows(&self.rows, self.n)?;
        Ok(inputs[0].with(0, self.n))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        out.fill(T::zero());
        scatter_add(inputs[0].data, &self.rows, table(inputs[0].shape).expect("checked").1, out);
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let (_, width) = table(inputs[0].shape).expect("checked");
        gather(g, &self.rows, width, dx);
    }
}

/// Some elements of each row of a tensor `[…, width]`: the result is `[…, take]`. `columns` are their
/// positions in the rows, row by row.
pub(crate) struct TakeAlong {
    pub(crate) columns: Vec<u32>,
}

impl TakeAlong {
    /// Width of the rows, and how many elements of each are taken.
    pub(crate) fn widths(&self, shape: &Shape) -> (usize, usize) {
        let width = shape.width();
        let rows = shape.elements() / width.max(1);
        (width, self.columns.len().checked_div(rows).unwrap_or(0))
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let shape = inputs[0];
        if shape.axes().is_empty() {
            return Err(ShapeError::new("rows are needed, not a number"));
        }
        let (width, take) = self.widths(shape);
        let rows = shape.rows().elements();
        if rows * take != self.columns.len() {
            return Err(ShapeError::new(format!(
                "{} positions for {rows} rows of shape {shape}",
                self.columns.len()
            )));
        }
        if let Some(column) = self.columns.iter().find(|&&column| column as usize >= width) {
            return Err(ShapeError::new(format!("position {column} of rows of {width}, shape {shape}")));
        }
        Ok(shape.rows().with_width(take))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (width, take) = self.widths(inputs[0].shape);
        for (i, (y, &column)) in out.iter_mut().zip(&self.columns).enumerate() {
            *y = inputs[0].data[i / take * width + column as usize];
        }
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let (width, take) = self.widths(inputs[0].shape);
        dx.fill(T::zero());
        for (i, (g, &column)) in g.iter().zip(&self.columns).enumerate() {
            let sum = &mut dx[i / take * width + column as usize];
            *sum = *sum + *g;
        }
    }
}

/// The positions `range` along an axis.
pub(crate) struct Slice {
    pub(crate) axis: isize,
    pub(crate) range: std::ops::Range<usize>,
}

impl Slice {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (at, view) = Axis::new(inputs[0], self.axis)?;
        let range = &self.range;
        if range.start > range.end || range.end > view.n {
            let (axis, shape) = (self.axis, inputs[0]);
            return Err(ShapeError::new(format!(
                "{range:?} of axis {axis} of shape {shape}, which has {}",
                view.n
            )));
        }
        Ok(inputs[0].with(at, range.len()))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (_, Axis { n, inner, .. }) = Axis::new(inputs[0].shape, self.axis).expect("checked");
        let (whole, take) = ((n * inner).max(1), (self.range.len() * inner).max(1));
        for (x, part) in inputs[0].data.chunks_exact(whole).zip(out.chunks_exact_mut(take)) {
            part.copy_from_slice(&x[self.range.start * inner..][..take]);
        }
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let (_, Axis { n, inner, .. }) = Axis::new(inputs[0].shape, self.axis).expect("checked");
        let (whole, take) = ((n * inner).max(1), (self.range.len() * inner).max(1));
        dx.fill(T::zero());
        for (x, part) in dx.chunks_exact_mut(whole).zip(g.chunks_exact(take)) {
            x[self.range.start * inner..][..take].copy_from_slice(part);
        }
    }
}

/// Joins tensors along an axis. Their other axes are equal.
pub(crate) struct Concat {
    pub(crate) axis: isize,
}

impl Concat {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (at, _) = Axis::new(inputs[0], self.axis)?;
        let first = inputs[0];
        if !inputs.iter().all(|s| s.rank() == first.rank() && s.with(at, 1) == first.with(at, 1)) {
            let shapes = inputs.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
            return Err(ShapeError::new(format!("shapes {shapes} differ in more than axis {}", self.axis)));
        }
        Ok(first.with(at, inputs.iter().map(|s| s.axes()[at]).fold(0, usize::saturating_add)))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        self.for_each_part(inputs, |i, from, to| {
            out[to].copy_from_slice(&inputs[i].data[from]);
        });
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        self.for_each_part(inputs, |i, from, to| {
            if let Some(dx) = grads[i].as_deref_mut() {
                dx[from].copy_from_slice(&g[to]);
            }
        });
    }

    /// Calls `part(input, its elements, their place in the whole)` for each contiguous piece.
    fn for_each_part<T>(
        &self,
        inputs: &[View<'_, T>],
        mut part: impl FnMut(usize, std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        let (_, Axis { outer, .. }) = Axis::new(inputs[0].shape, self.axis).expect("checked");
        let widths: SmallVec<[usize; 6]> = inputs.iter().map(|v| v.shape.elements() / outer.max(1)).collect();
        let mut to = 0;
        for o in 0..outer {
            for (i, &width) in widths.iter().enumerate() {
                part(i, o * width..(o + 1) * width, to..to + width);
                to += width;
            }
        }
    }
}

/// The axes in another order: axis `i` of the result is axis `axes[i]`.
pub(crate) struct Permute {
    pub(crate) axes: SmallVec<[usize; 4]>,
}

impl Permute {
    /// The inverse permutation.
    pub(crate) fn inverse(&self) -> SmallVec<[usize; 4]> {
        let mut inverse = self.axes.clone();
        for (i, &a) in self.axes.iter().enumerate() {
            inverse[a] = i;
        }
        inverse
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let shape = inputs[0];
        let mut sorted = self.axes.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..shape.rank()) {
            return Err(ShapeError::new(format!(
                "{:?} is not an order of the axes of shape {shape}",
                self.axes
            )));
        }
        Ok(Shape::from(self.axes.iter().map(|&a| shape[a]).collect::<SmallVec<[usize; 4]>>().as_slice()))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        permute(inputs[0].data, inputs[0].shape.axes(), &self.axes, out);
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let shape = self.result_shape(&[inputs[0].shape]).expect("checked");
        permute(g, shape.axes(), &self.inverse(), dx);
    }
}

/// Writes `x`, of the given shape, with its axes in another order.
fn permute<T: Storage>(x: &[T], shape: &[usize], axes: &[usize], out: &mut [T]) {
    let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    // Trailing axes that stay in place are copied as runs.
    let moved = (0..axes.len()).rev().find(|&i| axes[i] != i).map_or(0, |i| i + 1);
    let run: usize = shape[moved..].iter().product();
    let Some(last) = moved.checked_sub(1) else { return out.copy_from_slice(x) };
    // The last axis that moves is the inner loop; the ones before it are counted in `outer`.
    let (n, stride) = (shape[axes[last]], strides[axes[last]]);
    let line = n * run;
    if line == 0 {
        return;
    }
    parallel::for_each_part(out, line, 1, 1 + n * (1 + run / 4), |range, out| {
        for (p, out) in range.zip(out.chunks_exact_mut(line)) {
            let (mut p, mut at) = (p, 0);
            for &a in axes[..last].iter().rev() {
                at += p % shape[a] * strides[a];
                p /= shape[a];
            }
            if run == 1 {
                for (j, y) in out.iter_mut().enumerate() {
                    *y = x[at + j * stride];
                }
            } else {
                for (j, y) in out.chunks_exact_mut(run).enumerate() {
                    y.copy_from_slice(&x[at + j * stride..][..run]);
                }
            }
        }
    });
}

/// The same elements in another shape.
pub(crate) struct Reshape {
    pub(crate) shape: Shape,
}

impl Reshape {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (before, after) = (inputs[0], &self.shape);
        if before.elements() != after.elements() {
            return Err(ShapeError::new(format!(
                "{before} has {} elements, {after} has {}",
                before.elements(),
                after.elements()
            )));
        }
        Ok(after.clone())
    }

    pub(crate) fn compute<T: Storage>(&self, _: &[View<'_, T>], _: &mut [T], _kept: &mut [T]) {
        unreachable!("the elements stay where they are")
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        _: &[View<'_, T>],
        _: Outcome<'_, T>,
        _: &[T],
        _: &mut [Option<&mut [T]>],
    ) {
        unreachable!("the gradient is moved")
    }
}

/// `table[rows[i]] += g[i]`, in the order of `i`.
#[inline(never)]
pub(crate) fn scatter_add<T: Storage>(g: &[T], rows: &[u32], width: usize, table: &mut [T]) {
    for (&row, g) in rows.iter().zip(g.chunks_exact(width.max(1))) {
        let start = row as usize * width;
        line_add(&mut table[start..start + width], g);
    }
}

/// `sum += g`.
pub(crate) fn add<T: Storage>(sum: &mut [T], g: &[T]) {
    parallel::for_each_part(sum, 1, 16, 1, |range, sum| line_add(sum, &g[range]));
}

/// The gradient of a table of which only some rows were read: each touched row once, in the order of
/// first touch, with the contributions of all its readings summed.
#[derive(Debug)]
pub(crate) struct SparseRows<T> {
    /// Touched row numbers.
    pub(crate) rows: Vec<u32>,
    /// Their gradients; only the first `rows.len() · width` elements count.
    pub(crate) values: Buffer<T>,
    pub(crate) width: usize,
    /// For each row of the table, its position in `rows`, or `UNTOUCHED`.
    pub(crate) slots: Vec<u32>,
}

pub(crate) const UNTOUCHED: u32 = u32::MAX;

impl<T: Storage> SparseRows<T> {
    /// The position of the next row to be touched.
    pub(crate) fn next(&self) -> u32 {
        row_numbers(self.rows.len() + 1).end - 1
    }

    /// Adds `g[i]` to row `rows[i]`. `grow(values, len)` makes room for `len` elements.
    pub(crate) fn add(&mut self, g: &[T], rows: &[u32], mut grow: impl FnMut(&mut Buffer<T>, usize)) {
        let width = self.width;
        for (&row, g) in rows.iter().zip(g.chunks_exact(width.max(1))) {
            let next = self.next();
            let slot = &mut self.slots[row as usize];
            if *slot == UNTOUCHED {
                *slot = next;
                let start = self.rows.len() * width;
                self.rows.push(row);
                if self.values.len() < start + width {
                    grow(&mut self.values, start + width);
                }
                self.values[start..start + width].copy_from_slice(g);
            } else {
                let start = *slot as usize * width;
                line_add(&mut self.values[start..start + width], g);
            }
        }
    }

    /// Marks all rows untouched, in time proportional to the touched ones.
    pub(crate) fn clear(&mut self) {
        for &row in &self.rows {
            self.slots[row as usize] = UNTOUCHED;
        }
        self.rows.clear();
    }
}
