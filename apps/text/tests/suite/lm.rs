//! The application `lm` from the outside: results, files, and errors for bad input.

use std::path::Path;

use cotangent_apps_text::lm::text::Lines;
use cotangent_apps_text::lm::vocabulary::{Vocabulary, Words};
use cotangent_apps_text::lm::{APP, LmMetrics};

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const LM: App = App(env!("CARGO_BIN_EXE_lm"));

/// Sentences whose words follow one another: after "one" comes "two", after "red" "green".
fn sentences(lines: std::ops::Range<usize>) -> String {
    const LISTS: [[&str; 5]; 3] = [
        ["one", "two", "three", "four", "five"],
        ["red", "green", "blue", "white", "black"],
        ["north", "east", "south", "west", "home"],
    ];
    let line = |i: usize| {
        let list = LISTS[i * 7 % 3];
        let words: Vec<&str> = (0..4 + i % 4).map(|k| list[(i * 3 + k) % 5]).collect();
        if i % 9 == 8 { "\n".to_owned() } else { format!("{} .\n", words.join(" ")) }
    };
    lines.map(line).collect()
}

/// A directory of text: 1,000 tokens for training, 200 each for validation and testing.
fn text(d: &Dir) -> String {
    let directory = d.path("text");
    std::fs::create_dir_all(&directory).unwrap();
    for (name, lines) in [("train", 0..150), ("valid", 150..180), ("test", 180..210)] {
        std::fs::write(Path::new(&directory).join(format!("{name}.txt")), sentences(lines)).unwrap();
    }
    directory
}

const SMALL: &str = "--layers 1 --width 16 --heads 2 --hidden 32 --block 16 --bands 6,12 --factor 2 \
    --batch 7 --lr 0.02 --warm-up 4 --dropout 0 --decay 0";

const TRAINING: Training = Training {
    // No picture has a name of the text.
    arguments: |d, _| {
        let arguments = format!("train --path {} {SMALL} --epochs 1", text(d));
        arguments.split_whitespace().map(str::to_owned).collect()
    },
    long: &[["--epochs", "2"], ["--width", "64"], ["--hidden", "256"], ["--attention", "distance"]],
    same: &["model.safetensors", "vocabulary.txt"],
    pictures: &[("curves.svg", &["dot attention"], &["dot attention"])],
};

scenarios!("lm", APP, TRAINING, resumes);

fn run(d: &Dir, path: &str, name: &str, more: &str) -> (String, LmMetrics, String) {
    let out = d.path(name);
    let args = ["train", "--path", path, "--out", &out];
    // An option that is given replaces that of the small model.
    let small: Vec<&str> = SMALL.split_whitespace().collect();
    let small = small.chunks(2).filter(|option| !more.contains(option[0])).flatten().copied();
    let printed =
        LM.succeeds(&args.into_iter().chain(small).chain(more.split_whitespace()).collect::<Vec<_>>());
    let metrics = crate::common::metrics::<LmMetrics>(&out);
    (printed, metrics, out)
}

#[test]
fn it_learns_what_follows() {
    let d = Dir::new();
    let path = text(&d);
    let (printed, metrics, out) = run(&d, &path, "out", "--epochs 2 --attention penumbral --context 12");
    let [first, second] = metrics.training.epochs[..] else { panic!("two epochs: {printed}") };
    assert!(second.validation < first.validation && second.loss < first.loss, "{printed}");
    // 15 words, the full stop, the end of a line, and <unk>, which does not occur.
    assert_eq!((metrics.vocabulary, metrics.unknown, metrics.best_epoch), (18, [0; 3], 2));
    let words = |name: &str| {
        let file = String::from_utf8(bytes(&path, name)).unwrap();
        file.split_whitespace().count() + file.lines().count()
    };
    assert_eq!(metrics.tokens, ["train.txt", "valid.txt", "test.txt"].map(words));
    // Less than by guessing one of the words that occur.
    assert!(metrics.test[0].perplexity < 16.0 && metrics.validation.perplexity < 16.0, "{printed}");
    for (perplexity, context) in metrics.test.iter().zip([0, 12]) {
        assert_eq!((perplexity.context, perplexity.tokens), (context, metrics.tokens[2]));
        assert!((perplexity.loss.exp() / perplexity.perplexity - 1.0).abs() < 1e-12);
        assert!(printed.contains(&format!("test: perplexity {:.2}", perplexity.perplexity)), "{printed}");
    }
    assert_ne!(metrics.test[0].loss, metrics.test[1].loss);
    // The saved model gives the same, from the directory or from the file.
    for data in [path.clone(), format!("{path}/test.txt")] {
        let evaluated = LM.succeeds(&["evaluate", &out, &data]);
        for perplexity in &metrics.test {
            assert!(evaluated.contains(&format!("(loss {:.4}, ", perplexity.loss)), "{evaluated}");
        }
        assert!(evaluated.ends_with("\n0 tokens are not in the vocabulary\n"), "{evaluated}");
    }
    let other = d.write("other.txt", "one two nine\n");
    assert!(LM.succeeds(&["evaluate", &out, &other]).ends_with("\n1 tokens are not in the vocabulary\n"));
    let generate = |more: &[&str]| LM.succeeds(&[&["generate", &out, "--tokens", "30"], more].concat());
    let made = generate(&["--prompt", "red green"]);
    assert!(made.starts_with("red green ") && made == generate(&["--prompt", "red green"]), "{made}");
    assert_ne!(made, generate(&["--prompt", "red green", "--seed", "7"]));
    let known = |word: &str| sentences(0..30).contains(word) || word == "<unk>";
    assert!(made.split_whitespace().all(known), "{made}");
    let likeliest = generate(&["--top-k", "1"]);
    assert_eq!(likeliest, generate(&["--top-k", "1", "--seed", "7"]));
    LM.succeeds_with_closed_outputs(&["generate", &out, "--tokens", "3"]);
}

