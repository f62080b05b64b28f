//! Translation with a trained model.

use std::path::Path;

use clap::ValueEnum;
use cotangent::prelude::*;
use cotangent_apps_attention::saved::{Saved, TOKENIZER, load_parameters};
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::{AppError, Result};

use super::bpe::{Bpe, END};
use super::heatmap::{self, Heatmap};
use super::model::TransformerModel;
use super::{Search, TransformerConfig};

/// Checks that the model has positions for all sentences. The error is the number of the first one that is
/// too long, from 0, and what is wrong.
pub(super) fn fits(
    model: &TransformerModel,
    sources: &[Vec<u32>],
) -> std::result::Result<(), (usize, String)> {
    match sources.iter().position(|source| source.len() >= model.longest) {
        Some(number) => {
            let (tokens, most) = (sources[number].len(), model.longest - 1);
            Err((number, format!("{tokens} tokens, more than --longest {most}: positions are learned")))
        }
        None => Ok(()),
    }
}

/// Whose tokens are the queries in a picture of attention; the keys are the tokens of the source sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Queries {
    /// Those of the source sentence, in the encoder.
    Source,
    /// Those of its translation, in the decoder.
    Translation,
}

/// A trained model.
pub struct Translator {
    model: TransformerModel,
    bpe: Bpe,
    device: Device,
}

impl Translator {
    /// Loads the model in the output directory of a run, to compute on a device.
    ///
    /// # Errors
    /// If a file is missing, is no file of a model, or belongs to another run.
    pub fn load(directory: &Path, scores: &Scores, device: Device) -> Result<Self> {
        let (saved, score) = Saved::<TransformerConfig>::read(directory, |config| config.check(scores))?;
        let tokenizer = directory.join(TOKENIZER);
        let bpe = Bpe::load(&tokenizer)?;
        saved.has_vocabulary(bpe.fingerprint(), &tokenizer)?;
        let Saved { config, run, .. } = saved;
        let least = config.least_parameters(bpe.size());
        let model = load_parameters(directory, run.as_deref(), least, |rng| {
            TransformerModel::new(&config, &*score, bpe.size(), rng)
        })?;
        Ok(Translator { model, bpe, device })
    }

    /// Translates sentences, the lines of this file. Blank ones stay blank.
    ///
    /// # Errors
    /// If a sentence is too long for the model's learned positions. The error names file and line.
    pub fn translate(&self, sentences: &[String], file: &Path, search: &Search) -> Result<Vec<String>> {
        let sources: Vec<Vec<u32>> = sentences.iter().map(|s| self.bpe.encode(s.trim())).collect();
        fits(&self.model, &sources)
            .map_err(|(number, message)| AppError::line(file, number as u64 + 1, message))?;
        let filled: Vec<Vec<u32>> = sources.iter().filter(|source| !source.is_empty()).cloned().collect();
        let mut found = search.translate(&self.model, &filled, &self.device).into_iter();
        let translated = |source: &Vec<u32>| match source.is_empty() {
            true => String::new(),
            false => self.bpe.decode(&found.next().expect("a translation of each")),
        };
        Ok(sources.iter().map(translated).collect())
    }

    /// Translates a sentence, and draws the attention weights of each head of the last layer, of the encoder
    /// or the decoder (Tseng et al. 2023, Figure 5). Returns the translation.
    ///
    /// # Errors
    /// If the sentence is blank or too long, or the file cannot be written.
    pub fn heatmap(&self, sentence: &str, queries: Queries, search: &Search, path: &Path) -> Result<String> {
        let source = self.bpe.encode(sentence.trim());
        if source.is_empty() {
            return Err(AppError::usage("--sentence: the sentence is blank"));
        }
        fits(&self.model, std::slice::from_ref(&source))
            .map_err(|(_, message)| AppError::usage(format!("--sentence: {message}")))?;
        let translation =
            search.translate(&self.model, std::slice::from_ref(&source), &self.device).remove(0);
        // The picture begins with the start token, which has a position too.
        let shown = &translation[..translation.len().min(self.model.longest - 1)];
        let with_end = [&source[..], &[END]].concat();
        let columns = self.bpe.parts(&with_end);
        let (weights, rows) = match queries {
            Queries::Source => (self.model.weights_within(&with_end, &self.device), columns.clone()),
            Queries::Translation => (
                self.model.weights(&with_end, shown, &self.device),
                self.bpe.parts(&[shown, &[END]].concat()),
            ),
        };
        let title = |head: usize| format!("head {}", head + 1);
        let heads = weights.into_iter().enumerate();
        let maps: Vec<_> = heads.map(|(head, weights)| Heatmap { title: title(head), weights }).collect();
        heatmap::draw(path, &maps, &rows, &columns)?;
        Ok(self.bpe.decode(&translation))
    }
}
