//! Beam search for translations.

use clap::ValueEnum;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bpe::{BEGIN, END};
use super::model::TransformerModel;
use crate::key_values::KeyValues;

/// Beam search: its width and length penalty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    beam: usize,
    length_penalty: f64,
    length_norm: LengthNorm,
}

/// What the power of the length penalty is taken of, for a translation of n tokens, end token included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LengthNorm {
    /// n.
    #[default]
    Tokens,
    /// (5 + n) / 6: Wu et al. 2016, eq. 14 (GNMT). Vaswani et al. 2017 have it with the power 0.6.
    Gnmt,
}

impl LengthNorm {
    fn length(self, tokens: usize) -> f64 {
        match self {
            LengthNorm::Tokens => tokens as f64,
            LengthNorm::Gnmt => (5.0 + tokens as f64) / 6.0,
        }
    }
}

/// The largest number of positions whose keys and values are cached at a time: sentences × beam × largest
/// length.
const CACHED_POSITIONS: usize = 16_384;

/// The largest number of tokens of a translation, for a source of this many tokens.
fn longest(source: usize) -> usize {
    2 * source + 10
}

/// The beginning of a translation, or a finished translation.
#[derive(Clone, Debug)]
struct Hypothesis {
    tokens: Vec<u32>,
    /// The log-probability.
    score: f64,
    /// The row of the cache with the keys and values of all its tokens but the last.
    row: u32,
}

impl Search {
    /// A search that keeps `beam` hypotheses at each step; 1 is greedy search. Translations are
    /// compared by their log-probability divided by their length, as `length_norm` measures it, to the power
    /// of `length_penalty`.
    ///
    /// # Errors
    /// If `beam` is not from 1 to 100, or `length_penalty` is not finite.
    pub fn new(beam: usize, length_penalty: f64, length_norm: LengthNorm) -> Result<Self> {
        if !(1..=100).contains(&beam) {
            return Err(AppError::usage(format!("--beam {beam}: from 1 to 100 is needed")));
        }
        if !length_penalty.is_finite() {
            return Err(AppError::usage(format!("--length-penalty {length_penalty}: a number is needed")));
        }
        Ok(Search { beam, length_penalty, length_norm })
    }

    /// Number of hypotheses that are kept at each step.
    pub fn beam(&self) -> usize {
        self.beam
    }

    /// How the length of a translation is measured.
    pub fn length_norm(&self) -> LengthNorm {
        self.length_norm
    }

    /// The power of its length by which the log-probability of a translation is divided.
    pub fn length_penalty(&self) -> f64 {
        self.length_penalty
    }

