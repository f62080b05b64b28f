//! Printing. If the reader closes an output, only the printing ends: `poincare train | head` trains to
//! the end. `println!` would panic.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// The first failure of standard output that is not a closed reader: for example a full disk.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints a line to standard output, as `println!` does.
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
    if let Err(error) = writeln!(io::stdout().lock(), "{text}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        FAILED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// The function behind [`note!`](crate::note). If it fails, there is nowhere to report it.
pub fn error_line(text: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// The failure of standard output since the last call, if any. A closed reader does not count.
pub(crate) fn failure() -> Option<io::Error> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).take()
}
