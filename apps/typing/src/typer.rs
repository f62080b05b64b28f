//! A trained model: the types that it predicts, and its files.
//!
//! A directory of a run has `model.safetensors` with the parameters, and `typing.json` with all else that
//! predictions need: settings, types, characters, and where the word vectors are.

use std::path::{Path, PathBuf};

use cotangent::optim::train::{MODEL, load_model};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics;
use serde::{Deserialize, Serialize};

use crate::batches::Batch;
use crate::config::{Space, TypingConfig};
use crate::examples::{Characters, Example, wanted};
use crate::mention::Mention;
use crate::metrics::Figures;
use crate::model::space::norm;
use crate::model::{Counts, Output, TypingModel};
use crate::types::Types;
use crate::words::Words;

/// The file of a run that describes its model.
pub(crate) const DESCRIPTION: &str = "typing.json";

/// Number of mentions that are classified together.
const TOGETHER: usize = 128;

/// What a model is, besides its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The settings of the run.
    pub config: TypingConfig,
    /// The types.
    pub types: Types,
    /// The characters.
    pub characters: Characters,
    /// The file of the word vectors.
    pub word_file: PathBuf,
    /// A checksum of it.
    pub words: u32,
    /// The dimension of the vectors.
    pub width: usize,
    /// The name of the run, which its parameters have too.
    pub run: String,
}

impl Description {
    /// Writes the description into the directory of a run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        metrics::write_json(&directory.join(DESCRIPTION), self)
    }

    /// Reads the description of a run.
    ///
    /// # Errors
    /// If it cannot be read, or a setting is out of its range.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(DESCRIPTION);
        let read: Description = metrics::read_json(&path)?;
        read.config.check().map_err(|error| AppError::content(&path, error.to_string()))?;
        let types = read.types.indexed().map_err(|message| AppError::content(&path, message))?;
        Ok(Description { types, characters: read.characters.indexed(), ..read })
    }

    fn counts(&self) -> Counts {
        Counts { characters: self.characters.places(), types: self.types.len() }
    }
}

/// A type that a model predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Its name.
    #[serde(rename = "type")]
    pub name: String,
    /// Its probability, from 0 to 1.
    pub probability: f64,
}

/// A trained model with its words.
pub struct Typer<T: Float> {
    /// What the model is.
    pub description: Description,
    words: Words,
    model: TypingModel<T>,
    /// The file of the parameters.
    file: PathBuf,
    device: Device,
}

/// Gold and predicted types of mentions, and the mean distance of their text vectors from the origin.
pub(crate) struct Evaluation {
    pub(crate) figures: Figures,
    pub(crate) text_norm: f64,
}

/// Predicts the types of examples, and compares them with theirs. The probability of a type is the logistic
/// function of its logit (section 4.5).
///
/// # Errors
/// If a logit is NaN.
pub(crate) fn evaluate<T: Float>(
    model: &TypingModel<T>,
    examples: &[Example],
    types: &Types,
    threshold: f64,
    tape: &mut Tape<T>,
) -> std::result::Result<Evaluation, String> {
    let mut pairs = Vec::with_capacity(examples.len());
    let mut norms = 0.0;
    let least = logit(threshold);
    for examples in examples.chunks(TOGETHER) {
        let examples: Vec<&Example> = examples.iter().collect();
        tape.reset();
        let output = model.forward(tape, &Batch::new(&examples));
        norms += norm(output.text).sum().item();
        output.logits.with_data(|logits| {
            for (example, logits) in examples.iter().zip(logits.chunks(types.len())) {
                pairs.push((example.types.clone(), above(logits, least)?));
            }
            Ok::<_, String>(())
        })?;
    }
    let text_norm = norms / examples.len().max(1) as f64;
    Ok(Evaluation { figures: Figures::new(types, &pairs), text_norm })
}

/// The types whose logit is above `least`. If there is none: the type with the largest logit, a choice of
/// this project.
///
/// # Errors
/// If a logit is NaN.
fn above<T: Float>(logits: &[T], least: f64) -> std::result::Result<Vec<u32>, String> {
    if logits.iter().any(|x| x.to_f64().is_nan()) {
        return Err("the model gives a type the logit NaN".to_owned());
    }
    let found: Vec<u32> = (0..).zip(logits).filter(|(_, x)| x.to_f64() > least).map(|(i, _)| i).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    // The first of equal ones.
    let best =
        (0..).zip(logits).reduce(|best, next| if next.1.to_f64() > best.1.to_f64() { next } else { best });
    Ok(best.map(|(i, _)| i).into_iter().collect())
}

