//! The `attend` kernel: all queries against one tile of keys at a time. Only one tile's scores are stored,
//! so memory is linear in the number of queries.

use std::sync::Arc;

use super::fold::{Broadcasted, DOT, WIDE_LOG};
use super::form::{Array, Forward, OnDevice, Reverse};
use super::gemm::{Matrices, Onto, gemm};
use super::index;
use super::pair::{Tile, operands};
use super::random;
use super::scalar::PLAIN;
use crate::formula::pair::PairForm;
use crate::kernels::attend::{Attend, Dropped, Inputs, Weights};
use crate::kernels::pair::{Sizes, sizes};
use crate::numbers::scalar::Scalar;
use crate::numbers::storage::Storage;
use crate::numbers::trace::Expression;
use crate::tensor::device::copies;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, Program, c_type, functions};
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::{Broadcast, Shape};

/// Keys of a tile.
const KEYS: usize = 256;

fn program<T: Storage>(queue: &Queue) -> Arc<Program> {
    let source = || {
        let sigmoid = Expression::trace_as::<T>(1, |x| vec![x[0].sigmoid()]);
        let log_sigmoid = Expression::trace_as::<T>(1, |x| vec![x[0].log_sigmoid()]);
        let logistic = [("sigmoid", sigmoid), ("log_sigmoid", log_sigmoid)];
        let functions = WIDE_LOG.to_owned() + &functions(c_type::<T>(), &logistic);
        functions + PLAIN + &queue.team(0).source() + include_str!("attend.cl")
    };
    queue.program::<T>(Key::new::<T>("attend", None), source)
}

/// The tiles, in the order of the keys.
fn tiles(sizes: Sizes) -> impl Iterator<Item = Tile> {
    let tile = move |start| Tile { sizes, start, columns: KEYS.min(sizes.m - start) };
    (0..sizes.m).step_by(KEYS).map(tile)
}

impl<T: Storage> Attend<T> {
    fn form(&self) -> &'static PairForm {
        self.score.form()
    }

    fn sizes_on_device(&self, inputs: &[Array<'_, T>]) -> (Sizes, usize) {
        let shapes: Vec<&Shape> = inputs.iter().map(|input| input.shape).collect();
        let (sizes, width, _) = self.sizes(&shapes).expect("shapes were checked when the node was made");
        (sizes, width)
    }
}

