//! The options of attention: score, weights, aggregation.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use cotangent::layers::{Aggregation, Score, Weights, score};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use serde::{Deserialize, Serialize};

/// The attention scores that an application offers, by name: those of the library, and a program's own.
#[derive(Clone, Debug)]
pub struct Scores(Vec<Box<dyn Score<f32>>>);

/// The scores of the library.
impl Default for Scores {
    fn default() -> Self {
        Scores(score::all())
    }
}

impl Scores {
    /// Adds a score.
    ///
    /// # Panics
    /// If there is a score of the same name already.
    #[track_caller]
    pub fn with(mut self, score: &dyn Score<f32>) -> Self {
        let name = score.name();
        assert!(self.iter().all(|other| other.name() != name), "Scores: there is a score {name:?} already");
        self.0.push(score.duplicate());
        self
    }

    /// The scores.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Score<f32>> {
        self.0.iter().map(|score| &**score)
    }

    /// The names that a command line accepts, each with its line of help.
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
    /// The logistic function of each score; the weights do not sum to 1.
    Sigmoid,
}

/// How weighted values become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AggregateOption {
    /// The weighted sum.
    Euclidean,
    /// The weighted barycentre in the Poincaré ball.
    Barycentre,
}

/// The options of attention except the score's name, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttentionOptions {
    /// How attention scores become weights.
    #[arg(long, value_enum, default_value_t = WeightsOption::Softmax, help_heading = "Model")]
    pub weights: WeightsOption,
    /// How the weighted values are combined.
    #[arg(long, value_enum, default_value_t = AggregateOption::Euclidean, help_heading = "Model")]
    pub aggregate: AggregateOption,
    /// Height of the light source of penumbral cones, a positive number [default: 1].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub light: Option<f64>,
    /// Radius of the balls of umbral cones, a positive number [default: 0.1].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub radius: Option<f64>,
    /// Factor of the scores, a positive number: γ, or β for distances [default: 1, but 1/√d for the dot
    /// product of d-dimensional heads].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub sharpness: Option<f64>,
    /// Learn the factor γ (or β) of the scores and their offset c [default: fixed, with c = 0].
    #[arg(long, help_heading = "Model")]
    pub learn_sharpness: bool,
}

impl Default for AttentionOptions {
    /// The values when no option is given.
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
    /// The score of this name, with the height or radius of the options, for queries and keys whose
    /// dimensions the option `key` gives.
    ///
    /// # Errors
    /// If there is no such score, or an option does not apply to it. The error names the option.
    pub fn score(&self, name: &str, scores: &Scores, key: (&str, usize)) -> Result<Box<dyn Score<f32>>> {
        let Some(mut score) = scores.iter().find(|score| score.name() == name).map(|score| score.duplicate())
        else {
            let names: Vec<&str> = scores.iter().map(|score| score.name()).collect();
            let message = format!("--attention {name}: no such score; choose one of {}", names.join(", "));
            return Err(AppError::usage(message));
        };
        let settings = [("light", self.light), ("radius", self.radius)];
        for (option, number) in settings.into_iter().chain([("sharpness", self.sharpness)]) {
            options::positive(number.map(|number| (option, number)).as_slice())?;
        }
        for (option, number) in settings.iter().filter_map(|(option, number)| Some((*option, (*number)?))) {
            match score.setting() {
                Some((setting, _)) if setting == option => score.set(number),
                _ => return Err(AppError::usage(format!("--{option}: --attention {name} has no {option}"))),
            }
        }
        let (option, dimensions) = key;
        if score.needs_height() && dimensions < 2 {
            return Err(AppError::usage(format!("--{option} 1: --attention {name} needs 2 or more")));
        }
        Ok(score)
    }

    /// The name of the first option whose value differs, if any.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "Scores: there is a score \"dot\" already")]
    fn names_of_scores_are_unique() {
        let _ = Scores::default().with(&score::Dot);
    }
}
