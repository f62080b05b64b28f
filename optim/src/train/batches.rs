//! The batches of an epoch.

use cotangent_engine::rng;
use rand::seq::SliceRandom;

/// The batches of each epoch. A batch lists items: the numbers of training examples.
pub trait Batches {
    /// The batches of an epoch, counted from 0: at least one batch, and none of them empty. They must depend
    /// only on the epoch, so that a resumed run gets the same batches.
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>>;

    /// The weight of an item in the mean loss, a positive number: for example the number of its words.
    fn weight(&self, item: u32) -> f64 {
        let _ = item;
        1.0
    }
}

/// All items in random order, in batches of equal size; the last batch may be smaller.
///
/// ```
/// use cotangent_optim::train::{Batches, Shuffled};
/// let batches = Shuffled { items: 10, batch: 4, seed: 42 };
/// let epoch = batches.epoch(0);
/// assert_eq!(epoch.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
/// let mut all = epoch.concat();
/// all.sort();
/// assert_eq!(all, (0..10).collect::<Vec<u32>>());
/// assert!(epoch != batches.epoch(1) && epoch == batches.epoch(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffled {
    /// The number of items.
    pub items: usize,
    /// The number of items in a batch.
    pub batch: usize,
    /// The seed of the order; its random stream is named `"order"`.
    pub seed: u64,
}

/// # Panics
/// If the batch size is 0.
impl Batches for Shuffled {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        assert!(self.batch > 0, "Shuffled: the batch size is 0");
        let mut order: Vec<u32> = cotangent_engine::row_numbers(self.items).collect();
        order.shuffle(&mut rng::stream(self.seed, "order", epoch));
        order.chunks(self.batch).map(<[u32]>::to_vec).collect()
    }
}

/// Batches in which an item comes several times in a row, the last one of an epoch perhaps less often. An
/// epoch has as many items as before, so only some of them come in it, and others in the next. A row of equal
/// items may go on in the next batch. For items that are changed at random when they are trained with
/// (repeated augmentation: Hoffer et al. 2020).
///
/// ```
/// use cotangent_optim::train::{Batches, Repeated, Shuffled};
/// let batches = Repeated { batches: Shuffled { items: 10, batch: 4, seed: 42 }, times: 3 };
/// let epoch = batches.epoch(0);
/// assert_eq!(epoch.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
/// let all = epoch.concat();
/// assert!(all[0] == all[1] && all[1] == all[2] && all[2] != all[3]);
/// assert!(epoch != batches.epoch(1) && epoch == batches.epoch(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The order of the items, and their number in a batch.
    pub batches: Shuffled,
    /// How often each comes; 1 changes nothing.
    pub times: usize,
}

/// # Panics
/// If the batch size or the number of times is 0.
impl Batches for Repeated {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        assert!(self.times > 0, "Repeated: no times");
        let order = self.batches.epoch(epoch).concat();
        let repeated = order.iter().flat_map(|&item| std::iter::repeat_n(item, self.times));
        let items: Vec<u32> = repeated.take(order.len()).collect();
        items.chunks(self.batches.batch).map(<[u32]>::to_vec).collect()
    }
}

/// Batches of items of similar length, so that there is little padding. A batch of n items whose longest
/// has m elements satisfies `n · m ≤ elements`, unless n = 1. Items of equal length are in random order,
/// and so are the batches.
///
/// ```
/// use cotangent_optim::train::{Batches, ByLength};
/// let batches = ByLength { lengths: vec![5, 1, 2, 9, 1], elements: 6, seed: 42 };
/// let mut epoch = batches.epoch(0);
/// epoch.iter_mut().for_each(|batch| batch.sort());
/// epoch.sort();
/// assert_eq!(epoch, [vec![0], vec![1, 2, 4], vec![3]]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByLength {
    /// The length of each item.
    pub lengths: Vec<usize>,
    /// The largest number of elements in a batch, padding included.
    pub elements: usize,
    /// The seed of the order; its random stream is named `"order"`.
    pub seed: u64,
}

impl Batches for ByLength {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let mut rng = rng::stream(self.seed, "order", epoch);
        let length = |item: &u32| self.lengths[*item as usize];
        let mut order: Vec<u32> = cotangent_engine::row_numbers(self.lengths.len()).collect();
        order.shuffle(&mut rng);
        order.sort_by_key(length);
        let mut batches: Vec<Vec<u32>> = Vec::new();
        for item in order {
            match batches.last_mut() {
                // Lengths ascend, so this item would be the longest of the batch.
                Some(batch) if (batch.len() + 1) * length(&item) <= self.elements => batch.push(item),
                _ => batches.push(vec![item]),
            }
        }
        batches.shuffle(&mut rng);
        batches
    }
}
