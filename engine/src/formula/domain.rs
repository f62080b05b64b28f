//! Sets that the rows a formula returns must lie in, whatever rounding did to them.
//!
//! A formula computes a point exactly but for rounding; storing it may put it an ulp outside an open
//! ball or off a hyperboloid. [`Domain::settle`] moves such a row by the least that storage allows, and
//! leaves every row that is already inside untouched, to the bit.

use crate::numbers::compensated::Compensated;
use crate::numbers::lanes::Lanes;
use crate::numbers::line::line_square;
use crate::numbers::simd::{Block, LANES, dispatch_blocks, read};
use crate::numbers::storage::Storage;

/// Where the rows that a formula returns must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Anywhere.
    Free,
    /// The open set 1 + κ‖x‖² > 0: the Poincaré ball for κ < 0, everything else for κ ≥ 0.
    Ball,
    /// The upper sheet of ⟨x, x⟩_L = 1/κ, κ < 0, time coordinate first.
    Hyperboloid,
    /// Its points up to [`bounded_time`].
    BoundedHyperboloid,
    /// Finite rows whose last coordinate is positive: the upper half-space.
    HalfSpace,
    /// The sphere ⟨x, x⟩ = 1/κ, κ > 0.
    Sphere,
}

impl Domain {
    /// Moves a row onto the domain if it is off it. κ is sectional curvature.
    ///
    /// NaN stays NaN; an infinite or overflowing coordinate becomes the outermost representable point in
    /// its direction (in a half-space, coordinate by coordinate; where a ball has no boundary, κ ≥ 0,
    /// the row stays). A zero row becomes the first coordinate's pole of a sphere.
    #[inline(always)]
    pub fn settle<T: Storage>(self, row: &mut [T], kappa: f64) {
        match self {
            Domain::Free => {}
            Domain::Ball => settle_ball(row, kappa),
            Domain::Hyperboloid => settle_hyperboloid(row, kappa, largest_time::<T>()),
            Domain::BoundedHyperboloid => settle_hyperboloid(row, kappa, bounded_time::<T>(kappa)),
            Domain::HalfSpace => settle_half_space(row),
            Domain::Sphere => settle_sphere(row, kappa),
        }
    }
}

/// The conformal margin 1 + κ‖x‖² of a row, accurate to an ulp however near the boundary.
///
/// The sum of squares is exact to twice `f64`'s precision: products of `f32` are exact in `f64`, and for
/// `f64` the sum is compensated (two-product by fused multiply-add, two-sum).
#[inline(never)]
pub fn margin<T: Storage>(row: &[T], kappa: f64) -> f64 {
    dispatch_blocks!(S, row, |row| margin_of::<T, S>(row, kappa))
}

#[inline(always)]
fn margin_of<T: Storage, S: Block>(row: &[T], kappa: f64) -> f64 {
    let mut squares = Compensated::<S>::default();
    for c in (0..row.len()).step_by(LANES) {
        squares.add_square::<T>(read(row, c, row.len() - c));
    }
    Compensated::totals::<T, 1>(&[squares]).margin(Lanes::splat(kappa)).get(0)
}

#[inline(always)]
fn settle_ball<T: Storage>(row: &mut [T], kappa: f64) {
    if kappa >= 0.0 || margin(row, kappa) > 0.0 {
        return;
    }
    push_inside(row, kappa);
}

/// The direction of a row as a vector whose largest coordinate is 1: safe where the squares would
/// overflow. If some coordinates are infinite, they become 1 or −1 and the finite ones 0.
fn direction<T: Storage>(row: &[T]) -> Vec<f64> {
    let largest = row.iter().fold(0.0_f64, |m, x| m.max(x.to_f64().abs()));
    row.iter()
        .map(|x| match (x.to_f64(), largest.is_infinite()) {
            (x, true) if x.is_infinite() => x.signum(),
            (x, true) if !x.is_nan() => 0.0,
            (x, _) => x / largest,
        })
        .collect()
}

