//! Keys: a monotone function of the distances from one point, as accurate as they are, to compare them.
//!
//! In the ball the key is ‖x−y‖²/m_y, where m_y is the [`margin`] of y (that of x is common to all),
//! on the hyperboloid and the sphere the squared chord, in the half-space ‖x−y‖²/y_n, in Euclidean
//! space the squared distance. In a product it is the distance itself.

use cotangent::engine::domain::margin;
use cotangent::prelude::*;
use cotangent_apps_common::geometry::{Geometry, Model};

/// Number of points in a tile, which are compared at once.
pub(crate) const TILE: usize = 32;

/// The coordinates of all points, stored so that one point is compared with a tile of others.
pub(crate) struct Keys {
    /// `None` for a product.
    model: Option<Model>,
    /// The points of a product.
    product: Option<(ProductSpace, Tensor<f64>)>,
    points: usize,
    dim: usize,
    /// Space coordinates: for each tile, and in it for each coordinate, those of the tile's points.
    space: Vec<[f64; TILE]>,
    /// What numerators are divided by: the margins in the ball, the heights in the half-space, elsewhere 1.
    divisors: Vec<[f64; TILE]>,
    /// The time coordinates of the hyperboloid; elsewhere 0.
    times: Vec<[f64; TILE]>,
}

/// The point that others are compared with.
pub(crate) struct Origin {
    /// Its number.
    point: usize,
    space: Vec<f64>,
    time: f64,
}

/// The keys of a tile before their division.
pub(crate) struct Undivided<'a> {
    numerators: [f64; TILE],
    divisors: &'a [f64; TILE],
}

impl Keys {
    pub(crate) fn new(points: &Tensor<f64>, geometry: Geometry) -> Self {
        let first = usize::from(geometry.is(Model::Lorentz));
        let (model, kappa) = geometry.single().map_or((None, 0.0), |space| (Some(space.model), space.kappa));
        // Points of a product are compared as rows.
        let dim = if model.is_some() { points.width() - first } else { 0 };
        let n = points.shape()[0];
        let tiles = n.div_ceil(TILE);
        let mut keys = Keys {
            model,
            product: model.is_none().then(|| (geometry.manifold(), points.clone())),
            points: n,
            dim,
            space: vec![[0.0; TILE]; tiles * dim],
            divisors: vec![[1.0; TILE]; tiles],
            times: vec![[0.0; TILE]; tiles],
        };
        for (i, row) in points.rows().enumerate() {
            let (tile, lane) = (i / TILE, i % TILE);
            for (column, x) in keys.space[tile * dim..].iter_mut().zip(&row[first..]) {
                column[lane] = *x;
            }
            match model {
                Some(Model::Poincare) => keys.divisors[tile][lane] = margin(row, kappa),
                Some(Model::HalfSpace) => keys.divisors[tile][lane] = row[row.len() - 1],
                // The space coordinates are the accurate ones, and determine the time coordinate.
                Some(Model::Lorentz) => {
                    let square = row[1..].iter().map(|x| x * x).sum::<f64>() - 1.0 / kappa;
                    keys.times[tile][lane] = square.sqrt();
                }
                Some(Model::Sphere | Model::Euclidean) | None => {}
            }
        }
        keys
    }

