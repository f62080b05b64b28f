//! The files of a model that a program can use by itself: of `transformer`, `lm`, `vit` and `dit`.

use std::path::Path;

use clap::Args;
use cotangent::engine::rng::Rng;
use cotangent::optim::train::{MODEL, load_model};
use cotangent::prelude::*;
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::threads::ThreadsOption;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The file of a vocabulary.
pub const TOKENIZER: &str = "tokenizer.json";
/// The file of the settings.
pub const CONFIG: &str = "config.json";

// How a saved model runs.
#[derive(Args)]
#[allow(missing_docs, reason = "clap would show it as the description of the program")]
pub struct Running {
    #[command(flatten)]
    pub threads: ThreadsOption,
    #[command(flatten)]
    pub device: DeviceOption,
}

/// `config.json`. `C` is the configuration of the run.
#[derive(Serialize, Deserialize)]
pub struct Saved<C> {
    #[serde(flatten)]
    /// The settings of the run.
    pub config: C,
    /// The name of the run, which the files of its parameters contain too. Older versions did not write it.
    #[serde(default)]
    pub run: Option<String>,
    /// The fingerprint of the vocabulary.
    #[serde(default)]
    pub tokenizer: Option<u32>,
}

impl<C: Serialize> Saved<C> {
    /// Takes the directory for a run: moves the files of an earlier one, which have these names among others,
    /// and writes `config.json`.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn begin(&self, options: &RunOptions, is_own: &dyn Fn(&str) -> bool) -> Result<()> {
        options.set_aside(is_own)?;
        metrics::write_json(&options.out.join(CONFIG), self)
    }
}

impl<C: DeserializeOwned> Saved<C> {
    /// Reads `config.json` in a directory, and what `check` returns for its settings.
    ///
    /// # Errors
    /// If it cannot be read, or `check` fails: then the error names the file too.
    pub fn read<R>(directory: &Path, check: impl FnOnce(&C) -> Result<R>) -> Result<(Self, R)> {
        let path = directory.join(CONFIG);
        let saved: Self = metrics::read_json(&path)?;
        let checked = check(&saved.config).map_err(|e| AppError::content(&path, e.to_string()))?;
        Ok((saved, checked))
    }
}

impl<C> Saved<C> {
    /// Checks that a vocabulary, which was read from this file, is that of the run.
    ///
    /// # Errors
    /// If it is another one.
    pub fn has_vocabulary(&self, fingerprint: u32, path: &Path) -> Result<()> {
        match self.tokenizer {
            Some(ours) if ours != fingerprint => {
                Err(AppError::content(path, "the vocabulary of another run"))
            }
            _ => Ok(()),
        }
    }
}

/// Makes a model and loads its parameters from this directory, those of the run of this name. Before memory
/// for them is allocated, their file is compared with the number of parameters that the configuration says;
/// `least` may leave out small parts.
///
/// # Errors
/// If the file cannot be read, is too small, or belongs to another run or model.
pub fn load_parameters<M: Module<f32>>(
    directory: &Path,
    run: Option<&str>,
    least: f64,
    model: impl FnOnce(&mut Rng) -> M,
) -> Result<M> {
    let parameters = directory.join(MODEL);
    let bytes = std::fs::metadata(&parameters).map_err(AppError::io(&parameters))?.len();
    if least * size_of::<f32>() as f64 > bytes as f64 {
        let message = format!("a model of at least {least} parameters; {MODEL} has {bytes} bytes");
        return Err(AppError::content(&directory.join(CONFIG), message));
    }
    let mut model = model(&mut rng::stream(0, "initial", 0));
    load_model(&mut model, &parameters, run)?;
    Ok(model)
}
