//! The options of attention: score, its map, weights, aggregation.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};
use cotangent::layers::score::{Mapped, least_dimensions};
use cotangent::layers::{Aggregation, PointMap, Score, Weights, score};
use cotangent::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{AppError, Result};
use crate::{config, options};

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

    /// The command, whose option `--attention` accepts these scores.
    pub fn offer(&self, command: clap::Command) -> clap::Command {
        command.mut_arg("attention", |score| score.value_parser(self.choices()))
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
    /// The weighted barycentre in hyperbolic space: the Einstein midpoint of Gulcehre et al. 2019, eq. 3.
    #[value(alias = "einstein")]
    Barycentre,
}

/// How queries and keys become points of hyperbolic space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapOption {
    /// Height exp(x), x the last coordinate; the others times that (Tseng et al. 2023, eq. 10).
    Psi,
    /// Height h/(1 + exp(-x)), below the light source at h (Tseng et al. 2023, eq. 11).
    Xi,
    /// The exponential map at the origin (Tseng et al. 2023, eq. 9).
    Exp,
    /// Pseudo-polar coordinates: the last is the radius, the others the direction (Gulcehre et al. 2019).
    Polar,
    /// x as the point (√(1 + ‖x‖²), x) of the hyperboloid: a reconstruction of the Cartesian
    /// activations of Gulcehre et al. 2019, which the paper does not print.
    Weierstrass,
}

impl From<MapOption> for PointMap {
    fn from(map: MapOption) -> Self {
        match map {
            MapOption::Psi => PointMap::Psi,
            MapOption::Xi => PointMap::Xi,
            MapOption::Exp => PointMap::Exp,
            MapOption::Polar => PointMap::Polar,
            MapOption::Weierstrass => PointMap::Weierstrass,
        }
    }
}

/// How values become points of hyperbolic space, to be combined there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValuesOption {
    /// Cartesian, by the exponential map at the origin of the ball.
    #[default]
    Exp,
    /// Cartesian, by --map weierstrass: a reconstruction of Gulcehre et al. 2019.
    Weierstrass,
    /// Pseudo-polar coordinates, as --map polar (Gulcehre et al. 2019).
    Polar,
}

impl From<ValuesOption> for PointMap {
    fn from(values: ValuesOption) -> Self {
        match values {
            ValuesOption::Exp => PointMap::Exp,
            ValuesOption::Weierstrass => PointMap::Weierstrass,
            ValuesOption::Polar => PointMap::Polar,
        }
    }
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
    /// How queries and keys become points of hyperbolic space, for scores that have a choice: distance (exp
    /// or weierstrass), half-space and cones (all) [default: exp for distance, xi for penumbral cones, else
    /// psi].
    #[arg(long, value_enum, help_heading = "Model")]
    #[serde(default)]
    pub map: Option<MapOption>,
    /// How values become points that --aggregate barycentre combines.
    #[arg(long, value_enum, default_value_t = ValuesOption::Exp, help_heading = "Model")]
    #[serde(default)]
    pub values: ValuesOption,
    /// Height of the light source of penumbral cones [default: 1], or its radius for entailment cones
    /// [default: 0.2]; a positive number.
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub light: Option<f64>,
    /// Radius of the balls of umbral cones, of a light at infinity or at a point; a positive number [default:
    /// 0.1].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub radius: Option<f64>,
    /// Factor of the scores, a positive number: γ, or β for distances [default: 1, but 1/√d for the dot
    /// product of d-dimensional heads].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub sharpness: Option<f64>,
    /// c in γ·score − c; with --learn-sharpness its first value. It matters only with --weights sigmoid.
    /// For distances give a negative number: with 0 all weights are small [default: 0].
    // Files of earlier versions have none.
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    #[serde(default)]
    pub offset: Option<f64>,
    /// Learn the factor γ (or β) of the scores and their offset c [default: fixed].
    #[arg(long, help_heading = "Model")]
    pub learn_sharpness: bool,
    /// Learn a factor and an offset for each head of --learn-sharpness, not one for all heads of a layer.
    // Files of earlier versions have none.
    #[arg(long, help_heading = "Model")]
    #[serde(default)]
    pub sharpness_by_head: bool,
}

impl Default for AttentionOptions {
    /// The values when no option is given.
    fn default() -> Self {
        config::parse(&[])
    }
}

impl AttentionOptions {
    /// The score of this name, with the height or radius and the map of the options, for queries and keys of
    /// as many dimensions as the option `key` says, and values of `value` dimensions.
    ///
    /// # Errors
    /// If there is no such score, or an option does not apply to it. The error names the option.
    pub fn score(
        &self,
        name: &str,
        scores: &Scores,
        key: (&str, usize),
        value: usize,
    ) -> Result<Box<dyn Score<f32>>> {
        let Some(mut score) = scores.iter().find(|score| score.name() == name).map(|score| score.duplicate())
        else {
            let names: Vec<&str> = scores.iter().map(|score| score.name()).collect();
            let message = format!("--attention {name}: no such score; choose one of {}", names.join(", "));
            return Err(AppError::usage(message));
        };
        if self.sharpness_by_head && !self.learn_sharpness {
            return Err(AppError::usage("--sharpness-by-head: --learn-sharpness is needed"));
        }
        let settings = [("light", self.light), ("radius", self.radius)];
        for (option, number) in settings.into_iter().chain([("sharpness", self.sharpness)]) {
            options::positive(number.map(|number| (option, number)).as_slice())?;
        }
        if let Some(offset) = self.offset.filter(|offset| !offset.is_finite()) {
            return Err(AppError::usage(format!("--offset {offset}: a finite number is needed")));
        }
        for (option, number) in settings.iter().filter_map(|(option, number)| Some((*option, (*number)?))) {
            match score.setting() {
                Some((setting, _)) if setting == option => score.set(number),
                _ => return Err(AppError::usage(format!("--{option}: --attention {name} has no {option}"))),
            }
        }
        let score = self.mapped(score)?;
        let ((option, dimensions), least) = (key, least_dimensions(&*score));
        if dimensions < least {
            let message = format!("--{option} {dimensions}: --attention {name} needs {least} or more");
            return Err(AppError::usage(message));
        }
        self.check_values(value)?;
        Ok(score)
    }

