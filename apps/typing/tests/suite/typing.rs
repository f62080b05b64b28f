//! The application `typing` from the outside: results, files, resumption, and errors for bad input.

use std::path::Path;

use cotangent_apps_typing::APP;
use cotangent_apps_typing::config::{Loss, Regression, Space};
use cotangent_apps_typing::metrics::Figures;
use cotangent_apps_typing::train::TypingMetrics;

use crate::common::{App, Dir, bytes};
use crate::pictures::{long_name, text_fits};
use crate::shared::scenarios::Training;

const TYPING: App = App(env!("CARGO_BIN_EXE_typing"));

fn metrics(dir: &str) -> TypingMetrics {
    crate::common::metrics(dir)
}

/// Words of persons, cities and companies, and of contexts.
const WORDS: [&str; 16] = [
    "anna", "boris", "clara", "david", "rome", "paris", "oslo", "lima", "acme", "initech", "globex",
    "umbrella", "lives", "in", "works", "for",
];

/// A made set: word vectors, types, and mentions in the tab-separated form.
struct Made {
    dir: Dir,
    words: String,
    types: String,
    mentions: String,
}

impl Made {
    fn new() -> Self {
        Made::within(Dir::new())
    }

    fn within(dir: Dir) -> Self {
        let vector = |i: usize| {
            let kind = i / 4;
            let own = (0..3).map(|k| ((i * 7 + k * 3) % 5) as f64 / 10.0);
            let shared = (0..4).map(|k| if k == kind { 2.0 } else { -0.5 });
            shared.chain(own).map(|x| format!(" {x}")).collect::<String>()
        };
        let words: String =
            WORDS.iter().enumerate().map(|(i, word)| format!("{word}{}\n", vector(i))).collect();
        let types = "person\tcoarse\nplace\tcoarse\ngroup\tcoarse\ncity\tfine\nfirm\tfine\nadult\tfine\n\
            woman\tultra-fine\nman\tultra-fine\ncapital\tultra-fine\ntown\tultra-fine\nmaker\tultra-fine\n\
            seller\tultra-fine\n";
        let mut mentions = String::new();
        for (i, word) in WORDS[..12].iter().enumerate() {
            let (types, left, right) = match (i / 4, i % 2) {
                (0, 0) => ("person adult woman", "", "lives in rome"),
                (0, _) => ("person adult man", "", "works for acme"),
                (1, 0) => ("place city capital", "anna lives in", "."),
                (1, _) => ("place city town", "boris lives in", ""),
                (_, 0) => ("group firm maker", "clara works for", ""),
                _ => ("group firm seller", "david works for", "in lima"),
            };
            mentions += &format!("{i}\t{left}\t{word}\t{right}\t{types}\n");
        }
        Made {
            words: dir.write("words.txt", words),
            types: dir.write("types.txt", types),
            mentions: dir.write("mentions.tsv", mentions),
            dir,
        }
    }

    /// The arguments of a training on the set, with the same mentions for all purposes.
    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let sizes = ["--mention-dim", "6", "--char-dim", "3", "--context-dim", "4", "--batch", "6"];
        [&self.data()[..], &sizes, more].concat()
    }

    /// The arguments without sizes.
    fn data(&self) -> [&str; 11] {
        let Made { words, types, mentions, .. } = self;
        let [train, dev, test] = [["--train", mentions], ["--dev", mentions], ["--test", mentions]];
        let parts = [train, dev, test, ["--words", words], ["--types", types]];
        let mut all = ["train"; 11];
        all[1..].copy_from_slice(&parts.concat());
        all
    }

    fn train(&self, name: &str, more: &[&str]) -> String {
        let out = self.dir.path(name);
        TYPING.succeeds(&[&self.arguments(more)[..], &["--out", &out]].concat());
        out
    }
}

const SHORT: [&str; 4] = ["--epochs", "2", "--cycles", "2"];

const LONG: [&str; 10] =
    ["--epochs", "12", "--cycles", "8", "--lr", "0.02", "--input-dropout", "0", "--concat-dropout", "0"];

