//! The `matmul` kernel: batched products of matrices.

use super::fold::{Broadcasted, SUM};
use super::form::{Forward, OnDevice, Reverse};
use super::index;
use crate::kernels::matmul::{Matmul, Sizes};
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::Key;
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::Broadcast;

/// A batch of matrices to be read. Element `(i, j)` of entry `b` is at
/// `offset + b · batch + i · row + j · column`.
#[derive(Clone, Copy)]
pub(super) struct Matrices<'a> {
    pub(super) memory: &'a Memory,
    pub(super) offset: usize,
    pub(super) batch: usize,
    pub(super) row: usize,
    pub(super) column: usize,
}

impl<'a> Matrices<'a> {
    /// Row-major matrices, one entry after another.
    pub(super) fn new(memory: &'a Memory, rows: usize, columns: usize) -> Self {
        Matrices { memory, offset: 0, batch: rows * columns, row: columns, column: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        Matrices { row: self.column, column: self.row, ..self }
    }

    fn transposed_if(self, transposed: bool) -> Self {
        if transposed { self.transposed() } else { self }
    }

    /// The same with a step of `batch` elements between entries; 0 repeats one matrix.
    pub(super) fn every(self, batch: usize) -> Self {
        Matrices { batch, ..self }
    }

    /// The same from element `offset` of the memory on.
    pub(super) fn from(self, offset: usize) -> Self {
        Matrices { offset, ..self }
    }
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(super) enum Onto<'a> {
    Nothing,
    /// What its place holds.
    Held,
    /// In each row, this one.
    Row(&'a Memory),
}

/// `c = a b`, added to what `onto` says, for sizes `[batch, m, k, n]`. The entries of c are row-major, from
/// element `offset` of the memory on, `batch_c` elements apart.
pub(super) fn gemm<T: Storage>(
    queue: &Queue,
    [batch, m, k, n]: [usize; 4],
    a: Matrices<'_>,
    b: Matrices<'_>,
    (c, offset, batch_c): (&Memory, usize, usize),
    onto: Onto<'_>,
) {
    const TILE: usize = 64;
    let program = queue.program::<T>(Key::new::<T>("gemm", None), || include_str!("gemm.cl").to_owned());
    let mut launch = queue.launch(&program, "gemm").size(m).size(k).size(n);
    for matrix in [a, b] {
        let strides = [matrix.offset, matrix.batch, matrix.row, matrix.column];
        launch = launch.memory(matrix.memory).sizes(strides);
    }
    let (from, strides) = match onto {
        Onto::Nothing => (None, [0; 4]),
        Onto::Held => (Some(c), [offset, batch_c, n, 1]),
        Onto::Row(row) => (Some(row), [0, 0, 0, 1]),
    };
    let launch = launch.memory(c).size(offset).size(batch_c).optional(from).sizes(strides);
    launch.in_groups([n.div_ceil(TILE), m.div_ceil(TILE), batch], [16, 16, 1]);
}

impl Matmul {
    fn factors<'a>(self, s: Sizes, a: &'a Memory, b: &'a Memory) -> [Matrices<'a>; 2] {
        let factor = |memory, [rows, columns]: [usize; 2], transposed: bool, stride| {
            let (rows, columns) = if transposed { (columns, rows) } else { (rows, columns) };
            Matrices::new(memory, rows, columns).every(stride).transposed_if(transposed)
        };
        [
            factor(a, [s.m, s.k], self.transpose_a, s.stride_a()),
            factor(b, [s.k, s.n], self.transpose_b, s.stride_b()),
        ]
    }
}

impl<T: Storage> OnDevice<T> for Matmul {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let (s, _) = self.sizes(inputs[0].shape, inputs[1].shape).expect("checked");
        let (a, b) = (inputs[0].on(queue), inputs[1].on(queue));
        let [a, b] = self.factors(s, &a, &b);
        let bias = inputs.get(2).map(|bias| bias.on(queue));
        let onto = bias.as_ref().map_or(Onto::Nothing, |bias| Onto::Row(bias));
        gemm::<T>(queue, [s.batch, s.m, s.k, s.n], a, b, (out, 0, s.m * s.n), onto);
    }

    /// As on the host: `dA = G Bᵀ` and `dB = Aᵀ G`, each transposed if its factor is stored transposed.
    /// The gradient of a factor that is used for the whole batch is summed, entry after entry; that of a bias
    /// is the sum of the rows of G.
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let inputs = reverse.inputs;
        let (s, _) = self.sizes(inputs[0].shape, inputs[1].shape).expect("checked");
        let (a, b) = (inputs[0].on(queue), inputs[1].on(queue));
        let [a, b] = self.factors(s, &a, &b);
        let g = Matrices::new(reverse.g, s.m, s.n);
        let product = |sizes: [usize; 3], x: Matrices<'_>, y: Matrices<'_>, out: &Memory, one: bool| {
            let [m, k, n] = sizes;
            if !one || s.batch == 1 {
                return gemm::<T>(queue, [s.batch, m, k, n], x, y, (out, 0, m * n), Onto::Nothing);
            }
            index::fill::<T>(queue, out, m * n);
            for i in 0..s.batch {
                let [x, y] = [x, y].map(|z| z.from(i * z.batch));
                gemm::<T>(queue, [1, m, k, n], x, y, (out, 0, 0), Onto::Held);
            }
        };
        if let Some(da) = &reverse.grads[0] {
            if self.transpose_a {
                product([s.k, s.n, s.m], b, g.transposed(), da, s.one_a);
            } else {
                product([s.m, s.n, s.k], g, b.transposed(), da, s.one_a);
            }
        }
        if let Some(db) = &reverse.grads[1] {
            if self.transpose_b {
                product([s.n, s.m, s.k], g.transposed(), a, db, s.one_b);
            } else {
                product([s.k, s.m, s.n], a.transposed(), g, db, s.one_b);
            }
        }
        if let Some(Some(bias)) = reverse.grads.get(2) {
            let all = Broadcasted { read: Broadcast::cycled(s.n), n: s.batch * s.m * s.n, width: 1 };
            SUM.run::<T>(queue, reverse.g, all, None, bias);
        }
    }
}
