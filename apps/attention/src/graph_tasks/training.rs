//! Training a model along its lessons, and testing it.

use cotangent::layers::Score;
use cotangent::optim::train::{Batches, History, TrainError, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, NEITHER, Series};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::training::{figures, trainer};
use cotangent_apps_common::{config, metrics, output};
use rayon::prelude::*;

use super::answers::answer;
use super::config::GraphTasksConfig;
use super::curriculum::{self, Curriculum, Place};
use super::disc::Disc;
use super::model::{Questions, RecursiveTransformer};
use super::supply::Supply;
use super::{GraphTasksMetrics, LessonMetrics, pictures, radii};
use crate::attention::Scores;

/// The files beside those of every training.
const PICTURES: [&str; 2] = ["accuracy.svg", "radii.svg"];
const MODEL: &str = "model.safetensors";

/// Steps for which examples may be ready before they are taken.
const AHEAD: usize = 4;

/// Graphs whose queries and keys are measured.
const MEASURED: usize = 20;

/// The numbers of the first graph for validation, and for the test. Those for training are smaller.
const VALIDATION: u64 = 1 << 40;
const TEST: u64 = 1 << 41;

/// The steps of epochs: item i is the i-th graph of the training.
struct Stream {
    steps: u64,
    batch: u64,
}

impl Batches for Stream {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let first = |step: u64| ((epoch * self.steps + step) * self.batch) as u32;
        (0..self.steps).map(|step| (first(step)..first(step) + self.batch as u32).collect()).collect()
    }
}

/// Trains a model and writes `metrics.json`, `model.safetensors` (the last one), `curves.svg`,
/// `accuracy.svg`, `radii.svg` and the checkpoint. It uses the current thread pool, and threads of its own
/// that make graphs; the result does not depend on their numbers.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, a
/// lesson is not passed, its graphs have no questions, or training diverges.
pub fn train(config: &GraphTasksConfig, scores: &Scores, options: &RunOptions) -> Result<GraphTasksMetrics> {
    let score = config.check(scores)?;
    let run = Run { config, options, course: config.course() };
    let _held = output::hold(&options.out)?;
    run.fit(&*score)
}

/// A training and its test.
struct Run<'a> {
    config: &'a GraphTasksConfig,
    options: &'a RunOptions,
    course: Curriculum,
}

