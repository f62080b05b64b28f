//! Whether what the options ask for fits in memory. A run checks this before it writes or moves anything:
//! an allocation that fails ends the process without a message.

use crate::error::{AppError, Result};
use crate::options;
use crate::precision::Precision;

/// The bytes of an array of `T`: the product of its sizes, times the bytes of an element.
///
/// It is a float, because the product of sizes that a user gives can overflow every integer.
pub fn bytes<T>(sizes: &[usize]) -> f64 {
    sizes.iter().map(|&size| size as f64).product::<f64>() * size_of::<T>() as f64
}

/// Checks that so many bytes fit in memory. They may leave out small parts. `options` are the names and
/// values of those that the number comes from, `what` is what takes the memory: "the points of 40 nodes".
///
/// # Errors
/// If no program can address as much, or the machine has less memory. The error names the options, and says
/// how much is needed and how much there is.
pub fn check(options: &[(&str, usize)], what: &str, bytes: f64) -> Result<()> {
    let names: Vec<String> = options.iter().map(|(name, value)| format!("--{name} {value}")).collect();
    check_in(machine(), &names.join(", "), what, bytes)
}

/// Checks that the training of a model of so many parameters fits in memory: see [`options::parameters`]. For
/// each parameter a training keeps four numbers: the value, the gradient, and the two moments of Adam.
///
/// # Errors
/// As [`options::parameters`]; if the training does not fit.
pub fn training(sizes: &[(&str, usize)], least: f64, precision: Precision) -> Result<()> {
    options::parameters(sizes, least)?;
    check_in(
        machine(),
        &options::model_of(sizes, least),
        "its training",
        4.0 * least * precision.bytes() as f64,
    )
}

/// Same as [`check`], for a machine with so many bytes, if that is known. `cause` is what asks for them.
fn check_in(machine: Option<f64>, cause: &str, what: &str, bytes: f64) -> Result<()> {
    let limit = match machine {
        _ if bytes > ADDRESSABLE => format!("no program can address more than {}", text(ADDRESSABLE)),
        Some(machine) if bytes > machine => format!("this machine has {}", text(machine)),
        _ => return Ok(()),
    };
    Err(AppError::usage(format!("{cause}: {what} would take {} of memory; {limit}", text(bytes))))
}

/// The largest number of bytes of one allocation.
const ADDRESSABLE: f64 = isize::MAX as f64;

/// The memory of this machine in bytes, where the system says it (Linux).
fn machine() -> Option<f64> {
    total(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// The memory in bytes that a text as `/proc/meminfo` states.
fn total(meminfo: &str) -> Option<f64> {
    let number = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    number?.parse().ok().map(|kilobytes: f64| 1024.0 * kilobytes)
}

/// A number of bytes as it is shown: "25.3 GB".
pub fn text(bytes: f64) -> String {
    let gigabytes = bytes / 1e9;
    match gigabytes {
        _ if bytes < 1e6 => format!("{:.1} KB", bytes / 1e3),
        _ if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        _ if gigabytes < 1e6 => format!("{gigabytes:.1} GB"),
        _ => format!("{gigabytes:.1e} GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_passes_and_what_does_not_says_both_figures() {
        let check = |machine, sizes: &[usize]| {
            check_in(machine, "--dim 7", "the points of 3 nodes", bytes::<f64>(sizes))
        };
        assert_eq!(bytes::<f32>(&[3, 7]), 84.0);
        assert!(check(Some(2e9), &[250_000_000]).is_ok() && check(None, &[1 << 56]).is_ok());
        let error = check(Some(2e9), &[3, 100_000_000]).unwrap_err().to_string();
        let expected = "--dim 7: the points of 3 nodes would take 2.4 GB of memory; this machine has 2.0 GB";
        assert_eq!(error, expected);
        // Whatever the machine: this product overflows 64 bits.
        for machine in [None, Some(1e30)] {
            let error = check(machine, &[usize::MAX, usize::MAX]).unwrap_err().to_string();
            assert!(
                error.ends_with("would take 2.7e30 GB of memory; no program can address more than 9.2e9 GB"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       24690360 kB\n"), Some(24_690_360.0 * 1024.0));
        assert_eq!(total("MemTotal: much\n"), None);
        assert!(machine().is_none_or(|bytes| bytes > 1e8));
    }
}
