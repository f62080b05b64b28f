//! The laws of all manifolds, over curvatures of every sign and size, and manifolds that are wrong on purpose, which
//! the laws must reject.
//!
//! `cargo test -p cotangent-manifolds --test laws -- --nocapture` prints the largest error of each law in units of
//! its bound.

mod curvature;
mod mutants;

use cotangent_manifolds::{Euclidean, Stereographic, laws};

const KAPPAS: [f64; 8] = [-2.5, -1.0, -0.37, -1e-6, -1e-12, 0.0, 1e-12, 0.6];

laws!(euclidean, Euclidean);
laws!(stereographic in KAPPAS.map(|kappa| Stereographic::new(kappa).unwrap()));

laws!(curvature: euclidean_curvature, Euclidean);
laws!(curvature: stereographic_curvature in KAPPAS.map(|kappa| Stereographic::new(kappa).unwrap()));
