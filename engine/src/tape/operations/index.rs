//! Selecting, moving and joining elements on the tape: gather, scatter, slice, concat, permute, reshape.

use smallvec::SmallVec;

use crate::kernels::index::{Concat, Gather, Permute, Reshape, ScatterAdd, Slice, TakeAlong};
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::{Operation, linear_jvp};
use crate::tape::var::Var;
use crate::tape::{Tape, formulas};
use crate::tensor::shape::{Shape, row_numbers};

impl<'t, T: Float> Var<'t, T> {
    /// The entries `rows` of a table `[n, …]`: `[rows.len(), …]`. The gradient of a table `[n, d]`
    /// that is an input of the tape is row-sparse.
    ///
    /// # Panics
    /// If a number is not below `n`.
    #[track_caller]
    pub fn gather(self, rows: &[u32]) -> Self {
        let rows = self.tape().indices(rows);
        self.tape().record(Op::Gather(Gather { rows }), &[self])
    }

    /// The transpose of [`gather`](Self::gather): entry `i` of `[rows.len(), …]` is added to entry
    /// `rows[i]` of a table `[n, …]` of zeros, in the order of `i`.
    ///
    /// # Panics
    /// If there are not as many entries as numbers, or a number is not below `n`.
    #[track_caller]
    pub fn scatter_add(self, rows: &[u32], n: usize) -> Self {
        let rows = self.tape().indices(rows);
        self.tape().record(Op::ScatterAdd(ScatterAdd { rows, n }), &[self])
    }

    /// From each row of the last axis, the elements at some positions. `columns` lists the positions row by
    /// row, equally many for each. `[…, width]` becomes `[…, columns.len() / rows]`.
    ///
    /// # Panics
    /// If `columns.len()` is not a multiple of the number of rows, or a position is not below `width`.
    #[track_caller]
    pub fn take_along(self, columns: &[u32]) -> Self {
        let columns = self.tape().indices(columns);
        self.tape().record(Op::TakeAlong(TakeAlong { columns }), &[self])
    }

    /// The `k` largest elements of each row of the last axis, `[…, k]`, in descending order, and their
    /// positions, row by row. Equal elements come in the order of their positions. NaN counts as larger than
    /// every number. On a device this takes `k` passes over each row.
    ///
    /// # Panics
    /// If the rows have fewer than `k` elements.
    #[track_caller]
    pub fn top_k(self, k: usize) -> (Self, Vec<u32>) {
        let shape = self.shape();
        let width = shape.width();
        assert!(k <= width, "top_k: {k} of rows of {width}, shape {shape}");
        let all = row_numbers(width);
        let on_host = |data: &[T], _: &Shape| {
            let mut columns = Vec::with_capacity(data.len() / width.max(1) * k);
            let mut order: Vec<u32> = Vec::with_capacity(width);
            for row in data.chunks_exact(width.max(1)) {
                order.clear();
                order.extend(all.clone());
                let key = |&i: &u32| (row[i as usize].to_f64(), i);
                let descending = |a: &u32, b: &u32| {
                    let ((x, i), (y, j)) = (key(a), key(b));
                    let nan = |x: f64| x.is_nan();
                    nan(y)
                        .cmp(&nan(x))
                        .then(y.partial_cmp(&x).unwrap_or(std::cmp::Ordering::Equal))
                        .then(i.cmp(&j))
                };
                if k < width {
                    order.select_nth_unstable_by(k, descending);
                }
                order[..k].sort_unstable_by(descending);
                columns.extend_from_slice(&order[..k]);
            }
            columns
        };
        let columns = self.tape().top_k_on_device(self.id(), k);
        let columns = columns.unwrap_or_else(|| self.tape().read(self.id(), on_host));
        (self.take_along(&columns), columns)
    }

    /// The positions `range` of an axis; a negative axis counts from the last.
    ///
    /// # Panics
    /// If there is no such axis, or the range is not within it.
    #[track_caller]
    pub fn slice(self, axis: isize, range: std::ops::Range<usize>) -> Self {
        self.tape().record(Op::Slice(Slice { axis, range }), &[self])
    }

