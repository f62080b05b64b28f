//! The command line of `dit`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent::engine::files::{atomic, npy};
use cotangent::prelude::Tensor;
use cotangent_apps_attention::saved::Running;
use cotangent_apps_attention::training::report_sharpness;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::{RUN, parse_app_with};
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::task::{self, Reported};
use cotangent_apps_common::training::TrainingOptions;
use cotangent_apps_common::{options, print, say};
use cotangent_apps_pictures::{codec, sheet};

use super::{
    DitConfig, DitData, DitDistance, DitEvaluated, DitMetrics, DitSampling, Sampler, distance, evaluate,
    train,
};
use crate::vit::Classifier;

/// The application `dit`.
pub const APP: Application = Application {
    name: "dit",
    about: "Diffusion transformers, which make pictures of a class. The attention score can be a dot \
        product, a hyperbolic distance, cones and others (Peebles & Xie 2023; Tseng et al. 2023).",
    examples: [
        "dit train --path data/digits --size tiny --attention penumbral",
        "dit sample --model runs/dit --class 3 --class 7 --guidance 1.5 --out digits.png",
        "dit evaluate data/digits --model runs/dit --classifier runs/vit",
    ],
    needs: &["train", "--path", "none"],
    commands: &[
        (
            "`dit train --path DIR --attention NAME …`",
            "trains a diffusion transformer on pictures (as `vit` reads them) or latents (npy); `--size \
             tiny\\|small\\|dit-s\\|dit-b`; `--learn-variances`",
        ),
        (
            "`dit sample --class NAME …`, `dit evaluate DIR --classifier DIR`, `dit distance DIR DIR`",
            "a sheet of new pictures, `--guidance`, `--steps`, `--eta`; the Fréchet distance to real \
             pictures, by the features of a trained `vit`; that of the pictures of two directories",
        ),
    ],
    writes: "`model.safetensors` (the best by validation), `curves.svg`, `config.json` (with the names of \
        the classes)",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trains a model on pictures or latents, then tests how well it predicts noise.
    Train(Box<Train>),
    /// Makes pictures with a trained model.
    Sample(Sample),
    /// Compares a trained model's pictures with real ones.
    Evaluate(Evaluate),
    /// Compares the pictures of two directories.
    Distance(Distance),
}

#[derive(Args)]
struct Train {
    /// Directory of pictures, as `vit train` reads it: folders of PNG and JPEG by class, arrays (IDX, npy), a
    /// table of rows (values, then the class; .tsv); or of latents: train_latents.npy, [n, height, width,
    /// channels] of floats with variance about 1, train_labels.npy, and test_… .
    #[arg(long, help_heading = "Data")]
    path: PathBuf,
    #[command(flatten)]
    config: DitConfig,
    #[command(flatten)]
    training: TrainingOptions,
}

// A trained model, how it runs, and how pictures are made.
#[derive(Args)]
struct Trained {
    /// Output directory of `dit train`, with the trained model.
    #[arg(long, default_value = "runs/dit", help_heading = "Data")]
    model: PathBuf,
    #[command(flatten)]
    sampling: DitSampling,
    #[command(flatten)]
    running: Running,
}

impl Trained {
    fn load(&self, scores: &Scores) -> Result<Sampler> {
        Sampler::load(&self.model, scores, self.running.device.choose()?)
    }
}

#[derive(Args)]
struct Sample {
    /// The name of a class; once for each class wanted [default: all classes].
    #[arg(long = "class", help_heading = "Data")]
    classes: Vec<String>,
    /// Number of pictures of each class.
    #[arg(long, default_value_t = 8, help_heading = "Search")]
    count: usize,
    /// The picture to write, as PNG: a row for each class.
    #[arg(long, default_value = "samples.png", help_heading = RUN)]
    out: PathBuf,
    /// A file for the pictures as numbers, [n, height, width, channels], npy. Latents have no PNG, so they
    /// need it.
    #[arg(long, help_heading = RUN)]
    npy: Option<PathBuf>,
    #[command(flatten)]
    trained: Trained,
}

#[derive(Args)]
struct Evaluate {
    /// Directory of pictures, as `dit train` reads it.
    #[arg(help_heading = "Data")]
    path: PathBuf,
    /// Output directory of `vit train`, with a classifier of such pictures.
    #[arg(long, help_heading = "Data")]
    classifier: PathBuf,
    /// Number of pictures to make, as many of each class. More pictures make distances smaller.
    #[arg(long, default_value_t = 1000, help_heading = "Search")]
    count: usize,
    #[command(flatten)]
    trained: Trained,
}

#[derive(Args)]
struct Distance {
    /// Two directories. All PNG and JPEG files in them and in their folders count, brought to the
    /// classifier's size.
    #[arg(num_args = 2, value_names = ["DIR", "DIR"], required = true, help_heading = "Data")]
    directories: Vec<PathBuf>,
    /// Output directory of `vit train`, with a classifier of such pictures.
    #[arg(long, help_heading = "Data")]
    classifier: PathBuf,
    #[command(flatten)]
    running: Running,
}

