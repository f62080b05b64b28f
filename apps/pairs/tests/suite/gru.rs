//! The application `gru` from the outside: results, files, resumption, and errors for bad input.

use std::path::Path;

use cotangent_apps_common::precision::Precision;
use cotangent_apps_pairs::gru::{APP, GruMetrics, Space, TABLE_1, published};

use crate::common::{App, Dir, bytes};
use crate::shared::{self, scenarios::Training};

const GRU: App = App(env!("CARGO_BIN_EXE_gru"));

fn metrics(dir: &str) -> GruMetrics {
    crate::common::metrics(dir)
}

/// A file of 600 labelled pairs. The class is yes if both sentences end with the same word.
fn echoes(d: &Dir) -> String {
    d.write("echoes.tsv", some_echoes(600))
}

/// The first of them.
fn some_echoes(count: u32) -> String {
    let mut text = String::new();
    for i in 0..count {
        let word = |k: u32| ["a", "b", "c"][((i / 2 + k * k) % 3) as usize];
        let (label, last) = if i % 2 == 0 { ("yes", word(2)) } else { ("no", word(2 + i % 4 / 3 + 1)) };
        let label = if last == word(2) { "yes" } else { label };
        text +=
            &format!("{label}\t{} {}\t{}{last}\n", word(5), word(2), ["", "c ", "b a "][(i % 3) as usize]);
    }
    text
}

const SHORT: [&str; 6] = ["--epochs", "2", "--batch", "100", "--dim", "3"];

/// A name is that of the file, and that of a class.
fn arguments(d: &Dir, name: Option<&str>) -> Vec<String> {
    let file = name.map_or("echoes.tsv", |name| &name[..name.len().min(150)]);
    let pairs = some_echoes(600).replace("yes\t", &format!("{}\t", name.unwrap_or("yes")));
    let data = d.write(file, pairs);
    ["--data", &data, "--epochs", "2", "--batch", "100", "--dim", "2"].map(str::to_owned).to_vec()
}

const TRAINING: Training = Training {
    arguments,
    long: &[["--epochs", "8"], ["--batch", "25"], ["--dim", "3"]],
    same: &["model.safetensors"],
    pictures: &[
        ("curves.svg", &["training loss: best"], &["training loss: best"]),
        ("sentences.svg", &["test accuracy", "yes", "no"], &["test accuracy", "a name that is", "no"]),
    ],
};

scenarios!("gru", APP, TRAINING, resumes);

/// The scenario, for a Euclidean model.
#[test]
fn a_euclidean_training_that_diverges_keeps_the_last_checkpoint() {
    let euclidean = |d: &Dir, name: Option<&str>| {
        [arguments(d, name), ["--model", "euclidean-rnn"].map(str::to_owned).to_vec()].concat()
    };
    let training = Training { arguments: euclidean, ..TRAINING };
    shared::scenarios::a_loss_that_is_no_number_keeps_the_last_checkpoint(&GRU, &training);
}

#[test]
fn every_model_of_table_1_has_the_same_bits_for_any_number_of_threads() {
    let d = Dir::new();
    let file = echoes(&d);
    for row in TABLE_1 {
        let run = |name: &str, more: &[&str]| {
            let out = d.path(name);
            GRU.succeeds(
                &[&["--model", row.name, "--data", &file, "--out", &out][..], &SHORT[..], more].concat(),
            );
            (bytes(&out, "model.safetensors"), metrics(&out))
        };
        let (one, of_one) = run("one", &["--threads", "1"]);
        let (two, of_two) = run("two", &["--threads", "2"]);
        let (other, _) = run("other", &["--seed", "7"]);
        assert!(one == two && one != other, "{}", row.name);
        assert_eq!((&of_one.training.epochs, of_one.test), (&of_two.training.epochs, of_two.test));
        assert_eq!(of_one.config.architecture, row.architecture);
        assert_eq!((of_one.training.epochs.len(), of_one.confusion.total()), (2, 60));
        assert!(of_one.training.epochs.iter().all(|epoch| epoch.loss.is_finite()), "{of_one:?}");
    }
}

