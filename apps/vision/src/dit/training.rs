//! Training a diffusion transformer, and testing it.

use cotangent::engine::row_numbers;
use cotangent::optim::train::{Goal, History, Shuffled, each_batch};
use cotangent::prelude::*;
use cotangent_apps_attention::saved::{CONFIG, Saved};
use cotangent_apps_attention::training::{PARTS, mean_of};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task};
use cotangent_apps_common::{memory, output};
use cotangent_apps_pictures::Pictures;
use rand::RngExt;

use super::bound::bound;
use super::diffusion::{Diffusion, Noised};
use super::model::{DitModel, on_tape};
use super::{DitConfig, DitData, DitMetrics};
use crate::patches::{check_memory, patches_of};
use crate::pictured::{Ends, Pictured};

/// Trains a diffusion transformer and writes `metrics.json`, `config.json` (with the names of the classes),
/// `model.safetensors` (the best by validation), `curves.svg` and the checkpoint. It uses the current thread
/// pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(
    data: &DitData,
    config: &DitConfig,
    scores: &Scores,
    options: &RunOptions,
) -> Result<DitMetrics> {
    let config = config.clone().complete(Some(data));
    let score = config.check(scores)?;
    check_memory(config.batch, config.side(), config.grid(), config.width)?;
    let _held = output::hold(&options.out)?;
    let ends = Ends::new(&data.pictures);
    memory::training(&config.sizes(), config.least_parameters(ends), Precision::F32)?;
    let model = DitModel::new(&config, &*score, ends, &mut rng::stream(config.seed, "initial", 0));
    let task = DitTask { data, config: &config, device: &options.device, diffusion: Diffusion::new() };
    task::fit(&task, model, options)
}

/// A training and its test.
struct DitTask<'a> {
    data: &'a DitData,
    config: &'a DitConfig,
    device: &'a Device,
    diffusion: Diffusion,
}

impl DitTask<'_> {
    /// The mean squared error of the predicted noise (Ho et al. 2020, eq. 14), and the [`bound`] if variances
    /// are learned.
    fn losses<'t>(
        &self,
        model: &DitModel,
        tape: &'t Tape<f32>,
        noised: &Noised,
    ) -> (Var<'t, f32>, Option<Var<'t, f32>>) {
        let [x, noise] = noised
            .numbers
            .each_ref()
            .map(|numbers| on_tape(tape, numbers, [noised.times.len(), self.config.grid().pow(2)]));
        let prediction = model.predict(x, &noised.times, &noised.classes);
        let error = loss::mean_squared_error(prediction.noise, noise);
        (error, bound(&self.diffusion, noised, noise, prediction))
    }

    /// The mean [`losses`](Self::losses) on pictures, each with a time and noise of its own, which are the
    /// same for every model.
    fn evaluate(
        &self,
        model: &DitModel,
        pictures: &Pictures<f32>,
        tape: &mut Tape<f32>,
    ) -> Result<(f64, Option<f64>)> {
        let items: Vec<u32> = row_numbers(pictures.len()).collect();
        let batches: Vec<&[u32]> = items.chunks(self.config.batch).collect();
        let losses = each_batch(tape, &batches, |tape, items| {
            let mut noised = Noised::new();
            for &item in *items {
                let patches = patches_of(pictures, item as usize, self.config.patch, false)?;
                let rng = &mut rng::stream(0, "noise", u64::from(item));
                noised.add(&self.diffusion, patches, pictures.labels[item as usize], rng);
            }
            let (error, bound) = self.losses(model, tape, &noised);
            let count = items.len();
            Ok(((error.item(), count), bound.map(|bound| (bound.item(), count))))
        });
        let losses = losses.into_iter().collect::<Result<Vec<_>>>()?;
        let (errors, bounds): (Vec<_>, Vec<_>) = losses.into_iter().unzip();
        let bounds: Option<Vec<_>> = bounds.into_iter().collect();
        Ok((mean_of(&errors), bounds.map(|bounds| mean_of(&bounds))))
    }
}

