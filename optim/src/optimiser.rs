//! The common part of all optimisers: a rate, groups of parameters, clipping, and state for each
//! parameter.

use std::collections::HashMap;

use cotangent_engine::{Float, GradientView, ParamId, Row, Tensor, first_not_finite};
use cotangent_manifolds::steps::{FactorCount, Motion};
use cotangent_manifolds::{FactorVisitor, Module, Param, Path, Steps, Visitor, VisitorMut};

use crate::algorithm::{Algorithm, FactorRows};
use crate::clip::{self, Stacked};
use crate::error::{OptimError, setting};
use crate::gradient_source::GradientSource;
use crate::state::State;
use crate::steps::device;
use crate::steps::host::{Part, Tables, with_copies};

/// Parameters with their own rate and weight decay.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    prefix: String,
    factor: f64,
    decay: f64,
}

/// An optimiser: moves the parameters of a module against their gradients, each in the geometry of its
/// own manifold.
///
/// [`RiemannianSgd`](crate::RiemannianSgd) and [`RiemannianAdam`](crate::RiemannianAdam) are this type.
/// The state of a parameter is kept by the parameter's id, from its first step on. A row-sparse gradient
/// moves the rows it names, and their state, and does not change a bit of the others.
#[derive(Clone, Debug)]
pub struct Optimiser<A, T: Float = f32> {
    pub(crate) algorithm: A,
    rate: f64,
    decay: f64,
    max_norm: Option<f64>,
    max_norm_each: Option<f64>,
    stacked: Vec<Stacked>,
    retraction: bool,
    groups: Vec<Group>,
    pub(crate) states: HashMap<ParamId, State<T>>,
    path: Path,
}

impl<A: Algorithm, T: Float> Optimiser<A, T> {
    pub(crate) fn with(algorithm: A, rate: f64) -> Result<Self, OptimError> {
        let mut optimiser = Optimiser {
            algorithm,
            rate: 0.0,
            decay: 0.0,
            max_norm: None,
            max_norm_each: None,
            stacked: Vec::new(),
            retraction: false,
            groups: Vec::new(),
            states: HashMap::new(),
            path: Path::root(),
        };
        optimiser.set_rate(rate)?;
        Ok(optimiser)
    }

    /// The learning rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the learning rate: see [`Schedule`](crate::Schedule).
    ///
    /// # Errors
    /// If the rate is negative or not finite.
    pub fn set_rate(&mut self, rate: f64) -> Result<(), OptimError> {
        if !(rate >= 0.0 && rate.is_finite()) {
            return Err(OptimError::Rate(rate));
        }
        self.rate = rate;
        Ok(())
    }

    /// With weight decay: every step also moves the part `rate · decay` of the way along the geodesic to
    /// the manifold's origin. If there is no such geodesic, the step is refused. The decay does not
    /// depend on the gradient and its moments: Loshchilov & Hutter 2019, algorithm 2 (AdamW).
    ///
    /// # Errors
    /// If it is negative or not finite.
    pub fn decay(mut self, decay: f64) -> Result<Self, OptimError> {
        self.decay = setting("weight decay", decay, 0.0, f64::INFINITY)?;
        Ok(self)
    }

    /// With clipping: if the norm of all gradients together (see [`clip::norm`]) is larger than `max_norm`,
    /// they are scaled down to it. If the norm is not finite, the step is refused. Pascanu, Mikolov, Bengio
    /// 2013.
    ///
    /// # Errors
    /// If the norm is not positive.
    pub fn clip(mut self, max_norm: f64) -> Result<Self, OptimError> {
        self.max_norm = Some(setting("largest gradient norm", max_norm, f64::MIN_POSITIVE, f64::INFINITY)?);
        Ok(self)
    }

    /// With clipping of each parameter by itself: if the norm of the coordinates of its gradient is larger
    /// than `max_norm`, that gradient is scaled down to it. The norm is the Euclidean one of all rows
    /// together, before the gradient becomes a Riemannian one: it depends on the manifold's coordinates.
    /// This is what the program of Ganea et al. 2018 does; [`clip`](Self::clip) does not depend on
    /// coordinates. If a norm overflows, the step ends with an error at that parameter; those before it
    /// have moved.
    ///
    /// # Errors
    /// If the norm is not positive.
    pub fn clip_each(mut self, max_norm: f64) -> Result<Self, OptimError> {
        let max_norm = setting("largest gradient norm", max_norm, f64::MIN_POSITIVE, f64::INFINITY)?;
        self.max_norm_each = Some(max_norm);
        Ok(self)
    }

