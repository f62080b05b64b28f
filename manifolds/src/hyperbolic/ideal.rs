//! Busemann functions of ideal points, from the components of a point along and across their direction:
//! what the formulas of all models of hyperbolic space share.

use cotangent_engine::Scalar;

/// The Busemann function of a point of the hyperboloid, from `rise = √c X₀ − 1`,
/// `along = √c ⟨X_s, u⟩` and `across = c (‖X_s‖² − ⟨X_s, u⟩²)`, the part orthogonal to u.
///
/// Towards ω it uses `(X₀ − ⟨X_s, u⟩)(X₀ + ⟨X_s, u⟩) = 1/c + ‖X_s‖² − ⟨X_s, u⟩²`.
#[inline(always)]
pub(crate) fn by_components<S: Scalar>(rise: S, along: S, across: S, kappa: S) -> S {
    let one = S::one();
    let towards = S::zero().lt(along);
    let (short, long) = (rise - along, rise + along);
    let ratio = S::select(towards, (one + across) / (one + long), one + short);
    // Far out `rise − along` always cancels, `across − long` only near the horosphere through the
    // origin.
    let excess = S::select(towards, (across - long) / (one + long), short);
    by_ratio(ratio, excess, kappa)
}

/// The function from `ratio = √c (X₀ − ⟨X_s, u⟩)` and, for points near the horosphere through the
/// origin, `excess = ratio − 1`.
#[inline(always)]
pub(crate) fn by_ratio<S: Scalar>(ratio: S, excess: S, kappa: S) -> S {
    let near = excess.abs().lt(S::constant(0.5));
    S::select(near, excess.ln_1p(), ratio.ln()) / (-kappa).sqrt()
}
