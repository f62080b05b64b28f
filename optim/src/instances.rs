//! Steps that are compiled here, for both element types and every rule, and not in the crates that train: see
//! [`cotangent_engine::instances`].

use cotangent_engine::Float;
use cotangent_manifolds::momentum::{Motion, Moving, Rule};
use cotangent_manifolds::{Euclidean, Manifold, PoincareBall};

use crate::adam::Adaptive;
use crate::sgd::HeavyBall;

struct Values<'a, T, const K: usize> {
    rows: [Moving<'a, T, K>; 2],
    motion: Motion,
}

fn step<T: Float, U: Rule<K>, const K: usize>(rule: &U, ball: &PoincareBall, values: Values<'_, T, K>) {
    let Values { rows: [of_ball, of_plane], motion } = values;
    let _ = (ball.step(rule, motion, of_ball), Euclidean.step(rule, motion, of_plane));
}

type Steps<T> = (
    fn(&HeavyBall, &PoincareBall, Values<'_, T, 0>),
    fn(&Adaptive, &PoincareBall, Values<'_, T, 1>),
    fn(&Adaptive, &PoincareBall, Values<'_, T, 2>),
    fn(&PoincareBall, &mut [T], &[T], usize, f64) -> Result<(), usize>,
    fn(&Euclidean, &mut [T], &[T], usize, f64) -> Result<(), usize>,
);

fn steps<T: Float>() -> Steps<T> {
    (step, step, step, PoincareBall::descend_rows, Euclidean::descend_rows)
}

/// What is compiled here. Nobody needs to call it.
#[doc(hidden)]
#[inline(never)]
pub fn instances() {
    std::hint::black_box((steps::<f32>(), steps::<f64>()));
}
