//! Elementwise formulas on the tape, and their derivatives along tangents.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::formula::map::MapFormula;
use crate::kernels::map::{Elements, MapKernel, common};
use crate::numbers::dual::{Dual, Nested};
use crate::numbers::scalar::Scalar;
use crate::tape::Tape;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View, shapes};

impl<T: Float> Tape<T> {
    /// Applies an elementwise formula; the operands broadcast.
    ///
    /// # Panics
    /// If the operands do not broadcast, or are on different tapes.
    #[track_caller]
    pub fn map<'t, F: MapFormula<K>, const K: usize>(
        &'t self,
        _formula: F,
        operands: [Var<'t, T>; K],
    ) -> Var<'t, T> {
        self.record(Op::Map(F::compiled().for_type()), &operands)
    }
}

/// A formula as an operation.
impl<T: Float> Operation<T> for MapKernel<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        self.compute(inputs, out);
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        self.pullback(inputs, g, grads);
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        Some(&self.form)
    }

    #[track_caller]
    fn jvp<'t>(
        &self,
        inputs: &[Var<'t, T>],
        _out: Var<'t, T>,
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        MapDerivative::record(self.name, self.nested, inputs, tangents)
    }
}

/// The derivative of a formula along tangents. Its inputs are the operands of the formula, then the
/// tangents of those operands that have one. Both passes evaluate the formula on nested dual numbers; the
/// reverse pass takes one partial derivative at a time.
struct MapDerivative {
    name: &'static str,
    nested: fn(&[Nested]) -> Nested,
    /// Which operands have a tangent.
    present: SmallVec<[bool; 6]>,
}

impl MapDerivative {
    #[track_caller]
    fn record<'t, T: Float>(
        name: &'static str,
        nested: fn(&[Nested]) -> Nested,
        inputs: &[Var<'t, T>],
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        let present = tangents.iter().map(Option::is_some).collect();
        let mut operands: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(inputs);
        operands.extend(tangents.iter().flatten().copied());
        inputs[0].tape().shared_operation(Arc::new(MapDerivative { name, nested, present }), &operands)
    }

    /// The operands with their tangents at output position `p`.
    fn at<T: Float>(&self, operands: &[Elements<'_, T>], p: usize) -> SmallVec<[Nested; 6]> {
        let (operands, tangents) = operands.split_at(self.present.len());
        let mut tangents = tangents.iter();
        let read = |e: &Elements<'_, T>| e.data[e.read.at(p)].to_f64();
        let nested = |(operand, &present): (&Elements<'_, T>, &bool)| {
            let tangent = if present { tangents.next().map_or(0.0, read) } else { 0.0 };
            Dual {
                value: Dual { value: read(operand), partials: [tangent] },
                partials: [Dual::constant(0.0)],
            }
        };
        operands.iter().zip(&self.present).map(nested).collect()
    }
}

impl<T: Float> Operation<T> for MapDerivative {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::new(inputs, &shape);
        for (p, y) in out.iter_mut().enumerate() {
            *y = T::nearest((self.nested)(&self.at(&operands, p)).value.partials[0]);
        }
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::new(inputs, &shape);
        grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
        let mut add = |i: usize, p: usize, x: f64| {
            if let Some(grad) = grads[i].as_deref_mut() {
                let sum = &mut grad[operands[i].read.at(p)];
                *sum = *sum + T::nearest(x);
            }
        };
        for (p, g) in g.iter().enumerate() {
            let mut x = self.at(&operands, p);
            let mut of_tangent = x.len();
            for k in 0..x.len() {
                x[k].partials = [Dual::constant(1.0)];
                let Dual { value: first, partials: [second] } = (self.nested)(&x).partials[0];
                x[k].partials = [Dual::constant(0.0)];
                add(k, p, g.to_f64() * second);
                if self.present[k] {
                    add(of_tangent, p, g.to_f64() * first);
                    of_tangent += 1;
                }
            }
        }
    }
}
