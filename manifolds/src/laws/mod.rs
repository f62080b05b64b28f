//! The laws that manifolds satisfy, as tests that anyone can run on a manifold of their own.
//!
//! `laws!(name, manifold)` expands to a module of tests, one for each law. It needs [`Lawful`], which
//! says what the tolerances depend on; its defaults serve most manifolds:
//!
//! ```
//! use cotangent_manifolds::{Euclidean, laws};
//! laws!(euclidean, Euclidean);
//! # fn main() {}
//! ```
//!
//! and for a family, or several curvatures, `laws!(name in [first, second])`. Groups of laws beyond
//! those of every manifold go before the name: `laws!(curvature: name, manifold)`,
//! `laws!(gyrogroup: name, manifold)`.
//!
//! Every law is a function as well, here exp_x(log_x y) = y:
//!
//! ```
//! use cotangent_manifolds::{Stereographic, laws};
//! let report = laws::exp_log(&Stereographic::new(-1.0)).unwrap();
//! assert!(report.worst <= 1.0 && report.checked > 500);
//! ```
//!
//! **Draws.** Rows of `f64` and of `f32`, of dimensions 1 to 65. Points are at distances from the origin
//! that are uniform up to [`Lawful::radius`]. Among them are the origin, equal and nearly equal points,
//! points on one line with the origin and opposite each other, and points and vectors so small that
//! their squares underflow. The draws are the same in every run.
//!
//! **Tolerance.** A result may be off by `C · u · condition`: u is the unit roundoff of the storage
//! type, C a small number stated with each law, and the condition what an exact operation makes of the
//! rounding of its operands. Two things enter the condition: how far rounding moves a point
//! ([`Lawful::rounding`]), and how geodesics spread ([`Lawful::curvature_bounds`]). If a bound is so
//! large that it says nothing, the case is counted but not checked. A [`Report`] names the largest error
//! in units of its bound; a [`Violation`] the smallest failing case found.

mod calculus;
mod case;
mod check;
mod closure;
mod curvature;
mod gradients;
mod gyrogroup;
pub(crate) mod lawful;
mod levels;
mod metric;
mod transport;

pub use calculus::{conversion, one_step, retraction, unit_gradient};
pub use check::{Report, Violation, obey};
pub use closure::{closed, projection};
pub use curvature::cosines;
pub use gradients::gradients;
pub use gyrogroup::{
    Gyrogroup, associativity, coaddition, commutativity, gyration, holonomy, inverse, left_cancellation,
    left_translation, loops, multiples, rotations, sums, transport_origin,
};
pub use lawful::{Family, Lawful};
pub use levels::levels;
pub use metric::{distance, exp_log, geodesic, log_exp, log_length};
pub use transport::{transport_geodesic, transport_inverse, transport_isometry};

use crate::manifold::ConstantCurvature;

/// A law with its name: a function that reports what it finds on a manifold.
pub type Law<M> = (&'static str, fn(&M) -> Result<Report, Violation>);

/// The laws of every manifold, by name.
pub fn all<M: Lawful>() -> Vec<Law<M>> {
    crate::laws!(@each table [M])
}

/// The laws of manifolds of constant curvature, by name.
pub fn curvature<M: Lawful + ConstantCurvature>() -> Vec<Law<M>> {
    crate::laws!(@curvature table [M])
}

/// The laws of gyrovector spaces, by name.
pub fn gyrogroup<M: Gyrogroup>() -> Vec<Law<M>> {
    crate::laws!(@gyrogroup table [M])
}

/// A module of tests, one for each law: see the module [`laws`](mod@crate::laws).
#[macro_export]
macro_rules! laws {
    ($name:ident, $manifold:expr) => {
        $crate::laws! { $name in [$manifold] }
    };
    ($name:ident in $manifolds:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::laws! { @each tests [$manifolds] }
        }
    };
    ($group:ident: $name:ident, $manifold:expr) => {
        $crate::laws! { $group: $name in [$manifold] }
    };
    ($group:ident: $name:ident in $manifolds:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::laws! { @$group tests [$manifolds] }
        }
    };
    (@each $then:ident $argument:tt) => {
        $crate::laws! { @$then $argument
            exp_log log_exp log_length distance geodesic
            transport_isometry transport_inverse transport_geodesic
            conversion retraction one_step unit_gradient gradients
            projection closed levels
        }
    };
    (@curvature $then:ident $argument:tt) => {
        $crate::laws! { @$then $argument cosines }
    };
    (@gyrogroup $then:ident $argument:tt) => {
        $crate::laws! { @$then $argument
            inverse left_cancellation left_translation associativity commutativity
            gyration loops coaddition multiples sums
            transport_origin holonomy rotations
        }
    };
    (@tests [$manifolds:expr] $($law:ident)*) => {
        $(
            #[test]
            fn $law() {
                $crate::laws::obey($manifolds, $crate::laws::$law);
            }
        )*
    };
    (@table [$manifold:ty] $($law:ident)*) => {
        vec![$((stringify!($law), $law::<$manifold> as fn(&$manifold) -> Result<Report, Violation>)),*]
    };
}
