//! Distances between the points of an embedding: from one to another, and to the nearest ones.

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use serde::Serialize;

use crate::evaluate::keys::Keys;
use crate::files::embeddings::Embeddings;

/// A point and how far it is from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// The distance.
    pub distance: f64,
}

/// Names that an error suggests.
const SUGGESTIONS: usize = 5;

impl Embeddings {
    /// The point of a name. `path` is the embedding's file, for the error.
    ///
    /// # Errors
    /// If there is none. The error suggests names that contain this one, in capitals or not: first those
    /// that begin with it.
    pub fn find(&self, path: &Path, name: &str) -> Result<usize> {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return Ok(at);
        }
        let wanted = name.to_lowercase();
        let mut similar: Vec<(usize, &str)> = self
            .names
            .iter()
            .filter_map(|known| Some((known.to_lowercase().find(&wanted)?, known)))
            .collect();
        similar.sort_by_key(|(at, known)| (*at > 0, known.len()));
        let similar: Vec<&str> = similar.into_iter().take(SUGGESTIONS).map(|(_, known)| known).collect();
        let mut message = format!("no point is called {name:?}");
        if !similar.is_empty() {
            message += &format!("; similar names: {}", similar.join(", "));
        }
        Err(AppError::content(path, message))
    }

    /// The distance of two points.
    pub fn dist(&self, from: usize, to: usize) -> f64 {
        let [x, y] = [from, to].map(|i| Row::from(self.points.row(i)));
        self.geometry.manifold().dist(&x, &y)
    }

    /// The distances of these points from the origin.
    pub fn depths(&self, numbers: &[u32]) -> Vec<f64> {
        depths(self.geometry, &gathered(&self.points, numbers))
    }

    /// The `count` points that are nearest to point `at`, nearest first. It is not one of them itself. Of
    /// equally near points, the one that is stored first comes first.
    pub fn neighbours(&self, at: usize, count: usize) -> Vec<Neighbour> {
        let named = |(i, distance): (usize, f64)| Neighbour { name: self.names[i].to_owned(), distance };
        self.nearest(&self.keys(), at, count).into_iter().map(named).collect()
    }

    /// What [`nearest`](Self::nearest) compares points by.
    pub(crate) fn keys(&self) -> Keys {
        Keys::new(&self.points, self.geometry)
    }

    /// Same as [`neighbours`](Self::neighbours), as indices and distances, for many points with the same
    /// keys: only the distances of the nearest are computed.
    pub(crate) fn nearest(&self, keys: &Keys, at: usize, count: usize) -> Vec<(usize, f64)> {
        let near = keys.all(&keys.origin(at));
        let nearer = |i: &usize, j: &usize| near[*i].total_cmp(&near[*j]).then(i.cmp(j));
        let mut order: Vec<usize> = (0..near.len()).filter(|&i| i != at).collect();
        if count < order.len() {
            order.select_nth_unstable_by(count, nearer);
            order.truncate(count);
        }
        order.sort_by(nearer);
        order.into_iter().map(|i| (i, self.dist(at, i))).collect()
    }
}

/// The distance between each row of `from` and the row of `to` with the same number, `[n, coordinates]`.
/// Where one of them has a single row, that is compared with all rows of the other.
pub(crate) fn distances(geometry: Geometry, from: &Tensor<f64>, to: &Tensor<f64>) -> Vec<f64> {
    let tape = Tape::new();
    let [from, to] = [from, to].map(|points| tape.constant(points));
    geometry.manifold().dist(&from, &to).to_tensor().data().to_vec()
}

/// The distance of each point from the origin.
pub(crate) fn depths(geometry: Geometry, points: &Tensor<f64>) -> Vec<f64> {
    let (m, width) = (geometry.manifold(), points.width());
    let origin = Tensor::new([1, width], m.origin::<f64>(m.dimension(width)).to_vec());
    distances(geometry, &origin, points)
}

/// Some of the points, in this order.
pub(crate) fn gathered(points: &Tensor<f64>, numbers: &[u32]) -> Tensor<f64> {
    let rows = numbers.iter().flat_map(|&i| points.row(i as usize)).copied().collect();
    Tensor::new([numbers.len(), points.width()], rows)
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;

    /// Points on a line through the origin: distances add up.
    fn line() -> Embeddings {
        let at = [0.0, 0.5, -0.25, 2.0, 0.5];
        Embeddings {
            names: ["zero", "Half", "minus", "two", "another half"].into_iter().collect(),
            points: Tensor::from_fn([5, 2], |i| if i % 2 == 0 { (0.5_f64 * at[i / 2]).tanh() } else { 0.0 }),
            geometry: Geometry::new(SpaceModel::Poincare, None).unwrap(),
            translation: None,
        }
    }

    #[test]
    fn the_nearest_points_come_first() {
        let near = line().neighbours(0, 3);
        let names: Vec<&str> = near.iter().map(|n| n.name.as_str()).collect();
        assert_eq!(names, ["minus", "Half", "another half"]);
        for (near, want) in near.iter().zip([0.25, 0.5, 0.5]) {
            assert!((near.distance - want).abs() < 1e-14, "{near:?}");
        }
        assert_eq!(line().neighbours(3, 10).len(), 4);
        assert_eq!(line().neighbours(1, 1)[0].name, "another half");
    }

    #[test]
    fn an_unknown_name_is_answered_with_similar_ones() {
        let error = |name| line().find(Path::new("e.tsv"), name).unwrap_err().to_string();
        assert_eq!(line().find(Path::new("e.tsv"), "two").unwrap(), 3);
        assert!(error("half").ends_with("\"half\"; similar names: Half, another half"), "{}", error("half"));
        assert!(error("three").ends_with("no point is called \"three\""), "{}", error("three"));
    }
}
