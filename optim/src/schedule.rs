//! Schedules: how the learning rate changes from step to step.

use serde::{Deserialize, Serialize};

use crate::error::{OptimError, setting};

/// A factor of the learning rate for each step.
///
/// ```
/// use cotangent_optim::{RiemannianAdam, Schedule};
/// let schedule = Schedule::Constant.cosine(100, 0.1).warm_up(10);
/// let mut adam = RiemannianAdam::<f32>::new(1e-3)?;
/// for step in 0..110 {
///     adam.set_rate(1e-3 * schedule.factor(step))?;
///     // …
/// }
/// assert_eq!(schedule.factor(0), 0.1);
/// assert_eq!(schedule.factor(10), 1.0);
/// assert!((schedule.factor(60) - 0.55).abs() < 1e-12);
/// assert!((schedule.factor(1000) - 0.1).abs() < 1e-12);
/// # Ok::<(), cotangent_optim::OptimError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// 1.
    #[default]
    Constant,
    /// A lower rate at the start. Nickel & Kiela 2017, section 4: a tenth for the first steps.
    BurnIn {
        /// Steps with the lower rate.
        steps: u64,
        /// The factor of that rate.
        factor: f64,
        /// What follows; its steps count from 0.
        then: Box<Schedule>,
    },
    /// `(step + 1)/steps` at the start, which ends at 1. Goyal et al. 2017.
    WarmUp {
        /// Steps of the warm-up.
        steps: u64,
        /// What follows; its steps count from 0.
        then: Box<Schedule>,
    },
    /// From 1 to `floor` along half a cosine, then `floor`. Loshchilov & Hutter 2017, eq. 5, without
    /// restarts.
    Cosine {
        /// Steps to get from 1 to the floor.
        steps: u64,
        /// The last factor.
        floor: f64,
    },
    /// `factor` to the power of the number of times that `every` steps have passed.
    Step {
        /// Steps between changes.
        every: u64,
        /// Factor of a change.
        factor: f64,
    },
    /// The transformer's schedule: linear for `warm_up` steps, then proportional to the inverse square
    /// root of the step. `min(s/w, √(w/s))` with s = step + 1. Vaswani et al. 2017, eq. 3, is this with
    /// the rate `1/√(d w)`.
    InverseSquareRoot {
        /// Steps of the warm-up.
        warm_up: u64,
    },
}

impl Schedule {
    /// The factor of the rate for step 0, 1, ….
    pub fn factor(&self, step: u64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::BurnIn { steps, factor, .. } if step < *steps => *factor,
            Schedule::WarmUp { steps, .. } if step < *steps => (step + 1) as f64 / *steps as f64,
            Schedule::BurnIn { steps, then, .. } | Schedule::WarmUp { steps, then } => {
                then.factor(step - steps)
            }
            Schedule::Cosine { steps, floor } => {
                let part = if step < *steps { step as f64 / *steps as f64 } else { 1.0 };
                floor + (1.0 - floor) * 0.5 * (1.0 + (std::f64::consts::PI * part).cos())
            }
            Schedule::Step { every, factor } => factor.powf((step / (*every).max(1)) as f64),
            Schedule::InverseSquareRoot { warm_up } => {
                let (s, w) = ((step + 1) as f64, (*warm_up).max(1) as f64);
                (s / w).min((w / s).sqrt())
            }
        }
    }

    /// This schedule after a burn-in.
    pub fn burn_in(self, steps: u64, factor: f64) -> Self {
        Schedule::BurnIn { steps, factor, then: Box::new(self) }
    }

    /// This schedule after a linear warm-up.
    pub fn warm_up(self, steps: u64) -> Self {
        Schedule::WarmUp { steps, then: Box::new(self) }
    }

    /// Keeps this schedule's burn-in and warm-up, and replaces what follows them by half a cosine.
    pub fn cosine(self, steps: u64, floor: f64) -> Self {
        match self {
            Schedule::BurnIn { steps: first, factor, then } => {
                Schedule::BurnIn { steps: first, factor, then: Box::new(then.cosine(steps, floor)) }
            }
            Schedule::WarmUp { steps: first, then } => {
                Schedule::WarmUp { steps: first, then: Box::new(then.cosine(steps, floor)) }
            }
            _ => Schedule::Cosine { steps, floor },
        }
    }
}

