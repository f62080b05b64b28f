//! What every application that trains must stand. The macro `scenarios!` makes a test of each.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::common::{App, Dir, bytes};
use super::pictures::{long_name, text_fits};

/// How the scenarios train an application.
pub(crate) struct Training {
    /// Writes data and returns the arguments of a short training on them, without `--out` and `--seed`. If a
    /// name is given, the data have it wherever data have names that are drawn.
    pub(crate) arguments: fn(&Dir, Option<&str>) -> Vec<String>,
    /// Options of a training that is long enough to be killed, each with its value.
    pub(crate) long: &'static [[&'static str; 2]],
    /// The files that have the same bits for the same run.
    pub(crate) same: &'static [&'static str],
    /// The pictures, each with texts that are in it, and texts that are in it if the data have long names.
    pub(crate) pictures: &'static [Picture],
}

/// The file of a picture, texts that are in it, and texts that are in it if the data have long names.
pub(crate) type Picture = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Arguments with these options, in place of the values that some of the options have already.
fn with(arguments: &[String], options: &[[&str; 2]]) -> Vec<String> {
    let mut arguments = arguments.to_vec();
    for [option, value] in options {
        match arguments.iter().position(|argument| argument == option) {
            Some(place) => arguments[place + 1] = (*value).to_owned(),
            None => arguments.extend([*option, *value].map(str::to_owned)),
        }
    }
    arguments
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// `metrics.json` without what differs from run to run of the same training.
fn results(out: &str) -> Value {
    fn without_time(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| {
                    name != "threads" && !name.ends_with("second") && !name.ends_with("seconds")
                });
                fields.values_mut().for_each(without_time);
            }
            Value::Array(items) => items.iter_mut().for_each(without_time),
            _ => {}
        }
    }
    let mut metrics = super::common::metrics(out);
    without_time(&mut metrics);
    metrics
}

/// The files of a directory, with their content, except the lock.
fn files(directory: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap()).filter(|name| name != ".lock");
    let mut files: Vec<_> = names.map(|name| (name.clone(), bytes(directory, &name))).collect();
    files.sort();
    files
}

/// The files that have the same bits for the same run.
fn same_files(training: &Training, out: &str) -> Vec<Vec<u8>> {
    training.same.iter().map(|name| bytes(out, name)).collect()
}

/// The same bits for one thread and for two; others for another seed.
pub(crate) fn the_result_has_the_same_bits_for_any_number_of_threads(app: &App, training: &Training) {
    let d = Dir::new();
    let arguments = (training.arguments)(&d, None);
    let run = |name: &str, option: [&str; 2]| {
        let out = d.path(name);
        app.succeeds(&words(&with(&arguments, &[option, ["--out", &out]])));
        (same_files(training, &out), results(&out))
    };
    let one = run("one", ["--threads", "1"]);
    assert!(one == run("two", ["--threads", "2"]), "threads change the result");
    let other = run("other", ["--seed", "7"]).0;
    assert!(one.0 != other, "the seed changes nothing");
}

/// Whether it has one seed or several, which are not begun.
pub(crate) fn a_second_run_in_one_directory_is_refused(app: &App, training: &Training) {
    let d = Dir::new();
    let (arguments, out) = ((training.arguments)(&d, None), d.path("out"));
    for seeds in ["1", "2"] {
        app.is_refused_in_a_held_directory(&words(&with(&arguments, &[["--seeds", seeds]])), &out);
        assert!(files(&out).is_empty(), "{seeds} seeds");
    }
}

/// A directory below a file, and one without permission.
pub(crate) fn directories_that_cannot_be_written_are_refused(app: &App, training: &Training) {
    let d = Dir::new();
    let arguments = (training.arguments)(&d, None);
    let refused = |out: &str| app.fails(&words(&with(&arguments, &[["--out", out]])));
    let file = d.write("file", "");
    assert!(refused(&format!("{file}/out")).contains("file/out: Not a directory"));
    let locked = d.path("locked");
    fs::create_dir(&locked).unwrap();
    let mut permissions = fs::metadata(&locked).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&locked, permissions).unwrap();
    if fs::write(Path::new(&locked).join("probe"), "").is_ok() {
        cotangent::engine::skipped(format_args!("this user may write to every directory"));
        return;
    }
    let error = refused(&format!("{locked}/out"));
    assert!(error.contains("locked/out: Permission denied"), "{error}");
}

