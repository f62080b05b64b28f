//! What formulas are compiled to, and where.
//!
//! A generic function is compiled in each crate that calls it. The kernels of an elementwise or a pair formula, of both
//! passes, for both element types and three instruction sets, take seconds; a row formula has a
//! [plan](crate::RowPlan) instead. A formula that says [`compiled_here!`](crate::compiled_here) has all that is
//! compiled for it compiled once, in its own crate; one that does not has it compiled wherever it is used, and
//! works as well.

use std::ops::Range;

use crate::formula::row::RowFormula;
use crate::kernels::gram::specialised;
use crate::kernels::map::ErasedMap;
use crate::kernels::map::MapFormula;
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pair::PairFormula;
use crate::kernels::pair::{ErasedPair, PairKernel};
use crate::kernels::pieces::Piece;
use crate::tape::float::Float;
use crate::tape::operation::Operation;

/// Maps an element type to its compiled kernels.
#[doc(hidden)]
pub trait PerFloat: 'static {
    /// What there is for one.
    type Of<T: Float>: Copy + 'static;
}

/// A formula's kernels for both element types.
pub struct Compiled<K: PerFloat> {
    pub(crate) f32: K::Of<f32>,
    pub(crate) f64: K::Of<f64>,
}

impl<K: PerFloat> Compiled<K> {
    pub(crate) fn of_type<T: Float>(&self) -> K::Of<T> {
        T::pick(self)
    }
}

/// Kernels of elementwise formulas.
#[derive(Clone, Copy, Debug)]
pub struct Map;

impl PerFloat for Map {
    type Of<T: Float> = &'static dyn Operation<T>;
}

impl Compiled<Map> {
    /// Those of a formula.
    pub const fn map<F: MapFormula<K>, const K: usize>() -> &'static Self {
        const { &Compiled { f32: ErasedMap::<F, K>::operation(), f64: ErasedMap::<F, K>::operation() } }
    }
}

/// Kernels of a row formula, if some are compiled for it alone.
#[derive(Clone, Copy, Debug)]
pub struct RowKernels;

/// Kernels that are compiled for one row formula, for one element type.
#[derive(Clone, Copy)]
pub struct RowKernel<T: Float> {
    pub(crate) forward: Forward<T>,
    pub(crate) backward: Backward<T>,
}

/// Computes some row positions, on the calling thread: vectors, parameters, the width, positions, results.
pub(crate) type Forward<T> = fn(&[Operand<'_, T>], &[Parameter<'_>], usize, Range<usize>, Results<'_, T>);

/// The reverse pass of a piece: vectors, parameters, the piece, the width, the gradient of the results.
pub(crate) type Backward<T> = fn(&[Operand<'_, T>], &[Parameter<'_>], &mut Piece<'_, T>, usize, &[T]);

impl PerFloat for RowKernels {
    type Of<T: Float> = Option<RowKernel<T>>;
}

impl<T: Float> RowKernel<T> {
    pub(crate) const fn of<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        RowKernel {
            forward: specialised::forward::<F, T, V, B, I, O>,
            backward: specialised::backward::<F, T, V, B, I, O>,
        }
    }
}

/// Kernels of pair formulas.
#[derive(Clone, Copy, Debug)]
pub struct Pair;

impl PerFloat for Pair {
    type Of<T: Float> = &'static dyn PairKernel<T>;
}

impl Compiled<Pair> {
    /// Those of a formula.
    pub const fn pair<F, const L: usize, const R: usize, const P: usize>() -> &'static Self
    where
        F: PairFormula<L, R, P>,
    {
        const { &Compiled { f32: ErasedPair::<F, L, R, P>::kernel(), f64: ErasedPair::<F, L, R, P>::kernel() } }
    }
}

/// Within the `impl` of a formula that has no type parameters: what is compiled for it is compiled in this crate, once.
///
/// A row formula has no kernels of its own: the engine's read its [plan](crate::RowPlan). `compiled_here!(row, specialised)`
/// compiles kernels for it, which takes seconds: for the few that a training spends its time in.
///
/// ```
/// use cotangent_engine::{MapFormula, Scalar, compiled_here};
///
/// /// `x σ(x)`.
/// #[derive(Clone, Copy)]
/// struct Swish;
///
/// impl MapFormula<1> for Swish {
///     const NAME: &'static str = "swish";
///     compiled_here!(map);
///     fn eval<S: Scalar>([x]: [S; 1]) -> S {
///         x * x.sigmoid()
///     }
/// }
/// ```
#[macro_export]
macro_rules! compiled_here {
    (map) => {
        #[inline(never)]
        fn compiled() -> &'static $crate::compiled::Compiled<$crate::compiled::Map> {
            $crate::compiled::Compiled::map::<Self, _>()
        }
    };
    (row) => {
        #[inline(never)]
        fn plan() -> &'static $crate::RowPlan {
            $crate::RowPlan::of::<Self, _, _, _, _>()
        }
    };
    (row, specialised) => {
        #[inline(never)]
        fn plan() -> &'static $crate::RowPlan {
            $crate::RowPlan::specialised::<Self, _, _, _, _>()
        }
    };
    (pair) => {
        #[inline(never)]
        fn compiled() -> &'static $crate::compiled::Compiled<$crate::compiled::Pair> {
            $crate::compiled::Compiled::pair::<Self, _, _, _>()
        }
    };
}
