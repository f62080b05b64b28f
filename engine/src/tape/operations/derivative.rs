//! Forward mode of row formulas: the derivative of a formula's result along tangents of its operands.
//!
//! With `v̇` the tangents of the basis vectors and `Ġ` those of the invariants, the coefficients have
//! tangents `ȧ = (∂a/∂G) Ġ`, from the formula on dual numbers, and the result has the tangent
//! `Σ ȧ_b v_b + a_b v̇_b`. Its reverse pass, which gives Hessian-vector products, takes the tangents of
//! the formula's cotangents. Both are programs, which run on several rows at a time. All else is computed
//! row by row in `f64`: second derivatives are meant for checks and small problems, and are not fast.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::formula::functions::Moving;
use crate::formula::plain::{Basis, Plain};
use crate::formula::plan::RowPlan;
use crate::formula::sums::{BODY, Sum, leaves, region_of};
use crate::kernels::gram::shares::{Shares, Surveyed};
use crate::kernels::gram::survey_one;
use crate::kernels::operands::{Operands, row_shape};
use crate::numbers::dual::Dual;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;
use crate::tensor::Tensor;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View, shapes};

/// Records the derivative of a row formula.
#[track_caller]
#[inline(never)]
pub(crate) fn record<'t, T: Float>(
    plan: &'static RowPlan,
    inputs: &[Var<'t, T>],
    tangents: &[Option<Var<'t, T>>],
) -> Var<'t, T> {
    let mut operands: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(inputs);
    operands.extend(tangents.iter().flatten().copied());
    let present = tangents.iter().map(Option::is_some).collect();
    inputs[0].tape().shared_operation(Arc::new(RowDerivative { plan, present }), &operands)
}

/// The derivative as an operation. Its inputs are the operands of the formula, then the tangents of those
/// operands that have one.
struct RowDerivative {
    plan: &'static RowPlan,
    /// Which operands have a tangent.
    present: Vec<bool>,
}

/// Rows whose scalar functions are evaluated side by side.
const TOGETHER: usize = 16;

/// The positions at which these groups of rows begin.
fn starts() -> impl Iterator<Item = usize> {
    (0..).step_by(TOGETHER)
}

/// One row, with tangents.
struct Row {
    basis: Basis<Moving>,
    params: Vec<Moving>,
    invariants: Vec<Moving>,
    /// See [`Surveyed`].
    products: Vec<[Moving; 4]>,
}

/// Cotangents of a row's operands. The value of a dual number is the cotangent of the operand's tangent,
/// its partial is the cotangent of the operand itself.
struct Cotangents {
    /// For each vector, coordinate by coordinate.
    vectors: Vec<Vec<Moving>>,
    params: Vec<Moving>,
}

const ZERO: Moving = Dual { value: 0.0, partials: [0.0] };

/// A number whose tangent is 0.
fn constant(value: f64) -> Moving {
    Dual { value, partials: [0.0] }
}

impl RowDerivative {
    /// The input that holds the tangent of operand `i`, if it has one.
    fn tangent(&self, i: usize) -> Option<usize> {
        let before = self.present[..i].iter().filter(|p| **p).count();
        self.present[i].then_some(self.present.len() + before)
    }

    /// Whether input `i` is a vector or the tangent of one.
    fn is_vector(&self, i: usize) -> bool {
        match i.checked_sub(self.present.len()) {
            None => i < self.plan.vectors,
            Some(k) => {
                let operand = self.present.iter().enumerate().filter(|(_, p)| **p).nth(k);
                operand.is_some_and(|(i, _)| i < self.plan.vectors)
            }
        }
    }

    /// The vectors, coordinate by coordinate, and the parameters of a row position.
    fn read<T: Float>(&self, operands: &Operands<'_, T>, p: usize) -> (Vec<Vec<Moving>>, Vec<Moving>) {
        let (all, width) = (&operands.all, operands.width);
        let vector = |i: usize| {
            let tangent = self.tangent(i).map(|j| all[j].row(p, width));
            let slope = |c: usize| tangent.map_or(0.0, |t| t[c].to_f64());
            let coordinates = all[i].row(p, width).iter().enumerate();
            coordinates.map(|(c, x)| Dual { value: x.to_f64(), partials: [slope(c)] }).collect()
        };
        let param = |i: usize| Dual {
            value: all[i].param(p),
            partials: [self.tangent(i).map_or(0.0, |j| all[j].param(p))],
        };
        let v = self.plan.vectors;
        ((0..v).map(vector).collect(), (v..self.present.len()).map(param).collect())
    }

