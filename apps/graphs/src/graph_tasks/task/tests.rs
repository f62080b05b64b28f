//! The lessons and the examples against their graphs.

use cotangent_apps_common::config;
use rayon::prelude::*;

use super::super::disc::{Disc, DiscGraph};
use super::{Example, Lesson, Task};
use crate::graph_tasks::LessonOption;

fn disc(nodes: usize) -> Disc {
    Disc { nodes, ..config::parse(&[]) }
}

fn whole(disc: &Disc) -> Lesson {
    Lesson { angle: 360.0, nodes: disc.nodes }
}

#[test]
fn a_lesson_shows_the_largest_component_of_a_slice() {
    let disc = disc(300);
    let graph = disc.generate(2, 4);
    let cut = |angle| Lesson { angle, nodes: 300 }.cut(graph.clone());
    assert!(cut(360.0) == graph);
    let mut before = 0;
    for angle in [30.0_f64, 90.0, 180.0, 359.9] {
        let part = cut(angle);
        assert!(part.nodes() > before && part.angles().iter().all(|a| *a < angle.to_radians()), "{angle}");
        assert_eq!(part.adjacency().largest_component().1, 1);
        // Its edges are those of the graph between its nodes.
        let original = |node: u32| {
            let angle = part.angles()[node as usize];
            graph.angles().partition_point(|other| *other < angle) as u32
        };
        let nodes = part.nodes() as u32;
        let pairs = (0..nodes).flat_map(|u| (0..u).map(move |v| [v, u]));
        let same = |pair: &[u32; 2]| joined(&part, *pair) == joined(&graph, pair.map(original));
        assert!(pairs.into_iter().all(|pair| same(&pair)));
        before = part.nodes();
    }
}

/// Whether two nodes are joined.
fn joined(graph: &DiscGraph, [u, v]: [u32; 2]) -> bool {
    graph.neighbours(u as usize).contains(&v)
}

#[test]
fn an_example_depends_on_seed_and_number_alone() {
    let (disc, lesson) = (disc(150), Lesson { angle: 120.0, nodes: 150 });
    for task in [Task::Link, Task::LinkRemoved, Task::Path] {
        let make = |number| task.example(&disc, &lesson, 32, true, 6, number).unwrap();
        let alone: Vec<Example> = (0..8).map(make).collect();
        assert!(alone == (0..8).into_par_iter().map(make).collect::<Vec<Example>>());
        assert!(alone.windows(2).all(|two| two[0] != two[1]));
        for Example { graph, pairs, labels } in &alone {
            assert!(pairs.len() == 32 && labels.iter().all(|label| *label < task.classes()));
            assert!(pairs.iter().all(|[u, v]| u != v && (*u.max(v) as usize) < graph.nodes()));
        }
    }
}

#[test]
fn links_are_drawn_among_all_pairs() {
    let disc = disc(60);
    let Example { graph, pairs, labels } =
        Task::Link.example(&disc, &whole(&disc), 20_000, true, 1, 0).unwrap();
    assert!(graph == disc.generate(1, 0));
    for (pair, label) in pairs.iter().zip(&labels) {
        assert_eq!(joined(&graph, *pair), *label == 1);
    }
    let share = labels.iter().sum::<usize>() as f64 / 20_000.0;
    let density = graph.edges() as f64 / (60.0 * 59.0 / 2.0);
    assert!((share - density).abs() < 0.01, "{share} {density}");
    let mut nodes = [0.0_f64; 60];
    pairs.iter().flatten().for_each(|node| nodes[*node as usize] += 60.0 / 40_000.0);
    assert!(nodes.iter().all(|share| (share - 1.0).abs() < 0.2), "{nodes:?}");
}

#[test]
fn removed_links_are_half_of_the_pairs_and_not_in_the_graph() {
    let disc = disc(200);
    for (nodes, pairs) in [(200, 32), (200, 31), (12, 32)] {
        let lesson = Lesson { angle: 360.0, nodes };
        let example = Task::LinkRemoved.example(&disc, &lesson, pairs, true, 1, 0).unwrap();
        let before = Disc { nodes, ..disc }.generate(1, 0);
        assert_eq!(example.labels.iter().sum::<usize>(), pairs.div_ceil(2));
        for (pair, label) in example.pairs.iter().zip(&example.labels) {
            assert!(!joined(&example.graph, *pair));
            assert_eq!(joined(&before, *pair), *label == 1);
        }
        let removed = before.edges() - example.graph.edges();
        assert_eq!(removed, pairs.div_ceil(2).min(before.edges().div_ceil(2)));
    }
}

