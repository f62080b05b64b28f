//! The logistic function and its integral. Their errors are those of the methods of
//! [`Scalar`](scalar::Scalar).

use super::{Packed, exp, ln_1p};
use crate::scalar;

/// The logistic function: see [`Scalar::sigmoid`](scalar::Scalar::sigmoid).
#[inline(always)]
pub fn sigmoid<P: Packed>(x: P) -> P {
    sigmoid_with_slope(x).0
}

/// The logistic function and its derivative: see
/// [`Scalar::sigmoid_with_slope`](scalar::Scalar::sigmoid_with_slope).
#[inline(always)]
pub fn sigmoid_with_slope<P: Packed>(x: P) -> (P, P) {
    scalar::sigmoid_with_slope(
        x,
        #[inline(always)]
        |x| exp(x),
    )
}

/// `ln(1 + eˣ)`: see [`Scalar::softplus`](scalar::Scalar::softplus).
#[inline(always)]
pub fn softplus<P: Packed>(x: P) -> P {
    scalar::softplus(
        x,
        #[inline(always)]
        |x| ln_1p(exp(x)),
    )
}