    fn row(&self, vectors: &[Vec<Moving>], params: Vec<Moving>, epsilon: f64) -> Row {
        let (plan, metric) = (self.plan, self.plan.metric);
        let basis = Basis::new(plan, vectors);
        // Values of margins and wedges are taken from the kernel, which computes them more accurately than
        // the sums of products here. Only the tangents are from those.
        let values: Vec<Vec<f64>> = vectors.iter().map(|v| v.iter().map(|x| x.value).collect()).collect();
        let param_values: Vec<f64> = params.iter().map(|x| x.value).collect();
        let rows: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let accurate = survey_one(plan, &rows, &param_values);

        let row = Plain { basis: &basis, inputs: vectors, params: &params, epsilon };
        let (mut invariants, mut products) = (Vec::new(), Vec::new());
        for (invariant, accurate) in plan.invariants.iter().zip(accurate) {
            let (mut value, mut parts) = invariant.find(metric, &row);
            match invariant.sum() {
                Sum::Exact(_, _, Some(_)) | Sum::Products(_) => value.value = accurate,
                // Second derivatives would need squares; they are NaN.
                Sum::Norm(_) if value.value != 0.0 => parts[0].partials = [f64::NAN],
                _ => {}
            }
            invariants.push(value);
            products.push(parts);
        }
        Row { basis, params, invariants, products }
    }

    /// Some rows, with tangents.
    fn rows<T: Float>(&self, operands: &Operands<'_, T>, positions: Range<usize>) -> Vec<Row> {
        let row = |p: usize| {
            let (vectors, params) = self.read(operands, p);
            self.row(&vectors, params, T::EPSILON)
        };
        positions.map(row).collect()
    }

    /// Adds the cotangents of the operands at a row position, coordinate by coordinate, to their sums.
    fn add<T: Float>(
        &self,
        operands: &Operands<'_, T>,
        position: usize,
        cotangents: impl Iterator<Item = Vec<Moving>>,
        sums: &mut [Option<Vec<f64>>],
    ) {
        for (i, cotangents) in cotangents.enumerate() {
            let row_len = if i < self.plan.vectors { operands.width } else { 1 };
            let mut add = |j: usize, c: usize, x: f64| {
                if let Some(sums) = &mut sums[j] {
                    sums[operands.all[j].rows.at(position) * row_len + c] += x;
                }
            };
            for (c, w) in cotangents.iter().enumerate() {
                add(i, c, w.partials[0]);
                if let Some(j) = self.tangent(i) {
                    add(j, c, w.value);
                }
            }
        }
    }

    /// The tangent of the result, from the outputs of the scalar function.
    fn result(&self, row: &Row, outputs: &[Moving]) -> Vec<f64> {
        if !self.plan.vector {
            return vec![outputs[0].partials[0]];
        }
        let combine = |v: &[Moving]| v.iter().zip(outputs).fold(ZERO, |sum, (&v, &a)| sum + a * v);
        row.basis.coordinates().map(|(_, v)| combine(v).partials[0]).collect()
    }

    /// The invariants of a row, and the cotangents of the scalar function's outputs: ⟨g, v_b⟩.
    fn arguments(&self, row: &Row, g: &[f64]) -> Vec<Moving> {
        let upstream = (0..self.plan.outputs).map(|b| {
            if !self.plan.vector {
                return constant(g[0]);
            }
            row.basis.coordinates().zip(g).fold(ZERO, |sum, ((_, v), &g)| sum + v[b] * constant(g))
        });
        row.invariants.iter().copied().chain(upstream).collect()
    }

    /// The cotangents of L = Σ ȧ_b ⟨g, v_b⟩ + a_b ⟨g, v̇_b⟩. With the dual numbers u_b = ⟨g,
    /// v_b⟩, those of the invariants are Σ_b u_b ∂a_b/∂G. `results`: the outputs and these.
    fn cotangents(&self, row: &Row, g: &[f64], results: &[Moving]) -> Cotangents {
        let (plan, width) = (self.plan, row.basis.width);
        let (outputs, invariant_cotangents) = results.split_at(plan.outputs);
        let mut shares = Shares::new();
        let surveyed = Surveyed {
            values: &row.invariants,
            products: &row.products,
            kappa: row.params.first().copied().unwrap_or(ZERO),
            outputs,
            cotangents: invariant_cotangents,
        };
        shares.compute(plan, surveyed);
        let mut vectors = vec![vec![ZERO; width]; plan.vectors];
        for (i, vector) in vectors.iter_mut().enumerate() {
            for (x, (c, v)) in vector.iter_mut().zip(row.basis.coordinates()) {
                let region = if plan.layout.has_end { region_of(plan.metric, c, width) } else { BODY };
                for (a, &v) in v.iter().enumerate() {
                    if leaves(plan.metric, region) && plan.layout.receives[i][a] {
                        *x = *x + shares.of_basis[region][i][a] * v;
                    }
                }
                if plan.vector {
                    *x = *x + shares.of_upstream[region][i] * constant(g[c]);
                }
            }
            vector[0] = vector[0] + shares.received.ends[0][i];
            vector[width - 1] = vector[width - 1] + shares.received.ends[1][i];
        }
        Cotangents { vectors, params: shares.received.params[..row.params.len()].to_vec() }
    }
}

