//! The types nearest to a type, by the distance of their hyperplanes' points: López & Strube 2020, Tables 2
//! and 9.

use cotangent::prelude::*;
use serde::Serialize;

use crate::config::Space;
use crate::model::space::geometry;
use crate::types::{Granularity, Types};

/// A type and its distance from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Near {
    /// Its name.
    #[serde(rename = "type")]
    pub name: String,
    /// How fine it is.
    pub granularity: Granularity,
    /// The distance of both points: eq. 1, or ‖p − q‖.
    pub distance: f64,
}

/// The `count` types nearest to a type, the nearest first. `points` has the point of each type's hyperplane.
pub fn nearest(types: &Types, points: &Tensor<f64>, space: Space, given: u32, count: usize) -> Vec<Near> {
    let centre = Row::from(points.row(given as usize));
    let manifold = geometry::<f64>(space).manifold();
    let distance = |other: &[f64]| manifold.dist(&centre, &Row::from(other));
    let others = (0..).zip(points.rows()).filter(|&(number, _)| number != given);
    let mut all: Vec<(f64, u32)> = others.map(|(number, row)| (distance(row), number)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let near = |(distance, number): (f64, u32)| Near {
        name: types.name(number).to_owned(),
        granularity: types.granularity(number),
        distance,
    };
    all.into_iter().take(count).map(near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mention::Mention;

    /// In the ball the distance grows towards the boundary, so another type can be the nearest.
    #[test]
    fn the_distance_is_that_of_the_space() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let types = Types::from_mentions([&Mention { types: names, ..Mention::default() }]).unwrap();
        let points = Tensor::new([3, 1], vec![0.5, 0.9, 0.05]);
        let names = |space| {
            nearest(&types, &points, space, 0, 5).into_iter().map(|near| near.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Space::Euclidean), ["b", "c"]);
        assert_eq!(names(Space::Hyperbolic), ["c", "b"]);
        let near = &nearest(&types, &points, Space::Hyperbolic, 0, 1)[0];
        assert!((near.distance - 2.0 * (0.5_f64.atanh() - 0.05_f64.atanh())).abs() < 1e-12);
    }
}
