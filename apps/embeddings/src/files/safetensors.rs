//! Named points as safetensors: the tensor `embedding`, with names and geometry as metadata, and the tensor
//! `translation` if one was learned. The nouns of WordNet are built in as such a file.

use std::path::Path;

use cotangent::engine::files::safetensors;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Models};
use serde::{Deserialize, Serialize};

use crate::files::embeddings::Embeddings;
use crate::graph::names::Names;

/// The description of the points in a safetensors file, as JSON under the metadata key [`ABOUT`].
#[derive(Serialize, Deserialize)]
struct About {
    names: Names,
    geometry: Geometry,
}

const ABOUT: &str = "cotangent.embedding";

/// The tensor of the translation.
const TRANSLATION: &str = "translation";

/// The nouns of WordNet 3.0 in ten dimensions of the Poincaré ball, as a safetensors file; how they were
/// trained is in `data/README.md`. Under the licence in `data/LICENSE-WordNet.txt`.
const NOUNS: &[u8] = include_bytes!("../../data/nouns.safetensors");

/// Writes a safetensors file with the tensor `embedding`, and names and geometry as metadata.
///
/// # Errors
/// If the file cannot be written.
pub fn write<T: Float>(path: &Path, names: &Names, points: &Tensor<T>, geometry: Geometry) -> Result<()> {
    write_translated(path, names, points, geometry, None)
}

/// Same as [`write()`], with the translation of
/// [`Loss::Translation`](crate::train::objective::Loss::Translation).
///
/// # Errors
/// If the file cannot be written.
pub fn write_translated<T: Float>(
    path: &Path,
    names: &Names,
    points: &Tensor<T>,
    geometry: Geometry,
    translation: Option<&[f64]>,
) -> Result<()> {
    let about = About { names: names.clone(), geometry };
    let about = serde_json::to_string(&about).map_err(|e| AppError::content(path, e.to_string()))?;
    let translation = translation.map(|r| Tensor::from_fn([r.len()], |i| T::nearest(r[i])));
    let mut tensors = vec![("embedding", points)];
    tensors.extend(translation.iter().map(|r| (TRANSLATION, r)));
    Ok(safetensors::write(path, &tensors, Some((ABOUT, &about)))?)
}

/// Reads a file.
///
/// # Errors
/// If it cannot be read or is not an embedding, a row is not a point, or `model` differs from the stored one.
pub(crate) fn read(path: &Path, model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Embeddings> {
    from_tensors(path, safetensors::read::<f64>(path)?, model, kappa)
}

/// The nouns of WordNet, which are built in.
///
/// # Errors
/// If `model` differs from theirs.
pub fn nouns(model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Embeddings> {
    let contents = safetensors::parse(NOUNS).expect("the file that is built in");
    from_tensors(Path::new("nouns"), contents, model, kappa)
}

/// The geometry of an embedding that stores its own, whose curvature `kappa` overrides.
///
/// # Errors
/// If `model` differs from the stored one.
pub(crate) fn own_geometry(
    path: &Path,
    stored: Geometry,
    model: Option<Models>,
    kappa: Option<Vec<f64>>,
) -> Result<Geometry> {
    if model.is_some_and(|model| model != stored.models()) {
        return Err(AppError::usage(format!("--model: {} is an embedding in {stored}", path.display())));
    }
    if kappa.is_some() { Geometry::new(stored.models(), kappa) } else { Ok(stored) }
}

/// An embedding from the tensors and the metadata of a file. `path` is for the error.
fn from_tensors(
    path: &Path,
    (mut tensors, metadata): safetensors::Contents<f64>,
    model: Option<Models>,
    kappa: Option<Vec<f64>>,
) -> Result<Embeddings> {
    let missing = |what: &str| AppError::content(path, format!("no {what}: this is not an embedding"));
    let points = tensors.remove("embedding").ok_or_else(|| missing("tensor \"embedding\""))?;
    let about = metadata.get(ABOUT).ok_or_else(|| missing("metadata"))?;
    let about: About = serde_json::from_str(about).map_err(|e| AppError::content(path, e.to_string()))?;
    let names = about.names;
    if points.shape().rank() != 2 || points.shape()[0] != names.len() {
        return Err(AppError::content(
            path,
            format!("{} names for a tensor of shape {}", names.len(), points.shape()),
        ));
    }
    let geometry = own_geometry(path, about.geometry, model, kappa)?;
    for (name, row) in names.iter().zip(points.rows()) {
        geometry.check(row).map_err(|error| AppError::content(path, format!("{name:?}: {error}")))?;
    }
    let translation = tensors.remove(TRANSLATION).map(|r| r.data().to_vec());
    if let Some(r) = &translation {
        let fits = matches!(geometry.single(), Some(SpaceForm::Euclidean(_))) && r.len() == points.width();
        if !fits || r.iter().any(|x| !x.is_finite()) {
            let message = format!(
                "a translation of {} numbers for {} dimensions of {geometry}",
                r.len(),
                points.width()
            );
            return Err(AppError::content(path, message));
        }
    }
    Ok(Embeddings { names, points, geometry, translation })
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::SpaceModel;
    use cotangent_apps_common::precision::Precision;

    use super::*;

    /// It is of Euclidean space, of its dimension, and finite.
    #[test]
    fn a_translation_is_checked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("e.safetensors");
        let names: Names = ["a", "b"].into_iter().collect();
        let points = Tensor::new([2, 2], vec![0.1, 0.2, 0.3, 0.4]);
        for (model, r, is_good) in [
            (SpaceModel::Euclidean, &[1.0, -2.0][..], true),
            (SpaceModel::Euclidean, &[1.0], false),
            (SpaceModel::Euclidean, &[1.0, f64::NAN], false),
            (SpaceModel::Poincare, &[0.1, 0.1], false),
        ] {
            let geometry = Geometry::new(model, None).unwrap();
            write_translated(&path, &names, &points, geometry, Some(r)).unwrap();
            match read(&path, None, None) {
                Ok(found) => assert!(is_good && found.translation.as_deref() == Some(r), "{found:?}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!is_good && error.contains("e.safetensors: a translation of"), "{error}");
                }
            }
        }
    }

    #[test]
    fn the_nouns_are_built_in() {
        let built_in = nouns(None, None).unwrap();
        assert_eq!((built_in.names.len(), built_in.points.width()), (82_115, 10));
        assert_eq!(built_in.precision(), Precision::F32);
        let [dog, democracy] =
            ["dog.n.01", "democracy.n.01"].map(|name| built_in.find(Path::new("nouns"), name).unwrap());
        let nearest = built_in.neighbours(dog, 3);
        let canine = nearest.iter().find(|neighbour| neighbour.name == "canine.n.02").unwrap();
        assert!(canine.distance < 0.5 * built_in.dist(dog, democracy));
        assert!(nouns(Some(SpaceModel::Lorentz.into()), None).is_err());
    }
}