impl<T: Float> Operation<T> for RowDerivative {
    fn name(&self) -> &'static str {
        self.plan.name
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        row_shape(inputs, &|i| self.is_vector(i), self.plan.vector)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let operands = Operands::new(inputs, &|i| self.is_vector(i));
        let row_len = if self.plan.vector { operands.width } else { 1 };
        for (start, out) in starts().zip(out.chunks_mut(TOGETHER * row_len)) {
            let rows = self.rows(&operands, start..start + out.len() / row_len);
            let outputs = self.plan.outputs_along(rows.len(), |k, row| rows[row].invariants[k]);
            let outputs = outputs.chunks_exact(self.plan.outputs);
            for ((row, outputs), out) in rows.iter().zip(outputs).zip(out.chunks_exact_mut(row_len)) {
                for (y, x) in out.iter_mut().zip(self.result(row, outputs)) {
                    *y = T::nearest(x);
                }
            }
        }
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let operands = Operands::new(inputs, &|i| self.is_vector(i));
        let width = operands.width;
        // Operands that several rows read have sums for gradients.
        let mut sums: Vec<Option<Vec<f64>>> =
            grads.iter().map(|grad| grad.as_ref().map(|grad| vec![0.0; grad.len()])).collect();
        let row_len = if self.plan.vector { width } else { 1 };
        for (start, g) in starts().zip(g.chunks(TOGETHER * row_len)) {
            let rows = self.rows(&operands, start..start + g.len() / row_len);
            let g: Vec<f64> = g.iter().map(|g| g.to_f64()).collect();
            let with_g = || rows.iter().zip(g.chunks_exact(row_len));
            let arguments: Vec<_> = with_g().map(|(row, g)| self.arguments(row, g)).collect();
            let results = self.plan.cotangents_along(rows.len(), |k, row| arguments[row][k]);
            let results = results.chunks_exact(self.plan.outputs + self.plan.invariants.len());
            for (l, ((row, g), results)) in with_g().zip(results).enumerate() {
                let Cotangents { vectors, params } = self.cotangents(row, g, results);
                self.add(
                    &operands,
                    start + l,
                    vectors.into_iter().chain(params.into_iter().map(|w| vec![w])),
                    &mut sums,
                );
            }
        }
        for (grad, sums) in grads.iter_mut().flatten().zip(sums.into_iter().flatten()) {
            grad.iter_mut().zip(sums).for_each(|(to, sum)| *to = T::nearest(sum));
        }
    }
}

/// A row formula's derivative along tangents of its vectors, without a tape. The parameters are constants.
#[track_caller]
pub(crate) fn from_tensors<T: Float>(
    plan: &'static RowPlan,
    vectors: &[&Tensor<T>],
    tangents: &[&Tensor<T>],
    constants: &[f64],
) -> Tensor<T> {
    let mut present = vec![true; plan.vectors];
    present.resize(plan.vectors + constants.len(), false);
    let operation = RowDerivative { plan, present };
    let number = Shape::default();
    let rounded: Vec<[T; 1]> = constants.iter().map(|&value| [T::nearest(value)]).collect();
    let views: SmallVec<[View<'_, T>; 6]> = vectors
        .iter()
        .map(|t| View { shape: t.shape(), data: t.data(), constant: None })
        .chain(constants.iter().zip(&rounded).map(|(&value, rounded)| View {
            shape: &number,
            data: rounded,
            constant: Some(value),
        }))
        .chain(tangents.iter().map(|t| View { shape: t.shape(), data: t.data(), constant: None }))
        .collect();
    let shapes = shapes(&views);
    let shape = match Operation::<T>::shape(&operation, &shapes) {
        Ok(shape) => shape,
        Err(message) => panic!("{}: {message}", plan.name),
    };
    let mut out = Tensor::zeros(shape);
    operation.forward(&views, out.data_mut(), &mut []);
    out
}