const TRAINING: Training = Training {
    // The names of types are in the pictures of trained models, not in those of a training.
    arguments: |d, _| {
        let made = Made::within(d.share());
        made.arguments(&SHORT).into_iter().map(str::to_owned).collect()
    },
    long: &[["--epochs", "6"], ["--cycles", "3"]],
    same: &["model.safetensors", "epochs.json"],
    pictures: &[(
        "curves.svg",
        &["training loss: best", "macro F1 on dev"],
        &["training loss: best", "macro F1 on dev"],
    )],
};

scenarios!("typing", APP, TRAINING, resumes);

#[test]
fn a_made_set_is_learned_evaluated_and_predicted() {
    let made = Made::new();
    for space in ["hyperbolic", "euclidean"] {
        let out = made.train(space, &[&LONG[..], &["--space", space]].concat());
        let found = metrics(&out);
        let test = found.test.unwrap();
        assert!(test.total.by_mention.f1 > 0.95 && test == found.dev, "{space}: {test:?}");
        assert_eq!((found.mentions, found.types, found.epochs.len()), ([12; 3], 12, 12));
        assert!(found.epochs.iter().all(|epoch| epoch.loss.is_finite() && epoch.text_norm > 0.0));
        assert!(found.epochs[11].loss < 0.5 * found.epochs[0].loss, "{space}: {:?}", found.epochs);
        for file in ["curves.svg", "typing.json", "epochs.json", "checkpoint.bin"] {
            assert!(Path::new(&out).join(file).exists(), "{file}");
        }
        // The saved model gives the same figures, at any number of threads.
        let printed = TYPING.succeeds(&["evaluate", &made.mentions, "--model", &out, "--json"]);
        let f1 = format!("\"f1\":{}", test.total.by_mention.f1);
        assert!(printed.contains(&f1), "{printed} {f1}");
        // Plain text: capitals, punctuation, an unknown word, unknown characters.
        let text = "Anna lives in\tOslo\t.\n\tClara\t works for (ACME).\nÜber\tßçø\t\n";
        let text = made.dir.write("text.tsv", text);
        let printed = TYPING.succeeds(&["predict", &text, "--model", &out]);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("Oslo\t") && lines[0].contains("place "), "{printed}");
        assert!(lines[1].starts_with("Clara\t") && lines[1].contains("person "), "{printed}");
        assert!(lines[2].starts_with("ßçø\t") && lines[2].contains(' '), "{printed}");
        let json = TYPING.succeeds(&["predict", &text, "--model", &out, "--json", "--threshold", "0.1"]);
        assert!(json.lines().all(|line| line.starts_with("{\"event\":\"result\",\"mention\":")), "{json}");
        assert!(json.contains("\"probability\":"), "{json}");
    }
}

/// An unknown word has the same vector whatever else is in a file.
#[test]
fn a_mention_is_read_alone_as_among_others() {
    let made = Made::new();
    let text = std::fs::read_to_string(&made.mentions).unwrap();
    let half: Vec<&str> = text.lines().step_by(2).collect();
    let half = made.dir.write("half.tsv", half.join("\n").replace("lives", "dwells").replace("acme", "zzz"));
    let out = made.dir.path("out");
    let mut arguments = made.arguments(&LONG);
    let at = arguments.iter().position(|argument| *argument == "--test").unwrap();
    arguments[at + 1] = &half;
    TYPING.succeeds(&[&arguments[..], &["--out", &out]].concat());
    let test = metrics(&out).test.unwrap();
    let printed = TYPING.succeeds(&["evaluate", &half, "--model", &out, "--json"]);
    let found: Figures = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    assert_eq!(found, test);
    let lines = ["anna lives in\tzzz\tfor zzz", "zzz\tzzz\tzzz", "\tboris\tworks for acme"];
    let predicted = |name: &str, lines: &[&str]| -> Vec<f64> {
        let file = made.dir.write(name, lines.join("\n"));
        let printed =
            TYPING.succeeds(&["predict", &file, "--model", &out, "--json", "--threshold", "0.0001"]);
        let numbers = printed.split("\"probability\":").skip(1);
        numbers.map(|rest| rest.split('}').next().unwrap().parse().unwrap()).collect()
    };
    let together = predicted("all.tsv", &lines);
    let alone: Vec<f64> = lines.iter().flat_map(|&line| predicted("one.tsv", &[line])).collect();
    assert!(together.len() == alone.len() && together.len() > 6, "{together:?} {alone:?}");
    assert!(together.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-5), "{together:?} {alone:?}");
}

