//! Pictures of queries and keys: Gulcehre et al. 2019, Figures 8 and 9.

use std::path::Path;
use std::sync::Arc;

use cotangent::layers::{PointMap, Score};
use cotangent::prelude::*;
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::geometry::{Geometry, SpaceModel};

use super::model::GraphModel;

/// Draws the queries and keys of the first head of each layer: as points of the Poincaré ball if the score
/// is a distance, otherwise as points of Euclidean space. The title has the rate of dropout and the largest
/// distance from the origin, which the paper compares with and without dropout.
pub(super) fn embeddings(
    out: &Path,
    name: &str,
    model: &GraphModel,
    features: Features<'_, f32>,
    edges: &Arc<Sparsity>,
) -> Result<()> {
    let mut features = features;
    for (number, layer) in (1..).zip(model.layers()) {
        let (_, rows) = layer.project(&features);
        let rows = Var::concat(&rows.map(|rows| rows.slice(1, 0..1)), 0).to_tensor().cast::<f64>();
        let rows = Tensor::new([rows.len() / rows.width(), rows.width()], rows.data().to_vec());
        let (points, geometry) = points_of(&rows, &*layer.attention.score);
        let layout = disk::layout(&points, geometry)?;
        let kappa = geometry.single().map_or(0.0, |space| space.kappa());
        let nodes = edges.rows() as u32;
        let title = format!(
            "{name}, layer {number}, first head: {}; dropout {}, at most {:.2} from the origin",
            layout.caption,
            model.dropout.rate,
            layout.depth.iter().copied().fold(0.0, f64::max)
        );
        disk::classes(
            &out.join(format!("embeddings-{number}.svg")),
            &Classes {
                points: &layout.points,
                labels: &(0..2 * nodes).map(|i| 1 - i / nodes).collect::<Vec<u32>>(),
                names: &["keys", "queries"].map(str::to_owned),
                hyperplanes: &[],
                coloured: false,
                kappa,
                geodesics: kappa < 0.0,
                title: &title,
            },
        )?;
        if number as usize <= model.middle.len() + 1 {
            features = Features::Dense(layer.forward(&features, edges).elu());
        }
    }
    Ok(())
}

/// The points that a score takes rows of queries and keys for, and their geometry.
pub(crate) fn points_of(rows: &Tensor<f64>, score: &dyn Score<f32>) -> (Tensor<f64>, Geometry) {
    let geometry = |model: SpaceModel| Geometry::new(model, None).expect("a model has a usual curvature");
    let map = match score.name() {
        "distance" | "half-space" => score.map(),
        "polar-distance" => Some(PointMap::Polar),
        _ => None,
    };
    match map {
        // exp₀ of the ball goes twice as far as the exponential map of the half-space.
        Some(PointMap::Exp) if score.needs_height() => {
            let half = Tensor::from_fn(rows.shape().axes(), |i| 0.5 * rows.data()[i]);
            (PointMap::Exp.ball(&half), geometry(SpaceModel::Poincare))
        }
        Some(map) => (map.ball(rows), geometry(SpaceModel::Poincare)),
        None => (rows.clone(), geometry(SpaceModel::Euclidean)),
    }
}