/// The logit of a probability.
fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

impl<T: Float> Typer<T> {
    /// Reads the model of a run, and the vectors of the words of some mentions. `words` is the file of the
    /// vectors, by default that of the training.
    ///
    /// # Errors
    /// If a file cannot be read, or the vectors are not those of the training.
    pub fn read(
        directory: &Path,
        words: Option<&Path>,
        mentions: &[Mention],
        device: &Device,
    ) -> Result<Self> {
        let description = Description::read(directory)?;
        let path = words.unwrap_or(&description.word_file);
        let read = Words::read(path, description.config.vectors, &wanted(mentions))?;
        if read.fingerprint() != description.words || read.width() != description.width {
            return Err(AppError::content(path, "these are not the word vectors of the training"));
        }
        Self::with_words(directory, description, read, device)
    }

    /// Reads the model of a run without its words, for what needs only the hyperplanes.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read_without_words(directory: &Path, device: &Device) -> Result<Self> {
        let description = Description::read(directory)?;
        let words = Words::none(description.width);
        Self::with_words(directory, description, words, device)
    }

    fn with_words(directory: &Path, description: Description, words: Words, device: &Device) -> Result<Self> {
        let config = &description.config;
        let points = words.points(config.vectors, config.spaces.encoder, config.word_radius);
        let mut model = TypingModel::new(points, description.counts(), config);
        let file = directory.join(MODEL);
        load_model(&mut model, &file, Some(&description.run))?;
        Ok(Typer { description, words, model, file, device: device.clone() })
    }

    /// A mention as numbers.
    fn example(&self, mention: &Mention) -> std::result::Result<Example, String> {
        let Description { config, types, characters, .. } = &self.description;
        Example::new(mention, &self.words, characters, types, config)
    }

    /// Mentions as numbers. `place` is the file and the line of each, for the error.
    ///
    /// # Errors
    /// If a type is not among those of the model.
    pub fn examples(
        &self,
        mentions: &[Mention],
        place: impl Fn(usize) -> (PathBuf, u64),
    ) -> Result<Vec<Example>> {
        let Description { config, types, characters, .. } = &self.description;
        Example::all(mentions, place, &self.words, characters, types, config)
    }

    /// The figures of the model on some mentions, at another threshold if one is given.
    ///
    /// # Errors
    /// If the model gives NaN.
    pub fn evaluate(&self, examples: &[Example], threshold: Option<f64>) -> Result<Figures> {
        let Description { config, types, .. } = &self.description;
        let mut tape = Tape::with_device(self.device.clone());
        let threshold = threshold.unwrap_or(config.threshold);
        let found = evaluate(&self.model, examples, types, threshold, &mut tape);
        Ok(found.map_err(|message| self.wrong(message))?.figures)
    }

    fn wrong(&self, message: String) -> AppError {
        AppError::content(&self.file, message)
    }

    /// The types of each mention, the most probable first: those above the threshold, or the best one.
    ///
    /// # Errors
    /// If a mention has a type that is not among those of the model, or the model gives NaN.
    pub fn predict(&self, mentions: &[Mention], threshold: Option<f64>) -> Result<Vec<Vec<Predicted>>> {
        let Description { config, types, .. } = &self.description;
        let least = logit(threshold.unwrap_or(config.threshold));
        let examples = mentions.iter().map(|mention| self.example(mention));
        let examples: Vec<Example> =
            examples.collect::<std::result::Result<_, _>>().map_err(AppError::usage)?;
        let mut all = Vec::with_capacity(examples.len());
        let mut wrong = None;
        self.for_batches(&examples, |_, output| {
            output.logits.with_data(|logits| {
                for logits in logits.chunks(types.len()) {
                    let mut found = above(logits, least).unwrap_or_else(|message| {
                        wrong = Some(message);
                        Vec::new()
                    });
                    let x = |number: u32| logits[number as usize].to_f64();
                    found.sort_by(|&a, &b| x(b).total_cmp(&x(a)).then(a.cmp(&b)));
                    let predicted = |number| Predicted {
                        name: types.name(number).to_owned(),
                        probability: 1.0 / (1.0 + (-x(number)).exp()),
                    };
                    all.push(found.into_iter().map(predicted).collect());
                }
            });
        });
        wrong.map_or(Ok(all), |message| Err(self.wrong(message)))
    }

    /// Calls `read` with the batches of examples, and what the model makes of them.
    pub(crate) fn for_batches(&self, examples: &[Example], mut read: impl FnMut(&Batch, &Output<'_, T>)) {
        let mut tape = Tape::with_device(self.device.clone());
        for examples in examples.chunks(TOGETHER) {
            tape.reset();
            let batch = Batch::new(&examples.iter().collect::<Vec<_>>());
            read(&batch, &self.model.forward(&tape, &batch));
        }
    }

    /// The hyperplane of each type: a point, `[types, m]`, and a normal at the origin, `[types, m]`.
    pub fn hyperplanes(&self) -> [Tensor<f64>; 2] {
        self.model.hyperplanes()
    }

    /// The geometry of the hyperplanes.
    pub fn space(&self) -> Space {
        self.description.config.spaces.mlr
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Size;

    #[test]
    fn the_best_type_is_predicted_where_none_passes() {
        let above_probability = |logits: &[f64], least| above(logits, logit(least)).unwrap();
        assert_eq!(above_probability(&[0.5, -1.0, 0.1], 0.5), [0, 2]);
        assert_eq!(above(&[-2.0_f32, -1.0, -1.0], logit(0.5)).unwrap(), [1]);
        assert_eq!(above_probability(&[-2.0, -1.0], 0.2), [1]);
        assert_eq!(above_probability(&[0.5, 2.0], 0.75), [1]);
        assert_eq!(above_probability(&[0.5, -2.0], 0.0), [0, 1]);
        assert_eq!(above_probability(&[], 0.5), [0_u32; 0]);
    }

    fn config() -> TypingConfig {
        TypingConfig::for_crowd(Size::Base, Space::Euclidean)
    }

    /// A model of these types without characters and words.
    fn description(config: TypingConfig, types: Types) -> Description {
        Description {
            config,
            types,
            characters: Characters::from_mentions(&[]),
            word_file: PathBuf::new(),
            words: 0,
            width: 2,
            run: String::new(),
        }
    }

    /// A model whose words are NaN, with a type, and an example of it.
    fn broken() -> (TypingModel<f32>, Types, Example) {
        let mention = Mention { types: vec!["x".to_owned()], ..Mention::default() };
        let counts = Counts { characters: 1, types: 1 };
        let model = TypingModel::new(Tensor::from_fn([1, 2], |_| f32::NAN), counts, &config());
        let number = || vec![0];
        let example = Example {
            context: number(),
            positions: number(),
            mention: number(),
            characters: number(),
            types: number(),
        };
        (model, Types::from_mentions([&mention]).unwrap(), example)
    }

    #[test]
    fn logits_that_are_no_numbers_are_an_error() {
        assert!(above(&[1.0, f64::NAN], 0.0).is_err());
        let (model, types, example) = broken();
        let examples = std::slice::from_ref(&example);
        let error = evaluate(&model, examples, &types, 0.5, &mut Tape::new()).err().unwrap();
        assert_eq!(error, "the model gives a type the logit NaN");
        let mention =
            Mention::new(Vec::new(), vec!["a".to_owned()], Vec::new(), vec!["x".to_owned()]).unwrap();
        let description = description(config(), types);
        let (words, file) = (Words::none(2), PathBuf::from("m"));
        let typer = Typer { description, words, model, file, device: Device::cpu() };
        let error = typer.predict(&[mention], None).unwrap_err().to_string();
        assert_eq!(error, "m: the model gives a type the logit NaN");
        assert!(typer.evaluate(examples, None).is_err());
    }

    #[test]
    fn wrong_settings_of_a_model_name_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let (_, types, _) = broken();
        let description = description(TypingConfig { word_radius: 2.0, ..config() }, types);
        description.write(dir.path()).unwrap();
        let error = Description::read(dir.path()).unwrap_err().to_string();
        assert!(error.ends_with("typing.json: --word-radius 2: at most 1 fits"), "{error}");
    }
}