#[test]
fn every_option_of_the_model_trains() {
    let made = Made::new();
    let ball: String = WORDS
        .iter()
        .enumerate()
        .map(|(i, word)| format!("{word} {} {}\n", 0.1 * (i % 9) as f64, -0.05 * (i % 7) as f64))
        .collect();
    let ball = made.dir.write("ball.txt", ball);
    let runs: [&[&str]; 10] = [
        &["--encoder", "euclidean"],
        &["--attention", "euclidean"],
        &["--concatenation", "euclidean"],
        &["--mlr", "euclidean"],
        &["--mlr", "euclidean", "--regression", "usual", "--precision", "f64"],
        &["--regression", "unidirectional", "--reduction", "sum"],
        &["--attention-weights", "sigmoid", "--attention-offset", "--loss", "plain"],
        &["--dim", "5", "--lr-floor", "0.1", "--mention-words", "1", "--context-words", "3"],
        &["--vectors", "hyperbolic", "--words", &ball],
        &["--vectors", "hyperbolic", "--words", &ball, "--space", "euclidean"],
    ];
    for (i, more) in runs.into_iter().enumerate() {
        // An option that is given twice is an error: the words replace those of the set.
        let mut arguments = made.arguments(&SHORT);
        if more.contains(&"--words") {
            let at = arguments.iter().position(|argument| *argument == "--words").unwrap();
            arguments.drain(at..at + 2);
        }
        let out = made.dir.path(&format!("run-{i}"));
        TYPING.succeeds(&[&arguments, more, &["--out", &out]].concat());
        let found = metrics(&out);
        assert!(found.epochs.iter().all(|epoch| epoch.loss.is_finite()), "{more:?}");
        let printed = TYPING.succeeds(&["evaluate", &made.mentions, "--model", &out, "--json"]);
        assert!(printed.contains(&format!("\"accuracy\":{}", found.dev.accuracy)), "{more:?}: {printed}");
        assert_eq!(
            found.config.spaces.encoder == Space::Euclidean,
            more.contains(&"euclidean") && (i == 0 || i == 9)
        );
        assert_eq!(found.config.loss == Loss::Plain, i == 6);
    }
}

