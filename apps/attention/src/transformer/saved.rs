//! The files of a model.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TransformerConfig;

/// The parameters.
pub(super) const MODEL: &str = "model.safetensors";
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const CONFIG: &str = "config.json";

/// `config.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    #[serde(flatten)]
    pub(super) config: TransformerConfig,
    /// The name of the run, which the files of its parameters contain too. Older versions did not write it.
    #[serde(default)]
    pub(super) run: Option<String>,
    /// The fingerprint of the byte-pair encoding.
    #[serde(default)]
    pub(super) tokenizer: Option<u32>,
}

impl Saved {
    /// Checks that the settings in a file, if there is one, are of this version: a checkpoint of an earlier
    /// one lacks options.
    ///
    /// # Errors
    /// If an option of this version is missing.
    pub(super) fn resumes(&self, path: &Path) -> Result<()> {
        fn missing<'a>(theirs: &Value, ours: &'a Value) -> Option<&'a str> {
            ours.as_object()?.iter().find_map(|(name, value)| match theirs.get(name) {
                Some(found) => missing(found, value),
                None => Some(name.as_str()),
            })
        }
        if !path.exists() {
            return Ok(());
        }
        let (theirs, ours) = (metrics::read_json(path)?, serde_json::json!(self));
        match missing(&theirs, &ours) {
            Some(name) => {
                let message = format!("a run of an earlier version, without {name:?}, cannot be resumed");
                Err(AppError::content(path, message))
            }
            None => Ok(()),
        }
    }
}