impl<T: Storage> Attend<T> {
    /// Lowers the scores of hidden keys to −∞.
    fn hide(&self, queue: &Queue, inputs: &[Array<'_, T>], tile: Tile, scores: &Memory) {
        let Inputs { scored, hidden, .. } = self.split(inputs);
        let Some(hidden) = hidden else { return };
        let shapes: Vec<&Shape> = scored.iter().map(|input| input.shape).collect();
        let (_, shape) =
            sizes(&shapes, self.form().counts).expect("shapes were checked when the node was made");
        let read = Broadcast::new(hidden.shape.axes(), shape.axes());
        let read = read.expect("shapes were checked when the node was made");
        let launch = queue.launch(&program::<T>(queue), "hide").size(tile.count()).size(tile.columns);
        let launch = launch.size(tile.sizes.m).size(tile.start).broadcast(read).keep(hidden.on(queue));
        launch.memory(scores).over(tile.count());
    }

    /// If weights are dropped, multiplies what belongs to those of a tile by the numbers of dropout. If keys
    /// are, lowers their scores to −∞.
    fn drop(&self, queue: &Queue, tile: Tile, dropped: Dropped, elements: &Memory) {
        let Some(dropout) = self.dropout_of(dropped) else { return };
        let Tile { sizes, start, columns } = tile;
        let sizes = [sizes.batch * sizes.n, columns, sizes.m, start];
        random::drop_tile::<T>(queue, dropout, dropped, sizes, elements);
    }
}

impl<T: Storage> OnDevice<T> for Attend<T> {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, kept, .. } = forward;
        let ((sizes, width), program) = (self.sizes_on_device(inputs), program::<T>(queue));
        let Inputs { scored, values, .. } = self.split(inputs);
        let team = queue.team(0);
        let Sizes { batch, n, m, .. } = sizes;
        let (rows, values) = (batch * n, values.on(queue));
        let [x, y] = [scored[0].on(queue), scored[1].on(queue)];
        let (largest, sums) = (queue.take_for::<T>(&[rows]), queue.take_wide(&[rows]));
        let launch = queue.launch(&program, "start").size(rows).size(width);
        launch.memory(&largest).memory(&sums).memory(out).over_rows(team, rows);
        let s = queue.take_for::<T>(&[rows, KEYS.min(m)]);
        for tile in tiles(sizes) {
            self.form().pairings::<T>(queue, tile, [&x, &y], &s);
            self.form().score::<T>(queue, tile, &operands(queue, &scored[2..]), self.causal, &s);
            self.hide(queue, inputs, tile, &s);
            self.drop(queue, tile, Dropped::Keys, &s);
            let replace = |kernel: &'static str| {
                queue.launch(&program, kernel).size(tile.count()).memory(&s).over(tile.count());
            };
            match self.weights {
                Weights::Softmax => {}
                Weights::Sigmoid => replace("logistic"),
                Weights::NormalisedSigmoid => replace("log_logistic"),
            }
            if self.weights != Weights::Sigmoid {
                let launch = queue.launch(&program, "weigh_tile").size(rows).size(tile.columns).size(width);
                launch.memory(&s).memory(&largest).memory(&sums).memory(out).over_rows(team, rows);
            }
            self.drop(queue, tile, Dropped::Weights, &s);
            let v = Matrices::new(&values, m, width).from(tile.start * width);
            let (p, target) = (Matrices::new(&s, n, tile.columns), (out, 0, n * width));
            gemm::<T>(queue, [batch, n, tile.columns, width], p, v, target, Onto::Held);
        }
        let logs = kept.expect("a logarithm for each row is kept");
        if self.weights != Weights::Sigmoid {
            let launch = queue.launch(&program, "finish").size(rows).size(width);
            launch.memory(&largest).memory(&sums).memory(out).memory(logs).over_rows(team, rows);
        }
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let (inputs, grads, g) = (reverse.inputs, reverse.grads, reverse.g);
        let ((sizes, width), program) = (self.sizes_on_device(inputs), program::<T>(queue));
        let Inputs { scored, values, .. } = self.split(inputs);
        let Inputs { scored: scored_grads, hidden: mask_grad, values: values_grad } = self.split(grads);
        if let (Some(hidden), Some(Some(gradient))) = (self.split(inputs).hidden, mask_grad) {
            index::fill::<T>(queue, gradient, hidden.shape.elements());
        }
        let Sizes { batch, n, m, .. } = sizes;
        let (rows, values) = (batch * n, values.on(queue));
        let [x, y] = [scored[0].on(queue), scored[1].on(queue)];
        let logs = reverse.kept.as_deref().expect("a logarithm for each row is kept");
        let dots = queue.take_for::<T>(&[rows]);
        let read = Broadcast { repeat: width, ..Broadcast::cycled(rows) };
        let all = Broadcasted { read, n: rows * width, width: 1 };
        DOT.run::<T>(queue, &reverse.out.on(queue), all, Some(g), &dots);
        let [s, p, u] = [(); 3].map(|_| queue.take_for::<T>(&[rows, KEYS.min(m)]));
        for tile in tiles(sizes) {
            let Tile { start, columns, .. } = tile;
            self.form().pairings::<T>(queue, tile, [&x, &y], &s);
            copies::copy::<T>(queue, &s, &p, tile.count());
            self.form().score::<T>(queue, tile, &operands(queue, &scored[2..]), self.causal, &p);
            self.hide(queue, inputs, tile, &p);
            self.drop(queue, tile, Dropped::Keys, &p);
            let g = Matrices::new(g, n, width);
            let v = Matrices::new(&values, m, width).from(start * width).transposed();
            gemm::<T>(queue, [batch, n, width, columns], g, v, (&u, 0, n * columns), Onto::Nothing);
            self.drop(queue, tile, Dropped::Weights, &u);
            let normalised = |kernel: &'static str| {
                let launch = queue.launch(&program, kernel).size(tile.count()).size(columns);
                launch.memory(logs).memory(&dots)
            };
            let launch = match self.weights {
                Weights::Softmax => normalised("softmax_gradient"),
                Weights::Sigmoid => queue.launch(&program, "logistic_gradient").size(tile.count()),
                Weights::NormalisedSigmoid => normalised("normalised_logistic_gradient"),
            };
            launch.memory(&p).memory(&u).over(tile.count());
            self.drop(queue, tile, Dropped::Weights, &p);
            if let Some(dv) = values_grad {
                let target = (&**dv, start * width, m * width);
                let p = Matrices::new(&p, n, columns).transposed();
                gemm::<T>(queue, [batch, columns, n, width], p, g, target, Onto::Nothing);
            }
            let numbers = operands(queue, &scored[2..]);
            self.form().slopes::<T>(queue, tile, &numbers, [&s, &u], &scored_grads[2..]);
            let rows_grads = [scored_grads[0].as_deref(), scored_grads[1].as_deref()];
            self.form().rows_gradient::<T>(queue, tile, [&x, &y], &u, rows_grads);
        }
    }
}
