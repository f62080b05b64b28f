//! Adam, AdamW and AMSGrad, each in the geometry of the parameter's manifold.
//!
//! Kingma & Ba 2015; Reddi, Kale, Kumar 2018; Loshchilov & Hutter 2019. On manifolds: Bécigneul & Ganea
//! 2019, algorithm 1. There is one second moment for each row and each factor of a product, of the
//! gradient's Riemannian norm. Momenta move by parallel transport. In Euclidean space there is one
//! second moment for each coordinate, which is Adam itself.

use cotangent_engine::{Float, Scalar};
use cotangent_manifolds::Steps;
use cotangent_manifolds::steps::{Motion, Moving, Rule};

use crate::algorithm::{Algorithm, FactorOnTape, FactorRows};
use crate::error::{OptimError, setting};
use crate::optimiser::{Optimiser, named};
use crate::sgd::Sgd;
use crate::steps::host::{Tables, with_factor};

/// Adaptive moments: see [`RiemannianAdam`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    amsgrad: bool,
    /// The rate of Riemannian SGD on curved manifolds, as a multiple of the rate, if it replaces Adam there.
    sgd_on_curved: Option<f64>,
}

/// With r the Riemannian gradient and t the number of the parameter's steps:
///
/// ```text
/// m ← β₁ m + (1 − β₁) r,    v ← β₂ v + (1 − β₂) ‖r‖²
/// x ← exp_x(−rate √(1 − β₂ᵗ)/(1 − β₁ᵗ) m/(√v + ε √(1 − β₂ᵗ)))
/// m ← m, transported to the new x
/// ```
///
/// Rows that a row-sparse gradient does not name keep their points and moments to the bit. t is one
/// counter for all rows together. With [`decay`](Optimiser::decay) it is AdamW. Its methods `step`, `clip`,
/// `set_rate` and others are those of [`Optimiser`].
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::{Param, Point, Stereographic};
/// use cotangent_optim::RiemannianAdam;
///
/// let ball = Stereographic::new(-1.0);
/// let mut x = Param::new("x", ball, Tensor::new([1, 2], vec![0.1, 0.2]));
/// let mut adam = RiemannianAdam::new(0.1).unwrap();
/// for _ in 0..200 {
///     let tape = Tape::<f64>::new();
///     let target = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.0, -0.7])));
///     let loss = x.on(&tape).dist(&target).square().sum();
///     adam.step(&mut x, &tape.backward(loss)).unwrap();
/// }
/// assert!((x.value().row(0)[1] + 0.7).abs() < 1e-3);
/// ```
pub type RiemannianAdam<T = f32> = Optimiser<Adam, T>;

impl<T: Float> RiemannianAdam<T> {
    /// With a learning rate, β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸.
    ///
    /// # Errors
    /// If the rate is negative or not finite.
    pub fn new(rate: f64) -> Result<Self, OptimError> {
        Optimiser::with(
            Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, amsgrad: false, sgd_on_curved: None },
            rate,
        )
    }

    /// With other decay rates of the moments.
    ///
    /// # Errors
    /// If one is not in `[0, 1)`.
    pub fn betas(mut self, beta1: f64, beta2: f64) -> Result<Self, OptimError> {
        self.algorithm.beta1 = setting("beta1", beta1, 0.0, 1.0)?;
        self.algorithm.beta2 = setting("beta2", beta2, 0.0, 1.0)?;
        Ok(self)
    }

    /// With another ε. It is on the scale of a gradient norm and should be small.
    ///
    /// # Errors
    /// If it is not positive. With ε = 0, a row that has had no gradient so far would divide 0 by 0.
    pub fn epsilon(mut self, epsilon: f64) -> Result<Self, OptimError> {
        self.algorithm.epsilon = setting("epsilon", epsilon, f64::MIN_POSITIVE, f64::INFINITY)?;
        Ok(self)
    }

    /// With Riemannian SGD in place of Adam on all manifolds but Euclidean space, at `factor` times the
    /// rate. The program of Ganea et al. 2018 trains this way: matrices by Adam, points by SGD.
    ///
    /// # Errors
    /// If the factor is negative or not finite.
    pub fn sgd_on_curved(mut self, factor: f64) -> Result<Self, OptimError> {
        let factor = setting("rate factor of curved manifolds", factor, 0.0, f64::INFINITY)?;
        self.algorithm.sgd_on_curved = Some(factor);
        Ok(self)
    }

    /// AMSGrad: v is the largest value so far. Reddi, Kale, Kumar 2018.
    pub fn amsgrad(mut self) -> Self {
        self.algorithm.amsgrad = true;
        self
    }
}

