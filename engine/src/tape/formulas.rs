//! The elementwise formulas and pair scores of the engine.
//!
//! One entry declares an operation: its type, its name, its operands with the range in which each is
//! tested, and its formula. From the entry follow the method of [`Var`], the reverse pass, forward mode,
//! SIMD lanes, the expression for OpenCL, and the entry in [`ALL`] for the tests.

use crate::compiled_here;
use crate::formula::map::MapFormula;
use crate::formula::pair::{PairFormula, Pairing};
use crate::numbers::scalar::Scalar;
use crate::tape::float::Float;
use crate::tape::laws::registry::{Formula, Range};
use crate::tape::var::Var;

macro_rules! elementwise {
    ($(
        $(#[$doc:meta])*
        $name:ident $method:ident ($x:ident in $low:literal..$high:literal
            $(, $y:ident in $y_low:literal..$y_high:literal)*) = $body:expr;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl MapFormula<{ [stringify!($x) $(, stringify!($y))*].len() }> for $name {
                const NAME: &'static str = stringify!($method);
                #[inline(always)]
                fn eval<S: Scalar>([$x $(, $y)*]: [S; [stringify!($x) $(, stringify!($y))*].len()]) -> S {
                    $body
                }
            }
        )*

        /// The elementwise operations, one for each formula.
        #[allow(clippy::should_implement_trait)]
        impl<T: Float> Var<'_, T> {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $method(self $(, $y: Self)*) -> Self {
                    self.tape().map($name, [self $(, $y)*])
                }
            )*
        }

        const ELEMENTWISE: &[Formula] = &[
            $(Formula::map($name, &[Range($low, $high) $(, Range($y_low, $y_high))*]),)*
        ];
    };
}

