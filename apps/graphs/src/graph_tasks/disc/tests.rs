//! The graphs against all pairs of nodes and against known laws.

use std::f64::consts::{PI, TAU};

use cotangent_apps_common::config;
use rayon::prelude::*;

use super::{Disc, DiscGraph};

fn disc(nodes: usize) -> Disc {
    Disc { nodes, ..config::parse(&[]) }
}

/// The distance of two nodes.
fn distance(graph: &DiscGraph, u: u32, v: u32) -> f64 {
    let [r, s] = [u, v].map(|node| graph.radii()[node as usize]);
    let angle = graph.angles()[u as usize] - graph.angles()[v as usize];
    let [radial, turn] = [(0.5 * (r - s)).sinh(), (0.5 * angle).sin()];
    2.0 * (radial * radial + r.sinh() * s.sinh() * turn * turn).sqrt().asinh()
}

/// Not a pair is missing or in excess, up to those whose distance is the limit but for rounding.
#[test]
fn the_edges_are_those_that_all_pairs_give() {
    let settings = [
        (0.95, 0.35, None),
        (0.95, 1.0, None),
        (0.95, 1.0, Some(14.0)),
        (0.55, 0.7, Some(9.0)),
        (0.2, 0.9, Some(6.0)),
        (6.0, 0.25, Some(5.0)),
        (0.95, 1.3, Some(0.001)),
        (0.7, 1.95, Some(100.0)),
        (1.0, 1.98, Some(350.0)),
        (0.01, 0.5, Some(350.0)),
        (0.95, 2.5, None),
    ];
    for (alpha, factor, radius) in settings {
        for number in 0..2 {
            let disc = Disc { nodes: 400, alpha, factor, radius };
            disc.validate().unwrap();
            let graph = disc.generate(1, number);
            assert!(graph.edges() > 20, "{disc:?}: {} edges", graph.edges());
            let limit = factor * disc.radius();
            for u in 0..400 {
                assert!(
                    graph.neighbours(u as usize).is_sorted_by(|a, b| a < b)
                        && !graph.neighbours(u as usize).contains(&u)
                );
                for v in 0..400 {
                    let away = distance(&graph, u, v) - limit;
                    if u != v && away.abs() > 1e-12 * limit {
                        let joined = graph.neighbours(u as usize).contains(&v);
                        assert_eq!(joined, away < 0.0, "{disc:?}, {number}: {u} {v} {away}");
                    }
                }
            }
            let pairs: Vec<(u32, u32)> = graph.pairs().collect();
            assert!(pairs.len() == graph.edges() && pairs.is_sorted());
        }
    }
}

#[test]
fn a_graph_depends_on_seed_and_number_alone() {
    let disc = disc(5000);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| disc.generate(3, 9))
    };
    let graph = on(1);
    assert!(graph == on(3));
    assert!(graph != disc.generate(3, 10) && graph != disc.generate(4, 9));
    assert!(graph.angles().is_sorted() && graph.angles().iter().all(|angle| (0.0..TAU).contains(angle)));
}

/// The largest difference of the distribution functions is below 1.95/√n in 999 of 1000 samples
/// (Kolmogorov).
#[test]
fn radii_and_angles_have_their_distributions() {
    for (alpha, radius) in [(0.95, None), (0.3, Some(4.0)), (2.0, Some(40.0))] {
        let disc = Disc { alpha, radius, ..disc(20_000) };
        let graph = disc.generate(5, 0);
        let share = |r: f64| (alpha * r).cosh() - 1.0;
        let radii = graph.radii().iter().map(|&r| share(r) / share(disc.radius()));
        let angles = graph.angles().iter().map(|angle| angle / TAU);
        for mut sample in [radii.collect::<Vec<f64>>(), angles.collect()] {
            sample.sort_by(f64::total_cmp);
            let count = sample.len() as f64;
            let difference = |(i, x): (usize, &f64)| (x - (i as f64 + 0.5) / count).abs();
            let largest = sample.iter().enumerate().map(difference).fold(0.0, f64::max);
            assert!(largest < 1.95 / count.sqrt(), "{disc:?}: {largest}");
        }
    }
}

/// Means of figures over graphs.
fn means<const N: usize>(
    disc: &Disc,
    graphs: u64,
    figures: impl Fn(&DiscGraph) -> [f64; N] + Sync,
) -> [f64; N] {
    let all: Vec<[f64; N]> =
        (0..graphs).into_par_iter().map(|number| figures(&disc.generate(7, number))).collect();
    std::array::from_fn(|i| all.iter().map(|figures| figures[i]).sum::<f64>() / graphs as f64)
}

fn degree(graph: &DiscGraph) -> f64 {
    2.0 * graph.edges() as f64 / graph.nodes() as f64
}

