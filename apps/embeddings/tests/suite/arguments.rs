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
    for option in [&["--closure"][..], &["--columns", "1,2"], &["--weight", "none"], &["--header", "no"]] {
        let cause = format!("{}: only with --edges", option[0]);
        refused(&[&["train", "--out", &out][..], option].concat(), &cause);
    }
    refused(&[&train[..], &["--negative-power", "200"]].concat(), "--negative-power: at most 10 is possible");
    let error = POINCARE.fails(&[&train[..], &["--sample-by-weight"]].concat());
    assert!(error.ends_with("--sample-by-weight: the edges have no weights"), "{error}");
    let error = POINCARE.fails(&[&train[..], &["--rank-by-weight"]].concat());
    assert!(error.ends_with("--rank-by-weight: the edges have no weights"), "{error}");
    let ranked = ["--rank-by-weight", "--shared-negatives", "5"];
    refused(&[&train[..], &ranked].concat(), "--rank-by-weight: not with --shared-negatives");
    refused(
        &[&train[..], &["--rank-by-weight", "--loss", "cones"]].concat(),
        "--rank-by-weight: only for --loss ranking",
    );
    let heavy = dir.write("heavy.tsv", "a\tb\t1e308\nb\tc\t1e308\n");
    let error = POINCARE.fails(&["train", "--edges", &heavy, "--out", &out, "--sample-by-weight"]);
    assert!(error.ends_with("--sample-by-weight: the sum of the weights is too large"), "{error}");
}

/// The largest number that an option can have.
const LARGEST: &str = "18446744073709551615";

/// Sizes beyond the memory are refused with what they would need, before files of an earlier run are moved.
#[test]
fn sizes_that_do_not_fit_in_memory_are_refused() {
    let dir = Dir::new();
    let (edges, out) = (dir.write("edges.tsv", "a\tb\nb\tc\nc\td\n"), dir.path("out"));
    let train = ["train", "--edges", &edges, "--epochs", "2", "--out", &out];
    POINCARE.succeeds(&train);
    let before = std::fs::read(dir.path("out/checkpoint.bin")).unwrap();
    let product = format!("poincare:{LARGEST},sphere:1");
    let factors = format!("poincare:{LARGEST},sphere:{LARGEST}");
    for (option, value, message) in [
        (
            "--dim",
            LARGEST,
            "--dim 18446744073709551615: the points of 4 nodes would take 1.8e12 GB of memory",
        ),
        ("--dim", "1000000000000", "--dim 1000000000000: the points of 4 nodes would take 96000.0 GB"),
        (
            "--negatives",
            LARGEST,
            "--negatives 18446744073709551615, --batch 3, --dim 5: samples and gradients",
        ),
        ("--negatives", "1000000000000", "would take 212000.0 GB of memory; this machine has"),
        ("--shared-negatives", LARGEST, "--shared-negatives 18446744073709551615, --batch 3: the distances"),
        ("--model", &product, "the points of 4 nodes would take"),
        ("--model", &factors, "the points of 4 nodes would take"),
    ] {
        for more in [&[][..], &["--lock-free"], &["--device", "cpu", "--precision", "f32"]] {
            let arguments = [&train[..], &[option, value], more].concat();
            let error = POINCARE.run(&arguments);
            let error = (error.status.code(), String::from_utf8(error.stderr).unwrap());
            assert!(error.0 == Some(2) && error.1.contains("GB of memory;"), "{arguments:?}: {error:?}");
            if more.is_empty() && (cfg!(target_os = "linux") || !message.contains("machine")) {
                assert!(error.1.contains(message), "{arguments:?}: {error:?}");
            }
        }
    }
    assert!(!std::path::Path::new(&dir.path("out/previous-1")).exists());
    assert_eq!(std::fs::read(dir.path("out/checkpoint.bin")).unwrap(), before);
}

/// A batch has no more than all pairs: any larger number is the same, to the bit.
#[test]
fn a_batch_may_be_larger_than_the_graph() {
    let dir = Dir::new();
    let edges = dir.write("edges.tsv", "a\tb\nb\tc\nc\td\n");
    let points = |batch: &str, more: &[&str]| {
        let out = dir.path("out");
        let train = ["train", "--edges", &edges, "--epochs", "3", "--out", &out, "--batch", batch];
        POINCARE.succeeds(&[&train[..], more].concat());
        std::fs::read(dir.path("out/embedding.tsv")).unwrap()
    };
    for more in
        [&[][..], &["--shared-negatives", "2"], &["--model", "sphere"], &["--model", "poincare:2,sphere:1"]]
    {
        assert_eq!(points(LARGEST, more), points("3", more), "{more:?}");
    }
}

/// The other commands' sizes.
#[test]
fn other_commands_refuse_sizes_that_do_not_fit() {
    let dir = Dir::new();
    let embedding = dir.write("embedding.tsv", "a\t0\t0\nb\t0.5\t0\n");
    let edges = dir.write("edges.tsv", "c\ta\nc\tb\n");
    let out = dir.path("out");
    let known = dir.write("known.tsv", "b\ta\n");
    let place = ["place", "--embedding", &embedding, "--edges", &edges, "--known", &known, "--out", &out];
    let error = POINCARE.run(&[&place[..], &["--negatives", LARGEST]].concat());
    assert_eq!(error.status.code(), Some(2));
    let error = String::from_utf8(error.stderr).unwrap();
    assert!(
        error.contains("--negatives 18446744073709551615: the negative samples of a step would"),
        "{error}"
    );
    assert!(!std::path::Path::new(&out).exists());
    let error = POINCARE.fails(&["tree", "--nodes", LARGEST, "--out", &dir.path("tree.tsv")]);
    assert!(error.ends_with("at most 4294967295 are possible, as in a training"), "{error}");
    let model = format!("poincare:{LARGEST},sphere:{LARGEST}");
    let error = POINCARE.fails(&["distance", "a", "b", "--embedding", &embedding, "--model", &model]);
    assert!(error.contains("do not have 2 coordinates"), "{error}");
    let listed = POINCARE.succeeds(&["neighbours", "a", "--embedding", &embedding, "--count", LARGEST]);
    assert_eq!(listed.lines().count(), 1);
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
    assert!(text.contains("\n3 nodes, 3 pairs"), "{text}");
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
