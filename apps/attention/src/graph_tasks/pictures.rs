//! Pictures of a trained model as SVG: accuracy by path length, and the histogram of radii.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::lettering;
use svg::Document;
use svg::node::element::Rectangle;

use super::GraphTasksMetrics;
use super::radii::Radii;
use super::task::Task;
use crate::chart::{Frame, round, text};

/// Shares that are drawn as bars side by side.
struct Bars<'a> {
    title: &'a str,
    /// What is on the horizontal axis.
    axis: &'a str,
    /// The names of the groups of bars; some may be empty.
    labels: Vec<String>,
    /// Each with its name: a number for each group, at least 0.
    series: [(&'a str, Vec<f64>); 2],
    /// A dashed line with its name, if there is one.
    dashed: Option<(&'a str, f64)>,
}

const FRAME: Frame = Frame { size: [720.0, 420.0], across: [64.0, 700.0], down: [76.0, 360.0] };
const COLOURS: [&str; 2] = ["#4a6fa5", "#e0a458"];

impl Bars<'_> {
    /// Draws the bars.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn draw(&self, path: &Path) -> Result<()> {
        let all = self.series.iter().flat_map(|(_, values)| values).chain(self.dashed.iter().map(|d| &d.1));
        let top = all.copied().fold(0.0, f64::max);
        let top = if top > 0.0 { top } else { 1.0 };
        let y = |value: f64| FRAME.y(value, [0.0, top]);
        let mut document = FRAME.rules(self.legend(FRAME.sheet(self.title)), [0.0, top]);
        let ([left_edge, right_edge], bottom) = (FRAME.across, FRAME.down[1]);
        let group = (right_edge - left_edge) / self.labels.len() as f64;
        let bar = 0.8 * group / self.series.len() as f64;
        for (number, label) in self.labels.iter().enumerate() {
            let left = left_edge + group * number as f64;
            for (place, ((_, values), colour)) in self.series.iter().zip(COLOURS).enumerate() {
                let (x, height) = (left + 0.1 * group + bar * place as f64, bottom - y(values[number]));
                let rectangle = Rectangle::new().set("x", round(x)).set("y", round(bottom - height));
                let rectangle = rectangle.set("width", round(bar)).set("height", round(height));
                document = document.add(rectangle.set("fill", colour));
            }
            document = document.add(text(label, left + group / 2.0, bottom + 18.0, "middle"));
        }
        if let Some((_, value)) = self.dashed {
            document = document.add(FRAME.rule(y(value), "#222222").set("stroke-dasharray", "6 4"));
        }
        let middle = f64::midpoint(left_edge, right_edge);
        document = document.add(text(self.axis, middle, bottom + 44.0, "middle"));
        atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
    }

    /// Adds the names of series and line.
    fn legend(&self, mut document: Document) -> Document {
        let mut left = FRAME.across[0];
        for ((name, _), colour) in self.series.iter().zip(COLOURS) {
            let sample = Rectangle::new().set("x", round(left)).set("y", 46).set("width", 12);
            document = document.add(sample.set("height", 12).set("fill", colour));
            document = document.add(text(name, left + 18.0, 57.0, "start"));
            left += 40.0 + lettering::width(name, 13.0);
        }
        let Some((name, value)) = self.dashed else { return document };
        document.add(text(&format!("dashed: {name} {value:.3}"), left, 57.0, "start"))
    }
}

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
        series: [("accuracy", accuracies), ("share of questions", shares)],
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
        series: [("queries", shares(&radii.queries)), ("keys", shares(&radii.keys))],
        dashed: None,
    };
    bars.draw(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heights are in proportion, and the line is where its value is.
    #[test]
    fn bars_are_as_high_as_their_values() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bars.svg");
        let bars = Bars {
            title: "two",
            axis: "length",
            labels: ["1", "2"].map(str::to_owned).to_vec(),
            series: [("accuracy", vec![1.0, 0.5]), ("share", vec![0.25, 0.0])],
            dashed: Some(("constant", 0.75)),
        };
        bars.draw(&path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for words in ["two", "length", "accuracy", "dashed: constant 0.750"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        let [top, bottom] = FRAME.down;
        let height = |part: f64| format!("height=\"{}\"", round(part * (bottom - top)));
        assert!([1.0, 0.5, 0.25].iter().all(|&part| svg.contains(&height(part))), "{svg}");
        let line = svg.lines().find(|line| line.contains("dasharray")).unwrap();
        assert!(line.contains(&format!("y1=\"{}\"", round(bottom - 0.75 * (bottom - top)))), "{line}");
    }
}
