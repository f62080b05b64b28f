//! Text from a model, token by token.

use cotangent::engine::rng::Rng;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options;
use rand::RngExt;

use super::model::LmModel;
use crate::key_values::KeyValues;

/// How the next token is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    temperature: f64,
    top_k: Option<usize>,
    seed: u64,
}

impl Sampling {
    /// Draws with the probabilities to the power of 1/temperature, from the `top_k` likeliest tokens, or from
    /// all. The seed's random stream is named `"sample"`.
    ///
    /// # Errors
    /// If the temperature is not positive, or `top_k` is 0.
    pub fn new(temperature: f64, top_k: Option<usize>, seed: u64) -> Result<Self> {
        options::positive(&[("temperature", temperature)])?;
        options::at_least_one(&[("top-k", top_k.unwrap_or(1) as u64)])?;
        Ok(Sampling { temperature, top_k, seed })
    }

    /// Draws one of tokens with these log-probabilities, the largest first.
    fn draw(&self, tokens: &[u32], logs: &[f32], rng: &mut Rng) -> u32 {
        let weight = |log: &f32| (f64::from(log - logs[0]) / self.temperature).exp();
        let mut left = rng.random::<f64>() * logs.iter().map(weight).sum::<f64>();
        for (token, log) in tokens.iter().zip(logs) {
            left -= weight(log);
            if left < 0.0 {
                return *token;
            }
        }
        tokens[0] // rounding has left more than 0
    }
}

/// A text that is being made. Between two tokens only the keys and values of one block are kept; the tape is
/// reset.
pub(super) struct Generator<'a> {
    model: &'a LmModel,
    tape: Tape<f32>,
    cache: KeyValues,
    /// The tokens whose keys and values are kept.
    context: Vec<u32>,
}

impl<'a> Generator<'a> {
    pub(super) fn new(model: &'a LmModel, device: &Device) -> Self {
        let tape = Tape::with_device(device.clone());
        Generator { model, tape, cache: KeyValues::default(), context: Vec::new() }
    }

    /// Adds tokens to the text. Returns the likeliest next tokens, this many or all, with their
    /// log-probabilities. If a block is full, what follows is predicted from its last half.
    pub(super) fn add(&mut self, tokens: &[u32], likeliest: usize) -> (Vec<u32>, Vec<f32>) {
        let mut given = tokens.to_vec();
        if self.context.len() + tokens.len() > self.model.block {
            let all = [&self.context[..], tokens].concat();
            given = all[all.len() - self.model.block.div_ceil(2)..].to_vec();
            self.context.clear();
            self.cache = KeyValues::default();
        }
        self.tape.reset();
        let first = self.context.len();
        self.context.extend(&given);
        let (before, positions) = (self.cache.on(&self.tape), first..self.context.len());
        let (states, all) = self.model.states(&self.tape, &before, &given, positions);
        self.cache = KeyValues::new(&all);
        let width = states.shape().width();
        let last = states.slice(1, given.len() - 1..given.len()).reshape([1, width]);
        let logs = self.model.log_probabilities(last);
        let (logs, tokens) = logs.top_k(likeliest.min(logs.shape().width()));
        (tokens, logs.to_tensor().data().to_vec())
    }

    /// Continues a text of at least one token by this many tokens, which are drawn one by one.
    pub(super) fn continues(&mut self, start: &[u32], count: usize, sampling: &Sampling) -> Vec<u32> {
        let mut rng = rng::stream(sampling.seed, "sample", 0);
        let mut text = Vec::new();
        let mut next = start.to_vec();
        while text.len() < count {
            let (tokens, logs) = self.add(&next, sampling.top_k.unwrap_or(usize::MAX));
            next = vec![sampling.draw(&tokens, &logs, &mut rng)];
            text.extend(&next);
        }
        text
    }

    /// Bytes of the tape's buffers, and of the kept keys and values.
    #[cfg(test)]
    pub(super) fn memory(&self) -> [usize; 2] {
        [self.tape.memory().held, self.cache.bytes()]
    }
}
