//! Elementary functions on packed `f32` or `f64`, branch-free.
//!
//! Each is written once, generic over [`Packed`] numbers and their [`Element`]; the element brings its
//! constants and its polynomials, shorter for `f32`. Argument reduction and the forms are the classical ones
//! (Cody & Waite 1980; Kahan's for arsinh and artanh; Shepherd & Laframboise's variable for the tail of the
//! normal distribution). The polynomials are Chebyshev interpolants of the functions named beside them.
//!
//! The errors stated are the largest measured, in units in the last place of the result (subnormal results
//! in the smallest subnormal), rounded up; the tests assert exactly these bounds, against arbitrary-precision
//! arithmetic.

// A closure can be inlined and so uses the kernel's instruction set; a function passed by name is
// called.
#![allow(clippy::redundant_closure)]

mod element;
mod exponential;
mod logarithm;
mod logistic;
mod normal;
mod packed;
mod square;
mod trigonometric;

pub use element::Element;
pub use exponential::{cosh, exp, exp_m1, sinh, sinh_cosh, tanh, tanh_with_slope};
pub use logarithm::{acosh, asinh, atanh, ln, ln_1p};
pub use logistic::{sigmoid, sigmoid_with_slope, softplus};
pub use normal::{erf, gelu, gelu_with_slope};
pub use packed::Packed;
pub use square::{arcsinc, arctanc, cosc, sinc, sinc_cosc, tanc, tanc_secant};
pub use trigonometric::{asin, atan, cos, sin, sin_cos, tan};

/// `Σ k[i] xⁱ`. A long polynomial is computed as two chains side by side, joined before the last step,
/// so that only the rounding of that step counts.
#[inline(always)]
fn polynomial<P: Packed>(x: P, k: &[P::Element]) -> P {
    if k.len() < 9 {
        return horner(x, k);
    }
    let (low, high) = k[1..].split_at(k.len() / 2);
    let tail = x.powi(low.len() as i32).mul_add(horner(x, high), horner(x, low));
    tail.mul_add(x, P::splat(k[0]))
}

/// `Σ k[i] xⁱ` as one chain, fused.
#[inline(always)]
fn horner<P: Packed>(x: P, k: &[P::Element]) -> P {
    let mut sum = P::splat(k[k.len() - 1]);
    for i in (0..k.len() - 1).rev() {
        sum = sum.mul_add(x, P::splat(k[i]));
    }
    sum
}

/// Between −bound and bound; NaN is kept.
#[inline(always)]
fn clamp<P: Packed>(x: P, bound: f64) -> P {
    P::constant(-bound).greater(P::constant(bound).lesser(x))
}

/// The magnitude, at most `bound`; NaN is kept.
#[inline(always)]
fn magnitude<P: Packed>(x: P, bound: f64) -> P {
    P::constant(bound).lesser(x.abs())
}

/// `a/b`, given 1/b, nearly as a division rounds it.
#[inline(always)]
fn quotient<P: Packed>(a: P, b: P, inverse: P) -> P {
    let q = a * inverse;
    (-q).mul_add(b, a).mul_add(inverse, q)
}