#[test]
fn every_kind_of_model_trains() {
    let d = Dir::new();
    let path = text(&d);
    let runs = [
        "--output plain --attention umbral --positions learned",
        "--attention entailment --light 0.5 --untied",
        "--attention umbral-finite --norm post --learn-sharpness --sharpness-by-head",
        "--attention penumbral-released --positions hyperbolic",
        "--attention umbral-released --radius 1 --key-dim 4 --attention-dropout 0.1",
        "--attention distance --aggregate barycentre --weights sigmoid",
        "--tokens bpe --vocabulary 300 --attention laplacian --block 32",
        "--min-count 2 --vocabulary 10 --attention polar-distance",
    ];
    for (i, more) in runs.into_iter().enumerate() {
        let (printed, metrics, out) = run(&d, &path, &format!("run{i}"), &format!("{more} --epochs 1"));
        assert!(metrics.test.iter().all(|test| test.perplexity.is_finite()), "{more}: {printed}");
        // One layer with two heads.
        let learned = if more.contains("by-head") { 2 } else { 0 };
        assert_eq!(metrics.sharpness.len(), learned, "{more}");
        assert_eq!(printed.contains("\nlearned factors of the scores: "), learned > 0, "{printed}");
        let evaluated = LM.succeeds(&["evaluate", &out, &path]);
        assert!(evaluated.contains(&format!("(loss {:.4}, ", metrics.test[1].loss)), "{more}: {evaluated}");
        let made = LM.succeeds(&["generate", &out, "--prompt", ". ."]);
        assert!(made.starts_with(". .") && made.len() > 10, "{more}: {made}");
        assert_eq!(metrics.config.output == cotangent_apps_text::lm::OutputOption::Plain, i % 6 == 0);
    }
}

/// Longer blocks have no more parameters, and plain output has more than adaptive; tied vectors halve them.
#[test]
fn parameters_are_where_the_options_say() {
    let d = Dir::new();
    let path = text(&d);
    let [adaptive, plain, untied] = ["--bands 6,12", "--output plain", "--output plain --untied"]
        .map(|more| run(&d, &path, &more.replace(' ', ""), &format!("{more} --epochs 1")).1);
    // Four linear maps and two numbers of attention, a feed-forward network, three normalisations.
    let layers = 4 * (16 * 16 + 16) + 2 + 2 * 16 * 32 + 32 + 16 + 3 * 2 * 16;
    assert!([&adaptive, &plain, &untied].iter().all(|metrics| metrics.layer_parameters == layers));
    assert_eq!(plain.training.parameters - layers, 18 * 16);
    assert_eq!(untied.training.parameters - layers, 2 * 18 * 16);
    // Bands of 6 words, with matrices to the width, and vectors of the two other bands.
    assert_eq!(adaptive.training.parameters - layers, 6 * (16 + 8 + 4) + (8 + 4) * 16 + 2 * 16);
}

