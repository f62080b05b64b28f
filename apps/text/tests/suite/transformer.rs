//! The application `transformer` from the outside: results, files, and errors for bad input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use cotangent_apps_common::attention::Scores;
use cotangent_apps_text::transformer::{APP, TransformerMetrics, bleu};

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const TRANSFORMER: App = App(env!("CARGO_BIN_EXE_transformer"));

const WORDS: [(&str, &str); 8] = [
    ("eins", "one"),
    ("zwei", "two"),
    ("drei", "three"),
    ("vier", "four"),
    ("fünf", "five"),
    ("sechs", "six"),
    ("sieben", "seven"),
    ("acht", "eight"),
];

/// Parallel text: sentences of one to three German numbers, with their English translations.
fn numbers(d: &Dir) -> String {
    let directory = d.path("text");
    std::fs::create_dir_all(&directory).unwrap();
    let sentence = |i: usize| {
        let len = 1 + i * 7919 % 3;
        let words: Vec<usize> = (0..len).map(|k| (i * 31 + k * (i / 5 + 3) + i * k * k) % 8).collect();
        let source: Vec<&str> = words.iter().map(|&w| WORDS[w].0).collect();
        let target: Vec<&str> = words.iter().map(|&w| WORDS[w].1).collect();
        format!("{}.\t{}.\n", source.join(" "), target.join(" "))
    };
    for (name, range) in [("train", 0..800), ("val", 800..840), ("test", 840..880)] {
        let text: String = range.map(sentence).collect();
        std::fs::write(Path::new(&directory).join(format!("{name}.tsv")), text).unwrap();
    }
    directory
}

const SMALL: &str = "--layers 1 --width 32 --heads 2 --hidden 64 --vocabulary 320 --batch-tokens 512 \
    --lr 0.01 --warm-up 40 --dropout 0 --average 2 --beam 3";

const TRAINING: Training = Training {
    // No picture has a name of the text.
    arguments: |d, _| {
        let arguments = format!("train --path {} {SMALL} --epochs 1 --sentences 240", numbers(d));
        arguments.split_whitespace().map(str::to_owned).collect()
    },
    long: &[["--epochs", "3"], ["--sentences", "800"], ["--attention", "distance"]],
    same: &["model.safetensors", "translations.txt"],
    pictures: &[("curves.svg", &["dot attention"], &["dot attention"])],
};

scenarios!("transformer", APP, TRAINING, resumes);

fn run(d: &Dir, path: &str, name: &str, more: &str) -> (String, TransformerMetrics, String) {
    let out = d.path(name);
    let args = ["train", "--path", path, "--out", &out];
    let small = if more.contains("--layers") { SMALL.replace("--layers 1", "") } else { SMALL.to_owned() };
    let more = small.split_whitespace().chain(more.split_whitespace());
    let printed = TRANSFORMER.succeeds(&args.into_iter().chain(more).collect::<Vec<_>>());
    let metrics = crate::common::metrics::<TransformerMetrics>(&out);
    (printed, metrics, out)
}

/// The binary's translation of its standard input.
fn translate(model: &str, input: &str) -> String {
    translate_on("cpu", model, input)
}

