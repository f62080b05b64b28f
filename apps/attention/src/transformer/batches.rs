//! Batches of sentences of the same length.

use cotangent::engine::loss::IGNORE;
use cotangent::engine::rng::Rng;
use rand::seq::SliceRandom;

use super::bpe::{BEGIN, END, PAD};

/// A sentence and its translation, as numbers, without marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) source: Vec<u32>,
    pub(super) target: Vec<u32>,
}

/// Pairs whose sources have the same length, so that sources need no padding and no mask. What follows a
/// shorter target is not seen by the places before it, and its loss does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// `[n, source_len]`, each with its end mark.
    pub(super) sources: Vec<u32>,
    pub(super) source_len: usize,
    /// `[n, target_len]`: the input at each place.
    pub(super) given: Vec<u32>,
    /// `[n, target_len]`: the expected output at each place.
    pub(super) next: Vec<u32>,
    pub(super) target_len: usize,
    /// Number of places that count.
    pub(super) tokens: usize,
}

impl Batch {
    /// # Panics
    /// If there are no pairs, or sources are of different lengths.
    pub(super) fn new(pairs: &[&Pair]) -> Self {
        let source_len = pairs[0].source.len() + 1;
        let target_len = pairs.iter().map(|pair| pair.target.len()).max().expect("a pair") + 1;
        let mut batch = Batch {
            sources: Vec::with_capacity(pairs.len() * source_len),
            source_len,
            given: Vec::with_capacity(pairs.len() * target_len),
            next: Vec::with_capacity(pairs.len() * target_len),
            target_len,
            tokens: 0,
        };
        for pair in pairs {
            assert_eq!(pair.source.len() + 1, source_len, "sources of one length");
            batch.sources.extend(pair.source.iter().chain([&END]));
            let rest = target_len - 1 - pair.target.len();
            batch.given.extend([&BEGIN].into_iter().chain(&pair.target));
            batch.given.extend(std::iter::repeat_n(PAD, rest));
            batch.next.extend(pair.target.iter().chain([&END]));
            batch.next.extend(std::iter::repeat_n(IGNORE, rest));
            batch.tokens += pair.target.len() + 1;
        }
        batch
    }
}

/// Splits all pairs into batches in random order. A batch has at most `tokens` numbers on either side.
/// Pairs of similar length are together; among pairs of equal length, the choice is random. The number
/// of batches is always the same.
pub(super) fn batches<'a>(pairs: &'a [Pair], tokens: usize, rng: &mut Rng) -> Vec<Vec<&'a Pair>> {
    let mut order: Vec<&Pair> = pairs.iter().collect();
    order.shuffle(rng);
    order.sort_by_key(|pair| (pair.source.len(), pair.target.len()));
    let mut batches: Vec<Vec<&Pair>> = Vec::new();
    let (mut source, mut longest) = (usize::MAX, 0);
    for pair in order {
        longest =
            if pair.source.len() == source { longest.max(pair.target.len()) } else { pair.target.len() };
        let width = longest.max(pair.source.len()) + 1;
        match batches.last_mut() {
            Some(batch) if pair.source.len() == source && (batch.len() + 1) * width <= tokens => {
                batch.push(pair)
            }
            _ => {
                batches.push(vec![pair]);
                longest = pair.target.len();
            }
        }
        source = pair.source.len();
    }
    batches.shuffle(rng);
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent::prelude::rng;

    #[test]
    fn all_pairs_are_in_a_batch_and_none_is_too_large() {
        let pair = |i: u32| Pair {
            source: (0..i * 7 % 9 + 1).map(|k| 3 + i + k).collect(),
            target: (0..i * 5 % 11 + 1).map(|k| 3 + i + k).collect(),
        };
        let pairs: Vec<Pair> = (0..500).map(pair).collect();
        let mut rng = rng::stream(1, 0, 0);
        let of = batches(&pairs, 64, &mut rng);
        assert_eq!(of.iter().map(Vec::len).sum::<usize>(), 500);
        for batch in &of {
            let b = Batch::new(batch);
            assert!(b.sources.len().max(b.given.len()) <= 64);
            assert_eq!(b.tokens, b.next.iter().filter(|&&next| next != IGNORE).count());
        }
        let again = batches(&pairs, 64, &mut rng);
        assert!(again.len() == of.len() && again != of);
    }

    #[test]
    fn targets_are_one_place_apart() {
        let (a, b) = (
            Pair { source: vec![7, 8], target: vec![9] },
            Pair { source: vec![5, 6], target: vec![4, 3, 9] },
        );
        let batch = Batch::new(&[&a, &b]);
        assert_eq!(batch.sources, [7, 8, END, 5, 6, END]);
        assert_eq!(batch.given, [BEGIN, 9, PAD, PAD, BEGIN, 4, 3, 9]);
        assert_eq!(batch.next, [9, END, IGNORE, IGNORE, 4, 3, 9, END]);
        assert_eq!(batch.tokens, 6);
    }
}
