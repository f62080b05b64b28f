//! Vision transformers with any attention score, which classify pictures. Dosovitskiy et al. 2021; trained as
//! Touvron et al. 2021 (*DeiT*) does; Tseng et al. 2023, section 4.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod augmentation;
mod batch;
mod classifier;
mod colour;
mod command;
mod config;
mod model;
mod overlay;
mod rand_augment;
mod tested;
#[cfg(test)]
mod tests;
mod training;

pub use augmentation::Augmentation;
pub use classifier::{Classifier, Likely};
pub use command::{APP, run};
pub use config::{Defaults, Size, VitConfig};
pub use tested::{ClassTested, Tested};
pub use training::train;

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VitMetrics {
    /// Hyperparameters and seed.
    pub config: VitConfig,
    /// What every training has. The validation of an epoch is the top-1 accuracy.
    #[serde(flatten)]
    pub training: Training,
    /// The learned factors γ (or β) of the attentions, or of their heads, in the order of the model's
    /// parameters; none if they are fixed.
    pub sharpness: Vec<f64>,
    /// The name of the pictures' directory.
    pub data: String,
    /// Number of pictures for training, validation and testing.
    pub pictures: [usize; 3],
    /// The parts that were held out of the training pictures, because the directory has none.
    pub held_out: Vec<String>,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
    /// The epoch with the best validation, counted from 1. Its model is tested.
    pub best_epoch: u64,
    /// Its top-1 accuracy on the validation pictures, from 0 to 1.
    pub validation: f64,
    /// The test.
    pub test: Tested,
}