    /// Number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        self.divisors.len()
    }

    /// Number of points in a tile: [`TILE`], but for the last one.
    #[inline(always)]
    pub(crate) fn len(&self, tile: usize) -> usize {
        TILE.min(self.points - tile * TILE)
    }

    /// The space coordinates of a tile.
    #[inline(always)]
    fn columns(&self, tile: usize) -> &[[f64; TILE]] {
        &self.space[tile * self.dim..][..self.dim]
    }

    /// Point `u` as the one that others are compared with.
    pub(crate) fn origin(&self, u: usize) -> Origin {
        let (tile, lane) = (u / TILE, u % TILE);
        let space = self.columns(tile).iter().map(|column| column[lane]).collect();
        Origin { point: u, space, time: self.times[tile][lane] }
    }

    /// The key of one point.
    pub(crate) fn key(&self, origin: &Origin, point: usize) -> f64 {
        if let Some(distance) = self.distance(origin, point) {
            return distance;
        }
        let (tile, lane) = (point / TILE, point % TILE);
        let columns = self.columns(tile).iter().map(|column| [column[lane]]);
        let [numerator] = self.numerators(origin, columns, [self.times[tile][lane]]);
        divided(numerator, self.divisors[tile][lane])
    }

    /// The keys of a tile.
    #[inline(always)]
    pub(crate) fn tile(&self, origin: &Origin, tile: usize) -> Undivided<'_> {
        if self.product.is_some() {
            let distances = |lane| self.distance(origin, tile * TILE + lane).unwrap_or(f64::INFINITY);
            return Undivided { numerators: std::array::from_fn(distances), divisors: &self.divisors[tile] };
        }
        let columns = self.columns(tile).iter().copied();
        let numerators = self.numerators(origin, columns, self.times[tile]);
        Undivided { numerators, divisors: &self.divisors[tile] }
    }

    /// The distance to a point of a product. `None` if the space is not a product, or has no such point.
    fn distance(&self, origin: &Origin, point: usize) -> Option<f64> {
        let (space, points) = self.product.as_ref()?;
        let row = |i: usize| Row::from(points.row(i));
        let distance = (point < self.points).then(|| space.dist(&row(origin.point), &row(point)))?;
        Some(if distance.is_nan() { f64::INFINITY } else { distance })
    }

    /// The keys of all points, as seen from point `u`.
    pub(crate) fn all(&self, u: usize) -> Vec<f64> {
        let origin = self.origin(u);
        (0..self.tiles())
            .flat_map(|tile| self.tile(&origin, tile).divided().into_iter().take(self.len(tile)))
            .collect()
    }

    /// The numerators of the keys of some points. Sums run over the coordinates in their order, so that a
    /// point has the same key in a tile and alone.
    #[inline(always)]
    fn numerators<const N: usize>(
        &self,
        origin: &Origin,
        columns: impl Iterator<Item = [f64; N]>,
        times: [f64; N],
    ) -> [f64; N] {
        let (mut squares, mut products) = ([0.0; N], [0.0; N]);
        if self.model != Some(Model::Lorentz) {
            for (x, column) in origin.space.iter().zip(columns) {
                for l in 0..N {
                    let d = column[l] - x;
                    squares[l] += d * d;
                }
            }
            return squares;
        }
        for (x, column) in origin.space.iter().zip(columns) {
            for l in 0..N {
                let d = column[l] - x;
                squares[l] += d * d;
                products[l] += d * (column[l] + x);
            }
        }
        for l in 0..N {
            let d = products[l] / (times[l] + origin.time);
            squares[l] -= d * d;
        }
        squares
    }
}

impl Undivided<'_> {
    /// Whether a key can be at most `largest`. This needs no division: the product of `largest` with the
    /// divisor is compared instead, increased by more than its rounding.
    #[inline(always)]
    pub(crate) fn any_up_to(&self, largest: f64) -> bool {
        let bound = largest + 8.0 * f64::EPSILON * largest.abs();
        let mut beyond = true;
        for l in 0..TILE {
            // NaN is not beyond.
            beyond &= self.numerators[l] > bound * self.divisors[l] + f64::MIN_POSITIVE;
        }
        !beyond
    }

    /// The keys.
    #[inline(always)]
    pub(crate) fn divided(&self) -> [f64; TILE] {
        let mut keys = self.numerators;
        keys.iter_mut().zip(self.divisors).for_each(|(key, divisor)| *key = divided(*key, *divisor));
        keys
    }
}

/// A key. NaN comes from coordinates that are NaN, or from the difference of two infinities. Such a point
/// counts as infinitely far.
#[inline(always)]
fn divided(numerator: f64, divisor: f64) -> f64 {
    let key = numerator / divisor;
    if key.is_nan() { f64::INFINITY } else { key }
}
