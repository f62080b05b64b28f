//! Modules: anything with parameters, and the walk over these in a fixed order under fixed names.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path as File;

/// Implements [`trait@Module`] from the fields of a struct or an enum: see its documentation.
pub use cotangent_derive::Module;
pub use cotangent_engine::Float;
use cotangent_engine::files::{FileError, safetensors};
use cotangent_engine::{ParamId, Tensor};

use crate::param::{AnyParam, Param};
use crate::steps::Steps;

/// The state of a walk over parameters: names from the outside in, joined by dots, as in
/// `encoder.0.weight`; and the parameters already shown, because each is shown once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    names: String,
    shown: HashSet<ParamId>,
}

impl Path {
    /// The outermost module itself.
    pub fn root() -> Self {
        Path::default()
    }

    /// Goes back to the outermost module, for another walk. The path's memory is used again.
    pub fn restart(&mut self) {
        self.names.clear();
        self.shown.clear();
    }

    /// The names so far.
    pub fn as_str(&self) -> &str {
        &self.names
    }

    /// Does `work` one name further in.
    pub fn within<R>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        let outside = self.enter(name);
        let result = work(self);
        self.names.truncate(outside);
        result
    }

    /// Goes one name further in; returns how long the path was before. Not inlined, because walks are
    /// compiled for every module and visitor.
    #[inline(never)]
    fn enter(&mut self, name: &str) -> usize {
        let outside = self.names.len();
        if outside > 0 {
            self.names.push('.');
        }
        self.names.push_str(name);
        outside
    }

    /// As [`within`](Self::within), for the member of this number.
    pub fn within_number<R>(&mut self, number: usize, work: impl FnOnce(&mut Self) -> R) -> R {
        let outside = self.enter_number(number);
        let result = work(self);
        self.names.truncate(outside);
        result
    }

    #[inline(never)]
    fn enter_number(&mut self, number: usize) -> usize {
        // The digits are on the stack: a walk allocates only when the path gets longer.
        let (mut digits, mut first, mut remaining) = ([0; 20], 20, number);
        loop {
            first -= 1;
            digits[first] = b'0' + (remaining % 10) as u8;
            remaining /= 10;
            if remaining == 0 {
                break;
            }
        }
        self.enter(std::str::from_utf8(&digits[first..]).expect("digits"))
    }
}

/// Receives every parameter of a module, for work that depends on their manifolds. For all other work
/// [`Module::each`] is shorter.
pub trait Visitor<T: Float> {
    /// A parameter and its path; the path of a parameter that is a module by itself is empty.
    fn param<M: Steps>(&mut self, path: &str, param: &Param<M, T>);
}

/// As [`Visitor`], and may change the parameters.
pub trait VisitorMut<T: Float> {
    /// A parameter and its path; the path of a parameter that is a module by itself is empty.
    fn param<M: Steps>(&mut self, path: &str, param: &mut Param<M, T>);
}

/// Something with parameters: a layer, a model, a single [`Param`]; also vectors, arrays, boxes, options
/// and pairs of such. `#[derive(Module)]` implements it for a struct or an enum.
///
/// A walk shows every parameter once. A module may show a parameter that it uses in several places (tied
/// weights) in each of them: the parameter goes by the first of these paths, and whatever is done to all
/// parameters is done to it once. Weights of a struct are tied by using one field in two places.
///
/// ```
/// # extern crate cotangent_manifolds as cotangent;
/// use cotangent_engine::{Float, Tensor};
/// use cotangent_manifolds::{Euclidean, Module, Param};
///
/// #[derive(Module)]
/// struct Linear<M, T: Float> {
///     weight: Param<Euclidean, T>,
///     bias: Param<M, T>,
/// }
///
/// let layer = |n: usize| Linear {
///     weight: Param::new("weight", Euclidean, Tensor::<f32>::zeros([n, n])),
///     bias: Param::new("bias", Euclidean, Tensor::zeros([1, n])),
/// };
/// let model = vec![layer(2), layer(3)];
/// let names: Vec<String> = model.state().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0.weight", "0.bias", "1.weight", "1.bias"]);
/// assert_eq!(model.count(), 4 + 2 + 9 + 3);
/// ```
///
/// # What `#[derive(Module)]` does
///
/// It visits the fields in their order, each under its name; a field without a name goes by its number.
/// Every field has to be a module. Manifolds, numbers, `bool` and `String` are modules without parameters.
/// Mark other fields that hold no parameters, such as an activation, `#[module(skip)]`.
///
/// In an enum it visits the fields of the variant that the value has. Paths leave out the variant's name,
/// and the number of a variant's only field: `Encoder::Gru(gru)` has the parameters of `gru`, under the same
/// names.
///
/// If a type parameter has the bound `Float`, it is the element type of the parameters. Without one, the
/// fields' types determine it.
///
/// The generated code uses the path `::cotangent::module`. If `cotangent` goes by another name in your crate,
/// write that on the type: `#[module(crate = other_name)]`.
pub trait Module<T: Float> {
    /// Shows every parameter, always in the same order.
    fn visit<V: Visitor<T>>(&self, path: &mut Path, visitor: &mut V);

