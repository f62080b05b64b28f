//! Questions about two nodes of a graph, answered by a recursive transformer: Gulcehre et al. 2019, sections
//! 4.2 and 5.1. On real graphs, [`links`] by graph convolution: Chami et al. 2019.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod answers;
mod bands;
mod command;
mod config;
mod curriculum;
pub mod disc;
mod drawing;
pub mod links;
mod model;
mod pictures;
mod radii;
mod supply;
pub mod task;
#[cfg(test)]
mod tests;
mod training;

pub use answers::{Answers, ClassAnswers};
pub use command::{APP, GraphSummary, run};
pub use config::{GraphTasksConfig, Input, LessonOption};
pub use radii::Radii;
pub use training::train;

use task::Lesson;

/// A lesson that has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LessonMetrics {
    /// Its name.
    pub name: String,
    /// The slice and the number of nodes.
    pub lesson: Lesson,
    /// The first epoch in it, counted from 1.
    pub first_epoch: u64,
    /// Number of epochs in it.
    pub epochs: u64,
    /// The last validation accuracy in it, if there was one.
    pub validation: Option<f64>,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphTasksMetrics {
    /// Hyperparameters, lessons and seed.
    pub config: GraphTasksConfig,
    /// What every training has. The validation of an epoch is the accuracy in its lesson.
    #[serde(flatten)]
    pub training: Training,
    /// The lessons that have begun.
    pub lessons: Vec<LessonMetrics>,
    /// Test accuracy of the last model, from 0 to 1.
    pub accuracy: f64,
    /// Test accuracy of the most common answer.
    pub constant: f64,
    /// The answers of the test by class.
    pub test: Answers,
    /// The distances of queries and keys from the origin.
    pub radii: Radii,
}
