//! The settings of an agent and its training.

use clap::{Arg, Args, ValueEnum};
use cotangent::layers::Score;
use cotangent_apps_common::attention::{AttentionOptions, Scores};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, memory, options};
use serde::{Deserialize, Serialize};

/// The geometry of the attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TourGeometry {
    /// Hyperbolic, in pseudo-polar coordinates.
    Polar,
    /// Hyperbolic, in Cartesian coordinates.
    Weierstrass,
    /// Euclidean.
    Euclidean,
}

impl TourGeometry {
    /// The name of the default score.
    fn score(self) -> &'static str {
        match self {
            TourGeometry::Polar => "polar-distance",
            TourGeometry::Weierstrass => "distance",
            TourGeometry::Euclidean => "dot",
        }
    }
}

/// How an agent decodes tours, beside the greedy one.
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decoding {
    /// Number of tours that are drawn for the best of them.
    #[arg(long, default_value_t = 64, help_heading = "Tours")]
    pub samples: u64,
    /// The temperature T of draws: the probability of a city is proportional to exp(Q / T), Q in the units of
    /// the square's side.
    #[arg(long, default_value_t = 0.03, allow_negative_numbers = true, help_heading = "Tours")]
    pub temperature: f64,
}

impl Decoding {
    /// Checks the settings.
    ///
    /// # Errors
    /// If one is wrong; the error names the option.
    pub fn check(&self) -> Result<()> {
        options::at_least_one(&[("samples", self.samples)])?;
        options::positive(&[("temperature", self.temperature)])?;
        let message = || AppError::usage(format!("--samples {}: at most 2¹⁶ are possible", self.samples));
        if self.samples > 1 << 16 { Err(message()) } else { Ok(()) }
    }
}

/// Everything that determines the result of a run.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(mut_arg("aggregate", |arg| by_geometry(arg, ["barycentre", "barycentre", "euclidean"])))]
#[command(mut_arg("values", |arg| by_geometry(arg, ["polar", "weierstrass", "exp"])))]
#[command(mut_arg("learn_sharpness", |arg| by_geometry(arg, ["true", "true", "false"])))]
#[command(mut_arg("map", |arg| config::decided_by(arg, "geometry", [("weierstrass", "weierstrass")])))]
pub struct TourConfig {
    /// Number of cities of each instance, uniform in the unit square.
    #[arg(long, default_value_t = 10, help_heading = "Data")]
    pub cities: usize,
    /// Instances of each validation.
    #[arg(long, default_value_t = 100, help_heading = "Data")]
    pub validation_instances: usize,
    /// Instances of the test.
    #[arg(long, default_value_t = 500, help_heading = "Data")]
    pub test_instances: usize,
    /// Seed of the instances for validation and test.
    #[arg(long, default_value_t = 1, help_heading = "Data")]
    pub data_seed: u64,
    /// Geometry of the attention: polar is --attention polar-distance --learn-sharpness --aggregate
    /// barycentre --values polar, weierstrass is --attention distance --map weierstrass --learn-sharpness
    /// --aggregate barycentre --values weierstrass, euclidean is --attention dot. Each can be given by
    /// itself. All have as many numbers for a query, a key and a value.
    #[arg(long, value_enum, default_value_t = TourGeometry::Polar, help_heading = "Model")]
    pub geometry: TourGeometry,
    /// Attention score: how well a query and a key fit [default: by --geometry].
    #[arg(long, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = config::by("geometry", TourGeometry::score))]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// How many times the attention block is applied, with the same weights.
    #[arg(long, default_value_t = 3, help_heading = "Model")]
    pub layers: usize,
    /// Number of attention heads.
    #[arg(long, default_value_t = 4, help_heading = "Model")]
    pub heads: usize,
    /// Numbers of a head's query, of its key and of its value. A city's state has --heads times as many, the
    /// hidden layers of the feed-forward network and of the read-out have four times those.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    pub head_dim: usize,
    /// Number of epochs. Each ends with a validation, a new target network and new tours.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub epochs: u64,
    /// Steps of an epoch.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub epoch_steps: u64,
    /// Decisions of a step, from the memory.
    #[arg(long, default_value_t = 64, help_heading = "Training")]
    pub batch: u64,
    /// Tours that the agent makes in each epoch, for the memory.
    #[arg(long, default_value_t = 200, help_heading = "Training")]
    pub epoch_tours: u64,
    /// Largest number of tours in the memory; a new one takes the place of the oldest.
    #[arg(long, default_value_t = 5000, help_heading = "Training")]
    pub replay: usize,
    /// Probability of a random city in the tours of the memory, after --exploration epochs. It falls linearly
    /// from 1.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Training")]
    pub epsilon: f64,
    /// Epochs in which that probability falls.
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    pub exploration: u64,
    /// Learning rate of Adam at the first step; it falls by a cosine to 0 at the last.
    #[arg(long, default_value_t = 0.003, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Seed of initial weights, training instances, exploration and replay. Same seed, same result, for any
    /// number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// How tours are drawn in the test.
    #[command(flatten)]
    pub decoding: Decoding,
}

