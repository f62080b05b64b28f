//! What is printed. An output that the reader closes ends nothing but the printing: `poincare train | head`
//! trains to the end. `println!` would panic.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// The first failure of standard output that is no closed reader: a full disk, say.
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

/// What [`say!`](crate::say) does.
pub fn line(text: Arguments<'_>) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}")
        && error.kind() != ErrorKind::BrokenPipe
    {
        FAILED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// What [`note!`](crate::note) does. There is nowhere to say that it failed.
pub fn error_line(text: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// What went wrong with standard output since the last call, a closed reader apart.
pub(crate) fn failure() -> Option<io::Error> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).take()
}