    /// Parameters whose path starts with `prefix` are matrices of equal size, one below the other:
    /// [`clip_each`](Self::clip_each) clips each of these `blocks` by itself. On a device their gradients are
    /// read back for it.
    ///
    /// # Panics
    /// If there are no blocks. A step panics if a parameter's rows are not a multiple of its blocks.
    #[track_caller]
    pub fn stacked(mut self, prefix: &str, blocks: usize) -> Self {
        assert!(blocks > 0, "stacked {prefix:?}: no blocks");
        self.stacked.retain(|stacked| stacked.prefix != prefix);
        self.stacked.push(Stacked { prefix: prefix.to_owned(), blocks });
        self
    }

    /// With the manifold's retraction instead of the exponential map.
    pub fn by_retraction(mut self) -> Self {
        self.retraction = true;
        self
    }

    /// With another rate (`factor` times the optimiser's) and another weight decay for all parameters
    /// whose path starts with `prefix`. If several prefixes fit, the longest counts. A group replaces an
    /// earlier one with the same prefix.
    ///
    /// # Errors
    /// If one of them is negative or not finite.
    pub fn group(mut self, prefix: &str, factor: f64, decay: f64) -> Result<Self, OptimError> {
        let factor = setting("rate factor", factor, 0.0, f64::INFINITY)?;
        let decay = setting("weight decay", decay, 0.0, f64::INFINITY)?;
        self.groups.retain(|group| group.prefix != prefix);
        self.groups.push(Group { prefix: prefix.to_owned(), factor, decay });
        Ok(self)
    }

    /// Moves all parameters of a module, or a single one, against their gradients. Parameters that the
    /// loss does not depend on stay unchanged.
    ///
    /// # Errors
    /// Nothing is changed if a gradient is not finite, if a parameter was moved off its manifold by
    /// hand, if one was replaced by one of another shape, or if with [clipping](Self::clip) the norm of
    /// all gradients is not finite.
    ///
    /// If a finite gradient leads by overflow to a point, a momentum or a moment that is not finite, or
    /// if [weight decay](Self::decay) finds no geodesic, that row stays unchanged, with its momentum and
    /// moments. Other rows may have moved.
    ///
    /// Gradients on a device move points and state there. Two numbers are read back: whether the
    /// gradients are finite, and whether the results are. With [clipping](Self::clip) a third one is:
    /// their norm.
    pub fn step<N: Module<T>>(
        &mut self,
        module: &mut N,
        gradients: &impl GradientSource<T>,
    ) -> Result<(), OptimError> {
        // The path's memory is reused.
        let mut path = std::mem::take(&mut self.path);
        let outcome = self.step_with_path(&mut path, module, gradients);
        self.path = path;
        outcome
    }

    fn step_with_path<N: Module<T>>(
        &mut self,
        path: &mut Path,
        module: &mut N,
        gradients: &impl GradientSource<T>,
    ) -> Result<(), OptimError> {
        let mut check = Check { states: &self.states, gradients, on_device: Vec::new(), outcome: Ok(()) };
        path.restart();
        module.visit_mut(path, &mut check);
        check.outcome?;
        device_finite(gradients, &check.on_device)?;
        let scale = match self.max_norm {
            Some(max) => {
                let norm = clip::norm_with_path(path, module, gradients);
                (max / norm.map_err(|(param, norm)| OptimError::Norm { param, norm })?).min(1.0)
            }
            None => 1.0,
        };
        let mut advance =
            Advance { optimiser: self, gradients, scale, on_device: Vec::new(), outcome: Ok(()) };
        path.restart();
        module.visit_mut(path, &mut advance);
        let Advance { outcome, on_device, .. } = advance;
        outcome
            .and_then(|()| device_finite(gradients, &on_device))
            .map_err(|error| self.explained(error, path, module))
    }

