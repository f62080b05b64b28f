//! The picture of an embedding with its edges. Of a large one, the nodes nearest the origin are drawn.

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_common::disk::{self, Distortion, Projection};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::geometry::Geometry;

use crate::graph::Neighbours;
use crate::graph::names::Names;

/// Largest number of nodes that are drawn.
pub(crate) const NODES: usize = 100_000;

/// Draws points, one per row: `[n, coordinates]`. An edge (u, v) is left out if there are edges (u, w) and
/// (w, v) between nodes that are drawn. Returns the distortion: see [`disk::plot`].
///
/// # Errors
/// Those of [`disk::plot`].
pub fn plot(
    path: &Path,
    names: &Names,
    points: &Tensor<f64>,
    geometry: Geometry,
    neighbours: &Neighbours,
    projection: Option<Projection>,
    title: &str,
) -> Result<Option<Distortion>> {
    if names.len() <= NODES {
        let names: Vec<String> = names.iter().map(str::to_owned).collect();
        return disk::plot(path, &names, points, geometry, &neighbours.reduction(), projection, title);
    }
    let nodes = innermost(points, geometry, NODES);
    let drawn: Vec<String> = nodes.iter().map(|&node| names[node as usize].to_owned()).collect();
    let rows = nodes.iter().flat_map(|&node| points.row(node as usize)).copied().collect();
    let edges = neighbours.among(&nodes).reduction();
    let mut caption = format!("of {} nodes those nearest the origin", names.len());
    if !title.is_empty() {
        caption += &format!("; {title}");
    }
    let points = Tensor::new([nodes.len(), points.width()], rows);
    disk::plot(path, &drawn, &points, geometry, &edges, projection, &caption)
}

/// The `count` points that are nearest to the origin, in ascending order. Of equally near ones, those that
/// are stored first.
fn innermost(points: &Tensor<f64>, geometry: Geometry, count: usize) -> Vec<u32> {
    let distances = crate::evaluate::neighbours::depths(geometry, points);
    let mut nodes: Vec<u32> = (0..distances.len() as u32).collect();
    if count < nodes.len() {
        nodes.select_nth_unstable_by(count, |&a, &b| {
            distances[a as usize].total_cmp(&distances[b as usize]).then(a.cmp(&b))
        });
        nodes.truncate(count);
    }
    nodes.sort_unstable();
    nodes
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;

    #[test]
    fn the_innermost_points_have_the_smallest_distances() {
        let norms = [0.5_f64, 0.1, 0.3, 0.1, 0.0, 0.3];
        let euclidean = Tensor::from_fn([6, 2], |i| if i % 2 == 0 { -norms[i / 2] } else { 0.0 });
        // On the hyperboloid the time coordinate is first.
        let lorentz = Tensor::from_fn([6, 2], |i| {
            let x = norms[i / 2];
            if i % 2 == 0 { x.hypot(1.0) } else { -x }
        });
        for (points, model) in [
            (&euclidean, SpaceModel::Euclidean),
            (&euclidean, SpaceModel::Poincare),
            (&lorentz, SpaceModel::Lorentz),
        ] {
            let geometry = Geometry::new(model, None).unwrap();
            assert_eq!(innermost(points, geometry, 2), [1, 4], "{model}");
            assert_eq!(innermost(points, geometry, 4), [1, 2, 3, 4], "{model}");
            assert_eq!(innermost(points, geometry, 9), [0, 1, 2, 3, 4, 5], "{model}");
        }
    }
}
