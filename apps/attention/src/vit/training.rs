//! Training a vision transformer, and testing it.

use cotangent::optim::train::History;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Progress;
use cotangent_apps_common::training::{figures, trainer};
use cotangent_apps_common::{curves, memory, metrics, output};

use super::batch::Batch;
use super::classifier::Pictured;
use super::model::{Ends, VitModel};
use super::tested::test;
use super::{VitConfig, VitMetrics};
use crate::attention::Scores;
use crate::pictures::PictureData;
use crate::saved::{CONFIG, Saved};
use crate::training::adam;

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
    let _held = output::hold(&options.out)?;
    let ends = Ends::new(data);
    memory::training(&config.sizes(), config.least_parameters(ends.channels, ends.classes), Precision::F32)?;
    let model = VitModel::new(&config, &*score, ends, &mut rng::stream(config.seed, "initial", 0));
    let fingerprint = data.fingerprint();
    let name = output::fingerprint(&config, fingerprint);
    Run { data, config: &config, options, fingerprint, name }.fit(model)
}

/// A training and its test.
struct Run<'a> {
    data: &'a PictureData,
    config: &'a VitConfig,
    options: &'a RunOptions,
    /// That of the pictures.
    fingerprint: u32,
    /// The name of the run, in the file of its parameters.
    name: String,
}

impl Run<'_> {
    /// Trains the model, tests the best one and writes all results.
    fn fit(&self, mut model: VitModel) -> Result<VitMetrics> {
        let out = &self.options.out;
        let history = self.epochs(&mut model)?;
        let metrics = self.metrics(&model, &history);
        metrics::write(out, &metrics)?;
        let accuracy = 100.0 * metrics.test.top1;
        let title = format!("{} attention: test accuracy {accuracy:.1} %", self.config.attention);
        curves::training(&out.join("curves.svg"), &title, &history.epochs, "validation accuracy", f64::max)?;
        Ok(metrics)
    }

    /// Trains the model. Afterwards it is the one with the best validation accuracy.
    fn epochs(&self, model: &mut VitModel) -> Result<History> {
        let Run { data, config, options, .. } = self;
        let mut adam = adam(config.lr, config.decay, config.clip)?;
        let batches = Shuffled { items: data.train.len(), batch: config.batch, seed: config.seed };
        let in_epoch = data.train.len().div_ceil(config.batch) as u64;
        let steps = options::steps(config.epochs, in_epoch)?;
        let warm_up = config.warm_up_epochs.saturating_mul(in_epoch);
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = trainer(*config, self.fingerprint, options)
            .schedule(Schedule::Constant.warm_up(warm_up).cosine(steps.saturating_sub(warm_up), 0.0))
            .parts(4, 1)
            .best(Goal::Greatest)
            .named(&self.name)
            .display(|now| {
                progress
                    .update(now.history.steps, || figures(&now, "validation_accuracy", "pictures_per_second"))
            });
        if config.ema > 0.0 {
            trainer = trainer.average(config.ema);
        }
        trainer.check()?;
        self.begin()?;
        let history = trainer.run(
            model,
            &mut adam,
            &batches,
            |model, tape, items| {
                // The stream of dropout also changes and mixes the pictures.
                let mut rng = tape.evaluation().expect("a tape that is training");
                let batch = Batch::augmented(&data.train, items, &config.augmentation, &mut rng);
                tape.training(rng);
                model.loss(tape, &batch, config.augmentation.label_smoothing)
            },
            |model, _| Ok(self.validate(model)),
        )?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// The top-1 accuracy on the validation pictures. NaN if a logit is no finite number, which ends the
    /// training.
    fn validate(&self, model: &VitModel) -> f64 {
        let Run { data, config, options, .. } = self;
        let tested = test(model, &data.validation, &data.classes, config.batch, &options.device);
        if tested.loss.is_finite() { tested.top1 } else { f64::NAN }
    }

    /// Takes the directory for this run: moves the files of an earlier one, and writes the settings. That
    /// shows whether the directory can be written to.
    fn begin(&self) -> Result<()> {
        let path = self.options.out.join(CONFIG);
        let config = Pictured::new(self.config, self.data);
        let saved = Saved { config, run: Some(self.name.clone()), tokenizer: None };
        if self.options.resume {
            return saved.resumes(&path);
        }
        output::set_aside(&self.options.out, |name| name == CONFIG)?;
        metrics::write_json(&path, &saved)
    }

    fn metrics(&self, model: &VitModel, history: &History) -> VitMetrics {
        let Run { data, config, options, .. } = self;
        let (best_epoch, validation) = history.best(Goal::Greatest).expect("at least one epoch");
        VitMetrics {
            config: (*config).clone(),
            data: data.name.clone(),
            pictures: [&data.train, &data.validation, &data.test].map(|part| part.len()),
            held_out: data.held_out.iter().map(|&part| part.to_owned()).collect(),
            channels: data.train.channels,
            parameters: model.count(),
            threads: rayon::current_num_threads(),
            device: options.device.to_string(),
            epochs: history.epochs.clone(),
            best_epoch,
            validation,
            test: test(model, &data.test, &data.classes, config.batch, &options.device),
            seconds: history.seconds,
        }
    }
}
