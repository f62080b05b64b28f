//! What determines the result of a training of embeddings.

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Model};
use cotangent_apps_common::memory;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use serde::{Deserialize, Serialize};

use crate::train::initial_points::Start;
use crate::train::objective::{Loss, Objective};

/// Everything that determines the result of a run, except the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Space and curvature.
    pub geometry: Geometry,
    /// Dimension of the embedding.
    pub dim: usize,
    /// Floating-point type of the coordinates.
    pub precision: Precision,
    /// Passes over the pairs, burn-in included.
    pub epochs: u64,
    /// What is minimised.
    #[serde(default)]
    pub objective: Objective,
    /// Whether the curvature of each factor is learned.
    #[serde(default)]
    pub learn_kappa: bool,
    /// Number of negative samples for each pair. Not used if there are `shared_negatives`.
    pub negatives: usize,
    /// Number of negative samples that all pairs of a batch share; 0 if each pair has its own.
    #[serde(default)]
    pub shared_negatives: usize,
    /// Whether the weight of a pair is how often it is drawn, in place of a factor of its loss.
    #[serde(default)]
    pub sample_by_weight: bool,
    /// A node is drawn as a negative sample with a probability proportional to its degree to this power; 0
    /// draws all nodes alike.
    #[serde(default)]
    pub negative_power: f64,
    /// Number of pairs in a batch.
    pub batch: usize,
    /// Whether threads step the points without waiting for each other. The result then differs from run to
    /// run.
    #[serde(default)]
    pub lock_free: bool,
    /// Where the points start.
    #[serde(default)]
    pub start: Start,
    /// Learning rate of Riemannian SGD, per pair: the loss is summed over the batch.
    pub lr: f64,
    /// Number of first epochs, which have a lower learning rate.
    pub burn_in: u64,
    /// Factor of the learning rate during the burn-in.
    pub burn_in_factor: f64,
    /// Factor of the learning rate at the end: it falls to this along half a cosine.
    #[serde(default = "constant")]
    pub lr_floor: f64,
    /// Number of epochs at the end in which the rate falls; `None` for all after the burn-in.
    #[serde(default)]
    pub cool_down: Option<u64>,
    /// Share of the pairs between inner nodes that is held out for validation: see [`Split::new`].
    #[serde(default)]
    pub validation: f64,
    /// The same, for the test.
    #[serde(default)]
    pub test: f64,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Config {
    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self) -> Result<()> {
        options::at_least_one(&[
            ("dim", self.dim as u64),
            ("epochs", self.epochs),
            ("negatives", self.negatives as u64),
            ("batch", self.batch as u64),
        ])?;
        options::positive(&[("lr", self.lr), ("burn-in-factor", self.burn_in_factor)])?;
        options::not_negative(&[("negative-power", self.negative_power), ("lr-floor", self.lr_floor)])?;
        options::below_one(&[("validation", self.validation), ("test", self.test)])?;
        self.objective.check(self.geometry)?;
        let (ranking, shared) = (self.objective.loss == Loss::Ranking, self.shared_negatives > 0);
        let has_pairs = self.geometry.single().is_some_and(|space| space.model != Model::Sphere);
        let wrong = [
            (self.negative_power > 10.0, "negative-power: at most 10 is possible"),
            (self.cool_down.is_some() && self.lr_floor == 1.0, "cool-down: only with --lr-floor"),
            (self.learn_kappa && !ranking, "learn-kappa: only for --loss ranking"),
            (shared && !ranking, "shared-negatives: only for --loss ranking"),
            (shared && self.learn_kappa, "shared-negatives: not with --learn-kappa"),
            (shared && !has_pairs, "shared-negatives: only for hyperbolic and euclidean space"),
        ];
        match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, message)) => Err(AppError::usage(format!("--{message}"))),
            None => Ok(()),
        }
    }

    /// Checks that the arrays whose sizes options say fit in memory.
    ///
    /// # Errors
    /// If one does not; the error names the options.
    pub(crate) fn check_memory<T>(&self, nodes: usize, pairs: usize) -> Result<()> {
        let &Config { dim, negatives, shared_negatives: shared, .. } = self;
        let batch = self.batch_of(pairs);
        // The points, those that the training has learned, and these in `f64` for the evaluation.
        let points = 2.0 * memory::bytes::<T>(&[nodes, dim]) + memory::bytes::<f64>(&[nodes, dim]);
        memory::check(&[("dim", dim)], &format!("the points of {nodes} nodes"), points)?;
        if shared > 0 {
            let distances = memory::bytes::<T>(&[batch, shared]) + memory::bytes::<T>(&[shared, dim]);
            let options = [("shared-negatives", shared), ("batch", batch)];
            return memory::check(&options, "the distances of a batch", distances);
        }
        let options = [("negatives", negatives), ("batch", batch), ("dim", dim)];
        // The candidates of a pair and their gradients are in `f64`.
        let pair = 2.0 * memory::bytes::<f64>(&[negatives, dim]);
        let drawn = memory::bytes::<u32>(&[Self::drawn_together(batch).min(pairs), negatives]);
        let gradients = pair + memory::bytes::<T>(&[batch, negatives, dim]);
        memory::check(&options, "samples and gradients", drawn + gradients)?;
        // The gradients of a batch are numbered, those of both ends of a pair among them.
        if batch as f64 * (negatives as f64 + 2.0) >= f64::from(u32::MAX) {
            let message =
                format!("--negatives {negatives}, --batch {batch}: more than 2^32 gradients in a step");
            return Err(AppError::usage(message));
        }
        Ok(())
    }

    /// Number of pairs in a batch of a graph of so many pairs.
    pub(crate) fn batch_of(&self, pairs: usize) -> usize {
        self.batch.min(pairs.max(1))
    }

    /// Number of pairs whose negative samples are drawn together: whole batches, and enough pairs to be worth
    /// several threads.
    pub(crate) fn drawn_together(batch: usize) -> usize {
        (4096 / batch).max(1) * batch
    }

    /// The factor of the learning rate in each epoch. The last one has the final factor.
    pub(crate) fn schedule(&self) -> Schedule {
        let after = self.epochs.saturating_sub(self.burn_in.saturating_add(1));
        let falling = self.cool_down.unwrap_or(after).min(after);
        let schedule = Schedule::Cosine { steps: falling, floor: self.lr_floor };
        schedule.burn_in(after - falling, 1.0).burn_in(self.burn_in, self.burn_in_factor)
    }

    /// The name of the first option whose value differs from `other`'s, if any. A run can be resumed only if
    /// none does; the number of epochs may differ if the rate does not depend on it.
    pub(crate) fn difference(&self, other: &Config) -> Option<&'static str> {
        let same = Config { epochs: other.epochs, ..self.clone() };
        let differs = [
            ("model, --kappa", same.geometry != other.geometry),
            ("dim", same.dim != other.dim),
            ("precision", same.precision != other.precision),
            ("loss, --cone-size or --margin", same.objective != other.objective),
            ("learn-kappa", same.learn_kappa != other.learn_kappa),
            ("negatives", same.negatives != other.negatives),
            ("shared-negatives", same.shared_negatives != other.shared_negatives),
            ("sample-by-weight", same.sample_by_weight != other.sample_by_weight),
            ("negative-power", same.negative_power != other.negative_power),
            ("batch", same.batch != other.batch),
            ("lock-free", same.lock_free != other.lock_free),
            ("start", same.start != other.start),
            ("lr", same.lr != other.lr),
            ("burn-in", same.burn_in != other.burn_in),
            ("burn-in-factor", same.burn_in_factor != other.burn_in_factor),
            ("lr-floor", same.lr_floor != other.lr_floor),
            ("cool-down", same.cool_down != other.cool_down),
            ("epochs", self.lr_floor != 1.0 && self.epochs != other.epochs),
            ("validation", same.validation != other.validation),
            ("test", same.test != other.test),
            ("seed", same.seed != other.seed),
        ];
        options::first_true(&differs)
    }
}

