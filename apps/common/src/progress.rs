//! Progress: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::note;

/// Shows how far a loop has come.
pub struct Progress {
    bar: Option<ProgressBar>,
    what: &'static str,
    total: u64,
    last: Option<Instant>,
}

/// Plain lines come at most this often.
const INTERVAL: Duration = Duration::from_secs(5);

impl Progress {
    /// A loop of `total` steps (`what`: "epoch", "node") of which `done` are behind us.
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

    /// `done` steps are behind us. `message` is made only when it is shown.
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
