//! Embedding tables.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tape, Tensor, Var};
use cotangent_manifolds::{FactorVisitor, Module, Param, Point, Steps};
use rand::RngExt;

/// A table of points, one per object, looked up by the object's number: `[n, ambient(dim)]`.
#[derive(Clone, Debug, Module)]
pub struct Embedding<M, T: Float = f32> {
    /// The points.
    pub points: Param<M, T>,
}

impl<M: Steps, T: Float> Embedding<M, T> {
    /// Points whose coordinates about the origin are uniform in `[-range, range]` (Nickel & Kiela 2017,
    /// section 4, with range 0.001).
    pub fn uniform(name: &str, manifold: M, n: usize, dim: usize, range: f64, rng: &mut Rng) -> Self {
        let mut table = Tensor::zeros([n, manifold.ambient(dim)]);
        for i in 0..n {
            let row = table.row_mut(i);
            manifold.factors(0..row.len(), &mut NearOrigin { row, range, rng });
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

/// Makes a row a point whose coordinates about the origin are uniform in `[-range, range]`.
struct NearOrigin<'a, T> {
    row: &'a mut [T],
    range: f64,
    rng: &'a mut Rng,
}

impl<T: Float> FactorVisitor for NearOrigin<'_, T> {
    fn factor<M: Steps>(&mut self, manifold: &M, coordinates: Range<usize>) {
        let dim = manifold.dimension(coordinates.len());
        let mut point = manifold.origin::<T>(dim);
        let first = coordinates.len() - dim;
        for c in &mut point[first..] {
            *c = *c + T::nearest(self.rng.random_range(-self.range..=self.range));
        }
        self.row[coordinates].copy_from_slice(&manifold.project(&point));
    }
}
