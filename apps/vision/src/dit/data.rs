//! What is diffused: pictures, or latents.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_pictures::{PictureData, Reading};

/// Pictures as numbers from −1 to 1, or latents: what an autoencoder makes of pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct DitData {
    /// The numbers of all parts.
    pub pictures: PictureData<f32>,
    /// Whether they are latents.
    pub latents: bool,
}

impl DitData {
    /// Reads a directory of latents, see [`PictureData::read_latents`], or of pictures, see
    /// [`PictureData::read`].
    ///
    /// # Errors
    /// As these two, or if a size is wanted of latents that have another one.
    pub fn read(path: &Path, reading: &Reading) -> Result<Self> {
        let Some(pictures) = PictureData::read_latents(path, reading)? else {
            return Ok(DitData { pictures: PictureData::read(path, reading)?.to_numbers(), latents: false });
        };
        match reading.side.filter(|&side| side != pictures.train.side) {
            Some(side) => {
                let own = pictures.train.side;
                Err(AppError::usage(format!("--image-size {side}: latents keep their own side, {own}")))
            }
            None => Ok(DitData { pictures, latents: true }),
        }
    }
}