impl Run<'_> {
    /// Trains the model, tests it and writes all results.
    fn fit(&self, score: &dyn Score<f32>) -> Result<GraphTasksMetrics> {
        let out = &self.options.out;
        // Every lesson has questions, and the test can be made: before anything is written.
        (0..self.course.lessons.len()).try_for_each(|lesson| self.training_example(lesson, 0).map(drop))?;
        let last = self.course.lessons.len() - 1;
        let test = self.held_out(last, TEST, self.config.test_graphs)?;
        let mut model = RecursiveTransformer::new(self.config, score);
        let history = self.epochs(&mut model)?;
        save_model(&model, &out.join(MODEL), Some(&output::fingerprint(self.config, 0)))?;
        let metrics = self.metrics(&model, &history, &test);
        metrics::write(out, &metrics)?;
        self.draw(&metrics)?;
        Ok(metrics)
    }

    /// A graph of a lesson with its questions.
    fn example(&self, lesson: usize, training: bool, seed: u64, number: u64) -> Result<Questions> {
        let (config, lesson) = (self.config, &self.course.lessons[lesson]);
        let questions = config.questions();
        let example = config.task.example(&config.disc, lesson, questions, training, seed, number)?;
        Ok(Questions::new(&example, lesson, config))
    }

    fn training_example(&self, lesson: usize, number: u64) -> Result<Questions> {
        self.example(lesson, true, self.config.seed, number)
    }

    /// Graphs for validation or test, from a number on.
    fn held_out(&self, lesson: usize, first: u64, count: usize) -> Result<Vec<Questions>> {
        let numbers = (first..first + count as u64).into_par_iter();
        numbers.map(|number| self.example(lesson, false, self.config.data_seed, number)).collect()
    }

    /// Trains the model.
    fn epochs(&self, model: &mut RecursiveTransformer) -> Result<History> {
        let (config, options, course) = (self.config, self.options, &self.course);
        let mut adam = RiemannianAdam::new(config.lr)?.betas(0.9, 0.98)?.clip(config.clip)?;
        let make = |lesson: usize, number: u64| self.training_example(lesson, number);
        let supply = Supply::new(&make, config.batch, AHEAD);
        let steps = config.epochs * config.epoch_steps;
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = trainer(config, 0, options)
            .schedule(Schedule::InverseSquareRoot { warm_up: config.warm_up })
            .parts(8, 1)
            // It is called before every epoch, also the first one after a resume.
            .stop(|history| {
                supply.turn_to(course.place(&validations(history)).lesson);
                false
            })
            .display(|now| {
                progress.update(now.history.steps, || {
                    let mut figures = figures(&now, "validation_accuracy", "graphs_per_second");
                    let lesson = course.place(&validations(now.history)).lesson + 1;
                    figures.push(Figure::new("lesson", lesson as f64, 0));
                    figures
                });
            });
        trainer.check()?;
        if !options.resume {
            output::set_aside(&options.out, |name| PICTURES.contains(&name))?;
        }
        let mut validated: Option<(usize, Vec<Questions>)> = None;
        let threads = rayon::current_num_threads().div_ceil(2);
        let history = supply.during(threads, || {
            let batches = Stream { steps: config.epoch_steps, batch: config.batch };
            Ok(trainer.run(
                model,
                &mut adam,
                &batches,
                |model, tape, items| mean_loss(model, tape, items, &supply),
                |model, before| self.validate(model, before, &mut validated),
            )?)
        })?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// The accuracy in the lesson under way, whose graphs `validated` keeps. Fails if the lesson has come to
    /// its end and is not passed.
    fn validate(
        &self,
        model: &RecursiveTransformer,
        before: &History,
        validated: &mut Option<(usize, Vec<Questions>)>,
    ) -> std::result::Result<f64, TrainError> {
        let mut accuracies = validations(before);
        let Place { lesson, .. } = self.course.place(&accuracies);
        if validated.as_ref().is_none_or(|(kept, _)| *kept != lesson) {
            let graphs = self.held_out(lesson, VALIDATION, self.config.validation_graphs)?;
            *validated = Some((lesson, graphs));
        }
        let (_, graphs) = validated.as_ref().expect("just made");
        let answers = answer(model, self.config.task.classes(), graphs, &self.options.device);
        if answers.not_finite > 0 {
            return Ok(f64::NAN);
        }
        accuracies.push(answers.accuracy());
        self.course.check(&accuracies)?;
        Ok(answers.accuracy())
    }

    /// Tests the model.
    fn metrics(
        &self,
        model: &RecursiveTransformer,
        history: &History,
        test: &[Questions],
    ) -> GraphTasksMetrics {
        let (config, device) = (self.config, &self.options.device);
        let answers = answer(model, config.task.classes(), test, device);
        GraphTasksMetrics {
            config: config.clone(),
            parameters: model.count(),
            threads: rayon::current_num_threads(),
            device: device.to_string(),
            lessons: self.lessons(&validations(history)),
            epochs: history.epochs.clone(),
            accuracy: answers.accuracy(),
            constant: answers.constant().1,
            test: answers,
            radii: radii::measure(model, &test[..test.len().min(MEASURED)], device),
            seconds: history.seconds,
        }
    }

    /// What became of the lessons that have begun.
    fn lessons(&self, validations: &[f64]) -> Vec<LessonMetrics> {
        let places = self.course.places(validations);
        let ends = places.iter().skip(1).map(|place| place.start).chain([validations.len()]);
        let lessons = places.iter().zip(ends).map(|(place, end)| LessonMetrics {
            name: curriculum::name(&self.course.lessons[place.lesson]),
            lesson: self.course.lessons[place.lesson],
            first_epoch: place.start as u64 + 1,
            epochs: (end - place.start) as u64,
            validation: validations[place.start..end].last().copied(),
        });
        lessons.collect()
    }

    /// Draws learning curves, on which lessons are marked, accuracy by class, and radii.
    fn draw(&self, metrics: &GraphTasksMetrics) -> Result<()> {
        let GraphTasksConfig { task, disc: Disc { nodes, .. }, attention, .. } = self.config;
        let (out, task, accuracy) = (&self.options.out, config::name(*task), 100.0 * metrics.accuracy);
        let title = format!("{task}, {nodes} nodes, {attention} attention: test accuracy {accuracy:.1} %");
        let values = |value: fn(&cotangent::optim::train::Epoch) -> f64| {
            metrics.epochs.iter().map(value).collect::<Vec<f64>>()
        };
        let loss = Series { name: "training loss", values: values(|epoch| epoch.loss), better: NEITHER };
        let validation = Series {
            name: "validation accuracy of the lesson",
            values: values(|epoch| epoch.validation),
            better: NEITHER,
        };
        let mark = |lesson: &LessonMetrics| (lesson.first_epoch, format!("{}°", lesson.lesson.angle));
        let marks: Vec<(u64, String)> = metrics.lessons.iter().map(mark).collect();
        curves::marked(&out.join("curves.svg"), &title, &[loss, validation], &marks)?;
        let [accuracy_path, radii_path] = PICTURES.map(|name| out.join(name));
        pictures::accuracy(&accuracy_path, &title, metrics)?;
        pictures::radii(&radii_path, &title, &metrics.radii)
    }
}

/// The validation accuracies of all epochs.
fn validations(history: &History) -> Vec<f64> {
    history.epochs.iter().map(|epoch| epoch.validation).collect()
}

/// The mean loss of graphs. It is NaN, which ends the training, if one of them cannot be made.
fn mean_loss<'t>(
    model: &RecursiveTransformer,
    tape: &'t Tape<f32>,
    items: &[u32],
    supply: &Supply<'_, Questions>,
) -> Var<'t, f32> {
    let taken: Option<Vec<Questions>> = items.iter().map(|&item| supply.take(item.into())).collect();
    let Some(graphs) = taken else { return tape.scalar(f64::NAN) };
    let losses = graphs.iter().map(|questions| model.loss(tape, questions));
    losses.reduce(|a, b| a + b).expect("a batch of graphs") * (1.0 / items.len() as f64)
}
