//! A trained language model.

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_attention::saved::{Saved, load_parameters};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;

use super::blocks::Stream;
use super::generator::Generator;
use super::model::LmModel;
use super::text::Lines;
use super::training::perplexity;
use super::vocabulary::Vocabulary;
use super::{LmConfig, Perplexity, Sampling};

/// A trained model.
pub struct LanguageModel {
    model: LmModel,
    vocabulary: Vocabulary,
    config: LmConfig,
    device: Device,
}

impl LanguageModel {
    /// Loads the model in the output directory of a run, to compute on a device.
    ///
    /// # Errors
    /// If a file is missing, is no file of a model, or belongs to another run.
    pub fn load(directory: &Path, scores: &Scores, device: Device) -> Result<Self> {
        let (saved, score) = Saved::<LmConfig>::read(directory, |config| config.check(scores))?;
        let file = directory.join(Vocabulary::file(saved.config.tokens));
        let vocabulary = Vocabulary::load(&file, saved.config.tokens)?;
        saved.has_vocabulary(vocabulary.fingerprint(), &file)?;
        let Saved { config, run, .. } = saved;
        let least = config.least_parameters(vocabulary.size());
        let model = load_parameters(directory, run.as_deref(), least, |rng| {
            LmModel::new(&config, &*score, vocabulary.size(), rng)
        })?;
        Ok(LanguageModel { model, vocabulary, config, device })
    }

    /// The settings of its training.
    pub fn config(&self) -> &LmConfig {
        &self.config
    }

    /// Checks a context for [`perplexity`](Self::perplexity).
    ///
    /// # Errors
    /// If it is not less than a block.
    pub fn check_context(&self, context: usize) -> Result<()> {
        LmConfig { context: Some(context), ..self.config.clone() }.check_context()
    }

    /// How well the model predicts a text, each token from at least `context` earlier ones.
    ///
    /// # Panics
    /// If the context is not less than a block.
    pub fn perplexity(&self, text: &Lines, context: usize) -> Perplexity {
        let stream = Stream::new(text, &self.vocabulary);
        let mut tape = Tape::with_device(self.device.clone());
        perplexity(&self.model, &stream, &self.config, context, &mut tape)
    }

    /// How many tokens of a text are not in the vocabulary.
    pub fn unknown(&self, text: &Lines) -> usize {
        Stream::new(text, &self.vocabulary).unknown
    }

    /// Continues a prompt by `count` tokens. Returns the prompt and the text. A prompt that is blank is the
    /// beginning of a line.
    pub fn generate(&self, prompt: &str, count: usize, sampling: &Sampling) -> String {
        let mut start = vec![self.vocabulary.end()];
        start.extend(self.vocabulary.encode(prompt.trim()));
        let text = Generator::new(&self.model, &self.device).continues(&start, count, sampling);
        self.vocabulary.decode(&[&start[1..], &text].concat())
    }
}
