//! Optimiser steps, for comparison with their peers. Prints one JSON line per measurement, with the
//! names and shapes of the peers' script.
//!
//! `cargo bench --bench optimizers -- [--threads 1] [--only RiemannianAdam]`
//! prints the median time of a step with a dense gradient, in milliseconds.

mod common;

use std::time::Instant;

use common::Options;
use cotangent::engine::ParamId;
use cotangent::optim::{Algorithm, GradientSource, Optimiser};
use cotangent::prelude::*;

/// A gradient source with a fixed gradient.
struct Fixed<'a, T>(ParamId, &'a [T]);

impl<T: Float> GradientSource<T> for Fixed<'_, T> {
    fn gradient(&self, id: ParamId) -> Option<GradientView<'_, T>> {
        (id == self.0).then_some(GradientView::Dense(self.1))
    }
}

fn normal<T: Float>(shape: [usize; 2], scale: f64, seed: u64) -> Tensor<T> {
    use rand::RngExt;
    let mut rng = rng::stream(seed, 0, 0);
    // A sum of uniform numbers is close enough to normal.
    Tensor::from_fn(shape, |_| T::nearest(scale * (0..6).map(|_| rng.random_range(-0.7..0.7)).sum::<f64>()))
}

struct Bench {
    threads: usize,
    only: Option<String>,
}

impl Bench {
    fn run<M: Steps, A: Algorithm, T: Float>(
        &self,
        op: &str,
        manifold: M,
        [rows, width]: [usize; 2],
        mut optimiser: Optimiser<A, T>,
    ) {
        if self.only.as_deref().is_some_and(|only| !op.starts_with(only)) {
            return;
        }
        let mut param = Param::new("x", manifold, normal([rows, width], 0.01, 1));
        // Gradients alternate. Points that always follow one gradient become parallel to it, which never
        // happens in training.
        let gradients = [2, 3, 4, 5].map(|seed| normal::<T>([rows, width], 1e-3, seed));
        let mut turn = gradients.iter().cycle();
        let mut step = || {
            let gradient = Fixed(param.id(), turn.next().expect("a cycle").data());
            optimiser.step(&mut param, &gradient).expect("finite");
        };
        (0..3).for_each(|_| step());
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.len() < 7 || start.elapsed().as_secs_f64() < 1.0 {
            let call = Instant::now();
            step();
            times.push(call.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{{\"op\": \"{op}\", \"shape\": \"{rows}x{width}\", \"dtype\": \"{}\", \"threads\": {}, \
             \"step_ms\": {:.4}}}",
            if T::NAME == "f32" { "float32" } else { "float64" },
            self.threads,
            times[times.len() / 2]
        );
    }

    fn all<T: Float>(&self, shape: [usize; 2]) {
        let ball = PoincareBall::new(-1.0);
        let (adam, sgd) = (|| RiemannianAdam::<T>::new(1e-3), || RiemannianSgd::<T>::new(1e-3));
        let rate = "a rate";
        self.run("RiemannianAdam", ball, shape, adam().expect(rate));
        self.run("RiemannianAMSGrad", ball, shape, adam().expect(rate).amsgrad());
        self.run("RiemannianSGD momentum", ball, shape, sgd().and_then(|s| s.momentum(0.9)).expect(rate));
        self.run("RiemannianSGD", ball, shape, sgd().expect(rate));
        self.run("Adam", Euclidean, shape, adam().expect(rate));
    }
}

fn main() {
    common::run(|Options { threads, only }| {
        let bench = Bench { threads, only };
        for shape in [[65536, 16], [65536, 128], [8192, 512]] {
            bench.all::<f32>(shape);
            bench.all::<f64>(shape);
        }
    });
}