/// If the reader closes the outputs, the run continues without printing.
pub(crate) fn closed_outputs_end_nothing(app: &App, training: &Training) {
    let d = Dir::new();
    let out = d.path("out");
    let arguments = with(&(training.arguments)(&d, None), &[["--out", &out]]);
    app.succeeds_with_closed_outputs(&words(&arguments));
    assert!(Path::new(&out).join("metrics.json").exists());
    app.succeeds_with_closed_outputs(&["--help"]);
}

/// The error says what may help.
pub(crate) fn a_loss_that_is_no_number_stops_training(app: &App, training: &Training) {
    let d = Dir::new();
    let wrong = [["--lr", "1e300"], ["--out", &d.path("out")]];
    let line = app.diverges(&words(&with(&(training.arguments)(&d, None), &wrong)));
    assert!(line.contains("a lower --lr may help"), "{line}");
}

/// All text is within its picture, whatever names the data have.
pub(crate) fn text_is_within_its_picture(app: &App, training: &Training) {
    let (d, name) = (Dir::new(), long_name());
    for (i, name) in [None, Some(name.as_str())].into_iter().enumerate() {
        let out = d.path(&format!("out{i}"));
        let arguments = with(&(training.arguments)(&d, name), &[["--out", &out]]);
        app.succeeds(&words(&arguments));
        for (file, texts, long_texts) in training.pictures {
            text_fits(&format!("{out}/{file}"), if i == 0 { texts } else { long_texts });
        }
    }
}

/// With a checkpoint at every step, and on another number of threads.
pub(crate) fn killed_at_any_moment_it_resumes(app: &App, training: &Training) {
    let d = Dir::new();
    let (whole, killed) = (d.path("whole"), d.path("killed"));
    let arguments = with(&(training.arguments)(&d, None), training.long);
    let often = with(&arguments, &[["--checkpoint-every", "0"], ["--threads", "2"]]);
    app.survives_kills(&words(&often), &killed);
    app.succeeds(&words(&with(&arguments, &[["--threads", "1"], ["--out", &whole]])));
    assert!(same_files(training, &whole) == same_files(training, &killed));
    assert_eq!(results(&whole), results(&killed));
}

/// None, that of a run with another seed, and a damaged one. A refused run changes no file.
pub(crate) fn a_bad_checkpoint_is_refused_and_nothing_is_lost(app: &App, training: &Training) {
    let d = Dir::new();
    let out = d.path("out");
    let arguments = with(&(training.arguments)(&d, None), &[["--out", &out]]);
    let resumed = |option: &[[&str; 2]]| {
        let before = files(&out);
        let arguments = with(&arguments, option);
        let error = app.fails(&[&words(&arguments)[..], &["--resume"]].concat());
        assert!(files(&out) == before, "a refused run has changed a file: {error}");
        error
    };
    fs::create_dir(&out).unwrap();
    assert!(resumed(&[]).contains("checkpoint.bin: No such file"));
    app.succeeds(&words(&arguments));
    let elsewhere = (training.arguments)(&d, None);
    app.is_refused_in_a_held_directory(&[&words(&elsewhere)[..], &["--resume"]].concat(), &out);
    let other = resumed(&[["--seed", "7"]]);
    assert!(
        other.ends_with("checkpoint.bin: the checkpoint does not fit: a run with another --seed"),
        "{other}"
    );
    let mut damaged = bytes(&out, "checkpoint.bin");
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(Path::new(&out).join("checkpoint.bin"), damaged).unwrap();
    assert!(resumed(&[]).contains("damaged checkpoint"));
}

/// With a checkpoint at every step. The one whose loss is no number is not kept, and a resumed run stops at
/// the same step.
pub(crate) fn a_loss_that_is_no_number_keeps_the_last_checkpoint(app: &App, training: &Training) {
    let d = Dir::new();
    let out = d.path("out");
    let wrong = [["--lr", "1e300"], ["--checkpoint-every", "0"], ["--out", &out]];
    let arguments = with(&(training.arguments)(&d, None), &wrong);
    let line = app.diverges(&words(&arguments));
    assert!(line.contains("a lower --lr may help; "), "{line}");
    let kept = line.rsplit_once("checkpoint.bin is the checkpoint after ").map(|(_, kept)| kept);
    assert!(kept.is_some_and(|kept| ["step 0", "epoch 0"].contains(&kept)), "{line}");
    assert!(!Path::new(&out).join("checkpoint.next").exists());
    assert_eq!(app.diverges(&[&words(&arguments)[..], &["--resume"]].concat()), line);
}
