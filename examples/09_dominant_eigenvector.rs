//! A dominant eigenvector: `cargo run --release --example 09_dominant_eigenvector`
//!
//! Where the Rayleigh quotient of a symmetric matrix is largest on the sphere, by trust regions.

use cotangent::manifolds::Sphere;
use cotangent::optim::solvers::{Problem, Stopping, trust_region};
use cotangent::prelude::*;
use std::f64::consts::PI;

const N: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The adjacency matrix of a path of N nodes, whose eigenvalues and eigenvectors are known.
    let a = Tensor::from_fn([N, N], |at| f64::from((at / N).abs_diff(at % N) == 1));
    let sphere = Sphere::new(1.0);
    let mut problem = Problem::on_tape(sphere, |x| {
        let x = x.coordinates().reshape([1, N]);
        -(x.matmul(x.tape().constant(&a)) * x).sum() // −xᵀAx, to be small
    });
    let solution = trust_region(&mut problem, sphere.origin(N - 1), Stopping::default());
    for (k, entry) in solution.log.iter().enumerate() {
        println!("step {k:2}: xᵀAx {:.12}, gradient {:.1e}", -entry.cost, entry.gradient_norm);
    }
    assert!(solution.converged());

    let angle = PI / (N + 1) as f64;
    let exact: Vec<f64> = (1..=N).map(|i| (i as f64 * angle).sin()).collect();
    let exact = sphere.project(&Row::from(exact.as_slice()));
    let error = sphere.dist(&solution.point, &exact);
    println!("eigenvalue {:.12}, the eigenvector is {error:.1e} from the exact one", -solution.cost);
    assert!((-solution.cost - 2.0 * angle.cos()).abs() < 1e-12 && error < 1e-7);
    Ok(())
}
