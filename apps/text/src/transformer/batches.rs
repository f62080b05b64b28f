//! Batches of sentence pairs whose sources have the same length.

use cotangent::engine::loss::IGNORE;
use cotangent::optim::train::Batches;
use cotangent::prelude::rng;
use rand::seq::SliceRandom;

use super::bpe::{BEGIN, END, PAD};

/// A sentence and its translation, as tokens, without special tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) source: Vec<u32>,
    pub(super) target: Vec<u32>,
}

/// Pairs whose sources have the same length, so that sources need no padding and no mask. Targets are padded
/// at the end: the causal mask hides the padding from earlier positions, and its loss is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// `[n, source_len]`: the sources, each with its end token.
    pub(super) sources: Vec<u32>,
    pub(super) source_len: usize,
    /// `[n, target_len]`: the input at each target position.
    pub(super) given: Vec<u32>,
    /// `[n, target_len]`: the expected output at each target position.
    pub(super) next: Vec<u32>,
    pub(super) target_len: usize,
    /// Number of target positions that are not padding.
    pub(super) tokens: usize,
}

impl Batch {
    /// # Panics
    /// If there are no pairs, or sources are of different lengths.
    pub(super) fn new<'a>(pairs: impl Iterator<Item = &'a Pair> + Clone) -> Self {
        let count = pairs.clone().count();
        let source_len = pairs.clone().next().expect("a pair").source.len() + 1;
        let target_len = pairs.clone().map(|pair| pair.target.len()).max().expect("a pair") + 1;
        let mut batch = Batch {
            sources: Vec::with_capacity(count * source_len),
            source_len,
            given: Vec::with_capacity(count * target_len),
            next: Vec::with_capacity(count * target_len),
            target_len,
            tokens: 0,
        };
        for pair in pairs {
            assert_eq!(pair.source.len() + 1, source_len, "sources of one length");
            batch.sources.extend(pair.source.iter().chain([&END]));
            let padding = target_len - 1 - pair.target.len();
            batch.given.extend([&BEGIN].into_iter().chain(&pair.target));
            batch.given.extend(std::iter::repeat_n(PAD, padding));
            batch.next.extend(pair.target.iter().chain([&END]));
            batch.next.extend(std::iter::repeat_n(IGNORE, padding));
            batch.tokens += pair.target.len() + 1;
        }
        batch
    }
}

/// All pairs in batches, in random order. The sources of a batch have at most `tokens` tokens, padding
/// included, and so have its targets, unless the batch is a single pair. Pairs of similar length are
/// together; pairs of equal length are in random order. Every epoch has the same number of batches. The
/// weight of a pair is the number of tokens of its target, end token included.
pub(super) struct BySource<'a> {
    pub(super) pairs: &'a [Pair],
    pub(super) tokens: usize,
    pub(super) seed: u64,
}

impl Batches for BySource<'_> {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let mut rng = rng::stream(self.seed, "order", epoch);
        let pair = |item: u32| &self.pairs[item as usize];
        let mut order: Vec<u32> = (0..self.pairs.len() as u32).collect();
        order.shuffle(&mut rng);
        order.sort_by_key(|&item| (pair(item).source.len(), pair(item).target.len()));
        let mut batches: Vec<Vec<u32>> = Vec::new();
        let (mut source, mut longest) = (usize::MAX, 0);
        for item in order {
            let pair = pair(item);
            longest =
                if pair.source.len() == source { longest.max(pair.target.len()) } else { pair.target.len() };
            let width = longest.max(pair.source.len()) + 1;
            match batches.last_mut() {
                Some(batch) if pair.source.len() == source && (batch.len() + 1) * width <= self.tokens => {
                    batch.push(item)
                }
                _ => {
                    batches.push(vec![item]);
                    longest = pair.target.len();
                }
            }
            source = pair.source.len();
        }
        batches.shuffle(&mut rng);
        batches
    }

    fn weight(&self, item: u32) -> f64 {
        (self.pairs[item as usize].target.len() + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_are_in_a_batch_and_none_is_too_large() {
        let pair = |i: u32| Pair {
            source: (0..i * 7 % 9 + 1).map(|k| 3 + i + k).collect(),
            target: (0..i * 5 % 11 + 1).map(|k| 3 + i + k).collect(),
        };
        let pairs: Vec<Pair> = (0..500).map(pair).collect();
        let batches = BySource { pairs: &pairs, tokens: 64, seed: 1 };
        let first_epoch = batches.epoch(0);
        assert_eq!(first_epoch.iter().map(Vec::len).sum::<usize>(), 500);
        for batch in &first_epoch {
            let b = Batch::new(batch.iter().map(|&item| &pairs[item as usize]));
            assert_eq!(b.tokens as f64, batch.iter().map(|&item| batches.weight(item)).sum::<f64>());
            assert!(b.sources.len().max(b.given.len()) <= 64);
            assert_eq!(b.tokens, b.next.iter().filter(|&&next| next != IGNORE).count());
        }
        let second_epoch = batches.epoch(1);
        assert!(second_epoch.len() == first_epoch.len() && second_epoch != first_epoch);
    }

    #[test]
    fn outputs_are_the_inputs_one_position_later() {
        let (a, b) = (
            Pair { source: vec![7, 8], target: vec![9] },
            Pair { source: vec![5, 6], target: vec![4, 3, 9] },
        );
        let batch = Batch::new([&a, &b].into_iter());
        assert_eq!(batch.sources, [7, 8, END, 5, 6, END]);
        assert_eq!(batch.given, [BEGIN, 9, PAD, PAD, BEGIN, 4, 3, 9]);
        assert_eq!(batch.next, [9, END, IGNORE, IGNORE, 4, 3, 9, END]);
        assert_eq!(batch.tokens, 6);
    }
}
