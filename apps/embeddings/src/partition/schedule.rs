//! Which bucket is trained when, by which rank: a function of seed, number of parts, order and number of
//! ranks, and of nothing else.

use std::collections::VecDeque;

use cotangent::prelude::rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// The two parts of a bucket, the lower one first; twice the same part if both ends of its edges are in one.
pub(crate) type Bucket = [usize; 2];

/// Number of buckets of so many parts.
pub(crate) fn count(parts: usize) -> usize {
    parts * (parts + 1) / 2
}

/// The number of a bucket, in the order (0, 0), (0, 1), .., (1, 1), ..
pub(crate) fn number([i, j]: Bucket, parts: usize) -> usize {
    i * (2 * parts - i + 1) / 2 + j - i
}

/// All buckets in the order of their numbers.
pub(crate) fn all(parts: usize) -> impl Iterator<Item = Bucket> {
    (0..parts).flat_map(move |i| (i..parts).map(move |j| [i, j]))
}

/// The order of the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// One after the other, so that each has a part of the one before: part by part it goes through all parts
    /// that come later, forwards and backwards in turn.
    Sweep,
    /// A tournament by the circle method: in each of its rounds every part meets another one, so the buckets
    /// of a round can be trained at the same time.
    Tournament,
}

/// What the turns of a training depend on, besides the number of parts and ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) epochs: u64,
    pub(crate) order: Order,
}

/// The rounds of an epoch, each a list of disjoint buckets. Every bucket comes once an epoch. The order of
/// parts is drawn by the seed.
pub(crate) fn rounds(seed: u64, epoch: u64, parts: usize, order: Order) -> Vec<Vec<Bucket>> {
    let mut drawn: Vec<usize> = (0..parts).collect();
    drawn.shuffle(&mut rng::stream(seed, "parts", epoch));
    let bucket = |a: usize, b: usize| [drawn[a].min(drawn[b]), drawn[a].max(drawn[b])];
    if order == Order::Sweep {
        let sweep = |i: usize| -> Vec<usize> {
            if i.is_multiple_of(2) { (i..parts).collect() } else { (i..parts).rev().collect() }
        };
        return (0..parts).flat_map(|i| sweep(i).into_iter().map(move |j| vec![bucket(i, j)])).collect();
    }
    // A single part meets nobody.
    let places = if parts > 1 { parts.next_multiple_of(2) } else { 1 };
    let mut rounds: Vec<Vec<Bucket>> = vec![(0..parts).map(|i| bucket(i, i)).collect()];
    for turn in 0..places - 1 {
        // The last place stays, all others turn. With an odd number of parts nobody is there.
        let place = |k: usize| if k == places - 1 { k } else { (k + turn) % (places - 1) };
        let meetings = (0..places / 2).map(|k| [place(k), place(places - 1 - k)]);
        rounds.push(
            meetings.filter(|ends| ends.iter().all(|&end| end < parts)).map(|[a, b]| bucket(a, b)).collect(),
        );
    }
    rounds
}

/// The parts of a bucket, each once.
pub(crate) fn distinct([i, j]: Bucket) -> Vec<usize> {
    if i == j { vec![i] } else { vec![i, j] }
}

/// A part that goes from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) part: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What the ranks train at the same time: disjoint buckets of one round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn {
    pub(crate) epoch: u64,
    /// The bucket of each rank.
    pub(crate) buckets: Vec<Option<Bucket>>,
    /// Parts that must travel first and are at rest in the turn before: they can travel while it is trained.
    pub(crate) resting: Vec<Transfer>,
    /// Parts that must travel first and are trained in the turn before.
    pub(crate) trained: Vec<Transfer>,
    /// Number of buckets that are trained after this turn, over all epochs.
    pub(crate) steps: u64,
    /// Whether it is the last turn of a round.
    pub(crate) ends_round: bool,
}

