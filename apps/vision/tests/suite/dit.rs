//! The application `dit` from the outside: results, files, and errors for bad input.

use std::path::Path;

use cotangent::engine::files::npy;
use cotangent::prelude::Tensor;
use cotangent_apps_vision::dit::{APP, DitMetrics};
use serde_json::Value;

use crate::common::{App, Dir, bytes};
use crate::shared::scenarios::Training;

const DIT: App = App(env!("CARGO_BIN_EXE_dit"));
const VIT: App = App(env!("CARGO_BIN_EXE_vit"));

/// Values of a picture of 4 x 4 pixels: stripes that lie or stand, of 0 and about 8.
fn row(class: usize, number: usize) -> Vec<usize> {
    let light = |at: usize| [at / 4, at % 4][class] % 2 == 1;
    (0..16).map(|at| if light(at) { 8 - (at + number) % 3 } else { 0 }).collect()
}

/// A table of 80 pictures in two classes, the last 16 of which are the test.
fn table(d: &Dir) -> String {
    let line = |i: usize| {
        let values: Vec<String> = row(i % 2, i).iter().map(usize::to_string).collect();
        format!("{}\t{}\n", values.join("\t"), ["lying", "standing"][i % 2])
    };
    d.write("stripes.tsv", (0..80).map(line).collect::<String>())
}

/// A directory of 30 latents of 4 x 4 numbers in two channels, in three classes.
fn latents(d: &Dir) -> String {
    let path = d.path("latents");
    std::fs::create_dir(&path).unwrap();
    let wave = Tensor::<f32>::from_fn([30, 4, 4, 2], |i| (i as f32 * 0.7).sin());
    npy::write(&Path::new(&path).join("train_latents.npy"), &wave).unwrap();
    let labels: Vec<u8> = (0..30).map(|i| i % 3).collect();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (30,)}\n";
    let file = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &labels];
    std::fs::write(Path::new(&path).join("train_labels.npy"), file.concat()).unwrap();
    path
}

const SMALL: &str = "--patch 2 --layers 1 --width 16 --heads 2 --hidden 32 --batch 16 --lr 0.01 \
    --warm-up-epochs 0 --ema 0.5 --epochs 1";

const TRAINING: Training = Training {
    arguments: |d, _| {
        let arguments = SMALL.split_whitespace().map(str::to_owned);
        ["train".to_owned(), "--path".to_owned(), table(d)].into_iter().chain(arguments).collect()
    },
    long: &[["--epochs", "10"], ["--width", "64"], ["--hidden", "256"], ["--layers", "3"]],
    same: &["model.safetensors", "config.json"],
    pictures: &[("curves.svg", &["dot attention"], &["dot attention"])],
};

scenarios!("dit", APP, TRAINING, resumes);

/// The arguments of a small training with some options more, which replace those of the small model.
fn arguments<'a>(path: &'a str, out: &'a str, more: &'a str) -> Vec<&'a str> {
    let small: Vec<&str> = SMALL.split_whitespace().collect();
    let kept = small.chunks(2).filter(|option| !more.split_whitespace().any(|word| word == option[0]));
    let args = ["train", "--path", path, "--out", out];
    args.into_iter().chain(kept.flatten().copied()).chain(more.split_whitespace()).collect()
}

fn run(d: &Dir, path: &str, name: &str, more: &str) -> (String, DitMetrics, String) {
    let out = d.path(name);
    let printed = DIT.succeeds(&arguments(path, &out, more));
    let metrics = crate::common::metrics::<DitMetrics>(&out);
    (printed, metrics, out)
}

/// Samples with some options, and returns the numbers.
fn sample(d: &Dir, model: &str, more: &str) -> Tensor<f32> {
    let [png, numbers] = [d.path("sheet.png"), d.path("samples.npy")];
    let fixed = ["sample", "--model", model, "--out", &png, "--npy", &numbers];
    let steps = if more.contains("--steps") { "" } else { " --steps 4" };
    let more = format!("{more}{steps}");
    let more: Vec<&str> = more.split_whitespace().collect();
    DIT.succeeds(&[&fixed[..], &more].concat());
    npy::read(Path::new(&numbers)).unwrap()
}

#[test]
fn it_learns_to_predict_noise() {
    let d = Dir::new();
    let (printed, metrics, out) = run(&d, &table(&d), "out", "--epochs 5 --attention penumbral");
    let start =
        "stripes.tsv: 2 classes, grey pictures of 4 x 4 pixels; 58 for training, 6 for validation, 16 ";
    assert!(printed.starts_with(start), "{printed}");
    assert_eq!((metrics.pictures, metrics.held_out.join(" ")), ([58, 6, 16], "validation".to_owned()));
    // Without any prediction the error is 1.
    assert!(
        metrics.training.epochs[4].loss < 0.9 * metrics.training.epochs[0].loss && metrics.test < 0.95,
        "{printed}"
    );
    assert!(printed.contains(&format!("test {:.4}\n", metrics.test)));
    let config: Value = serde_json::from_slice(&bytes(&out, "config.json")).unwrap();
    assert_eq!((&config["classes"][1], &config["latents"]), (&"standing".into(), &false.into()));
}

