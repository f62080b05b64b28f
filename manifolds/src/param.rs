//! Parameters: tables of points to be learned.

use cotangent_engine::{Float, ParamId, Tape, Tensor, Var};

use crate::{Manifold, Point};

/// A tensor of points that an optimiser moves on their manifold. Lives outside the tape.
#[derive(Clone, Debug)]
pub struct Param<M, T: Float = f32> {
    id: ParamId,
    name: String,
    manifold: M,
    value: Tensor<T>,
}

impl<M: Manifold, T: Float> Param<M, T> {
    /// A parameter; its name appears in messages and files. The rows of `value` are taken as points.
    pub fn new(name: impl Into<String>, manifold: M, value: Tensor<T>) -> Self {
        Param { id: ParamId::unique(), name: name.into(), manifold, value }
    }

    /// Its identity on tapes.
    pub fn id(&self) -> ParamId {
        self.id
    }
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its manifold.
    pub fn manifold(&self) -> &M {
        &self.manifold
    }
    /// Its points, one per row.
    pub fn value(&self) -> &Tensor<T> {
        &self.value
    }
    /// Its points, for writing.
    pub fn value_mut(&mut self) -> &mut Tensor<T> {
        &mut self.value
    }
}

/// Puts parameters on a tape.
pub trait ParamOnTape<T: Float> {
    /// The parameter's points as a variable. Nothing is copied.
    fn point<'t, M: Manifold>(&'t self, param: &Param<M, T>) -> Point<M, Var<'t, T>>;
}

impl<T: Float> ParamOnTape<T> for Tape<T> {
    fn point<'t, M: Manifold>(&'t self, param: &Param<M, T>) -> Point<M, Var<'t, T>> {
        Point::new(param.manifold, self.parameter(param.id, &param.value))
    }
}
