//! The files of a model that a program can use by itself: of `transformer`, `lm`, `vit` and `dit`.

use std::path::Path;

use clap::Args;
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::threads::ThreadsOption;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The parameters.
pub(crate) const MODEL: &str = "model.safetensors";
pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const CONFIG: &str = "config.json";

// How a saved model runs. clap does not show a doc comment here.
#[derive(Args)]
pub(crate) struct Running {
    #[command(flatten)]
    pub(crate) threads: ThreadsOption,
    #[command(flatten)]
    pub(crate) device: DeviceOption,
}

/// `config.json`. `C` is the configuration of the run.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved<C> {
    #[serde(flatten)]
    pub(crate) config: C,
    /// The name of the run, which the files of its parameters contain too. Older versions did not write it.
    #[serde(default)]
    pub(crate) run: Option<String>,
    /// The fingerprint of the vocabulary.
    #[serde(default)]
    pub(crate) tokenizer: Option<u32>,
}

impl<C: Serialize> Saved<C> {
    /// Takes the directory for a run: moves the files of an earlier one that `is_own` names, and writes
    /// `config.json`. If the run is resumed, the settings there are checked first.
    ///
    /// # Errors
    /// If the output cannot be written, or the settings are of an earlier version.
    pub(crate) fn begin(&self, options: &RunOptions, is_own: impl Fn(&str) -> bool) -> Result<()> {
        let path = options.out.join(CONFIG);
        if options.resume {
            self.resumes(&path)?;
        }
        options.set_aside(is_own)?;
        metrics::write_json(&path, self)
    }

    /// Checks that the settings in a file, if there is one, are of this version: a checkpoint of an earlier
    /// one lacks options.
    ///
    /// # Errors
    /// If an option of this version is missing.
    fn resumes(&self, path: &Path) -> Result<()> {
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

impl<C> Saved<C> {
    /// Checks that a vocabulary, which was read from this file, is that of the run.
    ///
    /// # Errors
    /// If it is another one.
    pub(crate) fn has_vocabulary(&self, fingerprint: u32, path: &Path) -> Result<()> {
        match self.tokenizer {
            Some(ours) if ours != fingerprint => {
                Err(AppError::content(path, "the vocabulary of another run"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that the parameters of a model in this directory can be as many as its configuration says, before
/// memory for them is allocated. `least` may leave out small parts.
///
/// # Errors
/// If the file cannot be read, or is too small.
pub(crate) fn check_size(directory: &Path, least: f64) -> Result<()> {
    let parameters = directory.join(MODEL);
    let bytes = std::fs::metadata(&parameters).map_err(AppError::io(&parameters))?.len();
    if least * size_of::<f32>() as f64 > bytes as f64 {
        let message = format!("a model of at least {least} parameters; {MODEL} has {bytes} bytes");
        return Err(AppError::content(&directory.join(CONFIG), message));
    }
    Ok(())
}