/// The same seed gives the same pictures, which have the sheet's rows and columns. Guidance 1 is the class
/// itself, 0 knows no class.
#[test]
fn pictures_are_made_by_class_and_seed() {
    let d = Dir::new();
    let (_, _, out) = run(&d, &table(&d), "out", "--epochs 4 --class-dropout 0.5");
    // Whether classes are dropped is all that differs between these.
    let [never, often] =
        ["0", "0.9"].map(|rate| run(&d, &table(&d), rate, &format!("--class-dropout {rate}")).2);
    assert!(bytes(&never, "model.safetensors") != bytes(&often, "model.safetensors"));
    let plain = sample(&d, &out, "--count 3");
    assert_eq!(plain.shape().axes(), [6, 4, 4, 1]);
    assert!(plain.data().iter().all(|x| x.is_finite()));
    let sheet = image::open(d.path("sheet.png")).unwrap();
    assert_eq!((sheet.width(), sheet.height()), (3 * 66 + 2, 2 * 66 + 2));
    assert!(!sheet.color().has_color());
    let png = bytes(&d.path(""), "sheet.png");
    assert_eq!(sample(&d, &out, "--count 3 --threads 1"), plain);
    assert_eq!(bytes(&d.path(""), "sheet.png"), png);
    assert_eq!(sample(&d, &out, "--count 3 --guidance 1"), plain);
    for other in ["--seed 7", "--guidance 2", "--eta 1", "--steps 5"] {
        let made = sample(&d, &out, &format!("--count 3 {other}"));
        assert!(made != plain && made.shape() == plain.shape(), "{other}");
    }
    // The first pictures of two classes begin with the same noise; without a class they are the same.
    let [lying, standing] = ["lying", "standing"].map(|class| format!("--count 1 --class {class}"));
    assert!(sample(&d, &out, &lying) != sample(&d, &out, &standing));
    let [lying, standing] = [lying, standing].map(|more| sample(&d, &out, &format!("{more} --guidance 0")));
    assert_eq!(lying, standing);
}

/// Nichol & Dhariwal 2021. Only sampling with all new noise takes the variances.
#[test]
fn variances_are_learned() {
    let d = Dir::new();
    let (_, metrics, out) = run(&d, &table(&d), "out", "--epochs 5 --learn-variances");
    let epochs = &metrics.training.epochs;
    assert!(epochs[4].loss < 0.9 * epochs[0].loss && metrics.test < 0.95, "{metrics:?}");
    assert!(metrics.bound.is_some_and(|bits| bits > 0.0 && bits < 10.0), "{metrics:?}");
    assert!(sample(&d, &out, "--count 2 --eta 1").data().iter().all(|x| x.is_finite()));
}

#[test]
fn latents_are_diffused_too() {
    let d = Dir::new();
    let path = latents(&d);
    let (printed, metrics, out) = run(&d, &path, "out", "--attention umbral --patch 4");
    assert!(
        printed.starts_with("latents: 3 classes, latents of 4 x 4 numbers in 2 channels; 24 "),
        "{printed}"
    );
    assert_eq!((metrics.channels, metrics.config.latents), (2, true));
    assert_eq!(sample(&d, &out, "--count 2").shape().axes(), [6, 4, 4, 2]);
    assert!(!Path::new(&d.path("sheet.png")).exists());
    let message = DIT.fails(&["sample", "--model", &out]);
    assert_eq!(message, "--npy is needed: the model makes latents, which are no pictures");
    let message = DIT.fails(&arguments(&path, &out, "--image-size 8"));
    assert_eq!(message, "--image-size 8: latents keep their own side, 4");
    let nan = Tensor::<f32>::from_fn([30, 4, 4, 2], |i| if i == 70 { f32::NAN } else { 0.0 });
    npy::write(&Path::new(&path).join("train_latents.npy"), &nan).unwrap();
    let message = DIT.fails(&arguments(&path, &out, ""));
    assert!(
        message.ends_with("train_latents.npy: latent 2, counted from 0, has the number NaN"),
        "{message}"
    );
}

const CLASSIFIER: &str = "--patch 2 --layers 1 --width 8 --heads 2 --hidden 16 --batch 16 --epochs 2 --mix 0 \
    --crop-padding 0 --flip 0";

