//! The elementwise formulas behind the methods and operators of [`Var`](crate::Var).

use crate::{MapFormula, Scalar};

macro_rules! elementwise {
    ($($(#[$doc:meta])* $name:ident $label:literal ($($x:ident),+) = $body:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl MapFormula<{ [$(stringify!($x)),+].len() }> for $name {
            const NAME: &'static str = $label;
            #[inline(always)]
            fn eval<S: Scalar>([$($x),+]: [S; [$(stringify!($x)),+].len()]) -> S {
                $body
            }
        }
    )* };
}

elementwise! {
    /// `x + y`.
    Add "add" (x, y) = x + y;
    /// `x − y`.
    Sub "sub" (x, y) = x - y;
    /// `x y`.
    Mul "mul" (x, y) = x * y;
    /// `x / y`.
    Div "div" (x, y) = x / y;
    /// `−x`.
    Neg "neg" (x) = -x;
    /// `x²`.
    Square "square" (x) = x.square();
    /// `√x`, with derivative 0 at 0.
    Sqrt "sqrt" (x) = x.sqrt();
    /// `eˣ`.
    Exp "exp" (x) = x.exp();
    /// `ln x`.
    Ln "ln" (x) = x.ln();
    /// `tanh x`.
    Tanh "tanh" (x) = x.tanh();
    /// `1/(1 + e⁻ˣ)`.
    Sigmoid "sigmoid" (x) = x.sigmoid();
    /// `ln(1 + eˣ)`.
    Softplus "softplus" (x) = x.softplus();
}
