//! How points of more than two dimensions come into the disk, and what that does to their distances.

use clap::ValueEnum;
use cotangent::manifolds::{HoroPcaError, HyperbolicVisitor};
use cotangent::prelude::*;
use rand::seq::index;
use serde::Serialize;

use super::layout::{lengths, tangents};
use crate::error::{AppError, Result};
use crate::geometry::{Geometry, unit};

/// Number of points whose pairs give the distortion.
const DRAWN: usize = 500;

/// A projection into the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Projection {
    /// Onto the two principal directions of the tangent space at the origin.
    Tangent,
    /// Along horospheres, with the most variance about the mean: HoroPCA, which keeps the distances of trees.
    Horopca,
    /// Distances from the origin, every subtree in a sector of its own: for hierarchies.
    Sectors,
}

/// How well a projection keeps distances: the average distortion of Chami et al. 2021, section 5.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distortion {
    /// The projection.
    pub projection: Projection,
    /// Number of pairs of points: all pairs of at most 500 points, which are drawn if there are more.
    pub pairs: usize,
    /// The mean of |d′/d − 1| over the pairs, where d is the distance before, d′ after the projection.
    /// Pairs at distance 0 are left out.
    pub average_distortion: f64,
}

impl Distortion {
    /// The distortion of points that were projected to `flat`: tangent vectors at the origin, in units of the
    /// curvature radius. `None` if all points are at one place, or in a product.
    pub(super) fn new(
        projection: Projection,
        points: &Tensor<f64>,
        geometry: Geometry,
        flat: &[[f64; 2]],
    ) -> Option<Self> {
        let space = geometry.single()?;
        let pairs = pairs(flat.len());
        let plane = Lorentz::new(-1.0);
        let placed = |&[x, y]: &[f64; 2]| plane.pseudo_polar(&Row::from([x, y, x.hypot(y)]));
        let placed: Vec<Row<f64>> = flat.iter().map(placed).collect();
        let after = |&(i, j): &(u32, u32)| {
            let (i, j) = (i as usize, j as usize);
            if space.kappa() < 0.0 {
                plane.dist(&placed[i], &placed[j])
            } else {
                (flat[i][0] - flat[j][0]).hypot(flat[i][1] - flat[j][1])
            }
        };
        let unit = unit(space);
        let before = lengths(points, geometry, &pairs);
        let change = |(pair, before): (&(u32, u32), f64)| (after(pair) / (unit * before) - 1.0).abs();
        let changes: Vec<f64> =
            pairs.iter().zip(before).filter(|(_, before)| *before > 0.0).map(change).collect();
        let average_distortion = changes.iter().sum::<f64>() / changes.len() as f64;
        (!changes.is_empty()).then_some(Distortion { projection, pairs: changes.len(), average_distortion })
    }
}

/// All pairs of the points, or of those that are drawn.
fn pairs(points: usize) -> Vec<(u32, u32)> {
    let mut rng = rng::stream(0, "distortion", 0);
    let drawn = index::sample(&mut rng, points, points.min(DRAWN)).into_vec();
    let pair = |j: usize| (0..j).map(move |i| (i, j));
    (0..drawn.len()).flat_map(pair).map(|(i, j)| (drawn[i] as u32, drawn[j] as u32)).collect()
}

/// HoroPCA to two dimensions, as tangent vectors at the mean, in units of the curvature radius; and a text
/// that says so.
///
/// # Errors
/// If the embedding is not in hyperbolic space, or the points have no mean.
pub(super) fn horopca(points: &Tensor<f64>, geometry: Geometry) -> Result<(Vec<[f64; 2]>, String)> {
    let fit = HoroPcaFit::new(2);
    let Some(flat) = geometry.single().and_then(|space| space.hyperbolic(Projected { fit, points })) else {
        return Err(AppError::usage(format!(
            "--projection horopca: the embedding is {geometry}; horospheres need a hyperbolic one"
        )));
    };
    let flat = flat.map_err(|error| AppError::usage(error.to_string()))?;
    let how = match points.rows().len() {
        n if n > fit.sample => format!(", fitted to {} of them", fit.sample),
        _ => String::new(),
    };
    let how = format!(", projected along horospheres with the most variance about their mean (HoroPCA{how})");
    Ok((tangents(&flat, geometry).iter().map(|v| [v[0], v[1]]).collect(), how))
}

/// Projects points to the submanifold that a fit finds.
struct Projected<'a> {
    fit: HoroPcaFit,
    points: &'a Tensor<f64>,
}

impl HyperbolicVisitor for Projected<'_> {
    type Output = std::result::Result<Tensor<f64>, HoroPcaError>;

    fn visit<M: Hyperbolic>(self, model: M) -> Self::Output {
        Ok(self.fit.fit(model, self.points)?.coordinates(self.points))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::SpaceModel;

    /// A point halfway of its distance from the origin, in both geometries.
    #[test]
    fn distortion_is_the_mean_change_of_distances() {
        let points = Tensor::new([3, 3], vec![0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.6, 0.0, 0.0]);
        let r = 2.0 * 0.6_f64.atanh();
        for (model, flat) in [(SpaceModel::Poincare, r), (SpaceModel::Euclidean, 0.6)] {
            let geometry = Geometry::new(model, None).unwrap();
            let flat = [[0.0, 0.0], [0.0, 0.5 * flat], [0.0, flat]];
            let found = Distortion::new(Projection::Tangent, &points, geometry, &flat).unwrap();
            // The pair of equal points is left out.
            assert_eq!(found.pairs, 2);
            assert!((found.average_distortion - 0.25).abs() < 1e-14, "{model}: {found:?}");
        }
        let kappa = Geometry::new(SpaceModel::Poincare, Some(vec![-4.0])).unwrap();
        let half = Tensor::new([3, 3], points.data().iter().map(|x| 0.5 * x).collect());
        let flat = [[0.0, 0.0], [0.0, r], [0.0, r]];
        let found = Distortion::new(Projection::Tangent, &half, kappa, &flat).unwrap();
        assert!(found.average_distortion < 1e-14, "{found:?}");
        let alike = Tensor::zeros([2, 3]);
        assert_eq!(Distortion::new(Projection::Tangent, &alike, kappa, &[[0.0; 2]; 2]), None);
    }

    #[test]
    fn pairs_are_different_points() {
        assert_eq!(pairs(1), []);
        for n in [2, 7, 500, 501, 2000] {
            let pairs = pairs(n);
            let drawn = n.min(DRAWN);
            let different: std::collections::HashSet<_> =
                pairs.iter().map(|&(i, j)| (i.min(j), i.max(j))).collect();
            assert!(pairs.iter().all(|&(i, j)| i != j && (i.max(j) as usize) < n));
            assert_eq!((pairs.len(), different.len()), (drawn * (drawn - 1) / 2, drawn * (drawn - 1) / 2));
        }
    }
}