    /// Joins variables along an axis. A negative axis counts from the last.
    ///
    /// # Panics
    /// If there is no such axis, the other axes differ, or `parts` is empty.
    #[track_caller]
    pub fn concat(parts: &[Self], axis: isize) -> Self {
        assert!(!parts.is_empty(), "concat: no variables are given");
        parts[0].tape().record(Op::Concat(Concat { axis }), parts)
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]`. The elements are copied.
    ///
    /// # Panics
    /// If `axes` does not list every axis once.
    #[track_caller]
    pub fn permute(self, axes: &[usize]) -> Self {
        self.tape().record(Op::Permute(Permute { axes: SmallVec::from_slice(axes) }), &[self])
    }

    /// Two axes exchanged. The elements are copied; a product with a transposed matrix needs no copy
    /// ([`matmul_nt`](Self::matmul_nt)).
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn swap_axes(self, a: usize, b: usize) -> Self {
        let mut axes: SmallVec<[usize; 4]> = (0..self.shape().rank()).collect();
        axes.swap(a, b);
        self.permute(&axes)
    }

    /// The same elements in another shape. Nothing is copied.
    ///
    /// # Panics
    /// If the shape needs another number of elements.
    #[track_caller]
    pub fn reshape(self, shape: impl Into<Shape>) -> Self {
        self.tape().record(Op::Reshape(Reshape { shape: shape.into() }), &[self])
    }

    /// Inserts an axis of extent 1 before axis `at`. Nothing is copied.
    ///
    /// # Panics
    /// If `at` is greater than the number of axes.
    #[track_caller]
    pub fn insert_axis(self, at: usize) -> Self {
        self.reshape(self.shape().insert(at))
    }

    /// The elements repeated over a larger shape. Arithmetic broadcasts without this.
    ///
    /// # Panics
    /// If the elements do not broadcast to the shape.
    #[track_caller]
    pub fn broadcast_to(self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let repeated = self.masked_fill(self.tape().zeros(shape.clone()), 0.0);
        assert!(repeated.shape() == shape, "broadcast_to: {} does not broadcast to {shape}", self.shape());
        repeated
    }

    /// The elements where `mask` is 0, else `value`. The mask broadcasts. No gradient flows to elements that
    /// are replaced, nor to the mask.
    ///
    /// # Panics
    /// If the shapes do not broadcast.
    #[track_caller]
    pub fn masked_fill(self, mask: Self, value: f64) -> Self {
        self.tape().map(formulas::MaskedFill, [self, mask, self.tape().scalar(value)])
    }
}

impl<T: Float> Tape<T> {
    /// Row `i` has a 1 at position `columns[i]` and zeros elsewhere: `[columns.len(), width]`.
    ///
    /// # Panics
    /// If a position is not below `width`.
    #[track_caller]
    pub fn one_hot(&self, columns: &[u32], width: usize) -> Var<'_, T> {
        if let Some(column) = columns.iter().find(|&&column| column as usize >= width) {
            panic!("one_hot: position {column} of {width}")
        }
        self.constant_with([columns.len(), width], |out| {
            out.fill(T::zero());
            for (row, &column) in out.chunks_exact_mut(width.max(1)).zip(columns) {
                row[column as usize] = T::one();
            }
        })
    }
}

impl<T: Float> Operation<T> for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    kernel_passes!(Gather);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| v[0].gather(&self.rows))
    }
}

impl<T: Float> Operation<T> for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter_add"
    }

    kernel_passes!(ScatterAdd);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| v[0].scatter_add(&self.rows, self.n))
    }
}

impl<T: Float> Operation<T> for TakeAlong {
    fn name(&self) -> &'static str {
        "take_along"
    }

    kernel_passes!(TakeAlong);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| v[0].take_along(&self.columns))
    }
}

impl<T: Float> Operation<T> for Slice {
    fn name(&self) -> &'static str {
        "slice"
    }

    kernel_passes!(Slice);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| v[0].slice(self.axis, self.range.clone()))
    }
}

impl<T: Float> Operation<T> for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    kernel_passes!(Concat);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| Var::concat(v, self.axis))
    }
}

impl<T: Float> Operation<T> for Permute {
    fn name(&self) -> &'static str {
        "permute"
    }

    kernel_passes!(Permute);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| v[0].permute(&self.axes))
    }
}

/// The elements stay where they are on the tape: nothing is computed.
impl<T: Float> Operation<T> for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    kernel_passes!(Reshape);

    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        linear_jvp(inputs, tangents, |v| v[0].reshape(self.shape.clone()))
    }
}
