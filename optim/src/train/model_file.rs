//! Files of a model's parameters that name the run they belong to.

use std::path::Path;

use cotangent_engine::files::{FileError, safetensors};
use cotangent_engine::{Float, Tensor};
use cotangent_manifolds::Module;

/// The metadata key of the run's name.
const RUN: &str = "cotangent.run";

/// Writes a model's parameters as safetensors, with the name of its run if there is one.
///
/// # Errors
/// If the file cannot be written, or two parameters have the same name.
pub fn save_model<T: Float>(model: &impl Module<T>, path: &Path, run: Option<&str>) -> Result<(), FileError> {
    let state = model.state();
    let tensors: Vec<(&str, &Tensor<T>)> = state.iter().map(|(name, value)| (name.as_str(), value)).collect();
    safetensors::write(path, &tensors, run.map(|run| (RUN, run)))
}

/// Reads a model's parameters from a file that [`save_model`] wrote for the run `run`. `None` accepts only a
/// file that names no run.
///
/// # Errors
/// If the file cannot be read, or belongs to another run or model. The model is then unchanged.
pub fn load_model<T: Float>(
    model: &mut impl Module<T>,
    path: &Path,
    run: Option<&str>,
) -> Result<(), FileError> {
    let content = |message: String| FileError::Content { path: path.into(), message };
    let (values, metadata) = safetensors::read(path)?;
    if metadata.get(RUN).map(String::as_str) != run {
        return Err(content("the model of a run with other options or other data".to_owned()));
    }
    model.load_state(values.into_iter().collect()).map_err(|error| content(error.to_string()))
}
