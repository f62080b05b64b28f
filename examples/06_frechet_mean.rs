//! A Fréchet mean in the Poincaré ball: `cargo run --release --example 06_frechet_mean`
//!
//! By Riemannian gradient descent on a tape.

use cotangent::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ball = PoincareBall::new(-1.0);
    let mut rng = rng::stream(1, "data", 0);
    let points: Vec<f64> =
        (0..100).flat_map(|_| ball.random_point::<f64>(3, 4.0, &mut rng).to_vec()).collect();
    let points = Tensor::new([100, 3], points); // [100, 3]

    let mut mean = Param::new("mean", ball, Tensor::<f64>::zeros([1, 3]));
    let mut tape = Tape::new();
    // The mean is where Σ log_mean(xᵢ) vanishes. Half the mean squared distance is smooth, strongly convex
    // and has a Hessian of at most about the radius, so a rate of 1/4 is safe.
    let mut sgd = RiemannianSgd::new(0.25)?;
    for step in 0..60 {
        tape.reset();
        let data = Point::new(ball, tape.constant(&points));
        let loss = 0.5 * mean.on(&tape).dist(&data).square().mean();
        if step % 10 == 0 {
            println!("step {step:2}: half the mean squared distance {:.12}", loss.item());
        }
        sgd.step(&mut mean, &tape.backward(loss))?;
    }
    let m = Row::from(mean.value().row(0));
    let mut sum = [0.0; 3];
    for x in points.rows() {
        for (sum, v) in sum.iter_mut().zip(ball.log(&m, &Row::from(x)).iter()) {
            *sum += v / 100.0;
        }
    }
    println!("mean {:?}, mean of the logarithms there {sum:?}", mean.value().row(0));
    assert!(sum.iter().all(|s| s.abs() < 1e-9), "the mean is stationary");
    Ok(())
}