fn translate_on(device: &str, model: &str, input: &str) -> String {
    let mut child = Command::new(TRANSFORMER.0)
        .args(["translate", "--model", model, "--beam", "3", "--device", device])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_learns_to_translate() {
    let d = Dir::new();
    let path = numbers(&d);
    let (printed, metrics, out) = run(&d, &path, "umbral", "--attention umbral --epochs 18");
    assert!(metrics.test.score > 60.0, "{printed}");
    assert!(printed.contains(&metrics.test.to_string()) && printed.contains(bleu::SIGNATURE), "{printed}");
    assert_eq!(
        (metrics.sentences, metrics.training.epochs.len(), metrics.left_out),
        ([800, 40, 40], 18, [0, 0])
    );
    assert!(metrics.training.epochs[17].validation < 0.5 * metrics.training.epochs[0].validation);
    // The score is that of the file of translations, and the loaded model gives the same translations.
    let test = std::fs::read_to_string(Path::new(&path).join("test.tsv")).unwrap();
    let (sources, references): (Vec<&str>, Vec<String>) =
        test.lines().map(|line| line.split_once('\t').unwrap()).map(|(s, t)| (s, t.to_owned())).unzip();
    let written = String::from_utf8(bytes(&out, "translations.txt")).unwrap();
    let lines: Vec<String> = written.lines().map(str::to_owned).collect();
    assert_eq!(bleu::corpus(&lines, &references).to_string(), metrics.test.to_string());
    assert_eq!(translate(&out, &sources.join("\n")), written);
    assert_eq!(translate(&out, "\n  \n"), "\n\n");
    assert_eq!(translate(&out, &format!("\u{feff}{}", sources[0])), translate(&out, sources[0]));
    // Only the averaged epochs are kept.
    let kept = |epoch: u64| Path::new(&out).join(format!("epoch-{epoch}.safetensors")).exists();
    assert_eq!((1..=18).filter(|&epoch| kept(epoch)).collect::<Vec<_>>(), [17, 18]);
    let picture = d.path("attention.svg");
    let args = ["attend", "--model", &out, "--sentence", "eins zwei drei.", "--out", &picture, "--beam", "3"];
    assert!(TRANSFORMER.succeeds(&args).contains("written to"));
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.contains("head 2") && svg.contains("zwei") && svg.matches("<rect").count() > 20);
    // Attention of the sentence to itself: its words are the labels of rows and columns.
    TRANSFORMER.succeeds(&[&args[..], &["--queries", "source"]].concat());
    let within = std::fs::read_to_string(&picture).unwrap();
    assert!(within.matches("zwei").count() > svg.matches("zwei").count(), "{within}");
    TRANSFORMER.succeeds_with_closed_outputs(&["translate", "--model", &out]);
}

#[test]
fn every_attention_trains() {
    let d = Dir::new();
    let path = numbers(&d);
    let runs = [
        "--attention dot --norm post",
        "--attention distance --aggregate barycentre",
        "--attention polar-distance --learn-sharpness",
        "--attention half-space --positions learned",
        "--attention umbral-released --positions hyperbolic --recursive --layers 2",
        "--attention penumbral --weights sigmoid",
        "--attention laplacian --head-dim 4",
        "--attention additive",
        "--attention polar-distance --learn-sharpness --weights sigmoid --aggregate einstein --values polar",
        "--attention distance --map weierstrass --aggregate barycentre --values weierstrass",
        "--attention penumbral --map exp --key-dim 4 --attention-dropout 0.1",
        "--attention half-space --map polar --head-dim 4",
        "--attention entailment --light 0.5",
        "--attention umbral-finite --learn-sharpness",
    ];
    for (i, more) in runs.into_iter().enumerate() {
        let (printed, metrics, _) =
            run(&d, &path, &format!("run{i}"), &format!("{more} --epochs 2 --sentences 240"));
        let [first, second] = metrics.training.epochs[..] else { panic!("two epochs") };
        assert!(second.validation < first.validation && second.loss < first.loss, "{more}: {printed}");
    }
}

/// `--reverse` swaps the languages of all three files.
#[test]
fn languages_can_be_swapped() {
    let d = Dir::new();
    let (path, swapped) = (numbers(&d), d.path("swapped"));
    std::fs::create_dir_all(&swapped).unwrap();
    for name in ["train.tsv", "val.tsv", "test.tsv"] {
        let text = std::fs::read_to_string(Path::new(&path).join(name)).unwrap();
        let lines = text.lines().map(|line| line.split_once('\t').unwrap());
        let text: String = lines.map(|(source, target)| format!("{target}\t{source}\n")).collect();
        std::fs::write(Path::new(&swapped).join(name), text).unwrap();
    }
    let options = "--epochs 1 --sentences 240";
    let (_, reversed, out) = run(&d, &path, "reversed", &format!("{options} --reverse"));
    let (_, metrics, other) = run(&d, &swapped, "forward", options);
    assert_eq!(
        (&reversed.training.epochs, reversed.test.score),
        (&metrics.training.epochs, metrics.test.score)
    );
    assert!(bytes(&out, "model.safetensors") == bytes(&other, "model.safetensors"));
    let (_, _, forward) = run(&d, &path, "not-reversed", options);
    assert!(bytes(&out, "model.safetensors") != bytes(&forward, "model.safetensors"));
}

