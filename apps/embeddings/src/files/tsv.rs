//! Named points as TSV: a line of a name and coordinates for each point.

use std::io::{self, Write};
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::table;

use crate::files::embeddings::{Blocks, Collector, Embeddings};
use crate::graph::names::Names;

/// Writes a line `name<TAB>x1<TAB>…` for each point. Numbers have enough digits to be read back exactly.
/// Names are quoted where necessary: see [`table::quoted`].
///
/// # Errors
/// If the file cannot be written.
pub fn write<T: Float>(path: &Path, names: &Names, points: &Tensor<T>) -> Result<()> {
    atomic::write(path, |w| put(w, names, points)).map_err(AppError::io(path))
}

/// Same as [`write`], block after block.
///
/// # Errors
/// If a block cannot be read, or the file cannot be written.
pub(crate) fn write_blocks(path: &Path, blocks: &impl Blocks) -> Result<()> {
    let written = atomic::write(path, |w| blocks.each(&mut |names, points| put(w, names, points)));
    written.map_err(AppError::io(path))
}

fn put<T: Float>(w: &mut dyn Write, names: &Names, points: &Tensor<T>) -> io::Result<()> {
    for (name, row) in names.iter().zip(points.rows()) {
        write!(w, "{}", table::quoted(name))?;
        row.iter().try_for_each(|x| write!(w, "\t{x}"))?;
        writeln!(w)?;
    }
    Ok(())
}

/// Reads points of this space.
///
/// # Errors
/// If the file cannot be read, or a line is not a name and the coordinates of a point; the error names it.
pub(crate) fn read(path: &Path, geometry: Geometry) -> Result<Embeddings> {
    let mut points = Collector::new(geometry);
    table::read_quoted(path, |_, record| points.add(&record[0], record.iter().skip(1)))?;
    points.finish(path)
}