/// WikiText's names, packed; blank lines count as lines.
#[test]
fn the_format_of_wikitext_is_read() {
    use std::io::Write;
    let d = Dir::new();
    let (plain, packed) = (text(&d), d.path("wikitext"));
    std::fs::create_dir(&packed).unwrap();
    for part in ["train", "valid", "test"] {
        let file = std::fs::File::create(format!("{packed}/wiki.{part}.tokens.gz")).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gzip.write_all(&bytes(&plain, &format!("{part}.txt"))).unwrap();
        gzip.finish().unwrap();
    }
    let [a, b] = [&plain, &packed].map(|path| run(&d, path, &format!("{path}-out"), "--epochs 1").1);
    assert_eq!((a.tokens, a.training.epochs), (b.tokens, b.training.epochs));
}

/// WikiText-2 has its official numbers of tokens and words, if it is installed.
#[test]
fn wikitext2_has_its_size() {
    let path = Path::new("../../../shared/data/wikitext2");
    if !path.exists() {
        cotangent::engine::skipped(format_args!("no {}", path.display()));
        return;
    }
    let train = Lines::read_part(path, "train").unwrap();
    let vocabulary = Vocabulary::Words(Words::count(&train.lines, 1, usize::MAX));
    assert_eq!(vocabulary.size(), 33_278);
    for (part, tokens) in [("train", 2_088_628), ("valid", 217_646), ("test", 245_569)] {
        let text = Lines::read_part(path, part).unwrap();
        let words: usize = text.lines.iter().map(|line| line.split_whitespace().count() + 1).sum();
        assert_eq!(words, tokens, "{part}");
    }
}

/// The message of a training that fails.
fn training_fails(path: &str, out: &str, args: &[&str]) -> String {
    LM.fails(&[&["train", "--path", path, "--out", out], args].concat())
}

#[test]
fn bad_options_get_one_line() {
    let d = Dir::new();
    let (path, out) = (text(&d), d.path("out"));
    let fails = |args: &[&str]| training_fails(&path, &out, args);
    assert_eq!(fails(&["--epochs", "0"]), "--epochs 0: at least 1 is needed");
    assert_eq!(fails(&["--dropout", "1"]), "--dropout 1: from 0 to below 1 is needed");
    assert_eq!(fails(&["--block", "8", "--context", "8"]), "--context 8: less than --block 8 is needed");
    assert_eq!(fails(&["--bands", "5,5"]), "--bands 5,5: ascending numbers are needed");
    assert_eq!(fails(&["--bands", "0,5"]), "--bands 0,5: ascending numbers are needed");
    let message = fails(&["--tokens", "bpe", "--output", "adaptive"]);
    assert_eq!(message, "--output adaptive: --tokens words is needed, which are numbered by frequency");
    assert_eq!(fails(&["--vocabulary", "1"]), "--vocabulary 1: at least 2 are needed");
    let small = ["--block", "16", "--tokens", "bpe", "--vocabulary", "20"];
    assert_eq!(fails(&small), "--vocabulary 20: 300 or more are needed");
    let rare = fails(&["--tokens", "bpe", "--min-count", "2"]);
    assert_eq!(rare, "--min-count 2: --tokens bpe has parts of rare words");
    let message = fails(&["--tokens", "bpe", "--vocabulary", "10000000000000"]);
    assert!(message.starts_with("--vocabulary 10000000000000: a model of "), "{message}");
    assert_eq!(fails(&["--sharpness-by-head"]), "--sharpness-by-head: --learn-sharpness is needed");
    for option in ["--width", "--heads", "--hidden", "--head-dim", "--key-dim"] {
        let message = fails(&[option, "18446744073709551615"]);
        assert!(message.contains("--") && message.contains(" GB of memory"), "{message}");
    }
    let message = fails(&["--attention", "entailment", "--radius", "2"]);
    assert_eq!(message, "--radius: --attention entailment has no radius");
    let message = fails(&["--attention", "umbral-finite", "--key-dim", "1"]);
    assert_eq!(message, "--key-dim 1: --attention umbral-finite needs 2 or more");
    let message = LM.fails(&["train", "--out", &out]);
    let needs = "--path (a directory with train.txt, valid.txt and test.txt), or --train, --validation and";
    assert_eq!(message, format!("{needs} --test, is needed"));
    assert!(!Path::new(&out).join("config.json").exists(), "a refused run writes nothing");
}

