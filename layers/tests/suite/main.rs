//! Tests of the layers: their laws, their gradients, and their response to wrong input.

// The name by which `#[derive(Module)]` looks for the trait.
extern crate cotangent_manifolds as cotangent;

use cotangent_engine::rng::{self, Rng};
use cotangent_engine::{Tape, Tensor, Var};
use cotangent_manifolds::{Manifold, Module, Param, Path, Point, Steps, Stereographic, VisitorMut};
use rand::RngExt;

mod adaptive;
mod any_geometry;
mod attention;
mod attention_laws;
mod attention_masks;
mod attention_pooling;
mod convolution;
mod finite_cones;
mod gradients;
mod graph_attention;
mod graph_convolution;
mod linear;
mod loss;
mod lstm;
mod maps;
mod modules;
mod position;
mod recurrent;
mod regression;
mod scores;
mod transformer;

fn space(kappa: f64) -> Stereographic {
    Stereographic::new(kappa)
}

/// `n` points at distances of up to `radius` from the origin: `[n, dim]`.
fn points<M: Manifold>(manifold: &M, n: usize, dim: usize, radius: f64, rng: &mut Rng) -> Tensor<f64> {
    let rows = (0..n).flat_map(|_| manifold.random_point::<f64>(dim, radius, rng).to_vec()).collect();
    Tensor::new([n, dim], rows)
}

fn uniform(shape: &[usize], range: f64, rng: &mut Rng) -> Tensor<f64> {
    Tensor::from_fn(shape, |_| rng.random_range(-range..range))
}

/// Sets every parameter to random points at distances of up to `radius` from the origin.
fn scatter(module: &mut impl Module<f64>, radius: f64, seed: u64) {
    struct Scatter(f64, Rng);
    impl VisitorMut<f64> for Scatter {
        fn param<M: Steps>(&mut self, _: &str, param: &mut Param<M, f64>) {
            let (manifold, width) = (*param.manifold(), param.value().width());
            for row in param.value_mut().data_mut().chunks_exact_mut(width) {
                row.copy_from_slice(&manifold.random_point(manifold.dimension(width), self.0, &mut self.1));
            }
        }
    }
    module.visit_mut(&mut Path::root(), &mut Scatter(radius, rng::stream(seed, 9, 0)));
}

/// Puts points on a tape.
fn on<'t, M: Manifold>(tape: &'t Tape<f64>, manifold: M, x: &Tensor<f64>) -> Point<M, Var<'t, f64>> {
    Point::new(manifold, tape.constant(x))
}

/// The coordinates of points.
fn read<M: Manifold>(x: &Point<M, Var<'_, f64>>) -> Tensor<f64> {
    x.coordinates().to_tensor()
}

/// The largest absolute difference.
fn difference(a: &Tensor<f64>, b: &Tensor<f64>) -> f64 {
    assert_eq!(a.shape(), b.shape());
    a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, |m, d| if d <= m { m } else { d })
}

#[track_caller]
fn close(a: &Tensor<f64>, b: &Tensor<f64>, tolerance: f64) {
    assert!(difference(a, b) <= tolerance, "{a} and {b} are {:e} apart", difference(a, b));
}
