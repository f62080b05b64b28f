//! JSON whose errors name file, line and column.

use std::path::Path;

use serde::Deserialize;

use crate::error::{AppError, Result};
use crate::table::BYTE_ORDER_MARK;

/// Parses the content of a file. `path` is for the error.
///
/// # Errors
/// If the content is empty or not the JSON of a `V`. The error names line and column.
pub fn parse<'d, V: Deserialize<'d>>(path: &Path, content: &'d [u8]) -> Result<V> {
    let content = content.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(content);
    if content.trim_ascii().is_empty() {
        return Err(AppError::content(path, "an empty file"));
    }
    serde_json::from_slice(content).map_err(|error| {
        let (line, column, text) = (error.line(), error.column(), error.to_string());
        let cause = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        AppError::line(path, line as u64, format!("column {column}: {cause}"))
    })
}