/// Queries and keys of fewer dimensions: a head of 16 becomes 4, in three attentions of 32 units and two
/// heads.
#[test]
fn queries_and_keys_have_dimensions_of_their_own() {
    let d = Dir::new();
    let path = numbers(&d);
    let [whole, narrow, same] = ["", "--key-dim 4", "--key-dim 16"]
        .map(|key| run(&d, &path, &format!("run{key}"), &format!("--attention umbral {key} --epochs 1")).1);
    assert_eq!(whole.training.parameters - narrow.training.parameters, 3 * 2 * (32 + 1) * 2 * (16 - 4));
    assert_eq!((same.config, same.training.epochs), (whole.config, whole.training.epochs));
    assert_eq!(narrow.config.head(), [4, 16]);
}

/// Dropout of attention weights changes training, in the same way for the same seed.
#[test]
fn attention_weights_are_dropped() {
    let d = Dir::new();
    let path = numbers(&d);
    let [without, with, again] = [("a", 0.0), ("b", 0.3), ("c", 0.3)].map(|(name, rate)| {
        let more = format!("--attention umbral --epochs 1 --sentences 240 --attention-dropout {rate}");
        run(&d, &path, name, &more).1.training.epochs
    });
    assert_eq!(with, again);
    assert_ne!(with, without);
}

/// A recursive model of two layers has the parameters of one layer, but applies it twice.
#[test]
fn recursive_layers_share_their_parameters() {
    let d = Dir::new();
    let path = numbers(&d);
    let [one, two, same] = ["--layers 1", "--layers 2", "--layers 2 --recursive"].map(|layers| {
        let name = layers.replace(' ', "");
        run(&d, &path, &name, &format!("--attention distance {layers} --epochs 1 --sentences 240")).1
    });
    assert!(
        two.training.parameters > one.training.parameters + 10_000,
        "{} {}",
        one.training.parameters,
        two.training.parameters
    );
    assert_eq!(same.training.parameters, one.training.parameters);
    assert_ne!(same.training.epochs, one.training.epochs);
}

#[test]
fn a_resumed_run_may_have_more_epochs() {
    let d = Dir::new();
    let path = numbers(&d);
    let more = "--attention distance --sentences 240";
    let (_, shorter, _) = run(&d, &path, "out", &format!("{more} --epochs 2"));
    let (_, longer, _) = run(&d, &path, "out", &format!("{more} --epochs 3 --resume"));
    assert_eq!(
        (longer.training.epochs.len(), &longer.training.epochs[..2]),
        (3, &shorter.training.epochs[..])
    );
    let config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(d.path("out/config.json")).unwrap()).unwrap();
    assert_eq!(config["epochs"], 3);
}

/// With learned positions a translation may have a token for each of them. The picture begins with the start
/// token, so it has one fewer.
#[test]
fn an_unfinished_translation_is_drawn() {
    let d = Dir::new();
    let path = numbers(&d);
    let (_, metrics, out) =
        run(&d, &path, "out", "--epochs 1 --positions learned --longest 12 --sentences 8");
    assert_eq!(metrics.config.longest, 12);
    let picture = d.path("attention.svg");
    let sentence = "eins zwei drei.";
    let args = ["attend", "--model", &out, "--sentence", sentence, "--out", &picture, "--beam", "1"];
    let args = [&args[..], &["--threads", "1"]].concat();
    assert!(TRANSFORMER.succeeds(&args).contains("written to"));
    let long = sentence.repeat(9);
    let long = [&args[..3], &["--sentence", &long, "--out", &picture]].concat();
    let message = TRANSFORMER.fails(&long);
    assert!(message.starts_with("--sentence: ") && message.contains("more than --longest 12"), "{message}");
}

/// The message of a training that fails.
fn training_fails(path: &str, out: &str, args: &[&str]) -> String {
    TRANSFORMER.fails(&[&["train", "--path", path, "--out", out], args].concat())
}

