//! Training a model along its lessons, and testing it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cotangent::optim::train::{Batches, Goal, History, MODEL, Progress, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::curves::{self, NEITHER, Series};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::progress::Figure;
use cotangent_apps_common::task::{self, Recipe, Task, Trained};
use cotangent_apps_common::{config, output};
use rayon::prelude::*;

use super::answers::answer;
use super::config::GraphTasksConfig;
use super::curriculum::{self, Curriculum, Place};
use super::disc::Disc;
use super::model::{Questions, RecursiveTransformer};
use super::supply::Supply;
use super::{GraphTasksMetrics, LessonMetrics, pictures, radii};

/// The files beside those of every training.
const PICTURES: [&str; 2] = ["accuracy.svg", "radii.svg"];

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
    let examples = Examples { config, course: config.course() };
    let _held = output::hold(&options.out)?;
    // Every lesson has questions, and the test can be made: before anything is written.
    let last = examples.course.lessons.len() - 1;
    (0..=last).try_for_each(|lesson| examples.training(lesson, 0).map(drop))?;
    let test = examples.held_out(last, TEST, config.test_graphs)?;
    let make = |lesson: usize, number: u64| examples.training(lesson, number);
    let supply = Supply::new(&make, config.batch, AHEAD);
    let model = RecursiveTransformer::new(config, &*score);
    let validated = Mutex::new(None);
    let task = CurriculumTask { options, examples: &examples, supply: &supply, test, validated };
    let threads = rayon::current_num_threads().div_ceil(2);
    supply.during(threads, || task::fit(&task, model, options))
}

/// The graphs of a training, with their questions.
struct Examples<'a> {
    config: &'a GraphTasksConfig,
    course: Curriculum,
}

impl Examples<'_> {
    /// A graph of a lesson with its questions.
    fn make(&self, lesson: usize, training: bool, seed: u64, number: u64) -> Result<Questions> {
        let (config, lesson) = (self.config, &self.course.lessons[lesson]);
        let questions = config.questions();
        let example = config.task.example(&config.disc, lesson, questions, training, seed, number)?;
        Ok(Questions::new(&example, lesson, config))
    }

    fn training(&self, lesson: usize, number: u64) -> Result<Questions> {
        self.make(lesson, true, self.config.seed, number)
    }

    /// Graphs for validation or test, from a number on.
    fn held_out(&self, lesson: usize, first: u64, count: usize) -> Result<Vec<Questions>> {
        let numbers = (first..first + count as u64).into_par_iter();
        numbers.map(|number| self.make(lesson, false, self.config.data_seed, number)).collect()
    }
}

/// A training and its test.
struct CurriculumTask<'a> {
    options: &'a RunOptions,
    examples: &'a Examples<'a>,
    supply: &'a Supply<'a, Questions>,
    test: Vec<Questions>,
    /// The graphs for validation of a lesson, and its number.
    validated: Mutex<Option<(usize, Vec<Questions>)>>,
}

impl CurriculumTask<'_> {
    /// What became of the lessons that have begun.
    fn lessons(&self, validations: &[f64]) -> Vec<LessonMetrics> {
        let places = self.examples.course.places(validations);
        let ends = places.iter().skip(1).map(|place| place.start).chain([validations.len()]);
        let lessons = places.iter().zip(ends).map(|(place, end)| LessonMetrics {
            name: curriculum::name(&self.examples.course.lessons[place.lesson]),
            lesson: self.examples.course.lessons[place.lesson],
            first_epoch: place.start as u64 + 1,
            epochs: (end - place.start) as u64,
            validation: validations[place.start..end].last().copied(),
        });
        lessons.collect()
    }
}

