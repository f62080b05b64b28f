//! The application `graph-tasks` from the outside: results, files, and errors for bad input.

use std::path::Path;

use cotangent_apps_graphs::graph_tasks::{APP, GraphTasksMetrics};

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const GRAPH_TASKS: App = App(env!("CARGO_BIN_EXE_graph-tasks"));

const SMALL: &str = "--nodes 60 --batch 3 --validation-graphs 2 --test-graphs 3 \
    --warm-up 2";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

const TRAINING: Training = Training {
    // The data have no names.
    arguments: |_, _| {
        words(&format!(
            "train --task path {SMALL} --pass 0 --pairs 6 --epochs 2 --epoch-steps 2 --curriculum 180"
        ))
    },
    long: &[["--epochs", "9"]],
    same: &["model.safetensors"],
    pictures: &[
        (
            "curves.svg",
            &["path, 60 nodes, polar-distance attention", "180°"],
            &["path, 60 nodes, polar-distance attention"],
        ),
        ("accuracy.svg", &["length of the shortest path", "best constant answer"], &["length"]),
        ("radii.svg", &["hyperbolic radius r", "queries", "keys"], &["hyperbolic radius r"]),
    ],
};

scenarios!("graph-tasks", APP, TRAINING, resumes);

fn arguments(d: &Dir, name: &str, more: &str) -> (Vec<String>, String) {
    let out = d.path(name);
    (words(&format!("train {SMALL} --out {out} {more}")), out)
}

fn run(d: &Dir, name: &str, more: &str) -> (String, GraphTasksMetrics, String) {
    let (arguments, out) = arguments(d, name, more);
    let printed = GRAPH_TASKS.succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    (printed, crate::common::metrics(&out), out)
}

fn fails(d: &Dir, name: &str, more: &str) -> String {
    let arguments = arguments(d, name, more).0;
    let output = GRAPH_TASKS.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{more}: {error}");
    error.lines().last().unwrap().strip_prefix("error: ").unwrap().to_owned()
}

/// Lessons are named in the metrics and marked on the curves. A run that was resumed with more epochs goes on
/// in its lesson, and has the bits of one that was not stopped.
#[test]
fn lessons_follow_one_another() {
    let d = Dir::new();
    let lessons = "--task link --curriculum 90:50,180 --pass 0 --epoch-steps 2";
    let (printed, whole, of_whole) = run(&d, "whole", &format!("{lessons} --epochs 4"));
    let names: Vec<&str> = whole.lessons.iter().map(|lesson| &*lesson.name).collect();
    assert_eq!(names, ["90°, 50 nodes", "180°, 60 nodes", "360°, 60 nodes"]);
    let epochs: Vec<(u64, u64)> = whole.lessons.iter().map(|l| (l.first_epoch, l.epochs)).collect();
    assert_eq!(epochs, [(1, 1), (2, 1), (3, 2)]);
    assert!(printed.contains("lesson 90°, 50 nodes: 1 epochs"), "{printed}");
    let curves = String::from_utf8(bytes(&of_whole, "curves.svg")).unwrap();
    assert!(["90°", "180°", "360°"].iter().all(|angle| curves.contains(angle)), "{curves}");
    run(&d, "parts", &format!("{lessons} --epochs 2"));
    let (_, parts, of_parts) = run(&d, "parts", &format!("{lessons} --epochs 4 --resume"));
    assert_eq!(bytes(&of_whole, "model.safetensors"), bytes(&of_parts, "model.safetensors"));
    assert_eq!(
        (whole.test, whole.training.epochs, whole.lessons),
        (parts.test, parts.training.epochs, parts.lessons)
    );
}

/// The error names the lesson. The last checkpoint stays, and a resumed run stops at the same lesson.
#[test]
fn a_lesson_that_cannot_be_passed_is_named() {
    let d = Dir::new();
    let more =
        "--task path --curriculum 180 --pass 1 --pass-epochs 2 --lesson-epochs 2 --epochs 5 --epoch-steps 2";
    let error = fails(&d, "out", more);
    let expected = "lesson 1 of 2 (180°, 60 nodes) is not passed after 2 epochs, accuracy 0.";
    assert!(error.starts_with(expected), "{error}");
    assert!(Path::new(&d.path("out")).join("checkpoint.bin").exists());
    assert_eq!(fails(&d, "out", &format!("{more} --resume")), error);
    // It may have more epochs.
    let longer = more.replace("--lesson-epochs 2", "--lesson-epochs 3");
    let later = fails(&d, "out", &format!("{longer} --resume"));
    assert!(later.contains("is not passed after 3 epochs"), "{later}");
}

