//! The application `reason` from the outside: results, files, and errors for bad input.

use std::path::Path;

use cotangent_apps_pictures::codec;
use cotangent_apps_reasoning::clevr::{Generator, Picture};
use cotangent_apps_reasoning::reason::{APP, ReasonMetrics};

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const REASON: App = App(env!("CARGO_BIN_EXE_reason"));

const SMALL: &str = "--scenes 24 --held-out 4 --questions-per-scene 3 --units 4 --channels 4,4,4,4 \
    --read-out 8 --batch 8 --relation-layers 2";

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

const TRAINING: Training = Training {
    // The data have no names.
    arguments: |_, _| words(&format!("{SMALL} --epochs 2")),
    long: &[["--epochs", "12"]],
    same: &["model.safetensors"],
    pictures: &[
        ("curves.svg", &["Sort-of-CLEVR, 4 units, matching hyperbolic"], &["Sort-of-CLEVR, 4 units"]),
        ("accuracy.svg", &["nearest", "count", "most common answer"], &["nearest"]),
        ("answers.svg", &["the object at this place is read more", "?"], &["darker:"]),
    ],
};

scenarios!("reason", APP, TRAINING, resumes);

fn run(d: &Dir, name: &str, more: &str) -> (String, ReasonMetrics, String) {
    let out = d.path(name);
    let arguments = words(&format!("{SMALL} --out {out} {more}"));
    let printed = REASON.succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    (printed, crate::common::metrics(&out), out)
}

/// Every matching and aggregation trains, without numbers that are not finite, and to the same bits for any
/// number of threads.
#[test]
fn every_matching_has_the_same_bits_for_any_number_of_threads() {
    let d = Dir::new();
    let matchings =
        ["none", "euclidean", "hyperbolic", "hyperbolic --aggregate euclidean --matching-input objects"];
    for (i, matching) in matchings.iter().enumerate() {
        let more = format!("--matching {matching} --epochs 1");
        let [(_, one, of_one), (_, _, of_two)] =
            [1, 2].map(|threads| run(&d, &format!("{i}-{threads}"), &format!("{more} --threads {threads}")));
        assert_eq!(bytes(&of_one, "model.safetensors"), bytes(&of_two, "model.safetensors"), "{matching}");
        assert_eq!((one.test.not_finite, one.sizes), (0, [[24, 72], [4, 12], [4, 12]]));
        assert!(one.training.epochs.iter().all(|epoch| epoch.loss.is_finite()), "{one:?}");
        assert!(one.relation_parameters < one.training.parameters);
    }
}

/// The table is by kind, the most common answer beside.
#[test]
fn it_prints_accuracy_by_kind() {
    let d = Dir::new();
    let (printed, metrics, _) = run(&d, "out", "--questions all --blind --epochs 1");
    let kinds: Vec<&str> = metrics.test.kinds.iter().map(|kind| &kind.kind[..]).collect();
    let all = ["shape", "left or right", "top or bottom", "nearest", "farthest", "count"];
    assert!(kinds.iter().all(|kind| all.contains(kind) && printed.contains(kind)), "{printed}");
    assert_eq!(metrics.test.questions(), 24);
    assert!(printed.contains("24 scenes with 144 questions for training"), "{printed}");
    assert!(printed.contains("%  most common answer of each kind"), "{printed}");
}

#[test]
fn bad_options_are_refused() {
    let d = Dir::new();
    let out = d.path("out");
    let cases = [
        ("--questions-per-scene 19", "--questions-per-scene 19: there are 18 of each kind"),
        ("--units 0", "--units 0: at least 1 is needed"),
        ("--read-out 8,0", "--read-out 0: at least 1 is needed"),
        ("--dropout 1", "--dropout 1: from 0 to below 1 is needed"),
        ("--key-dim 1", "--key-dim 1: --attention polar-distance needs 2 or more"),
        ("--attention cone", "invalid value 'cone'"),
        ("--path data", "--path: --data sort-of-clevr is generated and has none"),
        ("--matching none --attention distance", "--attention: --matching none has none"),
        ("--matching none --learn-sharpness", "--learn-sharpness: --matching none has none"),
        ("--matching none --key-dim 3", "--key-dim: --matching none has none"),
        ("--matching none --matching-input objects", "--matching-input: --matching none has none"),
        ("--word-dim 3", "--word-dim: questions of --data sort-of-clevr are not read as words"),
        ("--question-dim 3", "--question-dim: questions of --data sort-of-clevr are not read as words"),
        ("--data clevr --channels 4,4", "--channels: --data clevr has no pictures without --pixels"),
        ("--pixels", "--pixels: --data sort-of-clevr has pictures without it"),
        ("--image-size 64", "--image-size: pictures of --data sort-of-clevr have 75 pixels"),
        ("--data clevr --pixels --image-size 68719476736", "--image-size 68719476736"),
        ("--data clevr --image-size 64", "--image-size: --pixels is needed"),
        ("--data clevr --pixels --image-size 0", "--image-size 0"),
        ("--data clevr --questions-per-scene 5", "--questions-per-scene: --data clevr has its own number"),
        ("--channels 32,9000000,9000000", "--channels 9000000"),
        ("--data clevr --questions all", "--questions: --data clevr has no such kinds"),
    ];
    for (more, message) in cases {
        let arguments = words(&format!("--out {out} {more}"));
        let output = REASON.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more}: {error}");
        assert!(error.contains(message), "{more}: {error}");
        assert!(!Path::new(&out).exists(), "{more}");
    }
}

