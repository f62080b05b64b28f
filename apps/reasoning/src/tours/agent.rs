//! The agent: off-policy Q-learning with a replay memory and a target network (Mnih et al. 2015), with the
//! targets of double Q-learning (van Hasselt, Guez, Silver 2016).

use cotangent::engine::rng::Rng;
use cotangent::layers::Score;
use cotangent::prelude::*;
use rand::RngExt;

use super::config::TourConfig;
use super::instance::{City, uniform};
use super::model::ValueNetwork;
use super::state::State;

/// The network that learns, the one that its targets come from, and the tours that it learns from. All of it
/// is in the checkpoint.
#[derive(Clone, Debug, Module)]
pub(super) struct Agent {
    pub(super) online: ValueNetwork,
    /// The online network at the end of the last epoch. No gradient reaches it.
    target: ValueNetwork,
    /// `[capacity, cities]`: tour e is in row `e mod capacity`. No gradient reaches it. The cities of a tour
    /// follow from its number.
    replay: Param<Euclidean>,
    #[module(skip)]
    seed: u64,
}

/// A tour from the replay memory and one of its decisions.
struct Experience {
    cities: Vec<City>,
    tour: Vec<usize>,
    /// Number of cities that were visited before the decision.
    visited: usize,
}

impl Experience {
    fn state(&self) -> State<'_> {
        State { cities: &self.cities, tour: &self.tour[..self.visited] }
    }

    fn action(&self) -> usize {
        self.tour[self.visited]
    }

    /// The state after the decision, unless the tour is complete then.
    fn next(&self) -> Option<State<'_>> {
        let visited = self.visited + 1;
        (visited < self.tour.len()).then(|| State { cities: &self.cities, tour: &self.tour[..visited] })
    }
}

/// The cities of a tour of the training. The random stream is named `"cities"`.
pub(super) fn training_cities(cities: usize, seed: u64, number: u64) -> Vec<City> {
    uniform(cities, seed, "cities", number)
}

impl Agent {
    /// The agent before the first step. Its memory is empty.
    pub(super) fn new(config: &TourConfig, score: &dyn Score<f32>) -> Self {
        let online = ValueNetwork::new(config, score);
        let replay = Tensor::zeros([config.replay, config.cities]);
        Agent {
            target: online.clone(),
            online,
            replay: Param::new("replay", Euclidean, replay),
            seed: config.seed,
        }
    }

    /// Puts tours with these and the following numbers into the memory, in place of the oldest.
    pub(super) fn remember(&mut self, first: u64, tours: &[Vec<usize>]) {
        let [capacity, cities] = [0, 1].map(|axis| self.replay.value().shape()[axis]);
        let rows = self.replay.points_mut().data_mut();
        for (number, tour) in (first..).zip(tours) {
            let row = (number % capacity as u64) as usize * cities;
            rows[row..row + cities].iter_mut().zip(tour).for_each(|(place, &city)| *place = city as f32);
        }
    }

    /// Makes the target network equal to the online network.
    pub(super) fn renew_target(&mut self) {
        self.target.load_state(self.online.state()).expect("networks of one kind");
    }

    /// The decision of this number: decision d of tour e is `e · (cities − 1) + d`, from 0 on.
    fn experience(&self, item: u32) -> Experience {
        let [capacity, cities] = [0, 1].map(|axis| self.replay.value().shape()[axis]);
        let decisions = cities - 1;
        let (number, visited) = (item as usize / decisions, item as usize % decisions + 1);
        let row = self.replay.value().row(number % capacity);
        Experience {
            cities: training_cities(cities, self.seed, number as u64),
            tour: row.iter().map(|&city| city as usize).collect(),
            visited,
        }
    }