#[cold]
#[inline(never)]
fn push_inside<T: Storage>(row: &mut [T], kappa: f64) {
    let direction = direction(row);
    let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    // The least margin that survives rounding depends on the coordinates; try the smallest first.
    let mut gap = T::EPSILON / 2.0;
    loop {
        let radius = ((1.0 - gap) / -kappa).sqrt();
        for (x, u) in row.iter_mut().zip(&direction) {
            *x = T::nearest(u * (radius / norm));
        }
        // A NaN margin ends the loop: there is nothing to move.
        if !(margin(row, kappa) <= 0.0) {
            return;
        }
        gap *= 2.0;
    }
}

/// Largest time coordinate of a valid hyperboloid point. Up to it, inner products of two points stay
/// finite in T. The squared areas that points and unit tangent vectors span grow as its fourth power;
/// they stay finite in `f64`.
pub fn largest_time<T: Storage>() -> f64 {
    T::LARGEST.sqrt().min(1e75) / 4.0
}

/// Largest time coordinate at which coordinates of type `T` can hold a gradient, for curvature κ. In
/// coordinates the part of a gradient along the radius is 1/(√-κ x₀) times as long as the rest. Up
/// to this time the rounding of the rest is at most an eighth of that part; at eight times this time it
/// is as large.
pub fn bounded_time<T: Storage>(kappa: f64) -> f64 {
    0.25 / T::EPSILON / (-kappa).sqrt()
}

#[inline(always)]
fn settle_hyperboloid<T: Storage>(row: &mut [T], kappa: f64, largest: f64) {
    let mut time = time_of(row, kappa);
    if time > largest {
        pull_back(row, largest);
        time = time_of(row, kappa);
    }
    row[0] = T::nearest(time);
}

/// The time coordinate that belongs to a row's space coordinates.
#[inline(always)]
fn time_of<T: Storage>(row: &[T], kappa: f64) -> f64 {
    let square = dispatch_blocks!(S, &row[1..], |x| line_square::<T, S>(x));
    (square - 1.0 / kappa).sqrt()
}

/// Scales the space coordinates to just below the largest time coordinate.
#[cold]
#[inline(never)]
fn pull_back<T: Storage>(row: &mut [T], largest: f64) {
    let direction = direction(&row[1..]);
    let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    let radius = 0.999 * largest;
    for (x, u) in row[1..].iter_mut().zip(&direction) {
        *x = T::nearest(u * (radius / norm));
    }
}

/// The smallest positive number of full precision: the least height in a half-space.
pub fn least_height<T: Storage>() -> f64 {
    4.0 / T::LARGEST
}

#[inline(always)]
fn settle_half_space<T: Storage>(row: &mut [T]) {
    for x in row.iter_mut() {
        if x.to_f64().is_infinite() {
            // Leaves room for tangent vectors, which are as long as the height times a distance.
            *x = T::nearest((T::LARGEST / 4096.0).copysign(x.to_f64()));
        }
    }
    if let Some(height) = row.last_mut().filter(|height| height.to_f64() < least_height::<T>()) {
        *height = T::nearest(least_height::<T>());
    }
}

/// By how much κ‖x‖² of a row may differ from 1 on the sphere: a few roundings of its coordinates.
pub fn sphere_tolerance<T: Storage>() -> f64 {
    4.0 * T::EPSILON
}

#[inline(always)]
fn settle_sphere<T: Storage>(row: &mut [T], kappa: f64) {
    // The margin of a row whose square overflows is NaN, too.
    if !(margin(row, -kappa).abs() <= sphere_tolerance::<T>()) {
        scale_to_sphere(row, kappa);
    }
}

#[cold]
#[inline(never)]
fn scale_to_sphere<T: Storage>(row: &mut [T], kappa: f64) {
    let radius = kappa.sqrt().recip();
    if row.iter().all(|x| x.to_f64() == 0.0) {
        row[0] = T::nearest(radius);
        return;
    }
    let direction = direction(row);
    let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (x, u) in row.iter_mut().zip(&direction) {
        *x = T::nearest(u * (radius / norm));
    }
    // Corrects what the sum of squares lost in long rows.
    let excess = margin(row, -kappa);
    if excess.abs() > sphere_tolerance::<T>() {
        row.iter_mut().for_each(|x| *x = T::nearest(x.to_f64() * (1.0 + 0.5 * excess)));
    }
}
