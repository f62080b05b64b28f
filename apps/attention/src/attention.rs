//! The options that choose an attention.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use cotangent::layers::{Aggregation, Score, Weights, score};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use serde::{Deserialize, Serialize};

/// The scores that an application offers, by name: those of the library, and one's own.
#[derive(Clone, Debug)]
pub struct Scores(Vec<Box<dyn Score<f32>>>);

/// Those of the library.
impl Default for Scores {
    fn default() -> Self {
        Scores(score::all())
    }
}

impl Scores {
    /// These and one more. A score of the same name is replaced; `graph` draws one that is called `distance`
    /// or `polar-distance` as points of the Poincaré disk.
    pub fn with(mut self, score: &dyn Score<f32>) -> Self {
        self.0.retain(|other| other.name() != score.name());
        self.0.push(score.duplicate());
        self
    }

    /// The scores.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Score<f32>> {
        self.0.iter().map(|score| &**score)
    }

    /// What a command line accepts: names, each with what it means.
    pub fn choices(&self) -> PossibleValuesParser {
        let choice = |score: &dyn Score<f32>| PossibleValue::new(score.name()).help(score.about());
        self.iter().map(choice).collect::<Vec<_>>().into()
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

/// An attention, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionOptions {
    /// What weights of scores are made of.
    #[arg(long, value_enum, default_value_t = WeightsOption::Softmax, help_heading = "Model")]
    pub weights: WeightsOption,
    /// How values are put together.
    #[arg(long, value_enum, default_value_t = AggregateOption::Euclidean, help_heading = "Model")]
    pub aggregate: AggregateOption,
    /// Height of the light source of penumbral cones [default: 1].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub light: Option<f64>,
    /// Radius of the balls of umbral cones [default: 0.1].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub radius: Option<f64>,
    /// What scores are multiplied with: γ, or β of distances [default: 1, and 1/√d for the dot product].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub sharpness: Option<f64>,
    /// Let γ (or β) and the offset c of scores be learned.
    #[arg(long, help_heading = "Model")]
    pub learn_sharpness: bool,
}

impl Default for AttentionOptions {
    /// The values without any of the options.
    fn default() -> Self {
        AttentionOptions {
            weights: WeightsOption::Softmax,
            aggregate: AggregateOption::Euclidean,
            light: None,
            radius: None,
            sharpness: None,
            learn_sharpness: false,
        }
    }
}

impl AttentionOptions {
    /// The score of this name, with the height or radius that was asked for, for heads of `head_dim`
    /// dimensions.
    ///
    /// # Errors
    /// If there is no such score, or an option makes no sense with it. Names the option.
    pub fn score(&self, name: &str, scores: &Scores, head_dim: usize) -> Result<Box<dyn Score<f32>>> {
        let Some(mut score) = scores.iter().find(|score| score.name() == name).map(|score| score.duplicate())
        else {
            let names: Vec<&str> = scores.iter().map(|score| score.name()).collect();
            let message = format!("--attention {name}: there are {}", names.join(", "));
            return Err(AppError::usage(message));
        };
        let settings = [("light", self.light), ("radius", self.radius)];
        for (option, number) in settings.into_iter().chain([("sharpness", self.sharpness)]) {
            options::positive(number.map(|number| (option, number)).as_slice())?;
        }
        for (option, number) in settings.iter().filter_map(|(option, number)| Some((*option, (*number)?))) {
            match score.setting() {
                Some((setting, value)) if setting == option => *value = number,
                _ => return Err(AppError::usage(format!("--{option}: not with --attention {name}"))),
            }
        }
        if score.needs_height() && head_dim < 2 {
            return Err(AppError::usage(format!("--head-dim 1: --attention {name} needs 2 or more")));
        }
        Ok(score)
    }

    /// The first option in which two attentions differ.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let differs = [
            ("weights", self.weights != other.weights),
            ("aggregate", self.aggregate != other.aggregate),
            ("light", self.light != other.light),
            ("radius", self.radius != other.radius),
            ("sharpness", self.sharpness != other.sharpness),
            ("learn-sharpness", self.learn_sharpness != other.learn_sharpness),
        ];
        options::first_true(&differs)
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
        attention.trainable = self.learn_sharpness;
    }
}
