//! Principal components: `cargo run --release --example 10_principal_components`
//!
//! The plane that keeps most of the variance of data is a point of a Grassmann manifold, found by
//! conjugate gradients.

use cotangent::manifolds::Grassmann;
use cotangent::optim::solvers::{Problem, Stopping, conjugate_gradient};
use cotangent::prelude::*;
use rand::RngExt;

const N: usize = 6;
const P: usize = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Data that vary in all directions, less and less, and are mixed then.
    let mut rng = rng::stream(10, "data", 0);
    let mut random = |shape: [usize; 2]| Tensor::from_fn(shape, |_| rng.random_range(-1.0..1.0));
    let (data, mixing) = (random([200, N]), random([N, N]));
    let scales = Tensor::from_fn([N], |i| 0.5_f64.powi(i as i32));
    let tape = Tape::new();
    let data = (tape.constant(&data) * tape.constant(&scales)).matmul(tape.constant(&mixing)); // [200, N]
    let covariance = (data.matmul_tn(data) / 200.0).to_tensor(); // [N, N]

    let planes = Grassmann::new(N, P);
    let mut problem = Problem::on_tape(planes, |x| {
        let x = x.coordinates().reshape([N, P]);
        -(x.tape().constant(&covariance).matmul(x) * x).sum() // −tr XᵀCX, the variance in the plane
    });
    let solution = conjugate_gradient(&mut problem, planes.origin(P * (N - P)), Stopping::default());
    assert!(solution.converged());
    let total: f64 = (0..N).map(|i| covariance.row(i)[i]).sum();
    let kept = -solution.cost / total;
    println!("{} iterations, {:.1} % of the variance", solution.log.len() - 1, 100.0 * kept);

    // The same by orthogonal iteration: X ← an orthonormal basis of C X.
    let mut x: Row<f64> = planes.origin(P * (N - P));
    for _ in 0..1000 {
        let tape = Tape::new();
        let image = tape.constant(&covariance).matmul(tape.constant(&Tensor::new([N, P], x.to_vec())));
        x = planes.project(&Row::from(image.to_tensor().data()));
    }
    let error = planes.dist(&solution.point, &x);
    println!("the plane is {error:.1e} from that of orthogonal iteration");
    assert!(error < 1e-7);
    Ok(())
}
