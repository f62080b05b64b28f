//! Solvers, states, the agent, and files of cities.

use cotangent::prelude::*;
use cotangent_apps_common::attention::{AggregateOption, MapOption, Scores, ValuesOption};
use cotangent_apps_common::config;
use cotangent_apps_common::training::difference;

use super::agent::{Agent, Decisions, Policy, best_values, training_cities};
use super::config::{TourConfig, TourGeometry};
use super::coordinates::{Coordinates, Metric};
use super::instance::{City, Distances, in_unit_square, uniform};
use super::model::ValueNetwork;
use super::rollout::Rollout;
use super::solvers::{best_two_opt, held_karp, nearest_neighbour, two_opt};
use super::state::State;

const GEOMETRIES: [&str; 3] = ["polar", "weierstrass", "euclidean"];

fn parsed(more: &str) -> TourConfig {
    config::parse(&more.split_whitespace().collect::<Vec<_>>())
}

fn agent(config: &TourConfig) -> Agent {
    Agent::new(config, &*config.check(&Scores::default()).unwrap())
}

/// Whether a tour starts at city 0 and visits every city once.
fn is_tour(tour: &[usize], cities: usize) -> bool {
    let mut sorted = tour.to_vec();
    sorted.sort_unstable();
    tour[0] == 0 && sorted == (0..cities).collect::<Vec<_>>()
}

/// The length of a shortest tour, by all orders of the cities.
fn shortest(distances: &Distances, tour: &mut Vec<usize>) -> f64 {
    let n = distances.cities();
    if tour.len() == n {
        return distances.length(tour);
    }
    let mut best = f64::INFINITY;
    for city in 0..n {
        if !tour.contains(&city) {
            tour.push(city);
            best = best.min(shortest(distances, tour));
            tour.pop();
        }
    }
    best
}

#[test]
fn held_karp_is_as_short_as_the_best_of_all_orders() {
    for cities in 3..=8 {
        for number in 0..if cities == 8 { 1 } else { 4 } {
            let places = uniform(cities, 1, "test", number);
            for distances in [Distances::new(&places), Distances::rounded(&places.map_by(100.0))] {
                let tour = held_karp(&distances);
                assert!(is_tour(&tour, cities));
                let difference = distances.length(&tour) - shortest(&distances, &mut vec![0]);
                assert!(difference.abs() < 1e-12, "{cities} cities: {difference}");
            }
        }
    }
}

/// Cities, scaled.
trait MapBy {
    fn map_by(&self, factor: f64) -> Vec<City>;
}

impl MapBy for Vec<City> {
    fn map_by(&self, factor: f64) -> Vec<City> {
        self.iter().map(|city| city.map(|coordinate| factor * coordinate)).collect()
    }
}

/// It leaves no two edges whose exchange helps, and a better start of several is kept.
#[test]
fn two_opt_is_never_longer_than_its_start() {
    for number in 0..20 {
        let distances = Distances::new(&uniform(12, 2, "test", number));
        let start = nearest_neighbour(&distances);
        let mut tour = start.clone();
        two_opt(&distances, &mut tour);
        assert!(is_tour(&start, 12) && is_tour(&tour, 12));
        assert!(distances.length(&tour) <= distances.length(&start));
        for i in 0..12 {
            for j in i + 1..12 {
                let mut other = tour.clone();
                other[i..=j].reverse();
                assert!(distances.length(&tour) < distances.length(&other) + 1e-9, "{i} {j}");
            }
        }
        let best = distances.length(&best_two_opt(&distances, 10, 1));
        let exact = distances.length(&held_karp(&distances));
        assert!(best <= distances.length(&tour) && best > exact - 1e-12 && best < 1.05 * exact);
    }
}

/// Corners of a square and a city beyond: by hand.
#[test]
fn nearest_neighbours_by_hand() {
    let cities = [[0.0, 0.0], [0.0, 1.0], [1.1, 1.0], [1.0, 0.0], [5.0, 0.0]];
    assert_eq!(nearest_neighbour(&Distances::new(&cities)), [0, 1, 2, 3, 4]);
    let rounded = Distances::rounded(&cities);
    assert_eq!([rounded.between(1, 2), rounded.between(2, 4), rounded.length(&[0, 1, 3])], [1.0, 4.0, 3.0]);
    assert_eq!(in_unit_square(&[[2.0, -3.0], [4.0, 1.0]]), [[0.25, 0.0], [0.75, 1.0]]);
}

