//! Logistic regression with many classes: 900 points of 100 dimensions, 10,331 classes. Prints one JSON line
//! per measurement.
//!
//! `cargo bench --bench regression -- [--threads 1] [--only hyperbolic]`
//! prints the median time of logits and gradients in f32. The forms are: `rows`, hyperbolic logits pair by
//! pair; `hyperbolic`, the same logits as the layer forms them; `unidirectional` (Shimizu et al. 2021); and
//! `euclidean`.

mod common;

use std::time::Instant;

use common::Options;
use cotangent::manifolds::{Curved, standard_normal};
use cotangent::prelude::*;

const SIZES: [usize; 3] = [900, 10_331, 100];

/// Logits of points, and the classes' parameters.
type Logits<'a> = Box<dyn for<'t> Fn(Var<'t, f32>) -> Var<'t, f32> + 'a>;

fn main() {
    common::run(|Options { threads, only }| {
        let [batch, classes, dim] = SIZES;
        let mut rng = rng::stream(1, 0, 0);
        let ball = PoincareBall::new(-1.0);
        let mut random = |rows: usize, norm: f32| {
            let normal: Tensor<f32> = standard_normal([rows * dim], &mut rng);
            let scale = norm / (dim as f32).sqrt();
            Tensor::new([rows, dim], normal.data().iter().map(|x| (scale * x).clamp(-0.09, 0.09)).collect())
        };
        let (x, points, normals) = (random(batch, 0.4), random(classes, 0.3), random(classes, 0.4));
        let mut of_ball = LogisticRegression::<_, f32>::new(ball, dim, classes, &mut rng);
        *of_ball.points.value_mut() = points.clone();
        *of_ball.normals.value_mut() = normals.clone();
        let mut flat = LogisticRegression::<_, f32>::new(Euclidean, dim, classes, &mut rng);
        *flat.points.value_mut() = points;
        *flat.normals.value_mut() = normals;
        let unidirectional = UnidirectionalRegression::<f32>::new(dim, classes, &mut rng);
        let forms: [(&str, Logits<'_>); 4] = [
            (
                "rows",
                Box::new(|x| {
                    let space = Curved::new(x.tape().scalar(-1.0));
                    let [p, a] = [
                        *of_ball.points.on(x.tape()).coordinates(),
                        *of_ball.normals.on(x.tape()).coordinates(),
                    ];
                    let normals = a * (2.0 / space.lambda(&p)).insert_axis(1);
                    space.logit(&x.insert_axis(1), &p, &normals)
                }),
            ),
            ("hyperbolic", Box::new(|x| of_ball.forward(Point::new(ball, x)))),
            ("unidirectional", Box::new(|x| unidirectional.forward(Point::new(ball, x)))),
            ("euclidean", Box::new(|x| flat.forward(x))),
        ];
        for (name, logits) in &forms {
            if only.as_deref().is_some_and(|only| !name.starts_with(only)) {
                continue;
            }
            let mut tape = Tape::<f32>::new();
            let mut step = || {
                let start = Instant::now();
                tape.reset();
                let logits = logits(tape.variable(&x));
                let forward = start.elapsed().as_secs_f64() * 1e3;
                let gradients = tape.backward(logits.sum());
                std::hint::black_box(&gradients);
                [forward, start.elapsed().as_secs_f64() * 1e3]
            };
            step();
            let (start, mut times) = (Instant::now(), [Vec::new(), Vec::new()]);
            while times[0].len() < 5 || start.elapsed().as_secs_f64() < 3.0 {
                step().into_iter().zip(&mut times).for_each(|(time, times)| times.push(time));
            }
            let median = |times: &mut Vec<f64>| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            };
            let [forward, both] = times.each_mut().map(median);
            println!(
                "{{\"form\": \"{name}\", \"sizes\": \"{batch}x{classes}x{dim}\", \"threads\": {threads}, \
                 \"forward_ms\": {forward:.1}, \"forward_backward_ms\": {both:.1}}}"
            );
        }
    });
}
