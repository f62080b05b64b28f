//! The `pair` kernel: scores of all pairs of rows, in steps that `attend` uses tile by tile.

use std::sync::Arc;

use super::fold::{Broadcasted, SUM};
use super::form::{Array, Forward, OnDevice, Reverse};
use super::gemm::{Matrices, Onto, gemm};
use super::index;
use crate::formula::pair::{PairForm, Pairing};
use crate::kernels::pair::{Sizes, sizes};
use crate::numbers::storage::Storage;
use crate::tensor::device::copies;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, Program, c_type, functions};
use crate::tensor::device::queue::{Launch, Queue};
use crate::tensor::shape::{Broadcast, Shape};

/// The numbers of all left or right rows, or a parameter: in memory, or one value for all.
pub(super) struct Operand {
    pub(super) memory: Option<Arc<Memory>>,
    pub(super) number: f64,
    /// How many numbers there are.
    pub(super) count: usize,
}

/// The numbers of rows and the parameters of a score.
pub(super) fn operands<T: Storage>(queue: &Queue, inputs: &[Array<'_, T>]) -> Vec<Operand> {
    let operand = |input: &Array<'_, T>| Operand {
        memory: input.constant.is_none().then(|| input.on(queue)),
        number: input.constant.unwrap_or(0.0),
        count: input.shape.elements(),
    };
    inputs.iter().map(operand).collect()
}

impl PairForm {
    fn source<T: Storage>(&self, forward: bool) -> String {
        let [l, r, p] = self.counts;
        let names: Vec<(char, usize)> = [('l', l), ('r', r), ('p', p)]
            .into_iter()
            .flat_map(|(kind, n)| (0..n).map(move |k| (kind, k)))
            .collect();
        let each = |text: &dyn Fn(usize, char, usize) -> String| -> Vec<String> {
            names.iter().enumerate().map(|(i, &(kind, k))| text(i + 1, kind, k)).collect()
        };
        let operands = each(&|_, kind, k| {
            let count = if kind == 'p' { format!(", ulong p_count{k}") } else { String::new() };
            format!("__global const elem *{kind}{k}, wide {kind}_number{k}{count}")
        });
        let load = each(&|i, kind, k| {
            let at = match kind {
                'l' => "row".to_owned(),
                'r' => "column".to_owned(),
                _ => format!("row / n % p_count{k}"),
            };
            format!("in[{i}] = {kind}{k} ? {kind}{k}[{at}] : (elem){kind}_number{k}")
        });
        let grads = each(&|_, kind, k| format!(", __global elem *d{kind}{k}"));
        let store = each(&|i, kind, k| format!("if (d{kind}{k}) d{kind}{k}[p] = g * out[{i}]"));
        let operands = if operands.is_empty() { "ulong none".into() } else { operands.join(", ") };
        let expression = if forward { ("value", (self.value)()) } else { ("slopes", (self.slopes)()) };
        format!(
            "{}{}#define ARGUMENTS {}\n#define OPERANDS {operands}\n#define LOAD(in, row, column) {}\n\
             #define GRADS {}\n#define STORE(g, out, p) {}\n{}",
            functions(c_type::<T>(), &[expression]),
            if forward { "#define FORWARD\n" } else { "" },
            1 + names.len(),
            load.join("; "),
            grads.concat(),
            store.join("; "),
            include_str!("score.cl"),
        )
    }

    /// Adds the operands to the arguments of a launch.
    fn pass<'a>(&self, mut launch: Launch<'a>, operands: &'a [Operand]) -> Launch<'a> {
        let [l, r, _] = self.counts;
        for (k, Operand { memory, number, count }) in operands.iter().enumerate() {
            launch = launch.optional(memory.as_deref()).number(*number);
            if k >= l + r {
                launch = launch.size(*count);
            }
        }
        if operands.is_empty() { launch.size(0) } else { launch }
    }

