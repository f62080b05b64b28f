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
//! | [`Stereographic`]: Poincaré ball for κ < 0, flat at 0, projected sphere for κ > 0 | `stereographic/` |
//! | [`Lorentz`]: the hyperboloid | `lorentz.rs` |
//! | [`Klein`]: the ball with straight geodesics | `klein.rs` |
//! | [`HalfSpace`]: the upper half-space | `half_space.rs` |
//! | [`Sphere`] | `sphere.rs` |
//! | [`Euclidean`] | `euclidean.rs` |
//! | [`Grassmann`]: subspaces of ℝⁿ | `grassmann.rs` |
//! | [`Stiefel`]: orthonormal frames | `stiefel.rs` |
//! | [`Spd`]: symmetric positive definite matrices, affine-invariant or log-Euclidean | `spd.rs` |
//! | [`Product`]: two manifolds side by side, of any kind and curvature each | `product.rs` |
//!
//! | on them | file |
//! |---|---|
//! | isometries between the models of one space: [`Point::to`], [`Isometric`] | `isometry.rs` |
//! | signed distances to hyperplanes: [`Gyroplanes`] | `gyroplane.rs` |
//! | signed distances to horospheres: [`Busemann`] | `busemann.rs` |
//! | activations as points of the hyperboloid: [`Lorentz::pseudo_polar`] | `pseudo_polar.rs` |
//! | activations as points of the half-space: [`HalfSpace::psi`], [`HalfSpace::xi`] | `psi_xi.rs` |
//! | entailment cones: [`EntailmentCones`], [`shadow_cones`] | `cones.rs`, `shadow_cones.rs` |
//! | attention scores of all pairs: [`scores`] | `scores.rs` |
//!
//! | of several points | file |
//! |---|---|
//! | [`Barycentre`]: gyromidpoint, Einstein midpoint, Lorentz centroid | `barycentre.rs` |
//! | [`FrechetMean`]: the point of least squared distances, differentiable | `frechet.rs` |
//! | [`WrappedNormal`]: a distribution with a closed density | `wrapped_normal.rs` |
//! | [`symmetric_eigen`]: principal directions | `matrix.rs` |
//!
//! Curvature is called `kappa` everywhere and means sectional curvature everywhere.

pub mod barycentre;
mod busemann;
mod cones;
mod euclidean;
mod frechet;
mod geodesic;
mod grassmann;
mod gyroplane;
mod half_space;
mod ideal;
mod isometry;
mod klein;
pub mod laws;
mod lorentz;
mod manifold;
mod matrix;
mod module;
pub mod momentum;
mod orthonormal;
mod param;
mod point;
mod product;
mod pseudo_polar;
mod psi_xi;
pub mod scores;
mod sets;
pub mod shadow_cones;
mod spd;
mod spectral;
mod sphere;
mod stereographic;
mod stiefel;
mod wrapped_normal;

pub use barycentre::Barycentre;
pub use busemann::Busemann;
pub use cones::EntailmentCones;
pub use euclidean::Euclidean;
pub use frechet::{FrechetError, FrechetMean};
pub use grassmann::Grassmann;
pub use gyroplane::Gyroplanes;
pub use half_space::HalfSpace;
pub use isometry::{Hyperbolic, Isometric};
pub use klein::Klein;
pub use lorentz::Lorentz;
pub use manifold::{ConstantCurvature, CurvatureError, FactorVisitor, Manifold, OffManifold, OffTangent};
pub use matrix::symmetric_eigen;
pub use module::{Module, Path, StateError, Visitor, VisitorMut};
pub use orthonormal::Retraction;
pub use param::{Param, ParamOnTape};
pub use point::{Point, Tangent};
pub use product::Product;
pub use pseudo_polar::direction;
pub use sets::Sets;
pub use spd::Spd;
pub use sphere::Sphere;
pub use stereographic::{Curved, MatVec, PoincareBall, Stereographic};
pub use stiefel::Stiefel;
pub use wrapped_normal::{OriginFrame, Spread, WrappedNormal, standard_normal};

/// For this project's own tests: what they need beyond the public interface. It changes without notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::matrix::Matrix;
    pub use crate::spectral::{exp_divided, exp_divided_twice};
}

/// The row formulas, for direct use.
pub mod formulas {
    pub use crate::barycentre::formulas as barycentre;
    pub use crate::cones::formulas as cones;
    pub use crate::euclidean::formulas as euclidean;
    pub use crate::half_space::formulas as half_space;
    pub use crate::isometry::formulas as isometry;
    pub use crate::klein::formulas as klein;
    pub use crate::lorentz::formulas as lorentz;
    pub use crate::pseudo_polar::formulas as pseudo_polar;
    pub use crate::psi_xi::formulas as psi_xi;
    pub use crate::shadow_cones::formulas as shadow_cones;
    pub use crate::sphere::formulas as sphere;
    pub use crate::stereographic::formulas as stereographic;
    pub use crate::wrapped_normal::formulas as wrapped_normal;

    /// All formulas, by manifold; attention scores last.
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
        crate::scores::ALL,
    ];
}