    /// Finds out why the step of a row is not finite. The row itself is unchanged.
    fn explained<N: Module<T>>(&self, error: OptimError, path: &mut Path, module: &N) -> OptimError {
        struct Explain<'a, A, T: Float> {
            optimiser: &'a Optimiser<A, T>,
            param: &'a str,
            row: usize,
            by_decay: bool,
        }
        impl<A: Algorithm, T: Float> Visitor<T> for Explain<'_, A, T> {
            fn param<M: Steps>(&mut self, path: &str, param: &Param<M, T>) {
                let (_, motion) = self.optimiser.motion(path);
                if param.called(path) != self.param || motion.decay == 0.0 {
                    return;
                }
                let (manifold, x) = (param.manifold(), Row::from(param.value().row(self.row)));
                let velocity = manifold.log(&x, &manifold.origin(manifold.dimension(x.len())));
                self.by_decay = velocity.iter().any(|v| !v.is_finite());
            }
        }
        let OptimError::NotFinite { param, row } = error else { return error };
        path.restart();
        let mut explain = Explain { optimiser: self, param: &param, row, by_decay: false };
        module.visit(path, &mut explain);
        if explain.by_decay { OptimError::Decay { param, row } } else { OptimError::NotFinite { param, row } }
    }

    /// Every setting that a step depends on, except the rate, by name. They must be the same when a run
    /// is resumed.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        // Destructured in full, so that a new setting does not compile until it is stored here.
        let Optimiser {
            algorithm,
            rate: _,
            decay,
            max_norm,
            max_norm_each,
            stacked,
            retraction,
            groups,
            states: _,
            path: _,
        } = self;
        let mut settings = algorithm.settings();
        settings.push(named("weight decay", decay));
        let text = |norm: &Option<f64>| norm.map_or("none".to_owned(), |norm| norm.to_string());
        settings.push(named("largest gradient norm", text(max_norm)));
        settings.push(named("largest gradient norm of a parameter", text(max_norm_each)));
        let blocks = |Stacked { prefix, blocks }: &Stacked| {
            (format!("stacked {prefix:?}"), format!("{blocks} blocks"))
        };
        settings.extend(stacked.iter().map(blocks));
        settings.push(named("retraction", retraction));
        settings.extend(groups.iter().map(|Group { prefix, factor, decay }| {
            (format!("group {prefix:?}"), format!("rate factor {factor}, weight decay {decay}"))
        }));
        settings
    }

    /// The rate and the kind of motion for a parameter.
    fn motion(&self, path: &str) -> (f64, Motion) {
        let fitting = self.groups.iter().filter(|group| path.starts_with(&group.prefix));
        let (factor, decay) = match fitting.max_by_key(|group| group.prefix.len()) {
            Some(group) => (group.factor, group.decay),
            None => (1.0, self.decay),
        };
        let rate = self.rate * factor;
        (rate, Motion { lookahead: false, decay: rate * decay, retraction: self.retraction })
    }
}

/// A setting in the form used by checkpoints. Numbers read back to the bit.
pub(crate) fn named(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// Rows on a device that must be finite: the parameter's name, and the row numbers if they are not all
/// rows.
struct OnDevice<T: Float> {
    param: String,
    rows: Option<Vec<u32>>,
    values: Tensor<T>,
}

/// Names the first row on a device that is not finite.
fn device_finite<T: Float>(
    gradients: &impl GradientSource<T>,
    all: &[OnDevice<T>],
) -> Result<(), OptimError> {
    if all.is_empty() || device::all_finite(gradients.device(), all.iter().map(|entry| &entry.values)) {
        return Ok(());
    }
    for OnDevice { param, rows, values } in all {
        if let Some(bad) = first_not_finite(values.data()) {
            let at = bad / values.width();
            let row = rows.as_ref().map_or(at, |rows| rows[at] as usize);
            return Err(OptimError::NotFinite { param: param.clone(), row });
        }
    }
    Ok(())
}

/// Looks for everything that would make a step fail.
struct Check<'a, T: Float, G> {
    states: &'a HashMap<ParamId, State<T>>,
    gradients: &'a G,
    on_device: Vec<OnDevice<T>>,
    outcome: Result<(), OptimError>,
}

