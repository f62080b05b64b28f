//! Named points in files: TSV (name, coordinates) and safetensors here, word2vec and
//! NumPy in files of their own.

use std::path::Path;

use cotangent::engine::files::{atomic, safetensors};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Model, Models};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::table;
use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::names::{Index, Names};
use crate::{numpy, word2vec};

/// The description of the points in a safetensors file, as JSON under the metadata key [`ABOUT`].
#[derive(Serialize, Deserialize)]
struct About {
    names: Names,
    geometry: Geometry,
}

const ABOUT: &str = "cotangent.embedding";

/// The nouns of WordNet 3.0 in ten dimensions of the Poincaré ball, as a safetensors file; how they were
/// trained is in `data/README.md`. Under the licence in `data/LICENSE-WordNet.txt`.
const NOUNS: &[u8] = include_bytes!("../data/nouns.safetensors");

/// Named points.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    /// The name of each point.
    pub names: Names,
    /// The points, one per row: `[n, coordinates]`.
    pub points: Tensor<f64>,
    /// The geometry of the points.
    pub geometry: Geometry,
}

/// Writes a line `name<TAB>x1<TAB>…` for each point. Numbers have enough digits to be read back exactly.
/// Names are quoted where necessary: see [`table::quoted`].
///
/// # Errors
/// If the file cannot be written.
pub fn write_tsv<T: Float>(path: &Path, names: &Names, points: &Tensor<T>) -> Result<()> {
    atomic::write(path, |w| {
        for (name, row) in names.iter().zip(points.rows()) {
            write!(w, "{}", table::quoted(name))?;
            for x in row {
                write!(w, "\t{x}")?;
            }
            writeln!(w)?;
        }
        Ok(())
    })
    .map_err(AppError::io(path))
}

/// Writes a safetensors file with the tensor `embedding`, and names and geometry as metadata.
///
/// # Errors
/// If the file cannot be written.
pub fn write_safetensors<T: Float>(
    path: &Path,
    names: &Names,
    points: &Tensor<T>,
    geometry: Geometry,
) -> Result<()> {
    let about = About { names: names.clone(), geometry };
    let about = serde_json::to_string(&about).map_err(|e| AppError::content(path, e.to_string()))?;
    Ok(safetensors::write(path, &[("embedding", points)], Some((ABOUT, &about)))?)
}

/// Collects points that a file gives one by one.
pub(crate) struct Collector {
    geometry: Geometry,
    names: Names,
    data: Vec<f64>,
    width: Option<usize>,
}

impl Collector {
    /// For points of this space.
    pub(crate) fn new(geometry: Geometry) -> Self {
        Collector { geometry, names: Names::default(), data: Vec::new(), width: None }
    }

    /// Adds a point whose coordinates are decimal numbers.
    pub(crate) fn add<'a>(
        &mut self,
        name: &str,
        coordinates: impl Iterator<Item = &'a str>,
    ) -> std::result::Result<(), String> {
        let before = self.data.len();
        for field in coordinates {
            self.data.push(field.parse::<f64>().map_err(|_| format!("{field:?} is not a number"))?);
        }
        self.check(name, before)
    }

    /// Adds a point.
    pub(crate) fn add_numbers(
        &mut self,
        name: &str,
        coordinates: impl Iterator<Item = f64>,
    ) -> std::result::Result<(), String> {
        let before = self.data.len();
        self.data.extend(coordinates);
        self.check(name, before)
    }

    fn check(&mut self, name: &str, before: usize) -> std::result::Result<(), String> {
        let row = &self.data[before..];
        match self.width.replace(row.len()) {
            _ if row.is_empty() => return Err("a name without coordinates".to_owned()),
            Some(width) if width != row.len() => {
                return Err(format!("{} coordinates; the lines before have {width}", row.len()));
            }
            _ => {}
        }
        self.geometry.check(row).map_err(|error| format!("{name:?}: {error}"))?;
        self.names.push(name);
        Ok(())
    }

    /// The points. `path` is their file, for the error.
    pub(crate) fn finish(self, path: &Path) -> Result<Embeddings> {
        let Collector { geometry, names, data, width } = self;
        let Some(width) = width else { return Err(AppError::content(path, "no embedding")) };
        Ok(Embeddings { points: Tensor::new([names.len(), width], data), names, geometry })
    }
}

