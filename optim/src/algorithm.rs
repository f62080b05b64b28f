//! The part in which the optimisers differ, and the rows that it steps.

use cotangent_engine::{Float, Var};
use cotangent_manifolds::Steps;
use cotangent_manifolds::steps::{Motion, OnTape};

use crate::steps::host::{Part, Tables};

/// The part in which the optimisers differ. See [`Sgd`](crate::Sgd) and [`Adam`](crate::Adam).
pub trait Algorithm: Copy + Send + Sync + 'static {
    /// The name in checkpoints.
    const NAME: &'static str;

    /// Every setting that a step depends on, by name, for checkpoints.
    fn settings(&self) -> Vec<(String, String)>;

    /// The number of second moments that it keeps besides momenta; `None` if it keeps no state for such
    /// a motion.
    fn keeps(&self, motion: Motion) -> Option<usize>;

    /// Steps one factor of a parameter's manifold.
    #[doc(hidden)]
    fn step<M: Steps, T: Float>(
        &self,
        manifold: &M,
        rate: f64,
        motion: Motion,
        part: FactorRows<'_, '_, T>,
    ) -> Result<(), usize>;

    /// Same as [`step`](Self::step) on a tape, for step number `steps` of the parameter.
    #[doc(hidden)]
    fn step_on_tape<'t, M: Steps, T: Float>(
        &self,
        manifold: &M,
        rate: f64,
        motion: Motion,
        steps: u64,
        rows: FactorOnTape<'t, T>,
    ) -> FactorOnTape<'t, T>;
}

/// The rows of a factor in one step.
#[doc(hidden)]
pub struct FactorRows<'a, 'b, T: Float> {
    pub(crate) tables: &'a mut Tables<'b, T>,
    pub(crate) part: Part,
    /// Number of steps including this one; `None` if the algorithm keeps no state.
    pub(crate) steps: Option<u64>,
    /// The factor that multiplies the gradient.
    pub(crate) scale: f64,
}

/// The rows of a factor on a tape, before or after a step. There are no momenta if the algorithm keeps
/// no state.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct FactorOnTape<'t, T: Float> {
    pub(crate) points: Var<'t, T>,
    pub(crate) momenta: Option<Var<'t, T>>,
    pub(crate) moments: [Option<Var<'t, T>>; 2],
    pub(crate) gradients: Var<'t, T>,
}

impl<'t, T: Float> FactorOnTape<'t, T> {
    /// With `K` moments.
    pub(crate) fn with_moments<const K: usize>(self) -> OnTape<'t, T, K> {
        let FactorOnTape { points, momenta, moments, gradients } = self;
        let momenta = momenta.expect("an algorithm with moments keeps momenta");
        let moments = std::array::from_fn(|k| moments[k].expect("as many as the algorithm keeps"));
        OnTape { points, momenta, moments, gradients }
    }

    pub(crate) fn from_moments<const K: usize>(rows: OnTape<'t, T, K>) -> Self {
        let OnTape { points, momenta, moments, gradients } = rows;
        let moments = std::array::from_fn(|k| moments.get(k).copied());
        FactorOnTape { points, momenta: Some(momenta), moments, gradients }
    }
}
