//! The command line of `vit`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent_apps_attention::saved::Running;
use cotangent_apps_attention::training::report_sharpness;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::{RUN, parse_app_with};
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::task::{self, Reported};
use cotangent_apps_common::training::TrainingOptions;
use cotangent_apps_common::{options, print, say};
use cotangent_apps_pictures::PictureData;
use serde::Serialize;

use super::classifier::Likely;
use super::{Classifier, Tested, VitConfig, VitMetrics, train};

/// The application `vit`.
pub const APP: Application = Application {
    name: "vit",
    about: "Vision transformers, which classify pictures. The attention score can be a dot product, a \
        hyperbolic distance, cones and others (Dosovitskiy et al. 2021; Touvron et al. 2021; Tseng et al. \
        2023).",
    examples: [
        "vit train --path data/fashion_mnist --attention penumbral",
        "vit evaluate data/fashion_mnist --model runs/vit",
        "vit attend photo.jpg --model runs/vit --out attention.svg",
    ],
    needs: &["train", "--path", "none"],
    commands: &[
        (
            "`vit train --path DIR --attention NAME …`",
            "trains a vision transformer on pictures: folders of PNG and JPEG by class, IDX, npy, \
             rows of a table; `--lazy` for more than memory holds; `--size small\\|deit-tiny` (with DeiT's \
             augmentation)",
        ),
        (
            "`vit evaluate DIR`, `vit predict FILE …`, `vit attend FILE`",
            "top-1 and top-5 accuracy by class; the likeliest classes; where the heads of a layer look, \
             drawn over the picture",
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
    /// Trains a model on pictures, then tests it.
    Train(Box<Train>),
    /// Computes the accuracy of a trained model, by class.
    Evaluate(Evaluate),
    /// Classifies pictures with a trained model.
    Predict(Predict),
    /// Draws where a trained model looks, over a picture.
    Attend(Attend),
}

#[derive(Args)]
struct Train {
    /// Directory of pictures: train/CLASS/1.png and so on, with val/ or test/ beside train/; or CLASS/1.png.
    /// PNG and JPEG. Or of arrays, plain or .gz: train-images-idx3-ubyte and t10k-…, or train_images.npy,
    /// train_labels.npy and test_…, with names of classes in classes.txt. Or a table, .tsv or .tsv.gz: each
    /// row the values of a square picture, then its class; the last fifth is the test.
    #[arg(long, help_heading = "Data")]
    path: PathBuf,
    #[command(flatten)]
    config: VitConfig,
    #[command(flatten)]
    training: TrainingOptions,
}

// A trained model, and how it runs.
#[derive(Args)]
struct Trained {
    /// Output directory of `vit train`, with the trained model.
    #[arg(long, default_value = "runs/vit", help_heading = "Data")]
    model: PathBuf,
    #[command(flatten)]
    running: Running,
}

impl Trained {
    fn load(&self, scores: &Scores) -> Result<Classifier> {
        Classifier::load(&self.model, scores, self.running.device.choose()?)
    }
}

#[derive(Args)]
struct Evaluate {
    /// Directory of pictures, as `vit train` reads it, or with a folder test/ alone. Its test is used,
    /// brought to the model's size. If it has none, it is what the model's training would hold out.
    #[arg(help_heading = "Data")]
    path: PathBuf,
    #[command(flatten)]
    trained: Trained,
}

#[derive(Args)]
struct Predict {
    /// PNG or JPEG files. They are brought to the model's size, and their middle square is taken.
    #[arg(required = true, help_heading = "Data")]
    files: Vec<PathBuf>,
    /// Number of likeliest classes to print for each.
    #[arg(long, default_value_t = 5, help_heading = "Search")]
    top: usize,
    #[command(flatten)]
    trained: Trained,
}

#[derive(Args)]
struct Attend {
    /// A PNG or JPEG file. It is brought to the model's size, and its middle square is taken.
    #[arg(help_heading = "Data")]
    file: PathBuf,
    /// The layer whose heads are drawn, counted from 1 [default: the last].
    #[arg(long, help_heading = "Data")]
    layer: Option<usize>,
    /// The picture to write, as SVG.
    #[arg(long, default_value = "attention.svg", help_heading = RUN)]
    out: PathBuf,
    #[command(flatten)]
    trained: Trained,
}

/// Runs the command `vit` with the process's arguments. `--attention` offers these scores, so a program can
/// add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2 after an error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli =
        parse_app_with(&APP, |command| command.mut_subcommand("train", |train| scores.offer(train)));
    exit_code(match cli.command {
        Command::Train(train) => train.run(scores),
        Command::Evaluate(evaluate) => evaluate.run(scores),
        Command::Predict(predict) => predict.run(scores),
        Command::Attend(attend) => attend.run(scores),
    })
}

impl Train {
    fn run(&self, scores: &Scores) -> Result<()> {
        let TrainingOptions { threads, device, .. } = &self.training;
        let (config, device) = (self.config.clone().complete(None), device.choose()?);
        config.check(scores)?;
        let threads = threads.start()?;
        let data = threads.run(|| PictureData::read(&self.path, &config.reading()))?;
        config.pictures.check_lazy(&data)?;
        data.describe("pictures");
        let reported = Reported::<VitMetrics> {
            name: "test top-1 accuracy in %",
            digits: 2,
            figures: |run| [100.0 * run.test.top1, run.validation],
        };
        task::run(&self.training, &threads, &device, config.seed, reported, |seed, run| {
            let metrics = train(&data, &VitConfig { seed, ..config.clone() }, scores, run)?;
            report(&metrics);
            Ok(metrics)
        })
    }
}

fn report(metrics: &VitMetrics) {
    let (training, accuracy) = (metrics.training.text(metrics.pictures[0], "pictures"), metrics.validation);
    say!("{training}; validation accuracy {:.2} %", 100.0 * accuracy);
    report_sharpness(&metrics.sharpness);
    say!("test: {}", text(&metrics.test));
}

fn text(Tested { pictures, top1, top5, loss, .. }: &Tested) -> String {
    let [top1, top5] = [top1, top5].map(|share| 100.0 * share);
    format!("top-1 {top1:.2} %, top-5 {top5:.2} %, loss {loss:.4} ({pictures} pictures)")
}

impl Evaluate {
    fn run(self, scores: &Scores) -> Result<()> {
        let threads = self.trained.running.threads.start()?;
        let classifier = self.trained.load(scores)?;
        let data = threads.run(|| classifier.read_to_test(&self.path))?;
        data.describe("pictures");
        let tested = threads.run(|| classifier.test(&data.test.in_channels(classifier.channels())))?;
        say!("{}", text(&tested));
        let width = tested.classes.iter().map(|it| it.class.chars().count()).max().unwrap_or(0).max(5);
        say!("{:<width$} {:>8} {:>8} {:>8}", "class", "pictures", "top-1 %", "top-5 %");
        for it in &tested.classes {
            let [top1, top5] = [it.top1, it.top5].map(|share| 100.0 * share);
            say!("{:<width$} {:>8} {top1:>8.2} {top5:>8.2}", it.class, it.pictures);
        }
        print::event("result", &tested);
        Ok(())
    }
}

/// What `vit predict` finds in a file.
#[derive(Serialize)]
struct Predicted {
    file: String,
    classes: Vec<Likely>,
}

impl Predict {
    fn run(self, scores: &Scores) -> Result<()> {
        options::at_least_one(&[("top", self.top as u64)])?;
        let threads = self.trained.running.threads.start()?;
        let classifier = self.trained.load(scores)?;
        for file in &self.files {
            let classes = threads.run(|| classifier.predict(file, self.top))?;
            let texts = classes.iter().map(|it| format!("{} {:.1} %", it.class, 100.0 * it.probability));
            say!("{}: {}", file.display(), texts.collect::<Vec<_>>().join(", "));
            print::event("result", &Predicted { file: file.display().to_string(), classes });
        }
        Ok(())
    }
}

impl Attend {
    fn run(self, scores: &Scores) -> Result<()> {
        let threads = self.trained.running.threads.start()?;
        let classifier = self.trained.load(scores)?;
        let likeliest = threads.run(|| classifier.attend(&self.file, self.layer, &self.out))?;
        say!("{} {:.1} %", likeliest.class, 100.0 * likeliest.probability);
        say!("written to {}", self.out.display());
        Ok(())
    }
}
