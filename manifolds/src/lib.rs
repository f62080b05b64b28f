//! Manifolds for learning: spaces that carry their own geometry.
//!
//! A [`Manifold`] knows its distance, exponential map, parallel transport, retraction and the conversion
//! of Euclidean into Riemannian gradients. Each operation is one row formula and works at three levels:
//! on a single row ([`Row`](cotangent_engine::Row)), on a tensor row by row, and on tape variables.
//! [`Point`] and [`Tangent`] keep the geometries apart in the type system; [`Param`] is a table of
//! points to be learned, and a [`Module`] is anything that has parameters.
//!
//! The module [`spaces`] lists the manifolds.
//!
//! | on them | file |
//! |---|---|
//! | isometries between the models of one space: [`Point::to`], [`Isometric`] | `hyperbolic/isometry.rs` |
//! | signed distances to hyperplanes: [`Gyroplanes`] | `gyroplane.rs` |
//! | signed distances to horospheres: [`Busemann`] | `busemann.rs` |
//! | projections along horospheres: [`Lorentz::horospherical`], [`HoroPca`] | `horopca.rs` |
//! | activations as points of the hyperboloid: [`Lorentz::pseudo_polar`] | `pseudo_polar.rs` |
//! | activations as points of the half-space: [`HalfSpace::psi`], [`HalfSpace::xi`] | `psi_xi.rs` |
//! | keys that order points by their distance: [`DistanceKey`] | `distance_key.rs` |
//! | entailment cones: [`EntailmentCones`], [`shadow_cones`] | `cones.rs`, `shadow_cones.rs` |
//! | shadow cones of a finite light source: [`finite_shadow_cones`] | `finite_shadow_cones.rs` |
//!
//! | of several points | file |
//! |---|---|
//! | [`Barycentre`]: gyromidpoint, Einstein midpoint, Lorentz centroid | `barycentre.rs` |
//! | [`FrechetMean`]: the point of least squared distances, differentiable | `frechet.rs` |
//! | [`WrappedNormal`]: a distribution with a closed density | `wrapped_normal.rs` |
//! | [`symmetric_eigen`]: principal directions | `matrix/eigen.rs` |
//!
//! Curvature is called `kappa` everywhere and means sectional curvature everywhere.

#![forbid(unsafe_code)]

mod angle;
pub mod barycentre;
mod busemann;
mod cones;
mod distance_key;
mod euclidean;
pub mod finite_shadow_cones;
mod frechet;
mod gyroplane;
pub mod horopca;
mod hyperbolic;
pub mod laws;
mod list;
mod manifold;
mod matrix;
pub mod module;
mod param;
mod point;
mod product;
mod product_space;
mod pseudo_polar;
mod psi_xi;
mod sets;
pub mod shadow_cones;
mod space_form;
mod sphere;
pub mod steps;
mod wrapped_normal;

pub use barycentre::Barycentre;
pub use busemann::Busemann;
pub use cones::EntailmentCones;
pub use distance_key::DistanceKey;
pub use frechet::{FrechetError, FrechetMean};
pub use gyroplane::Gyroplanes;
pub use horopca::{HoroPca, HoroPcaError};
pub use hyperbolic::isometry::{Hyperbolic, Isometric};
pub use hyperbolic::stereographic::{
    AnySign, Curved, KappaStereographic, MatVec, MaybeNegative, MaybePositive, Negative, Positive, Sign,
};
pub use list::{formulas, spaces};
pub use manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, OffTangent};
pub use matrix::eigen::symmetric_eigen;
pub use matrix::orthonormal::Retraction;
pub use module::{Module, Path, StateError, Summary, Visitor, VisitorMut};
pub use param::{AnyParam, Param};
pub use point::{Point, Tangent};
pub use pseudo_polar::direction;
pub use sets::Sets;
pub use space_form::HyperbolicVisitor;
#[doc(inline)]
pub use spaces::*;
pub use steps::{FactorVisitor, Steps};
pub use wrapped_normal::{OriginFrame, Spread, WrappedNormal, standard_normal};

/// For this project's own tests: what they need beyond the public interface. It changes without notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::matrix::spectral::{exp_divided, exp_divided_twice};
}

/// The example of the package's page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