/// The coefficients of a step. `K` is 1 for Adam and 2 for AMSGrad, whose second moment is the largest v
/// so far.
#[derive(Clone, Copy)]
pub(crate) struct Adaptive {
    beta1: f64,
    beta2: f64,
    rate: f64,
    epsilon: f64,
}

impl<const K: usize> Rule<K> for Adaptive {
    #[inline(always)]
    fn blend(&self) -> [f64; 2] {
        [self.beta1, 1.0 - self.beta1]
    }
    #[inline(always)]
    fn length<S: Scalar>(&self, square: S, mut moments: [S; K]) -> (S, [S; K]) {
        moments[0] = S::constant(self.beta2) * moments[0] + S::constant(1.0 - self.beta2) * square;
        moments[K - 1] = moments[K - 1].max(moments[0]);
        (S::constant(self.rate) / (moments[K - 1].sqrt() + S::constant(self.epsilon)), moments)
    }
}

impl Adam {
    /// The rate of SGD on this manifold, if SGD replaces Adam there.
    fn sgd<M: Steps>(&self, rate: f64) -> Option<f64> {
        let factor = self.sgd_on_curved?;
        (!M::FLAT).then_some(rate * factor)
    }

    /// The coefficients of step number `steps`.
    fn rule(&self, rate: f64, steps: u64) -> Adaptive {
        let steps = i32::try_from(steps).unwrap_or(i32::MAX);
        let bias = (1.0 - self.beta2.powi(steps)).sqrt();
        Adaptive {
            beta1: self.beta1,
            beta2: self.beta2,
            rate: rate * bias / (1.0 - self.beta1.powi(steps)),
            epsilon: self.epsilon * bias,
        }
    }
}

impl Algorithm for Adam {
    const NAME: &'static str = "adam";

    fn settings(&self) -> Vec<(String, String)> {
        let Adam { beta1, beta2, epsilon, amsgrad, sgd_on_curved } = self;
        let numbers = [("beta1", beta1), ("beta2", beta2), ("epsilon", epsilon)];
        let mut settings = numbers.map(|(name, number)| named(name, number)).to_vec();
        settings.push(named("amsgrad", amsgrad));
        let factor = sgd_on_curved.map_or("none".to_owned(), |factor| factor.to_string());
        settings.push(named("SGD on curved manifolds, rate factor", factor));
        settings
    }

    fn keeps(&self, _: Motion) -> Option<usize> {
        Some(if self.amsgrad { 2 } else { 1 })
    }

    fn step<M: Steps, T: Float>(
        &self,
        manifold: &M,
        rate: f64,
        motion: Motion,
        rows: FactorRows<'_, '_, T>,
    ) -> Result<(), usize> {
        if let Some(rate) = self.sgd::<M>(rate) {
            let steps = Sgd::PLAIN.keeps(motion).and(rows.steps);
            return Sgd::PLAIN.step(manifold, rate, motion, FactorRows { steps, ..rows });
        }
        let FactorRows { tables, part, steps, scale } = rows;
        let Tables { points, momenta, moments: [v, largest], gradients, width, moments_per_row } = tables;
        let (width, moments_per_row) = (*width, *moments_per_row);
        let rule = self.rule(rate, steps.expect("Adam keeps a state"));
        if self.amsgrad {
            let rows = Moving { points, momenta, moments: [v, largest], gradients, width };
            let work = |rows: Moving<'_, T, 2>| manifold.step(&rule, motion, rows);
            with_factor(rows, moments_per_row, &part, scale, &work)
        } else {
            let rows = Moving { points, momenta, moments: [v], gradients, width };
            let work = |rows: Moving<'_, T, 1>| manifold.step(&rule, motion, rows);
            with_factor(rows, moments_per_row, &part, scale, &work)
        }
    }

    fn step_on_tape<'t, M: Steps, T: Float>(
        &self,
        manifold: &M,
        rate: f64,
        motion: Motion,
        steps: u64,
        rows: FactorOnTape<'t, T>,
    ) -> FactorOnTape<'t, T> {
        if let Some(rate) = self.sgd::<M>(rate) {
            let momenta = Sgd::PLAIN.keeps(motion).and(rows.momenta);
            let stepped =
                Sgd::PLAIN.step_on_tape(manifold, rate, motion, steps, FactorOnTape { momenta, ..rows });
            return FactorOnTape { points: stepped.points, ..rows };
        }
        let rule = self.rule(rate, steps);
        if self.amsgrad {
            FactorOnTape::from_moments(manifold.step_on_tape(rule, motion, rows.with_moments::<2>()))
        } else {
            FactorOnTape::from_moments(manifold.step_on_tape(rule, motion, rows.with_moments::<1>()))
        }
    }
}
