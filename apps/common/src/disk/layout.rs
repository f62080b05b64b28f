//! Points of an embedding in the unit disk.

use cotangent::manifolds::symmetric_eigen;
use cotangent::prelude::*;

use super::sheet::length;
use crate::error::{AppError, Result};
use crate::geometry::{Geometry, unit};

/// Points in the unit disk, with their depths and a caption.
pub struct Layout {
    /// One point for each node, of norm below 1.
    pub points: Vec<[f64; 2]>,
    /// Distance of each node from the origin before any projection, in units of 1/√|κ| if κ ≠ 0.
    pub depth: Vec<f64>,
    /// The text under the picture, which says how the points were obtained.
    pub caption: String,
}

/// The logarithm of each point at the origin. Its length is the point's distance from the origin, in units of
/// the curvature radius 1/√|κ| if κ ≠ 0; in a product, of each factor's own.
pub fn tangents(points: &Tensor<f64>, geometry: Geometry) -> Vec<Vec<f64>> {
    let m = geometry.manifold();
    let origin = m.origin::<f64>(m.dimension(points.width()));
    let tangent = |row: &[f64]| {
        let v = m.log(&origin, &Row::from(row));
        let parts = m.factors_of_width(v.len()).flat_map(|(space, coordinates)| {
            let [origin, v] = [&origin, &v].map(|row| row.columns(coordinates.clone()));
            let length = unit(space) * space.norm(&origin, &v);
            let v = v[v.len() - space.dimension(v.len())..].to_vec();
            let norm = self::length(&v);
            v.into_iter().map(move |x| if norm > 0.0 { x * (length / norm) } else { 0.0 })
        });
        parts.collect()
    };
    points.rows().map(tangent).collect()
}

/// The distance between the ends of each edge.
pub(super) fn lengths(points: &Tensor<f64>, geometry: Geometry, edges: &[(u32, u32)]) -> Vec<f64> {
    let m = geometry.manifold();
    let row = |node: u32| Row::from(points.row(node as usize));
    edges.iter().map(|&(u, v)| m.dist(&row(u), &row(v))).collect()
}

/// Lays out the points of an embedding, one per row, in the unit disk: projects them if they have more than
/// two dimensions.
///
/// # Errors
/// If the principal directions cannot be found.
pub fn layout(points: &Tensor<f64>, geometry: Geometry) -> Result<Layout> {
    let tangents = tangents(points, geometry);
    let (flat, how) = project(&tangents, tangents.first().map_or(0, Vec::len))?;
    Ok(placed(&flat, &tangents, geometry, &how))
}

/// The layout of points whose tangent vectors are, in two dimensions, `flat`; `how` says how they came there.
pub(super) fn placed(flat: &[[f64; 2]], tangents: &[Vec<f64>], geometry: Geometry, how: &str) -> Layout {
    let points: Vec<[f64; 2]> = if geometry.factors().iter().all(|factor| factor.space.kappa() >= 0.0) {
        let largest = flat.iter().map(|p| p[0].hypot(p[1])).fold(f64::MIN_POSITIVE, f64::max);
        flat.iter().map(|p| p.map(|x| 0.98 * x / largest)).collect()
    } else {
        // A point at distance r from the origin is drawn at norm tanh(r/2).
        let shrink = |p: &[f64; 2]| {
            let r = p[0].hypot(p[1]);
            let scale = if r > 0.0 { ((r / 2.0).tanh() / r).min((1.0 - 1e-9) / r) } else { 0.5 };
            p.map(|x| x * scale)
        };
        flat.iter().map(shrink).collect()
    };
    let dim = tangents.first().map_or(0, Vec::len);
    let caption = format!("{} nodes, {}{how}", points.len(), geometry.words(dim));
    let depth = tangents.iter().map(|v| length(v)).collect();
    Layout { points, depth, caption }
}

/// The vectors in two dimensions, and a text that says how they were projected (empty if they were not).
pub(super) fn project(vectors: &[Vec<f64>], dim: usize) -> Result<(Vec<[f64; 2]>, String)> {
    if dim <= 2 {
        let pad = |v: &Vec<f64>| [v.first().copied().unwrap_or(0.0), v.get(1).copied().unwrap_or(0.0)];
        return Ok((vectors.iter().map(pad).collect(), String::new()));
    }
    let moment = |k: usize| vectors.iter().map(|v| v[k / dim] * v[k % dim]).sum::<f64>();
    // Eigenvalues are in descending order. The sign of a direction makes its largest coordinate positive.
    let (values, directions) = symmetric_eigen(&Tensor::from_fn([dim, dim], moment));
    if !values.iter().all(|x| x.is_finite()) {
        return Err(AppError::usage("the principal directions of the embedding could not be found"));
    }
    let values: Vec<f64> = values.into_iter().map(|x| x.max(0.0)).collect();
    let (first, second) = (directions.row(0), directions.row(1));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let kept = (values[0] + values[1]) / values.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let how = format!(
        ", projected to its two principal tangent directions at the origin ({:.0} % of the spread)",
        100.0 * kept
    );
    Ok((vectors.iter().map(|v| [dot(v, first), dot(v, second)]).collect(), how))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::SpaceModel;

    /// The length of an edge is a distance of the embedding's own geometry.
    #[test]
    fn lengths_are_distances_of_the_model() {
        let points = Tensor::new([2, 3], vec![0.0, 0.0, 0.0, 0.3, 0.4, 0.0]);
        let length = |model| lengths(&points, Geometry::new(model, None).unwrap(), &[(0, 1)])[0];
        assert!((length(SpaceModel::Euclidean) - 0.5).abs() < 1e-15);
        assert!((length(SpaceModel::Poincare) - 2.0 * 0.5_f64.atanh()).abs() < 1e-15);
    }

    #[test]
    fn projection_keeps_the_principal_directions() {
        let v: Vec<Vec<f64>> = (0..50)
            .map(|i| (f64::from(i) * 0.7).sin_cos())
            .map(|(s, c)| vec![0.01 * s * c, 3.0 * s, c])
            .collect();
        let (flat, how) = project(&v, 3).unwrap();
        assert!(how.contains("100 %"), "{how}");
        for (p, v) in flat.iter().zip(&v) {
            assert!((p[0].hypot(p[1]) - v[1].hypot(v[2])).abs() < 0.02);
        }
    }

    #[test]
    fn hyperboloid_and_ball_give_one_picture() {
        let lorentz = Lorentz::new(-2.0);
        let p = [0.3, -0.4]; // in the unit disk
        let r = 0.5_f64.atanh() * 2.0; // its distance from the origin at κ = −1
        let x = lorentz.project(&Row::from([
            0.0,
            p[0] / 0.5 * r.sinh() / 2f64.sqrt(),
            p[1] / 0.5 * r.sinh() / 2f64.sqrt(),
        ]));
        let l = layout(
            &Tensor::new([1, 3], x.to_vec()),
            Geometry::new(SpaceModel::Lorentz, Some(vec![-2.0])).unwrap(),
        )
        .unwrap();
        let b = layout(
            &Tensor::new([1, 2], p.map(|x| x / 2f64.sqrt()).to_vec()),
            Geometry::new(SpaceModel::Poincare, Some(vec![-2.0])).unwrap(),
        )
        .unwrap();
        for k in 0..2 {
            assert!((l.points[0][k] - p[k]).abs() < 1e-12 && (b.points[0][k] - p[k]).abs() < 1e-12);
        }
    }
}