/// The rewards of a tour's steps are minus its length, whatever its order.
#[test]
fn rewards_add_up_to_minus_the_length() {
    let cities = uniform(6, 3, "test", 0);
    let tour = [0, 4, 1, 5, 2, 3];
    let reward = |visited: usize| State { cities: &cities, tour: &tour[..visited] }.reward(tour[visited]);
    let length = Distances::new(&cities).length(&tour);
    assert!(((1..6).map(reward).sum::<f64>() + length).abs() < 1e-12);
    // The last step has two edges.
    let edge = |a: usize, b: usize| Distances::new(&cities).between(tour[a], tour[b]);
    assert_eq!((reward(1), reward(5)), (-edge(0, 1), -edge(4, 5) - edge(5, 0)));
}

/// The online network chooses among the open cities, the target network says the value.
#[test]
fn double_targets_by_hand() {
    let cities = [[0.0, 0.0]; 4];
    let states = [&[0, 2][..], &[0, 1]].map(|tour| State { cities: &cities, tour });
    let online = [9.0, 1.0, 8.0, 2.0, 9.0, 9.0, 4.0, 3.0];
    let target = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
    // Plain Q-learning would have 0.8 for the second.
    assert_eq!(best_values(&states, &online, &target), [0.4, 0.7]);
}

/// Half the mean squared difference of the value from reward plus value of the next state. The last decision
/// has no next state.
#[test]
fn the_loss_is_that_of_the_bellman_equation() {
    let config = parsed("--cities 4 --layers 2 --heads 2 --head-dim 2 --replay 7 --epoch-tours 2");
    let mut agent = agent(&config);
    agent.remember(7, &[vec![0, 2, 3, 1], vec![0, 3, 1, 2]]);
    // Another network than the target's.
    let other = TourConfig { seed: 5, ..config.clone() };
    let target = std::mem::replace(
        &mut agent.online,
        ValueNetwork::new(&other, &*other.check(&Scores::default()).unwrap()),
    );
    let tape = Tape::new();
    let values = |network: &ValueNetwork, state: State<'_>| {
        network.values(&tape, &[state]).to_tensor().data().iter().map(|x| f64::from(*x)).collect::<Vec<_>>()
    };
    let cities = training_cities(4, 42, 8);
    let state = |tour| State { cities: &cities, tour };
    // Tour 8 is in row 1. Its decisions are numbers 24, 25 and 26.
    let [next_online, next_target] = [&agent.online, &target].map(|network| values(network, state(&[0, 3])));
    let preferred = if next_online[1] > next_online[2] { 1 } else { 2 };
    let first = values(&agent.online, state(&[0]))[3] - (state(&[0]).reward(3) + next_target[preferred]);
    let last = values(&agent.online, state(&[0, 3, 1]))[2] - state(&[0, 3, 1]).reward(2);
    let expected = 0.25 * (first * first + last * last);
    let loss = agent.loss(&tape, &[24, 26]).item();
    assert!((loss / expected - 1.0).abs() < 1e-5, "{loss} {expected}");
    agent.renew_target();
    let same = agent.loss(&Tape::new(), &[24]).item();
    let expected = values(&agent.online, state(&[0]))[3] - (state(&[0]).reward(3) + next_online[preferred]);
    assert!((same / (0.5 * expected * expected) - 1.0).abs() < 1e-5);
}

/// The memory keeps the last tours, and a step takes their decisions alone.
#[test]
fn steps_take_decisions_that_the_memory_holds() {
    let config = parsed("--cities 5 --replay 6 --epoch-tours 4 --epoch-steps 30 --batch 8");
    for (epoch, held) in [(0, 0..4), (1, 2..8), (5, 18..24)] {
        let steps = Decisions(&config).epoch(epoch);
        assert!(steps.len() == 30 && steps.iter().all(|step| step.len() == 8));
        let mut tours: Vec<u32> = steps.concat().iter().map(|item| item / 4).collect();
        tours.sort_unstable();
        tours.dedup();
        assert_eq!(tours, held.collect::<Vec<u32>>(), "epoch {epoch}");
    }
}

