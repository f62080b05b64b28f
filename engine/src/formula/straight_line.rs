//! Row formulas one after another, as data.

use smallvec::SmallVec;

use crate::formula::plan::RowPlan;

/// A row formula and what it is applied to.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) plan: &'static RowPlan,
    /// Which vectors it takes: the inputs are counted first, then the results of earlier steps.
    pub(crate) vectors: SmallVec<[usize; 4]>,
    pub(crate) params: SmallVec<[f64; 4]>,
}

/// A straight-line program: what a method of a geometry does to its vectors, as row formulas with constant
/// parameters. The result is that of the last step. See [`StraightLine::vector`] and
/// [`StraightLine::number`].
#[derive(Clone, Debug)]
pub struct StraightLine {
    /// How many vectors it takes, and how many coordinates they have.
    pub(crate) inputs: usize,
    pub(crate) width: usize,
    pub(crate) steps: Vec<Step>,
}

impl StraightLine {
    /// Its only step.
    ///
    /// # Panics
    /// If the program is not one number formula of its vectors, in their order.
    pub(crate) fn into_number(self) -> Step {
        let inputs = self.inputs;
        let one = <[Step; 1]>::try_from(self.steps).ok().map(|[step]| step);
        let is_number = |step: &Step| !step.plan.vector && step.vectors.iter().copied().eq(0..inputs);
        one.filter(is_number).expect("a program of one number formula of its vectors, in their order")
    }
}
