//! What pictures say of a model that takes them.

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use serde::{Deserialize, Serialize};

use super::{PictureData, PictureNumber};

/// What the pictures say of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Channels of the pictures.
    pub(crate) channels: usize,
    /// Number of classes.
    pub(crate) classes: usize,
}

impl Ends {
    pub(crate) fn new<N: PictureNumber>(data: &PictureData<N>) -> Self {
        Ends { channels: data.train.channels, classes: data.classes.len() }
    }
}

/// The settings of a training, with what its pictures say.
#[derive(Serialize, Deserialize)]
pub(crate) struct Pictured<C> {
    #[serde(flatten)]
    pub(crate) config: C,
    /// Channels of the pictures.
    pub(crate) channels: usize,
    /// The names of the classes.
    pub(crate) classes: Vec<String>,
    /// The value that is white, if they are from a table: also in other tables. Older versions did not write
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) white: Option<f32>,
}

impl<C: Clone> Pictured<C> {
    pub(crate) fn new<N: PictureNumber>(config: &C, data: &PictureData<N>) -> Self {
        Pictured {
            config: config.clone(),
            channels: data.train.channels,
            classes: data.classes.clone(),
            white: data.white,
        }
    }
}

impl<C> Pictured<C> {
    /// Checks what the pictures say. Latents have any number of channels.
    ///
    /// # Errors
    /// If there are no pictures with as many channels, or there is no class.
    pub(crate) fn check(&self, latents: bool) -> Result<()> {
        let fits = matches!(self.channels, 1 | 3) || latents && self.channels > 0;
        if !fits || self.classes.is_empty() {
            let message = format!("{} channels and {} classes", self.channels, self.classes.len());
            return Err(AppError::usage(message));
        }
        Ok(())
    }
}

/// Checks the side of patches, and of the pictures if it is known.
///
/// # Errors
/// If the pictures cannot be cut into such patches; the error names the option.
pub(crate) fn check_patch(patch: usize, image_size: Option<usize>) -> Result<()> {
    options::at_least_one(&[("patch", patch as u64), ("image-size", image_size.unwrap_or(1) as u64)])?;
    match image_size.filter(|side| side % patch > 0) {
        Some(side) => {
            let message = format!("--patch {patch}: a divisor of the pictures' side, {side}, is needed");
            Err(AppError::usage(message))
        }
        None => Ok(()),
    }
}