/// The first line of the output says how a file was read, and so does `metrics.json`.
#[test]
fn how_a_file_was_read_is_said() {
    let d = Dir::new();
    let numbered = |(i, line): (usize, &str)| format!("{i}\t{line}\n");
    let lines: String = some_echoes(120).lines().enumerate().map(numbered).collect();
    let file = d.write("pairs.tsv", format!("id\tlabel\tsentence1\tsentence2\n{lines}"));
    let plain = d.write("plain.tsv", some_echoes(120));
    let sentence = "read as tab-separated, header label/sentence1/sentence2; ignored: id";
    let run = |file: &str, out: &str| {
        let out = d.path(out);
        let said = GRU.succeeds(&[&["--data", file, "--out", &out][..], &SHORT].concat());
        (said, metrics(&out))
    };
    let (said, metrics) = run(&file, "one");
    assert_eq!(said.lines().next(), Some(format!("{file}: {sentence}").as_str()));
    assert_eq!(metrics.read_as.as_deref(), Some(sentence));
    assert_eq!(metrics.training.epochs, run(&plain, "two").1.training.epochs);
    let error = GRU.fails(&["--header", "no"]);
    assert_eq!(error, "--header: --data prefix has none");
}

#[test]
fn it_learns_and_draws() {
    let d = Dir::new();
    let (file, out) = (echoes(&d), d.path("out"));
    let args =
        ["--data", &file, "--out", &out, "--epochs", "20", "--batch", "20", "--dim", "2", "--lr", "0.03"];
    let printed = GRU.succeeds(&args);
    let metrics = metrics(&out);
    assert!(metrics.test > 0.9, "{metrics:?}");
    assert!(
        metrics.validation
            >= metrics.training.epochs.iter().map(|epoch| epoch.validation).fold(0.0, f64::max)
    );
    assert!(printed.contains(&format!("{:.2} %  this run", 100.0 * metrics.test)), "{printed}");
    for file in ["curves.svg", "sentences.svg", "checkpoint.bin"] {
        assert!(Path::new(&out).join(file).exists(), "{file} is missing");
    }
}

/// The authors' protocol: its settings, another result than with Adam at the same ones, and SNLI's pairs to
/// validate on.
#[test]
fn the_released_protocol_trains() {
    let d = Dir::new();
    let file = d.write("few.tsv", some_echoes(120));
    for model in ["euclidean-gru", "hyperbolic-rnn", "hyperbolic-gru"] {
        let run = |protocol: &str, more: &[&str]| {
            let out = d.path(protocol);
            let args = ["--data", &file, "--protocol", protocol, "--model", model, "--out", &out];
            GRU.succeeds(&[&args[..], more].concat());
            (bytes(&out, "model.safetensors"), metrics(&out))
        };
        let (released, metrics) = run("released", &[]);
        let config = &metrics.config;
        let settings = (config.epochs, config.precision, config.lr, config.lr_floor);
        assert_eq!(settings, (30, Precision::F64, 1e-3, 1.0));
        assert!(metrics.training.epochs[29].loss < metrics.training.epochs[0].loss, "{metrics:?}");
        let same = ["--epochs", "30", "--precision", "f64", "--lr", "0.001", "--lr-floor", "1"];
        assert!(released != run("adam", &same).0);
    }
    let line = |label: &str| format!("{label}\ta man\ta dog\n");
    for (name, text) in [
        ("train.tsv", line("entailment").repeat(20) + &line("neutral").repeat(20)),
        ("dev_2class.tsv", line("not_entailment")),
        ("test.tsv", line("contradiction")),
    ] {
        d.write(name, text);
    }
    let snli = ["--data", "snli", "--path", &d.path(""), "--epochs", "1", "--out", &d.path("snli")];
    GRU.succeeds(&[&snli[..], &["--protocol", "released"]].concat());
    assert_eq!(metrics(&d.path("snli")).pairs, [40, 1, 1]);
    assert!(GRU.fails(&snli).contains("val.tsv"));
}