impl<T: Float, G: GradientSource<T>> Check<'_, T, G> {
    fn check<M: Steps>(&mut self, path: &str, param: &mut Param<M, T>) -> Result<(), OptimError> {
        let width = param.value().width();
        if !self.gradients.device().is_cpu() {
            let Some((rows, values)) = self.gradients.tensor(param.id(), width) else { return Ok(()) };
            self.fits(path, param, rows, values.len())?;
            let (param, rows) = (param.called(path).to_owned(), rows.map(<[u32]>::to_vec));
            self.on_device.push(OnDevice { param, rows, values });
            return Ok(());
        }
        let Some(gradient) = self.gradients.gradient(param.id()) else { return Ok(()) };
        let (values, rows) = gradient.parts();
        self.fits(path, param, rows, values.len())?;
        if let Some(bad) = first_not_finite(values) {
            let row = rows.map_or(bad / width, |rows| rows[bad / width] as usize);
            return Err(OptimError::NotFinite { param: param.called(path).to_owned(), row });
        }
        Ok(())
    }

    /// Rows are points; gradient and state match the parameter's shape. `rows` are those of a sparse
    /// gradient.
    fn fits<M: Steps>(
        &self,
        path: &str,
        param: &mut Param<M, T>,
        rows: Option<&[u32]>,
        elements: usize,
    ) -> Result<(), OptimError> {
        let verified = param.verify();
        let (value, name) = (param.value(), || param.called(path).to_owned());
        if let Err((row, source)) = verified {
            return Err(OptimError::OffManifold { param: name(), row, source });
        }
        let wrong =
            |what, found| OptimError::Shape { param: name(), shape: value.shape().to_string(), what, found };
        let (len, width) = (value.len(), value.width());
        let fits = match rows {
            None => elements == len,
            Some(rows) => {
                elements == rows.len() * width && rows.iter().all(|&row| (row as usize) < len / width)
            }
        };
        if !fits {
            return Err(wrong("a gradient", format!("{elements} elements")));
        }
        match self.states.get(&param.id()).map(|state| state.momenta.shape()) {
            Some(shape) if shape != value.shape() => Err(wrong("a state", format!("shape {shape}"))),
            _ => Ok(()),
        }
    }
}

impl<T: Float, G: GradientSource<T>> VisitorMut<T> for Check<'_, T, G> {
    fn param<M: Steps>(&mut self, path: &str, param: &mut Param<M, T>) {
        if self.outcome.is_ok() {
            self.outcome = self.check(path, param);
        }
    }
}

/// Moves every parameter.
struct Advance<'a, A, T: Float, G> {
    optimiser: &'a mut Optimiser<A, T>,
    gradients: &'a G,
    scale: f64,
    /// Values that must be finite.
    on_device: Vec<OnDevice<T>>,
    outcome: Result<(), OptimError>,
}

impl<A: Algorithm, T: Float, G: GradientSource<T>> Advance<'_, A, T, G> {
    /// How the gradient of one parameter is clipped: its factor, and for a stacked parameter the elements of
    /// the gradient, in which each block is clipped already.
    ///
    /// # Errors
    /// The norm of the gradient or of a block, if it is not finite.
    fn clip_each(
        &self,
        path: &str,
        rows: usize,
        width: usize,
        gradient: Option<GradientView<'_, T>>,
        on_device: Option<&(Option<&[u32]>, Tensor<T>)>,
    ) -> Result<(f64, Option<Vec<T>>), f64> {
        let Some(max) = self.optimiser.max_norm_each else { return Ok((1.0, None)) };
        let Some(blocks) = Stacked::blocks(&self.optimiser.stacked, path) else {
            let norm = match (gradient, on_device) {
                (Some(gradient), _) => clip::length(gradient.parts().0),
                (None, Some((_, values))) => device::length(self.gradients.device(), values),
                (None, None) => 0.0,
            };
            return Ok((clip::factor(max, norm)?, None));
        };
        assert!(
            rows.is_multiple_of(blocks),
            "optimiser: {path} has {rows} rows, which are not {blocks} blocks"
        );
        let read = || on_device.map_or(([].as_slice(), None), |(listed, values)| (values.data(), *listed));
        let (values, listed) = gradient.map_or_else(read, |gradient| gradient.parts());
        let mut values = values.to_vec();
        clip::clip_blocks(&mut values, listed, width, [rows, blocks], max)?;
        Ok((1.0, Some(values)))
    }
}