/// A finished run has nothing to do but to read its epochs.
#[test]
fn a_finished_run_needs_its_epochs() {
    let made = Made::new();
    let out = made.train("run", &SHORT);
    let resume = [&made.arguments(&SHORT)[..], &["--resume", "--out", &out]].concat();
    let whole = metrics(&out);
    TYPING.succeeds(&resume);
    assert_eq!(metrics(&out).epochs, whole.epochs);
    let path = Path::new(&out).join("epochs.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("loss"), "{text}");
    let epochs: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    std::fs::write(&path, serde_json::to_string(&epochs[..1]).unwrap()).unwrap();
    assert!(TYPING.fails(&resume).ends_with("epochs.json: 1 epochs, but 2 are done"));
    std::fs::remove_file(&path).unwrap();
    assert!(TYPING.fails(&resume).ends_with("epochs.json: 0 epochs, but 2 are done"));
}

#[test]
fn a_run_with_other_settings_is_not_resumed() {
    let made = Made::new();
    let out = made.train("run", &SHORT);
    let resumed = |more: &[&str]| {
        TYPING.fails(&[&made.arguments(&SHORT)[..], more, &["--resume", "--out", &out]].concat())
    };
    let error = resumed(&["--lr", "0.1"]);
    assert!(
        error.ends_with("checkpoint.bin: the checkpoint does not fit: a run with another --lr"),
        "{error}"
    );
    assert!(resumed(&["--mlr", "euclidean"]).ends_with("a run with another --mlr"));
    let text = std::fs::read_to_string(&made.mentions).unwrap().replace("person adult woman", "person");
    std::fs::write(&made.mentions, text).unwrap();
    assert!(resumed(&[]).ends_with("a run on other mentions"));
}

#[test]
fn seeds_and_tables_are_trained_by_one_command() {
    let made = Made::new();
    let out = made.train("seeds", &[&SHORT[..], &["--seeds", "2", "--quiet"]].concat());
    let seeds: serde_json::Value = serde_json::from_slice(&bytes(&out, "seeds.json")).unwrap();
    let f1 = |seed: u64| metrics(&format!("{out}/seed-{seed}")).dev.total.by_mention.f1;
    let best = if f1(43) > f1(42) { 43 } else { 42 };
    let figures = seeds["figures"].as_array().unwrap();
    assert!(figures.iter().any(|figure| figure["figure"] == "test ultra-fine macro F1"), "{seeds}");
    assert!(figures.iter().all(|figure| figure["best_seed"] == best), "{seeds}");
    // The sizes of the paper, on a set so small that they train at once.
    let table = made.dir.path("table");
    let all = ["--epochs", "1", "--cycles", "1", "--table", "ablations", "--seeds", "2"];
    let printed = TYPING.succeeds(&[&made.data()[..], &all, &["--out", &table]].concat());
    // The paper has no figures for twelve types.
    assert!(!printed.contains("paper, ") && !printed.contains("Table "), "{printed}");
    let last: Vec<&str> = printed.lines().filter(|line| line.starts_with("euclidean-mlr  ")).collect();
    assert!(last.len() == 1 && last[0].contains("dev") && last[0].contains(" ± "), "{printed}");
    assert!(metrics(&format!("{table}/euclidean-mlr/seed-43")).config.spaces.mlr == Space::Euclidean);
    // The usual form is that of the models whose MLR is Euclidean.
    let usual = made.dir.path("usual");
    let all = ["--epochs", "1", "--cycles", "1", "--table", "ablations", "--regression", "usual"];
    TYPING.succeeds(&[&made.data()[..], &all, &["--out", &usual]].concat());
    for (name, regression) in [("hyperbolic-base", Regression::Points), ("euclidean-mlr", Regression::Usual)]
    {
        assert_eq!(metrics(&format!("{usual}/{name}")).config.regression, regression);
    }
}

/// With as many types as Ultra-Fine has, the paper's figures are printed.
#[test]
fn the_figures_of_the_paper_are_beside_ours() {
    let made = Made::new();
    let types = std::fs::read_to_string(&made.types).unwrap();
    let more: String = (12..10_331).map(|i| format!("t{i}\tultra-fine\n")).collect();
    std::fs::write(&made.types, types + &more).unwrap();
    let out = made.dir.path("out");
    let more = ["--epochs", "1", "--cycles", "1", "--mlr", "euclidean", "--out", &out];
    let printed = TYPING.succeeds(&[&made.data()[..], &more].concat());
    let row = "Table 5, Poincaré GloVe: EU MLR: macro/micro F1 on test 69.2/67.1, 40.8/38.0, 17.3/15.8";
    assert!(printed.contains(row), "{printed}");
    assert!(printed.contains("Table 1: 1.8 million parameters; the MLR alone has 2.07"), "{printed}");
    assert!(printed.contains("dev: 12 mentions, exact: "), "{printed}");
}

#[test]
fn analyses_of_a_model_are_listed_and_drawn() {
    let made = Made::new();
    let [plane, flat] = ["hyperbolic", "euclidean"]
        .map(|space| made.train(space, &[&SHORT[..], &["--dim", "2", "--space", space]].concat()));
    for model in [&plane, &flat] {
        let printed = TYPING.succeeds(&["nearest", "city", "--model", model, "--count", "3"]);
        assert_eq!(printed.lines().count(), 3);
        let distances: Vec<f64> =
            printed.lines().map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect();
        assert!(distances.is_sorted() && distances[0] >= 0.0, "{printed}");
        let picture = made.dir.path("planes.svg");
        let drawn = ["--types", "person,city,capital", "--data", &made.mentions, "--out", &picture];
        TYPING.succeeds(&[&["hyperplanes", "--model", model], &drawn[..]].concat());
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(
            svg.contains("capital") && svg.contains("none of these") && svg.matches("<circle").count() > 12
        );
        let picture = made.dir.path("attention.svg");
        TYPING.succeeds(&["attention", &made.mentions, "--model", model, "--out", &picture]);
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(svg.contains("queries and keys, 8-dimensional") && !svg.contains("nodes"), "{svg}");
        for command in [&["hyperplanes"][..], &["attention", &made.mentions]] {
            let error = TYPING.fails(&[command, &["--model", model, "--threads", "0"]].concat());
            assert_eq!(error, "--threads 0: at least 1 is needed");
        }
        for option in ["--threads", "--words"] {
            let error = TYPING.fails(&["nearest", "city", "--model", model, option, "2"]);
            assert!(error.starts_with(&format!("unexpected argument '{option}'")), "{error}");
        }
        let error = TYPING.fails(&["hyperplanes", "--model", model, "--words", &made.words]);
        assert!(error.starts_with("--words: "), "{error}");
    }
    let picture = made.dir.path("norms.svg");
    TYPING.succeeds(&["norms", &plane, &flat, "--out", &picture]);
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.contains("hyperbolic norm") && svg.contains("Euclidean norm"));
    let wide = made.train("wide", &SHORT);
    let error = TYPING.fails(&["hyperplanes", "--types", "person", "--model", &wide]);
    assert_eq!(error, "the hyperplanes are in 17 dimensions; train with --dim 2 to draw them");
    let error = TYPING.fails(&["nearest", "City", "--model", &wide]);
    assert_eq!(error, "the type \"City\" is not in the list of 12 types; there is \"city\"");
}

