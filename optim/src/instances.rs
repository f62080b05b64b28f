//! Steps of the optimisers, compiled here for `f32`, `f64` and every rule, and not in the crates that train.
//! See [`cotangent_engine::instances`].

use cotangent_engine::Float;
use cotangent_manifolds::steps::{Motion, Moving, Rule};
use cotangent_manifolds::{Euclidean, PoincareBall, Steps};

use crate::adam::Adaptive;
use crate::sgd::HeavyBall;
use crate::steps::host::{Part, Work, with_factor};

struct Arguments<'a, T, const K: usize> {
    rows: [Moving<'a, T, K>; 2],
    motion: Motion,
}

fn step<T: Float, U: Rule<K>, const K: usize>(rule: &U, ball: &PoincareBall, arguments: Arguments<'_, T, K>) {
    let Arguments { rows: [ball_rows, plane_rows], motion } = arguments;
    let _ = (ball.step(rule, motion, ball_rows), Euclidean.step(rule, motion, plane_rows));
}

type WithFactor<T, const K: usize> =
    fn(Moving<'_, T, K>, usize, &Part, f64, &Work<'_, T, K>) -> Result<(), usize>;

type Compiled<T> = (
    fn(&HeavyBall, &PoincareBall, Arguments<'_, T, 0>),
    fn(&Adaptive, &PoincareBall, Arguments<'_, T, 1>),
    fn(&Adaptive, &PoincareBall, Arguments<'_, T, 2>),
    fn(&PoincareBall, &mut [T], &[T], usize, f64) -> Result<(), usize>,
    fn(&Euclidean, &mut [T], &[T], usize, f64) -> Result<(), usize>,
    WithFactor<T, 0>,
    WithFactor<T, 1>,
    WithFactor<T, 2>,
);

fn steps<T: Float>() -> Compiled<T> {
    (
        step,
        step,
        step,
        PoincareBall::descend_rows,
        Euclidean::descend_rows,
        with_factor,
        with_factor,
        with_factor,
    )
}

/// Names the functions, so that they are compiled. Nobody needs to call it.
#[doc(hidden)]
#[inline(never)]
pub fn instances() {
    std::hint::black_box((steps::<f32>(), steps::<f64>()));
}
