//! Manifolds for learning: spaces that carry their own geometry.
//!
//! A [`Manifold`] knows its distance, exponential map, parallel transport, retraction and the conversion
//! of Euclidean into Riemannian gradients. Each operation is one row formula and works at three levels:
//! on a single row ([`Row`](cotangent_engine::Row)), on a tensor row by row, and on tape variables.
//! [`Point`] and [`Tangent`] keep the geometries apart in the type system; [`Param`] is a table of
//! points to be learned, and a [`Module`] is anything that has parameters.
//!
//! | manifold | file |
//! |---|---|
//! | [`PoincareBall`], [`ProjectedSphere`]: κ < 0, κ > 0 | `hyperbolic/stereographic/` |
//! | [`Stereographic`]: any κ | `hyperbolic/stereographic/` |
//! | [`Lorentz`]: the hyperboloid | `hyperbolic/lorentz.rs` |
//! | [`Klein`]: the ball with straight geodesics | `hyperbolic/klein.rs` |
//! | [`HalfSpace`]: the upper half-space | `hyperbolic/half_space.rs` |
//! | [`Sphere`] | `sphere.rs` |
//! | [`Euclidean`] | `euclidean.rs` |
//! | [`Grassmann`]: subspaces of ℝⁿ | `matrix/grassmann.rs` |
//! | [`Stiefel`]: orthonormal frames | `matrix/stiefel.rs` |
//! | [`Spd`]: symmetric positive definite matrices, affine-invariant or log-Euclidean | `matrix/spd.rs` |
//! | [`Product`]: two manifolds side by side, of any kind and curvature each | `product.rs` |
//! | [`SpaceForm`]: a space of constant curvature, chosen at run time | `space_form.rs` |
//! | [`ProductSpace`]: a product of such spaces | `product_space.rs` |
//!
//! | on them | file |
//! |---|---|
//! | isometries between the models of one space: [`Point::to`], [`Isometric`] | `hyperbolic/isometry.rs` |
//! | signed distances to hyperplanes: [`Gyroplanes`] | `gyroplane.rs` |
//! | signed distances to horospheres: [`Busemann`] | `busemann.rs` |
//! | projections along horospheres: [`Lorentz::horospherical`], [`HoroPca`] | `horopca.rs` |
//! | activations as points of the hyperboloid: [`Lorentz::pseudo_polar`] | `pseudo_polar.rs` |
//! | activations as points of the half-space: [`HalfSpace::psi`], [`HalfSpace::xi`] | `psi_xi.rs` |
//! | entailment cones: [`EntailmentCones`], [`shadow_cones`] | `cones.rs`, `shadow_cones.rs` |
//!
//! | of several points | file |
//! |---|---|
//! | [`Barycentre`]: gyromidpoint, Einstein midpoint, Lorentz centroid | `barycentre.rs` |
//! | [`FrechetMean`]: the point of least squared distances, differentiable | `frechet.rs` |
//! | [`WrappedNormal`]: a distribution with a closed density | `wrapped_normal.rs` |
//! | [`symmetric_eigen`]: principal directions | `matrix/dense.rs` |
//!
//! Curvature is called `kappa` everywhere and means sectional curvature everywhere.

#![forbid(unsafe_code)]

mod angle;
pub mod barycentre;
mod busemann;
mod cones;
mod euclidean;
mod frechet;
mod gyroplane;
pub mod horopca;
mod hyperbolic;
pub mod laws;
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
pub use euclidean::Euclidean;
pub use frechet::{FrechetError, FrechetMean};
pub use gyroplane::Gyroplanes;
pub use horopca::{HoroPca, HoroPcaError};
pub use hyperbolic::half_space::HalfSpace;
pub use hyperbolic::isometry::{Hyperbolic, Isometric};
pub use hyperbolic::klein::Klein;
pub use hyperbolic::lorentz::Lorentz;
pub use hyperbolic::stereographic::{
    AnySign, Curved, KappaStereographic, MatVec, MaybeNegative, MaybePositive, Negative, PoincareBall,
    Positive, ProjectedSphere, Sign, Stereographic,
};
pub use manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, OffTangent};
pub use matrix::dense::symmetric_eigen;
pub use matrix::grassmann::Grassmann;
pub use matrix::orthonormal::Retraction;
pub use matrix::spd::Spd;
pub use matrix::stiefel::Stiefel;
pub use module::{Module, Path, StateError, Summary, Visitor, VisitorMut};
pub use param::Param;
pub use point::{Point, Tangent};
pub use product::Product;
pub use product_space::ProductSpace;
pub use pseudo_polar::direction;
pub use sets::Sets;
pub use space_form::SpaceForm;
pub use sphere::Sphere;
pub use steps::{FactorVisitor, Steps};
pub use wrapped_normal::{OriginFrame, Spread, WrappedNormal, standard_normal};

/// For this project's own tests: what they need beyond the public interface. It changes without notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::matrix::dense::Matrix;
    pub use crate::matrix::spectral::{exp_divided, exp_divided_twice};
}

/// The row formulas, for direct use.
pub mod formulas {
    pub use crate::barycentre::formulas as barycentre;
    pub use crate::cones::formulas as cones;
    pub use crate::euclidean::formulas as euclidean;
    pub use crate::horopca::formulas as horopca;
    pub use crate::hyperbolic::half_space::formulas as half_space;
    pub use crate::hyperbolic::isometry::formulas as isometry;
    pub use crate::hyperbolic::klein::formulas as klein;
    pub use crate::hyperbolic::lorentz::formulas as lorentz;
    pub use crate::hyperbolic::stereographic::formulas as stereographic;
    pub use crate::pseudo_polar::formulas as pseudo_polar;
    pub use crate::psi_xi::formulas as psi_xi;
    pub use crate::shadow_cones::formulas as shadow_cones;
    pub use crate::sphere::formulas as sphere;
    pub use crate::wrapped_normal::formulas as wrapped_normal;

    /// All formulas, by manifold.
    pub const ALL: [&[cotangent_engine::registry::Formula]; 14] = [
        euclidean::ALL,
        stereographic::ALL,
        lorentz::ALL,
        klein::ALL,
        half_space::ALL,
        sphere::ALL,
        isometry::ALL,
        pseudo_polar::ALL,
        psi_xi::ALL,
        cones::ALL,
        shadow_cones::ALL,
        barycentre::ALL,
        wrapped_normal::ALL,
        horopca::ALL,
    ];
}

/// The example of the package's page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
