//! The kernels, for comparison with their peers. Prints one JSON line per measurement, with the names
//! and shapes of the peers' scripts.
//!
//! `cargo bench --bench kernels -- [--threads 1] [--only gram]`
//! prints medians in milliseconds of the forward pass and of forward and backward together.

mod common;
#[path = "common/timing.rs"]
mod timing;

use common::Options;
use cotangent::engine::loss as losses;
use cotangent::prelude::*;
use timing::{median_ms, uniform};

struct Bench {
    threads: usize,
    only: Option<String>,
}

impl Bench {
    fn wants(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }

    /// Measures an operation: the forward pass alone, and with the backward pass from a given gradient
    /// of the result.
    fn run<T: Float>(
        &self,
        op: &str,
        shape: &str,
        inputs: &[Tensor<T>],
        f: impl for<'t> Fn(&[Var<'t, T>]) -> Var<'t, T>,
    ) {
        let mut tape = Tape::new();
        let forward = median_ms(|| {
            tape.reset();
            let variables: Vec<_> = inputs.iter().map(|x| tape.constant(x)).collect();
            f(&variables).with_data(|y| std::hint::black_box(y.len()));
        });
        let y = {
            let tape = Tape::new();
            let variables: Vec<_> = inputs.iter().map(|x| tape.constant(x)).collect();
            f(&variables).shape()
        };
        let g = uniform::<T>(y.axes(), 0.0, 1.0, 99);
        let forward_backward = median_ms(|| {
            tape.reset();
            let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
            let y = f(&variables);
            let gradients = tape.backward_from(y, &g);
            assert!(gradients.view(variables[0]).is_some());
        });
        let elements = inputs.iter().map(Tensor::len).sum::<usize>() + y.elements();
        let gbs = (elements * size_of::<T>()) as f64 / forward / 1e6;
        println!(
            "{{\"op\": \"{op}\", \"shape\": \"{shape}\", \"dtype\": \"{}\", \"threads\": {}, \
             \"fwd_ms\": {forward:.4}, \"fwdbwd_ms\": {forward_backward:.4}, \"fwd_gbs\": {gbs:.2}}}",
            if T::NAME == "f32" { "float32" } else { "float64" },
            self.threads
        );
    }

    fn gram<T: Float>(&self) {
        let ball = PoincareBall::new(-1.0);
        let lorentz = Lorentz::new(-1.0);
        for (n, d) in [(65536, 16), (65536, 128), (8192, 512)] {
            let scale = 0.9 / (d as f64).sqrt();
            let (x, y) = (uniform::<T>(&[n, d], -scale, scale, 1), uniform::<T>(&[n, d], -scale, scale, 2));
            let u = uniform::<T>(&[n, d], -scale, scale, 3);
            let shape = format!("{n}x{d}");
            let pair = [x.clone(), y];
            self.run("mobius_add", &shape, &pair, |v| ball.add(&v[0], &v[1]));
            self.run("expmap", &shape, &[x.clone(), u.clone()], |v| ball.exp(&v[0], &v[1]));
            self.run("logmap", &shape, &pair, |v| ball.log(&v[0], &v[1]));
            self.run("dist", &shape, &pair, |v| ball.dist(&v[0], &v[1]));
            if d != 128 {
                let three = [x.clone(), pair[1].clone(), u.clone()];
                self.run("egrad2rgrad", &shape, &three[1..], |v| ball.egrad_to_rgrad(&v[0], &v[1]));
                self.run("retr", &shape, &three[1..], |v| ball.retract(&v[0], &v[1]));
                self.run("transp", &shape, &three, |v| ball.transport(&v[0], &v[1], &v[2]));
            }
            let points = uniform::<T>(&[n, d + 1], -scale, scale, 4);
            let hx = lorentz.project(&points);
            let hy = lorentz.project(&uniform::<T>(&[n, d + 1], -scale, scale, 5));
            self.run("lorentz dist", &shape, &[hx, hy], |v| lorentz.dist(&v[0], &v[1]));
        }
    }

    fn elementwise<T: Float>(&self) {
        let shape = "8192x512";
        let x = uniform::<T>(&[8192, 512], -2.0, 2.0, 1);
        let y = uniform::<T>(&[8192, 512], 0.1, 2.0, 2);
        let (gain, bias) = (uniform::<T>(&[512], -1.0, 1.0, 3), uniform::<T>(&[512], -1.0, 1.0, 4));
        let one = std::slice::from_ref(&x);
        self.run("softmax", shape, one, |v| v[0].softmax(-1));
        self.run("logsumexp", shape, one, |v| v[0].logsumexp(-1));
        self.run("logsumexp of columns", shape, one, |v| v[0].logsumexp(0));
        self.run("layernorm", shape, &[x.clone(), gain, bias], |v| v[0].layer_norm(v[1], v[2], 1e-5));
        self.run("gelu", shape, one, |v| v[0].gelu());
        self.run("tanh", shape, one, |v| v[0].tanh());
        self.run("exp", shape, one, |v| v[0].exp());
        self.run("log", shape, std::slice::from_ref(&y), |v| v[0].ln());
        self.run("add", shape, &[x.clone(), y.clone()], |v| v[0] + v[1]);
        self.run("mul", shape, &[x.clone(), y], |v| v[0] * v[1]);
        self.run("sum", shape, one, |v| v[0].sum());
    }

    fn matmul<T: Float>(&self) {
        for (m, k, n) in [
            (256, 256, 256),
            (512, 512, 512),
            (1024, 1024, 1024),
            (2048, 2048, 2048),
            (8192, 128, 128),
            (8192, 512, 512),
            (6400, 96, 96),
            (6400, 96, 384),
            (6400, 384, 96),
        ] {
            let (a, b) = (uniform::<T>(&[m, k], -1.0, 1.0, 1), uniform::<T>(&[k, n], -1.0, 1.0, 2));
            self.run("mm", &format!("{m}x{k}.{k}x{n}"), &[a, b], |v| v[0].matmul(v[1]));
        }
    }

    /// The bandwidth of a copy of 2^25 elements. It limits all kernels above.
    fn copy<T: Float>(&self) {
        let x = uniform::<T>(&[1 << 25], -1.0, 1.0, 1);
        let mut y = vec![T::zero(); 1 << 25];
        let part = (1 << 25) / self.threads;
        let ms = median_ms(|| {
            rayon::scope(|scope| {
                for (x, y) in x.data().chunks(part).zip(y.chunks_mut(part)) {
                    scope.spawn(|_| y.copy_from_slice(x));
                }
            });
            std::hint::black_box(&mut y);
        });
        let gbs = (2 * x.len() * size_of::<T>()) as f64 / ms / 1e6;
        println!(
            "{{\"op\": \"copy\", \"shape\": \"2^25\", \"dtype\": \"{}\", \"threads\": {}, \
             \"fwd_ms\": {ms:.3}, \"fwd_gbs\": {gbs:.2}}}",
            if T::NAME == "f32" { "float32" } else { "float64" },
            self.threads
        );
    }

    /// A step of a small perceptron, to show the engine's cost besides arithmetic.
    fn overhead(&self) {
        let x = uniform::<f32>(&[16, 8], -1.0, 1.0, 1);
        let target = uniform::<f32>(&[16, 1], -1.0, 1.0, 2);
        let mut params = [[8, 16], [1, 16], [16, 1], [1, 1]]
            .map(|shape| Param::new("w", Euclidean, uniform::<f32>(&shape, -0.3, 0.3, 3)));
        let mut sgd = RiemannianSgd::new(0.01).expect("a rate");
        let mut tape = Tape::new();
        let ms = median_ms(|| {
            tape.reset();
            let [w1, b1, w2, b2] = [0, 1, 2, 3].map(|i| *params[i].on(&tape));
            let h = (tape.constant(&x).matmul(w1) + b1).tanh();
            let loss = losses::mean_squared_error(h.matmul(w2) + b2, tape.constant(&target));
            let gradients = tape.backward(loss);
            for param in &mut params {
                sgd.step(param, &gradients).expect("finite");
            }
        });
        println!(
            "{{\"op\": \"perceptron step\", \"shape\": \"16x8\", \"dtype\": \"float32\", \"threads\": {}, \
             \"fwdbwd_ms\": {ms:.5}}}",
            self.threads
        );
    }

    fn all(&self) {
        for part in ["copy", "gram", "elementwise", "matmul"] {
            if !self.wants(part) {
                continue;
            }
            match part {
                "copy" => (self.copy::<f32>(), self.copy::<f64>()),
                "gram" => (self.gram::<f32>(), self.gram::<f64>()),
                "elementwise" => (self.elementwise::<f32>(), self.elementwise::<f64>()),
                _ => (self.matmul::<f32>(), self.matmul::<f64>()),
            };
        }
        if self.wants("overhead") {
            self.overhead();
        }
    }
}

fn main() {
    common::run(|Options { threads, only }| Bench { threads, only }.all());
}
