//! What pictures say of a model that takes them.

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_pictures::{PictureData, PictureNumber};
use serde::{Deserialize, Serialize};

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
