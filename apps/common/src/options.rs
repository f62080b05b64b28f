//! Options that several applications have in common: checks of their values, and how a training runs.

use std::path::PathBuf;
use std::sync::Arc;

use cotangent::optim::exchange::Exchange;
use cotangent::prelude::Device;

use crate::error::{AppError, Result};
use crate::{memory, output};

/// How a training runs. None of this changes the result, except the device.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The directory for all output.
    pub out: PathBuf,
    /// The directory of all seeds, `out` among them, for the first of several seeds that begin.
    pub all_seeds: Option<PathBuf>,
    /// Whether to continue from the state in `out`.
    pub resume: bool,
    /// Seconds between checkpoints, if the application writes any.
    pub checkpoint_every: u64,
    /// The device to train on.
    pub device: Device,
    /// The ranks that train together, if the process is one of several.
    pub ranks: Option<Arc<dyn Exchange>>,
}

impl RunOptions {
    /// Moves the files of an earlier run out of the way, unless it is resumed: see [`output::set_aside`].
    ///
    /// # Errors
    /// If a file cannot be moved.
    pub fn set_aside(&self, writes: &dyn Fn(&str) -> bool) -> Result<()> {
        if self.resume {
            return Ok(());
        }
        if let Some(directory) = &self.all_seeds {
            output::set_aside(directory, writes)?;
            // Without locks it was moved too.
            std::fs::create_dir_all(&self.out).map_err(AppError::io(&self.out))?;
        }
        output::set_aside(&self.out, writes)
    }
}

/// Checks numbers, each with the name of its option.
fn check<N: Copy + std::fmt::Display>(
    options: &[(&str, N)],
    valid: impl Fn(N) -> bool,
    needed: &str,
) -> Result<()> {
    match options.iter().find(|(_, value)| !valid(*value)) {
        Some((name, value)) => Err(AppError::usage(format!("--{name} {value}: {needed} is needed"))),
        None => Ok(()),
    }
}

/// Checks that counts are not 0.
///
/// # Errors
/// If one is 0; the error names its option.
pub fn at_least_one(options: &[(&str, u64)]) -> Result<()> {
    check(options, |value| value > 0, "at least 1")
}

/// The largest number of runs.
const SEEDS: u64 = 1_000_000;

/// The largest number of layers.
const LAYERS: usize = 1024;

/// Checks that a number of layers is not too large.
///
/// # Errors
/// If it is; the error names the option.
pub fn layers(layers: usize) -> Result<()> {
    match layers > LAYERS {
        true => Err(AppError::usage(format!("--layers {layers}: at most {LAYERS} are possible"))),
        false => Ok(()),
    }
}

/// The largest number of parameters of a model: in `f32` they take 16 GB.
const PARAMETERS: f64 = 4e9;

/// Checks the number of parameters of a model that is about to be made; `least` may leave out small parts.
/// `sizes` are the options that it comes from.
///
/// # Errors
/// If it has too many; the error names the largest of the options.
pub fn parameters(sizes: &[(&str, usize)], least: f64) -> Result<()> {
    if least > PARAMETERS {
        let (model, needed) = (model_of(sizes, least), memory::text(least * size_of::<f32>() as f64));
        let message =
            format!("{model}: fewer or narrower layers are needed; it would take {needed} of memory");
        return Err(AppError::usage(message));
    }
    Ok(())
}

/// What an error calls a model with so many parameters: by the largest of the options.
pub(crate) fn model_of(sizes: &[(&str, usize)], least: f64) -> String {
    let largest = sizes.iter().max_by_key(|(_, size)| *size);
    let option = largest.map_or(String::new(), |(name, size)| format!("--{name} {size}: "));
    format!("{option}a model of {least:.1e} parameters")
}

/// The number of steps of a training: batches of an epoch times epochs.
///
/// # Errors
/// If it is too large.
pub fn steps(epochs: u64, batches: u64) -> Result<u64> {
    let message =
        || AppError::usage(format!("--epochs {epochs}: with {batches} batches each it is too large"));
    epochs.checked_mul(batches).ok_or_else(message)
}

/// The seeds of several runs: consecutive numbers.
///
/// # Errors
/// If `count` is 0 or above a million, or the last seed would be too large.
pub fn seeds(first: u64, count: u64) -> Result<std::ops::Range<u64>> {
    check(&[("seeds", count)], |count| (1..=SEEDS).contains(&count), &format!("from 1 to {SEEDS}"))?;
    let end = first.checked_add(count);
    let message = || AppError::usage(format!("--seed {first}: with --seeds {count} it is too large"));
    Ok(first..end.ok_or_else(message)?)
}

/// Checks that numbers are positive and finite.
///
/// # Errors
/// If one is not; the error names its option.
pub fn positive(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| value > 0.0 && value.is_finite(), "a positive number")
}

/// Checks that numbers are at least 0 and finite.
///
/// # Errors
/// If one is not; the error names its option.
pub fn not_negative(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| value >= 0.0 && value.is_finite(), "0 or more")
}

/// Checks that rates are at least 0 and below 1.
///
/// # Errors
/// If one is not; the error names its option.
pub fn below_one(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| (0.0..1.0).contains(&value), "from 0 to below 1")
}

/// Checks that shares and probabilities are from 0 to 1.
///
/// # Errors
/// If one is not; the error names its option.
pub fn shares(options: &[(&str, f64)]) -> Result<()> {
    check(options, |value| (0.0..=1.0).contains(&value), "from 0 to 1")
}

/// The name of the first option whose condition is true.
pub fn first_true(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is)| *is).map(|(name, _)| *name)
}

/// Checks that a checkpoint belongs to this run. `difference` is the name of an option whose value differs
/// between the two, if any. `fingerprints` are those of the checkpoint's data and of this run's. `data` is
/// what the error calls the data: "edges".
///
/// # Errors
/// If an option or the data differ; the error names which.
pub fn same_run(
    difference: Option<&str>,
    fingerprints: [u32; 2],
    data: &str,
) -> std::result::Result<(), String> {
    match difference {
        Some(option) => Err(format!("a run with another --{option}")),
        None if fingerprints[0] != fingerprints[1] => Err(format!("a run on other {data}")),
        None => Ok(()),
    }
}