/// The best of several seeds is the one with the best validation accuracy.
#[test]
fn the_best_of_three_seeds_is_chosen_by_validation() {
    let d = Dir::new();
    let (file, out) = (echoes(&d), d.path("seeds"));
    let args = ["--data", &file, "--seed", "41", "--seeds", "3", "--out", &out];
    GRU.succeeds(&[&args[..], &["--epochs", "6", "--batch", "50", "--dim", "2"]].concat());
    let summary: serde_json::Value = serde_json::from_slice(&bytes(&out, "seeds.json")).unwrap();
    let runs = [41, 42, 43].map(|seed| (seed, metrics(&format!("{out}/seed-{seed}"))));
    let (seed, best) =
        runs.iter().reduce(|a, b| if b.1.validation > a.1.validation { b } else { a }).unwrap();
    let chosen = &summary["figures"][0];
    assert_eq!((&chosen["best_seed"], &chosen["best"]), (&(*seed).into(), &(100.0 * best.test).into()));
    assert!(best.validation != best.test && runs[0].1.test != best.test, "the runs can be told apart");
}

#[test]
fn curvatures_are_learned() {
    let d = Dir::new();
    let file = echoes(&d);
    let (flat, curved) = ("euclidean", "hyperbolic");
    for [body, layer, head] in [
        [curved, curved, curved],
        [flat, flat, curved],
        [curved, curved, flat],
        [flat, curved, flat],
        [curved, flat, curved],
    ] {
        let out = d.path("out");
        let geometries = ["--body", body, "--feed-forward-space", layer, "--head", head];
        let args = ["--data", &file, "--out", &out, "--kappa", "learned:-0.5"];
        GRU.succeeds(&[&args[..], &geometries, &SHORT[..]].concat());
        let metrics = metrics(&out);
        let moved = metrics.learned_kappa.map(|kappa| kappa.is_some_and(|kappa| kappa != -0.5));
        // A layer in the geometry of the body has the curvature of the body.
        let own = layer == curved && body == flat;
        assert_eq!(moved, [body == curved, own, head == curved], "{metrics:?}");
    }
}

