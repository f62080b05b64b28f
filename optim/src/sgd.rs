//! Riemannian stochastic gradient descent: plain, with momentum, and with Nesterov's momentum. Bonnabel
//! 2013; Nickel & Kiela 2017, eq. 3; Sutskever, Martens, Dahl, Hinton 2013.

use cotangent_engine::{Float, Scalar};
use cotangent_manifolds::Steps;
use cotangent_manifolds::steps::{Motion, Moving, Rule};

use crate::algorithm::{Algorithm, FactorOnTape, FactorRows};
use crate::error::{OptimError, setting};
use crate::optimiser::{Optimiser, named};
use crate::steps::host::{Tables, with_factor};

/// Stochastic gradient descent: see [`RiemannianSgd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    momentum: f64,
    lookahead: bool,
}

impl Sgd {
    /// Without momentum.
    pub(crate) const PLAIN: Sgd = Sgd { momentum: 0.0, lookahead: false };
}

/// `x ← exp_x(−rate · egrad_to_rgrad(x, g))`, row by row.
///
/// A row-sparse gradient moves the rows it names and does not change a bit of the others.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::{Param, Point, Stereographic};
/// use cotangent_optim::RiemannianSgd;
///
/// let ball = Stereographic::new(-1.0);
/// let mut x = Param::new("x", ball, Tensor::new([1, 2], vec![0.1, 0.2]));
/// let mut sgd = RiemannianSgd::new(1.0).unwrap();
/// {
///     // One exact step on half the squared distance lands on the target.
///     let tape = Tape::<f64>::new();
///     let target = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.0, -0.7])));
///     let loss = 0.5 * x.on(&tape).dist(&target).square().sum();
///     sgd.step(&mut x, &tape.backward(loss)).unwrap();
/// }
/// assert!((x.value().row(0)[1] + 0.7).abs() < 1e-15);
/// ```
pub type RiemannianSgd<T = f32> = Optimiser<Sgd, T>;

impl<T: Float> RiemannianSgd<T> {
    /// With a learning rate.
    ///
    /// # Errors
    /// If the rate is negative or not finite.
    pub fn new(rate: f64) -> Result<Self, OptimError> {
        Optimiser::with(Sgd::PLAIN, rate)
    }

    /// With momentum: `m ← momentum · m + r`, `x ← exp_x(−rate · m)`, then m is transported to the
    /// new x. Heavy ball, Polyak 1964.
    ///
    /// # Errors
    /// If it is not in `[0, 1)`.
    pub fn momentum(mut self, momentum: f64) -> Result<Self, OptimError> {
        self.algorithm.momentum = setting("momentum", momentum, 0.0, 1.0)?;
        Ok(self)
    }

    /// With Nesterov's momentum: the step is along `momentum · m + r`, where m is already updated.
    ///
    /// # Errors
    /// If the momentum is not in `[0, 1)`.
    pub fn nesterov(mut self, momentum: f64) -> Result<Self, OptimError> {
        self.algorithm.lookahead = true;
        self.momentum(momentum)
    }
}

/// The coefficients of a step with momentum.
#[derive(Clone, Copy)]
pub(crate) struct HeavyBall {
    momentum: f64,
    rate: f64,
}

impl Rule<0> for HeavyBall {
    #[inline(always)]
    fn blend(&self) -> [f64; 2] {
        [self.momentum, 1.0]
    }
    #[inline(always)]
    fn length<S: Scalar>(&self, _: S, moments: [S; 0]) -> (S, [S; 0]) {
        (S::constant(self.rate), moments)
    }
}

impl Algorithm for Sgd {
    const NAME: &'static str = "sgd";

    fn settings(&self) -> Vec<(String, String)> {
        let Sgd { momentum, lookahead } = self;
        vec![named("momentum", momentum), named("Nesterov", lookahead)]
    }

    fn keeps(&self, motion: Motion) -> Option<usize> {
        (self.momentum > 0.0 || motion.decay != 0.0 || motion.retraction).then_some(0)
    }

