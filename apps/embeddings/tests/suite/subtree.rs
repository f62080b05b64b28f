//! The application `subtree` from the outside: results, files, and errors for bad input.

use std::fmt::Write;
use std::path::Path;

use cotangent_apps_embeddings::subtree::{APP, SubtreeMetrics};

use crate::common::{App, Dir, bytes};
use crate::pictures::{long_name, text_fits};
use crate::shared::scenarios::Training;

const SUBTREE: App = App(env!("CARGO_BIN_EXE_subtree"));

/// An edge list and an embedding in the disk: a root with two branches and their leaves. The leaves of `left`
/// are near the rim in a narrow sector, which a geodesic separates from all other nodes.
fn hierarchy(d: &Dir) -> [String; 2] {
    let (mut edges, mut points) = (String::from("left\troot\nright\troot\n"), String::from("root\t0\t0\n"));
    let mut point = |name: &str, angle: f64, radius: f64| {
        writeln!(points, "{name}\t{}\t{}", radius * angle.cos(), radius * angle.sin()).unwrap();
    };
    point("left", 3.1, 0.9);
    point("right", 0.0, 0.3);
    for i in 0..40 {
        let spread = f64::from(i) / 39.0 - 0.5;
        writeln!(edges, "l{i}\tleft").unwrap();
        point(&format!("l{i}"), 3.1 + 0.5 * spread, 0.95);
        for k in 0..5 {
            writeln!(edges, "r{i}.{k}\tright").unwrap();
            point(&format!("r{i}.{k}"), 4.6 * spread, 0.2 * f64::from(k) + 0.1);
        }
    }
    [d.write("edges.tsv", edges), d.write("points.tsv", points)]
}

/// The root of a subtree names its picture, so it is short here.
fn arguments(d: &Dir, _name: Option<&str>) -> Vec<String> {
    let [edges, points] = hierarchy(d);
    let data = ["--embedding", &points, "--edges", &edges, "--root", "left", "--epochs", "1"];
    data.map(str::to_owned).to_vec()
}

const DRAWN: &[&str] = &["in two dimensions, log0: F1"];

const TRAINING: Training = Training {
    arguments,
    long: &[],
    same: &["left-hyperbolic.svg", "left-euclidean.svg", "left-log0.svg"],
    pictures: &[("left-log0.svg", DRAWN, DRAWN)],
};

scenarios!("subtree", APP, TRAINING);

/// The printed text, the metrics, and the output directory.
fn run(d: &Dir, [edges, points]: [&str; 2], out: &str, more: &str) -> (String, SubtreeMetrics, String) {
    let out = d.path(out);
    let args = ["--embedding", points, "--edges", edges, "--root", "left", "--root", "right", "--out", &out];
    let printed = SUBTREE.succeeds(&args.into_iter().chain(more.split(' ')).collect::<Vec<_>>());
    (printed, crate::common::metrics::<SubtreeMetrics>(&out), out)
}

#[test]
fn subtrees_are_separated_from_other_nodes() {
    let d = Dir::new();
    let [edges, points] = hierarchy(&d);
    let run = |out: &str, more: &str| run(&d, [&edges, &points], out, more);
    let (printed, metrics, out) = run("one", "--threads 1 --seeds 2 --epochs 100");
    let names: Vec<&str> = metrics.rows.iter().map(|row| row.classifier.name()).collect();
    assert_eq!(names, ["hyperbolic", "euclidean", "log0"].repeat(2));
    for row in &metrics.rows[..3] {
        assert_eq!((row.root.as_str(), row.positives, row.negatives), ("left", [32, 9], [161, 41]));
        assert_eq!(row.f1.len(), 2);
        assert!(row.interval.mean > 0.95, "{row:?}");
        assert_eq!(row.confusion.total(), 50);
    }
    assert!(printed.contains("left     32/9     hyperbolic"), "{printed}");
    for name in ["hyperbolic", "euclidean", "log0"] {
        let svg = String::from_utf8(bytes(&out, &format!("left-{name}.svg"))).unwrap();
        assert!(svg.contains("left and below") && svg.matches("<circle").count() > 240, "{name}");
    }
    let (_, same, _) = run("two", "--threads 2 --seeds 2 --epochs 100");
    assert_eq!(same.rows, metrics.rows);
}

