//! Tours without learning: exact ones, nearest neighbours, 2-opt.

use cotangent::prelude::rng;
use rand::seq::SliceRandom;

use super::instance::Distances;

/// The largest number of cities of [`held_karp`]: its table takes 80 MB.
pub const LARGEST_EXACT: usize = 20;

/// A shortest tour from city 0, by dynamic programming over sets of cities: with C(S, j) the length of a
/// shortest path from city 0 through all cities of S that ends in j ∈ S,
///
/// ```text
/// C({j}, j) = d(0, j),    C(S, j) = min { C(S∖{j}, k) + d(k, j) : k ∈ S∖{j} }
/// ```
///
/// Time 2ⁿ n², memory 2ⁿ n. Held & Karp 1962.
///
/// # Panics
/// If there are fewer than 2 cities, or more than [`LARGEST_EXACT`].
pub fn held_karp(distances: &Distances) -> Vec<usize> {
    let others = distances.cities() - 1;
    assert!((1..LARGEST_EXACT).contains(&others), "held_karp: 2 to {LARGEST_EXACT} cities");
    let d = |a: usize, b: usize| distances.between(a + 1, b + 1);
    let members = |set: usize| (0..others).filter(move |j| set >> j & 1 == 1);
    let mut table = vec![f64::INFINITY; others << others];
    for set in 1..1_usize << others {
        for j in members(set) {
            let before = set & !(1 << j);
            table[set * others + j] = if before == 0 {
                distances.between(0, j + 1)
            } else {
                let paths = members(before).map(|k| table[before * others + k] + d(k, j));
                paths.fold(f64::INFINITY, f64::min)
            };
        }
    }
    let (mut set, mut tour) = ((1 << others) - 1, vec![0]);
    while set != 0 {
        let next = tour[tour.len() - 1];
        let through = |&j: &usize| table[set * others + j] + distances.between(j + 1, next);
        let best = members(set).min_by(|a, b| through(a).total_cmp(&through(b))).expect("a member");
        tour.push(best + 1);
        set &= !(1 << best);
    }
    tour
}

/// From city 0 always on to the nearest city that is not visited.
pub fn nearest_neighbour(distances: &Distances) -> Vec<usize> {
    let mut open: Vec<usize> = (1..distances.cities()).collect();
    let mut tour = vec![0];
    while !open.is_empty() {
        let current = tour[tour.len() - 1];
        let from = |place: usize| distances.between(current, open[place]);
        let nearest = (0..open.len()).min_by(|&a, &b| from(a).total_cmp(&from(b))).expect("an open city");
        tour.push(open.remove(nearest));
    }
    tour
}

/// Of an exchange of two edges, the part of the edges' length that it must save: less is rounding.
const ROUNDING: f64 = 1e-12;

/// Exchanges two edges of a tour for two shorter ones, which reverses the part between them, until no
/// exchange helps: 2-opt, Croes 1958. The first city stays.
pub fn two_opt(distances: &Distances, tour: &mut [usize]) {
    let n = tour.len();
    let mut is_improved = true;
    while std::mem::take(&mut is_improved) {
        for i in 0..n.saturating_sub(2) {
            // The last edge, which closes the tour, has a city with the first edge in common.
            for j in i + 2..n - usize::from(i == 0) {
                let [a, b, c, e] = [tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]];
                let old = distances.between(a, b) + distances.between(c, e);
                let new = distances.between(a, c) + distances.between(b, e);
                if old - new > ROUNDING * old {
                    tour[i + 1..=j].reverse();
                    is_improved = true;
                }
            }
        }
    }
}

/// The best tour of [`two_opt`] from the nearest neighbours and from this many random tours. The random
/// stream is named `"starts"`.
pub fn best_two_opt(distances: &Distances, starts: usize, seed: u64) -> Vec<usize> {
    let mut rng = rng::stream(seed, "starts", 0);
    let mut best = nearest_neighbour(distances);
    two_opt(distances, &mut best);
    let mut shortest = distances.length(&best);
    let mut tour: Vec<usize> = (0..distances.cities()).collect();
    for _ in 0..starts {
        tour[1..].shuffle(&mut rng);
        two_opt(distances, &mut tour);
        let length = distances.length(&tour);
        if length < shortest {
            (shortest, best) = (length, tour.clone());
        }
    }
    best
}
