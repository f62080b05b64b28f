//! Progress: a bar on a terminal, plain lines elsewhere, JSON with `--json`, nothing with `--quiet`.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{note, print};

/// A number that is shown with the progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its name, as a key of JSON: `pairs_per_second`.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// Digits after the decimal point in text; JSON has all digits.
    pub decimals: usize,
}

impl Figure {
    /// A number with its name, shown with `decimals` digits after the decimal point.
    pub fn new(name: &'static str, value: f64, decimals: usize) -> Self {
        Figure { name, value, decimals }
    }
}

/// Shows the progress of a loop.
pub struct Progress {
    form: Form,
    unit: &'static str,
    total: u64,
    start: Instant,
    last: Option<Instant>,
}

enum Form {
    Bar(ProgressBar),
    Lines,
    Json,
    Nothing,
}

/// The shortest time between plain lines, and between JSON objects.
const INTERVAL: Duration = Duration::from_secs(5);

impl Progress {
    /// A loop of `total` steps, of which `done` are already done. `unit` names a step: "epoch", "node".
    pub fn new(unit: &'static str, done: u64, total: u64) -> Self {
        let form = match print::style() {
            print::Style { quiet: true, .. } => Form::Nothing,
            print::Style { json: true, .. } => Form::Json,
            _ if std::io::stderr().is_terminal() => {
                let style = ProgressStyle::with_template("{prefix} {pos}/{len} {wide_bar} {msg}");
                let bar = ProgressBar::new(total).with_prefix(unit).with_position(done);
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar.reset_eta();
                Form::Bar(bar)
            }
            _ => Form::Lines,
        };
        Progress { form, unit, total, start: Instant::now(), last: None }
    }

    /// Shows that `done` steps are done. Lines and JSON objects appear at most every five seconds, and for
    /// the last step. `figures` is called only if its figures are shown.
    pub fn update(&mut self, done: u64, figures: impl FnOnce() -> Vec<Figure>) {
        if let Form::Bar(bar) = &self.form {
            bar.set_position(done);
            bar.set_message(text(&figures()));
            return;
        }
        if done != self.total && self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return;
        }
        self.last = Some(Instant::now());
        let Progress { unit, total, .. } = *self;
        match self.form {
            Form::Json => {
                let seconds = self.start.elapsed().as_secs_f64();
                print::event("progress", &Step { unit, done, total, seconds, figures: json(&figures()) });
            }
            Form::Lines => note!("{unit} {done}/{total} {}", text(&figures())),
            Form::Bar(_) | Form::Nothing => {}
        }
    }

    /// Ends the display.
    pub fn finish(self) {
        if let Form::Bar(bar) = self.form {
            bar.finish_and_clear();
        }
    }
}

#[derive(Serialize)]
struct Step {
    unit: &'static str,
    done: u64,
    total: u64,
    /// Seconds since this run's loop began: a run that resumes starts at 0.
    seconds: f64,
    #[serde(flatten)]
    figures: Map<String, Value>,
}

fn text(figures: &[Figure]) -> String {
    let words =
        |&Figure { name, value, decimals }: &Figure| format!("{} {value:.decimals$}", name.replace('_', " "));
    figures.iter().map(words).collect::<Vec<String>>().join(", ")
}

/// The figures as JSON. Numbers that JSON does not have, such as NaN, become `null`.
fn json(figures: &[Figure]) -> Map<String, Value> {
    figures.iter().map(|figure| (figure.name.to_owned(), Value::from(figure.value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names_as_text_and_as_json() {
        let figures = [Figure::new("loss", 0.123_456, 4), Figure::new("pairs_per_second", 1e5, 0)];
        assert_eq!(text(&figures), "loss 0.1235, pairs per second 100000");
        let step = Step { unit: "epoch", done: 1, total: 3, seconds: 0.5, figures: json(&figures) };
        let expected = concat!(
            r#"{"unit":"epoch","done":1,"total":3,"seconds":0.5,"#,
            r#""loss":0.123456,"pairs_per_second":100000.0}"#
        );
        assert_eq!(serde_json::to_string(&step).unwrap(), expected);
        assert_eq!(json(&[Figure::new("loss", f64::NAN, 1)])["loss"], Value::Null);
    }
}
