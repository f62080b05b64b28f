//! Embeddings in files, in several formats; their pictures and pages.
//!
//! | module | what |
//! |---|---|
//! | [`embeddings`] | named points |
//! | [`format`](mod@format) | the formats of files |
//! | [`tsv`], [`safetensors`], `word2vec`, `numpy` | reading and writing in each of them |
//! | [`picture`] | the picture of an embedding |
//! | [`view`] | a page to explore an embedding |

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Models, SpaceModel};

pub mod embeddings;
pub mod format;
mod numpy;
pub mod picture;
pub mod safetensors;
pub mod tsv;
pub mod view;
mod word2vec;

use crate::graph::names::{Index, Names};
use crate::partition::embedding::PartEmbedding;
use embeddings::{Blocks, Embeddings};
use format::Format;

/// Whether a file's name says that it is packed.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

impl Embeddings {
    /// Reads a file in the [format](Format) of its extension, or a TSV if it has none of these; of a
    /// directory, its `embedding.safetensors`, or the parts that a training has left there. The points are in
    /// `model`, by default the Poincaré ball, with
    /// curvature `kappa`. But a `.safetensors` file stores its geometry, whose curvature `kappa` overrides.
    ///
    /// # Errors
    /// If the file cannot be read, a row is not a name and the coordinates of a point, or a name occurs
    /// twice. If `model` differs from the stored one.
    pub fn read(path: &Path, model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Self> {
        let embeddings = Self::read_points(path, model, kappa)?;
        embeddings.index_of_names(path)?;
        Ok(embeddings)
    }

    /// Same as [`read`](Self::read), but a name may occur several times: its first point is kept. Returns the
    /// number of points that are left out, too.
    ///
    /// # Errors
    /// If the file cannot be read, or a row is not a name and the coordinates of a point. If `model` differs
    /// from the stored one.
    pub fn read_first(path: &Path, model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<(Self, usize)> {
        let Embeddings { names: all, points: rows, geometry, translation } =
            Self::read_points(path, model, kappa)?;
        let (mut names, mut index, mut data) = (Names::default(), Index::default(), Vec::new());
        for (name, row) in all.iter().zip(rows.rows()) {
            let known = names.len();
            index.find_or_add(&mut names, name);
            if names.len() > known {
                data.extend_from_slice(row);
            }
        }
        let left_out = all.len() - names.len();
        let points = Tensor::new([names.len(), rows.width()], data);
        Ok((Embeddings { names, points, geometry, translation }, left_out))
    }

    /// The points of a file. A name may occur several times.
    fn read_points(path: &Path, model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Self> {
        let whole = path.join("embedding.safetensors");
        if path.is_dir() && !whole.exists() && PartEmbedding::is_in(path) {
            let parts = PartEmbedding::open(path)?;
            let geometry = safetensors::own_geometry(path, parts.geometry(), model, kappa)?;
            return Ok(Embeddings { geometry, ..parts.all()? });
        }
        if path.is_dir() {
            return Self::read_points(&whole, model, kappa);
        }
        let format = Format::named_by(path).unwrap_or(Format::Tsv);
        if matches!(format, Format::Safetensors | Format::Npy) && is_packed(path) {
            return Err(AppError::content(path, "this format is not read packed; unpack it first"));
        }
        let geometry = || Geometry::new(model.clone().unwrap_or(SpaceModel::Poincare.into()), kappa.clone());
        match format {
            Format::Safetensors => safetensors::read(path, model, kappa),
            Format::Tsv => tsv::read(path, geometry()?),
            Format::Text => word2vec::read_text(path, geometry()?),
            Format::Binary => word2vec::read_binary(path, geometry()?),
            Format::Npy => numpy::read(path, geometry()?),
        }
    }
}

/// Writes a file. Returns the number of points that the file's precision takes out of their space: word2vec's
/// binary format has `f32`, in which a point near the ball's boundary may round to it. A safetensors file
/// begins with all names, and needs all points in memory; the other formats need a block.
///
/// # Errors
/// If the file cannot be written, its name ends with `.gz`, or the format cannot hold the names; if a block
/// cannot be read.
pub(crate) fn write(blocks: &impl Blocks, path: &Path, format: Format) -> Result<usize> {
    if is_packed(path) {
        return Err(AppError::content(path, "no packed files are written"));
    }
    match format {
        Format::Tsv => tsv::write_blocks(path, blocks)?,
        Format::Safetensors => {
            let all = blocks.all()?;
            let translation = all.translation.as_deref();
            safetensors::write_translated(path, &all.names, &all.points, all.geometry, translation)?;
        }
        Format::Text => word2vec::write_text(path, blocks)?,
        Format::Binary => return word2vec::write_binary(path, blocks),
        Format::Npy => numpy::write_blocks(path, blocks)?,
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let names: Names =
            ["a b", "ü", "a\tb", "one\nline, \"another\"", "\r\n", "\"", "a \"b\""].into_iter().collect();
        let points =
            Tensor::new([7, 2], [&[0.1, -1e-300, 1.0 - f64::EPSILON / 2.0][..], &[0.0; 11]].concat());
        let geometry = Geometry::new(SpaceModel::Poincare, None).unwrap();
        let (tsv, st) = (dir.path().join("e.tsv"), dir.path().join("e.safetensors"));
        tsv::write(&tsv, &names, &points).unwrap();
        safetensors::write(&st, &names, &points, geometry).unwrap();
        let want = Embeddings { names, points, geometry, translation: None };
        assert_eq!(Embeddings::read(&tsv, None, None).unwrap(), want);
        assert_eq!(Embeddings::read(&st, None, None).unwrap(), want);
        assert!(Embeddings::read(&st, Some(SpaceModel::Lorentz.into()), None).is_err());
    }

    #[test]
    fn bad_files_name_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.tsv");
        let error = |text: &[u8], model: Option<SpaceModel>| {
            std::fs::write(&path, text).unwrap();
            let message = Embeddings::read(&path, model.map(Models::from), None).unwrap_err().to_string();
            message.rsplit_once("e.tsv").unwrap().1.to_owned()
        };
        assert_eq!(error(b"", None), ": no embedding");
        assert_eq!(error(b"a\t0.1\nb\tx\n", None), ":2: \"x\" is not a number");
        assert_eq!(error(b"a\t0.1\nb\n", None), ":2: a name without coordinates");
        assert_eq!(error(b"a\t0.1\nb\t0.1\t0.2\n", None), ":2: 2 coordinates; the lines before have 1");
        assert_eq!(error(b"a\t0.1\nb\t\xff\n", None), ":2: invalid UTF-8");
        assert_eq!(
            error(b"a\t0.1\na\t0.2\n", None),
            ": \"a\" occurs twice, as points 1 and 2; --keep-first keeps the first"
        );
        assert!(error(b"a\t0.1\nb\t1.0\n", None).starts_with(":2: \"b\": not a point of the Poincaré ball"));
        assert!(
            error(b"a\t1\t0\nb\t1\t1\n", Some(SpaceModel::Lorentz))
                .starts_with(":2: \"b\": not a point of the Lorentz model")
        );
        assert!(error(b"a\tNaN\n", Some(SpaceModel::Euclidean)).starts_with(":1: "));
    }
}