/// Euclidean regression is convex: at convergence its loss is the smallest possible.
#[test]
fn lbfgs_finds_a_smaller_loss_than_adam() {
    let d = Dir::new();
    let [edges, points] = hierarchy(&d);
    let run = |out: &str, more: &str| run(&d, [&edges, &points], out, more).1;
    let adam = run("adam", "--seeds 1 --epochs 150");
    let converged = run("lbfgs", "--solver lbfgs --seeds 1 --epochs 500");
    let balanced = run("balanced", "--solver lbfgs --seeds 1 --epochs 500 --balanced");
    for ((adam, lbfgs), balanced) in adam.rows.iter().zip(&converged.rows).zip(&balanced.rows).skip(4) {
        assert!(lbfgs.loss[0] <= adam.loss[0] && lbfgs.loss[0] > 0.0, "{adam:?} {lbfgs:?}");
        assert_ne!(lbfgs.loss, balanced.loss);
    }
}

#[test]
fn a_device_trains_to_the_same_metrics() {
    if !SUBTREE.has_opencl(&[]) {
        return;
    }
    let d = Dir::new();
    let [edges, points] = hierarchy(&d);
    for solver in ["adam", "lbfgs"] {
        let on = |out: &str, device: &str| {
            let more = format!("--seeds 1 --epochs 20 --solver {solver} --device {device}");
            run(&d, [&edges, &points], &format!("{solver}-{out}"), &more).1
        };
        let (on_cpu, on_device) = (on("cpu", "cpu"), on("device", "opencl"));
        assert_eq!(on_device.device, "opencl:0");
        for (a, b) in on_device.rows.iter().zip(&on_cpu.rows) {
            // The loss of separable classes falls to 0, up to the rounding of probabilities near 1.
            let bound = 1e-9 * b.loss[0] + 8.0 * f64::EPSILON;
            assert!((a.loss[0] - b.loss[0]).abs() <= bound, "{solver}: {a:?} {b:?}");
            assert_eq!((&a.f1, &a.confusion), (&b.f1, &b.confusion), "{solver}");
        }
        assert_eq!(on_device.rows, on("again", "opencl").rows, "{solver}: two runs differ");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let d = Dir::new();
    let [edges, points] = hierarchy(&d);
    let out = d.path("out");
    let fails = |args: &[&str]| SUBTREE.fails(&[&["--edges", &edges, "--out", &out], args].concat());
    let with = |args: &[&str]| fails(&[&["--embedding", &points], args].concat());
    assert!(with(&["--root", "nobody"]).ends_with("edges.tsv: --root nobody: no such node"));
    assert!(with(&["--root", "l3"]).contains("--root l3: 1 of 243 nodes are in its subtree; 5 in it"));
    assert!(with(&["--root", "root"]).contains("--root root: 243 of 243 nodes"));
    assert_eq!(with(&["--seeds", "0"]), "--seeds 0: from 1 to 1000000 is needed");
    let message = with(&["--seed", "18446744073709551614", "--root", "left"]);
    assert_eq!(message, "--seed 18446744073709551614: with --seeds 3 it is too large");
    assert_eq!(with(&["--lr", "-1"]), "--lr -1: a positive number is needed");
    let few = d.write("few.tsv", "root\t0\t0\n");
    assert!(fails(&["--embedding", &few, "--root", "left"]).contains("no point for node"));
    let trained = d.path("trained");
    let poincare = App(env!("CARGO_BIN_EXE_poincare"));
    poincare.succeeds(&[
        "train",
        "--edges",
        &edges,
        "--model",
        "lorentz",
        "--epochs",
        "1",
        "--burn-in",
        "0",
        "--out",
        &trained,
    ]);
    let lorentz = Path::new(&trained).join("embedding.safetensors");
    let message = fails(&["--embedding", lorentz.to_str().unwrap(), "--root", "left"]);
    assert!(message.ends_with("an embedding in lorentz: the Poincaré ball is needed"), "{message}");
    // The files of a training stay.
    let args = ["--embedding", &points, "--edges", &edges, "--root", "left", "--out", &trained];
    let message = SUBTREE.fails(&args);
    assert!(message.contains("trained: a trained model is there (checkpoint.bin)"), "{message}");
}

#[test]
fn a_long_root_is_within_its_picture() {
    let d = Dir::new();
    let (out, name) = (d.path("out"), long_name());
    let [edges, points] = hierarchy(&d).map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.replace("left\n", &format!("{name}\n")).replace("left\t", &format!("{name}\t"))
    });
    let (edges, points) = (d.write("edges.tsv", edges), d.write("points.tsv", points));
    let args = ["--embedding", &points, "--edges", &edges, "--root", &name, "--epochs", "1", "--out", &out];
    SUBTREE.succeeds(&args);
    text_fits(&format!("{out}/{name}-log0.svg"), &["in two dimensions, log0: F1"]);
}
