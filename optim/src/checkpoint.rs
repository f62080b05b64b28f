//! Checkpoints of training: parameters, the optimiser's state, and whatever else a run needs to go on as
//! if it had never been stopped, to the bit.

use std::io::Write;
use std::path::Path as File;

use cotangent_engine::files::checkpoint::{self, CheckpointError};
use cotangent_engine::{Float, Tensor};
use cotangent_manifolds::steps::Motion;
use cotangent_manifolds::{AnyParam, Module};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::algorithm::Algorithm;
use crate::optimiser::Optimiser;
use crate::state::State;

/// Increase this when [`Content`] changes, the text of a manifold in it, or what an application of this
/// workspace keeps as its progress. Since version 9 a trainer keeps the description of its run as JSON.
const VERSION: u32 = 9;

/// What a checkpoint holds.
#[derive(Serialize, Deserialize)]
pub(crate) struct Content<P> {
    element: String,
    algorithm: String,
    /// Every setting that a step of the algorithm depends on, by name.
    settings: Vec<(String, String)>,
    /// The instruction set that the run used: see [`instruction_set`].
    instruction_set: String,
    params: Vec<Saved>,
    pub(crate) progress: P,
}

/// A parameter with its state. Elements are little-endian.
#[derive(Serialize, Deserialize)]
struct Saved {
    name: String,
    manifold: String,
    shape: Vec<u64>,
    points: Vec<u8>,
    state: Option<SavedState>,
}

#[derive(Serialize, Deserialize)]
struct SavedState {
    steps: u64,
    momenta: Vec<u8>,
    moments: Vec<Vec<u8>>,
}

fn encode<T: Float>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(elements));
    elements.iter().for_each(|x| x.write_le(&mut bytes));
    bytes
}

/// Writes a checkpoint, atomically: parameters, the optimiser's settings and state, and the caller's
/// `progress`. The progress may hold the step number, the [`Schedule`](crate::Schedule), the seed and
/// indices of random streams, and the place in the data.
///
/// ```
/// use cotangent_engine::Tensor;
/// use cotangent_manifolds::{Euclidean, Param};
/// use cotangent_optim::{RiemannianAdam, checkpoint};
/// let directory = tempfile::tempdir()?;
/// let file = directory.path().join("checkpoint.bin");
/// let mut x = Param::new("x", Euclidean, Tensor::new([1, 1], vec![0.5_f32]));
/// let mut adam = RiemannianAdam::new(1e-3)?;
/// checkpoint::save(&file, &x, &adam, &(7_u64, "epoch"))?;
/// let (step, what): (u64, String) = checkpoint::load(&file, &mut x, &mut adam)?;
/// assert_eq!((step, what.as_str()), (7, "epoch"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file cannot be written.
pub fn save<A: Algorithm, T: Float, N: Module<T>, P: Serialize>(
    file: &File,
    module: &N,
    optimiser: &Optimiser<A, T>,
    progress: &P,
) -> Result<(), CheckpointError> {
    Content::new(module, optimiser, progress).write(file)
}

/// Reads a checkpoint into a module and an optimiser, and returns the caller's progress. Build both as
/// they were built for the run that wrote the checkpoint. Only the rate may differ.
///
/// Results have the same bits only on the same instruction set. If the checkpoint was written on another
/// one, the run goes on, and a line on stderr says so: see [`instruction_set`].
///
/// # Errors
/// If the file cannot be read, is damaged, has another version, or belongs to another model, optimiser
/// or element type. The message names the parameter or the optimiser's setting that differs. Nothing is
/// changed then.
pub fn load<A: Algorithm, T: Float, N: Module<T>, P: DeserializeOwned>(
    file: &File,
    module: &mut N,
    optimiser: &mut Optimiser<A, T>,
) -> Result<P, CheckpointError> {
    Content::<P>::read(file)?.into_model(file, module, optimiser)
}

