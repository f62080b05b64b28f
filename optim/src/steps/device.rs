//! Steps on a device, by operations of a tape there. Points, momenta and moments stay on the device.

use std::ops::Range;

use cotangent_engine::{Device, Elementwise, Float, Scalar, Tape, Tensor, Var};
use cotangent_manifolds::steps::Motion;
use cotangent_manifolds::{FactorVisitor, Module, Param, Path, Steps, Visitor};

use crate::algorithm::{Algorithm, FactorOnTape};
use crate::gradient_source::GradientSource;
use crate::state::State;
use crate::steps::host::Part;

/// The first operand where the third is 0, the second where it is NaN: see [`flag`].
struct Unless;

impl Elementwise for Unless {
    fn name(&self) -> &'static str {
        "unless"
    }
    fn eval<S: Scalar>(&self, operands: &[S]) -> S {
        S::select(operands[2].lt(S::one()), operands[0], operands[1])
    }
}

/// Some columns of the given rows of a table, or of all rows: `[rows, columns]`.
fn read<'t, T: Float>(
    tape: &'t Tape<T>,
    table: &Tensor<T>,
    rows: Option<&[u32]>,
    width: usize,
    columns: &Range<usize>,
) -> Var<'t, T> {
    let mut v = tape.constant(table).reshape([table.len() / width.max(1), width]);
    if let Some(rows) = rows {
        v = v.gather(rows);
    }
    if *columns == (0..width) { v } else { v.slice(1, columns.clone()) }
}

/// The tables of a parameter in one step on a device.
pub(crate) struct Tables<'a, T: Float> {
    pub(crate) points: &'a mut Tensor<T>,
    pub(crate) state: Option<&'a mut State<T>>,
    /// The rows that have a gradient; `None` for all.
    pub(crate) rows: Option<&'a [u32]>,
    /// The gradients of these rows.
    pub(crate) gradient: Tensor<T>,
    pub(crate) scale: f64,
    pub(crate) moments_per_row: usize,
}

impl<T: Float> Tables<'_, T> {
    /// Moves the parameter. If a result of a row would not be finite, the row and its state stay
    /// unchanged. Returns 0 for each row that moved and NaN for each row that did not: `[rows, 1]`.
    pub(crate) fn step<A: Algorithm, M: Steps>(
        self,
        algorithm: A,
        manifold: &M,
        rate: f64,
        motion: Motion,
        device: Device,
    ) -> Tensor<T> {
        let tape = Tape::<T>::with_device(device);
        let mut step = StepFactors {
            tape: &tape,
            algorithm,
            rate,
            motion,
            tables: &self,
            moments: 0,
            moved: Vec::new(),
        };
        manifold.factors(0..self.points.width(), &mut step);
        let moved = step.moved;
        let flag = moved.iter().map(|moved| moved.flag).reduce(|a, b| a + b).expect("a factor at least");
        let kept = |new: Var<'_, T>, old: Var<'_, T>| tape.elementwise(Unless, &[new, old, flag]).to_tensor();
        let kept_if_any = |new: Option<_>, old: Option<_>| new.zip(old).map(|(new, old)| kept(new, old));
        let written: Vec<_> = moved
            .into_iter()
            .map(|Moved { part, old, new, .. }| {
                let moments = [0, 1].map(|k| kept_if_any(new.moments[k], old.moments[k]));
                (part, kept(new.points, old.points), kept_if_any(new.momenta, old.momenta), moments)
            })
            .collect();
        let flag = flag.to_tensor();
        // The tape shares the tables. While it lives, writing to one would copy it.
        drop(tape);
        let Tables { points: table, mut state, rows, .. } = self;
        for (part, points, momenta, moments) in written {
            table.set_rows(rows, part.columns.clone(), &points);
            let Some(state) = state.as_deref_mut() else { continue };
            if let Some(momenta) = momenta {
                state.momenta.set_rows(rows, part.columns, &momenta);
            }
            for (table, moments) in state.moments.iter_mut().zip(moments) {
                if let Some(moments) = moments {
                    table.set_rows(rows, part.moments.clone(), &moments);
                }
            }
        }
        flag
    }
}

/// Moves a parameter factor by factor.
struct StepFactors<'a, 't, A, T: Float> {
    tape: &'t Tape<T>,
    algorithm: A,
    rate: f64,
    motion: Motion,
    tables: &'a Tables<'a, T>,
    /// The number of moments per row of the factors before this one.
    moments: usize,
    moved: Vec<Moved<'t, T>>,
}

/// A factor before and after a step.
struct Moved<'t, T: Float> {
    part: Part,
    old: FactorOnTape<'t, T>,
    new: FactorOnTape<'t, T>,
    /// See [`flag`].
    flag: Var<'t, T>,
}

/// 0, or NaN for rows in which something is not finite: `[rows, 1]`.
fn flag<'t, T: Float>(all: impl IntoIterator<Item = Var<'t, T>>, n: usize) -> Var<'t, T> {
    let row_sums = |v: Var<'t, T>| (v * 0.0).reshape([n, v.shape().elements() / n.max(1)]).sum_axis(-1);
    all.into_iter().map(row_sums).reduce(|a, b| a + b).expect("points at least").reshape([n, 1])
}

