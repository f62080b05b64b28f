//! Elementwise formulas: functions of `K` numbers, applied element by element.

use std::any::TypeId;

use crate::formula::per_type::Compiled;
use crate::kernels::map::Map;
use crate::numbers::dual::Dual;
use crate::numbers::lanes::array;
use crate::numbers::scalar::Scalar;
use crate::numbers::storage::Storage;
use crate::numbers::trace::{Expression, Trace};

/// An elementwise operation of `K` operands.
///
/// ```
/// use cotangent_engine::{MapFormula, Scalar, Tape, Tensor};
///
/// /// x · σ(x): the swish activation.
/// #[derive(Clone, Copy)]
/// struct Swish;
///
/// impl MapFormula<1> for Swish {
///     const NAME: &'static str = "swish";
///     fn eval<S: Scalar>([x]: [S; 1]) -> S {
///         x * x.sigmoid()
///     }
/// }
///
/// let tape = Tape::<f64>::new();
/// let x = tape.variable(&Tensor::new([2], vec![0.0, 30.0]));
/// let y = tape.map(Swish, [x]);
/// assert_eq!(y.to_tensor().data(), [0.0, 30.0 * 30.0_f64.sigmoid()]);
/// ```
pub trait MapFormula<const K: usize>: Copy + Send + Sync + 'static {
    /// The name shown in messages.
    const NAME: &'static str;
    /// The formula's kernels. They are the engine's own, which read the formula as a
    /// [`Program`](crate::Program): nothing is compiled for it.
    fn compiled() -> &'static Compiled<Map> {
        Compiled::map::<Self, K>()
    }
    /// The formula.
    fn eval<S: Scalar>(operands: [S; K]) -> S;
}

/// An elementwise formula as expressions: kernels run them, devices print them.
pub(crate) struct MapForm {
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    pub(crate) formula: fn() -> TypeId,
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    pub(crate) operands: usize,
    pub(crate) value: fn() -> Expression,
    pub(crate) slopes: fn() -> Expression,
}

impl MapForm {
    pub(crate) const fn new<F: MapFormula<K>, T: Storage, const K: usize>() -> Self {
        fn operands<T: Storage, const K: usize>(x: &[Trace<T>]) -> [Trace<T>; K] {
            array(x[0], |k| x[k])
        }
        MapForm {
            formula: TypeId::of::<F>,
            operands: K,
            value: || Expression::trace_as::<T>(K, |x| vec![F::eval(operands::<T, K>(x))]),
            slopes: || {
                Expression::trace_as::<T>(K, |x| {
                    F::eval(Dual::variables(operands::<T, K>(x))).partials.to_vec()
                })
            },
        }
    }
}
