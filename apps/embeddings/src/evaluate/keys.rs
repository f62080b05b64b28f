//! Keys: a monotone function of the distances from one point, as accurate as they are, to compare them.
//! They are those of [`DistanceKey`]; in a product, and in a space that has none, the distances themselves.

use cotangent::manifolds::DistanceKey;
use cotangent::prelude::*;
use cotangent_apps_common::geometry::Geometry;

/// Number of points in a tile, which are compared at once.
pub(crate) const TILE: usize = 32;

/// The coordinates of all points, stored so that one point is compared with a tile of others.
pub(crate) struct Keys {
    /// Where distances are the keys: the manifold and the points.
    by_distance: Option<(ProductSpace, Tensor<f64>)>,
    points: usize,
    dim: usize,
    /// Space coordinates: for each tile, and in it for each coordinate, those of the tile's points.
    space: Vec<[f64; TILE]>,
    /// What numerators are divided by.
    divisors: Vec<[f64; TILE]>,
    /// The time coordinates of the hyperboloid.
    times: Option<Vec<[f64; TILE]>>,
    /// In Euclidean space, what is added to the point that others are compared with; else empty.
    translation: Vec<f64>,
}

/// The point that others are compared with: those of the same keys, or of others in the same geometry.
pub(crate) struct Origin {
    /// Its coordinates, where distances are the keys.
    row: Option<Row<f64>>,
    space: Vec<f64>,
    time: Option<f64>,
}

/// The keys of a tile before their division.
pub(crate) struct Undivided<'a> {
    numerators: [f64; TILE],
    divisors: &'a [f64; TILE],
}

impl Keys {
    pub(crate) fn new(points: &Tensor<f64>, geometry: Geometry) -> Self {
        let n = points.shape()[0];
        let tiles = n.div_ceil(TILE);
        let space = geometry.single();
        let rows: Option<Vec<DistanceKey<'_>>> = points.rows().map(|row| space?.distance_key(row)).collect();
        let by_distance = rows.is_none().then(|| (geometry.manifold(), points.clone()));
        let rows = rows.unwrap_or_default();
        let dim = rows.first().map_or(0, |row| row.space.len());
        let has_times = rows.first().is_some_and(|row| row.time.is_some());
        let mut keys = Keys {
            by_distance,
            points: n,
            dim,
            space: vec![[0.0; TILE]; tiles * dim],
            divisors: vec![[1.0; TILE]; tiles],
            times: has_times.then(|| vec![[0.0; TILE]; tiles]),
            translation: Vec::new(),
        };
        for (i, row) in rows.iter().enumerate() {
            let (tile, lane) = (i / TILE, i % TILE);
            for (column, x) in keys.space[tile * dim..].iter_mut().zip(row.space) {
                column[lane] = *x;
            }
            keys.divisors[tile][lane] = row.divisor;
            if let (Some(times), Some(time)) = (&mut keys.times, row.time) {
                times[tile][lane] = time;
            }
        }
        keys
    }

    /// With a translation in Euclidean space: others are compared with u + r in place of a point u.
    ///
    /// # Panics
    /// If it has another dimension than the points.
    pub(crate) fn translated(mut self, r: &[f64]) -> Self {
        assert!(r.len() == self.dim && self.by_distance.is_none(), "a translation of another space");
        self.translation = r.to_vec();
        self
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
        let mut space: Vec<f64> = self.columns(tile).iter().map(|column| column[lane]).collect();
        space.iter_mut().zip(&self.translation).for_each(|(x, r)| *x += r);
        let row = self.by_distance.as_ref().map(|(_, points)| Row::from(points.row(u)));
        Origin { row, space, time: self.times.as_ref().map(|times| times[tile][lane]) }
    }

    /// The key of one point.
    pub(crate) fn key(&self, origin: &Origin, point: usize) -> f64 {
        if let Some(distance) = self.distance(origin, point) {
            return distance;
        }
        let (tile, lane) = (point / TILE, point % TILE);
        let columns = self.columns(tile).iter().map(|column| [column[lane]]);
        let times = self.times.as_ref().map(|times| [times[tile][lane]]);
        let [numerator] = DistanceKey::numerators(&origin.space, columns, origin.time.zip(times));
        divided(numerator, self.divisors[tile][lane])
    }

    /// The keys of a tile.
    #[inline(always)]
    pub(crate) fn tile(&self, origin: &Origin, tile: usize) -> Undivided<'_> {
        if self.by_distance.is_some() {
            let distances = |lane| self.distance(origin, tile * TILE + lane).unwrap_or(f64::INFINITY);
            return Undivided { numerators: std::array::from_fn(distances), divisors: &self.divisors[tile] };
        }
        let columns = self.columns(tile).iter().copied();
        let times = self.times.as_ref().map(|times| times[tile]);
        let numerators = DistanceKey::numerators(&origin.space, columns, origin.time.zip(times));
        Undivided { numerators, divisors: &self.divisors[tile] }
    }

    /// The distance to a point. `None` if distances are not the keys, or there is no such point.
    fn distance(&self, origin: &Origin, point: usize) -> Option<f64> {
        let ((space, points), from) = (self.by_distance.as_ref()?, origin.row.as_ref()?);
        let distance = (point < self.points).then(|| space.dist(from, &Row::from(points.row(point))))?;
        Some(if distance.is_nan() { f64::INFINITY } else { distance })
    }

    /// The keys of all points, as seen from one.
    pub(crate) fn all(&self, origin: &Origin) -> Vec<f64> {
        (0..self.tiles())
            .flat_map(|tile| self.tile(origin, tile).divided().into_iter().take(self.len(tile)))
            .collect()
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
