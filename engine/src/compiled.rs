//! What formulas are compiled to, and where.
//!
//! A generic function is compiled in each crate that calls it. The kernels of a formula, of both passes, for both
//! element types and three instruction sets, take seconds. A formula that says [`compiled_here!`](crate::compiled_here)
//! has them compiled once, in its own crate; one that does not is compiled wherever it is used, and works as well.

use std::marker::PhantomData;
use std::ops::Range;

use crate::kernels::gram::Erased;
use crate::kernels::map::ErasedMap;
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pair::{ErasedPair, PairKernel};
use crate::{Float, MapFormula, Operation, PairFormula, RowFormula, Tensor};

/// Something that there is for each element type.
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

/// Kernels of row formulas.
#[derive(Clone, Copy, Debug)]
pub struct Row;

/// The kernels of a row formula for one element type.
#[derive(Clone, Copy)]
pub struct RowKernel<T: Float> {
    pub(crate) operation: &'static dyn Operation<T>,
    pub(crate) forward: Forward<T>,
    pub(crate) differential: Differential<T>,
    element: PhantomData<T>,
}

/// Computes some row positions, on the calling thread: vectors, parameters, the width, positions, results.
pub(crate) type Forward<T> = fn(&[Operand<'_, T>], &[Parameter<'_>], usize, Range<usize>, Results<'_, T>);

/// The derivative along tangents: vectors, tangents, parameters.
pub(crate) type Differential<T> = fn(&[&Tensor<T>], &[&Tensor<T>], &[f64]) -> Tensor<T>;

impl PerFloat for Row {
    type Of<T: Float> = RowKernel<T>;
}

impl Compiled<Row> {
    /// Those of a formula.
    pub const fn row<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> &'static Self
    where
        F: RowFormula<V, B, I, O>,
    {
        const { &Compiled { f32: row_kernel::<F, _, V, B, I, O>(), f64: row_kernel::<F, _, V, B, I, O>() } }
    }
}

const fn row_kernel<F, T, const V: usize, const B: usize, const I: usize, const O: usize>() -> RowKernel<T>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    RowKernel {
        operation: Erased::<F, V, B, I, O>::operation(),
        forward: crate::kernels::gram::forward_range::<F, T, V, B, I, O>,
        differential: crate::kernels::derivative::of_tensors::<F, T, V, B, I, O>,
        element: PhantomData,
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

/// Within the `impl` of a formula that has no type parameters: its kernels are compiled in this crate, once.
///
/// `compiled_here!(row, in tests)` is for a formula that few programs use and many tests: so in builds with debug assertions; in
/// others it is compiled where it is used, and a program that does not use it does not wait for it.
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
        fn compiled() -> &'static $crate::compiled::Compiled<$crate::compiled::Row> {
            $crate::compiled::Compiled::row::<Self, _, _, _, _>()
        }
    };
    (row, in tests) => {
        #[cfg(debug_assertions)]
        $crate::compiled_here!(row);
    };
    (pair) => {
        #[inline(never)]
        fn compiled() -> &'static $crate::compiled::Compiled<$crate::compiled::Pair> {
            $crate::compiled::Compiled::pair::<Self, _, _, _>()
        }
    };
}