#[test]
fn bad_options_get_one_line() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("out"));
    let fails = |args: &[&str]| training_fails(&path, &out, args);
    assert_eq!(fails(&["--epochs", "0"]), "--epochs 0: at least 1 is needed");
    assert_eq!(fails(&["--label-smoothing", "1"]), "--label-smoothing 1: from 0 to below 1 is needed");
    for option in ["--width", "--heads", "--hidden", "--head-dim", "--key-dim", "--vocabulary"] {
        let message = fails(&[option, "18446744073709551615"]);
        assert!(message.contains("--") && message.contains(" GB of memory"), "{message}");
    }
    let message = fails(&["--longest", "18446744073709551615", "--positions", "learned"]);
    assert!(message.starts_with("--longest 18446744073709551615: a model of"), "{message}");
    assert_eq!(fails(&["--beam", "0"]), "--beam 0: from 1 to 100 is needed");
    assert_eq!(fails(&["--vocabulary", "20"]), "--vocabulary 20: 300 or more are needed");
    assert_eq!(fails(&["--longest", "1"]), "--longest 1: all training sentences are longer");
    let message = fails(&["--longest", "3", "--positions", "learned"]);
    assert!(message.contains("test.tsv: sentence "), "{message}");
    assert!(message.ends_with(" tokens, more than --longest 3: positions are learned"), "{message}");
    let message = fails(&["--attention", "polar-distance", "--head-dim", "1"]);
    assert_eq!(message, "--head-dim 1: --attention polar-distance needs 2 or more");
    let message = fails(&["--attention", "umbral", "--light", "2"]);
    assert_eq!(message, "--light: --attention umbral has no light");
    let message = fails(&["--attention", "penumbral", "--radius", "2"]);
    assert_eq!(message, "--radius: --attention penumbral has no radius");
    let message = fails(&["--attention", "umbral", "--map", "polar", "--key-dim", "2"]);
    assert_eq!(message, "--key-dim 2: --attention umbral needs 3 or more");
    assert_eq!(fails(&["--map", "exp"]), "--map exp: --attention dot has no choice of maps");
    let message = fails(&["--attention", "distance", "--map", "psi"]);
    assert_eq!(message, "--map psi: --attention distance has the maps exp, weierstrass");
    let message = fails(&["--values", "polar"]);
    assert_eq!(message, "--values polar: only --aggregate barycentre takes values for points");
    let message = fails(&["--values", "polar", "--aggregate", "barycentre", "--head-dim", "1"]);
    assert_eq!(message, "--head-dim 1: --values polar needs 2 or more");
    assert_eq!(fails(&["--key-dim", "0"]), "--key-dim 0: at least 1 is needed");
    assert_eq!(fails(&["--attention-dropout", "1"]), "--attention-dropout 1: from 0 to below 1 is needed");
    assert_eq!(fails(&["--sentences", "0"]), "--sentences 0: at least 1 is needed");
    let message = TRANSFORMER.fails(&["train", "--out", &out]);
    assert_eq!(message, "--path or --train is needed");
}

#[test]
fn bad_texts_get_one_line() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("out"));
    let fails = |args: &[&str]| training_fails(&path, &out, args);
    let one = d.write("one.txt", "eins\nzwei\n");
    let message = fails(&["--train", &one]);
    let end = "one.txt:1: two columns are needed, separated by a tab: sentence, translation; this line has 1";
    assert!(message.ends_with(end), "{message}");
    let three = d.write("three.txt", "one\ntwo\nthree\n");
    assert!(fails(&["--train", &one, &three]).ends_with("one.txt has only 2 lines"));
    let message = TRANSFORMER.fails(&["translate", "--model", &d.path("nowhere")]);
    assert!(message.contains("config.json: No such file"), "{message}");
}

#[test]
fn a_run_with_other_options_or_text_is_not_resumed() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("out"));
    let fails = |args: &[&str]| training_fails(&path, &out, args);
    run(&d, &path, "out", "--epochs 1");
    let resume = [SMALL.split_whitespace().collect(), vec!["--epochs", "2", "--resume"]].concat();
    for option in [["--key-dim", "4"], ["--attention-dropout", "0.1"]] {
        let message = fails(&[&resume[..], &option].concat());
        assert!(message.ends_with(&format!("a run with another {}", option[0])), "{message}");
    }
    let message = fails(&[&resume[..], &["--learn-sharpness"]].concat());
    assert!(
        message
            .ends_with("checkpoint.bin: the checkpoint does not fit: a run with another --learn-sharpness"),
        "{message}"
    );
    // A refused run has changed nothing.
    let before = bytes(&out, "config.json");
    let message = fails(&[&resume[..], &["--attention", "umbral"]].concat());
    assert!(
        message.ends_with("checkpoint.bin: the checkpoint does not fit: a run with another --attention"),
        "{message}"
    );
    assert_eq!((bytes(&out, "config.json"), translate(&out, "eins.").lines().count()), (before, 1));
    let message = fails(&[&resume[..], &["--sentences", "100"]].concat());
    assert!(
        message.ends_with("checkpoint.bin: the checkpoint does not fit: a run on other text"),
        "{message}"
    );
}