    /// The pairings of a tile.
    pub(super) fn pairings<T: Storage>(&self, queue: &Queue, tile: Tile, [x, y]: [&Memory; 2], s: &Memory) {
        let Tile { sizes: Sizes { batch, n, m, width }, start, columns } = tile;
        match self.pairing {
            Pairing::Dot => {
                let y = Matrices::new(y, m, width).from(start * width).transposed();
                let sizes = [batch, n, width, columns];
                gemm::<T>(queue, sizes, Matrices::new(x, n, width), y, (s, 0, n * columns), Onto::Nothing);
            }
            Pairing::SquaredDistance => {
                let launch = queue.launch(&squares::<T>(queue), "squares").size(tile.count()).size(n);
                let launch = launch.size(columns).size(m).size(start).size(width);
                launch.memory(x).memory(y).memory(s).over(tile.count());
            }
        }
    }

    /// Turns pairings `s` into scores, in place.
    pub(super) fn score<T: Storage>(
        &self,
        queue: &Queue,
        tile: Tile,
        operands: &[Operand],
        causal: bool,
        s: &Memory,
    ) {
        let key = Key::new::<T>("pair forward", Some((self.formula)()));
        let program = queue.program::<T>(key, || self.source::<T>(true));
        let launch = tile.launch(queue, &program, "score").size(usize::from(causal)).memory(s);
        self.pass(launch, operands).over(tile.count());
    }

    /// Turns the gradients `w` of the scores into those of the pairings `s`, in place. The gradients of
    /// the numbers and parameters are written, or added where the tile is not the first.
    pub(super) fn slopes<T: Storage>(
        &self,
        queue: &Queue,
        tile: Tile,
        operands: &[Operand],
        [s, w]: [&Memory; 2],
        grads: &[Option<Arc<Memory>>],
    ) {
        let key = Key::new::<T>("pair backward", Some((self.formula)()));
        let program = queue.program::<T>(key, || self.source::<T>(false));
        let launch = tile.launch(queue, &program, "slope").memory(s).memory(w);
        let mut launch = self.pass(launch, operands);
        let take = |len: usize| queue.take_for::<T>(&[len]);
        let all: Vec<Option<Arc<Memory>>> =
            grads.iter().map(|grad| grad.as_ref().map(|_| take(tile.count()))).collect();
        for all in &all {
            launch = launch.optional(all.as_deref());
        }
        launch.over(tile.count());
        let Tile { sizes: Sizes { batch, n, m, .. }, start, columns } = tile;
        let [l, r, _] = self.counts;
        for (k, (all, grad)) in all.iter().zip(grads).enumerate() {
            let Some((all, grad)) = all.as_ref().zip(grad.as_ref()) else { continue };
            let (read, len) = if k < l {
                (Broadcast { repeat: columns, ..Broadcast::cycled(batch * n) }, batch * n)
            } else if k < l + r {
                let len = batch * columns;
                (Broadcast { repeat: 1, len, inner: columns, hold: n }, len)
            } else {
                let len = operands[k].count;
                (Broadcast { repeat: n * columns, ..Broadcast::cycled(len) }, len)
            };
            let positions = Broadcasted { read, n: tile.count(), width: 1 };
            if columns == m {
                SUM.run::<T>(queue, all, positions, None, grad);
                continue;
            }
            let sum = take(len);
            SUM.run::<T>(queue, all, positions, None, &sum);
            if (l..l + r).contains(&k) {
                index::part::<T>(queue, "paste", len, [columns, m, start], &sum, grad);
            } else if start == 0 {
                copies::copy::<T>(queue, &sum, grad, len);
            } else {
                index::add::<T>(queue, grad, &sum, len);
            }
        }
    }

