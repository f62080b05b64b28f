//! The pairs of points of a hyperbolic disc that are at most so far apart, without a look at all pairs.
//!
//! The disc is cut into rings, the bands, and the points of each band are sorted by angle. For a point, only
//! those points of its own band and of the bands outside are looked at whose angle differs by less than the
//! inner rim of the band allows; their distance decides. Source: von Looz, Özdayi, Laue, Meyerhenke 2016,
//! "Generating massive complex networks with hyperbolic geometry faster in practice". The quadtree of
//! von Looz, Meyerhenke, Prutkin 2015 finds the same pairs.

use std::f64::consts::{PI, TAU};

use rayon::prelude::*;

/// Width of a band. A point at its outer rim is within reach for an angle up to e^(WIDTH/2) times smaller
/// than one at its inner rim, so with wide bands more points are looked at in vain.
const WIDTH: f64 = 0.5;

/// Number of points that a thread takes together.
const TOGETHER: usize = 1024;

/// A point of the hyperbolic plane in polar coordinates (r, φ), prepared for distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// φ, from 0 to below 2π.
    angle: f64,
    /// e^(r/2): comparisons of radii are comparisons of these numbers.
    half: f64,
    /// sinh r.
    sinh: f64,
}

impl Place {
    pub(super) fn new(radius: f64, angle: f64) -> Self {
        Place { angle, half: (0.5 * radius).exp(), sinh: radius.sinh() }
    }

    /// sinh²((r − s)/2).
    fn radial(&self, other: &Place) -> f64 {
        let (a, b) = (self.half, other.half);
        let sinh = (a - b) * (a + b) / (2.0 * a * b);
        sinh * sinh
    }

    /// sinh²(d/2) of the distance d, by the hyperbolic law of cosines in half angles:
    /// sinh²((r − s)/2) + sinh r sinh s sin²((φ − ψ)/2). No term is negative, so nothing cancels: d
    /// is exact to some ulps of the radii, at any radius.
    fn separation(&self, other: &Place) -> f64 {
        let sine = (0.5 * (self.angle - other.angle)).sin();
        self.radial(other) + self.sinh * other.sinh * (sine * sine)
    }

    /// The largest difference of angle at which a point with the radius of `other` is within `limit`, which
    /// is sinh²(d/2) of the largest distance d. Rounded up. `None` if there is no such angle.
    pub(super) fn reach(&self, other: &Place, limit: f64) -> Option<f64> {
        let room = limit - self.radial(other) + 1e-12 * limit;
        if room < 0.0 {
            return None;
        }
        let sine_square = room / (self.sinh * other.sinh);
        // A point in the origin has every angle; then this is infinite, or 0/0.
        let angle = if sine_square < 1.0 { 2.0 * sine_square.sqrt().asin() } else { PI };
        Some(angle * (1.0 + 1e-12) + 1e-14)
    }
}

/// A ring of the disc.
struct Band {
    /// A point at the inner rim.
    rim: Place,
    /// The points in it and their numbers, by angle.
    members: Vec<(Place, u32)>,
}

impl Band {
    /// The members whose angle differs by at most `reach` from `angle`, all around the disc.
    fn near(&self, angle: f64, reach: f64) -> impl Iterator<Item = &(Place, u32)> {
        let from = |bound: f64| self.members.partition_point(|(place, _)| place.angle < bound);
        let until = |bound: f64| self.members.partition_point(|(place, _)| place.angle <= bound);
        let (low, high) = (angle - reach, angle + reach);
        let (first, second) = match () {
            () if reach >= PI => (0..self.members.len(), 0..0),
            () if low < 0.0 => (0..until(high), from(low + TAU)..self.members.len()),
            () if high >= TAU => (from(low)..self.members.len(), 0..until(high - TAU)),
            () => (from(low)..until(high), 0..0),
        };
        self.members[first].iter().chain(&self.members[second])
    }
}

/// The bands that have points, from the inside out. The points are sorted by angle.
fn bands(places: &[Place], radius: f64) -> Vec<Band> {
    let count = (radius / WIDTH).ceil().max(1.0) as usize;
    let ring = |i: usize| Band { rim: Place::new(i as f64 * WIDTH, 0.0), members: Vec::new() };
    let mut bands: Vec<Band> = (0..count).map(ring).collect();
    for (number, place) in (0..).zip(places) {
        let outside = bands.partition_point(|band| band.rim.half <= place.half);
        bands[outside - 1].members.push((*place, number));
    }
    bands.retain(|band| !band.members.is_empty());
    bands
}

