//! Messages of tests that cannot run on a machine.

use std::fmt::Arguments;
use std::io::Write;

/// Says that the running test, or a part of it, is skipped, and why: on standard error, and as a line of
/// the file that the environment variable `COTANGENT_SKIPPED` names. The test runner has no skip at run
/// time and counts such a test as passed. `./test` sets the variable, and counts and names what was
/// skipped.
///
/// ```no_run
/// cotangent_engine::skipped(format_args!("no compiler"));
/// ```
///
/// # Panics
/// If the file cannot be written to.
pub fn skipped(reason: Arguments<'_>) {
    eprintln!("skipped: {reason}");
    let Some(file) = std::env::var_os("COTANGENT_SKIPPED").filter(|file| !file.is_empty()) else { return };
    let thread = std::thread::current();
    let reason = reason.to_string().replace('\n', " ");
    let line = format!("{}: {}\n", thread.name().unwrap_or("a test"), reason.trim());
    // One write of a whole line, because tests of several processes append at the same time.
    let appended = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    appended.unwrap_or_else(|error| panic!("COTANGENT_SKIPPED={}: {error}", file.display()));
}

/// [`skipped`](crate::skipped) with a formatted reason, and a return from the test.
///
/// ```
/// fn compiles() {
///     if std::process::Command::new("cc").output().is_err() {
///         cotangent_engine::skip!("no C compiler");
///     }
/// }
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        $crate::skipped(format_args!($($reason)+));
        return;
    }};
}