impl<A: Algorithm, T: Float, G: GradientSource<T>> VisitorMut<T> for Advance<'_, A, T, G> {
    fn param<M: Steps>(&mut self, path: &str, param: &mut Param<M, T>) {
        if self.outcome.is_err() || param.value().is_empty() {
            return;
        }
        let (rate, motion) = self.optimiser.motion(path);
        let (manifold, width) = (*param.manifold(), param.value().width());
        let device = self.gradients.device();
        let (gradient, on_device) = if device.is_cpu() {
            (self.gradients.gradient(param.id()), None)
        } else {
            (None, self.gradients.tensor(param.id(), width))
        };
        if gradient.is_none() && on_device.is_none() {
            return;
        }
        let rows = param.value().len() / width;
        let (scale, blocks) = match self.clip_each(path, rows, width, gradient, on_device.as_ref()) {
            Ok((scale, blocks)) => (self.scale * scale, blocks),
            Err(norm) => {
                self.outcome = Err(OptimError::Norm { param: param.called(path).to_owned(), norm });
                return;
            }
        };
        let (gradient, on_device) = match (&blocks, on_device) {
            (Some(blocks), Some((rows, values))) => {
                (None, Some((rows, Tensor::new(values.shape().clone(), blocks.clone()))))
            }
            (Some(values), None) => (gradient.map(|gradient| gradient.with_values(values)), None),
            (None, on_device) => (gradient, on_device),
        };
        let FactorCount { factors, moments: moments_per_row } = FactorCount::new(&manifold, width);
        let Optimiser { algorithm, states, .. } = &mut *self.optimiser;
        let mut state = algorithm.keeps(motion).map(|moments| {
            states.entry(param.id()).or_insert_with(|| State {
                steps: 0,
                momenta: Tensor::zeros(param.value().shape().clone()),
                moments: vec![Tensor::zeros([param.value().len() / width, moments_per_row]); moments],
            })
        });
        if let Some(state) = &mut state {
            state.steps += 1;
        }
        let algorithm = *algorithm;
        if let Some((rows, gradient)) = on_device {
            let tables =
                device::Tables { points: param.points_mut(), state, rows, gradient, scale, moments_per_row };
            let values = tables.step(algorithm, &manifold, rate, motion, device);
            let rows = rows.map(<[u32]>::to_vec);
            self.on_device.push(OnDevice { param: param.called(path).to_owned(), rows, values });
        } else if let Some(gradient) = gradient {
            let (gradients, listed) = gradient.parts();
            let (mut momenta, mut moments, mut steps) =
                ([].as_mut_slice(), [(); 2].map(|()| [].as_mut_slice()), None);
            if let Some(state) = state {
                (momenta, steps) = (state.momenta.data_mut(), Some(state.steps));
                for (to, table) in moments.iter_mut().zip(&mut state.moments) {
                    *to = table.data_mut();
                }
            }
            let tables = Tables {
                points: param.points_mut().data_mut(),
                momenta,
                moments,
                gradients,
                width,
                moments_per_row,
            };
            let step = |tables: Tables<'_, T>| {
                let mut step = StepFactors {
                    algorithm,
                    rate,
                    motion,
                    steps,
                    scale,
                    tables,
                    moments: 0,
                    outcome: Ok(()),
                };
                manifold.factors(0..width, &mut step);
                step.outcome
            };
            // The kernels leave a row unchanged if one of its results would not be finite. That is
            // enough if there is one factor and all rows have a gradient. Otherwise the step works on
            // copies.
            let outcome = if factors == 1 && listed.is_none() {
                step(tables)
            } else {
                with_copies(tables, listed, step)
            };
            if let Err(row) = outcome {
                self.outcome = Err(OptimError::NotFinite { param: param.called(path).to_owned(), row });
            }
        }
    }
}

/// Moves a parameter factor by factor.
struct StepFactors<'a, A, T: Float> {
    algorithm: A,
    rate: f64,
    motion: Motion,
    steps: Option<u64>,
    scale: f64,
    tables: Tables<'a, T>,
    /// The number of moments per row of the factors before this one.
    moments: usize,
    outcome: Result<(), usize>,
}

impl<A: Algorithm, T: Float> FactorVisitor for StepFactors<'_, A, T> {
    fn factor<M: Steps>(&mut self, manifold: &M, columns: std::ops::Range<usize>) {
        let before = self.moments;
        self.moments += manifold.moments(columns.len());
        if self.outcome.is_ok() {
            let part = Part { columns, moments: before..self.moments };
            let (steps, scale) = (self.steps, self.scale);
            let rows = FactorRows { tables: &mut self.tables, part, steps, scale };
            self.outcome = self.algorithm.step(manifold, self.rate, self.motion, rows);
        }
    }
}
