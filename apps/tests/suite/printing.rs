//! What every application does when nobody reads what it prints.

use std::path::Path;

use crate::common::{App, Dir};
use crate::{graph, gru, poincare, subtree, transformer};

/// A reader that went away ends nothing but the printing: every run comes to its end and writes what it has
/// to.
#[test]
fn closed_outputs_end_nothing() {
    let d = Dir::new();
    let out = |name: &str| d.path(name);
    let written = |name: &str| assert!(Path::new(&out(name)).join("metrics.json").exists(), "{name}");

    let (app, tree) = (App(env!("CARGO_BIN_EXE_poincare")), d.tree());
    let args = ["train", "--edges", &tree, "--out", &out("poincare")];
    app.succeeds_unheard(&[&args[..], &poincare::SHORT[..]].concat());
    written("poincare");
    let embedding = out("poincare/embedding.tsv");
    app.succeeds_unheard(&["evaluate", "--embedding", &embedding, "--edges", &tree]);

    let (app, file) = (App(env!("CARGO_BIN_EXE_gru")), gru::echoes(&d));
    app.succeeds_unheard(&[&["--data", &file, "--out", &out("gru")][..], &gru::SHORT[..]].concat());
    written("gru");

    let (app, path) = (App(env!("CARGO_BIN_EXE_graph")), graph::groups(&d, true));
    app.succeeds_unheard(&["--path", &path, "--epochs", "3", "--out", &out("graph")]);
    written("graph");

    let (app, [edges, points]) = (App(env!("CARGO_BIN_EXE_subtree")), subtree::hierarchy(&d));
    let args = ["--embedding", &points, "--edges", &edges, "--root", "left", "--epochs", "1"];
    app.succeeds_unheard(&[&args[..], &["--out", &out("subtree")]].concat());
    written("subtree");

    let (app, path) = (App(env!("CARGO_BIN_EXE_transformer")), transformer::numbers(&d));
    let small: Vec<&str> = transformer::SMALL.split_whitespace().collect();
    let args = ["train", "--path", &path, "--epochs", "1", "--out", &out("transformer")];
    app.succeeds_unheard(&[&args[..], &small].concat());
    written("transformer");
    app.succeeds_unheard(&["translate", "--model", &out("transformer")]);
    app.succeeds_unheard(&["--help"]);
}

/// A full disk is not a closed output: what was asked for is not there.
#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_printed_is_an_error() {
    use std::process::{Command, Stdio};
    let d = Dir::new();
    let (edges, points) = (d.write("e.tsv", "a\tb\n"), d.write("p.tsv", "a\t0.1\nb\t0.2\n"));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_poincare"))
        .args(["evaluate", "--embedding", &points, "--edges", &edges])
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: standard output: No space left"), "{error}");
    assert_eq!(output.status.code(), Some(2));
}