    /// As [`visit`](Self::visit), for writing.
    fn visit_mut<V: VisitorMut<T>>(&mut self, path: &mut Path, visitor: &mut V);

    /// Calls `show` with every parameter and its path, whatever its manifold.
    fn each(&self, mut show: impl FnMut(&str, &dyn AnyParam<T>)) {
        self.visit(&mut Path::root(), &mut Each(&mut show));
    }

    /// As [`each`](Self::each), for writing.
    fn each_mut(&mut self, mut show: impl FnMut(&str, &mut dyn AnyParam<T>)) {
        self.visit_mut(&mut Path::root(), &mut EachMut(&mut show));
    }

    /// Number of coordinates of all parameters.
    fn count(&self) -> usize {
        self.state().iter().map(|(_, value)| value.len()).sum()
    }

    /// The parameters' values by name. Nothing is copied. A parameter that is a module by itself goes by
    /// its own name.
    fn state(&self) -> Vec<(String, Tensor<T>)> {
        let mut values = Vec::new();
        self.each(|path, param| values.push((param.called(path).to_owned(), param.value().clone())));
        values
    }

    /// Its parameters as a table: name, shape and manifold of each, and at the end the number of all their
    /// coordinates.
    ///
    /// ```
    /// use cotangent_engine::Tensor;
    /// use cotangent_manifolds::{Euclidean, Lorentz, Module, Param};
    /// let weight = Param::new("weight", Euclidean, Tensor::<f32>::zeros([2, 3]));
    /// let points = Param::new("points", Lorentz::new(-1.0), Tensor::zeros([10, 4]));
    /// let table = "\
    /// 0  [2, 3]   Euclidean
    /// 1  [10, 4]  Lorentz { kappa: -1.0 }
    /// 46 coordinates";
    /// assert_eq!((weight, points).summary().to_string(), table);
    /// ```
    fn summary(&self) -> Summary {
        let mut summary = Summary { parameters: Vec::new(), coordinates: 0 };
        self.each(|path, param| {
            let value = param.value();
            let row = [param.called(path).to_owned(), value.shape().to_string(), param.manifold_text()];
            summary.parameters.push(row);
            summary.coordinates += value.len();
        });
        summary
    }

    /// Sets the parameters' values by name.
    ///
    /// # Errors
    /// If a parameter has no value, or its value has another shape or is off its manifold, or if a value
    /// has no parameter. Then nothing is changed.
    fn load_state(&mut self, values: Vec<(String, Tensor<T>)>) -> Result<(), StateError> {
        let mut values: HashMap<String, Tensor<T>> = values.into_iter().collect();
        let (mut known, mut outcome) = (0, Ok(()));
        self.each(|path, param| {
            if outcome.is_ok() {
                known += 1;
                outcome = check_value(param, param.called(path), &values);
            }
        });
        outcome?;
        if known < values.len() {
            let ours: Vec<String> = self.state().into_iter().map(|(name, _)| name).collect();
            let unknown = values.keys().filter(|name| !ours.contains(name)).min();
            return Err(StateError::Unknown(unknown.cloned().unwrap_or_default()));
        }
        self.each_mut(|path, param| {
            if let Some(value) = values.remove(param.called(path)) {
                *param.value_mut() = value;
            }
        });
        Ok(())
    }

    /// Writes all parameters to a safetensors file.
    ///
    /// # Errors
    /// If the file cannot be written, or two parameters have one name.
    fn save(&self, file: &File) -> Result<(), FileError> {
        let state = self.state();
        let tensors: Vec<(&str, &Tensor<T>)> =
            state.iter().map(|(name, value)| (name.as_str(), value)).collect();
        safetensors::write(file, &tensors, None)
    }

    /// Reads all parameters from a safetensors file.
    ///
    /// # Errors
    /// If the file cannot be read, or as for [`load_state`](Self::load_state). Then nothing is changed.
    fn load(&mut self, file: &File) -> Result<(), FileError> {
        let (values, _) = safetensors::read(file)?;
        self.load_state(values.into_iter().collect())
            .map_err(|e| FileError::Content { path: file.into(), message: e.to_string() })
    }
}

/// A module's parameters as a table: see [`Module::summary`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Name, shape and manifold of each.
    parameters: Vec<[String; 3]>,
    coordinates: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [names, shapes] = [0, 1]
            .map(|column| self.parameters.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
        for [name, shape, manifold] in &self.parameters {
            writeln!(f, "{name:names$}  {shape:shapes$}  {manifold}")?;
        }
        write!(f, "{} coordinates", self.coordinates)
    }
}

/// Why values do not fit a module's parameters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StateError {
    /// No value for a parameter.
    #[error("no value for parameter {0:?}")]
    Missing(String),
    /// No parameter for a value.
    #[error("{0:?} is no parameter here")]
    Unknown(String),
    /// A value of another shape.
    #[error("parameter {name:?}: a value of shape {found} for one of {expected}")]
    Shape {
        /// The parameter.
        name: String,
        /// The value's shape.
        found: String,
        /// The parameter's.
        expected: String,
    },
    /// A value off the manifold.
    #[error("parameter {name:?}, row {row}: {source}")]
    Off {
        /// The parameter.
        name: String,
        /// The first such row.
        row: usize,
        /// By how much.
        source: crate::OffManifold,
    },
}