#[test]
fn exploration_falls_linearly() {
    let config = parsed("--epsilon 0.2 --exploration 4");
    let close = |epoch: u64, epsilon: f64| (config.epsilon(epoch) - epsilon).abs() < 1e-12;
    assert!(close(0, 1.0) && close(1, 0.8) && close(3, 0.4) && close(4, 0.2) && close(100, 0.2));
    let mut rng = rng::stream(1, "test", 0);
    let (values, open) = ([5.0, 1.0, 3.0, 2.0], [1, 2, 3]);
    let mut share = |policy: Policy| {
        let chosen = (0..4000).filter(|_| policy.choose(&values, &open, &mut rng) == 2).count();
        chosen as f64 / 4000.0
    };
    assert_eq!(share(Policy::Greedy), 1.0);
    assert!((share(Policy::Explore(0.3)) - (0.7 + 0.1)).abs() < 0.03);
    let exp = |x: f64| (x / 2.0).exp();
    let expected = exp(3.0) / (exp(1.0) + exp(3.0) + exp(2.0));
    assert!((share(Policy::Sample(2.0)) - expected).abs() < 0.03);
}

/// The number of a city does not matter. What is visited does.
#[test]
fn values_follow_the_cities() {
    for geometry in GEOMETRIES {
        let config = parsed(&format!("--cities 5 --geometry {geometry}"));
        let network = agent(&config).online;
        let values = |cities: &[City], tour: &[usize]| {
            network.values(&Tape::new(), &[State { cities, tour }]).to_tensor()
        };
        let cities = uniform(5, 4, "test", 0);
        let order = [3, 0, 4, 1, 2];
        let permuted: Vec<City> = order.iter().map(|&city| cities[city]).collect();
        let place = |city: usize| order.iter().position(|&other| other == city).unwrap();
        let (plain, moved) = (values(&cities, &[0, 2, 3]), values(&permuted, &[0, 2, 3].map(place)));
        for city in 0..5 {
            assert!((plain.data()[city] - moved.data()[place(city)]).abs() < 1e-5, "{geometry}");
        }
        assert!(plain != values(&cities, &[0, 3, 2]) && plain != values(&cities, &[0, 1, 3]), "{geometry}");
    }
}

/// Samples are drawn for each instance, and more of them are never worse.
#[test]
fn tours_are_complete_and_more_samples_are_not_worse() {
    let config = parsed("--cities 6");
    let agent = agent(&config);
    let (network, tape) = (&agent.online, &mut Tape::new());
    let mut rollout = Rollout { network, tape };
    let instances: Vec<Vec<City>> = (0..3).map(|number| uniform(6, 5, "test", number)).collect();
    let distances: Vec<Distances> = instances.iter().map(|cities| Distances::new(cities)).collect();
    let greedy = rollout.greedy(&instances).unwrap();
    let mut best = |samples: u64, temperature: f64| {
        rollout.best_of_samples(&instances, &distances, [samples, 1], temperature).unwrap()
    };
    assert_eq!(best(2, 1e-9), greedy);
    let many = best(100, 1.0);
    for ((distances, greedy), many) in distances.iter().zip(&greedy).zip(&many) {
        assert!(is_tour(greedy, 6) && is_tour(many, 6));
        // 100 of 120 orders, each tour in two of them.
        assert!(distances.length(many) < 1.1 * distances.length(&held_karp(distances)));
    }
}

#[test]
fn a_geometry_decides_the_parts_of_attention() {
    let [polar, weierstrass, euclidean] = GEOMETRIES.map(|name| parsed(&format!("--geometry {name}")));
    assert_eq!(
        [&polar, &weierstrass, &euclidean].map(|c| &*c.attention),
        ["polar-distance", "distance", "dot"]
    );
    let parts = |c: &TourConfig| (c.options.aggregate, c.options.values, c.options.map);
    assert_eq!(parts(&polar), (AggregateOption::Barycentre, ValuesOption::Polar, None));
    let map = Some(MapOption::Weierstrass);
    assert_eq!(parts(&weierstrass), (AggregateOption::Barycentre, ValuesOption::Weierstrass, map));
    assert_eq!(parts(&euclidean), (AggregateOption::Euclidean, ValuesOption::Exp, None));
    assert_eq!(polar.clone().in_geometry(TourGeometry::Weierstrass), weierstrass);
    assert_eq!(euclidean.clone().in_geometry(TourGeometry::Polar), polar);
    assert_eq!(difference(&polar, &euclidean).as_deref(), Some("geometry"));
    // As many numbers, but for what is learned of the sharpness: nobody's count differs.
    let counts = [&polar, &weierstrass, &euclidean].map(|config| agent(config).online.count());
    assert_eq!((counts[0], counts[1]), (counts[2], counts[2]));
}

