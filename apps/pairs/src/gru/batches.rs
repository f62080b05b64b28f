//! The batches of a pass over the training pairs.

use cotangent::engine::{rng, row_numbers};
use cotangent::optim::train::{Batches, Shuffled};
use rand::seq::SliceRandom;

use super::{Config, Protocol};

/// Batches of pairs, in an order that each epoch draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairBatches {
    shuffled: Shuffled,
    /// Whether batches keep their pairs: those that stand together in the data.
    kept: bool,
}

impl PairBatches {
    /// Of so many pairs, as the protocol has them.
    pub(super) fn new(pairs: usize, config: &Config) -> Self {
        let shuffled = Shuffled { items: pairs, batch: config.batch, seed: config.seed };
        PairBatches { shuffled, kept: config.protocol == Protocol::Released }
    }
}

impl Batches for PairBatches {
    fn of_epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        if !self.kept {
            return self.shuffled.of_epoch(epoch);
        }
        let Shuffled { items, batch, seed } = self.shuffled;
        let pairs: Vec<u32> = row_numbers(items).collect();
        let mut batches: Vec<Vec<u32>> = pairs.chunks(batch).map(<[u32]>::to_vec).collect();
        batches.shuffle(&mut rng::stream(seed, "order", epoch));
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs once, in batches of 4: those of the released protocol stay together, and both change their
    /// order from epoch to epoch.
    #[test]
    fn the_released_protocol_keeps_its_batches() {
        for kept in [false, true] {
            let batches = PairBatches { shuffled: Shuffled { items: 10, batch: 4, seed: 42 }, kept };
            let epochs: Vec<_> = (0..6).map(|epoch| batches.of_epoch(epoch)).collect();
            for epoch in &epochs {
                let mut all = epoch.concat();
                all.sort_unstable();
                assert_eq!(all, (0..10).collect::<Vec<u32>>());
                let mut sorted = epoch.clone();
                sorted.sort();
                assert_eq!(sorted == [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]], kept, "{epoch:?}");
            }
            assert!(epochs.iter().any(|epoch| *epoch != epochs[0]), "{kept}");
        }
    }
}