/// Reduces the rate when a loss has stopped falling. Called `ReduceLROnPlateau` in other libraries.
///
/// ```
/// use cotangent_optim::Plateau;
/// let mut plateau = Plateau::new(0.5, 2)?;
/// let factors: Vec<f64> = [3.0, 2.0, 2.0, 2.0, 2.0, 1.0].map(|loss| plateau.observe(loss)).to_vec();
/// assert_eq!(factors, [1.0, 1.0, 1.0, 1.0, 0.5, 0.5]);
/// # Ok::<(), cotangent_optim::OptimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    by: f64,
    patience: u64,
    threshold: f64,
    best: f64,
    waited: u64,
    factor: f64,
}

impl Plateau {
    /// Multiplies the rate by `by` after more than `patience` observations without improvement. A loss
    /// is an improvement if it is below the lowest so far by more than one part in 10⁴.
    ///
    /// # Errors
    /// If `by` is not in `[0, 1)`.
    pub fn new(by: f64, patience: u64) -> Result<Self, OptimError> {
        let by = setting("plateau factor", by, 0.0, 1.0)?;
        Ok(Plateau { by, patience, threshold: 1e-4, best: f64::INFINITY, waited: 0, factor: 1.0 })
    }

    /// Records a loss, and returns the factor of the rate from now on. NaN counts as no improvement.
    pub fn observe(&mut self, loss: f64) -> f64 {
        let needed =
            if self.best.is_finite() { self.best - self.threshold * self.best.abs() } else { self.best };
        if loss < needed {
            self.best = loss;
            self.waited = 0;
        } else {
            self.waited += 1;
        }
        if self.waited > self.patience {
            self.waited = 0;
            self.factor *= self.by;
        }
        self.factor
    }

    /// The factor of the rate.
    pub fn factor(&self) -> f64 {
        self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_have_their_values_at_every_turn() {
        let burn_in = Schedule::Step { every: 10, factor: 0.5 }.burn_in(3, 0.1);
        let factors: Vec<f64> = [0, 2, 3, 12, 13, 23].map(|step| burn_in.factor(step)).to_vec();
        assert_eq!(factors, [0.1, 0.1, 1.0, 1.0, 0.5, 0.25]);
        let root = Schedule::InverseSquareRoot { warm_up: 4 };
        assert_eq!([0, 1, 3, 15, 63].map(|step| root.factor(step)), [0.25, 0.5, 1.0, 0.5, 0.25]);
        let cosine = Schedule::Constant.warm_up(2).cosine(4, 0.0);
        let expected = [0.5, 1.0, 1.0, 0.5 + 0.125_f64.sqrt(), 0.5, 0.5 - 0.125_f64.sqrt(), 0.0, 0.0];
        for (step, expected) in expected.into_iter().enumerate() {
            assert!((cosine.factor(step as u64) - expected).abs() < 1e-15, "{step}");
        }
        // Vaswani et al., eq. 3, for a width of 512 and 4000 steps.
        let rate = |step: f64| 512_f64.powf(-0.5) * step.powf(-0.5).min(step * 4000_f64.powf(-1.5));
        let schedule = Schedule::InverseSquareRoot { warm_up: 4000 };
        for step in [1, 1000, 4000, 100_000] {
            let ours = schedule.factor(step - 1) / (512.0 * 4000_f64).sqrt();
            assert!((ours / rate(step as f64) - 1.0).abs() < 1e-14);
        }
    }

    /// NaN is no improvement, and neither is a gain of less than one part in 10⁴, whatever the sign of
    /// the loss.
    #[test]
    fn plateaus_end_with_a_real_improvement() {
        let mut plateau = Plateau::new(0.5, 1).unwrap();
        let losses = [1.0, f64::NAN, 0.99995, 0.5, -2.0, -2.0001, -2.1, -2.1, -2.1, f64::INFINITY];
        let factors = losses.map(|loss| plateau.observe(loss));
        assert_eq!(factors, [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25]);
        assert_eq!(plateau.factor(), 0.25);
        assert!(Plateau::new(1.0, 1).is_err() && Plateau::new(f64::NAN, 1).is_err());
    }
}
