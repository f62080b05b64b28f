//! What determines the result of a training of embeddings.

use clap::Args;
use cotangent::prelude::*;
use cotangent_apps_common::config;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, SpaceModel};
use cotangent_apps_common::memory;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::training::TrainingConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::train::all_pairs::AllPairs;
use crate::train::initial_points::Start;
use crate::train::objective::{Loss, Objective};

/// Everything that determines the result of a run, except the data.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddingConfig {
    /// Space and curvature.
    #[arg(skip = Geometry::new(SpaceModel::Poincare, None).expect("it is a geometry"))]
    pub geometry: Geometry,
    /// Dimension of the embedding.
    #[arg(skip = 5_usize)]
    pub dim: usize,
    /// Floating-point type of the coordinates.
    #[arg(long, value_enum, default_value_t = Precision::F64, help_heading = "Model")]
    pub precision: Precision,
    /// Passes over the edges, burn-in included. A graph of some hundred edges needs more, or a larger --lr.
    #[arg(long, default_value_t = 300, help_heading = "Training")]
    pub epochs: u64,
    /// What is minimised.
    #[command(flatten)]
    #[serde(default)]
    pub objective: Objective,
    /// Learn the curvature of each factor, from --kappa on.
    #[arg(long, help_heading = "Model")]
    #[serde(default)]
    pub learn_kappa: bool,
    /// Number of negative samples for each edge.
    #[arg(long, default_value_t = 50, help_heading = "Training")]
    pub negatives: usize,
    /// Let all edges of a batch share this many negative samples, in place of --negatives for each.
    #[arg(long, default_value_t = 0, hide_default_value = true, help_heading = "Training")]
    #[serde(default)]
    pub shared_negatives: usize,
    /// Draw an edge with a probability in proportion to its weight. Without this option the weight multiplies
    /// the edge's loss.
    #[arg(long, help_heading = "Training")]
    #[serde(default)]
    pub sample_by_weight: bool,
    /// Weights are similarities: neighbours of an edge's first node can be negative samples of the edge if
    /// their own edges have a smaller weight. Weights do not multiply the loss (Nickel & Kiela 2018).
    #[arg(long, help_heading = "Training")]
    #[serde(default)]
    pub rank_by_weight: bool,
    /// A node is a negative sample with a probability proportional to its degree to this power.
    #[arg(long, default_value_t = 0.0, help_heading = "Training")]
    #[serde(default)]
    pub negative_power: f64,
    /// Number of edges in a batch.
    #[arg(long, default_value_t = 10, help_heading = "Training")]
    pub batch: usize,
    /// Let threads step the points without waiting for each other: faster, but the result differs from run to
    /// run. The steps are edge by edge, whatever --batch says, or batch by batch with --shared-negatives.
    #[arg(long, help_heading = "Training")]
    #[serde(default)]
    pub lock_free: bool,
    /// Move a point x of the Poincaré ball by a step v to x + v, in place of the exponential map (Nickel &
    /// Kiela 2017). A point farther out than 1 - 1e-5 of the radius is brought back there.
    #[arg(long, help_heading = "Training")]
    #[serde(default)]
    pub retraction: bool,
    /// Where the points start.
    #[arg(long, value_enum, default_value_t = Start::Parents, help_heading = "Training")]
    #[serde(default)]
    pub start: Start,
    /// Learning rate of Riemannian SGD, per edge: the loss is summed over the batch.
    #[arg(long, default_value_t = 0.05, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Length of the burn-in in epochs: the first epochs, which have a lower learning rate.
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    pub burn_in: u64,
    /// Factor of the learning rate during the burn-in.
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, help_heading = "Training")]
    pub burn_in_factor: f64,
    /// Factor of the learning rate in the last epoch: the rate falls to it along half a cosine.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    #[serde(default = "constant")]
    pub lr_floor: f64,
    /// Number of epochs at the end in which the rate falls, with --lr-floor [default: all after the burn-in].
    #[arg(long, help_heading = "Training")]
    #[serde(default)]
    pub cool_down: Option<u64>,
    /// Share of the edges that is held out for validation, for example 0.05, drawn by the seed.
    ///
    /// It is a share of the edges between nodes that are neither roots nor leaves. Each node keeps an edge of
    /// each direction that it has. Held-out edges are not trained, and are unknown: their nodes can be drawn
    /// as negative samples. Each is ranked among the nodes that are no neighbours in the whole graph, and the
    /// list is written to validation.tsv. Of several seeds the best by validation is chosen.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Training")]
    #[serde(default)]
    pub validation: f64,
    /// Same as --validation, for a test, and test.tsv.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Training")]
    #[serde(default)]
    pub test: f64,
    /// Seed of all random draws. Same seed, same result, for any number of threads, but for --lock-free.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