/// Trains a classifier on the table and returns its directory.
fn classifier(d: &Dir, name: &str, more: &str) -> String {
    let (path, out) = (table(d), d.path(name));
    let words: Vec<&str> = CLASSIFIER.split_whitespace().chain(more.split_whitespace()).collect();
    VIT.succeeds(&[&["train", "--path", &path, "--out", &out][..], &words].concat());
    out
}

#[test]
fn pictures_are_compared_with_real_ones() {
    let d = Dir::new();
    let (path, by) = (table(&d), classifier(&d, "vit", ""));
    let (_, _, out) = run(&d, &path, "out", "");
    let evaluate = |count: &str, steps: &str| {
        let args = ["evaluate", &path, "--model", &out, "--classifier", &by, "--count", count];
        DIT.succeeds(&[&args[..], &["--steps", steps, "--json"]].concat())
    };
    let printed = evaluate("40", "3");
    let result = printed.lines().find(|line| line.contains("\"frechet\"")).unwrap();
    let result: Value = serde_json::from_str(result).unwrap();
    let distance = |name: &str| result["frechet"][name].as_f64().unwrap();
    assert_eq!((result["features"].as_u64(), result["count"].as_u64()), (Some(8), Some(40)));
    // Real pictures of two parts have nearly the same distribution; those of a model that has learned nothing
    // another one.
    assert!(distance("halves") < 0.2 * distance("train"), "{printed}");
    assert!(distance("real") < 0.5 * distance("test") && distance("halves") > 0.0, "{printed}");
    let share = result["recognised"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&share));
    assert_eq!(evaluate("40", "3"), printed);
    // Few pictures are a warning, fewer than two an error.
    let output =
        DIT.run(&["evaluate", &path, "--model", &out, "--classifier", &by, "--count", "7", "--steps", "1"]);
    let warned = String::from_utf8(output.stderr).unwrap();
    assert_eq!(warned, "--count: 7 pictures are few for 8 features, so distances are not accurate\n");
    let fails = |by: &str, more: &[&str]| {
        DIT.fails(&[&["evaluate", &path, "--model", &out, "--classifier", by][..], more].concat())
    };
    assert_eq!(fails(&by, &["--count", "1"]), "--count: 1 pictures have no covariance");
    let large = classifier(&d, "large", "--image-size 6");
    assert_eq!(
        fails(&large, &[]),
        "--classifier: pictures of 6 x 6 pixels with 1 channels; the model's have 4 x 4 pixels with 1 \
         channels"
    );
    let message = fails(&d.path("nowhere"), &[]);
    assert!(message.contains("nowhere/config.json: No such file"), "{message}");
    let message = fails(&out, &[]);
    assert!(message.contains("out/config.json:"), "{message}");
}

