//! Beam search.

use cotangent::layers::KeyValueCache;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use rayon::prelude::*;

use super::bpe::{BEGIN, END};
use super::model::Model;

/// How translations are searched for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    beam: usize,
    length_penalty: f64,
}

/// The largest number of places whose keys and values are kept together: sentences times beam times
/// possible length.
const TOGETHER: usize = 16_384;

/// The largest length of a translation, for a source of this many parts.
fn longest(source: usize) -> usize {
    2 * source + 10
}

/// A translation so far.
#[derive(Clone, Debug)]
struct Hypothesis {
    parts: Vec<u32>,
    /// The logarithm of its probability.
    score: f64,
    /// Its row in the cache. The cache does not contain its last part yet.
    row: u32,
}

/// Keys and values of each layer, kept from one tape to the next.
struct Cache(Vec<[Tensor<f32>; 2]>);

impl Cache {
    fn of(layers: &[KeyValueCache<'_, f32>]) -> Self {
        Cache(layers.iter().map(|of| [of.keys, of.values].map(Var::to_tensor)).collect())
    }

    fn gather<'t>(&self, tape: &'t Tape<f32>, rows: &[u32]) -> Vec<KeyValueCache<'t, f32>> {
        let gathered = |of: &Tensor<f32>| tape.constant(of).gather(rows);
        let of_layer =
            |[keys, values]: &[_; 2]| KeyValueCache { keys: gathered(keys), values: gathered(values) };
        self.0.iter().map(of_layer).collect()
    }
}

impl Search {
    /// A search that keeps `beam` beginnings at each step; 1 is greedy search. Translations of n parts
    /// are compared by their logarithmic probability divided by n to the power of `length_penalty`.
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

    /// Number of beginnings that are kept at each step.
    pub fn beam(&self) -> usize {
        self.beam
    }

    /// The power of the length that divides a translation's logarithmic probability.
    pub fn length_penalty(&self) -> f64 {
        self.length_penalty
    }

