//! Batches: sequences of several mentions side by side, and the order of an epoch.

use cotangent::optim::train::Shuffled;
use cotangent::prelude::*;

use crate::examples::Example;

/// Sequences of numbers of different lengths, padded with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Padded {
    /// Element t of sequence b is at `t · batch + b`: `[len, batch]`.
    pub(crate) numbers: Vec<u32>,
    /// The length of each sequence.
    pub(crate) lengths: Vec<usize>,
    /// The length of the longest.
    pub(crate) len: usize,
}

impl Padded {
    fn new<'a>(sequences: impl ExactSizeIterator<Item = &'a [u32]> + Clone) -> Self {
        let lengths: Vec<usize> = sequences.clone().map(<[u32]>::len).collect();
        let (len, batch) = (lengths.iter().copied().max().unwrap_or(0), lengths.len());
        let mut numbers = vec![0; len * batch];
        for (b, sequence) in sequences.enumerate() {
            sequence.iter().enumerate().for_each(|(t, &number)| numbers[t * batch + b] = number);
        }
        Padded { numbers, lengths, len }
    }

    /// Number of sequences.
    pub(crate) fn batch(&self) -> usize {
        self.lengths.len()
    }

    /// The numbers sequence by sequence: `[batch, len]`.
    pub(crate) fn by_sequence(&self) -> Vec<u32> {
        let batch = self.batch();
        (0..batch * self.len).map(|i| self.numbers[i % self.len * batch + i / self.len]).collect()
    }

    /// The same sequences with the place of each element, from 0, as its number.
    pub(crate) fn places(&self) -> Self {
        let batch = self.batch();
        let numbers = (0..self.numbers.len()).map(|i| (i / batch) as u32).collect();
        Padded { numbers, lengths: self.lengths.clone(), len: self.len }
    }

    /// 1 where a sequence has an element, 0 beyond its end: `[batch, len]`.
    pub(crate) fn inside<'t, T: Float>(&self, tape: &'t Tape<T>) -> Var<'t, T> {
        self.marked(tape, true)
    }

    /// 1 beyond the end of a sequence, else 0: `[batch, len]`.
    pub(crate) fn ended<'t, T: Float>(&self, tape: &'t Tape<T>) -> Var<'t, T> {
        self.marked(tape, false)
    }

    fn marked<'t, T: Float>(&self, tape: &'t Tape<T>, inside: bool) -> Var<'t, T> {
        tape.constant_with([self.batch(), self.len], |mask| {
            for (i, mask) in mask.iter_mut().enumerate() {
                let is_inside = i % self.len < self.lengths[i / self.len];
                *mask = if is_inside == inside { T::one() } else { T::zero() };
            }
        })
    }
}

/// What the model reads of some mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Words of the contexts.
    pub(crate) context: Padded,
    /// Their positions.
    pub(crate) positions: Padded,
    /// Words of the mentions.
    pub(crate) mention: Padded,
    /// Characters of the mentions.
    pub(crate) characters: Padded,
}

impl Batch {
    /// The batch of some mentions: at least one.
    pub(crate) fn new(examples: &[&Example]) -> Self {
        let padded = |sequence: fn(&Example) -> &[u32]| Padded::new(examples.iter().map(|e| sequence(e)));
        Batch {
            context: padded(|example| &example.context),
            positions: padded(|example| &example.positions),
            mention: padded(|example| &example.mention),
            characters: padded(|example| &example.characters),
        }
    }
}

/// The passes of an epoch, each in a random order of its own: one over the distant items, which come first,
/// then several over the others. López & Strube 2020, section 5.2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycles {
    pub(crate) distant: usize,
    pub(crate) items: usize,
    pub(crate) batch: usize,
    pub(crate) cycles: u64,
    pub(crate) seed: u64,
}

impl Batches for Cycles {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let &Cycles { distant, items, batch, cycles, seed } = self;
        let [first, pass] = [distant, items - distant].map(|items| Shuffled { items, batch, seed });
        let others = (0..cycles).flat_map(|cycle| pass.epoch(epoch * cycles + cycle)).map(|mut batch| {
            batch.iter_mut().for_each(|item| *item += distant as u32);
            batch
        });
        let first = if distant > 0 { first.epoch(epoch) } else { Vec::new() };
        first.into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_padded_by_step_and_read_by_sequence() {
        let padded = Padded::new([&[1, 2, 3][..], &[4]].into_iter());
        assert_eq!(padded.numbers, [1, 4, 2, 0, 3, 0]);
        assert_eq!(padded.by_sequence(), [1, 2, 3, 4, 0, 0]);
        let tape = Tape::<f32>::new();
        assert_eq!(padded.inside(&tape).to_tensor().data(), [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(padded.ended(&tape).to_tensor().data(), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn an_epoch_is_several_passes_in_different_orders() {
        let cycles = Cycles { distant: 0, items: 10, batch: 4, cycles: 2, seed: 1 };
        let epoch = cycles.epoch(0);
        assert_eq!((epoch.len(), epoch[2].len()), (6, 2));
        let [first, second] = [epoch[..3].concat(), epoch[3..].concat()];
        assert!(first != second && cycles.epoch(1).concat()[..10] != first);
        for mut pass in [first, second] {
            pass.sort();
            assert_eq!(pass, (0..10).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn distant_items_have_one_pass_before_the_others() {
        let cycles = Cycles { distant: 5, items: 12, batch: 4, cycles: 3, seed: 1 };
        let epoch = cycles.epoch(1);
        let sizes: Vec<usize> = epoch.iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 1, 4, 3, 4, 3, 4, 3]);
        let mut distant = epoch[..2].concat();
        distant.sort();
        assert_eq!(distant, (0..5).collect::<Vec<u32>>());
        let plain = Cycles { distant: 0, items: 7, ..cycles }.epoch(1);
        let moved: Vec<u32> = epoch[2..].concat().iter().map(|item| item - 5).collect();
        assert_eq!(moved, plain.concat());
    }
}
