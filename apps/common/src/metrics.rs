//! Results of a run, as JSON.

use std::path::Path;

use cotangent::engine::files::atomic;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{AppError, Result};
use crate::print;

/// Writes `metrics.json` into a directory. With `--json` it is printed too, as the event `result`.
///
/// # Errors
/// If it cannot be written.
pub fn write(directory: &Path, metrics: &impl Serialize) -> Result<()> {
    print::event("result", metrics);
    write_json(&directory.join("metrics.json"), metrics)
}

/// Writes a JSON file.
///
/// # Errors
/// If it cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_vec_pretty(value).map_err(|e| AppError::content(path, e.to_string()))?;
    atomic::write(path, |w| w.write_all(&json)).map_err(AppError::io(path))
}

/// Reads a JSON file.
///
/// # Errors
/// If it cannot be read, or its content is not a `V`.
pub fn read_json<V: DeserializeOwned>(path: &Path) -> Result<V> {
    let json = std::fs::read(path).map_err(AppError::io(path))?;
    serde_json::from_slice(&json).map_err(|e| AppError::content(path, e.to_string()))
}
