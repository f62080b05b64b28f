//! Cities, the distances between them, and the length of a tour.

use cotangent::prelude::rng;
use rand::RngExt;

/// The coordinates of a city.
pub type City = [f64; 2];

/// Cities drawn uniformly from the unit square: Vinyals et al. 2015, section 4.4. The stream is that of the
/// seed, this purpose and this number.
pub(super) fn uniform(cities: usize, seed: u64, purpose: &str, number: u64) -> Vec<City> {
    let mut rng = rng::stream(seed, purpose, number);
    (0..cities).map(|_| [rng.random(), rng.random()]).collect()
}

/// The Euclidean distance of two cities.
pub(super) fn distance(a: City, b: City) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// The same cities in the middle of the unit square; the longer side of their box has length 1.
pub(super) fn in_unit_square(cities: &[City]) -> Vec<City> {
    let edge = |axis: usize, choose: fn(f64, f64) -> f64| {
        cities.iter().map(|city| city[axis]).reduce(choose).unwrap_or_default()
    };
    let [low, high] = [f64::min, f64::max].map(|choose| [0, 1].map(|axis| edge(axis, choose)));
    let side = f64::max(high[0] - low[0], high[1] - low[1]);
    let place = |city: &City, axis: usize| (city[axis] - f64::midpoint(low[axis], high[axis])) / side + 0.5;
    cities.iter().map(|city| [0, 1].map(|axis| place(city, axis))).collect()
}

/// The distances between all cities.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    cities: usize,
    /// `[cities, cities]`.
    lengths: Vec<f64>,
}

impl Distances {
    /// Euclidean distances.
    pub fn new(cities: &[City]) -> Self {
        Self::by(cities, distance)
    }

    /// Euclidean distances rounded to the nearest integer: EUC_2D of TSPLIB (Reinelt 1991).
    pub fn rounded(cities: &[City]) -> Self {
        Self::by(cities, |a, b| (distance(a, b) + 0.5).floor())
    }

    fn by(cities: &[City], distance: impl Fn(City, City) -> f64) -> Self {
        let lengths = cities.iter().flat_map(|&a| cities.iter().map(move |&b| (a, b)));
        Distances { cities: cities.len(), lengths: lengths.map(|(a, b)| distance(a, b)).collect() }
    }

    /// Number of cities.
    pub fn cities(&self) -> usize {
        self.cities
    }

    /// The distance of two cities.
    pub fn between(&self, a: usize, b: usize) -> f64 {
        self.lengths[a * self.cities + b]
    }

    /// The length of a tour, with the edge that closes it.
    pub fn length(&self, tour: &[usize]) -> f64 {
        tour.iter().zip(tour.iter().cycle().skip(1)).map(|(&a, &b)| self.between(a, b)).sum()
    }
}
