//! Trainings whose loss stops being a number.

use std::path::Path;

use crate::common::{App, Dir, bytes};
use crate::{graph, gru, subtree, transformer};

/// The last line, of an error.
#[track_caller]
fn stops(app: &'static str, args: &[&str]) -> String {
    let output = App(app).run(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    let line = error.lines().last().unwrap();
    line.strip_prefix("error: training stopped at step ")
        .unwrap_or_else(|| panic!("{args:?}: {error}"))
        .to_owned()
}

/// Every training that diverges ends with the step and with what to try; what was written before is still
/// there.
#[test]
fn a_loss_that_is_no_number_stops_training() {
    let d = Dir::new();
    let out = |name: &str| d.path(name);
    let rate = ["--lr", "1e30"];

    // A weight that is none in this precision.
    let (app, edges) =
        (env!("CARGO_BIN_EXE_poincare"), d.write("edges.tsv", "a\tb\t1e39\nb\tc\t1\na\tc\t2\n"));
    let dir = out("poincare");
    let line = stops(app, &["train", "--edges", &edges, "--precision", "f32", "--out", &dir]);
    assert!(line.starts_with("1: the loss is inf; a lower --lr may help; "), "{line}");
    assert!(line.ends_with("checkpoint.bin is that of epoch 0"), "{line}");
    assert!(!bytes(&dir, "checkpoint.bin").is_empty() && !Path::new(&dir).join("metrics.json").exists());

    let (app, file) = (env!("CARGO_BIN_EXE_gru"), gru::echoes(&d));
    for model in ["euclidean-rnn", "hyperbolic-gru"] {
        let dir = out(model);
        // Checkpoints at every step: that of the step before the last leads to no number, and is not kept.
        let args = ["--data", &file, "--model", model, "--checkpoint-every", "0", "--out", &dir];
        let args = [&args[..], &gru::SHORT[..], &rate].concat();
        let line = stops(app, &args);
        assert!(line.contains("a lower --lr may help; "), "{line}");
        assert!(line.ends_with("checkpoint.bin is that of step 0"), "{line}");
        assert!(!Path::new(&dir).join("checkpoint.next").exists());
        assert_eq!(stops(app, &[&args[..], &["--resume"]].concat()), line);
    }

    let (app, path) = (env!("CARGO_BIN_EXE_transformer"), transformer::numbers(&d));
    let small = transformer::SMALL.replace("--lr 0.01", &rate.join(" "));
    let small: Vec<&str> = small.split_whitespace().collect();
    let args = ["train", "--path", &path, "--epochs", "2", "--out", &out("transformer")];
    let line = stops(app, &[&args[..], &small].concat());
    assert!(line.ends_with("checkpoint.bin is that of step 0"), "{line}");

    let (app, path) = (env!("CARGO_BIN_EXE_graph"), graph::groups(&d, true));
    let line = stops(app, &[&["--path", &path, "--epochs", "9", "--out", &out("graph")][..], &rate].concat());
    assert!(line.ends_with("a lower --lr may help"), "{line}");

    let (app, [edges, points]) = (env!("CARGO_BIN_EXE_subtree"), subtree::hierarchy(&d));
    let args = ["--embedding", &points, "--edges", &edges, "--root", "left", "--out", &out("subtree")];
    let line = stops(app, &[&args[..], &["--lr", "1e300"]].concat());
    assert!(line.ends_with("a lower --lr may help"), "{line}");
}
