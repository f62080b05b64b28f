//! The options of pictures that `vit` and `dit` share.

use clap::Args;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_pictures::{PictureData, PictureNumber, Reading};
use serde::{Deserialize, Serialize};

/// Where pictures are while training, and which of them are held out.
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureOptions {
    /// Leave the pictures of folders in their files, and read each one when it is needed: for more of them
    /// than memory holds.
    #[arg(long, help_heading = "Data")]
    #[serde(default)]
    pub lazy: bool,
    /// Share of the training pictures that is held out for validation, and for the test, if the directory has
    /// none; above 0 and below 1.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Data")]
    pub held_out: f64,
    /// Seed of what is held out. Runs of other seeds have the same pictures for the test.
    #[arg(long, default_value_t = 0, help_heading = "Data")]
    pub split_seed: u64,
}

impl PictureOptions {
    /// How pictures are read that are brought to a side; without one, those of folders to another.
    pub(crate) fn reading(&self, side: Option<usize>, folder_side: usize) -> Reading {
        let PictureOptions { lazy, held_out, split_seed } = *self;
        Reading { side, folder_side, held_out, seed: split_seed, white: None, lazy }
    }

    /// Checks the options.
    ///
    /// # Errors
    /// If a number is out of its range; the error names the option.
    pub(crate) fn check(&self) -> Result<()> {
        options::positive(&[("held-out", self.held_out)])?;
        options::below_one(&[("held-out", self.held_out)])
    }

    /// Checks that pictures that are to stay in their files do.
    ///
    /// # Errors
    /// If they are not of folders.
    pub(crate) fn check_lazy<N: PictureNumber>(&self, data: &PictureData<N>) -> Result<()> {
        if self.lazy && !data.train.is_lazy() {
            return Err(AppError::usage("--lazy: only pictures of folders can stay in their files"));
        }
        Ok(())
    }
}
