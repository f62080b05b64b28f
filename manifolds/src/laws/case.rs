//! The points and vectors that laws are tried on.

use std::fmt;

use cotangent_engine::{Float, Row, Rows, rng};
use rand::RngExt;

use super::Lawful;
use crate::manifold::Scale;

/// Number of cases for each dimension and storage type; half as many for large dimensions, which take
/// most of the time.
const DRAWS: u64 = 80;

/// The least large dimension.
const LARGE: usize = 64;

/// What determines a case.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    pub(super) dim: usize,
    pub(super) seed: u64,
    /// The factor of all lengths.
    pub(super) size: f64,
}

impl Draw {
    /// All draws for a manifold, smaller dimensions first.
    pub(super) fn all<M: Lawful>(manifold: &M, size: f64) -> impl Iterator<Item = Draw> + use<M> {
        let dimensions = manifold.dimensions().into_iter();
        dimensions.flat_map(move |dim| {
            let draws = if dim < LARGE { DRAWS } else { DRAWS / 2 };
            (0..draws).map(move |seed| Draw { dim, seed, size })
        })
    }
}

/// Three points, two tangent vectors at the first, and a time.
pub(super) struct Case<'m, M, T: Float> {
    pub(super) m: &'m M,
    pub(super) x: Row<T>,
    pub(super) y: Row<T>,
    pub(super) z: Row<T>,
    pub(super) v: Row<T>,
    pub(super) w: Row<T>,
    /// In [0, 1].
    pub(super) t: f64,
    /// A stream for whatever else a law draws.
    pub(super) rng: rng::Rng,
    /// Unit roundoff.
    pub(super) u: f64,
}

impl<'m, M: Lawful, T: Float> Case<'m, M, T> {
    pub(super) fn new(m: &'m M, draw: Draw) -> Self {
        let Draw { dim, seed, size } = draw;
        let mut rng = rng::stream(seed, 0x1a35, dim as u64);
        let kind = seed % 8;
        // Kind 7: so small that squares underflow.
        let decades = if T::COMPENSATED { 170.0 } else { 40.0 };
        let tiny = if kind == 7 { 10f64.powf(-rng.random_range(0.0..decades)) } else { 1.0 };
        let radius = size * tiny * m.radius::<T>();
        let origin = m.origin::<T>(dim);
        let x = if kind == 4 { origin.clone() } else { m.random_point(dim, radius, &mut rng) };
        let y = match kind {
            3 => {
                let digits = if T::COMPENSATED { 12.0 } else { 5.0 };
                let near = size * unit(m) * 10f64.powf(-rng.random_range(0.5..digits));
                m.exp(&x, &vector(m, &x, near, &mut rng))
            }
            5 => x.clone(),
            // On a line with the origin: opposite x, or anywhere between.
            6 => {
                let s = if rng.random::<bool>() { -1.0 } else { rng.random_range(-1.0..1.0) };
                m.exp(&origin, &scaled(&m.log(&origin, &x), s))
            }
            _ => m.random_point(dim, radius, &mut rng),
        };
        let z = m.random_point(dim, radius, &mut rng);
        let longest = if kind == 5 { 0.0 } else { radius * rng.random::<f64>() };
        let v = vector(m, &x, longest, &mut rng);
        let longest = radius * rng.random::<f64>();
        let w = vector(m, &x, longest, &mut rng);
        let t = rng.random();
        Case { m, x, y, z, v, w, t, rng, u: T::EPSILON / 2.0 }
    }

    /// How far the rounding of points moves the end of a geodesic of length `d` between them, in units
    /// of u.
    pub(super) fn spread<const N: usize>(&self, d: f64, points: [&Row<T>; N]) -> f64 {
        points.into_iter().map(|x| self.m.rounding(x)).sum::<f64>() * self.stretch(d) * self.long(d)
    }

    /// How deviations grow along a geodesic of length `d`, out and back.
    pub(super) fn stretch(&self, d: f64) -> f64 {
        self.grow(d) * self.turn(d)
    }

    /// How deviations grow along a geodesic of length `d`.
    pub(super) fn grow(&self, d: f64) -> f64 {
        (self.m.curvature_bounds()[0].min(0.0).abs().sqrt() * d).cosh()
    }

    /// How the velocity of a geodesic of length `d` deviates with its end, relative to flat space.
    pub(super) fn turn(&self, d: f64) -> f64 {
        let angle = self.m.curvature_bounds()[1].max(0.0).sqrt() * d;
        if angle > 0.0 { (angle / angle.sin()).abs() } else { 1.0 }
    }

    /// 1 plus the length `d` in units of the curvature's length scale.
    pub(super) fn long(&self, d: f64) -> f64 {
        let [least, greatest] = self.m.curvature_bounds();
        1.0 + least.abs().max(greatest.abs()).sqrt() * d
    }

    /// How far off the manifold points are stored, in units of u.
    pub(super) fn off<const N: usize>(&self, points: [&Row<T>; N]) -> f64 {
        points.into_iter().map(|x| self.m.off(x)).sum()
    }

    /// The norm at `x` of the difference of two tangent vectors.
    pub(super) fn gap(&self, x: &Row<T>, a: &Row<T>, b: &Row<T>) -> f64 {
        self.m.norm(x, &difference(a, b))
    }

    /// The length scale of the curvature.
    pub(super) fn unit(&self) -> f64 {
        unit(self.m)
    }

    /// A random tangent vector at `x` of a given length.
    pub(super) fn vector(&self, x: &Row<T>, length: f64, rng: &mut rng::Rng) -> Row<T> {
        vector(self.m, x, length, rng)
    }
}

impl<M, T: Float> fmt::Display for Case<'_, M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { x, y, z, v, w, t, .. } = self;
        let [x, y, z, v, w] = [x, y, z, v, w].map(|row| &**row);
        write!(f, "x = {x:?}, y = {y:?}, z = {z:?}, v = {v:?}, w = {w:?}, t = {t:?}")
    }
}

/// The length scale of the curvature; 1 in flat space.
pub(super) fn unit<M: Lawful>(manifold: &M) -> f64 {
    let [least, greatest] = manifold.curvature_bounds();
    let kappa = least.abs().max(greatest.abs());
    if kappa > 0.0 { kappa.sqrt().recip() } else { 1.0 }
}

/// A random tangent vector at `x` of a given length.
fn vector<M: Lawful, T: Float>(m: &M, x: &Row<T>, length: f64, rng: &mut rng::Rng) -> Row<T> {
    let v = m.random_tangent(x, rng);
    let norm = m.norm(x, &v);
    scaled(&v, if norm > 0.0 { length / norm } else { 0.0 })
}

/// `t v`.
pub(super) fn scaled<R: Rows<Scalar = f64>>(v: &R, t: f64) -> R {
    R::vector(Scale, [v], [&t])
}

/// `a − b`.
pub(super) fn difference<T: Float>(a: &Row<T>, b: &Row<T>) -> Row<T> {
    let mut difference = a.clone();
    difference.iter_mut().zip(b.iter()).for_each(|(a, b)| *a = *a - *b);
    difference
}

/// Σ aᵢ bᵢ.
pub(super) fn dot<T: Float>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum()
}
