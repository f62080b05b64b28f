//! The list of manifolds and of formulas. Whatever names all of them comes from here.

/// Reads the list below. From the manifolds it makes the module `spaces`, which the crate and the prelude
/// export, and `for_each_manifold!`, by which tests run on all of them; from the files with formulas the
/// module `formulas`.
macro_rules! manifolds {
    (
        families {$(
            #[doc = $about:literal]
            $name:ident in $($file:ident)::+: $family:ident $(, $model:ident)*
            $(; formulas $formulas:ident)? $(; curvature $curvature:ident)?
        )+}
        combinations {$(
            #[doc = $of:literal]
            $combination:ident in $combined:ident
        )+}
        formulas {$(
            $on:ident in $($on_file:ident)::+
        )+}
    ) => {
        /// The manifolds of the library.
        ///
        $(#[doc = concat!("- [`", stringify!($family), "`](crate::", stringify!($family), "):", $about)])+
        $(#[doc = concat!(
            "- [`", stringify!($combination), "`](crate::", stringify!($combination), "):", $of
        )])+
        pub mod spaces {
            $(pub use super::files::$name::{$family $(, $model)*};)+
            $(pub use crate::$combined::$combination;)+
        }

        /// The files of the families, by name.
        mod files {
            $(pub(super) use crate::$($file)::+ as $name;)+
        }

        /// The row formulas, for direct use.
        pub mod formulas {
            $($(pub use super::files::$name::formulas as $formulas;)?)+
            $(pub use crate::$($on_file)::+::formulas as $on;)+

            /// All formulas, by file.
            pub const ALL: &[&[cotangent_engine::registry::Formula]] =
                &[$($($formulas::ALL,)?)+ $($on::ALL),+];
        }

        /// Calls a macro for each [`Family`](crate::laws::Family) of manifolds, with a name and the type; for
        /// those of constant curvature also with a name for the laws of curvature.
        ///
        /// ```
        /// use cotangent_manifolds::laws::Family;
        /// macro_rules! count {
        ///     ($name:ident, $family:ty $(, $curvature:ident)?) => {
        ///         println!("{}: {} members", stringify!($name), <$family>::members().len());
        ///     };
        /// }
        /// cotangent_manifolds::for_each_manifold!(count);
        /// ```
        #[macro_export]
        macro_rules! for_each_manifold {
            ($then:ident) => {
                $($then! { $name, $crate::$family $(, $curvature)? })+
            };
        }
    };
}

manifolds! {
    families {
        /// the ordinary one
        euclidean in euclidean: Euclidean; formulas euclidean; curvature euclidean_curvature
        /// any κ; `PoincareBall` for κ < 0, `ProjectedSphere` for κ > 0
        stereographic in hyperbolic::stereographic: Stereographic, PoincareBall, ProjectedSphere;
            formulas stereographic; curvature stereographic_curvature
        /// the hyperboloid
        lorentz in hyperbolic::lorentz: Lorentz; formulas lorentz; curvature lorentz_curvature
        /// the ball with straight geodesics
        klein in hyperbolic::klein: Klein; formulas klein; curvature klein_curvature
        /// the upper half-space
        half_space in hyperbolic::half_space: HalfSpace; formulas half_space; curvature half_space_curvature
        /// points at one distance from the origin
        sphere in sphere: Sphere; formulas sphere; curvature sphere_curvature
        /// subspaces of ℝⁿ
        grassmann in matrix::grassmann: Grassmann
        /// orthonormal frames
        stiefel in matrix::stiefel: Stiefel
        /// symmetric positive definite matrices, affine-invariant or log-Euclidean
        spd in matrix::spd: Spd
    }
    combinations {
        /// two manifolds side by side, of any kind and curvature each
        Product in product
        /// a space of constant curvature, chosen at run time
        SpaceForm in space_form
        /// a product of such spaces
        ProductSpace in product_space
    }
    formulas {
        isometry in hyperbolic::isometry
        pseudo_polar in pseudo_polar
        psi_xi in psi_xi
        cones in cones
        shadow_cones in shadow_cones
        barycentre in barycentre
        wrapped_normal in wrapped_normal
        horopca in horopca
    }
}
