//! Which bucket is trained when, by which worker: a function of seed, epoch, number of parts and number of
//! workers, and of nothing else.

use cotangent::prelude::rng;
use rand::seq::SliceRandom;

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

/// The rounds of an epoch, each a list of disjoint buckets: the worker of rank r trains the one at place r of
/// every round. Every bucket comes once an epoch. The order of parts is drawn by the seed.
///
/// One worker has one new part in each round, and holds the other: part by part it goes through all parts
/// that come later, forwards and backwards in turn. Several workers play a tournament by the circle method:
/// in each of its rounds every part meets another one.
pub(crate) fn rounds(seed: u64, epoch: u64, parts: usize, workers: usize) -> Vec<Vec<Bucket>> {
    let mut order: Vec<usize> = (0..parts).collect();
    order.shuffle(&mut rng::stream(seed, "parts", epoch));
    let bucket = |a: usize, b: usize| [order[a].min(order[b]), order[a].max(order[b])];
    if workers == 1 {
        let sweep = |i: usize| -> Vec<usize> {
            if i.is_multiple_of(2) { (i..parts).collect() } else { (i..parts).rev().collect() }
        };
        return (0..parts).flat_map(|i| sweep(i).into_iter().map(move |j| vec![bucket(i, j)])).collect();
    }
    let places = parts.next_multiple_of(2);
    let mut rounds: Vec<Vec<Bucket>> = vec![(0..parts).map(|i| bucket(i, i)).collect()];
    for turn in 0..places - 1 {
        // The last place stays, all others turn. With an odd number of parts nobody is there.
        let place = |k: usize| if k == places - 1 { k } else { (k + turn) % (places - 1) };
        let meetings = (0..places / 2).map(|k| [place(k), place(places - 1 - k)]);
        rounds.push(
            meetings.filter(|ends| ends.iter().all(|&end| end < parts)).map(|[a, b]| bucket(a, b)).collect(),
        );
    }
    rounds.iter().flat_map(|round| round.chunks(workers).map(<[Bucket]>::to_vec)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_comes_once_and_rounds_are_disjoint() {
        for (parts, workers) in [(1, 1), (2, 1), (5, 1), (8, 1), (4, 2), (7, 3), (8, 4), (9, 2)] {
            let rounds = rounds(3, 1, parts, workers);
            assert_eq!(rounds, self::rounds(3, 1, parts, workers));
            for round in &rounds {
                assert!(round.len() <= workers);
                let mut held: Vec<usize> =
                    round.iter().flat_map(|&[i, j]| if i == j { vec![i] } else { vec![i, j] }).collect();
                held.sort_unstable();
                assert!(held.is_sorted_by(|a, b| a < b), "{parts} {workers}: {round:?}");
            }
            let mut found: Vec<Bucket> = rounds.concat();
            found.sort_unstable();
            assert_eq!(found, all(parts).collect::<Vec<_>>(), "{parts} {workers}");
            assert!(found.iter().enumerate().all(|(i, &bucket)| number(bucket, parts) == i));
            assert_eq!(found.len(), count(parts));
        }
        assert_ne!(rounds(3, 1, 8, 4), rounds(3, 2, 8, 4));
        assert_ne!(rounds(3, 1, 8, 1), rounds(4, 1, 8, 1));
    }

    /// One worker reads at most one part between two buckets.
    #[test]
    fn one_worker_keeps_a_part() {
        for parts in [2, 3, 8, 16] {
            for pair in rounds(1, 0, parts, 1).concat().windows(2) {
                let new = pair[1].iter().filter(|part| !pair[0].contains(part));
                let mut new: Vec<&usize> = new.collect();
                new.dedup();
                assert!(new.len() <= 1, "{pair:?}");
            }
        }
    }
}