/// Whether a file's name says that it is packed.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

impl Embeddings {
    /// Reads a file in the [format](Format) of its extension, or a TSV if it has none of these; of a
    /// directory, its `embedding.safetensors`. The points are in `model`, by default the Poincaré ball, with
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
        let Embeddings { names: all, points: rows, geometry } = Self::read_points(path, model, kappa)?;
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
        Ok((Embeddings { names, points, geometry }, left_out))
    }

    /// The points of a file. A name may occur several times.
    fn read_points(path: &Path, model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Self> {
        if path.is_dir() {
            return Self::read_points(&path.join("embedding.safetensors"), model, kappa);
        }
        let format = Format::named_by(path).unwrap_or(Format::Tsv);
        if matches!(format, Format::Safetensors | Format::Npy) && is_packed(path) {
            return Err(AppError::content(path, "this format is not read packed; unpack it first"));
        }
        let geometry = || Geometry::new(model.clone().unwrap_or(Model::Poincare.into()), kappa.clone());
        match format {
            Format::Safetensors => Self::read_safetensors(path, model, kappa),
            Format::Tsv => Self::read_tsv(path, geometry()?),
            Format::Text => word2vec::read_text(path, geometry()?),
            Format::Binary => word2vec::read_binary(path, geometry()?),
            Format::Npy => numpy::read(path, geometry()?),
        }
    }

    /// Writes a file. Returns the number of points that the file's precision takes out of their space:
    /// word2vec's binary format has `f32`, in which a point near the ball's boundary may round to it.
    ///
    /// # Errors
    /// If the file cannot be written, its name ends with `.gz`, or the format cannot hold the names.
    pub fn write(&self, path: &Path, format: Format) -> Result<usize> {
        if is_packed(path) {
            return Err(AppError::content(path, "no packed files are written"));
        }
        let Embeddings { names, points, geometry } = self;
        match format {
            Format::Tsv => write_tsv(path, names, points)?,
            Format::Safetensors => write_safetensors(path, names, points, *geometry)?,
            Format::Text => word2vec::write_text(path, names, points)?,
            Format::Binary => return word2vec::write_binary(path, names, points, *geometry),
            Format::Npy => numpy::write(path, names, points)?,
        }
        Ok(0)
    }

    fn read_tsv(path: &Path, geometry: Geometry) -> Result<Self> {
        let mut points = Collector::new(geometry);
        table::read_quoted(path, |_, record| points.add(&record[0], record.iter().skip(1)))?;
        points.finish(path)
    }

    /// The nouns of WordNet, which are built in.
    ///
    /// # Errors
    /// If `model` differs from theirs.
    pub fn nouns(model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Self> {
        let contents = safetensors::parse(NOUNS).expect("the file that is built in");
        Self::of_tensors(Path::new("nouns"), contents, model, kappa)
    }

    fn read_safetensors(path: &Path, model: Option<Models>, kappa: Option<Vec<f64>>) -> Result<Self> {
        Self::of_tensors(path, safetensors::read::<f64>(path)?, model, kappa)
    }

    /// The embedding that the tensors and metadata of a file are. `path` is for the error.
    fn of_tensors(
        path: &Path,
        (mut tensors, metadata): safetensors::Contents<f64>,
        model: Option<Models>,
        kappa: Option<Vec<f64>>,
    ) -> Result<Self> {
        let missing = |what: &str| AppError::content(path, format!("no {what}: this is not an embedding"));
        let points = tensors.remove("embedding").ok_or_else(|| missing("tensor \"embedding\""))?;
        let about = metadata.get(ABOUT).ok_or_else(|| missing("metadata"))?;
        let about: About = serde_json::from_str(about).map_err(|e| AppError::content(path, e.to_string()))?;
        let names = about.names;
        if points.shape().axes().len() != 2 || points.shape()[0] != names.len() {
            return Err(AppError::content(
                path,
                format!("{} names for a tensor of shape {}", names.len(), points.shape()),
            ));
        }
        let stored = about.geometry;
        if model.is_some_and(|model| model != stored.models()) {
            return Err(AppError::usage(format!("--model: {} is an embedding in {stored}", path.display())));
        }
        let geometry = if kappa.is_some() { Geometry::new(stored.models(), kappa)? } else { stored };
        for (name, row) in names.iter().zip(points.rows()) {
            geometry.check(row).map_err(|error| AppError::content(path, format!("{name:?}: {error}")))?;
        }
        Ok(Embeddings { names, points, geometry })
    }

    /// Finds points by their names.
    fn index_of_names(&self, path: &Path) -> Result<Index> {
        Index::new(&self.names).map_err(|[first, second]| {
            let (name, first, second) = (&self.names[first], first + 1, second + 1);
            let message = format!(
                "{name:?} occurs twice, as points {first} and {second}; --keep-first keeps the first"
            );
            AppError::content(path, message)
        })
    }

    /// The type that the coordinates need: `f32` if each of them is such a number, as in a file that
    /// `train --precision f32` wrote.
    pub fn precision(&self) -> Precision {
        let single = self.points.data().iter().all(|&x| f64::from(x as f32) == x);
        if single { Precision::F32 } else { Precision::F64 }
    }

    /// The index of the point of each name. `path` is the embedding's file, for the error.
    ///
    /// # Errors
    /// If a name has no point, or two points have one name.
    pub fn index(&self, path: &Path, names: &Names) -> Result<Vec<u32>> {
        let index = self.index_of_names(path)?;
        let find = |name| {
            let message = || format!("no point for node {name:?} of the edge list");
            index.find(&self.names, name).ok_or_else(|| AppError::content(path, message()))
        };
        names.iter().map(find).collect()
    }
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
        let geometry = Geometry::new(Model::Poincare, None).unwrap();
        let (tsv, st) = (dir.path().join("e.tsv"), dir.path().join("e.safetensors"));
        write_tsv(&tsv, &names, &points).unwrap();
        write_safetensors(&st, &names, &points, geometry).unwrap();
        let want = Embeddings { names, points, geometry };
        assert_eq!(Embeddings::read(&tsv, None, None).unwrap(), want);
        assert_eq!(Embeddings::read(&st, None, None).unwrap(), want);
        assert!(Embeddings::read(&st, Some(Model::Lorentz.into()), None).is_err());
    }

    #[test]
    fn the_nouns_are_built_in() {
        let nouns = Embeddings::nouns(None, None).unwrap();
        assert_eq!((nouns.names.len(), nouns.points.width()), (82_115, 10));
        assert_eq!(nouns.precision(), Precision::F32);
        let [dog, democracy] =
            ["dog.n.01", "democracy.n.01"].map(|name| nouns.find(Path::new("nouns"), name).unwrap());
        let nearest = nouns.neighbours(dog, 3);
        let canine = nearest.iter().find(|neighbour| neighbour.name == "canine.n.02").unwrap();
        assert!(canine.distance < 0.5 * nouns.distance(dog, democracy));
        assert!(Embeddings::nouns(Some(Model::Lorentz.into()), None).is_err());
    }

    #[test]
    fn the_precision_is_that_of_the_coordinates() {
        let precision = |second: f64| {
            let points = Tensor::new([2, 1], vec![f64::from(0.1_f32), second]);
            let geometry = Geometry::new(Model::Poincare, None).unwrap();
            Embeddings { names: ["a", "b"].into_iter().collect(), points, geometry }.precision()
        };
        assert_eq!((precision(-0.5), precision(0.1)), (Precision::F32, Precision::F64));
    }

    #[test]
    fn bad_files_name_the_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.tsv");
        let error = |text: &[u8], model: Option<Model>| {
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
            error(b"a\t1\t0\nb\t1\t1\n", Some(Model::Lorentz))
                .starts_with(":2: \"b\": not a point of lorentz")
        );
        assert!(error(b"a\tNaN\n", Some(Model::Euclidean)).starts_with(":1: "));
    }
}