/// Reads only the caller's progress: to build the model from it, or to see which run a checkpoint
/// belongs to.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds another type of progress.
pub fn progress<P: DeserializeOwned>(file: &File) -> Result<P, CheckpointError> {
    Ok(Content::<P>::read(file)?.progress)
}

/// The instruction set that a checkpoint's run used, as named by [`cotangent_engine::instruction_set`].
/// On another one, the run may go on with other bits.
///
/// # Errors
/// As [`progress`], with this type of progress.
pub fn instruction_set<P: DeserializeOwned>(file: &File) -> Result<String, CheckpointError> {
    Ok(Content::<P>::read(file)?.instruction_set)
}

impl<P> Content<P> {
    /// The content for a module, an optimiser and the caller's progress.
    pub(crate) fn new<A: Algorithm, T: Float>(
        module: &impl Module<T>,
        optimiser: &Optimiser<A, T>,
        progress: P,
    ) -> Self {
        let mut params = Vec::new();
        module.each(|path, param| {
            let state = optimiser.states.get(&param.id()).map(|state| SavedState {
                steps: state.steps,
                momenta: encode(state.momenta.data()),
                moments: state.moments.iter().map(|v| encode(v.data())).collect(),
            });
            params.push(Saved {
                name: param.called(path).to_owned(),
                manifold: param.manifold_text(),
                shape: param.value().shape().axes().iter().map(|&n| n as u64).collect(),
                points: encode(param.value().data()),
                state,
            });
        });
        Content {
            element: T::NAME.to_owned(),
            algorithm: A::NAME.to_owned(),
            settings: optimiser.settings(),
            instruction_set: cotangent_engine::instruction_set(),
            params,
            progress,
        }
    }

    /// Writes it to a file, atomically.
    pub(crate) fn write(&self, file: &File) -> Result<(), CheckpointError>
    where
        P: Serialize,
    {
        checkpoint::save(file, VERSION, self)
    }

    /// Reads it from a file.
    pub(crate) fn read(file: &File) -> Result<Self, CheckpointError>
    where
        P: DeserializeOwned,
    {
        checkpoint::load(file, VERSION)
    }

    /// Moves it into a module and an optimiser, which stay as they are if it is of others. Returns the
    /// caller's progress.
    pub(crate) fn into_model<A: Algorithm, T: Float>(
        self,
        file: &File,
        module: &mut impl Module<T>,
        optimiser: &mut Optimiser<A, T>,
    ) -> Result<P, CheckpointError> {
        self.load(module, optimiser)
            .map_err(|message| CheckpointError::Content { path: file.to_path_buf(), message })?;
        warn_of_instruction_set(file, &self.instruction_set);
        Ok(self.progress)
    }

    fn load<A: Algorithm, T: Float>(
        &self,
        module: &mut impl Module<T>,
        optimiser: &mut Optimiser<A, T>,
    ) -> Result<(), String> {
        for (what, found, ours) in
            [("elements", &*self.element, T::NAME), ("optimiser", &*self.algorithm, A::NAME)]
        {
            if found != ours {
                return Err(format!("{what} {found:?}, this run has {ours:?}"));
            }
        }
        same_settings(&self.settings, &optimiser.settings())?;
        let moments = optimiser.algorithm.keeps(Motion::default()).unwrap_or(0);
        let mut decode = Decode { saved: self.params.iter(), moments, done: Vec::new(), outcome: Ok(()) };
        module.each(|path, param| decode.next(path, param));
        decode.outcome?;
        if let Some(saved) = decode.saved.next() {
            return Err(format!("parameter {:?} is not in this model", saved.name));
        }
        let mut decoded = decode.done.into_iter();
        module.each_mut(|_, param| {
            let (points, state) = decoded.next().expect("as many as were decoded");
            *param.value_mut() = points;
            match state {
                Some(state) => optimiser.states.insert(param.id(), state),
                None => optimiser.states.remove(&param.id()),
            };
        });
        Ok(())
    }
}