/// The turns of a training. A round is the same for any number of ranks; they only share its buckets.
pub(crate) struct Turns {
    schedule: Schedule,
    parts: usize,
    /// The next epoch whose rounds are to be found.
    epoch: u64,
    /// The rounds of the epoch before it that are left.
    rounds: VecDeque<Vec<Bucket>>,
    /// The rank that has each part.
    location: Vec<usize>,
    ranks: usize,
    /// The parts that are trained in the turn before.
    busy: Vec<usize>,
    steps: u64,
}

impl Turns {
    /// The turns after so many trained buckets, which end a round. Rank 0 has all parts.
    pub(crate) fn new(schedule: Schedule, parts: usize, ranks: usize, steps: u64) -> Self {
        let per_epoch = count(parts) as u64;
        let mut turns = Turns {
            schedule,
            parts,
            epoch: steps / per_epoch,
            rounds: VecDeque::new(),
            location: vec![0; parts],
            ranks,
            busy: Vec::new(),
            steps: steps / per_epoch * per_epoch,
        };
        while turns.steps < steps {
            let round = turns.round().expect("an epoch that has begun");
            turns.steps += round.len() as u64;
        }
        turns
    }

    /// The buckets of the next round that are left.
    fn round(&mut self) -> Option<Vec<Bucket>> {
        let Schedule { seed, epochs, order } = self.schedule;
        if self.rounds.is_empty() && self.epoch < epochs {
            self.rounds = rounds(seed, self.epoch, self.parts, order).into();
            self.epoch += 1;
        }
        self.rounds.pop_front()
    }

    /// Gives each bucket a rank, which has one of its parts if possible: first the buckets that have least
    /// choice.
    fn share(&self, buckets: &[Bucket]) -> Vec<Option<Bucket>> {
        let mut shared: Vec<Option<Bucket>> = vec![None; self.ranks];
        let mut left = buckets.to_vec();
        while !left.is_empty() {
            let free = |bucket: &Bucket| -> Vec<usize> {
                let with = bucket.iter().map(|&part| self.location[part]);
                let mut free: Vec<usize> = with.filter(|&rank| shared[rank].is_none()).collect();
                free.dedup();
                free
            };
            let choices: Vec<Vec<usize>> = left.iter().map(free).collect();
            let place = (0..left.len()).filter(|&i| !choices[i].is_empty()).min_by_key(|&i| choices[i].len());
            let any = || shared.iter().position(Option::is_none).expect("no more buckets than ranks");
            let (place, rank) = place.map_or_else(|| (0, any()), |place| (place, choices[place][0]));
            shared[rank] = Some(left.remove(place));
        }
        shared
    }
}