impl<A: Algorithm, T: Float> FactorVisitor for StepFactors<'_, '_, A, T> {
    fn factor<M: Steps>(&mut self, manifold: &M, columns: Range<usize>) {
        let before = self.moments;
        self.moments += manifold.moments(columns.len());
        let part = Part { columns, moments: before..self.moments };
        let Tables { points, state, rows, gradient, scale, moments_per_row } = self.tables;
        let (tape, width, rows, state) = (self.tape, points.width(), *rows, state.as_deref());
        let mut gradients = read(tape, gradient, None, width, &part.columns);
        if *scale != 1.0 {
            gradients = gradients * *scale;
        }
        let moments = |k: usize| state.and_then(|state| state.moments.get(k));
        let old = FactorOnTape {
            points: read(tape, points, rows, width, &part.columns),
            momenta: state.map(|state| read(tape, &state.momenta, rows, width, &part.columns)),
            moments: [0, 1]
                .map(|k| moments(k).map(|table| read(tape, table, rows, *moments_per_row, &part.moments))),
            gradients,
        };
        let steps = state.map_or(0, |state| state.steps);
        let new = self.algorithm.step_on_tape(manifold, self.rate, self.motion, steps, old);
        let written = [Some(new.points), new.momenta, new.moments[0], new.moments[1]];
        let flag = flag(written.into_iter().flatten(), old.points.shape()[0]);
        self.moved.push(Moved { part, old, new, flag });
    }
}

/// Whether all elements of some tensors are finite. One number is read back.
pub(crate) fn all_finite<'a, T: Float>(
    device: Device,
    tensors: impl IntoIterator<Item = &'a Tensor<T>>,
) -> bool {
    let tape = Tape::<T>::with_device(device);
    let sums = tensors.into_iter().map(|tensor| (tape.constant(tensor) * 0.0).sum());
    sums.reduce(|a, b| a + b).is_none_or(|sum| sum.item() == 0.0)
}

/// The Euclidean norm of all elements of a tensor. One number is read back.
pub(crate) fn length<T: Float>(device: Device, tensor: &Tensor<T>) -> f64 {
    let tape = Tape::<T>::with_device(device);
    in_range(tape.constant(tensor).reshape([tensor.len()]).norm_axis(0).item())
}

/// A norm as the processor finds it, which sums squares: infinite where its square overflows.
fn in_range(norm: f64) -> f64 {
    if (norm * norm).is_finite() { norm } else { norm * norm }
}

/// See [`clip::norm`](crate::clip::norm). One number is read back, and more only if it is not finite.
///
/// # Errors
/// If the norm is not finite: returns the first parameter at which it is not, and the norm.
pub(crate) fn norm<T: Float, N: Module<T>>(
    path: &mut Path,
    module: &N,
    gradients: &impl GradientSource<T>,
) -> Result<f64, (String, f64)> {
    struct OfParams<'a, 't, T: Float, G> {
        tape: &'t Tape<T>,
        gradients: &'a G,
        /// The norms of the factors of all parameters.
        norms: Vec<Var<'t, T>>,
        /// Each parameter, and the number of factors up to and including its last one.
        names: Vec<(String, usize)>,
    }
    impl<T: Float, G: GradientSource<T>> Visitor<T> for OfParams<'_, '_, T, G> {
        fn param<M: Steps>(&mut self, path: &str, param: &Param<M, T>) {
            let (points, width) = (param.value(), param.value().width());
            let Some((rows, gradient)) = self.gradients.tensor(param.id(), width) else { return };
            if !gradient.is_empty() {
                let norms = &mut self.norms;
                let mut factors = OfFactors { tape: self.tape, points, rows, gradient, norms };
                param.manifold().factors(0..width, &mut factors);
                self.names.push((param.called(path).to_owned(), self.norms.len()));
            }
        }
    }
    struct OfFactors<'a, 't, T: Float> {
        tape: &'t Tape<T>,
        points: &'a Tensor<T>,
        rows: Option<&'a [u32]>,
        gradient: Tensor<T>,
        norms: &'a mut Vec<Var<'t, T>>,
    }
    impl<T: Float> FactorVisitor for OfFactors<'_, '_, T> {
        fn factor<M: Steps>(&mut self, manifold: &M, columns: Range<usize>) {
            let width = self.points.width();
            let x = read(self.tape, self.points, self.rows, width, &columns);
            let g = read(self.tape, &self.gradient, None, width, &columns);
            let norms = manifold.norm(&x, &manifold.egrad_to_rgrad(&x, &g));
            // Squares are summed in `f64`, because in `f32` the square of a norm that needs clipping may
            // overflow.
            self.norms.push(norms.reshape([norms.shape().elements()]).norm_axis(0).reshape([1]));
        }
    }
    let tape = Tape::with_device(gradients.device());
    let mut collected = OfParams { tape: &tape, gradients, norms: Vec::new(), names: Vec::new() };
    module.visit(path, &mut collected);
    if collected.norms.is_empty() {
        return Ok(0.0);
    }
    let norm = in_range(Var::concat(&collected.norms, 0).norm_axis(0).item());
    if norm.is_finite() {
        return Ok(norm);
    }
    let so_far = |factors: usize| in_range(Var::concat(&collected.norms[..factors], 0).norm_axis(0).item());
    let not_finite = collected.names.iter().find(|(_, factors)| !so_far(*factors).is_finite());
    Err((not_finite.expect("the last one, with all factors").0.clone(), norm))
}
