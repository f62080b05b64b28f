//! Tours of an agent beside those of other methods, and beside the shortest ones.

use cotangent_apps_common::interval::Interval;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::config::Decoding;
use super::instance::{City, Distances, uniform};
use super::rollout::{NotFinite, Rollout};
use super::solvers::{best_two_opt, held_karp, nearest_neighbour, two_opt};

/// Instances of more cities have the best of [`STARTS`] in place of the shortest tour.
const EXACT: usize = 12;

/// Random starts of 2-opt.
pub(super) const STARTS: usize = 100;

/// Instances with their distances and the tours that others are compared with.
pub(super) struct Reference {
    pub(super) instances: Vec<Vec<City>>,
    pub(super) distances: Vec<Distances>,
    /// The shortest tours, or the best known.
    pub(super) best: Vec<Vec<usize>>,
}

/// What the best tours of so many cities are.
pub(super) fn reference_name(cities: usize) -> String {
    match cities {
        ..=EXACT => "shortest tour (Held-Karp)".to_owned(),
        _ => format!("best of 2-opt from {STARTS} random starts"),
    }
}

impl Reference {
    /// Instances of a seed, from the random stream of this name. It uses the current thread pool.
    pub(super) fn new(cities: usize, count: usize, seed: u64, purpose: &str) -> Self {
        let instances: Vec<Vec<City>> =
            (0..count as u64).map(|number| uniform(cities, seed, purpose, number)).collect();
        let distances: Vec<Distances> = instances.iter().map(|cities| Distances::new(cities)).collect();
        let best = |distances: &Distances| match cities {
            ..=EXACT => held_karp(distances),
            _ => best_two_opt(distances, STARTS, seed),
        };
        let best = distances.par_iter().map(best).collect();
        Reference { instances, distances, best }
    }

    /// How much longer than the best each tour is: L / L* − 1.
    pub(super) fn gaps(&self, tours: &[Vec<usize>]) -> Vec<f64> {
        let pairs = self.distances.iter().zip(tours.iter().zip(&self.best));
        pairs.map(|(distances, (tour, best))| distances.length(tour) / distances.length(best) - 1.0).collect()
    }

    /// The mean gap of the greedy tours.
    ///
    /// # Errors
    /// If a value of the network is not finite.
    pub(super) fn greedy_gap(&self, mut rollout: Rollout<'_>) -> Result<f64, NotFinite> {
        let gaps = self.gaps(&rollout.greedy(&self.instances)?);
        Ok(gaps.iter().sum::<f64>() / gaps.len() as f64)
    }
}

/// The tours of each method.
pub(super) struct Tours {
    pub(super) greedy: Vec<Vec<usize>>,
    pub(super) best_of_samples: Vec<Vec<usize>>,
    pub(super) nearest_neighbour: Vec<Vec<usize>>,
    /// From the nearest neighbours.
    pub(super) two_opt: Vec<Vec<usize>>,
}

impl Tours {
    /// The tours of instances.
    ///
    /// # Errors
    /// If a value of the network is not finite.
    pub(super) fn new(
        mut rollout: Rollout<'_>,
        instances: &[Vec<City>],
        distances: &[Distances],
        decoding: Decoding,
        seed: u64,
    ) -> Result<Self, NotFinite> {
        let nearest: Vec<Vec<usize>> = distances.iter().map(nearest_neighbour).collect();
        let mut improved = nearest.clone();
        improved.iter_mut().zip(distances).for_each(|(tour, distances)| two_opt(distances, tour));
        let Decoding { samples, temperature } = decoding;
        Ok(Tours {
            greedy: rollout.greedy(instances)?,
            best_of_samples: rollout.best_of_samples(instances, distances, [samples, seed], temperature)?,
            nearest_neighbour: nearest,
            two_opt: improved,
        })
    }

    /// The tours with the names of the methods, the agent's first.
    pub(super) fn named(&self, decoding: Decoding) -> [(String, &[Vec<usize>]); 4] {
        let Tours { greedy, best_of_samples, nearest_neighbour, two_opt } = self;
        let [a, b, c, d] = methods(decoding);
        [(a, greedy), (b, best_of_samples), (c, nearest_neighbour), (d, two_opt)]
    }
}

/// Mean gaps to the best tours, L / L* − 1, with 95 % intervals over the instances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// Of greedy tours.
    pub greedy: Interval,
    /// Of the best of several samples.
    pub best_of_samples: Interval,
    /// Of nearest neighbours.
    pub nearest_neighbour: Interval,
    /// Of 2-opt from the nearest neighbours.
    pub two_opt: Interval,
}

impl Gaps {
    /// The gaps of tours.
    pub(super) fn new(reference: &Reference, tours: &Tours) -> Self {
        let mean = |tours: &[Vec<usize>]| Interval::mean(&reference.gaps(tours));
        Gaps {
            greedy: mean(&tours.greedy),
            best_of_samples: mean(&tours.best_of_samples),
            nearest_neighbour: mean(&tours.nearest_neighbour),
            two_opt: mean(&tours.two_opt),
        }
    }

    /// The gaps with the names of the methods, the agent's first.
    pub(super) fn named(&self, decoding: Decoding) -> [(String, Interval); 4] {
        let Gaps { greedy, best_of_samples, nearest_neighbour, two_opt } = *self;
        let [a, b, c, d] = methods(decoding);
        [(a, greedy), (b, best_of_samples), (c, nearest_neighbour), (d, two_opt)]
    }
}

/// The names of the methods.
fn methods(decoding: Decoding) -> [String; 4] {
    let samples = format!("best of {} samples", decoding.samples);
    ["greedy".to_owned(), samples, "nearest neighbour".to_owned(), "2-opt".to_owned()]
}