/// Pictures made elsewhere: all files of two directories, whatever their folders.
#[test]
fn pictures_of_two_directories_are_compared() {
    let d = Dir::new();
    let by = classifier(&d, "vit", "");
    let folder = |name: &str, count: u32, shift: u32| {
        let path = d.path(name);
        for i in 0..count {
            let folder = Path::new(&path).join(["a", "b"][i as usize % 2]);
            std::fs::create_dir_all(&folder).unwrap();
            let shade = |x: u32, y: u32| [(i * 37 + x * 50 + y * 20 + shift * (i % 3)) as u8];
            let picture = image::GrayImage::from_fn(4, 4, |x, y| image::Luma(shade(x, y)));
            picture.save(folder.join(format!("{i}.png"))).unwrap();
        }
        path
    };
    let (here, same, other) = (folder("here", 20, 0), folder("same", 20, 0), folder("other", 31, 60));
    let distance = |a: &str, b: &str| -> Value {
        let printed = DIT.succeeds(&["distance", a, b, "--classifier", &by, "--json"]);
        serde_json::from_str(printed.lines().last().unwrap()).unwrap()
    };
    let found = distance(&here, &other);
    assert_eq!((&found["pictures"], &found["features"]), (&serde_json::json!([20, 31]), &8.into()));
    let [none, some] = [distance(&here, &same), found].map(|found| found["frechet"].as_f64().unwrap());
    assert!(none.abs() < 1e-6 * some && some > 0.0, "{none} {some}");
    let back = distance(&other, &here)["frechet"].as_f64().unwrap();
    assert!((back - some).abs() < 1e-6 * some, "{back} {some}");
    let fails = |a: &str| DIT.fails(&["distance", a, &here, "--classifier", &by]);
    let empty = d.path("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(fails(&empty).ends_with("empty: no PNG or JPEG files"));
    assert!(fails(&folder("one", 1, 0)).ends_with("one: 1 pictures have no covariance"));
    std::fs::write(Path::new(&other).join("a/bad.png"), "no picture").unwrap();
    assert!(fails(&other).contains("bad.png: "), "{}", fails(&other));
}

#[test]
fn bad_options_get_one_line() {
    let d = Dir::new();
    let (path, out) = (table(&d), d.path("out"));
    let fails = |more: &str| DIT.fails(&arguments(&path, &out, more));
    assert_eq!(fails("--epochs 0"), "--epochs 0: at least 1 is needed");
    assert_eq!(fails("--patch 3"), "--patch 3: a divisor of the pictures' side, 4, is needed");
    assert_eq!(fails("--class-dropout 1"), "--class-dropout 1: from 0 to below 1 is needed");
    assert_eq!(fails("--ema 1"), "--ema 1: from 0 to below 1 is needed");
    assert_eq!(fails("--held-out 0"), "--held-out 0: a positive number is needed");
    assert!(fails("--width 18446744073709551615").contains(" GB of memory"));
    assert_eq!(fails("--attention dot --radius 2"), "--radius: --attention dot has no radius");
    assert!(!Path::new(&out).join("config.json").exists(), "a refused run writes nothing");
    run(&d, &path, "out", "--class-dropout 0");
    let fails = |more: &str| {
        let more: Vec<&str> = more.split_whitespace().collect();
        DIT.fails(&[&["sample", "--model", &out][..], &more].concat())
    };
    assert_eq!(fails("--steps 0"), "--steps 0: from 1 to 1000 is needed");
    assert_eq!(fails("--steps 1001"), "--steps 1001: from 1 to 1000 is needed");
    assert_eq!(fails("--eta 1.5"), "--eta 1.5: from 0 to 1 is needed");
    assert_eq!(fails("--guidance -1"), "--guidance -1: 0 or more is needed");
    assert_eq!(fails("--guidance 2"), "--guidance 2: the model was trained with --class-dropout 0");
    assert_eq!(fails("--count 0"), "--count 0: at least 1 is needed");
    assert!(fails("--count 100000000000000").contains(" of memory; "));
    let unknown = "--class 7: the model was trained on 2 classes: lying, standing";
    assert_eq!(fails("--class lying --class 7"), unknown);
    assert!(
        fails("--out nowhere/sheet.png --count 1 --steps 1").starts_with("nowhere/sheet.png: No such file")
    );
}

#[test]
fn a_run_with_other_options_or_pictures_is_not_resumed() {
    let d = Dir::new();
    let path = table(&d);
    let (_, _, out) = run(&d, &path, "out", "");
    let before = bytes(&out, "model.safetensors");
    let fails = |more: &str| DIT.fails(&arguments(&path, &out, &format!("{more} --resume")));
    for (option, value) in
        [("--key-dim", "4"), ("--attention", "umbral"), ("--class-dropout", "0.2"), ("--learn-variances", "")]
    {
        let message = fails(&format!("{option} {value}"));
        let end = format!("checkpoint.bin: the checkpoint does not fit: a run with another {option}");
        assert!(message.ends_with(&end), "{message}");
    }
    d.write("stripes.tsv", std::fs::read_to_string(&path).unwrap().replacen('8', "7", 1));
    let end = "checkpoint.bin: the checkpoint does not fit: a run on other pictures";
    assert!(fails("").ends_with(end));
    assert!(bytes(&out, "model.safetensors") == before);
}

#[test]
fn bad_models_are_refused() {
    let d = Dir::new();
    let (_, _, out) = run(&d, &table(&d), "out", "");
    let broken = |name: &str, content: &[u8]| {
        let whole = bytes(&out, name);
        std::fs::write(Path::new(&out).join(name), content).unwrap();
        let message = DIT.fails(&["sample", "--model", &out, "--out", &d.path("sheet.png")]);
        std::fs::write(Path::new(&out).join(name), whole).unwrap();
        message
    };
    let weights = bytes(&out, "model.safetensors");
    assert!(broken("model.safetensors", &weights[..weights.len() / 2]).contains("model.safetensors"));
    let config = String::from_utf8(bytes(&out, "config.json")).unwrap();
    for (from, to, message) in [
        ("\"heads\": 2", "\"heads\": 0", "config.json: --heads 0: at least 1 is needed"),
        ("\"hidden\": 32", "\"hidden\": 1000000", "parameters; model.safetensors has"),
        ("\"channels\": 1", "\"channels\": 2", "config.json: 2 channels and 2 classes"),
        ("\"lying\",", "", "model.safetensors"),
    ] {
        assert!(config.contains(from), "{config}");
        let error = broken("config.json", config.replace(from, to).as_bytes());
        assert!(error.contains(message), "{error}");
    }
}