/// Scenes and questions in the directory of the published ones, with `edit` of the training questions.
fn published(d: &Dir, name: &str, edit: fn(String) -> String) -> String {
    let directory = d.path(name);
    for (split, first, scenes) in [("train", 0, 6), ("val", 1, 2)] {
        let file = |what: &str| {
            let folder = Path::new(&directory).join(what);
            std::fs::create_dir_all(&folder).unwrap();
            folder.join(format!("CLEVR_{split}_{what}.json"))
        };
        let questions = file("questions");
        Generator::new(5, split).generate(first, scenes).write(&file("scenes"), &questions).unwrap();
        if split == "train" {
            std::fs::write(&questions, edit(std::fs::read_to_string(&questions).unwrap())).unwrap();
        }
    }
    directory
}

/// The questions about these scenes alone.
fn about(text: &str, scenes: std::ops::Range<u64>) -> String {
    let mut file: serde_json::Value = serde_json::from_str(text).unwrap();
    let questions = file["questions"].as_array_mut().unwrap();
    questions.retain(|question| scenes.contains(&question["image_index"].as_u64().unwrap()));
    file.to_string()
}

const CLEVR: &str = "--data clevr --held-out 2 --units 4 --read-out 8 --batch 2 --epochs 1 --word-dim 4 \
    --question-dim 6";

/// CLEVR's files are read as they are published, and generated scenes need none.
#[test]
fn clevr_is_read_or_generated() {
    let d = Dir::new();
    let path = published(&d, "clevr", |questions| questions);
    for (name, more, data) in [
        ("read", format!("--path {path}"), "CLEVR: 4"),
        ("made", "--scenes 4".to_owned(), "generated CLEVR: 4"),
    ] {
        let out = d.path(name);
        let arguments = words(&format!("{CLEVR} {more} --out {out}"));
        let printed = REASON.succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let metrics: ReasonMetrics = crate::common::metrics(&out);
        assert!(printed.contains(&format!("{data} scenes with 4")), "{printed}");
        let [scenes, questions] = metrics.sizes[2];
        assert_eq!((scenes, metrics.test.not_finite), (2, 0));
        assert!(printed.contains(&format!(", {scenes} with {questions} for the test")), "{printed}");
        assert!(String::from_utf8(bytes(&out, "answers.svg")).unwrap().contains("?"));
    }
}

/// Pictures of the scenes are read in place of their objects, or drawn; one that is missing or damaged is
/// named.
#[test]
fn clevr_is_read_from_pictures() {
    let d = Dir::new();
    let path = published(&d, "clevr", |questions| questions);
    let mut files = Vec::new();
    for (split, first, scenes) in [("train", 0, 6), ("val", 1, 2)] {
        let folder = Path::new(&path).join("images").join(split);
        std::fs::create_dir_all(&folder).unwrap();
        for scene in Generator::new(5, split).generate(first, scenes).scenes {
            let file = folder.join(&scene.filename);
            let picture = Picture { scene, file: None, side: 24 };
            std::fs::write(&file, codec::png(&picture.raster().unwrap())).unwrap();
            files.push(file);
        }
    }
    let small = format!("{CLEVR} --pixels --image-size 16 --channels 4,4,4");
    let arguments = |name: &str, more: &str| words(&format!("{small} {more} --out {}", d.path(name)));
    let run = |name: &str, more: &str| {
        let arguments = arguments(name, more);
        REASON.succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let from_files = format!("--path {path}");
    for (name, more, data) in [
        ("read", &from_files[..], "CLEVR in pictures: 4 scenes"),
        ("made", "--scenes 4", "generated CLEVR in pictures: 4 scenes"),
    ] {
        let printed = run(name, more);
        let metrics: ReasonMetrics = crate::common::metrics(&d.path(name));
        assert!(printed.contains(data) && metrics.test.not_finite == 0, "{printed}");
        let drawn = String::from_utf8(bytes(&d.path(name), "answers.svg")).unwrap();
        assert!(drawn.contains("data:image/png;base64,"));
    }
    let fails = || {
        let arguments = arguments("fails", &from_files);
        REASON.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let whole = std::fs::read(&files[1]).unwrap();
    std::fs::write(&files[1], &whole[..whole.len() / 2]).unwrap();
    assert!(fails().starts_with(&format!("{}: a damaged picture", files[1].display())));
    std::fs::remove_file(&files[1]).unwrap();
    assert!(fails().starts_with(&format!("{}: No such file", files[1].display())));
}

/// The error names the file and the question, and nothing is written.
#[test]
fn bad_files_are_refused() {
    let d = Dir::new();
    let out = d.path("out");
    let unknown = published(&d, "unknown", |text| text.replacen("\"answer\"", "\"answers\"", 1));
    let broken = published(&d, "broken", |text| text[..text.len() / 2].to_owned());
    let cases = [
        (format!("--path {}", d.path("none")), "CLEVR_train_scenes.json"),
        (format!("--path {unknown}"), "CLEVR_train_questions.json"),
        (format!("--path {broken}"), "CLEVR_train_questions.json"),
        (format!("--held-out 6 --path {}", published(&d, "few", |text| text)), "has 6 scenes to train with"),
        (
            format!("--path {}", published(&d, "first", |text| about(&text, 0..4))),
            "CLEVR_train_questions.json: no question is about the 2 scenes of the validation, the last; \
             --held-out 2",
        ),
        (
            format!("--path {}", published(&d, "last", |text| about(&text, 4..6))),
            "CLEVR_train_questions.json: no question is about the 4 scenes to train with; --held-out 2",
        ),
    ];
    for (more, message) in cases {
        let base =
            if more.contains("held-out") { CLEVR.replace("--held-out 2", "") } else { CLEVR.to_owned() };
        let arguments = words(&format!("{base} {more} --out {out}"));
        let error = REASON.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(error.contains(message), "{more}: {error}");
        assert!(!Path::new(&out).join("metrics.json").exists());
    }
}