#[test]
fn models_with_wrong_settings_are_refused() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("out"));
    run(&d, &path, "out", "--epochs 1");
    let whole = String::from_utf8(bytes(&out, "config.json")).unwrap();
    for (from, to, message) in [
        ("\"heads\": 2", "\"heads\": 0", "config.json: --heads 0: at least 1 is needed"),
        ("\"width\": 32", "\"width\": 4611686018427387904", "fewer or narrower layers are needed"),
        ("\"layers\": 1", "\"layers\": 18446744073709551615", "at most 1024 are possible"),
        ("\"hidden\": 64", "\"hidden\": 1000000", "parameters; model.safetensors has"),
        ("\"weights\"", "\"coordinates\": \"polar\", \"weights\"", "unknown field `coordinates`"),
        ("\"dropout\": 0.0", "\"dropout\": 1.0", "config.json: --dropout 1: from 0 to below 1 is needed"),
    ] {
        assert!(whole.contains(from), "{whole}");
        std::fs::write(Path::new(&out).join("config.json"), whole.replace(from, to)).unwrap();
        let error = TRANSFORMER.fails(&["translate", "--model", &out]);
        assert!(error.contains("config.json:") && error.contains(message), "{error}");
    }
}

#[test]
fn a_model_of_an_earlier_version_translates() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("out"));
    run(&d, &path, "out", "--epochs 1");
    let whole = String::from_utf8(bytes(&out, "config.json")).unwrap();
    // Its settings lack the later options.
    let lines: Vec<&str> = whole.lines().collect();
    let later = ["\"key_dim\"", "\"attention_dropout\"", "\"map\"", "\"values\""];
    let earlier: Vec<&str> =
        lines.iter().copied().filter(|line| !later.iter().any(|name| line.contains(name))).collect();
    assert_eq!(earlier.len(), lines.len() - later.len());
    std::fs::write(Path::new(&out).join("config.json"), earlier.join("\n")).unwrap();
    assert_eq!(translate(&out, "eins.").lines().count(), 1);
}

#[test]
fn a_device_learns_the_same() {
    if !TRANSFORMER.has_opencl(&["train"]) {
        return;
    }
    let d = Dir::new();
    let path = numbers(&d);
    let short = "--attention penumbral --epochs 2 --sentences 240";
    let (_, host, out) = run(&d, &path, "host", short);
    let (_, device, _) = run(&d, &path, "device", &format!("{short} --device opencl"));
    for (host, device) in host.training.epochs.iter().zip(&device.training.epochs) {
        assert!((host.validation - device.validation).abs() < 0.05, "{host:?} {device:?}");
    }
    // A model that was trained on the processor gives the same translations on the device.
    let translation = |device: &str| translate_on(device, &out, "eins zwei.\n\nvier.\n");
    assert_eq!(translation("opencl"), translation("cpu"));
}

fn replace(from: &str, to: &str, name: &str) {
    std::fs::copy(Path::new(from).join(name), Path::new(to).join(name)).unwrap();
}

