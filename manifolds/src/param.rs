//! Parameters: tables of points to be learned.

use cotangent_engine::{Float, GradientView, Gradients, Leaf, ParamId, Shape, Tape, Tensor, Var};

use crate::manifold::{Manifold, OffManifold};
use crate::point::{Point, contains};
use crate::steps::{FactorCount, Steps};

/// A tensor of points that an optimiser moves on their manifold. Lives outside the tape.
///
/// Every parameter has an identity of its own, by which gradients, the state of optimisers and averages
/// are kept. A clone is another parameter that starts at the same points: it gets gradients and steps of
/// its own. So does a clone of a layer or of a model. To go back to earlier weights with the same
/// parameters, keep [`state`](crate::Module::state) and restore it by
/// [`load_state`](crate::Module::load_state).
///
/// Weights are shared (tied) by using one parameter, or one layer, in several places. On a tape it is
/// one variable, whose gradient is the sum over these places. If a module shows it in several places, it
/// is stepped only once: see [`Module`](crate::Module).
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::{Euclidean, Param};
/// let a = Param::new("a", Euclidean, Tensor::new([1], vec![3.0_f64]));
/// let mut b = a.clone();
/// *b.value_mut() = Tensor::new([1], vec![30.0]);
/// let tape = Tape::new();
/// let sum = (a.on(&tape) + b.on(&tape)).sum();
/// assert_eq!(sum.item(), 33.0);
/// ```
#[derive(Debug)]
pub struct Param<M, T: Float = f32> {
    id: ParamId,
    name: String,
    manifold: M,
    value: Tensor<T>,
    /// Whether the rows are known to be points.
    verified: bool,
}

/// Another parameter at the same points, under the same name.
impl<M: Clone, T: Float> Clone for Param<M, T> {
    fn clone(&self) -> Self {
        Param {
            id: ParamId::unique(),
            name: self.name.clone(),
            manifold: self.manifold.clone(),
            value: self.value.clone(),
            verified: self.verified,
        }
    }
}

impl<M: Manifold, T: Float> Param<M, T> {
    /// A parameter; its name appears in messages and files. The rows of `value` are taken as points.
    pub fn new(name: impl Into<String>, manifold: M, value: Tensor<T>) -> Self {
        Param { id: ParamId::unique(), name: name.into(), manifold, value, verified: false }
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
    /// Its points, for writing. They are checked again before the next step.
    pub fn value_mut(&mut self) -> &mut Tensor<T> {
        self.verified = false;
        &mut self.value
    }

    /// Its points, for callers that only write valid points: they are not checked again.
    pub fn points_mut(&mut self) -> &mut Tensor<T> {
        &mut self.value
    }

    /// Checks that every row is a point. Costs nothing if the parameter was not written to since the
    /// last check.
    ///
    /// # Errors
    /// The first row that is not, and by how much.
    pub fn verify(&mut self) -> Result<(), (usize, OffManifold)> {
        if !self.verified {
            contains(&self.manifold, &self.value)?;
            self.verified = true;
        }
        Ok(())
    }

    /// The parameter's points as variables of a tape. Nothing is copied.
    pub fn on<'t>(&self, tape: &'t Tape<T>) -> Point<M, Var<'t, T>> {
        Point::new(self.manifold, tape.parameter(self.id, &self.value))
    }

    /// Its name in messages and files: its path within a module, or its own name if that path is empty.
    pub fn called<'a>(&'a self, path: &'a str) -> &'a str {
        if path.is_empty() { &self.name } else { path }
    }
}

/// A parameter whatever its manifold. Code for it is compiled once, not for each manifold and each module.
pub trait AnyParam<T: Float> {
    /// Its identity on tapes.
    fn id(&self) -> ParamId;
    /// Its name in messages and files: see [`Param::called`].
    fn called<'a>(&'a self, path: &'a str) -> &'a str;
    /// Its points, one per row.
    fn value(&self) -> &Tensor<T>;
    /// Its points, for writing: see [`Param::value_mut`].
    fn value_mut(&mut self) -> &mut Tensor<T>;
    /// Its manifold as `{:?}` prints it.
    fn manifold_text(&self) -> String;
    /// The factors of its manifold, and the moments that optimisers keep for a row.
    fn factor_count(&self) -> FactorCount;
    /// Checks that all rows are points of its manifold.
    ///
    /// # Errors
    /// The first row that is not, and by how much.
    fn contains(&self, rows: &Tensor<T>) -> Result<(), (usize, OffManifold)>;
}

impl<M: Steps, T: Float> AnyParam<T> for Param<M, T> {
    fn id(&self) -> ParamId {
        self.id
    }
    fn called<'a>(&'a self, path: &'a str) -> &'a str {
        Param::called(self, path)
    }
    fn value(&self) -> &Tensor<T> {
        &self.value
    }
    fn value_mut(&mut self) -> &mut Tensor<T> {
        Param::value_mut(self)
    }
    fn manifold_text(&self) -> String {
        format!("{:?}", self.manifold)
    }
    fn factor_count(&self) -> FactorCount {
        FactorCount::new(&self.manifold, self.value.width())
    }
    fn contains(&self, rows: &Tensor<T>) -> Result<(), (usize, OffManifold)> {
        contains(&self.manifold, rows)
    }
}

impl<M: Manifold, T: Float> Leaf<T> for Param<M, T> {
    fn shape(&self) -> Shape {
        self.value.shape().clone()
    }

    fn gradient<'a>(&self, gradients: &'a Gradients<'_, T>) -> Option<GradientView<'a, T>> {
        gradients.param(self.id)
    }
}
