//! Training a vision transformer, and testing it.

use cotangent::optim::train::{Goal, History, Repeated, Shuffled};
use cotangent::prelude::*;
use cotangent_apps_attention::saved::{CONFIG, Saved};
use cotangent_apps_attention::training::{PARTS, adam, falling};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task};
use cotangent_apps_common::{memory, output};
use cotangent_apps_pictures::{PictureData, Pictures};

use super::batch::Batch;
use super::model::VitModel;
use super::tested::{Tested, test};
use super::{VitConfig, VitMetrics};
use crate::patches::check_memory;
use crate::pictured::{Ends, Pictured};

/// Trains a vision transformer and writes `metrics.json`, `config.json` (with the names of the classes),
/// `model.safetensors` (the best by validation), `curves.svg` and the checkpoint. It uses the current thread
/// pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(
    data: &PictureData,
    config: &VitConfig,
    scores: &Scores,
    options: &RunOptions,
) -> Result<VitMetrics> {
    let config = config.clone().complete(Some(data));
    let score = config.check(scores)?;
    check_memory(config.batch, config.side(), config.grid(), config.width)?;
    let _held = output::hold(&options.out)?;
    let ends = Ends::new(data);
    memory::training(&config.sizes(), config.least_parameters(ends.channels, ends.classes), Precision::F32)?;
    let model = VitModel::new(&config, &*score, ends, &mut rng::stream(config.seed, "initial", 0));
    task::fit(&VitTask { data, config: &config, device: &options.device }, model, options)
}

/// A training and its test.
struct VitTask<'a> {
    data: &'a PictureData,
    config: &'a VitConfig,
    device: &'a Device,
}

impl VitTask<'_> {
    fn evaluate(&self, model: &VitModel, pictures: &Pictures, tape: &mut Tape<f32>) -> Result<Tested> {
        test(model, pictures, &self.data.classes, self.config.batch, tape)
    }
}

impl Task for VitTask<'_> {
    type Config = VitConfig;
    type Number = f32;
    type Model = VitModel;
    type Batches = Repeated;
    type Metrics = VitMetrics;

    const GOAL: Goal = Goal::Greatest;
    const VALIDATION: &'static str = "validation accuracy";
    const SHOWN: [&'static str; 2] = ["validation_accuracy", "pictures_per_second"];
    const FILES: &'static [&'static str] = &[CONFIG];

    fn config(&self) -> &VitConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.fingerprint()
    }

    fn batches(&self) -> Repeated {
        let VitConfig { batch, seed, .. } = *self.config;
        let batches = Shuffled { items: self.data.train.len(), batch, seed };
        Repeated { batches, times: self.config.augmentation.repeats }
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<f32>> {
        let VitConfig { epochs, lr, decay, clip, warm_up_epochs, ema, .. } = *self.config;
        let schedule = falling(warm_up_epochs.saturating_mul(steps / epochs), steps);
        Ok(Recipe { schedule, parts: PARTS, average: ema, ..Recipe::new(adam(lr, decay, clip)?) })
    }

    fn begin(&self, name: &str, options: &RunOptions) -> Result<()> {
        let config = Pictured::new(self.config, self.data);
        let saved = Saved { config, run: Some(name.to_owned()), tokenizer: None };
        saved.begin(options, &|name| Self::FILES.contains(&name))
    }

    fn loss<'t>(&self, model: &VitModel, tape: &'t Tape<f32>, items: &[u32]) -> Result<Var<'t, f32>> {
        let VitConfig { augmentation, .. } = self.config;
        // The stream of dropout also changes and mixes the pictures.
        let mut rng = tape.evaluation().expect("a tape that is training");
        let batch = Batch::augmented(&self.data.train, items, augmentation, &mut rng)?;
        tape.training(rng);
        Ok(model.loss(tape, &batch, augmentation.label_smoothing))
    }

    /// The top-1 accuracy on the validation pictures. NaN if a logit is no finite number.
    fn validate(&self, model: &mut VitModel, _: &History, tape: &mut Tape<f32>) -> Result<f64> {
        let tested = self.evaluate(model, &self.data.validation, tape)?;
        Ok(if tested.loss.is_finite() { tested.top1 } else { f64::NAN })
    }

    fn test(&self, model: &mut VitModel, history: &History, tape: &mut Tape<f32>) -> Result<VitMetrics> {
        let VitTask { data, config, device } = self;
        let (best_epoch, validation) = task::best::<Self>(history);
        Ok(VitMetrics {
            config: (*config).clone(),
            training: Training::new(model, history, device),
            sharpness: config.options.learned_sharpness(&*model),
            data: data.name.clone(),
            pictures: data.counts(),
            held_out: data.held_out.iter().map(|&part| part.to_owned()).collect(),
            channels: data.train.channels,
            best_epoch,
            validation,
            test: self.evaluate(model, &data.test, tape)?,
        })
    }

    fn title(&self, metrics: &VitMetrics) -> String {
        let accuracy = 100.0 * metrics.test.top1;
        format!("{} attention: test accuracy {accuracy:.1} %", self.config.attention)
    }
}