fn read(name: &str, text: &str) -> Result<Coordinates, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    Coordinates::read(&path).map_err(|error| {
        let error = error.to_string();
        error.split_once(&format!("{name}:")).unwrap_or_else(|| panic!("{error}")).1.to_owned()
    })
}

const TSPLIB: &str = "NAME : three\nTYPE : TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n\
    1 0.0 0.0\n 2 3e0 4\n3 0 4.4\nEOF\n";

#[test]
fn files_of_cities_are_read() {
    let found = read("three", TSPLIB).unwrap();
    assert_eq!((&found.names[..], found.metric), (&["1", "2", "3"].map(str::to_owned)[..], Metric::Rounded));
    assert_eq!(found.distances().length(&[0, 1, 2]), 5.0 + 3.0 + 4.0);
    assert_eq!(read("three.tsp", &TSPLIB.replace("EOF\n", "")).unwrap(), found);
    let table = "name\tx\ty\n1\t0\t0\n# a note\n2\t3\t4\n\n3\t0\t4.4\n";
    assert_eq!(read("table", table).unwrap(), Coordinates { metric: Metric::Euclidean, ..found.clone() });
    let plain = read("plain", "0 0\n3 4\n0 4.4\n").unwrap();
    assert_eq!((&plain.names, &plain.cities), (&found.names, &found.cities));
    for table in ["x, y\n0, 0\n3, 4\n0, 4.4\n", "name;x;y\n1;0;0\n2;3;4\n3;0;4.4"] {
        assert_eq!(read("table", table).unwrap(), plain);
    }
    assert_eq!(read("spaces", "New York,0,0\nRome,1,0\nOslo,0,1\n").unwrap().names[0], "New York");
}

/// Line and cause.
#[test]
fn wrong_files_are_refused_with_the_line() {
    let edited = |old: &str, new: &str| {
        assert!(TSPLIB.contains(old));
        TSPLIB.replacen(old, new, 1)
    };
    let cases = [
        (edited("3e0 4", "3e0 four"), "7: y is \"four\", not a number"),
        (edited("3e0 4", "nan 4"), "7: x is \"nan\", not a number"),
        (edited("3e0 4", "3e0 1e200"), "7: y is \"1e200\", not a number from"),
        (edited("3e0 4", "3 4 5"), "7: \"2 3 4 5\": a city is a number, x and y"),
        (edited("3e0 4", "0.0 -0"), "7: the place 0.0, -0 is that of line 6; cities must be apart"),
        (edited(" 2 ", "1 "), "7: the city \"1\" is in line 6 already"),
        (edited("DIMENSION: 3", "DIMENSION: 2"), "8: more cities than DIMENSION 2"),
        (edited("DIMENSION: 3", "DIMENSION: 4"), "9: the file ends after 3 cities; DIMENSION is 4"),
        (edited("DIMENSION: 3", "DIMENSION: x"), "3: DIMENSION is \"x\", not a number"),
        (edited("DIMENSION: 3", "COMMENT:"), "5: NODE_COORD_SECTION before DIMENSION"),
        (edited("EUC_2D", "GEO"), "4: EDGE_WEIGHT_TYPE is \"GEO\"; only EUC_2D is read"),
        (edited("EDGE_WEIGHT_TYPE : EUC_2D\n", ""), "4: NODE_COORD_SECTION before EDGE_WEIGHT_TYPE"),
        (edited("NODE_COORD", "EDGE_WEIGHT"), "5: \"EDGE_WEIGHT_SECTION\": only NODE_COORD_SECTION"),
        (TSPLIB.split("NODE").next().unwrap().to_owned(), "4: the file ends without NODE_COORD_SECTION"),
        ("NAME : none\nEOF\n".to_owned(), "2: the file ends without NODE_COORD_SECTION"),
        ("0 0\n1 1\n".to_owned(), "2: a tour needs 3 cities or more; the file has 2"),
        ("0 0\n1 1\na 2 2\n".to_owned(), "3: 3 columns, where the first line has 2"),
        ("1 2 3 4\n".to_owned(), "1: 4 columns; x and y, or a name, x and y, are needed"),
        ("x y\n0 0\nx y\n".to_owned(), "3: x is \"x\", not a number"),
        ("0 0\n1 1\n1 1\n".to_owned(), "3: the place 1, 1 is that of line 2"),
        (String::new(), "1: a tour needs 3 cities or more; the file has 0"),
    ];
    for (text, message) in cases {
        let error = read("cities", &text).unwrap_err();
        assert!(error.starts_with(message), "{message}: {error}");
    }
}