#[test]
fn paths_are_drawn_by_length_for_training_and_by_pair_for_testing() {
    let disc = disc(100);
    let draw = |training| Task::Path.example(&disc, &whole(&disc), 20_000, training, 1, 3).unwrap();
    let Example { graph, pairs, labels } = draw(true);
    let mut counts = [0.0; 25];
    for u in 0..100 {
        let distances = graph.adjacency().distances(&[u]);
        (distances.iter().filter(|d| (1..100).contains(*d))).for_each(|d| counts[*d as usize - 1] += 1.0);
    }
    let total: f64 = counts.iter().sum();
    let occurring = counts.iter().filter(|count| **count > 0.0).count();
    let check = |pairs: &[[u32; 2]], labels: &[usize], share: &dyn Fn(usize) -> f64| {
        let mut found = [0.0; 25];
        for ([u, v], label) in pairs.iter().zip(labels) {
            found[*label] += 1.0 / 20_000.0;
            assert_eq!(graph.adjacency().distances(&[*u])[*v as usize] as usize, label + 1);
        }
        for (class, found) in found.iter().enumerate() {
            assert!((found - share(class)).abs() < 0.012, "{class}: {found} {}", share(class));
        }
    };
    check(&pairs, &labels, &|class| f64::from(counts[class] > 0.0) / occurring as f64);
    let test = draw(false);
    assert!(test.graph == graph);
    check(&test.pairs, &test.labels, &|class| counts[class] / total);
}

/// Paths of a disc whose graphs are chains: longer ones than 25 count as 25.
#[test]
fn long_paths_are_in_the_last_class() {
    let disc = Disc { nodes: 600, alpha: 20.0, factor: 1.17, radius: Some(8.0) };
    let example = Task::Path.example(&disc, &whole(&disc), 2000, false, 1, 0).unwrap();
    assert!(example.graph.longest_path() > 30);
    for ([u, v], label) in example.pairs.iter().zip(&example.labels) {
        let distance = example.graph.adjacency().distances(&[*u])[*v as usize] as usize;
        assert_eq!(distance.min(25), label + 1);
    }
    assert!(example.labels.contains(&24));
}

#[test]
fn a_task_that_no_graph_has_is_refused() {
    let tiny = Disc { factor: 1e-9, ..disc(50) };
    let complete = Disc { factor: 2.0, ..tiny };
    for (task, disc, end) in [
        (Task::Path, tiny, "--task path: none of 100 graphs of lesson 360:50 has a path"),
        (Task::LinkRemoved, tiny, "--task link-removed: none of 100 graphs of lesson 360:50 has an edge"),
        (Task::LinkRemoved, complete, "--task link-removed: none of 100 graphs of lesson 360:50 has an edge"),
    ] {
        let error = task.example(&disc, &whole(&disc), 4, true, 1, 0).unwrap_err().to_string();
        assert!(error.starts_with(end), "{error}");
    }
    assert_eq!(Task::Link.example(&tiny, &whole(&tiny), 4, true, 1, 0).unwrap().labels, [0; 4]);
    for (angle, nodes, end) in [
        (0.0, 50, "an angle above 0"),
        (361.0, 50, "an angle above 0"),
        (f64::NAN, 50, "an angle above 0"),
        (90.0, 1, "--nodes 1: at least 2 are needed"),
    ] {
        let error = Lesson { angle, nodes }.disc(&tiny).unwrap_err().to_string();
        assert!(error.starts_with("lesson ") && error.contains(end), "{error}");
    }
    // Small slices often have one node: another graph of the same number takes their place.
    let narrow = Lesson { angle: 30.0, nodes: 30 };
    for number in 0..50 {
        assert!(Task::Path.example(&disc(30), &narrow, 4, true, 1, number).is_ok());
    }
}

#[test]
fn lessons_are_written_as_they_are_read() {
    let disc = disc(50);
    for (text, nodes) in [("22.5:400", 400), ("22.5", 50)] {
        let option: LessonOption = text.parse().unwrap();
        let lesson = option.on(&disc);
        assert_eq!((lesson.angle, lesson.nodes, option.to_string().as_str()), (22.5, nodes, text));
    }
    for text in ["90:", ":400", "x:400", "90:4.5", "90:-1", ""] {
        assert!(text.parse::<LessonOption>().unwrap_err().ends_with("such as 30 or 30:500"), "{text}");
    }
}