#[test]
fn parameters_of_several_runs_are_neither_averaged_nor_used() {
    let d = Dir::new();
    let text = numbers(&d);
    let args = |out: &str, seed: &str, epochs: &str, more: &[&str]| -> Vec<String> {
        let args = ["train", "--path", &text, "--out", out, "--seed", seed, "--epochs", epochs];
        let small = SMALL.split_whitespace();
        args.into_iter().chain(small).chain(more.iter().copied()).map(str::to_owned).collect()
    };
    let run = |args: Vec<String>| TRANSFORMER.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let (one, two) = (d.path("one"), d.path("two"));
    assert!(run(args(&one, "1", "1", &[])).status.success());
    assert!(run(args(&two, "2", "1", &[])).status.success());
    let whole = ["epoch-1.safetensors", "model.safetensors", "tokenizer.json"].map(|name| bytes(&one, name));

    replace(&two, &one, "epoch-1.safetensors");
    let output = run(args(&one, "1", "2", &["--resume"]));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.ends_with("epoch-1.safetensors: the model of a run with other options or other data\n"),
        "{error}"
    );
    std::fs::write(Path::new(&one).join("epoch-1.safetensors"), &whole[0]).unwrap();
    // More epochs still belong to the same run.
    assert!(run(args(&one, "1", "2", &["--resume"])).status.success());

    replace(&two, &one, "model.safetensors");
    let error = TRANSFORMER.fails(&["translate", "--model", &one]);
    assert!(
        error.ends_with("model.safetensors: the model of a run with other options or other data"),
        "{error}"
    );
    // A vocabulary of the same size, but with two tokens swapped.
    replace(&one, &two, "config.json");
    std::fs::write(Path::new(&one).join("model.safetensors"), &whole[1]).unwrap();
    TRANSFORMER.succeeds(&["translate", "--model", &one]);
    let other = String::from_utf8(whole[2].clone()).unwrap();
    let swapped = other.replace("\"a\":", "\"@@\":").replace("\"b\":", "\"a\":").replace("\"@@\":", "\"b\":");
    assert_ne!(other, swapped);
    std::fs::write(Path::new(&one).join("tokenizer.json"), swapped).unwrap();
    let error = TRANSFORMER.fails(&["translate", "--model", &one]);
    assert!(error.ends_with("tokenizer.json: the vocabulary of another run"), "{error}");
}

/// Tseng et al. 2023, Figure 4, in one command: several scores, dimensions and seeds, and a picture of them.
#[test]
fn dimensions_are_compared_in_one_command() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("dimensions"));
    let short = "--table dot,umbral --key-dim 8,2,8 --seeds 2 --epochs 1 --sentences 64 --beam 1";
    let small = SMALL.replace("--beam 3", "").replace("--average 2", "--average 1");
    let words = small.split_whitespace().chain(short.split_whitespace());
    let arguments: Vec<&str> = ["train", "--path", &path, "--out", &out].into_iter().chain(words).collect();
    let printed = TRANSFORMER.succeeds(&arguments);
    for score in ["dot", "umbral"] {
        for key in [2, 8] {
            let run = format!("{out}/{score}/key-dim-{key}/seed-43");
            let TransformerMetrics { config, training, .. } =
                crate::common::metrics::<TransformerMetrics>(&run);
            assert_eq!((config.attention.as_str(), config.head()), (score, [key, 16]));
            assert!(training.parameters > 0 && printed.contains(&format!(", dimensions {key}")), "{printed}");
        }
    }
    assert_eq!(printed.lines().filter(|line| line.contains(", dimensions ")).count(), 4, "{printed}");
    let picture = String::from_utf8(bytes(&out, "key-dim.svg")).unwrap();
    assert!(picture.contains("umbral") && picture.matches("<circle").count() == 8, "{picture}");
}

/// `--table` trains with every attention in turn, `--seeds` with several seeds.
#[test]
fn every_attention_in_one_command() {
    let d = Dir::new();
    let (path, out) = (numbers(&d), d.path("table"));
    let short = "--table --seeds 2 --epochs 1 --sentences 64 --beam 1";
    let small = SMALL.replace("--beam 3", "").replace("--average 2", "--average 1");
    let words = small.split_whitespace().chain(short.split_whitespace());
    let arguments: Vec<&str> = ["train", "--path", &path, "--out", &out].into_iter().chain(words).collect();
    let printed = TRANSFORMER.succeeds(&arguments);
    for score in Scores::default().iter().map(|score| score.name()) {
        let run =
            |seed: u64| crate::common::metrics::<TransformerMetrics>(&format!("{out}/{score}/seed-{seed}"));
        let [a, b] = [42, 43].map(run);
        assert_eq!(a.config.attention, score);
        let best = if b.validation < a.validation { &b } else { &a };
        let line = printed.lines().find(|line| line.starts_with(&format!("{score} "))).unwrap();
        let first: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!((first - best.test.score).abs() < 0.0051, "{line}");
    }
}
