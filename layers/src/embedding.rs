//! Embedding tables.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Tape, Tensor, Var};
use cotangent_manifolds::{Manifold, Module, Param, Point};
use rand::RngExt;

/// A table of points, one per object, looked up by the object's number: `[n, ambient(dim)]`.
#[derive(Clone, Debug, Module)]
pub struct Embedding<M, T: Float = f32> {
    /// The points.
    pub points: Param<M, T>,
}

impl<M: Manifold, T: Float> Embedding<M, T> {
    /// Points whose coordinates about the origin are uniform in `[-range, range]` (Nickel & Kiela 2017,
    /// section 4, with range 0.001).
    pub fn uniform(name: &str, manifold: M, n: usize, dim: usize, range: f64, rng: &mut Rng) -> Self {
        let width = manifold.ambient(dim);
        let mut table = Tensor::zeros([n, width]);
        for i in 0..n {
            let row = table.row_mut(i);
            for c in &mut row[width - dim..] {
                *c = T::nearest(rng.random_range(-range..=range));
            }
            let point = manifold.project(&Row::from(&*row));
            row.copy_from_slice(&point);
        }
        Embedding { points: Param::new(name, manifold, table) }
    }

    /// The points of some objects: `[rows.len(), ambient(dim)]`. Where the curvature is learned, these
    /// are coordinates, which [`GyrovectorSpace::points`](crate::GyrovectorSpace::points) turns into points.
    ///
    /// # Panics
    /// If a number is not less than n.
    #[track_caller]
    pub fn forward<'t>(&self, tape: &'t Tape<T>, rows: &[u32]) -> Point<M, Var<'t, T>> {
        self.points.on(tape).rows(rows)
    }
}
