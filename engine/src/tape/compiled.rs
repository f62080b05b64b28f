//! What formulas are compiled to, and in which crate.
//!
//! A generic function is compiled in each crate that calls it. The kernels of an elementwise or a pair
//! formula take seconds to compile: both passes, for both element types and three instruction sets. A
//! row formula has a [plan](crate::RowPlan) instead. With [`compiled_here!`](crate::compiled_here),
//! everything that belongs to a formula is compiled once, in the formula's own crate. Without it, each
//! crate that uses the formula compiles it again; the results are the same.

pub use crate::formula::per_type::{Compiled, PerFloat};
pub use crate::kernels::gram::{RowKernel, RowKernels};
pub use crate::kernels::map::Map;
pub use crate::kernels::pair::Pair;

/// Goes into the `impl` of a formula without type parameters. What is compiled for the formula is then
/// compiled once, in this crate. The argument is the kind of formula: `map`, `row` or `pair`.
///
/// A row formula has no kernels of its own: the engine's kernels read its [plan](crate::RowPlan).
/// `compiled_here!(row, specialised)` compiles kernels for this formula alone, which takes seconds. It is
/// for the few formulas in which training spends its time.
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
