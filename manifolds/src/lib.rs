//! Manifolds for learning: spaces that carry their own geometry.
//!
//! A [`Manifold`] knows its distance, exponential map, parallel transport, retraction and the conversion
//! of Euclidean into Riemannian gradients. Each operation is one row formula and works at three levels:
//! on a single row ([`Row`](cotangent_engine::Row)), on a tensor row by row, and on tape variables.
//! [`Point`] and [`Tangent`] keep the geometries apart in the type system; [`Param`] is a table of points
//! to be learned, and a [`Module`] whatever has some.
//!
//! | manifold | file |
//! |---|---|
//! | [`Stereographic`]: the Poincaré ball for κ < 0, flat at 0, the projected sphere for κ > 0 | `stereographic.rs` |
//! | [`Lorentz`]: the hyperboloid | `lorentz.rs` |
//! | [`Euclidean`] | `euclidean.rs` |
//! | [`Spd`]: symmetric positive definite matrices, affine-invariant or log-Euclidean | `spd.rs` |
//!
//! Curvature is called `kappa` everywhere and means sectional curvature everywhere.

mod euclidean;
mod lorentz;
mod manifold;
mod matrix;
mod module;
pub mod momentum;
mod param;
mod point;
mod spd;
mod spectral;
mod stereographic;

pub use euclidean::Euclidean;
pub use lorentz::Lorentz;
pub use manifold::{ConstantCurvature, CurvatureError, FactorVisitor, Manifold, OffManifold};
pub use module::{Module, Path, StateError, Visitor, VisitorMut};
pub use param::{Param, ParamOnTape};
pub use point::{Point, Tangent};
pub use spd::Spd;
pub use stereographic::{PoincareBall, Stereographic};

/// The row formulas, for those who apply them directly.
pub mod formulas {
    pub use crate::euclidean::formulas as euclidean;
    pub use crate::lorentz::formulas as lorentz;
    pub use crate::stereographic::formulas as stereographic;

    /// All row formulas, by manifold.
    pub const ALL: [&[cotangent_engine::registry::Formula]; 3] =
        [euclidean::ALL, stereographic::ALL, lorentz::ALL];
}