elementwise! {
    /// `x + y`.
    Add add (x in -3.0..3.0, y in -3.0..3.0) = x + y;
    /// `x − y`.
    Sub sub (x in -3.0..3.0, y in -3.0..3.0) = x - y;
    /// `x y`.
    Mul mul (x in -3.0..3.0, y in -3.0..3.0) = x * y;
    /// `x / y`.
    Div div (x in -3.0..3.0, y in 0.3..3.0) = x / y;
    /// `−x`.
    Neg neg (x in -3.0..3.0) = -x;
    /// The smaller of two, NaN where one is NaN; where they are equal, the second gets the gradient.
    Min min (x in -3.0..0.0, y in 0.1..3.0) = x.min(y);
    /// The larger of two, NaN where one is NaN; where they are equal, the second gets the gradient.
    Maximum maximum (x in -3.0..0.0, y in 0.1..3.0) = x.max(y);
    /// `√(x² + y²)`, with derivative 0 where both are 0. Squares neither overflow nor underflow.
    Hypot hypot (x in -3.0..3.0, y in -3.0..3.0) = {
        let size = x.abs() + y.abs();
        // Powers of two, by which numbers of any size are scaled without rounding. The outer ones are for
        // `f64`; `f32` has no numbers of that size.
        let (tiny, small) = (size.lt(S::constant(1e-150)), size.lt(S::constant(1e-15)));
        let subnormal = size.lt(S::constant(1e-30)); // of `f32`
        let (large, huge) = (S::constant(1e15).lt(size), S::constant(1e150).lt(size));
        let scale = S::select(small, S::constant(2f64.powi(60)), S::one());
        let scale = S::select(subnormal, S::constant(2f64.powi(100)), scale);
        let scale = S::select(tiny, S::constant(2f64.powi(600)), scale);
        let scale = S::select(large, S::constant(2f64.powi(-70)), scale);
        let scale = S::select(huge, S::constant(2f64.powi(-600)), scale);
        ((x * scale).square() + (y * scale).square()).sqrt() / scale
    };
    /// `|x|`, with derivative 1 at 0.
    Abs abs (x in 0.1..3.0) = x.abs();
    /// `x²`.
    Square square (x in -3.0..3.0) = x.square();
    /// `1/x`.
    Recip recip (x in 0.3..3.0) = x.recip();
    /// `√x`, with derivative 0 at 0.
    Sqrt sqrt (x in 0.1..9.0) = x.sqrt();
    /// `eˣ`.
    Exp exp (x in -5.0..5.0) = x.exp();
    /// `eˣ − 1`.
    ExpM1 exp_m1 (x in -5.0..5.0) = x.exp_m1();
    /// `ln x`.
    Ln ln (x in 0.1..9.0) = x.ln();
    /// `ln(1 + x)`.
    Ln1p ln_1p (x in -0.8..9.0) = x.ln_1p();
    /// `sin x`.
    Sin sin (x in -9.0..9.0) = x.sin();
    /// `cos x`.
    Cos cos (x in -9.0..9.0) = x.cos();
    /// `tan x`.
    Tan tan (x in -1.3..1.3) = x.tan();
    /// `arcsin x`.
    Asin asin (x in -0.9..0.9) = x.asin();
    /// `arctan x`.
    Atan atan (x in -9.0..9.0) = x.atan();
    /// `sinh x`.
    Sinh sinh (x in -5.0..5.0) = x.sinh();
    /// `cosh x`.
    Cosh cosh (x in -5.0..5.0) = x.cosh();
    /// `tanh x`.
    Tanh tanh (x in -5.0..5.0) = x.tanh();
    /// `arsinh x`.
    Asinh asinh (x in -9.0..9.0) = x.asinh();
    /// `arcosh x`.
    Acosh acosh (x in 1.2..9.0) = x.acosh();
    /// `artanh x`.
    Atanh atanh (x in -0.9..0.9) = x.atanh();
    /// The error function.
    Erf erf (x in -3.0..3.0) = x.erf();
    /// The logistic function `1/(1 + e⁻ˣ)`.
    Sigmoid sigmoid (x in -9.0..9.0) = x.sigmoid();
    /// The logarithm of the logistic function, `−ln(1 + e⁻ˣ)`.
    LogSigmoid log_sigmoid (x in -9.0..9.0) = x.log_sigmoid();
    /// `ln(1 + eˣ)`.
    Softplus softplus (x in -9.0..9.0) = x.softplus();
    /// `x Φ(x)`, Φ the normal distribution function (Hendrycks & Gimpel 2016).
    Gelu gelu (x in -6.0..6.0) = x.gelu();
    /// `max(x, 0)`, with derivative 0 at 0.
    Relu relu (x in 0.1..3.0) = x.max(S::zero());
    /// `x` where it is positive, else `eˣ − 1`, with derivative 1 at 0. Clevert et al. 2016.
    Elu elu (x in -3.0..3.0) = S::select(S::zero().lt(x), x, S::zero().min(x).exp_m1());
    /// `value` where `mask` is not 0, else `x`. See [`Var::masked_fill`].
    MaskedFill fill_where (x in -3.0..3.0, mask in 0.0..0.0, value in -3.0..3.0) = {
        let masked = S::zero().lt(mask.abs());
        S::select(masked, value, x)
    };
    /// Binary cross-entropy of a logit and a target in [0, 1], `softplus(x) − t x`, without overflow.
    BinaryCrossEntropy binary_cross_entropy (logit in -9.0..9.0, target in 0.0..1.0) =
        logit.softplus() - target * logit;
}

/// Scaled inner product `scale ⟨x, y⟩`. Vaswani et al. 2017, eq. 1.
#[derive(Clone, Copy, Debug)]
pub struct ScaledDot;

impl PairFormula<0, 0, 1> for ScaledDot {
    const NAME: &'static str = "scaled_dot";
    const PAIRING: Pairing = Pairing::Dot;
    compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(dot: S, _: [S; 0], _: [S; 0], [scale]: [S; 1]) -> S {
        scale * dot
    }
}

/// Euclidean distance `‖x − y‖`, with gradient 0 where it is 0.
#[derive(Clone, Copy, Debug)]
pub struct EuclideanDistance;

impl PairFormula<0, 0, 0> for EuclideanDistance {
    const NAME: &'static str = "euclidean_distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], _: [S; 0]) -> S {
        square.sqrt()
    }
}

const PAIRS: &[Formula] = &[
    Formula::pair(ScaledDot, &[Range(-3.0, 3.0), Range(0.1, 2.0)]),
    Formula::pair(EuclideanDistance, &[Range(0.1, 9.0)]),
];

/// All formulas of the engine, for the test that compares their evaluations.
pub const ALL: [&[Formula]; 2] = [ELEMENTWISE, PAIRS];
