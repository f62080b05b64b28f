//! Manifolds for learning: spaces that carry their own geometry.
//!
//! A [`Manifold`] knows its distance, exponential map, parallel transport, retraction and the conversion
//! of Euclidean into Riemannian gradients. Each operation is one row formula and works at three levels:
//! on a single row ([`Row`](cotangent_engine::Row)), on a tensor row by row, and on tape variables.
//! [`Point`] and [`Tangent`] keep the geometries apart in the type system; [`Param`] is a table of points
//! to be learned.
//!
//! | manifold | file |
//! |---|---|
//! | [`Stereographic`]: the Poincaré ball for κ < 0, flat at 0, the projected sphere for κ > 0 | `stereographic.rs` |
//! | [`Lorentz`]: the hyperboloid | `lorentz.rs` |
//! | [`Euclidean`] | `euclidean.rs` |
//! | [`Spd`]: symmetric positive definite matrices, affine-invariant or log-Euclidean | `spd.rs` |
//!
//! | of several points | file |
//! |---|---|
//! | [`Barycentre`]: gyromidpoint, Einstein midpoint, Lorentz centroid | `barycentre.rs` |
//! | [`FrechetMean`]: of least squared distances, differentiable | `frechet.rs` |
//! | [`WrappedNormal`]: a distribution with a closed density | `wrapped_normal.rs` |
//!
//! Curvature is called `kappa` everywhere and means sectional curvature everywhere.

pub mod barycentre;
mod euclidean;
mod frechet;
mod lorentz;
mod manifold;
mod matrix;
mod param;
mod point;
mod sets;
mod spd;
mod spectral;
mod stereographic;
mod wrapped_normal;

pub use barycentre::Barycentre;
pub use euclidean::Euclidean;
pub use frechet::{FrechetError, FrechetMean};
pub use lorentz::Lorentz;
pub use manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold};
pub use param::{Param, ParamOnTape};
pub use point::{Point, Tangent};
pub use sets::Sets;
pub use spd::Spd;
pub use stereographic::{PoincareBall, Stereographic};
pub use wrapped_normal::{OriginFrame, Spread, WrappedNormal, standard_normal};

/// The row formulas, for those who apply them directly.
pub mod formulas {
    pub use crate::barycentre::formulas as barycentre;
    pub use crate::euclidean::formulas as euclidean;
    pub use crate::lorentz::formulas as lorentz;
    pub use crate::stereographic::formulas as stereographic;
    pub use crate::wrapped_normal::formulas as wrapped_normal;

    /// All row formulas, by manifold.
    pub const ALL: [&[cotangent_engine::registry::Formula]; 5] =
        [euclidean::ALL, stereographic::ALL, lorentz::ALL, barycentre::ALL, wrapped_normal::ALL];
}