    /// The gradients of the rows, from the gradients `w` of their pairings. Those of the left rows are
    /// written, or added where the tile is not the first; those of the right rows are written.
    pub(super) fn rows_gradient<T: Storage>(
        &self,
        queue: &Queue,
        tile: Tile,
        [x, y]: [&Memory; 2],
        w: &Memory,
        [dx, dy]: [Option<&Memory>; 2],
    ) {
        let Tile { sizes: Sizes { batch, n, m, width }, start, columns } = tile;
        let accumulate = start > 0;
        match self.pairing {
            Pairing::Dot => {
                let weights = Matrices::new(w, n, columns);
                if let Some(dx) = dx {
                    let y = Matrices::new(y, m, width).from(start * width);
                    let sizes = [batch, n, columns, width];
                    let onto = if accumulate { Onto::Held } else { Onto::Nothing };
                    gemm::<T>(queue, sizes, weights, y, (dx, 0, n * width), onto);
                }
                if let Some(dy) = dy {
                    let target = (dy, start * width, m * width);
                    let x = Matrices::new(x, n, width);
                    let sizes = [batch, columns, n, width];
                    gemm::<T>(queue, sizes, weights.transposed(), x, target, Onto::Nothing);
                }
            }
            Pairing::SquaredDistance => {
                // For the rows and the others of a batch entry: the number of them in the tile; the number of
                // rows in memory, and the first of the tile; the steps in `w`.
                let side = |[rows, others]: [usize; 2],
                            [at_rows, at_others]: [[usize; 2]; 2],
                            steps: [usize; 2],
                            [x, y, dx]: [&Memory; 3],
                            accumulate: bool| {
                    let count = batch * rows * width;
                    let launch = queue.launch(&squares::<T>(queue), "squares_gradient").size(count);
                    let launch = launch.size(rows).size(others).size(width);
                    let launch = launch.sizes([at_rows[0], at_rows[1], at_others[0], at_others[1]]);
                    let launch = launch.sizes([steps[0], steps[1], 0, 0]).memory(w);
                    launch.memory(x).memory(y).memory(dx).size(usize::from(accumulate)).over(count);
                };
                if let Some(dx) = dx {
                    side([n, columns], [[n, 0], [m, start]], [columns, 1], [x, y, dx], accumulate);
                }
                if let Some(dy) = dy {
                    side([columns, n], [[m, start], [n, 0]], [1, columns], [y, x, dy], false);
                }
            }
        }
    }
}

fn squares<T: Storage>(queue: &Queue) -> Arc<Program> {
    queue.program::<T>(Key::new::<T>("pair", None), || include_str!("pair.cl").to_owned())
}

/// All left rows with the right rows from `start` on, `columns` of them.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) sizes: Sizes,
    pub(super) start: usize,
    pub(super) columns: usize,
}

impl Tile {
    /// All right rows.
    fn all(sizes: Sizes) -> Self {
        Tile { sizes, start: 0, columns: sizes.m }
    }

    /// The number of pairs.
    pub(super) fn count(self) -> usize {
        self.sizes.batch * self.sizes.n * self.columns
    }

    fn launch<'q>(self, queue: &'q Queue, program: &Program, name: &'static str) -> Launch<'q> {
        let launch = queue.launch(program, name).size(self.count()).size(self.sizes.n);
        launch.size(self.columns).size(self.sizes.m).size(self.start)
    }
}

fn sizes_of<T: Storage>(inputs: &[Array<'_, T>], counts: [usize; 3]) -> Sizes {
    let shapes: Vec<&Shape> = inputs.iter().map(|input| input.shape).collect();
    sizes(&shapes, counts).expect("shapes were checked when the node was made").0
}

impl<T: Storage> OnDevice<T> for PairForm {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let tile = Tile::all(sizes_of(inputs, self.counts));
        self.pairings::<T>(queue, tile, [&inputs[0].on(queue), &inputs[1].on(queue)], out);
        self.score::<T>(queue, tile, &operands(queue, &inputs[2..]), false, out);
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let (inputs, grads) = (reverse.inputs, reverse.grads);
        let tile = Tile::all(sizes_of(inputs, self.counts));
        let rows = [inputs[0].on(queue), inputs[1].on(queue)];
        let rows = rows.each_ref().map(|rows| &**rows);
        let [s, w] = [(); 2].map(|_| queue.take_for::<T>(&[tile.count()]));
        self.pairings::<T>(queue, tile, rows, &s);
        copies::copy::<T>(queue, reverse.g, &w, tile.count());
        self.slopes::<T>(queue, tile, &operands(queue, &inputs[2..]), [&s, &w], &grads[2..]);
        self.rows_gradient::<T>(queue, tile, rows, &w, [grads[0].as_deref(), grads[1].as_deref()]);
    }
}