/// Naming the geometry of the body changes nothing; another one trains another model.
#[test]
fn the_feed_forward_layer_can_have_a_geometry_of_its_own() {
    let d = Dir::new();
    let file = echoes(&d);
    let run = |name: &str, more: &[&str]| {
        let out = d.path(name);
        let args = ["--data", &file, "--out", &out, "--model", "hyperbolic-gru"];
        (GRU.run(&[&args[..], more, &SHORT[..]].concat()), out)
    };
    let trained = |name: &str, more: &[&str]| {
        let (output, out) = run(name, more);
        assert!(output.status.success(), "{output:?}");
        (bytes(&out, "model.safetensors"), metrics(&out))
    };
    let (usual, metrics) = trained("usual", &[]);
    assert_eq!(trained("named", &["--feed-forward-space", "hyperbolic"]).0, usual);
    let (own, own_metrics) = trained("own", &["--feed-forward-space", "euclidean"]);
    let (refused, _) = run("own", &["--resume"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("--feed-forward-space") && !refused.status.success(), "{error}");
    assert_ne!(own, usual);
    assert_eq!(own_metrics.config.architecture.feed_forward_space, Some(Space::Euclidean));
    assert_eq!(metrics.config.architecture.feed_forward_space, None);
    assert!(published(own_metrics.config.architecture, "PREFIX-10%").is_none());
}

#[test]
fn a_device_trains_to_the_same_metrics() {
    let d = Dir::new();
    let file = echoes(&d);
    if !GRU.has_opencl(&[]) {
        return;
    }
    let train = |name: &str, device: &str| {
        let out = d.path(name);
        GRU.succeeds(&[&["--data", &file, "--device", device, "--out", &out][..], &SHORT[..]].concat());
        (metrics(&out), bytes(&out, "model.safetensors"))
    };
    let (on_cpu, _) = train("cpu", "cpu");
    let (on_device, model) = train("device", "opencl");
    assert_eq!(on_device.training.device, "opencl:0");
    for (a, b) in on_device.training.epochs.iter().zip(&on_cpu.training.epochs) {
        assert!((a.loss - b.loss).abs() <= 1e-5 * b.loss && a.validation == b.validation, "{a:?} {b:?}");
    }
    assert_eq!(on_device.test, on_cpu.test);
    assert!(model == train("again", "opencl").1, "two runs differ");
}

#[test]
fn prefixes_are_generated() {
    let d = Dir::new();
    let out = d.path("out");
    let printed = GRU.succeeds(&[
        "--noise",
        "30",
        "--pairs",
        "400",
        "--epochs",
        "1",
        "--batch",
        "200",
        "--model",
        "euclidean-rnn",
        "--out",
        &out,
    ]);
    let start = "PREFIX-30%: 400 pairs for training, 10000 for validation, 10000 for testing";
    assert!(printed.starts_with(start), "{printed}");
    assert!(printed.contains("81.71 %  Ganea et al. 2018"), "{printed}");
}

#[test]
fn bad_input_is_named() {
    let d = Dir::new();
    let (file, out) = (echoes(&d), d.path("out"));
    let fails = |args: &[&str]| GRU.fails(&[args, &["--out", &out]].concat());
    assert!(fails(&["--data", "no-such-file"]).starts_with("no-such-file: "));
    assert!(fails(&["--data", "snli"]).contains("--path is needed"));
    assert!(fails(&["--data", "snli", "--path", &d.path("none")]).contains("train.tsv"));
    assert!(
        fails(&["--data", &d.write("bad.tsv", "yes\ta\tb\nno\ta\n")])
            .contains("bad.tsv:2: three columns are needed")
    );
    let quoted = some_echoes(20).replace('\t', ",") + "no,a,\"b\n" + &some_echoes(9).replace('\t', ",");
    assert!(fails(&["--data", &d.write("quoted.csv", quoted)]).contains("quoted.csv:21: a quoted column"));
    for kappa in ["1", "0", "-1e300", "-1e-7"] {
        let error = fails(&["--data", &file, &format!("--kappa={kappa}")]);
        assert!(error.ends_with("a number from -1e6 to -1e-6 is needed"), "{error}");
    }
    for kappa in ["flat", "learned-2"] {
        assert!(fails(&["--data", &file, "--kappa", kappa]).contains("learned:NUMBER is needed"));
    }
    let euclidean = ["--data", &file, "--model", "euclidean-gru", "--kappa", "-2"];
    assert!(fails(&euclidean).ends_with("--kappa: the model has no hyperbolic part"));
    assert!(fails(&["--data", &file, "--noise", "10"]).contains("--noise: --data"));
    let snli = ["--data", "snli", "--path", &d.path(""), "--data-seed", "1"];
    assert!(fails(&snli).ends_with("--data-seed: --data snli has none"));
    let large = u64::MAX.to_string();
    assert!(fails(&["--pairs", "200000000"]).contains("200000000 pairs: --pairs and --held-out are at most"));
    let message = fails(&["--data", &file, "--dim", &large]);
    assert!(message.starts_with(&format!("--dim {large}: a model of")), "{message}");
    assert!(
        message.contains("parameters: fewer or narrower") && message.ends_with(" GB of memory"),
        "{message}"
    );
    assert!(fails(&["--data", &file, "--epochs", &large]).contains("batches each it is too large"));
    assert!(fails(&["--data", &file, "--seeds", &large]).contains("from 1 to 1000000 is needed"));
    assert!(fails(&["--data", &file, "--lr", "0"]).contains("--lr 0"));
    assert!(fails(&["--data", &file, "--dim", "0"]).contains("--dim 0"));
    assert!(fails(&["--noise", "200"]).contains("--noise 200"));
    let train = [&["--data", &file][..], &SHORT[..]].concat();
    GRU.succeeds(&[&train[..], &["--out", &out]].concat());
    assert!(fails(&[&train[..], &["--resume", "--clip", "2"]].concat()).ends_with("another --clip"));
    assert!(fails(&["--data", &file, "--clip", "0"]).contains("--clip 0"));
    let other = d.write("other.tsv", std::fs::read_to_string(&file).unwrap().replace("yes", "ok"));
    let other = [&["--data", &other, "--resume"][..], &SHORT[..]].concat();
    assert!(fails(&other).ends_with("checkpoint.bin: the checkpoint does not fit: a run on other pairs"));
}

/// A run that starts where another one wrote keeps what that one wrote, and can be taken back.
#[test]
fn a_new_run_sets_the_files_of_an_earlier_one_aside() {
    let d = Dir::new();
    let (file, out) = (echoes(&d), d.path("out"));
    let run = |more: &[&str]| GRU.succeeds(&[&["--data", &file, "--out", &out][..], &SHORT, more].concat());
    run(&["--seed", "1"]);
    let first = ["checkpoint.bin", "model.safetensors", "metrics.json"].map(|name| bytes(&out, name));
    assert!(run(&["--seed", "2"]).contains("the files of an earlier run are now in"));
    let previous = format!("{out}/previous-1");
    assert_eq!(
        ["checkpoint.bin", "model.safetensors", "metrics.json"].map(|name| bytes(&previous, name)),
        first
    );
    run(&["--seed", "2", "--resume"]);
    assert!(!Path::new(&format!("{out}/previous-2")).exists(), "nothing is moved by --resume");
}

/// What several seeds have written is neither beside the files of one seed nor beside those of other seeds.
#[test]
fn seeds_of_an_earlier_run_are_set_aside() {
    let d = Dir::new();
    let (file, out) = (echoes(&d), d.path("out"));
    let run = |more: &[&str]| {
        GRU.succeeds(&[&["--data", &file, "--out", &out][..], &SHORT, more].concat());
    };
    let exists = |name: &str| Path::new(&out).join(name).exists();
    run(&["--seeds", "2", "--seed", "1"]);
    run(&[]);
    assert!(exists("previous-1/seeds.json") && exists("previous-1/seed-2/model.safetensors"));
    assert!(!exists("seeds.json") && !exists("seed-2") && exists("model.safetensors"));
    for previous in ["previous-2/model.safetensors", "previous-3/seed-2/model.safetensors"] {
        run(&["--seeds", "2", "--seed", "2"]);
        assert!(exists(previous) && !exists("model.safetensors"), "{previous}");
        assert!(exists("seeds.json") && exists("seed-2/model.safetensors") && !exists("seed-2/previous-1"));
    }
    run(&["--seeds", "3", "--seed", "2", "--resume"]);
    assert!(!exists("previous-4") && exists("seed-4"), "nothing is moved by --resume");
}

/// A header is skipped, and spaces around a label are none of its own.
#[test]
fn a_file_may_have_a_header() {
    let d = Dir::new();
    let text = format!("Label\tfirst\tsecond\n{}", some_echoes(100).replace("yes\t", "yes \t"));
    let out = d.path("out");
    GRU.succeeds(&[&["--data", &d.write("pairs.tsv", text), "--out", &out][..], &SHORT].concat());
    let found = metrics(&out);
    assert_eq!((found.classes, found.pairs), (vec!["no".to_owned(), "yes".to_owned()], [80, 10, 10]));
}

/// The parameters of a run with another seed have the same shapes. Only the name of the run in the file shows
/// that they belong to another run.
#[test]
fn the_model_of_another_run_is_not_tested() {
    let d = Dir::new();
    let file = echoes(&d);
    let train = |name: &str, seed: &str, more: &[&str]| {
        let out = d.path(name);
        let args = ["--data", &file, "--seed", seed, "--out", &out];
        (out.clone(), GRU.run(&[&args[..], &SHORT[..], more].concat()))
    };
    let ((one, _), (two, _)) = (train("one", "1", &[]), train("two", "2", &[]));
    assert!(train("one", "1", &["--resume"]).1.status.success());
    std::fs::write(Path::new(&one).join("model.safetensors"), bytes(&two, "model.safetensors")).unwrap();
    let (_, output) = train("one", "1", &["--resume"]);
    let error = String::from_utf8(output.stderr).unwrap();
    let end = "model.safetensors: the model of a run with other options or other data\n";
    assert!(error.ends_with(end) && output.status.code() == Some(2), "{error}");
}

/// `--table` trains all models on all data, and prints them beside the paper's figures.
#[test]
fn table_1_is_one_command() {
    let d = Dir::new();
    let out = d.path("out");
    let arguments =
        ["--table", "--epochs", "1", "--pairs", "64", "--held-out", "40", "--dim", "2", "--out", &out];
    let printed = GRU.succeeds(&arguments);
    for row in TABLE_1 {
        let line = printed.lines().find(|line| line.starts_with(&format!("{} ", row.name))).unwrap();
        let numbers: Vec<f64> = line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect();
        assert_eq!([numbers[1], numbers[3], numbers[5]], row.accuracies[1..], "{line}");
        let run = metrics(&format!("{out}/{}/prefix-30", row.name));
        assert!((numbers[2] - 100.0 * run.test).abs() < 0.0051, "{line}");
        assert_eq!((run.config.architecture, run.data.as_str()), (row.architecture, "PREFIX-30%"));
    }
    assert!(GRU.run(&["--table", "--model", "hyperbolic-gru"]).status.code() == Some(2));
}
