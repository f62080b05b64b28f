//! Named points.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::precision::Precision;

use crate::graph::names::{Index, Names};

/// Named points.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    /// The name of each point.
    pub names: Names,
    /// The points, one per row: `[n, coordinates]`.
    pub points: Tensor<f64>,
    /// The geometry of the points.
    pub geometry: Geometry,
    /// The vector that [`Loss::Translation`](crate::train::objective::Loss::Translation) has learned beside
    /// the points of Euclidean space, if there is one.
    pub translation: Option<Vec<f64>>,
}

/// Named points that a file is written from, block after block: they need not all be in memory.
pub(crate) trait Blocks {
    /// Number of points, and of the coordinates of each.
    fn shape(&self) -> [usize; 2];

    /// The geometry of the points.
    fn geometry(&self) -> Geometry;

    /// Calls `write` with the names and the points of each block: `[points, coordinates]`.
    ///
    /// # Errors
    /// Those of `write`; if a block cannot be read.
    fn each(&self, write: &mut dyn FnMut(&Names, &Tensor<f64>) -> io::Result<()>) -> io::Result<()>;

    /// All points in memory.
    ///
    /// # Errors
    /// If a block cannot be read.
    fn all(&self) -> Result<Cow<'_, Embeddings>>;
}

impl Blocks for Embeddings {
    fn shape(&self) -> [usize; 2] {
        [self.names.len(), self.points.width()]
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn each(&self, write: &mut dyn FnMut(&Names, &Tensor<f64>) -> io::Result<()>) -> io::Result<()> {
        write(&self.names, &self.points)
    }

    fn all(&self) -> Result<Cow<'_, Embeddings>> {
        Ok(Cow::Borrowed(self))
    }
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
        let points = Tensor::new([names.len(), width], data);
        Ok(Embeddings { names, points, geometry, translation: None })
    }
}

impl Embeddings {
    /// Finds points by their names.
    pub(crate) fn index_of_names(&self, path: &Path) -> Result<Index> {
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
    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;

    #[test]
    fn the_precision_is_that_of_the_coordinates() {
        let precision = |second: f64| {
            let points = Tensor::new([2, 1], vec![f64::from(0.1_f32), second]);
            let geometry = Geometry::new(SpaceModel::Poincare, None).unwrap();
            let names = ["a", "b"].into_iter().collect();
            Embeddings { names, points, geometry, translation: None }.precision()
        };
        assert_eq!((precision(-0.5), precision(0.1)), (Precision::F32, Precision::F64));
    }
}