/// Runs the command `dit` with the process's arguments. `--attention` offers these scores, so a program can
/// add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2 after an error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli =
        parse_app_with(&APP, |command| command.mut_subcommand("train", |train| scores.offer(train)));
    exit_code(match cli.command {
        Command::Train(train) => train.run(scores),
        Command::Sample(sample) => sample.run(scores),
        Command::Evaluate(evaluate) => evaluate.run(scores),
        Command::Distance(distance) => distance.run(scores),
    })
}

impl Train {
    fn run(&self, scores: &Scores) -> Result<()> {
        let TrainingOptions { threads, device, .. } = &self.training;
        let (config, device) = (self.config.clone().complete(None), device.choose()?);
        config.check(scores)?;
        let threads = threads.start()?;
        let data = threads.run(|| DitData::read(&self.path, &config.reading()))?;
        config.pictures.check_lazy(&data.pictures)?;
        data.pictures.describe(if data.latents { "latents" } else { "pictures" });
        let reported = Reported::<DitMetrics> {
            name: "test loss",
            digits: 4,
            figures: |run| [run.test, -run.validation],
        };
        task::run(&self.training, &threads, &device, config.seed, reported, |seed, run| {
            let metrics = train(&data, &DitConfig { seed, ..config.clone() }, scores, run)?;
            report(&metrics);
            Ok(metrics)
        })
    }
}

fn report(metrics: &DitMetrics) {
    say!("{}", metrics.training.text(metrics.pictures[0], "pictures"));
    report_sharpness(&metrics.sharpness);
    say!("mean squared error of the noise: validation {:.4}, test {:.4}", metrics.validation, metrics.test);
}

impl Sample {
    fn run(self, scores: &Scores) -> Result<()> {
        options::at_least_one(&[("count", self.count as u64)])?;
        self.trained.sampling.check()?;
        let threads = self.trained.running.threads.start()?;
        let sampler = self.trained.load(scores)?;
        if sampler.config().latents && self.npy.is_none() {
            return Err(AppError::usage("--npy is needed: the model makes latents, which are no pictures"));
        }
        let names = if self.classes.is_empty() { sampler.classes() } else { &self.classes };
        let classes: Vec<u32> = names.iter().map(|name| sampler.class(name)).collect::<Result<_>>()?;
        sampler.check_memory(self.count, classes.len(), !sampler.config().latents)?;
        let wanted: Vec<u32> =
            classes.iter().flat_map(|&class| std::iter::repeat_n(class, self.count)).collect();
        let made = threads.run(|| sampler.sample(&wanted, &self.trained.sampling))?;
        if let Some(path) = &self.npy {
            let shape = [made.len(), made.side, made.side, made.channels];
            npy::write(path, &Tensor::new(shape, made.pixels().to_vec()))?;
            say!("written to {}", path.display());
        }
        if !sampler.config().latents {
            let sheet = codec::png(&sheet::sheet(&made.to_bytes(), self.count));
            atomic::write(&self.out, |w| w.write_all(&sheet)).map_err(AppError::io(&self.out))?;
            say!("written to {}", self.out.display());
        }
        Ok(())
    }
}

impl Evaluate {
    fn run(self, scores: &Scores) -> Result<()> {
        let sampling = &self.trained.sampling;
        sampling.check()?;
        let threads = self.trained.running.threads.start()?;
        let sampler = self.trained.load(scores)?;
        let classifier = Classifier::load(&self.classifier, scores, self.trained.running.device.choose()?)?;
        let evaluated = threads.run(|| evaluate(&sampler, &classifier, &self.path, self.count, sampling))?;
        let DitEvaluated { count, features, frechet, recognised, .. } = &evaluated;
        say!("Fréchet distances by {features} features of {}:", self.classifier.display());
        say!(
            "{count} made pictures to training pictures {:.3}, to test pictures {:.3}",
            frechet.train,
            frechet.test
        );
        say!(
            "two halves of the training pictures {:.3}; training to test {:.3}",
            frechet.halves,
            frechet.real
        );
        if let Some(share) = recognised {
            say!("{:.2} % of the made pictures are recognised as their class", 100.0 * share);
        }
        print::event("result", &evaluated);
        Ok(())
    }
}

impl Distance {
    fn run(self, scores: &Scores) -> Result<()> {
        let [first, second] = &self.directories[..] else { unreachable!("two directories are required") };
        let threads = self.running.threads.start()?;
        let classifier = Classifier::load(&self.classifier, scores, self.running.device.choose()?)?;
        let found = threads.run(|| distance(&classifier, [first, second]))?;
        let DitDistance { pictures: [n, m], features, frechet } = found;
        say!("Fréchet distance {frechet:.3} of {n} and {m} pictures, by {features} features");
        print::event("result", &found);
        Ok(())
    }
}
