//! States of a tour that is being made, as the network reads them.

use cotangent::prelude::*;

use super::instance::{City, distance};

/// Numbers of a city in a state.
pub(super) const FEATURES: usize = 7;

/// A part of a tour: the cities visited so far, in order. The first is where the tour ends too, the last is
/// the current one.
#[derive(Clone, Copy, Debug)]
pub(super) struct State<'a> {
    pub(super) cities: &'a [City],
    pub(super) tour: &'a [usize],
}

impl State<'_> {
    fn first(&self) -> usize {
        self.tour[0]
    }

    pub(super) fn current(&self) -> usize {
        self.tour[self.tour.len() - 1]
    }

    /// Whether each city is visited.
    fn visited(&self) -> Vec<bool> {
        let mut visited = vec![false; self.cities.len()];
        self.tour.iter().for_each(|&city| visited[city] = true);
        visited
    }

    /// The actions: the cities that are not visited.
    pub(super) fn open(&self) -> Vec<usize> {
        let visited = self.visited();
        (0..visited.len()).filter(|&city| !visited[city]).collect()
    }

    /// The reward of an action: minus the length of the step to the city. The step to the last open city is
    /// followed by the edge that closes the tour.
    pub(super) fn reward(&self, city: usize) -> f64 {
        let [first, current, next] = [self.first(), self.current(), city].map(|city| self.cities[city]);
        let is_last = self.tour.len() + 1 == self.cities.len();
        -distance(current, next) - if is_last { distance(next, first) } else { 0.0 }
    }

    /// For each city: the coordinates, from −1 to 1; whether it is visited, is the first, is the current
    /// one; its distances from the current and from the first.
    fn write(&self, features: &mut [f32]) {
        let (first, current) = (self.first(), self.current());
        let visited = self.visited();
        let mark = |is: bool| f32::from(u8::from(is));
        for (city, row) in features.chunks_exact_mut(FEATURES).enumerate() {
            let place = self.cities[city];
            let [x, y] = place.map(|coordinate| (2.0 * coordinate - 1.0) as f32);
            let [from, to] = [current, first].map(|other| distance(place, self.cities[other]) as f32);
            let marks = [visited[city], city == first, city == current].map(mark);
            row.copy_from_slice(&[x, y, marks[0], marks[1], marks[2], from, to]);
        }
    }
}

/// The features of states of as many cities each: `[states, cities, FEATURES]`.
pub(super) fn features<'t>(tape: &'t Tape<f32>, states: &[State<'_>]) -> Var<'t, f32> {
    let cities = states[0].cities.len();
    tape.constant_with([states.len(), cities, FEATURES], |numbers| {
        numbers.chunks_exact_mut(cities * FEATURES).zip(states).for_each(|(rows, state)| state.write(rows));
    })
}