/// OntoNotes: JSON lines with several mentions, types that are paths, plain cross-entropy.
#[test]
fn paths_are_types_of_a_hierarchy() {
    let made = Made::new();
    let mut text = String::new();
    for (i, word) in WORDS[..12].iter().enumerate() {
        let labels =
            [r#""/person", "/person/artist""#, r#""/location", "/location/city""#, r#""/other""#][i / 4];
        let mention =
            |start: usize| format!(r#"{{"start": {start}, "end": {}, "labels": [{labels}]}}"#, start + 1);
        let mentions = format!("{}, {}", mention(0), mention(3));
        text += &format!(r#"{{"tokens": ["{word}", "lives", "in", "{word}"], "mentions": [{mentions}]}}"#);
        text += "\n";
    }
    let file = made.dir.write("onto.json", text);
    let out = made.dir.path("onto");
    let data = ["train", "--train", &file, "--dev", &file, "--words", &made.words, "--loss", "plain"];
    let small = ["--mention-dim", "6", "--char-dim", "3", "--context-dim", "4", "--batch", "12"];
    TYPING.succeeds(&[&data[..], &small, &LONG, &["--out", &out]].concat());
    let found = metrics(&out);
    assert_eq!((found.mentions, found.types, found.test), ([24, 24, 0], 5, None));
    assert!(found.dev.accuracy > 0.9 && found.dev.total.by_type.f1 > 0.9, "{:?}", found.dev);
    // The second level is fine, and nothing is finer.
    assert!(found.dev.levels[1].by_mention.f1 > 0.9 && found.dev.levels[2].by_mention.recall == 0.0);
}

/// Distant mentions are counted, their types are needed, and a resumed run must have them.
#[test]
fn distant_mentions_are_trained_on_too() {
    let made = Made::new();
    let (out, lines) = (made.dir.path("out"), std::fs::read_to_string(&made.mentions).unwrap());
    let more = made.dir.write("distant.tsv", lines.lines().take(5).collect::<Vec<_>>().join("\n"));
    let arguments = [&made.arguments(&SHORT)[..], &["--distant", &more, "--out", &out]].concat();
    let said = TYPING.succeeds(&arguments);
    assert!(said.contains("mentions: 17 to train, 12 dev, 12 test"), "{said}");
    assert!(said.contains("of those to train, 5 are distant"), "{said}");
    let plain = [&made.arguments(&SHORT)[..], &["--out", &out, "--resume"]].concat();
    let error = TYPING.fails(&plain);
    assert!(error.contains("checkpoint.bin: "), "{error}");
    let bad = made.dir.write("bad.tsv", "0\t\tanna\tlives\tnowhere\n");
    let error = TYPING.fails(&[&made.arguments(&SHORT)[..], &["--distant", &bad, "--out", &out]].concat());
    assert!(error.contains("bad.tsv:1: "), "{error}");
}

/// Sizes beyond the memory are refused before anything is read.
#[test]
fn sizes_that_do_not_fit_in_memory_are_refused() {
    let made = Made::new();
    let out = made.dir.path("out");
    for option in ["--dim", "--mention-dim", "--char-dim", "--context-dim", "--context-words"] {
        for number in ["18446744073709551615", "9223372036854775807"] {
            let error = TYPING.fails(&[&made.data()[..], &[option, number, "--out", &out]].concat());
            assert!(error.contains(number) && error.ends_with(" GB of memory"), "{error}");
        }
    }
    let cycles = [&made.arguments(&["--epochs", "1"])[..], &["--cycles", "18446744073709551615"]].concat();
    let error = TYPING.fails(&[&cycles[..], &["--out", &out]].concat());
    assert!(error.starts_with("--cycles 18446744073709551615: the order of an epoch would take"), "{error}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn bad_files_are_refused_with_their_line() {
    let made = Made::new();
    let out = made.dir.path("out");
    let fails = |replaced: &str, path: &str| {
        let mut arguments = made.arguments(&SHORT);
        let at = arguments.iter().position(|argument| *argument == replaced).unwrap();
        arguments[at + 1] = path;
        let error = TYPING.fails(&[&arguments[..], &["--out", &out]].concat());
        assert!(!Path::new(&out).exists(), "{error}");
        error
    };
    let file = |name: &str, text: &str| made.dir.write(name, text);
    let row = "0\t\tanna\tlives\tperson\n";
    let contexts = r#""left_context_token": [], "right_context_token": []"#;
    let json = format!(r#"{{{contexts}, "mention_span": "anna", "y_str": ["person"]}}"#);
    let not_json = file("a.json", &format!("{json}\n{{\"left\n"));
    assert!(fails("--train", &not_json).contains("a.json:2: not JSON: "));
    let empty = file("b.tsv", &format!("{row}1\tin\t \tlives\tperson\n"));
    assert!(fails("--dev", &empty).ends_with("b.tsv:2: an empty mention"));
    let other = file("c.tsv", &format!("{row}{row}1\t\tanna\tlives\tperson robot\n"));
    assert!(fails("--test", &other).ends_with("c.tsv:3: the type \"robot\" is not in the list of 12 types"));
    let untyped = file("d.tsv", "0\t\tanna\tlives\t\n");
    assert!(fails("--train", &untyped).ends_with("d.tsv: all 1 mentions are without types"));
    let mixed = file("e.txt", "anna 1 2\nrome 1 2 3\n");
    assert!(fails("--words", &mixed).ends_with("e.txt:2: 3 numbers after the word; the first has 2"));
    assert!(
        fails("--types", &file("f.txt", "person\nperson\n"))
            .contains("f.txt:2: the type \"person\" occurs twice")
    );
    let unnamed = file("j.json", &json.replace("person", ""));
    assert!(fails("--train", &unnamed).ends_with("j.json:1: an empty name of a type"));
    assert!(fails("--train", &file("g.tsv", "")).ends_with("g.tsv: no mentions"));
    assert!(fails("--train", &made.dir.path("none")).contains("none: No such file"));
    assert!(fails("--words", &file("h.bin", "2 x\n")).contains("h.bin:1: the first line of a word2vec file"));
    // A context of ten thousand words is read around the mention; a mention without types is left out.
    let long = "in ".repeat(10_000);
    let long = file("i.tsv", &format!("{row}1\t{long}\tanna\t{long}\tperson\n2\t\tanna\t\t\n"));
    let mut arguments = made.arguments(&SHORT);
    arguments[2] = &long;
    let printed = TYPING.succeeds(&[&arguments[..], &["--out", &out]].concat());
    assert!(
        printed.contains("mentions: 2 to train") && printed.contains("left out: 1 mentions"),
        "{printed}"
    );
}

#[test]
fn wrong_options_are_named() {
    let made = Made::new();
    let out = made.dir.path("out");
    let fails = |more: &[&str]| TYPING.fails(&[&made.arguments(more)[..], &["--out", &out]].concat());
    assert!(fails(&["--epochs", "0"]).starts_with("--epochs 0: at least 1"));
    assert!(fails(&["--lr=-1"]).starts_with("--lr -1"));
    assert!(fails(&["--word-radius", "2"]).starts_with("--word-radius 2"));
    assert!(fails(&["--regression", "usual"]).starts_with("--regression usual"));
    let table = [&made.data()[..], &["--table", "spaces", "--batch", "0", "--out", &out]].concat();
    assert!(TYPING.fails(&table).starts_with("--batch 0: at least 1"));
    let error = fails(&["--table", "spaces"]);
    assert!(error.contains("cannot be used with") && error.contains("--table"), "{error}");
    assert!(TYPING.fails(&[]).starts_with("a command is needed: train"));
    // They count the lines of a list.
    let unlisted = ["train", "--train", &made.mentions, "--dev", &made.mentions, "--words", &made.words];
    for option in ["--coarse", "--fine"] {
        let error = TYPING.fails(&[&unlisted[..], &[option, "3", "--out", &out]].concat());
        assert!(error.contains("not provided: --types"), "{error}");
    }
    // A model needs the word vectors of its training.
    let run = made.train("run", &SHORT);
    let text = made.dir.write("text.tsv", "\tanna\t\n");
    let others = made.dir.write("others.txt", "anna 1 2 3 4 5 6 7\n");
    let error = TYPING.fails(&["predict", &text, "--model", &run, "--words", &others]);
    assert!(error.ends_with("others.txt: these are not the word vectors of the training"), "{error}");
    let error = TYPING.fails(&["predict", &text, "--model", &out]);
    assert!(error.contains("typing.json: No such file"), "{error}");
    let error = TYPING.fails(&["predict", &made.dir.write("bad.tsv", "anna\n"), "--model", &run]);
    assert!(error.contains("bad.tsv:1: 1 columns; three are needed"), "{error}");
    let error = TYPING.fails(&["evaluate", &made.dir.write("new.tsv", "1\t\ta\t\trobot\n"), "--model", &run]);
    assert!(error.contains("new.tsv:1: the type \"robot\""), "{error}");
}

#[test]
fn an_opencl_device_gives_the_same_losses() {
    if !TYPING.has_opencl(&["train"]) {
        return;
    }
    let made = Made::new();
    let [host, device] = ["cpu", "opencl"]
        .map(|device| metrics(&made.train(device, &[&SHORT[..], &["--device", device]].concat())));
    assert_eq!(device.device, "opencl:0");
    for (a, b) in device.epochs.iter().zip(&host.epochs) {
        assert!((a.loss - b.loss).abs() <= 1e-4 * b.loss, "{a:?} {b:?}");
    }
}

#[test]
fn text_is_within_the_picture_of_hyperplanes() {
    let made = Made::new();
    let long = long_name().replace([' ', ','], "_");
    let replaced = |path: &str| std::fs::read_to_string(path).unwrap().replace("person", &long);
    std::fs::write(&made.types, replaced(&made.types)).unwrap();
    std::fs::write(&made.mentions, replaced(&made.mentions)).unwrap();
    let out = made.train("out", &[&SHORT[..], &["--dim", "2"]].concat());
    let picture = made.dir.path("planes.svg");
    TYPING.succeeds(&["hyperplanes", "--types", &format!("{long},city"), "--model", &out, "--out", &picture]);
    text_fits(&picture, &["a_name_that_is", "city"]);
}

/// The crowd-sourced mentions of Ultra-Fine, where they are at hand.
#[test]
fn the_crowd_data_are_read() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    if !data.join("ufet").exists() || !data.join("glove").exists() {
        cotangent::engine::skipped(format_args!("there is no {}", data.display()));
        return;
    }
    let dir = Dir::new();
    let part = |name: &str| file(&format!("ufet/{name}.tsv.gz"));
    let (train, dev, types, words) = (part("train"), part("dev"), file("ufet/types.txt"), file("glove"));
    let arguments = ["train", "--train", &train, "--dev", &dev, "--types", &types, "--words", &words];
    // The data are read before the checkpoint, whose directory is a file.
    let error = TYPING.run(&[&arguments[..], &["--out", &dir.write("file", "")]].concat());
    let printed = String::from_utf8(error.stdout).unwrap();
    assert!(printed.contains("mentions: 1969 to train, 1998 dev, 0 test; 10331 types;"), "{printed}");
    assert!(printed.contains("left out: 29 mentions without types"), "{printed}");
}