    /// The mean loss of decisions: half the squared difference of Q(s, a) from its target.
    pub(super) fn loss<'t>(&self, tape: &'t Tape<f32>, items: &[u32]) -> Var<'t, f32> {
        let experiences: Vec<Experience> = items.iter().map(|&item| self.experience(item)).collect();
        let states: Vec<State<'_>> = experiences.iter().map(Experience::state).collect();
        let actions: Vec<usize> = experiences.iter().map(Experience::action).collect();
        let targets = self.targets(tape, &experiences);
        let targets = tape.constant_with([items.len(), 1], |numbers| numbers.copy_from_slice(&targets));
        let values = self.online.values_of(tape, &states, &actions);
        (values - targets).square().mean() * 0.5
    }

    /// The targets of decisions. The undiscounted sum of rewards is the tour's length, so γ = 1.
    fn targets(&self, tape: &Tape<f32>, experiences: &[Experience]) -> Vec<f32> {
        let next: Vec<State<'_>> = experiences.iter().filter_map(Experience::next).collect();
        let mut best = Vec::new().into_iter();
        if !next.is_empty() {
            let [online, target] =
                [&self.online, &self.target].map(|network| network.values(tape, &next).to_tensor());
            best = best_values(&next, online.data(), target.data()).into_iter();
        }
        let target = |experience: &Experience| {
            let reward = experience.state().reward(experience.action()) as f32;
            reward + experience.next().map_or(0.0, |_| best.next().expect("a value for each state"))
        };
        experiences.iter().map(target).collect()
    }
}

/// What the target network says of the open city that the online network prefers, for each state:
/// `Q⁻(s, b)` with `b = argmax Q(s, ·)`. This is eq. 4 of van Hasselt, Guez, Silver 2016. Plain Q-learning
/// takes `max Q⁻(s, ·)`, the largest of several uncertain values, and its errors add up along the tour.
pub(super) fn best_values(states: &[State<'_>], online: &[f32], target: &[f32]) -> Vec<f32> {
    let cities = states[0].cities.len();
    let rows = online.chunks_exact(cities).zip(target.chunks_exact(cities));
    states.iter().zip(rows).map(|(state, (online, target))| target[largest(online, &state.open())]).collect()
}

/// The open city with the largest value, of equal ones the first.
fn largest(values: &[f32], open: &[usize]) -> usize {
    open.iter().copied().reduce(|a, b| if values[b] > values[a] { b } else { a }).expect("an open city")
}

/// How the next city is chosen by the values of all cities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Policy {
    /// That with the largest value.
    Greedy,
    /// With this probability any open city, otherwise the greedy one.
    Explore(f64),
    /// With a probability proportional to exp(Q / temperature).
    Sample(f64),
}

impl Policy {
    /// One of the open cities.
    pub(super) fn choose(self, values: &[f32], open: &[usize], rng: &mut Rng) -> usize {
        let greedy = largest(values, open);
        match self {
            Policy::Explore(epsilon) if rng.random::<f64>() < epsilon => {
                open[rng.random_range(0..open.len())]
            }
            Policy::Greedy | Policy::Explore(_) => greedy,
            Policy::Sample(temperature) => {
                let weight = |&city: &usize| (f64::from(values[city] - values[greedy]) / temperature).exp();
                let mut left = rng.random::<f64>() * open.iter().map(weight).sum::<f64>();
                let found = open.iter().find(|city| {
                    left -= weight(city);
                    left < 0.0
                });
                *found.unwrap_or(&greedy) // rounding may have left more than 0
            }
        }
    }
}

/// The steps of epochs: each takes decisions of the tours that the memory holds in its epoch. An item is the
/// number of a decision. The random stream is named `"replay"`.
pub(super) struct Decisions<'a>(pub(super) &'a TourConfig);

impl Batches for Decisions<'_> {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let config = self.0;
        let decisions = config.cities as u64 - 1;
        let end = (epoch + 1) * config.epoch_tours;
        let held = end.saturating_sub(config.replay as u64)..end;
        let items = (held.start * decisions) as u32..(held.end * decisions) as u32;
        let mut rng = rng::stream(config.seed, "replay", epoch);
        let mut step = || (0..config.batch).map(|_| rng.random_range(items.clone())).collect();
        (0..config.epoch_steps).map(|_| step()).collect()
    }
}