/// The argument with a default for each geometry: polar, Weierstrass, Euclidean.
fn by_geometry(arg: Arg, [polar, weierstrass, euclidean]: [&'static str; 3]) -> Arg {
    let defaults = [("polar", polar), ("weierstrass", weierstrass), ("euclidean", euclidean)];
    config::decided_by(arg, "geometry", defaults)
}

/// The parts of a batch whose gradients are computed in parallel: their largest number, and the smallest
/// number of decisions of one.
pub(super) const PARTS: [usize; 2] = [2, 16];

/// Numbers in memory for each unit of width of a city's state, in one application of the block.
const UNITS: f64 = 40.0;

/// The largest number of cities: a tour is found one city at a time.
pub(super) const CITIES: usize = 1000;

impl TourConfig {
    /// The same with the attention of a geometry, as --geometry gives it.
    pub(super) fn in_geometry(self, geometry: TourGeometry) -> Self {
        let TourConfig {
            attention,
            options: AttentionOptions { aggregate, values, learn_sharpness, map, .. },
            ..
        } = config::parse(&["--geometry", &config::name(geometry)]);
        let options = AttentionOptions { aggregate, values, learn_sharpness, map, ..self.options };
        TourConfig { geometry, attention, options, ..self }
    }

    /// Width of a city's state, and the hidden units.
    pub(super) fn sizes(&self) -> [usize; 2] {
        let width = self.heads.saturating_mul(self.head_dim);
        [width, width.saturating_mul(4)]
    }

    /// The probability of a random city in the tours that the memory gets before this epoch, from 0 on.
    pub(super) fn epsilon(&self, epoch: u64) -> f64 {
        let share = epoch as f64 / self.exploration as f64;
        if share < 1.0 { 1.0 - share * (1.0 - self.epsilon) } else { self.epsilon }
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong, or training does not fit in memory; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        if !(3..=CITIES).contains(&self.cities) {
            let message = format!("--cities {}: from 3 to {CITIES} are needed", self.cities);
            return Err(AppError::usage(message));
        }
        options::at_least_one(&[
            ("validation-instances", self.validation_instances as u64),
            ("test-instances", self.test_instances as u64),
            ("layers", self.layers as u64),
            ("heads", self.heads as u64),
            ("head-dim", self.head_dim as u64),
            ("epochs", self.epochs),
            ("epoch-steps", self.epoch_steps),
            ("batch", self.batch),
            ("epoch-tours", self.epoch_tours),
            ("replay", self.replay as u64),
            ("exploration", self.exploration),
        ])?;
        options::layers(self.layers)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        if !(0.0..=1.0).contains(&self.epsilon) {
            let message = format!("--epsilon {}: a number from 0 to 1 is needed", self.epsilon);
            return Err(AppError::usage(message));
        }
        self.decoding.check()?;
        self.check_tours()?;
        self.check_memory()?;
        self.options.score(&self.attention, scores, ("head-dim", self.head_dim), self.head_dim)
    }

    /// Checks that the memory keeps the tours of an epoch, and that the decisions of a run have numbers.
    fn check_tours(&self) -> Result<()> {
        options::steps(self.epochs, self.epoch_steps)?;
        if self.epoch_tours > self.replay as u64 {
            let message = format!("--epoch-tours {}: --replay {} is less", self.epoch_tours, self.replay);
            return Err(AppError::usage(message));
        }
        let epochs = self.epochs.checked_add(1);
        let tours = epochs.and_then(|epochs| epochs.checked_mul(self.epoch_tours));
        let decisions = tours.and_then(|tours| tours.checked_mul(self.cities as u64 - 1));
        let message = || format!("--epochs {}: a run has less than 2³² decisions", self.epochs);
        let decisions = decisions.filter(|decisions| u32::try_from(*decisions).is_ok());
        decisions.map(drop).ok_or_else(|| AppError::usage(message()))
    }

    /// Checks that the training fits in memory: the parameters, the tours, and the states of a step.
    fn check_memory(&self) -> Result<()> {
        let ([width, hidden], batch) = (self.sizes(), usize::try_from(self.batch).unwrap_or(usize::MAX));
        let least = width as f64 * (4.0 * width as f64 + 3.0 * hidden as f64);
        memory::training(&[("heads", self.heads), ("head-dim", self.head_dim)], least, Precision::F32)?;
        let tours = memory::bytes::<f32>(&[self.replay, self.cities]);
        memory::check(&[("replay", self.replay)], "the tours in memory", tours)?;
        let options = [("batch", batch), ("cities", self.cities), ("layers", self.layers)];
        let states = UNITS * memory::bytes::<f32>(&[batch, self.cities, width, self.layers]);
        memory::check(&options, "the states of a step", states)?;
        let instances = self.validation_instances.max(self.test_instances);
        let named = [("validation-instances", self.validation_instances), ("test-instances", instances)];
        let distances = memory::bytes::<f64>(&[instances, self.cities, self.cities]);
        memory::check(&named, "the distances of the instances", distances)
    }
}

impl TrainingConfig for TourConfig {
    const DATA: &'static str = "instances";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }
}
