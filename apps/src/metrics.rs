//! What a run came to, as JSON.

use std::path::Path;

use cotangent::engine::files::atomic;
use serde::Serialize;

use crate::error::{AppError, Result};

/// Writes `metrics.json` into a directory.
///
/// # Errors
/// If it cannot be written.
pub fn write(directory: &Path, metrics: &impl Serialize) -> Result<()> {
    let path = directory.join("metrics.json");
    let json = serde_json::to_vec_pretty(metrics).map_err(|e| AppError::content(&path, e.to_string()))?;
    atomic::write(&path, |w| w.write_all(&json)).map_err(AppError::io(&path))
}