impl Iterator for Turns {
    type Item = Turn;
    fn next(&mut self) -> Option<Turn> {
        let mut buckets = self.round()?;
        let later = buckets.split_off(self.ranks.min(buckets.len()));
        self.steps += buckets.len() as u64;
        let buckets = self.share(&buckets);
        let mut turn = Turn {
            epoch: self.epoch - 1,
            buckets,
            resting: Vec::new(),
            trained: Vec::new(),
            steps: self.steps,
            ends_round: later.is_empty(),
        };
        let mut busy = Vec::new();
        for (to, bucket) in turn.buckets.iter().enumerate() {
            for part in bucket.iter().flat_map(|&bucket| distinct(bucket)) {
                let from = std::mem::replace(&mut self.location[part], to);
                let list = if self.busy.contains(&part) { &mut turn.trained } else { &mut turn.resting };
                if from != to {
                    list.push(Transfer { part, from, to });
                }
                busy.push(part);
            }
        }
        self.busy = busy;
        if !later.is_empty() {
            self.rounds.push_front(later);
        }
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [Order; 2] = [Order::Sweep, Order::Tournament];

    #[test]
    fn every_bucket_comes_once_and_rounds_are_disjoint() {
        for (parts, order) in [1, 2, 5, 8, 9].into_iter().flat_map(|parts| ORDERS.map(|order| (parts, order)))
        {
            let rounds = rounds(3, 1, parts, order);
            assert_eq!(rounds, self::rounds(3, 1, parts, order));
            for round in &rounds {
                let mut held: Vec<usize> = round.iter().flat_map(|&bucket| distinct(bucket)).collect();
                held.sort_unstable();
                assert!(held.is_sorted_by(|a, b| a < b), "{parts} {order:?}: {round:?}");
                let size = if round[0][0] == round[0][1] { parts } else { parts / 2 };
                assert_eq!(round.len(), if order == Order::Sweep { 1 } else { size });
            }
            let mut found: Vec<Bucket> = rounds.concat();
            found.sort_unstable();
            assert_eq!(found, all(parts).collect::<Vec<_>>(), "{parts} {order:?}");
            assert!(found.iter().enumerate().all(|(i, &bucket)| number(bucket, parts) == i));
            assert_eq!(found.len(), count(parts));
        }
        for order in ORDERS {
            assert_ne!(rounds(3, 1, 8, order), rounds(3, 2, 8, order));
            assert_ne!(rounds(3, 1, 8, order), rounds(4, 1, 8, order));
        }
    }

    /// A sweep reads at most one part between two buckets.
    #[test]
    fn a_sweep_keeps_a_part() {
        for parts in [2, 3, 8, 16] {
            for pair in rounds(1, 0, parts, Order::Sweep).concat().windows(2) {
                let new = distinct(pair[1]).into_iter().filter(|part| !pair[0].contains(part));
                assert!(new.count() <= 1, "{pair:?}");
            }
        }
    }

    /// Any number of ranks trains the same rounds; parts are where they are needed, and go nowhere twice.
    #[test]
    fn ranks_share_rounds_and_pass_parts_on() {
        let schedule = Schedule { seed: 5, epochs: 3, order: Order::Tournament };
        let turns = |parts, ranks, steps| Turns::new(schedule, parts, ranks, steps);
        for (parts, ranks) in [(2, 1), (4, 1), (4, 2), (7, 3), (8, 4), (9, 2)] {
            let mut location = vec![0; parts];
            let (mut round, mut found, mut busy) = (Vec::new(), Vec::new(), Vec::new());
            let mut resumed = vec![0];
            for turn in turns(parts, ranks, 0) {
                for (is_trained, list) in [(false, &turn.resting), (true, &turn.trained)] {
                    for transfer in list {
                        assert_eq!(
                            std::mem::replace(&mut location[transfer.part], transfer.to),
                            transfer.from
                        );
                        assert!(transfer.from != transfer.to && is_trained == busy.contains(&transfer.part));
                    }
                }
                busy.clear();
                for (rank, &bucket) in turn.buckets.iter().enumerate() {
                    for part in bucket.into_iter().flat_map(distinct) {
                        assert_eq!(location[part], rank, "{parts} {ranks}");
                        busy.push(part);
                    }
                }
                round.extend(turn.buckets.iter().flatten().copied());
                if turn.ends_round {
                    resumed.push(turn.steps);
                    round.sort_unstable();
                    found.push(std::mem::take(&mut round));
                }
            }
            let mut wanted: Vec<Vec<Bucket>> =
                (0..3).flat_map(|epoch| rounds(schedule.seed, epoch, parts, Order::Tournament)).collect();
            wanted.iter_mut().for_each(|round| round.sort_unstable());
            assert_eq!(found, wanted, "{parts} {ranks}");
            for steps in resumed {
                let buckets = |turn: Turn| turn.buckets.iter().flatten().count() as u64;
                let left: u64 = turns(parts, ranks, steps).map(buckets).sum();
                assert_eq!(left + steps, 3 * count(parts) as u64);
            }
        }
        // With as many ranks as pairs of parts, each rank keeps a part and gets one.
        let moved = turns(8, 4, 0).skip(3).filter(|turn| turn.buckets[0].is_some_and(|[i, j]| i != j));
        assert!(moved.map(|turn| turn.trained.len() + turn.resting.len()).all(|moved| moved <= 4));
    }
}
