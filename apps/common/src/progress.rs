//! Progress: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::note;

/// Shows the progress of a loop.
pub struct Progress {
    bar: Option<ProgressBar>,
    what: &'static str,
    total: u64,
    last: Option<Instant>,
}

/// The shortest time between plain lines.
const INTERVAL: Duration = Duration::from_secs(5);

impl Progress {
    /// A loop of `total` steps, of which `done` are already done. `what` names a step: "epoch", "node".
    pub fn new(what: &'static str, done: u64, total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} {pos}/{len} {wide_bar} {msg}");
            let bar = ProgressBar::new(total).with_prefix(what).with_position(done);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.reset_eta();
            bar
        });
        Progress { bar, what, total, last: None }
    }

    /// Shows that `done` steps are done. `message` is called only when it is shown.
    pub fn update(&mut self, done: u64, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(message());
        } else if done == self.total || self.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            note!("{} {done}/{} {}", self.what, self.total, message());
            self.last = Some(Instant::now());
        }
    }

    /// Ends the display.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
