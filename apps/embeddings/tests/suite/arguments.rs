//! Arguments of `poincare` that are refused before anything is printed, and what `--json` prints.

use crate::common::{App, Dir};

const POINCARE: App = App(env!("CARGO_BIN_EXE_poincare"));

/// A run that is refused prints nothing to standard output.
#[track_caller]
fn refused(arguments: &[&str], cause: &str) {
    let output = POINCARE.run(arguments);
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    let error = POINCARE.fails(arguments);
    assert!(error.contains(cause), "{error}");
}

#[test]
fn seeds_and_checkpoints_are_checked_first() {
    let dir = Dir::new();
    let edges = dir.write("edges.tsv", "a\tb\n");
    let out = dir.path("out");
    let train = ["train", "--edges", &edges, "--out", &out];
    refused(&[&train[..], &["--seeds", "0"]].concat(), "--seeds 0: from 1 to 1000000 is needed");
    refused(&[&train[..], &["--resume"]].concat(), "checkpoint.bin: No such file");
    assert!(!std::path::Path::new(&out).exists());
}

#[test]
fn options_that_have_no_effect_are_refused() {
    let dir = Dir::new();
    let edges = dir.write("edges.tsv", "a\tb\nb\tc\n");
    let out = dir.path("out");
    let train = ["train", "--edges", &edges, "--out", &out];
    for option in ["--cone-size", "--margin"] {
        refused(&[&train[..], &[option, "5"]].concat(), "only for --loss cones, umbral and penumbral");
    }
    refused(&[&train[..], &["--negative-power", "200"]].concat(), "--negative-power: at most 10 is possible");
    let error = POINCARE.fails(&[&train[..], &["--sample-by-weight"]].concat());
    assert!(error.ends_with("--sample-by-weight: the edges have no weights"), "{error}");
    let heavy = dir.write("heavy.tsv", "a\tb\t1e308\nb\tc\t1e308\n");
    let error = POINCARE.fails(&["train", "--edges", &heavy, "--out", &out, "--sample-by-weight"]);
    assert!(error.ends_with("--sample-by-weight: the sum of the weights is too large"), "{error}");
}

/// Spaces around a name are none of its own.
#[test]
fn names_of_nodes_are_trimmed() {
    let dir = Dir::new();
    let edges = dir.write("edges.csv", "dog, mammal\nmammal , animal\n");
    let text = POINCARE.succeeds(&[
        "train",
        "--edges",
        &edges,
        "--epochs",
        "1",
        "--closure",
        "--out",
        &dir.path("out"),
    ]);
    assert!(text.starts_with("3 nodes, 3 pairs"), "{text}");
}

#[test]
fn a_distance_is_printed_once() {
    let dir = Dir::new();
    let embedding = dir.write("embedding.tsv", "a\t0\t0\nb\t0.5\t0\n");
    let arguments = ["distance", "a", "b", "--embedding", &embedding];
    let text = POINCARE.succeeds(&arguments);
    let distance: f64 = text.trim().parse().unwrap();
    assert!((distance - 3.0_f64.ln()).abs() < 1e-15);
    let json = POINCARE.succeeds(&[&arguments[..], &["--json"]].concat());
    let event: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&event["event"], &event["distance"]), (&"result".into(), &distance.into()));
}
