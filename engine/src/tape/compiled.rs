//! What formulas are compiled to, and in which crate.
//!
//! A generic function is compiled in each crate that calls it. An elementwise formula is data, a
//! [program](crate::Program), and nothing is compiled for it. If the engine is built with debug assertions,
//! it interprets the others as well. Without, the scalar function of a row formula is compiled; the
//! formula's [plan](crate::RowPlan) is data. The kernels of a pair formula are compiled for `f32` and `f64`,
//! the forward and the reverse pass, and three instruction sets. With
//! [`compiled_here!`](crate::compiled_here), what belongs to a formula is compiled once, in the formula's own
//! crate. Without it, each crate that uses the formula compiles it again; the results are the same.

pub use crate::formula::per_type::{Compiled, PerFloat};
pub use crate::kernels::gram::{RowKernel, RowKernels};
pub use crate::kernels::map::Map;
pub use crate::kernels::pair::Pair;

/// Goes into the `impl` of a formula without type parameters. What is compiled for the formula is then
/// compiled once, in this crate. The argument is the kind of formula: `row` or `pair`.
///
/// A row formula has no kernels of its own: the engine's kernels read its [plan](crate::RowPlan).
/// `compiled_here!(row, specialised)` compiles kernels for this formula alone, which takes seconds. It is
/// for the few formulas in which training spends its time.
///
/// If the engine is built with debug assertions, nothing is compiled: see
/// [`RowPlan::of`](crate::RowPlan::of).
///
/// ```
/// use cotangent_engine::{PairFormula, Pairing, Scalar, compiled_here};
///
/// /// `−‖x − y‖²`.
/// #[derive(Clone, Copy)]
/// struct Nearness;
///
/// impl PairFormula<0, 0, 0> for Nearness {
///     const NAME: &'static str = "nearness";
///     const PAIRING: Pairing = Pairing::SquaredDistance;
///     compiled_here!(pair);
///     fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], _: [S; 0]) -> S {
///         -square
///     }
/// }
/// ```
#[macro_export]
macro_rules! compiled_here {
    (row) => {
        #[inline(never)]
        fn plan() -> &'static $crate::RowPlan {
            $crate::RowPlan::of::<Self, _, _, _, _>()
        }
    };
    (row, specialised) => {
        const SPECIALISED: bool = true;
        $crate::compiled_here!(row);
    };
    (pair) => {
        #[inline(never)]
        fn compiled() -> &'static $crate::compiled::Compiled<$crate::compiled::Pair> {
            $crate::compiled::Compiled::pair::<Self, _, _, _>()
        }
    };
}