/// Says so if a checkpoint was written on another instruction set.
fn warn_of_instruction_set(file: &File, theirs: &str) {
    let ours = cotangent_engine::instruction_set();
    if theirs != ours {
        // A failure to write this line must not stop the run.
        let _ = writeln!(
            std::io::stderr(),
            "{}: written on the instruction set {theirs:?}; \
             on {ours:?} the run may go on with other last bits",
            file.display()
        );
    }
}

/// Checks that an optimiser's settings are those of the checkpoint. Names the first one that differs.
fn same_settings(found: &[(String, String)], ours: &[(String, String)]) -> Result<(), String> {
    fn value<'a>(settings: &'a [(String, String)], name: &str) -> &'a str {
        settings.iter().find(|(own, _)| own == name).map_or("none", |(_, value)| value)
    }
    for (name, _) in found.iter().chain(ours) {
        let [found, ours] = [found, ours].map(|settings| value(settings, name));
        if found != ours {
            return Err(format!("optimiser with {name}: {found} in the checkpoint, {ours} in this run"));
        }
    }
    Ok(())
}

/// Decodes the saved parameters into tensors, and compares them with the module.
struct Decode<'a, T: Float> {
    saved: std::slice::Iter<'a, Saved>,
    /// The number of second moments that this optimiser keeps.
    moments: usize,
    done: Vec<(Tensor<T>, Option<State<T>>)>,
    outcome: Result<(), String>,
}

impl<T: Float> Decode<'_, T> {
    fn decode(
        &mut self,
        name: &str,
        param: &dyn AnyParam<T>,
    ) -> Result<(Tensor<T>, Option<State<T>>), String> {
        let Some(saved) = self.saved.next() else {
            return Err("is not in the checkpoint".to_owned());
        };
        let value = param.value();
        let shape: Vec<u64> = value.shape().axes().iter().map(|&n| n as u64).collect();
        let manifold = param.manifold_text();
        if saved.name != name {
            return Err(format!("the checkpoint has {:?} in its place", saved.name));
        } else if saved.shape != shape {
            return Err(format!("of shape {:?} in the checkpoint, {shape:?} here", saved.shape));
        } else if saved.manifold != manifold {
            return Err(format!("on {} in the checkpoint, on {manifold} here", saved.manifold));
        }
        let tensor = |what: &str, bytes: &[u8], shape: &[usize]| {
            let elements: usize = shape.iter().product();
            if bytes.len() != elements * size_of::<T>() {
                return Err(format!("{what} of {} bytes for {elements} elements", bytes.len()));
            }
            Ok(Tensor::new(shape, bytes.chunks_exact(size_of::<T>()).map(T::read_le).collect()))
        };
        let points = tensor("points", &saved.points, value.shape().axes())?;
        param.contains(&points).map_err(|(row, off)| format!("row {row}: {off}"))?;
        let Some(state) = &saved.state else { return Ok((points, None)) };
        if state.moments.len() != self.moments {
            let (found, ours) = (state.moments.len(), self.moments);
            return Err(format!("{found} second moments in the checkpoint, {ours} here"));
        }
        let width = value.width().max(1);
        let moments_per_row = param.factor_count().moments;
        let moments =
            state.moments.iter().map(|v| tensor("a moment", v, &[value.len() / width, moments_per_row]));
        let state = State {
            steps: state.steps,
            momenta: tensor("momenta", &state.momenta, value.shape().axes())?,
            moments: moments.collect::<Result<_, _>>()?,
        };
        Ok((points, Some(state)))
    }
}

impl<T: Float> Decode<'_, T> {
    /// Decodes the next parameter, unless one before it failed.
    fn next(&mut self, path: &str, param: &dyn AnyParam<T>) {
        if self.outcome.is_ok() {
            let name = param.called(path);
            match self.decode(name, param) {
                Ok(decoded) => self.done.push(decoded),
                Err(message) => self.outcome = Err(format!("parameter {name:?}: {message}")),
            }
        }
    }
}