/// Checks the value that a parameter of this name is to have.
fn check_value<T: Float>(
    param: &dyn AnyParam<T>,
    name: &str,
    values: &HashMap<String, Tensor<T>>,
) -> Result<(), StateError> {
    let Some(value) = values.get(name) else { return Err(StateError::Missing(name.to_owned())) };
    let name = || name.to_owned();
    if value.shape() != param.value().shape() {
        let (found, expected) = (value.shape().to_string(), param.value().shape().to_string());
        return Err(StateError::Shape { name: name(), found, expected });
    }
    param.contains(value).map_err(|(row, source)| StateError::Off { name: name(), row, source })
}

/// Shows parameters without their manifolds.
struct Each<'a, T: Float>(&'a mut dyn FnMut(&str, &dyn AnyParam<T>));

impl<T: Float> Visitor<T> for Each<'_, T> {
    fn param<M: Steps>(&mut self, path: &str, param: &Param<M, T>) {
        (self.0)(path, param);
    }
}

/// As [`Each`], for writing.
struct EachMut<'a, T: Float>(&'a mut dyn FnMut(&str, &mut dyn AnyParam<T>));

impl<T: Float> VisitorMut<T> for EachMut<'_, T> {
    fn param<M: Steps>(&mut self, path: &str, param: &mut Param<M, T>) {
        (self.0)(path, param);
    }
}

impl<M: Steps, T: Float> Module<T> for Param<M, T> {
    fn visit<V: Visitor<T>>(&self, path: &mut Path, visitor: &mut V) {
        if path.shown.insert(self.id()) {
            visitor.param(path.as_str(), self);
        }
    }
    fn visit_mut<V: VisitorMut<T>>(&mut self, path: &mut Path, visitor: &mut V) {
        if path.shown.insert(self.id()) {
            visitor.param(path.as_str(), self);
        }
    }
}

impl<T: Float, N: Module<T>> Module<T> for [N] {
    fn visit<V: Visitor<T>>(&self, path: &mut Path, visitor: &mut V) {
        for (i, module) in self.iter().enumerate() {
            path.within_number(i, |path| module.visit(path, visitor));
        }
    }
    fn visit_mut<V: VisitorMut<T>>(&mut self, path: &mut Path, visitor: &mut V) {
        for (i, module) in self.iter_mut().enumerate() {
            path.within_number(i, |path| module.visit_mut(path, visitor));
        }
    }
}

/// Containers whose walk is that of their contents.
macro_rules! transparent {
    ($([$($generic:tt)*] $container:ty, |$this:ident| $read:expr, $write:expr;)*) => { $(
        impl<T: Float, N: Module<T>, $($generic)*> Module<T> for $container {
            fn visit<V: Visitor<T>>(&self, path: &mut Path, visitor: &mut V) {
                let $this = self;
                for module in $read {
                    module.visit(path, visitor);
                }
            }
            fn visit_mut<V: VisitorMut<T>>(&mut self, path: &mut Path, visitor: &mut V) {
                let $this = self;
                for module in $write {
                    module.visit_mut(path, visitor);
                }
            }
        }
    )* };
}

transparent! {
    [] Vec<N>, |this| [this.as_slice()], [this.as_mut_slice()];
    [const SIZE: usize] [N; SIZE], |this| [this.as_slice()], [this.as_mut_slice()];
    [] Box<N>, |this| [&**this], [&mut **this];
    [] Option<N>, |this| this.iter(), this.iter_mut();
}

impl<T: Float, A: Module<T>, B: Module<T>> Module<T> for (A, B) {
    fn visit<V: Visitor<T>>(&self, path: &mut Path, visitor: &mut V) {
        path.within("0", |path| self.0.visit(path, visitor));
        path.within("1", |path| self.1.visit(path, visitor));
    }
    fn visit_mut<V: VisitorMut<T>>(&mut self, path: &mut Path, visitor: &mut V) {
        path.within("0", |path| self.0.visit_mut(path, visitor));
        path.within("1", |path| self.1.visit_mut(path, visitor));
    }
}

/// Manifolds, sizes and switches have nothing to learn, but are fields of models.
macro_rules! constant {
    ($([$($generic:tt)*] $constant:ty;)*) => { $(
        impl<T: $crate::module::Float, $($generic)*> $crate::module::Module<T> for $constant {
            fn visit<V: $crate::module::Visitor<T>>(&self, _: &mut $crate::module::Path, _: &mut V) {}
            fn visit_mut<V: $crate::module::VisitorMut<T>>(
                &mut self,
                _: &mut $crate::module::Path,
                _: &mut V,
            ) {
            }
        }
    )* };
    ($($constant:ty),*) => { $crate::module::constant! { $([] $constant;)* } };
}
constant!(bool, u32, u64, usize, i32, i64, f32, f64, String);
pub(crate) use constant;