/// Both geometries have as many parameters. Beside the accuracy stands the best constant answer.
#[test]
fn a_table_compares_geometries_with_all_seeds() {
    let d = Dir::new();
    let (arguments, out) = arguments(
        &d,
        "out",
        "--task path --pairs 6 --no-curriculum --epochs 1 --epoch-steps 2 --table --seeds 2",
    );
    let printed = GRAPH_TASKS.succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(printed.contains("hyperbolic minus Euclidean: "), "{printed}");
    assert!(printed.contains("best constant answer"), "{printed}");
    let metrics = |geometry: &str, seed: u64| -> GraphTasksMetrics {
        crate::common::metrics(&format!("{out}/{geometry}/seed-{seed}"))
    };
    let table: serde_json::Value = serde_json::from_slice(&bytes(&out, "table.json")).unwrap();
    for (place, seed) in [42, 43].into_iter().enumerate() {
        let [hyperbolic, euclidean] = ["hyperbolic", "euclidean"].map(|geometry| metrics(geometry, seed));
        assert_eq!(hyperbolic.training.parameters, euclidean.training.parameters);
        assert_eq!((hyperbolic.constant, hyperbolic.test.questions()), (euclidean.constant, 18));
        let difference = table["differences"][place].as_f64().unwrap();
        assert!((difference - (hyperbolic.accuracy - euclidean.accuracy)).abs() < 1e-12);
        assert!(euclidean.radii.what.contains("norm") && hyperbolic.radii.what.contains("radius"));
    }
    assert!(Path::new(&out).join("hyperbolic/seeds.json").exists());
}

/// Every part in turn; no number is not finite.
#[test]
fn parts_are_switched_one_by_one() {
    let d = Dir::new();
    let runs = [
        "--task link",
        "--task link-removed --weights sigmoid",
        "--task path --input neighbours",
        "--task path --input neighbours --flags --weights sigmoid",
        "--task path --flags --geometry euclidean",
        "--task link --geometry euclidean --input neighbours --norm post",
        "--task path --aggregate euclidean --layers 2 --dropout 0.1",
        "--task path --attention distance --values exp",
    ];
    let mut models = Vec::new();
    for (number, more) in runs.into_iter().enumerate() {
        let (_, metrics, out) =
            run(&d, &number.to_string(), &format!("{more} --no-curriculum --epochs 1 --epoch-steps 1"));
        assert_eq!((metrics.test.not_finite, metrics.radii.not_finite), (0, 0), "{more}");
        let counted = |counts: &[u64]| counts.iter().sum::<u64>() > 0;
        assert!(counted(&metrics.radii.queries) && counted(&metrics.radii.keys), "{more}");
        models.push(bytes(&out, "model.safetensors"));
    }
    assert!((1..models.len()).all(|i| models[i] != models[0]));
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let d = Dir::new();
    let wrong = [
        ("--task link --nodes 1", "--nodes 1: "),
        ("--task link --nodes 4000000000000", "--nodes 4000000000000: "),
        ("--task link --factor 0", "--factor 0: "),
        ("--task link --alpha -1", "--alpha -1: "),
        ("--task link --disc-radius 0", "--disc-radius 0: "),
        ("--task link --layers 0", "--layers 0: at least 1 is needed"),
        ("--task link --pass 2", "--pass 2: a number from 0 to 1 is needed"),
        ("--task link --curriculum 0", "--curriculum 0: an angle above 0, up to 360, is needed"),
        ("--task link --curriculum 30:61", "--curriculum 30:61: a number of nodes from 2 to 60 is needed"),
        ("--task link --curriculum half", "a lesson is ANGLE or ANGLE:NODES"),
        ("--task link --flags", "--pairs 6: with --flags a graph has one"),
        ("--task link --batch 4294967296", "a run has less than 2³² graphs"),
        ("--task link --aggregate euclidean --values polar", "only --aggregate barycentre"),
        ("--task link --table --geometry euclidean", "cannot be used with"),
        ("--task link --no-curriculum --curriculum 30", "cannot be used with"),
        ("--task colour", "[possible values: link, link-removed, path]"),
    ];
    for (more, message) in wrong {
        // An option may be given once.
        let usual = ["--nodes 60", "--batch 3", "--pass 0", "--pairs 6"];
        let given = |option: &&str| !more.contains(option.split(' ').next().unwrap());
        let usual: Vec<&str> = usual.into_iter().filter(given).collect();
        let all = format!("train {} {more} --out {}", usual.join(" "), d.path("out"));
        let error = GRAPH_TASKS.fails(&all.split_whitespace().collect::<Vec<_>>());
        assert!(error.contains(message), "{more}: {error}");
        assert!(!Path::new(&d.path("out")).exists(), "{more}: nothing is written");
    }
}
