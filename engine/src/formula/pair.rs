//! Pair formulas: scores of pairs of rows.

#[cfg(feature = "opencl")]
use std::any::TypeId;

use crate::formula::per_type::Compiled;
use crate::kernels::pair::Pair;
use crate::numbers::dual::Dual;
use crate::numbers::lanes::array;
use crate::numbers::scalar::Scalar;
use crate::numbers::storage::Storage;
use crate::numbers::trace::{Expression, Trace};

/// What a pair's score depends on, besides the numbers that its rows have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The inner product `⟨x_i, y_j⟩`.
    Dot,
    /// The squared distance `‖x_i − y_j‖²`, accurate for nearby rows too: those are subtracted, the
    /// others are computed from a matrix product of centred rows. Its last bits may depend on the other
    /// right rows.
    SquaredDistance,
}

/// A score of a pair of rows: a function of their inner product or squared distance, of `L` numbers of
/// the left row, `R` of the right one, and `P` parameters.
///
/// ```
/// use cotangent_engine::{PairFormula, Pairing, Scalar, Tape, Tensor};
///
/// /// The Gaussian kernel exp(−‖x − y‖²/2s²).
/// #[derive(Clone, Copy)]
/// struct Gaussian;
///
/// impl PairFormula<0, 0, 1> for Gaussian {
///     const NAME: &'static str = "gaussian";
///     const PAIRING: Pairing = Pairing::SquaredDistance;
///     fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], [s]: [S; 1]) -> S {
///         (S::constant(-0.5) * square / s.square()).exp()
///     }
/// }
///
/// let tape = Tape::<f64>::new();
/// let x = tape.variable(&Tensor::new([2, 1], vec![0.0, 1.0])); // 2 rows
/// let y = tape.variable(&Tensor::new([3, 1], vec![0.0, 1.0, 2.0])); // 3 rows
/// let k = tape.pairs(Gaussian, [x, y], [], [], [tape.scalar(1.0)]).scores(); // [2, 3]
/// assert_eq!(k.to_tensor().row(1), [(-0.5_f64).exp(), 1.0, (-0.5_f64).exp()]);
/// ```
pub trait PairFormula<const L: usize, const R: usize, const P: usize>: Copy + Send + Sync + 'static {
    /// The name shown in messages.
    const NAME: &'static str;
    /// What the first argument of [`eval`](Self::eval) is.
    const PAIRING: Pairing;
    /// The formula's kernels: see [`compiled_here!`](crate::compiled_here).
    fn compiled() -> &'static Compiled<Pair> {
        Compiled::pair::<Self, L, R, P>()
    }
    /// The score.
    fn eval<S: Scalar>(pairing: S, left: [S; L], right: [S; R], params: [S; P]) -> S;
}

/// A pair formula as expressions, which are interpreted, and which devices print.
#[derive(Clone, Copy)]
pub(crate) struct PairForm {
    #[cfg(feature = "opencl")]
    pub(crate) formula: fn() -> TypeId,
    pub(crate) pairing: Pairing,
    /// How many numbers of left rows, of right rows, and parameters.
    pub(crate) counts: [usize; 3],
    pub(crate) value: fn() -> Expression,
    /// The partial derivatives by the pairing and by all other arguments.
    pub(crate) slopes: fn() -> Expression,
}

/// The score of a slice of all arguments.
pub(crate) fn eval<F, S, const L: usize, const R: usize, const P: usize>(x: &[S]) -> S
where
    F: PairFormula<L, R, P>,
    S: Scalar,
{
    F::eval(x[0], array(x[0], |k| x[1 + k]), array(x[0], |k| x[1 + L + k]), array(x[0], |k| x[1 + L + R + k]))
}

impl PairForm {
    pub(crate) const fn new<F, T, const L: usize, const R: usize, const P: usize>() -> Self
    where
        F: PairFormula<L, R, P>,
        T: Storage,
    {
        PairForm {
            #[cfg(feature = "opencl")]
            formula: TypeId::of::<F>,
            pairing: F::PAIRING,
            counts: [L, R, P],
            value: || Expression::trace_as::<T>(1 + L + R + P, |x| vec![eval::<F, Trace<T>, L, R, P>(x)]),
            slopes: || {
                Expression::trace_as::<T>(1 + L + R + P, |x| {
                    let along = |k: usize| {
                        let seed = |(i, &value): (usize, &Trace<T>)| Dual {
                            value,
                            partials: [Trace::constant(f64::from(i == k))],
                        };
                        let x: Vec<Dual<Trace<T>, 1>> = x.iter().enumerate().map(seed).collect();
                        eval::<F, _, L, R, P>(&x).partials[0]
                    };
                    (0..x.len()).map(along).collect()
                })
            },
        }
    }
}
