//! Beam search.

use cotangent::prelude::*;
use rayon::prelude::*;

use super::model::Model;
use crate::bpe::{BEGIN, END};
use crate::error::{AppError, Result};

/// How translations are searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    beam: usize,
    length_penalty: f64,
}

/// Places that are computed together: sentences, times the beam, times what may be their length.
const TOGETHER: usize = 16_384;

/// The longest translation of a sentence of so many parts.
fn longest(source: usize) -> usize {
    2 * source + 10
}

/// What there is of a translation.
#[derive(Clone, Debug)]
struct Hypothesis {
    parts: Vec<u32>,
    /// Logarithm of its probability.
    score: f64,
}

impl Search {
    /// Keeps `beam` beginnings at each step, 1 for greedy search. A translation of n parts counts with its logarithmic
    /// probability divided by n to the power of `length_penalty`.
    ///
    /// # Errors
    /// If the beam is not from 1 to 100, or the penalty not finite.
    pub fn new(beam: usize, length_penalty: f64) -> Result<Self> {
        if !(1..=100).contains(&beam) {
            return Err(AppError::usage(format!("--beam {beam}: from 1 to 100 is needed")));
        }
        if !length_penalty.is_finite() {
            return Err(AppError::usage(format!("--length-penalty {length_penalty}: a number is needed")));
        }
        Ok(Search { beam, length_penalty })
    }

    /// Beginnings that are kept at each step.
    pub fn beam(&self) -> usize {
        self.beam
    }

    /// The power of its length that a translation's probability counts with.
    pub fn length_penalty(&self) -> f64 {
        self.length_penalty
    }

    /// Translates sentences of parts, none of them empty or longer than the model has positions for, without marks. Those of one length are translated together, groups side by
    /// side.
    pub(super) fn translate(&self, model: &Model, sources: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|&i| sources[i].len());
        let groups: Vec<&[usize]> = order
            .chunk_by(|&i, &j| sources[i].len() == sources[j].len())
            .flat_map(|group| {
                let places = self.beam * longest(sources[group[0]].len());
                group.chunks((TOGETHER / places).max(1))
            })
            .collect();
        let found: Vec<Vec<Vec<u32>>> = groups
            .par_iter()
            .map(|group| {
                let together: Vec<&[u32]> = group.iter().map(|&i| sources[i].as_slice()).collect();
                self.together(model, &together)
            })
            .collect();
        let mut translations = vec![Vec::new(); sources.len()];
        for (group, found) in groups.iter().zip(found) {
            group.iter().zip(found).for_each(|(&i, translation)| translations[i] = translation);
        }
        translations
    }

    /// Translates sentences of one length.
    fn together(&self, model: &Model, sources: &[&[u32]]) -> Vec<Vec<u32>> {
        let len = sources[0].len() + 1;
        let numbers: Vec<u32> = sources.iter().flat_map(|s| s.iter().copied().chain([END])).collect();
        let mut tape = Tape::new();
        let encoded = model.encode(&tape, &numbers, len, None).to_tensor();
        let longest = longest(len).min(model.longest);
        let start = Hypothesis { parts: Vec::new(), score: 0.0 };
        let mut alive: Vec<Vec<Hypothesis>> = vec![vec![start]; sources.len()];
        let mut finished: Vec<Vec<Hypothesis>> = vec![Vec::new(); sources.len()];
        for step in 0..longest {
            let rows: Vec<(u32, &Hypothesis)> = alive
                .iter()
                .enumerate()
                .flat_map(|(i, of)| of.iter().map(move |hypothesis| (i as u32, hypothesis)))
                .collect();
            if rows.is_empty() {
                break;
            }
            let (next, count) = self.next(model, &mut tape, &encoded, &rows, step + 1);
            let mut next = next.chunks_exact(count);
            for (alive, finished) in alive.iter_mut().zip(&mut finished) {
                let mut candidates: Vec<(usize, u32, f64)> = Vec::new();
                for (at, of) in alive.iter().enumerate() {
                    let next = next.next().expect("candidates of each");
                    candidates.extend(next.iter().map(|&(part, log)| (at, part, of.score + log)));
                }
                candidates.sort_by(|a, b| b.2.total_cmp(&a.2));
                let mut kept = Vec::new();
                for (rank, (at, part, score)) in candidates.into_iter().enumerate() {
                    let mut parts = alive[at].parts.clone();
                    if part != END {
                        parts.push(part);
                        kept.push(Hypothesis { parts, score });
                    } else if rank < self.beam {
                        finished.push(Hypothesis { parts, score });
                    }
                    if kept.len() == self.beam {
                        break;
                    }
                }
                *alive = if finished.len() >= self.beam { Vec::new() } else { kept };
            }
        }
        let best = |finished: Vec<Hypothesis>, alive: Vec<Hypothesis>| {
            // What found no end in time, where nothing else did.
            let all = if finished.is_empty() { alive } else { finished };
            let value = |h: &Hypothesis| h.score / ((h.parts.len() + 1) as f64).powf(self.length_penalty);
            all.into_iter().max_by(|a, b| value(a).total_cmp(&value(b))).expect("a hypothesis").parts
        };
        finished.into_iter().zip(alive).map(|(finished, alive)| best(finished, alive)).collect()
    }

    /// Of each beginning, with the number of its sentence, the parts most likely to come next, twice as many as are kept,
    /// with the logarithms of their probabilities; and how many these are of each.
    fn next(
        &self,
        model: &Model,
        tape: &mut Tape<f32>,
        encoded: &Tensor<f32>,
        rows: &[(u32, &Hypothesis)],
        len: usize,
    ) -> (Vec<(u32, f64)>, usize) {
        tape.reset();
        let sentences: Vec<u32> = rows.iter().map(|(sentence, _)| *sentence).collect();
        let given: Vec<u32> =
            rows.iter().flat_map(|(_, h)| [BEGIN].into_iter().chain(h.parts.iter().copied())).collect();
        let states = model.decode(tape.constant(encoded).gather(&sentences), &given, len, None);
        let width = states.shape().width();
        let last = states.slice(1, len - 1..len).reshape([rows.len(), width]);
        let logs = model.logits(last).log_softmax(-1);
        let count = (2 * self.beam).min(logs.shape().width());
        let (largest, parts) = logs.top_k(count);
        let largest = largest.to_tensor();
        (parts.into_iter().zip(largest.data().iter().map(|log| f64::from(*log))).collect(), count)
    }
}
