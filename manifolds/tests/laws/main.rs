//! The laws of all manifolds, over curvatures of every sign and size, and manifolds that are wrong on
//! purpose, which the laws must reject.
//!
//! `cargo test -p cotangent-manifolds --test laws -- --nocapture` prints the largest error of each law
//! in units of its bound.

mod curvature;
mod mutants;

use cotangent_manifolds::{
    Euclidean, Grassmann, HalfSpace, Klein, Lorentz, PoincareBall, Product, Spd, Sphere, Stereographic,
    Stiefel, laws,
};

const KAPPAS: [f64; 8] = [-2.5, -1.0, -0.37, -1e-6, -1e-12, 0.0, 1e-12, 0.6];

laws!(euclidean, Euclidean);
laws!(stereographic in KAPPAS.map(|kappa| Stereographic::new(kappa)));
laws!(lorentz in KAPPAS[..5].iter().map(|&kappa| Lorentz::new(kappa)));
laws!(klein in KAPPAS[..5].iter().map(|&kappa| Klein::new(kappa)));
laws!(half_space in KAPPAS[..5].iter().map(|&kappa| HalfSpace::new(kappa)));
laws!(sphere in [1e-12, 0.6, 1.0, 4.0].map(|kappa| Sphere::new(kappa)));
laws!(product in [-1.0, -0.37].map(|kappa| {
    let (ball, sphere) = (PoincareBall::new(kappa), Sphere::new(0.6));
    Product::new(ball, 2, Product::new(Euclidean, 1, sphere))
}));
laws!(grassmann in [(3, 1), (4, 2), (6, 2)].map(|(n, p)| Grassmann::new(n, p)));
laws!(stiefel in [(3, 1), (4, 2), (5, 3)].map(|(n, p)| Stiefel::new(n, p)));
laws!(spd in [1, 2, 3, 5].map(Spd::affine_invariant));
laws!(spd_log_euclidean in [1, 2, 3, 5].map(Spd::log_euclidean));

laws!(curvature: euclidean_curvature, Euclidean);
laws!(curvature: stereographic_curvature in KAPPAS.map(|kappa| Stereographic::new(kappa)));
laws!(curvature: lorentz_curvature in KAPPAS[..5].iter().map(|&kappa| Lorentz::new(kappa)));
laws!(curvature: klein_curvature in KAPPAS[..5].iter().map(|&kappa| Klein::new(kappa)));
laws!(curvature: half_space_curvature in KAPPAS[..5].iter().map(|&kappa| HalfSpace::new(kappa)));
laws!(curvature: sphere_curvature in [1e-12, 0.6, 1.0, 4.0].map(|kappa| Sphere::new(kappa)));

laws!(gyrogroup: gyrovectors in KAPPAS.map(|kappa| Stereographic::new(kappa)));
