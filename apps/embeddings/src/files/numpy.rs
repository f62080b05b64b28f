//! Points as an array of NumPy, `[points, coordinates]`, with a text file beside it that has a name a line:
//! `words.npy` and `words.names.txt`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cotangent::engine::files::{atomic, npy};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::table;

use crate::files::embeddings::{Blocks, Collector, Embeddings};
use crate::graph::names::Names;

/// The file of the names.
fn names_file(path: &Path) -> PathBuf {
    path.with_extension("names.txt")
}

/// Reads an array of `f4` or `f8` and its names.
///
/// # Errors
/// If a file cannot be read or is not in its format, the array has not two axes, the numbers of names and of
/// points differ, or a row is not a point.
pub(crate) fn read(path: &Path, geometry: Geometry) -> Result<Embeddings> {
    let array: Tensor<f64> = npy::read(path)?;
    let &[count, width] = array.shape().axes() else {
        let message =
            format!("an array of shape {}; two axes are needed: points, coordinates", array.shape());
        return Err(AppError::content(path, message));
    };
    let names_file = names_file(path);
    let mut names = Names::default();
    table::read_lines(&names_file, |_, name| {
        names.push(name);
        Ok(())
    })?;
    if names.len() != count || width == 0 {
        let message = format!("{} names for an array of shape {}", names.len(), array.shape());
        return Err(AppError::content(&names_file, message));
    }
    let mut points = Collector::new(geometry);
    for (name, row) in names.iter().zip(array.rows()) {
        points.add_numbers(name, row.iter().copied()).map_err(|message| AppError::content(path, message))?;
    }
    points.finish(path)
}

/// Writes an array of `f8` and its names.
///
/// # Errors
/// If a file cannot be written, or a name has a line break.
pub(crate) fn write_blocks(path: &Path, blocks: &impl Blocks) -> Result<()> {
    let names_file = names_file(path);
    let line = |w: &mut dyn Write, name: &str| {
        if name.contains(['\n', '\r']) {
            let message = format!("{name:?} has a line break and cannot be written in this format");
            return Err(io::Error::other(message));
        }
        writeln!(w, "{name}")
    };
    let lines =
        |w: &mut dyn Write| blocks.each(&mut |names, _| names.iter().try_for_each(|name| line(w, name)));
    atomic::write(&names_file, lines).map_err(AppError::io(&names_file))?;
    Ok(npy::write_in_pieces(path, &blocks.shape(), |put| blocks.each(&mut |_, points| put(points.data())))?)
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;

    #[test]
    fn arrays_are_read_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.npy");
        let names: Names = ["a b", "", " ü"].iter().collect();
        let points = Tensor::from_fn([3, 2], |i| 0.1 * (i as f64).sin());
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let written = Embeddings { names, points, geometry, translation: None };
        write_blocks(&path, &written).unwrap();
        let read = |model| Embeddings::read(&path, model, None);
        assert_eq!(read(Some(SpaceModel::Euclidean.into())).unwrap(), written);
        let error = read(Some(SpaceModel::Lorentz.into())).unwrap_err().to_string();
        assert!(error.contains("e.npy: \"a b\": not a point of the Lorentz model"), "{error}");

        let beside = dir.path().join("e.names.txt");
        std::fs::write(&beside, "a\nb\n").unwrap();
        let error = read(None).unwrap_err().to_string();
        assert!(error.ends_with("e.names.txt: 2 names for an array of shape [3, 2]"), "{error}");
        std::fs::remove_file(&beside).unwrap();
        assert!(read(None).unwrap_err().to_string().contains("e.names.txt: No such file"));
        npy::write(&path, &Tensor::from_fn([3], |_| 0.0_f64)).unwrap();
        let error = read(None).unwrap_err().to_string();
        assert!(error.contains("e.npy: an array of shape [3]; two axes are needed"), "{error}");
        let broken =
            Embeddings { names: ["a\nb"].iter().collect(), points: Tensor::zeros([1, 1]), ..written };
        let error = write_blocks(&path, &broken).unwrap_err().to_string();
        assert!(
            error.ends_with("\"a\\nb\" has a line break and cannot be written in this format"),
            "{error}"
        );
    }
}
