//! Tours by a value network, city by city, many side by side.

use cotangent::engine::rng::Rng;
use cotangent::optim::train::each_batch;
use cotangent::prelude::*;

use super::agent::Policy;
use super::instance::{City, Distances};
use super::model::ValueNetwork;
use super::state::State;

/// Tours that are made side by side.
const TOGETHER: usize = 64;

/// Tours by a network and a policy. All start at city 0.
pub(super) struct Rollout<'a> {
    pub(super) network: &'a ValueNetwork,
    /// What it computes on; other tapes are made if several threads compute.
    pub(super) tape: &'a mut Tape<f32>,
}

/// A value that is no finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotFinite;

impl Rollout<'_> {
    /// A tour of the cities of each number; all are as many. `rng` is the random stream of a number. It uses
    /// the current thread pool.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(super) fn tours<'c>(
        &mut self,
        count: usize,
        policy: Policy,
        cities: impl Fn(usize) -> &'c [City] + Sync,
        rng: impl Fn(usize) -> Rng + Sync,
    ) -> Result<Vec<Vec<usize>>, NotFinite> {
        let chunks: Vec<usize> = (0..count).step_by(TOGETHER).collect();
        let network = self.network;
        let tours = each_batch(self.tape, &chunks, |tape, &first| {
            let numbers = first..count.min(first + TOGETHER);
            let (cities, rngs) = numbers.map(|number| (cities(number), rng(number))).unzip();
            side_by_side(network, tape, policy, cities, rngs)
        });
        Ok(tours.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The greedy tour of each instance.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(super) fn greedy(&mut self, instances: &[Vec<City>]) -> Result<Vec<Vec<usize>>, NotFinite> {
        let rng = |number: usize| rng::stream(0, "greedy", number as u64); // not drawn from
        self.tours(instances.len(), Policy::Greedy, |number| &instances[number], rng)
    }

    /// The shortest of `samples` tours of each instance, drawn by softmax at a temperature. `distances` are
    /// those that tours are measured by. The random stream is named `"samples"`.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(super) fn best_of_samples(
        &mut self,
        instances: &[Vec<City>],
        distances: &[Distances],
        [samples, seed]: [u64; 2],
        temperature: f64,
    ) -> Result<Vec<Vec<usize>>, NotFinite> {
        let samples = samples as usize;
        let rng = |number: usize| rng::stream(seed, "samples", number as u64);
        let cities = |number: usize| &instances[number / samples][..];
        let all = self.tours(instances.len() * samples, Policy::Sample(temperature), cities, rng)?;
        let best = all.chunks_exact(samples).zip(distances).map(|(tours, distances)| {
            let by_length =
                |a: &&Vec<usize>, b: &&Vec<usize>| distances.length(a).total_cmp(&distances.length(b));
            tours.iter().min_by(by_length).expect("at least one sample").clone()
        });
        Ok(best.collect())
    }
}

/// Tours of as many cities each, city by city.
fn side_by_side(
    network: &ValueNetwork,
    tape: &mut Tape<f32>,
    policy: Policy,
    cities: Vec<&[City]>,
    mut rngs: Vec<Rng>,
) -> Result<Vec<Vec<usize>>, NotFinite> {
    let n = cities[0].len();
    let mut tours = vec![vec![0]; cities.len()];
    // The last city needs no choice.
    for _ in 2..n {
        tape.reset();
        let states: Vec<State<'_>> =
            tours.iter().zip(&cities).map(|(tour, cities)| State { cities, tour }).collect();
        let values = network.values(tape, &states).to_tensor();
        if !values.data().iter().all(|value| value.is_finite()) {
            return Err(NotFinite);
        }
        let rows = values.data().chunks_exact(n).zip(&mut rngs);
        let chosen: Vec<usize> = (states.iter().zip(rows))
            .map(|(state, (values, rng))| policy.choose(values, &state.open(), rng))
            .collect();
        tours.iter_mut().zip(chosen).for_each(|(tour, city)| tour.push(city));
    }
    for (tour, cities) in tours.iter_mut().zip(&cities) {
        let last = State { cities, tour }.open();
        tour.extend(last);
    }
    Ok(tours)
}
