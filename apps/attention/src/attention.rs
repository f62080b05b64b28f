//! The options that choose an attention.

use clap::ValueEnum;
use cotangent::layers::{Aggregation, Weights};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use serde::{Deserialize, Serialize};

/// The score of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// LeakyReLU of a sum, as graph attention networks have it (Veličković et al. 2018).
    Additive,
    /// Dot product.
    Dot,
    /// Hyperbolic distance, in the ball or on the hyperboloid (Gulcehre et al. 2019).
    Distance,
    /// Hyperbolic distance in the half-space, through ψ.
    HalfSpace,
    /// Penumbral cones (Tseng et al. 2023).
    Penumbral,
    /// Umbral cones (Tseng et al. 2023).
    Umbral,
    /// Laplacian kernel.
    Laplacian,
    /// Penumbral cones as the released program of Tseng et al. 2023 has them: squared heights.
    PenumbralReleased,
    /// Umbral cones as the released program of Tseng et al. 2023 has them: the logarithm of a height
    /// divided by the head's dimensions.
    UmbralReleased,
}

impl Score {
    /// All scores.
    pub const ALL: [Self; 9] = [
        Score::Additive,
        Score::Dot,
        Score::Distance,
        Score::HalfSpace,
        Score::Penumbral,
        Score::Umbral,
        Score::Laplacian,
        Score::PenumbralReleased,
        Score::UmbralReleased,
    ];

    /// The name in files and options.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 9] = [
            "additive",
            "dot",
            "distance",
            "half-space",
            "penumbral",
            "umbral",
            "laplacian",
            "penumbral-released",
            "umbral-released",
        ];
        NAMES[self as usize]
    }
}

/// How scores become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightsOption {
    /// Softmax over the keys.
    Softmax,
    /// The logistic function of each score.
    Sigmoid,
}

/// How weighted values become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AggregateOption {
    /// The weighted sum.
    Euclidean,
    /// The barycentre in the Poincaré ball.
    Barycentre,
}

/// The coordinates of the points whose hyperbolic distance is the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoordinatesOption {
    /// Those of a tangent vector at the origin.
    Cartesian,
    /// The last is the distance from the origin, the others the direction.
    Polar,
}

/// An attention, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttentionOptions {
    /// What weights of scores are made of.
    #[arg(long, value_enum, default_value_t = WeightsOption::Softmax)]
    pub weights: WeightsOption,
    /// How values are put together.
    #[arg(long, value_enum, default_value_t = AggregateOption::Euclidean)]
    pub aggregate: AggregateOption,
    /// What coordinates --attention distance takes queries and keys for.
    #[arg(long, value_enum, default_value_t = CoordinatesOption::Cartesian)]
    pub coordinates: CoordinatesOption,
    /// Height of the light source of penumbral cones [default: 1].
    #[arg(long, allow_negative_numbers = true)]
    pub light: Option<f64>,
    /// Radius of the balls of umbral cones [default: 0.1].
    #[arg(long, allow_negative_numbers = true)]
    pub radius: Option<f64>,
    /// What scores are multiplied with: γ, or β of distances [default: 1, and 1/√d for the dot product].
    #[arg(long, allow_negative_numbers = true)]
    pub sharpness: Option<f64>,
    /// Let γ (or β) and the offset c of scores be learned.
    #[arg(long)]
    pub learn_sharpness: bool,
}

impl Default for AttentionOptions {
    /// The values without any of the options.
    fn default() -> Self {
        AttentionOptions {
            weights: WeightsOption::Softmax,
            aggregate: AggregateOption::Euclidean,
            coordinates: CoordinatesOption::Cartesian,
            light: None,
            radius: None,
            sharpness: None,
            learn_sharpness: false,
        }
    }
}

impl AttentionOptions {
    /// Refuses settings that make no sense.
    ///
    /// # Errors
    /// Names the option.
    pub fn check(&self, score: Score, head_dim: usize) -> Result<()> {
        let polar = self.coordinates == CoordinatesOption::Polar;
        let numbers = [("light", self.light), ("radius", self.radius), ("sharpness", self.sharpness)];
        for (name, number) in numbers {
            options::positive(number.map(|number| (name, number)).as_slice())?;
        }
        let of_other_scores = [
            ("coordinates polar", polar && score != Score::Distance),
            ("light", self.light.is_some() && !matches!(score, Score::Penumbral | Score::PenumbralReleased)),
            ("radius", self.radius.is_some() && !matches!(score, Score::Umbral | Score::UmbralReleased)),
        ];
        if let Some(name) = options::first_true(&of_other_scores) {
            return Err(AppError::usage(format!("--{name}: not with --attention {}", score.name())));
        }
        let heights =
            polar || !matches!(score, Score::Additive | Score::Dot | Score::Distance | Score::Laplacian);
        if heights && head_dim < 2 {
            let message = format!("--head-dim 1: --attention {} needs 2 or more", score.name());
            return Err(AppError::usage(message));
        }
        Ok(())
    }

    /// The first option in which two attentions differ.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let differs = [
            ("weights", self.weights != other.weights),
            ("aggregate", self.aggregate != other.aggregate),
            ("coordinates", self.coordinates != other.coordinates),
            ("light", self.light != other.light),
            ("radius", self.radius != other.radius),
            ("sharpness", self.sharpness != other.sharpness),
            ("learn-sharpness", self.learn_sharpness != other.learn_sharpness),
        ];
        options::first_true(&differs)
    }

    /// The similarity of a score. The defaults of height and radius are those of Tseng et al. 2023.
    pub fn similarity(&self, score: Score) -> Similarity {
        let (light, radius) = (self.light.unwrap_or(1.0), self.radius.unwrap_or(0.1));
        match score {
            Score::Additive => Similarity::Additive,
            Score::Dot => Similarity::Dot,
            Score::Distance if self.coordinates == CoordinatesOption::Polar => Similarity::PolarDistance,
            Score::Distance => Similarity::Distance,
            Score::HalfSpace => Similarity::HalfSpaceDistance,
            Score::Penumbral => Similarity::PenumbralCone { light },
            Score::Umbral => Similarity::UmbralCone { radius },
            Score::Laplacian => Similarity::Laplacian,
            Score::PenumbralReleased => Similarity::ReleasedPenumbralCone { light },
            Score::UmbralReleased => Similarity::ReleasedUmbralCone { radius },
        }
    }

    /// Applies the options to an attention.
    pub fn apply<T: Float>(&self, attention: &mut Attention<T>) {
        attention.weights = match self.weights {
            WeightsOption::Softmax => Weights::Softmax,
            WeightsOption::Sigmoid => Weights::Sigmoid,
        };
        attention.aggregation = match self.aggregate {
            AggregateOption::Euclidean => Aggregation::Sum,
            AggregateOption::Barycentre => Aggregation::Barycentre,
        };
        if let Some(sharpness) = self.sharpness {
            attention.sharpness.value_mut().data_mut()[0] = T::nearest(sharpness);
        }
        attention.learned = self.learn_sharpness;
    }
}
