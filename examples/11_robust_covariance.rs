//! A robust covariance: `cargo run --release --example 11_robust_covariance`
//!
//! Outliers do not spoil it: Tyler's estimator, the minimum of a cost that is convex along the geodesics
//! of the positive definite matrices, not along straight lines. Tyler 1987; Wiesel 2012.

use cotangent::manifolds::Spd;
use cotangent::optim::solvers::{Problem, Stopping, lbfgs};
use cotangent::prelude::*;
use rand::RngExt;

const N: usize = 3;
const SAMPLES: usize = 400;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Data with variances in the ratio 4 : 1 : 1; every tenth is thrown far off along the last axis.
    let mut rng = rng::stream(11, "data", 0);
    let data = Tensor::from_fn([SAMPLES, N], |at| {
        let (i, j) = (at / N, at % N);
        let outlier = if i % 10 == 0 && j == N - 1 { 50.0 } else { 1.0 };
        outlier * [2.0, 1.0, 1.0][j] * rng.random_range(-1.0..1.0)
    });
    let spd = Spd::affine_invariant(N);
    let identity = spd.origin::<f64>(spd.dimension(N * N));
    let identity = Tensor::new([N * N], identity.to_vec());

    // The cost of a precision P, the inverse of the covariance, is (n/m) Σ ln xᵢᵀPxᵢ − ln det P
    // over m samples. The logarithm of the determinant is the trace of the logarithm, which is a tangent
    // vector at the identity.
    let mut problem = Problem::on_tape(spd, |p| {
        let tape = p.coordinates().tape();
        let (data, identity) = (tape.constant(&data), tape.constant(&identity));
        let squares = (data.matmul(p.coordinates().reshape([N, N])) * data).sum_axis(-1); // [SAMPLES]
        let log = *Point::new(spd, identity).log(&p).coordinates(); // [N · N]
        N as f64 * squares.ln().mean() - (log * identity).sum()
    });
    let start = Row::from(identity.data());
    let solution = lbfgs(&mut problem, start, Stopping::default());
    println!("{} iterations, gradient {:.1e}", solution.log.len() - 1, solution.gradient_norm);
    assert!(solution.converged());

    // Tyler's equation: (n/m) Σ xᵢxᵢᵀ/(xᵢᵀPxᵢ) is the inverse of P.
    let tape = Tape::new();
    let (data, p) = (tape.constant(&data), tape.constant(&Tensor::new([N, N], solution.point.to_vec())));
    let images = data.matmul(p);
    let squares = (images * data).sum_axis(-1).reshape([SAMPLES, 1]);
    let product = ((data / squares).matmul_tn(images) * (N as f64 / SAMPLES as f64)).to_tensor(); // [N, N]
    let identity = identity.reshape([N, N]);
    let miss = product.data().iter().zip(identity.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("Tyler's equation holds to {miss:.1e}");
    assert!(miss < 1e-7);

    // With and without robustness, the variance along the last axis to that along the second.
    let precise = |i: usize| solution.point[i * N + i].recip();
    let sample = (data.matmul_tn(data) / SAMPLES as f64).to_tensor();
    let (robust, naive) = (precise(2) / precise(1), sample.row(2)[2] / sample.row(1)[1]);
    println!("ratio of two equal variances: {robust:.2}, by the sample covariance {naive:.1}");
    assert!((0.5..2.0).contains(&robust) && naive > 10.0);
    Ok(())
}
