//! Printing. If the reader closes an output, only the printing stops: `poincare train | head` trains to the
//! end. With `println!` it would panic.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;

use crate::ranks;

/// The first failure to write to standard output, for example a full disk. A closed reader is no failure.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// How this process prints. The command line decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// No progress is shown.
    pub quiet: bool,
    /// Every line of standard output is a JSON object, whose `event` is `text`, `progress`, `seeds`,
    /// `result` or `error`.
    pub json: bool,
}

static STYLE: OnceLock<Style> = OnceLock::new();

/// Sets how this process prints. Only the first call counts.
pub fn set_style(style: Style) {
    let _ = STYLE.set(style);
}

/// How this process prints.
pub fn style() -> Style {
    STYLE.get().copied().unwrap_or_default()
}

/// With `--json`, prints an event as a JSON object on a line of its own; otherwise does nothing. `content`
/// has the object's entries besides `event`.
pub fn event(name: &str, content: &impl Serialize) {
    #[derive(Serialize)]
    struct Event<'a, C> {
        event: &'a str,
        #[serde(flatten)]
        content: C,
    }
    if style().json {
        match serde_json::to_string(&Event { event: name, content }) {
            Ok(json) => write_line(format_args!("{json}")),
            Err(error) => keep_failure(error.into()),
        }
    }
}

/// Prints a line to standard output, as `println!` does; with `--json`, as an event `text`.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::print::line(format_args!($($text)*)) };
}

/// Prints a line to standard error, as `eprintln!` does.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::print::error_line(format_args!($($text)*)) };
}

/// The function behind [`say!`](crate::say).
pub fn line(text: Arguments<'_>) {
    #[derive(Serialize)]
    struct Text {
        text: String,
    }
    if style().json {
        event("text", &Text { text: text.to_string() });
    } else {
        write_line(text);
    }
}

fn write_line(text: Arguments<'_>) {
    if ranks::is_silent() {
        return;
    }
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        keep_failure(error);
    }
}

fn keep_failure(error: io::Error) {
    if error.kind() != ErrorKind::BrokenPipe {
        FAILED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// The function behind [`note!`](crate::note). If it fails, there is nowhere to report it.
pub fn error_line(text: Arguments<'_>) {
    if !ranks::is_silent() {
        error(text);
    }
}

/// Prints a line to standard error, whatever rank this process is: by one write, so that no other process
/// writes between its parts.
pub fn error(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// The first failure to write to standard output since the last call, if any.
pub(crate) fn failure() -> Option<io::Error> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).take()
}