#[test]
fn bad_texts_get_one_line() {
    let d = Dir::new();
    let (path, out) = (text(&d), d.path("out"));
    let fails = |args: &[&str]| training_fails(&path, &out, args);
    let message = fails(&["--block", "2000"]);
    assert!(
        message.ends_with("text/train.txt: 1019 tokens are less than a block; see --block 2000"),
        "{message}"
    );
    let (empty, blank) = (d.write("empty.txt", ""), d.write("blank.txt", "\n \n"));
    for (option, file) in [("--train", &empty), ("--validation", &blank), ("--test", &empty)] {
        assert_eq!(fails(&[option, file]), format!("{file}: no words"));
    }
    let wrong = d.write("wrong.txt", b"one\n\xff\n");
    assert!(fails(&["--test", &wrong]).ends_with("wrong.txt:2: invalid UTF-8"));
    std::fs::remove_file(format!("{path}/valid.txt")).unwrap();
    let message = fails(&[]);
    let names = "none of valid.txt, wiki.valid.tokens, wiki.valid.raw is there, plain or with .gz";
    assert!(message.ends_with(&format!("text: {names}")), "{message}");
}

#[test]
fn a_run_with_other_options_or_text_is_not_resumed() {
    let d = Dir::new();
    let (path, out) = (text(&d), d.path("out"));
    run(&d, &path, "out", "--epochs 1");
    let resume = [SMALL.split_whitespace().collect(), vec!["--epochs", "1", "--resume"]].concat();
    let before = bytes(&out, "model.safetensors");
    for option in [["--key-dim", "4"], ["--attention", "umbral"], ["--context", "3"]] {
        let message = training_fails(&path, &out, &[&resume[..], &option].concat());
        let end = format!("checkpoint.bin: the checkpoint does not fit: a run with another {}", option[0]);
        assert!(message.ends_with(&end), "{message}");
    }
    let message = training_fails(&path, &out, &[&resume[..], &["--tokens", "bpe"]].concat());
    assert!(message.ends_with("vocabulary.txt: a run with another --tokens"), "{message}");
    let other = d.write("other.txt", sentences(300..450));
    let message = training_fails(&path, &out, &[&resume[..], &["--train", &other]].concat());
    let end = "checkpoint.bin: the checkpoint does not fit: a run on other text";
    assert!(message.ends_with(end), "{message}");
    assert!(bytes(&out, "model.safetensors") == before);
}

#[test]
fn bad_models_are_refused() {
    let d = Dir::new();
    let path = text(&d);
    let (_, _, out) = run(&d, &path, "out", "--epochs 1");
    let file = |name: &str| Path::new(&out).join(name);
    let broken = |name: &str, content: &[u8]| {
        let whole = bytes(&out, name);
        std::fs::write(file(name), content).unwrap();
        let message = LM.fails(&["evaluate", &out, &path]);
        assert_eq!(LM.fails(&["generate", &out]), message);
        std::fs::write(file(name), whole).unwrap();
        message
    };
    let whole = String::from_utf8(bytes(&out, "vocabulary.txt")).unwrap();
    let swapped = whole.lines().rev().collect::<Vec<_>>().join("\n");
    let message = broken("vocabulary.txt", swapped.as_bytes());
    assert!(message.ends_with("out/vocabulary.txt: the vocabulary of another run"), "{message}");
    let message = broken("vocabulary.txt", b"");
    assert!(message.ends_with("out/vocabulary.txt:1: one word is needed"), "{message}");
    let weights = bytes(&out, "model.safetensors");
    let message = broken("model.safetensors", &weights[..weights.len() / 2]);
    assert!(message.contains("model.safetensors"), "{message}");
    let config = String::from_utf8(bytes(&out, "config.json")).unwrap();
    for (from, to, message) in [
        ("\"heads\": 2", "\"heads\": 0", "config.json: --heads 0: at least 1 is needed"),
        ("\"hidden\": 32", "\"hidden\": 1000000", "parameters; model.safetensors has"),
        ("\"block\": 16", "\"block\": 3", "config.json: --context 15: less than --block 3 is needed"),
        ("\"width\": 16", "\"width\": 17", "model.safetensors"),
    ] {
        assert!(config.contains(from), "{config}");
        let error = broken("config.json", config.replace(from, to).as_bytes());
        assert!(error.contains(message), "{error}");
    }
    let message = LM.fails(&["evaluate", &d.path("nowhere"), &path]);
    assert!(message.contains("nowhere/config.json: No such file"), "{message}");
    assert_eq!(
        LM.fails(&["evaluate", &out, &path, "--context", "16"]),
        "--context 16: less than --block 16 is needed"
    );
    assert!(LM.fails(&["evaluate", &out, &d.path("none.txt")]).contains("none.txt: No such file"));
    assert_eq!(
        LM.fails(&["generate", &out, "--temperature", "0"]),
        "--temperature 0: a positive number is needed"
    );
    assert_eq!(LM.fails(&["generate", &out, "--top-k", "0"]), "--top-k 0: at least 1 is needed");
}