impl TrainingConfig for EmbeddingConfig {
    const DATA: &'static str = "edges";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }

    /// The number of epochs may differ if the rate does not depend on it.
    fn difference(theirs: &Value, ours: &Value) -> Option<String> {
        let parsed = |value: &Value| serde_json::from_value::<Self>(value.clone());
        let mut except: &[&str] = &[];
        if let (Ok(theirs), Ok(ours)) = (parsed(theirs), parsed(ours)) {
            if theirs.geometry != ours.geometry {
                return Some("model, --kappa".to_owned());
            }
            if theirs.objective != ours.objective {
                return Some("loss, --cone-size, --margin, --radius or --temperature".to_owned());
            }
            if theirs.lr_floor == 1.0 {
                except = &["epochs"];
            }
        }
        config::json_difference::<Self>(theirs, ours, except)
    }
}

impl EmbeddingConfig {
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
        let distances = self.objective.is_of_distances();
        let is_ball = matches!(self.geometry.single(), Some(SpaceForm::PoincareBall(_)));
        let has_pairs = self.geometry.single().is_some_and(|space| AllPairs::new(space).is_some());
        let wrong = [
            (self.negative_power > 10.0, "negative-power: at most 10 is possible"),
            (self.cool_down.is_some() && self.lr_floor == 1.0, "cool-down: only with --lr-floor"),
            (
                self.learn_kappa && (!distances || self.objective.loss == Loss::Translation),
                "learn-kappa: only for --loss ranking, squared-ranking and fermi-dirac",
            ),
            (self.retraction && !is_ball, "retraction: only for --model poincare"),
            (
                self.retraction && (self.learn_kappa || !distances),
                "retraction: only for a loss of distances, without --learn-kappa",
            ),
            (shared && !ranking, "shared-negatives: only for --loss ranking"),
            (self.rank_by_weight && !ranking, "rank-by-weight: only for --loss ranking"),
            (self.rank_by_weight && shared, "rank-by-weight: not with --shared-negatives"),
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
        let &EmbeddingConfig { dim, negatives, shared_negatives: shared, .. } = self;
        // Without locks each pair is a step of its own.
        let batch = if self.lock_free && shared == 0 { 1 } else { self.batch_of(pairs) };
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
}

/// The factor of a rate that does not fall.
fn constant() -> f64 {
    1.0
}

/// The configuration of `poincare` without options.
#[cfg(test)]
pub(crate) fn default_config() -> EmbeddingConfig {
    config::parse(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_apps_common::training::difference;

    #[test]
    fn the_rate_falls_after_the_burn_in() {
        let config = EmbeddingConfig { epochs: 24, burn_in: 3, lr_floor: 0.1, ..default_config() };
        let factors = [2, 3, 13, 23].map(|epoch| config.schedule().factor(epoch));
        for (factor, expected) in factors.iter().zip([0.01, 1.0, 0.55, 0.1]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
        // At its full height up to the last ten epochs.
        let late = EmbeddingConfig { cool_down: Some(10), ..config.clone() };
        let factors = [3, 13, 18, 23].map(|epoch| late.schedule().factor(epoch));
        for (factor, expected) in factors.iter().zip([1.0, 1.0, 0.55, 0.1]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
        let default = default_config().schedule();
        assert_eq!([0, 19, 20, 299].map(|epoch| default.factor(epoch)), [0.01, 0.01, 1.0, 1.0]);
        // All epochs are a burn-in.
        let burning = EmbeddingConfig { burn_in: u64::MAX, ..default_config() };
        assert_eq!([0, 299].map(|epoch| burning.schedule().factor(epoch)), [0.01, 0.01]);
        let longer = EmbeddingConfig { epochs: 30, ..config.clone() };
        assert_eq!(difference(&longer, &config).as_deref(), Some("epochs"));
        assert_eq!(difference(&EmbeddingConfig { epochs: 30, ..default_config() }, &default_config()), None);
    }
}
