//! Pictures from a trained model.

use std::path::Path;

use clap::Args;
use cotangent::prelude::*;
use cotangent_apps_attention::saved::{Saved, load_parameters};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{memory, options};
use cotangent_apps_pictures::{Pictures, sheet};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::DitConfig;
use super::diffusion::{Diffusion, TIMES, denoise, normal};
use super::model::{DitModel, on_tape};
use crate::patches::join_patches;
use crate::pictured::{Ends, Pictured};

/// Number of pictures that are made together.
const BATCH: usize = 32;

/// How pictures are made.
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DitSampling {
    /// Number of steps from noise to a picture, from 1 to 1000, evenly spread over the times of training.
    #[arg(long, default_value_t = 50, help_heading = "Search")]
    pub steps: usize,
    /// Share of new noise in a step (η of DDIM), from 0 to 1: with 0 noise alone decides a picture, with 1
    /// and 1000 steps it is the sampling of DDPM. With 1 a model that has learned variances takes these.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Search")]
    pub eta: f64,
    /// How much more of its class a picture is to have (classifier-free guidance): 1 is the class itself, 0
    /// no class, above 1 more than the class says.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Search")]
    pub guidance: f64,
    /// Seed of the noise. Same seed, same pictures.
    #[arg(long, default_value_t = 42, help_heading = "Search")]
    pub seed: u64,
}

impl DitSampling {
    /// Checks the options.
    ///
    /// # Errors
    /// If a number is out of its range; the error names the option.
    pub fn check(&self) -> Result<()> {
        if !(1..=TIMES).contains(&self.steps) {
            return Err(AppError::usage(format!("--steps {}: from 1 to {TIMES} is needed", self.steps)));
        }
        options::shares(&[("eta", self.eta)])?;
        options::not_negative(&[("guidance", self.guidance)])
    }
}

/// A trained model.
pub struct Sampler {
    model: DitModel,
    config: DitConfig,
    ends: Ends,
    classes: Vec<String>,
    /// The value of a table that is white.
    white: Option<f32>,
    device: Device,
}

impl Sampler {
    /// Loads the model in the output directory of a run, to compute on a device.
    ///
    /// # Errors
    /// If a file is missing, is no file of a model, or belongs to another run.
    pub fn load(directory: &Path, scores: &Scores, device: Device) -> Result<Self> {
        let check = |saved: &Pictured<DitConfig>| {
            saved.check(saved.config.latents).and_then(|()| saved.config.check(scores))
        };
        let (saved, score) = Saved::read(directory, check)?;
        let Saved { config: Pictured { config, channels, classes, white }, run, .. } = saved;
        let ends = Ends { channels, classes: classes.len() };
        let least = config.least_parameters(ends);
        let model = load_parameters(directory, run.as_deref(), least, |rng| {
            DitModel::new(&config, &*score, ends, rng)
        })?;
        Ok(Sampler { model, config, ends, classes, white, device })
    }

    /// The settings of its training.
    pub fn config(&self) -> &DitConfig {
        &self.config
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The value of a table that is white, if the pictures of the training are from one.
    pub(super) fn white(&self) -> Option<f32> {
        self.white
    }

    /// Channels of the pictures or latents.
    pub fn channels(&self) -> usize {
        self.ends.channels
    }

    /// The number of a class.
    ///
    /// # Errors
    /// If the model does not know it.
    pub fn class(&self, name: &str) -> Result<u32> {
        let number = self.classes.iter().position(|class| class == name);
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| {
            let (count, known) = (self.classes.len(), self.classes.join(", "));
            AppError::usage(format!("--class {name}: the model was trained on {count} classes: {known}"))
        })
    }

    /// Checks that so many pictures fit in memory: `count` of each of some classes, and the sheet that shows
    /// them, if there is one.
    ///
    /// # Errors
    /// If they do not.
    pub fn check_memory(&self, count: usize, classes: usize, is_shown: bool) -> Result<()> {
        let (side, channels) = (self.config.side(), self.ends.channels);
        let sheet = if is_shown { sheet::sheet_bytes(side, channels) } else { 0.0 };
        let bytes = memory::bytes::<f32>(&[count, classes, side, side, channels])
            + sheet * count as f64 * classes as f64;
        memory::check(&[("count", count)], "the pictures", bytes)
    }

    /// Makes a picture of each of these classes: numbers from about −1 to 1, or latents. Picture i begins
    /// with noise of the random stream `"sample"` of this number. Song et al. 2021 (*DDIM*).
    ///
    /// # Errors
    /// If an option is out of its range, or guidance needs what was not trained.
    pub fn sample(&self, classes: &[u32], sampling: &DitSampling) -> Result<Pictures<f32>> {
        sampling.check()?;
        self.config.check_guidance(sampling.guidance)?;
        let (side, channels) = (self.config.side(), self.ends.channels);
        let diffusion = Diffusion::new();
        let batches: Vec<(usize, &[u32])> = classes.chunks(BATCH).enumerate().collect();
        let pictures = batches.into_par_iter().map(|(number, classes)| {
            let first = (number * BATCH) as u64;
            let mut streams: Vec<_> =
                (first..).take(classes.len()).map(|i| rng::stream(sampling.seed, "sample", i)).collect();
            let size = side * side * channels;
            let mut x: Vec<f32> = streams.iter_mut().flat_map(|rng| normal(size, rng)).collect();
            let mut tape = Tape::with_device(self.device.clone());
            let steps = [sampling.steps, size];
            denoise(&diffusion, steps, sampling.eta, (&mut x, &mut streams), |x, time| {
                tape.reset();
                let x = on_tape(&tape, x, [classes.len(), self.config.grid().pow(2)]);
                let predicted = self.model.guided(x, time, classes, sampling.guidance);
                let numbers = |x: Var<'_, f32>| x.to_tensor().data().to_vec();
                (numbers(predicted.noise), predicted.place.map(numbers))
            });
            join_patches(&x, [side, channels, self.config.patch])
        });
        let pixels = pictures.collect::<Vec<_>>().concat();
        Ok(Pictures::new([side, channels], pixels, classes.to_vec()))
    }
}