    fn step<M: Steps, T: Float>(
        &self,
        manifold: &M,
        rate: f64,
        motion: Motion,
        FactorRows { tables, part, steps, scale }: FactorRows<'_, '_, T>,
    ) -> Result<(), usize> {
        let Tables { points, momenta, gradients, width, .. } = tables;
        let rows = Moving { points, momenta, moments: [], gradients, width: *width };
        if steps.is_none() {
            let work =
                |rows: Moving<'_, T, 0>| manifold.descend_rows(rows.points, rows.gradients, rows.width, rate);
            return with_factor(rows, 0, &part, scale, &work);
        }
        let rule = HeavyBall { momentum: self.momentum, rate };
        let motion = Motion { lookahead: self.lookahead, ..motion };
        let work = |rows: Moving<'_, T, 0>| manifold.step(&rule, motion, rows);
        with_factor(rows, 0, &part, scale, &work)
    }

    fn step_on_tape<'t, M: Steps, T: Float>(
        &self,
        manifold: &M,
        rate: f64,
        motion: Motion,
        _steps: u64,
        rows: FactorOnTape<'t, T>,
    ) -> FactorOnTape<'t, T> {
        let FactorOnTape { points: x, gradients: g, .. } = rows;
        if rows.momenta.is_none() {
            return FactorOnTape { points: manifold.descend_on_tape(x, g, rate), ..rows };
        }
        let rule = HeavyBall { momentum: self.momentum, rate };
        let motion = Motion { lookahead: self.lookahead, ..motion };
        FactorOnTape::from_moments(manifold.step_on_tape(rule, motion, rows.with_moments::<0>()))
    }
}

#[cfg(test)]
mod tests {
    use cotangent_engine::{Tape, Tensor};
    use cotangent_manifolds::{Euclidean, Param};

    use super::*;

    #[test]
    fn euclidean_step_is_plain_sgd() {
        let mut x = Param::new("x", Euclidean, Tensor::new([2, 2], vec![1.0_f32, 2.0, 3.0, 4.0]));
        let tape = Tape::new();
        let v = *x.on(&tape).coordinates();
        let gradients = tape.backward((v * v).sum());
        RiemannianSgd::new(0.25).unwrap().step(&mut x, &gradients).unwrap();
        assert_eq!(x.value().data(), [0.5, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn sparse_step_equals_dense_step_and_sums_duplicates() {
        let start = Tensor::from_fn([500, 3], |i| (i as f64 * 0.37).sin() * 0.4);
        let ball = cotangent_manifolds::Stereographic::new(-1.0);
        let rows: Vec<u32> = (0..400).map(|i| (i * i) % 300).collect();
        let mut sparse = Param::new("sparse", ball, start.clone());
        let mut dense = Param::new("dense", ball, start.clone());
        let mut sgd = RiemannianSgd::new(0.1).unwrap();
        let tape = Tape::new();
        let loss = sparse.on(&tape).coordinates().gather(&rows).square().sum();
        sgd.step(&mut sparse, &tape.backward(loss)).unwrap();
        let tape = Tape::new();
        // Adding 0 x² makes the gradient dense.
        let v = *dense.on(&tape).coordinates();
        let loss = v.gather(&rows).square().sum() + 0.0 * v.square().sum();
        sgd.step(&mut dense, &tape.backward(loss)).unwrap();
        assert_eq!(sparse.value().data(), dense.value().data());
        assert_eq!(sparse.value().row(301), start.row(301));
        assert_ne!(sparse.value().row(1), start.row(1));
    }

    #[test]
    fn bad_gradients_and_settings_are_refused_and_change_nothing() {
        let mut x = Param::new("weights", Euclidean, Tensor::new([2, 1], vec![1.0_f64, 0.0]));
        let before = x.value().clone();
        let tape = Tape::new();
        let gradients = tape.backward(x.on(&tape).coordinates().ln().sum());
        let error = RiemannianSgd::new(0.1).unwrap().step(&mut x, &gradients).unwrap_err();
        assert_eq!(error, OptimError::NotFinite { param: "weights".into(), row: 1 });
        assert_eq!(*x.value(), before);
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(RiemannianSgd::<f32>::new(bad).is_err());
            let sgd = || RiemannianSgd::<f32>::new(0.1).unwrap();
            assert!(sgd().momentum(bad).is_err());
            assert!(sgd().decay(bad).is_err());
            assert!(sgd().clip(bad).is_err());
            assert!(sgd().group("", bad, 0.0).is_err());
        }
        let message = RiemannianSgd::<f32>::new(0.1).unwrap().momentum(1.0).unwrap_err().to_string();
        assert_eq!(message, "momentum 1: a number of at least 0 and below 1 is needed");
    }
}