impl Task for DitTask<'_> {
    type Config = DitConfig;
    type Number = f32;
    type Model = DitModel;
    type Batches = Shuffled;
    type Metrics = DitMetrics;

    const GOAL: Goal = Goal::Least;
    const VALIDATION: &'static str = "validation loss";
    const SHOWN: [&'static str; 2] = ["validation_loss", "pictures_per_second"];
    const FILES: &'static [&'static str] = &[CONFIG];

    fn config(&self) -> &DitConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.pictures.fingerprint()
    }

    fn batches(&self) -> Shuffled {
        Shuffled { items: self.data.pictures.train.len(), batch: self.config.batch, seed: self.config.seed }
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<f32>> {
        let DitConfig { epochs, lr, decay, clip, warm_up_epochs, ema, .. } = *self.config;
        // Adam's own averages, as in the released program of DiT.
        let adam = RiemannianAdam::new(lr)?.betas(0.9, 0.999)?.decay(decay)?.clip(clip)?;
        let schedule = Schedule::Constant.warm_up(warm_up_epochs.saturating_mul(steps / epochs));
        Ok(Recipe { schedule, parts: PARTS, average: ema, ..Recipe::new(adam) })
    }

    fn begin(&self, name: &str, options: &RunOptions) -> Result<()> {
        let config = Pictured::new(self.config, &self.data.pictures);
        let saved = Saved { config, run: Some(name.to_owned()), tokenizer: None };
        saved.begin(options, &|name| Self::FILES.contains(&name))
    }

    fn loss<'t>(&self, model: &DitModel, tape: &'t Tape<f32>, items: &[u32]) -> Result<Var<'t, f32>> {
        // The stream of dropout also draws times, noise and pictures that lose their class.
        let mut rng = tape.evaluation().expect("a tape that is training");
        let (train, mut noised) = (&self.data.pictures.train, Noised::new());
        for &item in items {
            let is_dropped = rng.random_bool(self.config.class_dropout);
            let class = if is_dropped { model.no_class() } else { train.labels[item as usize] };
            let is_mirrored = self.config.flip > 0.0 && rng.random_bool(self.config.flip);
            let patches = patches_of(train, item as usize, self.config.patch, is_mirrored)?;
            noised.add(&self.diffusion, patches, class, &mut rng);
        }
        tape.training(rng);
        let (error, bound) = self.losses(model, tape, &noised);
        // Nichol & Dhariwal 2021, eq. 16. The bound is a sum over 1000 times. Its factor of 0.001 makes it a
        // mean over times, which a batch estimates.
        Ok(bound.map_or(error, |bound| error + bound))
    }

    fn validate(&self, model: &mut DitModel, _: &History, tape: &mut Tape<f32>) -> Result<f64> {
        Ok(self.evaluate(model, &self.data.pictures.validation, tape)?.0)
    }

    fn test(&self, model: &mut DitModel, history: &History, tape: &mut Tape<f32>) -> Result<DitMetrics> {
        let DitTask { config, device, .. } = self;
        let (data, (best_epoch, validation)) = (&self.data.pictures, task::best::<Self>(history));
        let (test, bound) = self.evaluate(model, &data.test, tape)?;
        Ok(DitMetrics {
            config: (*config).clone(),
            training: Training::new(model, history, device),
            sharpness: config.options.learned_sharpness(&*model),
            data: data.name.clone(),
            pictures: data.counts(),
            held_out: data.held_out.iter().map(|&part| part.to_owned()).collect(),
            channels: data.train.channels,
            best_epoch,
            validation,
            test,
            bound,
        })
    }

    fn title(&self, metrics: &DitMetrics) -> String {
        format!("{} attention: test loss {:.4}", self.config.attention, metrics.test)
    }
}
