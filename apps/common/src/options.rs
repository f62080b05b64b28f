//! What the options of several applications have in common: what makes sense, and how a training runs.

use std::path::PathBuf;

use cotangent::prelude::Device;

use crate::error::{AppError, Result};

/// How a training runs, without any influence on its result but for the device's.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where everything is written.
    pub out: PathBuf,
    /// Go on from what is in `out`.
    pub resume: bool,
    /// Seconds between checkpoints, where there are any.
    pub checkpoint_every: u64,
    /// Where it trains.
    pub device: Device,
}

fn check<N: Copy + std::fmt::Display>(
    options: &[(&str, N)],
    makes_sense: impl Fn(N) -> bool,
    needed: &str,
) -> Result<()> {
    match options.iter().find(|(_, value)| !makes_sense(*value)) {
        Some((name, value)) => Err(AppError::usage(format!("--{name} {value}: {needed} is needed"))),
        None => Ok(()),
    }
}

/// Counts are not 0.
///
/// # Errors
/// Names the option.
pub fn at_least_one(options: &[(&str, u64)]) -> Result<()> {
    check(options, |value| value > 0, "at least 1")
}

/// The seeds of several runs, one after the other.
///
/// # Errors
/// If there are none, or the last would not be a number.
pub fn seeds(first: u64, count: u64) -> Result<std::ops::Range<u64>> {
    at_least_one(&[("seeds", count)])?;
    let end = first.checked_add(count);
    let message = || AppError::usage(format!("--seed {first}: with --seeds {count} it is too large"));
    Ok(first..end.ok_or_else(message)?)
}

/// Numbers are positive and finite.
///
/// # Errors
/// Names the option.
pub fn positive(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| value > 0.0 && value.is_finite(), "a positive number")
}

/// Numbers are 0 or more, and finite.
///
/// # Errors
/// Names the option.
pub fn not_negative(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| value >= 0.0 && value.is_finite(), "0 or more")
}

/// Rates are from 0 to below 1.
///
/// # Errors
/// Names the option.
pub fn below_one(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| (0.0..1.0).contains(&value), "from 0 to below 1")
}

/// The first option that something is true of.
pub fn first_true(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is)| *is).map(|(name, _)| *name)
}
