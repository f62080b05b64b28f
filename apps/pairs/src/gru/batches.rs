//! The batches of a pass over the training pairs.

use cotangent::engine::row_numbers;
use cotangent::optim::train::{Batches, Shuffled};

use super::{GruConfig, Protocol};

/// Batches of pairs. Each epoch draws their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairBatches {
    pairs: Shuffled,
    /// Whether a batch has the same pairs in each epoch, those that are side by side in the data.
    kept: bool,
}

impl PairBatches {
    /// The batches of a number of pairs, kept if the protocol keeps them.
    pub(super) fn new(pairs: usize, config: &GruConfig) -> Self {
        let pairs = Shuffled { items: pairs, batch: config.batch, seed: config.seed };
        PairBatches { pairs, kept: config.protocol == Protocol::Released }
    }
}

impl Batches for PairBatches {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let Shuffled { items, batch, seed } = self.pairs;
        if !self.kept {
            return self.pairs.epoch(epoch);
        }
        let pairs: Vec<u32> = row_numbers(items).collect();
        let batches: Vec<&[u32]> = pairs.chunks(batch).collect();
        let order = Shuffled { items: batches.len(), batch: 1, seed }.epoch(epoch).concat();
        order.into_iter().map(|i| batches[i as usize].to_vec()).collect()
    }
}