/// The pairs (u, v) of points at a distance of at most `distance`, by ascending u, each pair once: v is not
/// nearer to the origin than u. The points must be sorted by angle; no radius is above `radius`.
///
/// The result does not depend on the number of threads.
pub(super) fn close_pairs(places: &[Place], radius: f64, distance: f64) -> Vec<(u32, u32)> {
    let bands = bands(places, radius);
    let limit = (0.5 * distance).sinh().powi(2);
    let outwards = |number: u32, place: &Place, pairs: &mut Vec<(u32, u32)>| {
        let own = bands.partition_point(|band| band.rim.half <= place.half) - 1;
        for band in &bands[own..] {
            // Among points that are not nearer to the origin, the nearest allow the largest angle.
            let rim = if band.rim.half > place.half { &band.rim } else { place };
            let Some(reach) = place.reach(rim, limit) else { break };
            for (other, second) in band.near(place.angle, reach) {
                let is_outside = (other.half, *second) > (place.half, number);
                if is_outside && place.separation(other) <= limit {
                    pairs.push((number, *second));
                }
            }
        }
    };
    let chunks: Vec<Vec<(u32, u32)>> = (places.par_chunks(TOGETHER).enumerate())
        .map(|(chunk, places)| {
            let mut pairs = Vec::new();
            let first = (chunk * TOGETHER) as u32;
            (first..).zip(places).for_each(|(number, place)| outwards(number, place, &mut pairs));
            pairs
        })
        .collect();
    chunks.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known distances: along a ray, across the origin, at a right angle.
    #[test]
    fn separations_are_those_of_known_distances() {
        let distance = |a: Place, b: Place| 2.0 * a.separation(&b).sqrt().asinh();
        let place = Place::new;
        for (found, exact) in [
            (distance(place(300.0, 1.0), place(299.5, 1.0)), 0.5),
            (distance(place(2.0, 0.5), place(3.0, 0.5 + PI)), 5.0),
            (distance(place(2.0, 0.0), place(2.0, 0.5 * PI)), (2f64.cosh().powi(2)).acosh()),
            (distance(place(0.0, 0.0), place(7.0, 3.0)), 7.0),
            // Horocycle: sinh(d/2) = e^r Δφ/4 for large r.
            (distance(place(30.0, 0.0), place(30.0, 1e-10)), 2.0 * (30f64.exp() * 2.5e-11).asinh()),
        ] {
            assert!((found - exact).abs() < 1e-12 * exact.max(1.0), "{found} {exact}");
        }
    }

    /// At the angle that `reach` returns the distance is the limit.
    #[test]
    fn reach_is_the_angle_at_which_the_distance_is_the_limit() {
        let limit = |distance: f64| (0.5 * distance).sinh().powi(2);
        for (r, s, distance) in [(1.0, 2.0, 1.5), (4.0, 4.0, 1.7), (9.0, 12.0, 5.0), (150.0, 151.0, 290.0)] {
            let inner = Place::new(r, 0.0);
            let angle = inner.reach(&Place::new(s, 0.0), limit(distance)).unwrap();
            // It is rounded up.
            let outer = Place::new(s, angle);
            let excess = 2.0 * inner.separation(&outer).sqrt().asinh() - distance;
            assert!(excess > 0.0 && excess < 1e-9, "{r} {s}: {excess}");
        }
        for (r, s) in [(1.0, 2.0), (150.0, 190.0), (340.0, 350.0)] {
            let [inner, outer] = [r, s].map(|radius| Place::new(radius, 0.0));
            assert!(inner.reach(&outer, limit(s - r + 1e-6)).is_some());
            assert!(inner.reach(&outer, limit(s - r - 1e-6)).is_none());
        }
        assert!(Place::new(0.5, 0.0).reach(&Place::new(1.0, 0.0), limit(1.6)).unwrap() > PI);
        assert!(Place::new(0.0, 0.0).reach(&Place::new(1.0, 0.0), limit(1.0)).unwrap() > PI);
    }
}
