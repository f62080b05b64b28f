//! Embedding tables.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Tape, Tensor, Var};
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
    ///
    /// # Panics
    /// If the range is negative or not finite.
    #[track_caller]
    pub fn uniform(name: &str, manifold: M, n: usize, dim: usize, range: f64, rng: &mut Rng) -> Self {
        let fits = range >= 0.0 && range.is_finite();
        assert!(fits, "Embedding: a range of {range}; it must be finite and at least 0");
        let mut draw = |offset: &mut f64| *offset = rng.random_range(-range..=range);
        Self::about_origin(name, manifold, n, dim, |_, offsets| offsets.iter_mut().for_each(&mut draw))
    }

    /// Points about the origin: `draw(i, offsets)` fills in by how much the coordinates of point i differ
    /// from the origin's. On a hyperboloid or a sphere, these are all but the first one. On a manifold of
    /// fixed size, whose points are matrices, the offsets are a vector at the origin with all coordinates:
    /// the point is exp of its tangent part.
    pub fn about_origin(
        name: &str,
        manifold: M,
        n: usize,
        dim: usize,
        mut draw: impl FnMut(usize, &mut [f64]),
    ) -> Self {
        let mut origin = Origin { row: vec![T::zero(); manifold.ambient(dim)], free: Vec::new() };
        manifold.factors(0..origin.row.len(), &mut origin);
        let Origin { row: origin, free } = origin;
        let mut table = Tensor::zeros([n, origin.len()]);
        let mut offsets = vec![0.0; free.len()];
        for i in 0..n {
            draw(i, &mut offsets);
            let row = table.row_mut(i);
            row.copy_from_slice(&origin);
            free.iter().zip(&offsets).for_each(|(&c, &offset)| row[c] = row[c] + T::nearest(offset));
        }
        manifold.factors(0..origin.len(), &mut Shoot(&mut table));
        for rows in table.data_mut().chunks_mut(TOGETHER * origin.len()) {
            let points = Tensor::new([rows.len() / origin.len(), origin.len()], rows.to_vec());
            rows.copy_from_slice(manifold.project(&Tape::new().constant(&points)).to_tensor().data());
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

/// Rows that are projected together.
const TOGETHER: usize = 1 << 12;

/// Collects the origin of a space, and which of its coordinates may differ there. A factor of fixed size has
/// zeros in place of the origin, and all its coordinates differ.
struct Origin<T> {
    row: Vec<T>,
    free: Vec<usize>,
}

impl<T: Float> FactorVisitor for Origin<T> {
    fn factor<M: Steps>(&mut self, manifold: &M, coordinates: Range<usize>) {
        if manifold.fixed_dimension().is_some() {
            return self.free.extend(coordinates);
        }
        let dim = manifold.dimension(coordinates.len());
        self.row[coordinates.clone()].copy_from_slice(&manifold.origin::<T>(dim));
        self.free.extend(coordinates.end - dim..coordinates.end);
    }
}

/// Takes the offsets of factors of fixed size to points.
struct Shoot<'a, T: Float>(&'a mut Tensor<T>);

impl<T: Float> FactorVisitor for Shoot<'_, T> {
    fn factor<M: Steps>(&mut self, manifold: &M, coordinates: Range<usize>) {
        if manifold.fixed_dimension().is_none() {
            return;
        }
        let origin = manifold.origin::<T>(manifold.dimension(coordinates.len()));
        for i in 0..self.0.shape()[0] {
            let row = &mut self.0.row_mut(i)[coordinates.clone()];
            let tangent = manifold.project_tangent(&origin, &Row::from(&*row));
            row.copy_from_slice(&manifold.exp(&origin, &tangent));
        }
    }
}
