//! The laws of all manifolds, over curvatures of every sign and size, and manifolds that are wrong on
//! purpose, which the laws must reject.
//!
//! `cargo test -p cotangent-manifolds --test laws -- --nocapture` prints the largest error of each law
//! in units of its bound.

mod curvature;
mod mutants;

use cotangent_manifolds::laws::Family;
use cotangent_manifolds::{Euclidean, PoincareBall, Product, Sphere, Stereographic, for_each_manifold, laws};

macro_rules! laws_of {
    ($name:ident, $family:ty $(, $curvature:ident)?) => {
        laws!($name in <$family>::members());
        $(laws!(curvature: $curvature in <$family>::members());)?
    };
}
for_each_manifold!(laws_of);

laws!(product in [-1.0, -0.37].map(|kappa| {
    let (ball, sphere) = (PoincareBall::new(kappa), Sphere::new(0.6));
    Product::new(ball, 2, Product::new(Euclidean, 1, sphere))
}));

laws!(gyrogroup: gyrovectors in Stereographic::members());
