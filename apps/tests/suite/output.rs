//! Output directories: one run at a time, and files of one run.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{App, Dir, bytes};
use crate::{graph, gru, subtree, transformer};

/// While a run writes into a directory, every other is refused with one line; when it is killed, the
/// directory is free.
#[test]
fn a_second_run_in_one_directory_is_refused() {
    let d = Dir::new();
    let (out, tree) = (d.path("out"), d.tree());
    let long = ["train", "--edges", &tree, "--epochs", "100000", "--checkpoint-every", "1", "--out", &out];
    let poincare = App(env!("CARGO_BIN_EXE_poincare"));
    let mut first =
        Command::new(poincare.0).args(long).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !Path::new(&out).join("checkpoint.bin").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(first.try_wait().unwrap().is_none());
    }
    let (pairs, groups, text) = (gru::echoes(&d), graph::groups(&d, true), transformer::numbers(&d));
    let [edges, points] = subtree::hierarchy(&d);
    let others: [(&str, &[&str]); 6] = [
        (poincare.0, &["train", "--edges", &tree, "--epochs", "1"]),
        (poincare.0, &["train", "--edges", &tree, "--resume"]),
        (env!("CARGO_BIN_EXE_gru"), &["--data", &pairs]),
        (env!("CARGO_BIN_EXE_graph"), &["--path", &groups]),
        (env!("CARGO_BIN_EXE_subtree"), &["--embedding", &points, "--edges", &edges, "--root", "left"]),
        (env!("CARGO_BIN_EXE_transformer"), &["train", "--path", &text, "--vocabulary", "320"]),
    ];
    for (app, args) in others {
        let error = App(app).fails(&[args, &["--out", &out]].concat());
        assert!(error.ends_with("out: another run writes there; choose another --out"), "{error}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    poincare.succeeds(&["train", "--edges", &tree, "--epochs", "1", "--out", &out]);
}

fn replace(from: &str, to: &str, name: &str) {
    std::fs::copy(Path::new(from).join(name), Path::new(to).join(name)).unwrap();
}

/// The parameters of a run with another seed have the shapes of this one's, and nothing else would show.
#[test]
fn the_model_of_another_run_is_not_tested() {
    let d = Dir::new();
    let file = gru::echoes(&d);
    let gru = App(env!("CARGO_BIN_EXE_gru"));
    let train = |name: &str, seed: &str, more: &[&str]| {
        let out = d.path(name);
        let args = ["--data", &file, "--seed", seed, "--out", &out];
        (out.clone(), gru.run(&[&args[..], &gru::SHORT[..], more].concat()))
    };
    let ((one, _), (two, _)) = (train("one", "1", &[]), train("two", "2", &[]));
    assert!(train("one", "1", &["--resume"]).1.status.success());
    replace(&two, &one, "model.safetensors");
    let (_, output) = train("one", "1", &["--resume"]);
    let error = String::from_utf8(output.stderr).unwrap();
    let end = "model.safetensors: a model of another run: other options, or other data\n";
    assert!(error.ends_with(end) && output.status.code() == Some(2), "{error}");
}

#[test]
fn parameters_of_several_runs_are_neither_averaged_nor_used() {
    let d = Dir::new();
    let text = transformer::numbers(&d);
    let transformer = App(env!("CARGO_BIN_EXE_transformer"));
    let args = |out: &str, seed: &str, epochs: &str, more: &[&str]| -> Vec<String> {
        let args = ["train", "--path", &text, "--out", out, "--seed", seed, "--epochs", epochs];
        let small = transformer::SMALL.split_whitespace();
        args.into_iter().chain(small).chain(more.iter().copied()).map(str::to_owned).collect()
    };
    let run = |args: Vec<String>| transformer.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let (one, two) = (d.path("one"), d.path("two"));
    assert!(run(args(&one, "1", "1", &[])).status.success());
    assert!(run(args(&two, "2", "1", &[])).status.success());
    let whole = ["epoch-1.safetensors", "model.safetensors", "tokenizer.json"].map(|name| bytes(&one, name));

    replace(&two, &one, "epoch-1.safetensors");
    let output = run(args(&one, "1", "2", &["--resume"]));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.ends_with("epoch-1.safetensors: a model of another run: other options, or other data\n"),
        "{error}"
    );
    std::fs::write(Path::new(&one).join("epoch-1.safetensors"), &whole[0]).unwrap();
    // More epochs are of the same run.
    assert!(run(args(&one, "1", "2", &["--resume"])).status.success());

    replace(&two, &one, "model.safetensors");
    let error = transformer.fails(&["translate", "--model", &one]);
    assert!(
        error.ends_with("model.safetensors: a model of another run: other options, or other data"),
        "{error}"
    );
    // An encoding of the same size, of other text.
    replace(&one, &two, "config.json");
    std::fs::write(Path::new(&one).join("model.safetensors"), &whole[1]).unwrap();
    transformer.succeeds(&["translate", "--model", &one]);
    let other = String::from_utf8(whole[2].clone()).unwrap();
    let swapped = other.replace("\"a\":", "\"@@\":").replace("\"b\":", "\"a\":").replace("\"@@\":", "\"b\":");
    assert_ne!(other, swapped);
    std::fs::write(Path::new(&one).join("tokenizer.json"), swapped).unwrap();
    let error = transformer.fails(&["translate", "--model", &one]);
    assert!(error.ends_with("tokenizer.json: the encoding of another run"), "{error}");
}