/// Means over graphs of the paper's settings, four standard errors to both sides of those of 284 graphs that
/// another program drew and compared pair by pair: mean degree 3.99, 7.62 and 10.77 with standard deviations
/// 0.38, 0.40 and 0.35; longest path 12.2, 15.4 and 12.8 with 3.5, 3.8 and 1.5, the longest of all 27.
#[test]
fn mean_degree_and_longest_path_are_in_the_intervals_of_many_graphs() {
    for (nodes, graphs, degrees, paths) in [
        (100, 200, 3.85..4.12, 11.2..13.2),
        (400, 60, 7.4..7.83, 13.4..17.3),
        (1000, 12, 10.3..11.2, 11.0..14.6),
    ] {
        let disc = disc(nodes);
        let figures = |graph: &DiscGraph| [degree(graph), f64::from(graph.longest_path())];
        let [found, longest] = means(&disc, graphs, figures);
        assert!(degrees.contains(&found) && paths.contains(&longest), "{nodes}: {found}, {longest}");
    }
}

/// The expected degree is an integral over the law of the graphs.
#[test]
fn the_expected_degree_is_the_mean_over_graphs() {
    for (alpha, factor, radius) in
        [(0.95, 0.35, None), (0.95, 1.0, Some(13.0)), (0.6, 1.0, Some(13.0)), (2.0, 0.5, Some(3.0))]
    {
        let disc = Disc { alpha, factor, radius, ..disc(1000) };
        let ([found], expected) = (means(&disc, 40, |graph| [degree(graph)]), disc.expected_degree());
        assert!((found / expected - 1.0).abs() < 0.05, "{disc:?}: {found}, expected {expected}");
    }
    let complete = Disc { factor: 2.0, ..disc(50) };
    assert!((complete.expected_degree() - 49.0).abs() < 1e-9 && complete.generate(1, 1).edges() == 1225);
}

/// The exponent of the degrees by Hill's estimator, over the largest fiftieth: with factor 1 near 2α + 1.
/// With the paper's factor the degrees have no power law, and fall much faster.
#[test]
fn degrees_have_a_power_law_with_factor_one_alone() {
    let hill = |graph: &DiscGraph| {
        let mut degrees: Vec<usize> = (0..graph.nodes()).map(|node| graph.neighbours(node).len()).collect();
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        let count = degrees.len() / 50;
        let logarithms = degrees[..count].iter().map(|&d| (d as f64 / degrees[count] as f64).ln());
        [1.0 + count as f64 / logarithms.sum::<f64>()]
    };
    for alpha in [0.6, 0.75, 0.95] {
        let xi: f64 = alpha / (alpha - 0.5);
        // The mean degree is about 10.
        let radius = Some(2.0 * (2.0 * xi * xi * 5000.0 / (PI * 10.0)).ln());
        let [exponent] = means(&Disc { alpha, factor: 1.0, radius, nodes: 5000 }, 8, hill);
        assert!((exponent - (2.0 * alpha + 1.0)).abs() < 0.4, "{alpha}: {exponent}");
    }
    let [narrow] = means(&disc(5000), 8, hill);
    assert!(narrow > 6.0, "{narrow}");
}

#[test]
fn impossible_settings_are_refused_by_the_name_of_the_option() {
    let error = |disc: Disc| disc.validate().unwrap_err().to_string();
    let base = disc(100);
    for (disc, begin) in [
        (Disc { nodes: 0, ..base }, "--nodes 0: at least 2 are needed"),
        (Disc { nodes: 1, ..base }, "--nodes 1: at least 2 are needed"),
        (Disc { nodes: 1 << 32, ..base }, "--nodes 4294967296: at most 4294967295 are possible"),
        (Disc { alpha: 0.0, ..base }, "--alpha 0: a positive number is needed"),
        (Disc { alpha: f64::NAN, ..base }, "--alpha NaN: a positive number is needed"),
        (Disc { alpha: 1e3, ..base }, "--alpha 1000: at most "),
        (Disc { factor: -1.0, ..base }, "--factor -1: a positive number is needed"),
        (Disc { factor: f64::INFINITY, ..base }, "--factor inf: a positive number is needed"),
        (Disc { radius: Some(0.0), ..base }, "--disc-radius 0: a positive number is needed"),
        (Disc { radius: Some(f64::NAN), ..base }, "--disc-radius NaN: a positive number is needed"),
        (Disc { radius: Some(351.0), ..base }, "--disc-radius 351: from 0.001 to 350 is needed"),
        (Disc { radius: Some(1e-9), ..base }, "--disc-radius 0.000000001: from 0.001 to 350 is needed"),
        (Disc { nodes: 100_000_000, factor: 2.0, ..base }, "--nodes 100000000: a graph of about 5.0e15 "),
    ] {
        let found = error(disc);
        assert!(found.starts_with(begin) && !found.contains('\n'), "{found}");
    }
}
