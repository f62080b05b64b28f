//! A trained classifier of pictures.

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_attention::saved::{Saved, load_parameters};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_pictures::{Fit, PictureData, Pictures, Raster, Reading, codec, folders};
use serde::Serialize;

use super::VitConfig;
use super::batch::Batch;
use super::model::VitModel;
use super::overlay::{self, Overlay};
use super::tested::{Tested, features, test};
use crate::pictured::{Ends, Pictured};

/// A class of a picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Likely {
    /// The name of the class.
    pub class: String,
    /// Its probability, from 0 to 1.
    pub probability: f64,
}

/// A trained model.
pub struct Classifier {
    model: VitModel,
    config: VitConfig,
    ends: Ends,
    classes: Vec<String>,
    /// The value of a table that is white.
    white: Option<f32>,
    device: Device,
}

impl Classifier {
    /// Loads the model in the output directory of a run, to compute on a device.
    ///
    /// # Errors
    /// If a file is missing, is no file of a model, or belongs to another run.
    pub fn load(directory: &Path, scores: &Scores, device: Device) -> Result<Self> {
        let check =
            |saved: &Pictured<VitConfig>| saved.check(false).and_then(|()| saved.config.check(scores));
        let (saved, score) = Saved::read(directory, check)?;
        let Saved { config: Pictured { config, channels, classes, white }, run, .. } = saved;
        let ends = Ends { channels, classes: classes.len() };
        let least = config.least_parameters(ends.channels, ends.classes);
        let model = load_parameters(directory, run.as_deref(), least, |rng| {
            VitModel::new(&config, &*score, ends, rng)
        })?;
        Ok(Classifier { model, config, ends, classes, white, device })
    }

    /// The settings of its training.
    pub fn config(&self) -> &VitConfig {
        &self.config
    }

    /// Channels of the pictures.
    pub fn channels(&self) -> usize {
        self.ends.channels
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Reads the pictures of a directory, brought to the model's size: see [`PictureData::read`]. A folder
    /// `test` is enough.
    ///
    /// # Errors
    /// As [`PictureData::read`], or if the classes are others.
    pub fn read_to_test(&self, directory: &Path) -> Result<PictureData> {
        let side = self.config.side();
        let white = self.white;
        let reading =
            Reading { side: Some(side), folder_side: side, white, lazy: true, ..self.config.reading() };
        PictureData::read_to_test(directory, &reading, &self.classes)
    }

    /// All PNG and JPEG files of a directory and of the folders in it, whatever their class, brought to the
    /// model's size and channels when they are read.
    ///
    /// # Errors
    /// If there is none, or one is no picture.
    pub fn read_all(&self, directory: &Path) -> Result<Pictures> {
        Ok(folders::read_all(directory, self.config.side())?.in_channels(self.channels()))
    }

    /// Tests the model on pictures of its size, channels and classes.
    ///
    /// # Errors
    /// If a file cannot be read, or is no picture.
    pub fn test(&self, pictures: &Pictures) -> Result<Tested> {
        let mut tape = Tape::with_device(self.device.clone());
        test(&self.model, pictures, &self.classes, self.config.batch, &mut tape)
    }

    /// The features of pictures of the model's size and channels, `[n, width]`: what its head takes.
    ///
    /// # Errors
    /// If a file cannot be read, or is no picture.
    pub fn features(&self, pictures: &Pictures) -> Result<Tensor<f64>> {
        let mut tape = Tape::with_device(self.device.clone());
        let rows = features(&self.model, pictures, self.config.batch, &mut tape)?;
        Ok(Tensor::new([pictures.len(), rows.len() / pictures.len().max(1)], rows))
    }

    /// The likeliest classes of a picture in a PNG or JPEG file, the likeliest first: `count` of them, or all
    /// if there are fewer.
    ///
    /// # Errors
    /// If the file is no such picture.
    pub fn predict(&self, path: &Path, count: usize) -> Result<Vec<Likely>> {
        Ok(self.likeliest(&self.batch(&self.read(path)?)?, count))
    }

    /// Draws where the class token looks, over a picture in a PNG or JPEG file: for every head of a layer,
    /// counted from 1, the weights of the patches (Tseng et al. 2023, Figure 5). Returns the likeliest class.
    ///
    /// # Errors
    /// If the file is no such picture, there is no such layer, or the drawing cannot be written.
    pub fn attend(&self, picture: &Path, layer: Option<usize>, out: &Path) -> Result<Likely> {
        let depth = self.model.depth();
        let layer = layer.unwrap_or(depth);
        if !(1..=depth).contains(&layer) {
            return Err(AppError::usage(format!("--layer {layer}: from 1 to {depth} is needed")));
        }
        let image = self.read(picture)?;
        let batch = self.batch(&image)?;
        let likeliest = self.likeliest(&batch, 1).remove(0);
        let tape = Tape::with_device(self.device.clone());
        let weights = self.model.weights(&tape, &batch, layer - 1);
        let tokens = weights.width();
        let heads = weights.data().chunks_exact(tokens * tokens).map(|head| &head[..tokens]);
        let title = format!("layer {layer}: {} ({:.0} %)", likeliest.class, 100.0 * likeliest.probability);
        let overlay = Overlay { title, image: &image, grid: self.config.grid(), heads: heads.collect() };
        overlay::draw(out, &overlay)?;
        Ok(likeliest)
    }

    /// A picture of the model's size.
    fn read(&self, path: &Path) -> Result<Raster> {
        Ok(codec::read(path)?.square(Fit::Middle, self.config.side()))
    }

    /// A batch of one picture.
    fn batch(&self, image: &Raster) -> Result<Batch> {
        let channels = self.ends.channels;
        let pixels = image.clone().into_pixels(channels);
        Batch::plain(&Pictures::new([self.config.side(), channels], pixels, vec![0]), &[0])
    }

    fn likeliest(&self, batch: &Batch, count: usize) -> Vec<Likely> {
        let tape = Tape::with_device(self.device.clone());
        let logits = self.model.logits(&tape, batch);
        let (_, numbers) = logits.top_k(count.min(self.classes.len()));
        let probabilities = logits.softmax(-1).to_tensor();
        let likely = |number: u32| Likely {
            class: self.classes[number as usize].clone(),
            probability: f64::from(probabilities.data()[number as usize]),
        };
        numbers.into_iter().map(likely).collect()
    }
}