    /// Translates sentences given as parts, without marks. None may be empty or longer than the model
    /// has positions for. Sentences of one length are translated together; the groups run in parallel.
    pub(super) fn translate(&self, model: &Model, sources: &[Vec<u32>], device: &Device) -> Vec<Vec<u32>> {
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|&i| sources[i].len());
        let groups: Vec<&[usize]> = order
            .chunk_by(|&i, &j| sources[i].len() == sources[j].len())
            .flat_map(|group| {
                let places = self.beam * longest(sources[group[0]].len());
                group.chunks((TOGETHER / places).max(1))
            })
            .collect();
        let found: Vec<Vec<Hypothesis>> = groups
            .par_iter()
            .map(|group| {
                let together: Vec<&[u32]> = group.iter().map(|&i| sources[i].as_slice()).collect();
                self.together(model, &together, device)
            })
            .collect();
        let mut translations = vec![Vec::new(); sources.len()];
        for (group, found) in groups.iter().zip(found) {
            group.iter().zip(found).for_each(|(&i, best)| translations[i] = best.parts);
        }
        translations
    }

    /// The best translation of each of some sentences of one length.
    fn together(&self, model: &Model, sources: &[&[u32]], device: &Device) -> Vec<Hypothesis> {
        let len = sources[0].len() + 1;
        let numbers: Vec<u32> = sources.iter().flat_map(|s| s.iter().copied().chain([END])).collect();
        let mut tape = Tape::with_device(device.clone());
        let encoded = Cache::of(&model.cache(model.encode(&tape, &numbers, len)));
        let mut so_far = Cache(Vec::new());
        self.best(sources.len(), longest(len).min(model.longest), |rows, step| {
            self.next(model, &mut tape, &encoded, &mut so_far, rows, step)
        })
    }

    /// The best hypothesis for each of some sentences, of up to `longest` parts. `next` takes beginnings
    /// with the numbers of their sentences, and the number of parts they have. For each beginning in
    /// turn, it returns the most likely next parts with the logarithms of their probabilities. It also
    /// returns how many parts there are per beginning.
    fn best(
        &self,
        sentences: usize,
        longest: usize,
        mut next: impl FnMut(&[(u32, &Hypothesis)], usize) -> (Vec<(u32, f64)>, usize),
    ) -> Vec<Hypothesis> {
        let start = |row| vec![Hypothesis { parts: Vec::new(), score: 0.0, row }];
        let mut alive: Vec<Vec<Hypothesis>> = (0..).take(sentences).map(start).collect();
        let mut finished: Vec<Vec<Hypothesis>> = vec![Vec::new(); sentences];
        for step in 0..longest {
            let rows: Vec<(u32, &Hypothesis)> = alive
                .iter()
                .enumerate()
                .flat_map(|(i, of)| of.iter().map(move |hypothesis| (i as u32, hypothesis)))
                .collect();
            if rows.is_empty() {
                break;
            }
            let (next, count) = next(&rows, step);
            let mut next = (0..).zip(next.chunks_exact(count));
            for (alive, finished) in alive.iter_mut().zip(&mut finished) {
                let mut candidates: Vec<(&Hypothesis, u32, u32, f64)> = Vec::new();
                for of in alive.iter() {
                    let (row, next) = next.next().expect("candidates of each");
                    candidates.extend(next.iter().map(|&(part, log)| (of, row, part, of.score + log)));
                }
                candidates.sort_by(|a, b| b.3.total_cmp(&a.3));
                let mut best = Vec::new();
                for (rank, (of, row, part, score)) in candidates.into_iter().enumerate() {
                    let mut parts = of.parts.clone();
                    if part != END {
                        parts.push(part);
                        best.push(Hypothesis { parts, score, row });
                    } else if rank < self.beam {
                        finished.push(Hypothesis { parts, score, row });
                    }
                    if best.len() == self.beam {
                        break;
                    }
                }
                *alive = if finished.len() >= self.beam { Vec::new() } else { best };
            }
        }
        let best = |finished: Vec<Hypothesis>, alive: Vec<Hypothesis>| {
            // If no hypothesis found an end in time, take the unfinished ones.
            let all = if finished.is_empty() { alive } else { finished };
            let value = |h: &Hypothesis| h.score / ((h.parts.len() + 1) as f64).powf(self.length_penalty);
            all.into_iter().max_by(|a, b| value(a).total_cmp(&value(b))).expect("a hypothesis")
        };
        finished.into_iter().zip(alive).map(|(finished, alive)| best(finished, alive)).collect()
    }

    /// For each beginning, given with the number of its sentence: the parts that are most likely at a
    /// place, twice as many as the beam, with the logarithms of their probabilities. Also returns how
    /// many these are per beginning.
    fn next(
        &self,
        model: &Model,
        tape: &mut Tape<f32>,
        encoded: &Cache,
        so_far: &mut Cache,
        rows: &[(u32, &Hypothesis)],
        place: usize,
    ) -> (Vec<(u32, f64)>, usize) {
        tape.reset();
        let tape = &*tape;
        let (sentences, before): (Vec<u32>, Vec<u32>) = rows.iter().map(|(i, h)| (*i, h.row)).unzip();
        let last: Vec<u32> = rows.iter().map(|(_, h)| h.parts.last().copied().unwrap_or(BEGIN)).collect();
        let (before, encoded) = (so_far.gather(tape, &before), encoded.gather(tape, &sentences));
        let (states, all) = model.decode_cached(&before, &last, place..place + 1, &encoded);
        *so_far = Cache::of(&all);
        let width = states.shape().width();
        let logs = model.logits(states.reshape([rows.len(), width])).log_softmax(-1);
        let count = (2 * self.beam).min(logs.shape().width());
        let (largest, parts) = logs.top_k(count);
        let largest = largest.to_tensor();
        (parts.into_iter().zip(largest.data().iter().map(|log| f64::from(*log))).collect(), count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::attention::Scores;

    fn model(attention: &str, positions: &str) -> Model {
        let config = serde_json::json!({
            "attention": attention, "options": {
                "weights": "softmax", "aggregate": "euclidean", "learn_sharpness": false
            },
            "layers": 2, "width": 8, "heads": 2, "head_dim": 4, "hidden": 16, "norm": "pre", "positions": positions,
            "vocabulary": 12, "longest": 30, "epochs": 1, "batch_tokens": 1, "lr": 1, "warm_up": 1,
            "label_smoothing": 0, "dropout": 0, "decay": 0, "clip": 1, "average": 1, "seed": 1
        });
        let config: Config = serde_json::from_value(config).unwrap();
        let score = config.check(&Scores::default()).unwrap();
        Model::new(&config, &*score, config.vocabulary, &mut rng::stream(1, 5, 0))
    }

    /// The logarithm of the probability of a sequence of parts, each given all parts before it.
    fn probability(model: &Model, source: &[u32], parts: &[u32]) -> f64 {
        let tape = Tape::new();
        let given = [&[BEGIN], &parts[..parts.len() - 1]].concat();
        let source = [source, &[END]].concat();
        let encoded = model.encode(&tape, &source, source.len());
        let states = model.decode(encoded, &given, given.len()).reshape([given.len(), 8]);
        let logs = model.logits(states).log_softmax(-1).to_tensor();
        logs.rows().zip(parts).map(|(row, part)| f64::from(row[*part as usize])).sum()
    }

    #[test]
    fn a_translation_found_step_by_step_is_as_probable_as_the_whole() {
        let sources = [[5, 9, 7], [8, 3, 6], [11, 11, 4]];
        let together: Vec<&[u32]> = sources.iter().map(|source| source.as_slice()).collect();
        for (attention, positions) in [("dot", "sinusoidal"), ("umbral", "learned"), ("dot", "hyperbolic")] {
            let model = model(attention, positions);
            for beam in [1, 4] {
                let found = Search::new(beam, 0.6).unwrap().together(&model, &together, &Device::cpu());
                for (source, found) in sources.iter().zip(found) {
                    let cut = found.parts.len() == longest(source.len() + 1);
                    let parts = if cut { found.parts } else { [&found.parts[..], &[END]].concat() };
                    let want = probability(&model, source, &parts);
                    assert!((found.score - want).abs() < 1e-4, "{attention}, {beam}: {} {want}", found.score);
                }
            }
        }
    }

    /// The most likely first part has unlikely continuations. Greedy search takes it anyway; a beam
    /// finds the most probable translation.
    #[test]
    fn a_beam_finds_what_greedy_search_misses() {
        const A: u32 = 4;
        const B: u32 = 5;
        const C: u32 = 6;
        // After the beginning in parts: 0.5 · 0.3, 0.4 · 0.9 · 0.9, 0.1 · 0.2, and what else there is.
        let probabilities = |parts: &[u32]| match parts {
            [] => [(A, 0.5), (B, 0.4), (C, 0.1), (END, 0.0)],
            [A] => [(END, 0.3), (A, 0.25), (B, 0.25), (C, 0.2)],
            [B] => [(C, 0.9), (END, 0.05), (A, 0.03), (B, 0.02)],
            [B, C] => [(END, 0.9), (A, 0.05), (B, 0.03), (C, 0.02)],
            _ => [(END, 0.4), (A, 0.3), (B, 0.2), (C, 0.1)],
        };
        let find = |beam, penalty| {
            let search = Search::new(beam, penalty).unwrap();
            // Two sentences; in the second, A and B are exchanged.
            let found = search.best(2, 5, |rows, step| {
                let of = |&(sentence, hypothesis): &(u32, &Hypothesis)| {
                    assert_eq!(hypothesis.parts.len(), step);
                    let swapped = |part| match part {
                        A if sentence == 1 => B,
                        B if sentence == 1 => A,
                        other => other,
                    };
                    let parts: Vec<u32> = hypothesis.parts.iter().map(|part| swapped(*part)).collect();
                    let next = probabilities(&parts).map(|(part, p): (u32, f64)| (swapped(part), p.ln()));
                    next.into_iter().take(2 * beam).collect::<Vec<_>>()
                };
                (rows.iter().flat_map(of).collect(), 4.min(2 * beam))
            });
            let [first, second] = &found[..] else { panic!("two sentences") };
            assert!((first.score - second.score).abs() < 1e-12);
            assert!(first.parts.iter().zip(&second.parts).all(|(x, y)| x == y && *x == C || x + y == A + B));
            (first.parts.clone(), first.score)
        };
        let is = |(parts, score): (Vec<u32>, f64), want: &[u32], probability: f64| {
            assert!(parts == want && (score - probability.ln()).abs() < 1e-12, "{parts:?} {score}");
        };
        is(find(1, 0.0), &[A], 0.5 * 0.3);
        for beam in [2, 3, 5] {
            is(find(beam, 0.0), &[B, C], 0.4 * 0.9 * 0.9);
        }
    }
}
