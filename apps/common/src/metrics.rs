//! Results of a run, as JSON.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::optim::train::{Epoch, History};
use cotangent::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{AppError, Result};
use crate::{json, print};

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
/// If it cannot be read, or its content is not a `V`: the error names line and column.
pub fn read_json<V: DeserializeOwned>(path: &Path) -> Result<V> {
    let json = std::fs::read(path).map_err(AppError::io(path))?;
    json::parse(path, &json)
}

/// What `metrics.json` says of every training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Number of parameters of the model.
    pub parameters: usize,
    /// Number of threads of this run.
    pub threads: usize,
    /// The device that the model was trained on.
    pub device: String,
    /// The result of every epoch.
    pub epochs: Vec<Epoch>,
    /// Seconds of training and validation, summed over all resumed parts.
    pub seconds: f64,
}

impl Training {
    /// Of a model on a device, with the current threads.
    pub fn new<T: Float>(model: &impl Module<T>, history: &History, device: &Device) -> Self {
        Training {
            parameters: model.count(),
            threads: rayon::current_num_threads(),
            device: device.to_string(),
            epochs: history.epochs.clone(),
            seconds: history.seconds,
        }
    }

    /// In words: how long it took, and how many `items` it took a second. An epoch has `count` of them.
    pub fn text(&self, count: usize, items: &str) -> String {
        let Training { parameters, threads, epochs, seconds, .. } = self;
        let (epochs, rate) = (epochs.len(), (epochs.len() * count) as f64 / seconds);
        // Slow ones with a digit more.
        let digits = usize::from(rate < 100.0);
        format!(
            "trained {parameters} parameters for {epochs} epochs in {seconds:.1} s \
             ({rate:.digits$} {items}/s, {threads} threads)"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an editor may have saved it, and damaged.
    #[test]
    fn json_that_is_read_may_begin_with_a_byte_order_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        std::fs::write(&path, "\u{feff}[1,\n2]").unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path).unwrap(), [1, 2]);
        std::fs::write(&path, "[1,\nx]").unwrap();
        let error = read_json::<Vec<u32>>(&path).unwrap_err().to_string();
        assert!(error.ends_with("x.json:2: column 1: expected value"), "{error}");
    }

    #[test]
    fn a_training_in_words() {
        let epoch = Epoch { loss: 1.0, validation: 0.5 };
        let (device, epochs) = ("cpu".to_owned(), vec![epoch; 3]);
        let training = Training { parameters: 10, threads: 2, device, epochs, seconds: 6.0 };
        let text = |count| training.text(count, "pictures");
        assert_eq!(text(500), "trained 10 parameters for 3 epochs in 6.0 s (250 pictures/s, 2 threads)");
        assert_eq!(text(5), "trained 10 parameters for 3 epochs in 6.0 s (2.5 pictures/s, 2 threads)");
    }
}
