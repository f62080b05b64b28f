//! Pictures of a trained model as SVG: accuracy by path length, and the histogram of radii.

use std::path::Path;

use cotangent_apps_common::chart::Bars;
use cotangent_apps_common::error::Result;

use super::GraphTasksMetrics;
use super::radii::Radii;
use super::task::Task;

/// Draws the accuracy by class, which is the length for paths, beside the share of questions of the class.
/// The dashed line is the best constant answer.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn accuracy(path: &Path, title: &str, metrics: &GraphTasksMetrics) -> Result<()> {
    let answers = &metrics.test;
    let last = answers.classes.iter().rposition(|class| class.questions > 0).unwrap_or(0);
    let (classes, all) = (&answers.classes[..=last.max(1)], answers.questions() as f64);
    let share = |part: usize, whole: f64| if part == 0 { 0.0 } else { part as f64 / whole };
    let is_path = metrics.config.task == Task::Path;
    let label = |class: usize| match is_path {
        true => (class + 1).to_string(),
        false => ["no edge", "edge"][class].to_owned(),
    };
    let accuracies = classes.iter().map(|class| share(class.correct, class.questions as f64)).collect();
    let shares = classes.iter().map(|class| share(class.questions, all)).collect();
    let bars = Bars {
        title,
        axis: if is_path { "length of the shortest path" } else { "answer" },
        labels: (0..classes.len()).map(label).collect(),
        series: vec![("accuracy", accuracies), ("share of questions", shares)],
        dashed: Some(("best constant answer", answers.constant().1)),
    };
    bars.draw(path)
}

/// Draws the histogram of the distances of queries and keys from the origin.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn radii(path: &Path, title: &str, radii: &Radii) -> Result<()> {
    let shares = |counts: &[u64]| {
        let all = counts.iter().sum::<u64>().max(1) as f64;
        counts.iter().map(|&count| count as f64 / all).collect()
    };
    let label = |(number, edge): (usize, &f64)| match number % 5 {
        0 => format!("{edge:.1}"),
        _ => String::new(),
    };
    let bars = Bars {
        title,
        axis: &radii.what,
        labels: radii.edges[..radii.queries.len()].iter().enumerate().map(label).collect(),
        series: vec![("queries", shares(&radii.queries)), ("keys", shares(&radii.keys))],
        dashed: None,
    };
    bars.draw(path)
}