    /// Translates sentences, given as tokens without special tokens. None may be empty, or longer than the
    /// model has positions for. Sentences of equal length are translated in groups; the groups run in
    /// parallel.
    pub(super) fn translate(
        &self,
        model: &TransformerModel,
        sources: &[Vec<u32>],
        device: &Device,
    ) -> Vec<Vec<u32>> {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|&i| sources[i].len());
        let groups: Vec<&[usize]> = order
            .chunk_by(|&i, &j| sources[i].len() == sources[j].len())
            .flat_map(|group| {
                let positions = self.beam * longest(sources[group[0]].len());
                group.chunks((CACHED_POSITIONS / positions).max(1))
            })
            .collect();
        let found: Vec<Vec<Hypothesis>> = groups
            .par_iter()
            .map(|group| {
                let sources: Vec<&[u32]> = group.iter().map(|&i| sources[i].as_slice()).collect();
                self.translate_group(model, &sources, device)
            })
            .collect();
        let mut translations = vec![Vec::new(); sources.len()];
        for (group, found) in groups.iter().zip(found) {
            group.iter().zip(found).for_each(|(&i, best)| translations[i] = best.tokens);
        }
        translations
    }

    /// The best translation of each sentence of a group of equal length.
    fn translate_group(
        &self,
        model: &TransformerModel,
        sources: &[&[u32]],
        device: &Device,
    ) -> Vec<Hypothesis> {
        let len = sources[0].len() + 1;
        let tokens: Vec<u32> = sources.iter().flat_map(|s| s.iter().copied().chain([END])).collect();
        let mut tape = Tape::with_device(device.clone());
        let encoded = KeyValues::new(&model.cache(model.encode(&tape, &tokens, len)));
        let mut so_far = KeyValues::default();
        self.best(sources.len(), longest(len).min(model.longest), |rows, step| {
            self.next(model, &mut tape, &encoded, &mut so_far, rows, step)
        })
    }

    /// The best hypothesis for each of several sentences, of at most `longest` tokens. `next` takes
    /// hypotheses, each with the number of its sentence, and the number of tokens that each of them has. It
    /// returns the likeliest next tokens with their log-probabilities, the same number for each hypothesis,
    /// one hypothesis after the other; and that number.
    fn best(
        &self,
        sentences: usize,
        longest: usize,
        mut next: impl FnMut(&[(u32, &Hypothesis)], usize) -> (Vec<(u32, f64)>, usize),
    ) -> Vec<Hypothesis> {
        let start = |row| vec![Hypothesis { tokens: Vec::new(), score: 0.0, row }];
        let mut alive: Vec<Vec<Hypothesis>> = (0..).take(sentences).map(start).collect();
        let mut finished: Vec<Vec<Hypothesis>> = vec![Vec::new(); sentences];
        for step in 0..longest {
            let rows: Vec<(u32, &Hypothesis)> = alive
                .iter()
                .enumerate()
                .flat_map(|(i, alive)| alive.iter().map(move |hypothesis| (i as u32, hypothesis)))
                .collect();
            if rows.is_empty() {
                break;
            }
            let (next, count) = next(&rows, step);
            let mut next = (0..).zip(next.chunks_exact(count));
            for (alive, finished) in alive.iter_mut().zip(&mut finished) {
                let mut candidates: Vec<(&Hypothesis, u32, u32, f64)> = Vec::new();
                for hypothesis in alive.iter() {
                    let (row, next) = next.next().expect("candidates for each hypothesis");
                    let score = hypothesis.score;
                    candidates.extend(next.iter().map(|&(token, log)| (hypothesis, row, token, score + log)));
                }
                candidates.sort_by(|a, b| b.3.total_cmp(&a.3));
                let mut best = Vec::new();
                for (rank, (hypothesis, row, token, score)) in candidates.into_iter().enumerate() {
                    let mut tokens = hypothesis.tokens.clone();
                    if token != END {
                        tokens.push(token);
                        best.push(Hypothesis { tokens, score, row });
                    } else if rank < self.beam {
                        finished.push(Hypothesis { tokens, score, row });
                    }
                    if best.len() == self.beam {
                        break;
                    }
                }
                *alive = if finished.len() >= self.beam { Vec::new() } else { best };
            }
        }
        let best = |finished: Vec<Hypothesis>, alive: Vec<Hypothesis>| {
            // If no hypothesis has ended in time, take the unfinished ones.
            let all = if finished.is_empty() { alive } else { finished };
            let length = |h: &Hypothesis| self.length_norm.length(h.tokens.len() + 1);
            let value = |h: &Hypothesis| h.score / length(h).powf(self.length_penalty);
            all.into_iter().max_by(|a, b| value(a).total_cmp(&value(b))).expect("a hypothesis")
        };
        finished.into_iter().zip(alive).map(|(finished, alive)| best(finished, alive)).collect()
    }

    /// The likeliest tokens at position `position` of each hypothesis, which is given with the number of its
    /// sentence: twice as many as the beam, or all, with their log-probabilities. Also returns this number.
    fn next(
        &self,
        model: &TransformerModel,
        tape: &mut Tape<f32>,
        encoded: &KeyValues,
        so_far: &mut KeyValues,
        rows: &[(u32, &Hypothesis)],
        position: usize,
    ) -> (Vec<(u32, f64)>, usize) {
        tape.reset();
        let tape = &*tape;
        let (sentences, before): (Vec<u32>, Vec<u32>) = rows.iter().map(|(i, h)| (*i, h.row)).unzip();
        let last: Vec<u32> = rows.iter().map(|(_, h)| h.tokens.last().copied().unwrap_or(BEGIN)).collect();
        let (before, encoded) = (so_far.gather(tape, &before), encoded.gather(tape, &sentences));
        let (states, all) = model.decode_cached(&before, &last, position..position + 1, &encoded);
        *so_far = KeyValues::new(&all);
        let width = states.shape().width();
        let logs = model.logits(states.reshape([rows.len(), width])).log_softmax(-1);
        let count = (2 * self.beam).min(logs.shape().width());
        let (largest, tokens) = logs.top_k(count);
        let largest = largest.to_tensor();
        (tokens.into_iter().zip(largest.data().iter().map(|log| f64::from(*log))).collect(), count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::TransformerConfig;
    use super::*;
    use cotangent_apps_common::attention::Scores;

    fn model(attention: &str, positions: &str) -> TransformerModel {
        let config = serde_json::json!({
            "attention": attention, "options": {
                "weights": "softmax", "aggregate": "euclidean", "learn_sharpness": false
            },
            "layers": 2, "width": 8, "heads": 2, "head_dim": 4, "hidden": 16, "norm": "pre",
            "positions": positions, "vocabulary": 12, "longest": 30, "epochs": 1, "batch_tokens": 1, "lr": 1,
            "warm_up": 1, "label_smoothing": 0, "dropout": 0, "decay": 0, "clip": 1, "average": 1, "seed": 1
        });
        let config: TransformerConfig = serde_json::from_value(config).unwrap();
        let score = config.check(&Scores::default()).unwrap();
        TransformerModel::new(&config, &*score, config.vocabulary, &mut rng::stream(1, 5, 0))
    }

    /// The log-probability of a sequence of tokens, each given all tokens before it.
    fn log_probability(model: &TransformerModel, source: &[u32], tokens: &[u32]) -> f64 {
        let tape = Tape::new();
        let given = [&[BEGIN], &tokens[..tokens.len() - 1]].concat();
        let source = [source, &[END]].concat();
        let encoded = model.encode(&tape, &source, source.len());
        let states = model.decode(encoded, &given, given.len()).reshape([given.len(), 8]);
        let logs = model.logits(states).log_softmax(-1).to_tensor();
        logs.rows().zip(tokens).map(|(row, token)| f64::from(row[*token as usize])).sum()
    }

    #[test]
    fn a_translation_found_step_by_step_is_as_probable_as_the_whole() {
        let sources = [[5, 9, 7], [8, 3, 6], [11, 11, 4]];
        let group: Vec<&[u32]> = sources.iter().map(|source| source.as_slice()).collect();
        for (attention, positions) in [("dot", "sinusoidal"), ("umbral", "learned"), ("dot", "hyperbolic")] {
            let model = model(attention, positions);
            for beam in [1, 4] {
                let found = Search::new(beam, 0.6, LengthNorm::Gnmt).unwrap().translate_group(
                    &model,
                    &group,
                    &Device::cpu(),
                );
                for (source, found) in sources.iter().zip(found) {
                    let cut = found.tokens.len() == longest(source.len() + 1);
                    let tokens = if cut { found.tokens } else { [&found.tokens[..], &[END]].concat() };
                    let want = log_probability(&model, source, &tokens);
                    assert!((found.score - want).abs() < 1e-4, "{attention}, {beam}: {} {want}", found.score);
                }
            }
        }
    }

    /// The likeliest first token has unlikely continuations. Greedy search takes it anyway; a beam finds the
    /// likeliest translation.
    #[test]
    fn a_beam_finds_what_greedy_search_misses() {
        const A: u32 = 4;
        const B: u32 = 5;
        const C: u32 = 6;
        // The probabilities of the next token after these tokens.
        let probabilities = |tokens: &[u32]| match tokens {
            [] => [(A, 0.5), (B, 0.4), (C, 0.1), (END, 0.0)],
            [A] => [(END, 0.3), (A, 0.25), (B, 0.25), (C, 0.2)],
            [B] => [(C, 0.9), (END, 0.05), (A, 0.03), (B, 0.02)],
            [B, C] => [(END, 0.9), (A, 0.05), (B, 0.03), (C, 0.02)],
            _ => [(END, 0.4), (A, 0.3), (B, 0.2), (C, 0.1)],
        };
        let find = |beam, penalty, norm| {
            let search = Search::new(beam, penalty, norm).unwrap();
            // Two sentences; in the second, A and B are exchanged.
            let found = search.best(2, 5, |rows, step| {
                let candidates = |&(sentence, hypothesis): &(u32, &Hypothesis)| {
                    assert_eq!(hypothesis.tokens.len(), step);
                    let swapped = |token| match token {
                        A if sentence == 1 => B,
                        B if sentence == 1 => A,
                        other => other,
                    };
                    let tokens: Vec<u32> = hypothesis.tokens.iter().map(|token| swapped(*token)).collect();
                    let next = probabilities(&tokens).map(|(token, p): (u32, f64)| (swapped(token), p.ln()));
                    next.into_iter().take(2 * beam).collect::<Vec<_>>()
                };
                (rows.iter().flat_map(candidates).collect(), 4.min(2 * beam))
            });
            let [first, second] = &found[..] else { panic!("two sentences") };
            assert!((first.score - second.score).abs() < 1e-12);
            let swapped = |(x, y): (&u32, &u32)| x == y && *x == C || x + y == A + B;
            assert!(first.tokens.iter().zip(&second.tokens).all(swapped));
            (first.tokens.clone(), first.score)
        };
        let is = |(tokens, score): (Vec<u32>, f64), want: &[u32], probability: f64| {
            assert!(tokens == want && (score - probability.ln()).abs() < 1e-12, "{tokens:?} {score}");
        };
        let (tokens, gnmt) = (LengthNorm::Tokens, LengthNorm::Gnmt);
        is(find(1, 0.0, tokens), &[A], 0.5 * 0.3);
        for beam in [2, 3, 5] {
            is(find(beam, 0.0, tokens), &[B, C], 0.4 * 0.9 * 0.9);
        }
        // The best of both by the value that is compared.
        let score = |p: f64, n: f64, length: fn(f64) -> f64, power: f64| p.ln() / length(n).powf(power);
        for (norm, length) in [(tokens, (|n| n) as fn(f64) -> f64), (gnmt, |n| (5.0 + n) / 6.0)] {
            for power in [0.6, 1.0, -4.0, 9.0] {
                let (found, log) = find(2, power, norm);
                let n = found.len() as f64 + 1.0;
                let own = log / length(n).powf(power);
                assert!(own >= score(0.4 * 0.9 * 0.9, 3.0, length, power) - 1e-12, "{norm:?} {power}");
                assert!(own >= score(0.5 * 0.3, 2.0, length, power) - 1e-12, "{norm:?} {power}");
            }
        }
        assert_eq!(gnmt.length(1), 1.0);
        // Powers below 0 favour the shorter one; GNMT's lengths are more alike, so it takes a lower power.
        let shorter = |norm| {
            let mut powers = (1..200).map(|i| -0.05 * f64::from(i));
            powers.find(|&power| find(2, power, norm).0.len() == 1)
        };
        let (by_tokens, by_gnmt) = (shorter(tokens), shorter(gnmt));
        assert!(by_gnmt.unwrap() < by_tokens.unwrap(), "{by_tokens:?} {by_gnmt:?}");
    }
}