impl Task for CurriculumTask<'_> {
    type Config = GraphTasksConfig;
    type Number = f32;
    type Model = RecursiveTransformer;
    type Batches = Stream;
    type Metrics = GraphTasksMetrics;

    const GOAL: Goal = Goal::Greatest;
    const VALIDATION: &'static str = "validation accuracy of the lesson";
    const SHOWN: [&'static str; 2] = ["validation_accuracy", "graphs_per_second"];
    const FILES: &'static [&'static str] = &PICTURES;

    fn config(&self) -> &GraphTasksConfig {
        self.examples.config
    }

    fn batches(&self) -> Stream {
        Stream { steps: self.config().epoch_steps, batch: self.config().batch }
    }

    fn recipe(&self, _: u64) -> Result<Recipe<f32>> {
        let GraphTasksConfig { lr, clip, warm_up, .. } = *self.config();
        let adam = RiemannianAdam::new(lr)?.betas(0.9, 0.98)?.clip(clip)?;
        let schedule = Schedule::InverseSquareRoot { warm_up };
        Ok(Recipe { schedule, parts: [8, 1], keeps_best: false, ..Recipe::new(adam) })
    }

    fn loss<'t>(
        &self,
        model: &RecursiveTransformer,
        tape: &'t Tape<f32>,
        items: &[u32],
    ) -> Result<Var<'t, f32>> {
        let taken = items.iter().map(|&item| self.supply.take(item.into()));
        let graphs: Vec<Questions> = taken.collect::<Result<_>>()?;
        let losses = graphs.iter().map(|questions| model.loss(tape, questions));
        Ok(losses.reduce(|a, b| a + b).expect("a batch of graphs") * (1.0 / items.len() as f64))
    }

    /// The accuracy in the lesson under way. Fails if the lesson has come to its end and is not passed.
    fn validate(
        &self,
        model: &mut RecursiveTransformer,
        before: &History,
        tape: &mut Tape<f32>,
    ) -> Result<f64> {
        let (course, config) = (&self.examples.course, self.config());
        let mut accuracies = validations(before);
        let Place { lesson, .. } = course.place(&accuracies);
        let mut validated = self.validated.lock().unwrap_or_else(PoisonError::into_inner);
        if validated.as_ref().is_none_or(|(kept, _)| *kept != lesson) {
            let graphs = self.examples.held_out(lesson, VALIDATION, config.validation_graphs)?;
            *validated = Some((lesson, graphs));
        }
        let (_, graphs) = validated.as_ref().expect("just made");
        let answers = answer(model, config.task.classes(), graphs, tape);
        if answers.not_finite > 0 {
            return Ok(f64::NAN);
        }
        accuracies.push(answers.accuracy());
        course.check(&accuracies)?;
        Ok(answers.accuracy())
    }

    /// From now on, graphs of the epoch's lesson are made.
    fn before_epoch(&self, history: &History) -> bool {
        self.supply.turn_to(self.examples.course.place(&validations(history)).lesson);
        false
    }

    fn more_figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        let lesson = self.examples.course.place(&validations(now.history)).lesson + 1;
        vec![Figure::new("lesson", lesson as f64, 0)]
    }

    fn test(
        &self,
        model: &mut RecursiveTransformer,
        history: &History,
        tape: &mut Tape<f32>,
    ) -> Result<GraphTasksMetrics> {
        let (CurriculumTask { options, test, .. }, config) = (self, self.config());
        save_model(model, &options.out.join(MODEL), Some(&self.name(0)))?;
        let answers = answer(model, config.task.classes(), test, tape);
        Ok(GraphTasksMetrics {
            config: config.clone(),
            training: Training::new(model, history, &options.device),
            lessons: self.lessons(&validations(history)),
            accuracy: answers.accuracy(),
            constant: answers.constant().1,
            test: answers,
            radii: radii::measure(model, &test[..test.len().min(MEASURED)], &options.device),
        })
    }

    fn title(&self, metrics: &GraphTasksMetrics) -> String {
        let GraphTasksConfig { task, disc: Disc { nodes, .. }, attention, .. } = self.config();
        let (task, accuracy) = (config::name(*task), 100.0 * metrics.accuracy);
        format!("{task}, {nodes} nodes, {attention} attention: test accuracy {accuracy:.1} %")
    }

    /// Learning curves, on which lessons are marked, accuracy by class, and radii.
    fn draw(&self, out: &Path, trained: Trained<'_, Self>, _: &mut Tape<f32>) -> Result<()> {
        let (metrics, title) = (trained.metrics, self.title(trained.metrics));
        let values = |value: fn(&cotangent::optim::train::Epoch) -> f64| {
            metrics.training.epochs.iter().map(value).collect::<Vec<f64>>()
        };
        let loss = Series { name: "training loss", values: values(|epoch| epoch.loss), better: NEITHER };
        let validation =
            Series { name: Self::VALIDATION, values: values(|epoch| epoch.validation), better: NEITHER };
        let mark = |lesson: &LessonMetrics| (lesson.first_epoch, format!("{}°", lesson.lesson.angle));
        let marks: Vec<(u64, String)> = metrics.lessons.iter().map(mark).collect();
        curves::marked(&out.join(curves::FILE), &title, &[loss, validation], &marks)?;
        let [accuracy, radii] = PICTURES.map(|name| out.join(name));
        pictures::accuracy(&accuracy, &title, metrics)?;
        pictures::radii(&radii, &title, &metrics.radii)
    }
}

/// The validation accuracies of all epochs.
fn validations(history: &History) -> Vec<f64> {
    history.epochs.iter().map(|epoch| epoch.validation).collect()
}