    /// The score with the map of the options.
    fn mapped(&self, score: Box<dyn Score<f32>>) -> Result<Box<dyn Score<f32>>> {
        let Some(map) = self.map.map(PointMap::from) else { return Ok(score) };
        if score.maps().contains(&map) {
            return Ok(Box::new(Mapped::new(&*score, map)));
        }
        let names: Vec<&str> = score.maps().iter().map(|map| map.name()).collect();
        let choice = match &names[..] {
            [] => "has no choice of maps".to_owned(),
            names => format!("has the maps {}", names.join(", ")),
        };
        Err(AppError::usage(format!("--map {}: --attention {} {choice}", map.name(), score.name())))
    }

    /// Checks the map of values of `value` dimensions.
    fn check_values(&self, value: usize) -> Result<()> {
        let name = PointMap::from(self.values).name();
        if self.values != ValuesOption::Exp && self.aggregate == AggregateOption::Euclidean {
            let message = format!("--values {name}: only --aggregate barycentre takes values for points");
            return Err(AppError::usage(message));
        }
        if self.values == ValuesOption::Polar && value < 2 {
            return Err(AppError::usage(format!("--head-dim {value}: --values {name} needs 2 or more")));
        }
        Ok(())
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
        attention.values = self.values.into();
        if let Some(sharpness) = self.sharpness {
            attention.sharpness.value_mut().data_mut()[0] = T::nearest(sharpness);
        }
        if let Some(offset) = self.offset {
            attention.offset.value_mut().data_mut()[0] = T::nearest(offset);
        }
        attention.trainable = self.learn_sharpness;
    }

    /// Applies the options to heads of attention.
    pub fn apply_to_heads<T: Float>(&self, layer: &mut MultiHeadAttention<T>) {
        self.apply(&mut layer.attention);
        if self.sharpness_by_head {
            layer.attention = layer.attention.clone().by_head(layer.heads);
        }
    }

    /// Checks that all heads have the same factor, for attention along the edges of a graph, or with one
    /// head.
    ///
    /// # Errors
    /// If each is to have its own.
    pub fn check_one_sharpness(&self) -> Result<()> {
        if self.sharpness_by_head {
            return Err(AppError::usage("--sharpness-by-head: this attention has one factor"));
        }
        Ok(())
    }

    /// The learned factors γ (or β) of all attentions of a model, in its order, and of their heads if these
    /// have their own; none if they are fixed.
    pub fn learned_sharpness<T: Float>(&self, model: &impl Module<T>) -> Vec<f64> {
        let learned = |(name, _): &(String, Tensor<T>)| self.learn_sharpness && name.ends_with("sharpness");
        let factors = model.state().into_iter().filter(learned);
        factors.flat_map(|(_, value)| value.cast::<f64>().data().to_vec()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_and_offset_start_where_the_options_say() {
        let plain = AttentionOptions::default();
        let options = AttentionOptions { sharpness: Some(2.0), offset: Some(-4.0), ..plain };
        let mut attention = Attention::<f64>::new(&score::Distance, 3);
        options.apply(&mut attention);
        let numbers = [&attention.sharpness, &attention.offset].map(|param| param.value().data()[0]);
        assert_eq!(numbers, [2.0, -4.0]);
        assert!(options.learned_sharpness(&attention).is_empty());
        let learned = AttentionOptions { learn_sharpness: true, ..options };
        assert_eq!(learned.learned_sharpness(&attention), [2.0]);
        let options = AttentionOptions { offset: Some(f64::NAN), ..plain };
        assert_eq!(error_of(options), "--offset NaN: a finite number is needed");
    }

    /// The error of a score with these options.
    fn error_of(options: AttentionOptions) -> String {
        options.score("distance", &Scores::default(), ("head-dim", 3), 3).unwrap_err().to_string()
    }

    #[test]
    fn heads_may_learn_factors_of_their_own() {
        let plain = AttentionOptions::default();
        let learned =
            AttentionOptions { sharpness: Some(2.0), offset: Some(-4.0), learn_sharpness: true, ..plain };
        let rng = &mut rng::stream(1, 0, 0);
        let mut heads = MultiHeadAttention::<f64>::new(&score::Distance, 6, 2, [3, 3], rng);
        AttentionOptions { sharpness_by_head: true, ..learned }.apply_to_heads(&mut heads);
        assert_eq!(learned.learned_sharpness(&heads), [2.0, 2.0]);
        assert_eq!(heads.attention.offset.value().data(), [-4.0, -4.0]);
        let unlearned = AttentionOptions { sharpness_by_head: true, ..plain };
        assert_eq!(error_of(unlearned), "--sharpness-by-head: --learn-sharpness is needed");
        let one = unlearned.check_one_sharpness().unwrap_err().to_string();
        assert_eq!(one, "--sharpness-by-head: this attention has one factor");
    }

    #[test]
    #[should_panic(expected = "Scores: there is a score \"dot\" already")]
    fn names_of_scores_are_unique() {
        let _ = Scores::default().with(&score::Dot);
    }
}