/// The factor of a rate that does not fall.
fn constant() -> f64 {
    1.0
}

/// The configuration of `poincare` without options.
pub fn default_config() -> Config {
    Config {
        geometry: Geometry::new(Model::Poincare, None).expect("it is a geometry"),
        dim: 5,
        precision: Precision::F64,
        epochs: 300,
        objective: Objective::default(),
        learn_kappa: false,
        negatives: 50,
        shared_negatives: 0,
        sample_by_weight: false,
        negative_power: 0.0,
        batch: 10,
        lock_free: false,
        start: Start::Parents,
        lr: 0.05,
        burn_in: 20,
        burn_in_factor: 0.01,
        lr_floor: 1.0,
        cool_down: None,
        validation: 0.0,
        test: 0.0,
        seed: 42,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_after_the_burn_in() {
        let config = Config { epochs: 24, burn_in: 3, lr_floor: 0.1, ..default_config() };
        let factors = [2, 3, 13, 23].map(|epoch| config.schedule().factor(epoch));
        for (factor, expected) in factors.iter().zip([0.01, 1.0, 0.55, 0.1]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
        // At its full height up to the last ten epochs.
        let late = Config { cool_down: Some(10), ..config.clone() };
        let factors = [3, 13, 18, 23].map(|epoch| late.schedule().factor(epoch));
        for (factor, expected) in factors.iter().zip([1.0, 1.0, 0.55, 0.1]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
        let default = default_config().schedule();
        assert_eq!([0, 19, 20, 299].map(|epoch| default.factor(epoch)), [0.01, 0.01, 1.0, 1.0]);
        // All epochs are a burn-in.
        let burning = Config { burn_in: u64::MAX, ..default_config() };
        assert_eq!([0, 299].map(|epoch| burning.schedule().factor(epoch)), [0.01, 0.01]);
        let longer = Config { epochs: 30, ..config.clone() };
        assert_eq!(longer.difference(&config), Some("epochs"));
        assert_eq!(Config { epochs: 30, ..default_config() }.difference(&default_config()), None);
    }
}
