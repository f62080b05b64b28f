//! Files of parameters that name the run they are of.

use std::path::Path;

use cotangent_engine::files::{FileError, safetensors};
use cotangent_engine::{Float, Tensor};
use cotangent_manifolds::Module;

/// The name of the metadata that names the run.
const RUN: &str = "cotangent.run";

/// Writes a model's parameters, and the name of its run.
///
/// # Errors
/// If the file cannot be written, or two parameters have one name.
pub fn save_model<T: Float>(model: &impl Module<T>, path: &Path, run: Option<&str>) -> Result<(), FileError> {
    let state = model.state();
    let tensors: Vec<(&str, &Tensor<T>)> = state.iter().map(|(name, value)| (name.as_str(), value)).collect();
    safetensors::write(path, &tensors, run.map(|run| (RUN, run)))
}

/// Reads a model's parameters from a file of the same run. `None` is the run of a file that names none.
///
/// # Errors
/// If the file cannot be read, or is of another run or model. Then nothing is changed.
pub fn load_model<T: Float>(
    model: &mut impl Module<T>,
    path: &Path,
    run: Option<&str>,
) -> Result<(), FileError> {
    let content = |message: String| FileError::Content { path: path.into(), message };
    let (values, metadata) = safetensors::read(path)?;
    if metadata.get(RUN).map(String::as_str) != run {
        return Err(content("a model of another run: other options, or other data".to_owned()));
    }
    model.load_state(values.into_iter().collect()).map_err(|error| content(error.to_string()))
}
