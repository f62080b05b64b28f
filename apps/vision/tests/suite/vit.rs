//! The application `vit` from the outside: results, files, and errors for bad input.

use std::path::Path;

use cotangent_apps_vision::vit::{APP, VitMetrics};
use image::RgbImage;

use crate::common::{App, Dir, bytes};
use crate::shared::pictures::text_fits;
use crate::shared::scenarios::Training;

const VIT: App = App(env!("CARGO_BIN_EXE_vit"));

/// Side of the pictures.
const SIDE: u32 = 8;

const CLASSES: [&str; 3] = ["lying", "plain", "standing"];

/// A picture of lying stripes, of none, or of standing stripes, in colours that its number decides.
fn picture(class: usize, number: u32) -> RgbImage {
    RgbImage::from_fn(SIDE, SIDE, |x, y| {
        let place = [y, 0, x][class] + number;
        let light = if class == 1 || (place / 2).is_multiple_of(2) { 220 } else { 30 };
        let shade = |colour: u32| (light - (number * 7 + colour * 11) % 30) as u8;
        [shade(0), shade(1), shade(2)].into()
    })
}

/// A directory of pictures: 48 for training, 12 each for validation and testing. One class may have a name.
fn pictures(d: &Dir, name: Option<&str>) -> String {
    let directory = d.path("stripes");
    for (part, numbers) in [("train", 0..16), ("val", 16..20), ("test", 20..24)] {
        for (class, own) in CLASSES.into_iter().enumerate() {
            let folder = Path::new(&directory).join(part).join(name.filter(|_| class == 1).unwrap_or(own));
            std::fs::create_dir_all(&folder).unwrap();
            for number in numbers.clone() {
                picture(class, number).save(folder.join(format!("{number}.png"))).unwrap();
            }
        }
    }
    directory
}

const SMALL: &str = "--image-size 8 --patch 4 --layers 2 --width 16 --heads 2 --hidden 32 --batch 16 \
    --lr 0.01 --warm-up-epochs 0 --ema 0.5 --decay 0 --crop-padding 1 --mix 0.3 --epochs 1";

const TRAINING: Training = Training {
    arguments: |d, name| {
        let path = pictures(d, name);
        let arguments = SMALL.split_whitespace().map(str::to_owned);
        ["train".to_owned(), "--path".to_owned(), path].into_iter().chain(arguments).collect()
    },
    long: &[["--epochs", "6"], ["--width", "64"], ["--hidden", "256"], ["--attention", "distance"]],
    same: &["model.safetensors", "config.json"],
    pictures: &[("curves.svg", &["dot attention"], &["dot attention"])],
};

scenarios!("vit", APP, TRAINING, resumes);

/// The arguments of a small training with some options more.
fn arguments<'a>(path: &'a str, out: &'a str, more: &'a str) -> Vec<&'a str> {
    // An option that is given replaces that of the small model.
    let small: Vec<&str> = SMALL.split_whitespace().collect();
    let kept = small.chunks(2).filter(|option| !more.split_whitespace().any(|word| word == option[0]));
    let args = ["train", "--path", path, "--out", out];
    args.into_iter().chain(kept.flatten().copied()).chain(more.split_whitespace()).collect()
}

fn run(d: &Dir, path: &str, name: &str, more: &str) -> (String, VitMetrics, String) {
    let out = d.path(name);
    let printed = VIT.succeeds(&arguments(path, &out, more));
    let metrics = crate::common::metrics::<VitMetrics>(&out);
    (printed, metrics, out)
}

const LEARNS: &str =
    "--epochs 6 --jitter 0 --mix 0 --crop-padding 0 --stochastic-depth 0 --label-smoothing 0";

#[test]
fn it_learns_the_direction_of_stripes() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let (printed, metrics, out) = run(&d, &path, "out", &format!("{LEARNS} --attention penumbral"));
    assert_eq!((metrics.pictures, metrics.channels, &metrics.held_out[..]), ([48, 12, 12], 3, &[][..]));
    assert!(metrics.training.epochs[5].loss < 0.7 * metrics.training.epochs[0].loss, "{printed}");
    assert!(metrics.validation > 0.6 && metrics.test.top1 > 0.6, "{printed}");
    assert_eq!((metrics.test.top5, metrics.test.classes.len()), (1.0, 3));
    let mean = metrics.test.classes.iter().map(|it| it.top1).sum::<f64>() / 3.0;
    assert!((mean - metrics.test.top1).abs() < 1e-12);
    assert!(printed.starts_with("stripes: 3 classes, coloured pictures of 8 x 8 pixels; 48 for training"));
    // The saved model gives the same.
    let tested = printed.lines().find_map(|line| line.strip_prefix("test: ")).unwrap();
    let evaluated = VIT.succeeds(&["evaluate", &path, "--model", &out]);
    assert!(evaluated.lines().nth(1).is_some_and(|line| line.starts_with(tested)), "{evaluated}");
    assert_eq!(evaluated.lines().next(), printed.lines().next());
    let classes: Vec<&str> =
        evaluated.lines().skip(3).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(classes, CLASSES);
    // Grey pictures, a photograph of another size: all are brought to the model's size.
    let files: Vec<String> = CLASSES.iter().map(|class| format!("{path}/test/{class}/21.png")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let predicted = VIT.succeeds(&[&["predict", "--model", &out, "--top", "2"], &files[..]].concat());
    assert_eq!(predicted.lines().count(), 3);
    for line in predicted.lines() {
        let percent: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        assert!(line.matches(" %").count() == 2 && percent > 33.0, "{predicted}");
    }
    let wide = d.path("wide.jpeg");
    image::imageops::resize(&picture(2, 22), 40, 20, image::imageops::FilterType::Nearest)
        .save(&wide)
        .unwrap();
    assert!(VIT.succeeds(&["predict", &wide, "--model", &out]).starts_with(&format!("{wide}: ")));
    VIT.succeeds_with_closed_outputs(&["predict", &wide, "--model", &out]);
}

#[test]
fn heads_are_drawn_over_the_picture() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let (_, _, out) = run(&d, &path, "out", "--patch 2");
    let svg = d.path("attention.svg");
    let file = format!("{path}/test/lying/20.png");
    for layer in ["1", "2"] {
        let printed = VIT.succeeds(&["attend", &file, "--model", &out, "--layer", layer, "--out", &svg]);
        assert!(CLASSES.iter().any(|class| printed.starts_with(class)), "{printed}");
        text_fits(&svg, &[&format!("layer {layer}: "), "head 1: ", "head 2: ", "on itself", "the picture"]);
        let drawn = std::fs::read_to_string(&svg).unwrap();
        // A square for each of 16 patches and each head; the densest of a head has the same density.
        assert_eq!(drawn.matches("fill-opacity").count(), 2 * 16);
        assert!(drawn.matches("fill-opacity=\"0.800\"").count() >= 2);
        assert_eq!(drawn.matches("data:image/png;base64,").count(), 1);
    }
    let fails = |layer: &str| VIT.fails(&["attend", &file, "--model", &out, "--layer", layer]);
    assert_eq!(fails("3"), "--layer 3: from 1 to 2 is needed");
    assert_eq!(fails("0"), "--layer 0: from 1 to 2 is needed");
}

#[test]
fn every_kind_of_model_trains() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let runs = [
        "--attention umbral --dropout 0.1 --attention-dropout 0.1",
        "--attention penumbral-released --key-dim 4 --ema 0",
        "--attention umbral-released --radius 1 --mixup 0",
        "--attention half-space --norm post --cutmix 0 --mix 1",
        "--attention laplacian --image-size 6 --patch 3 --learn-sharpness",
        "--attention distance --aggregate barycentre --weights sigmoid --batch 48",
    ];
    for (i, more) in runs.into_iter().enumerate() {
        let (printed, metrics, out) = run(&d, &path, &format!("run{i}"), more);
        assert!(metrics.test.loss.is_finite(), "{more}: {printed}");
        let evaluated = VIT.succeeds(&["evaluate", &path, "--model", &out]);
        assert!(evaluated.contains(&format!("loss {:.4} ", metrics.test.loss)), "{more}: {evaluated}");
    }
}

/// Pictures that stay in their files give the same model; one that turns out to be damaged is named, and
/// nothing of the run is lost.
#[test]
fn pictures_are_read_while_training() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let more = "--epochs 2 --erase 0.3 --rand-augment 9 --repeats 3 --jitter 0";
    let [(_, memory, _), (_, lazy, out)] = [("memory", ""), ("lazy", "--lazy")]
        .map(|(name, lazy)| run(&d, &path, name, &format!("{more} {lazy}")));
    assert_eq!((&memory.test, memory.validation), (&lazy.test, lazy.validation));
    // DeiT's training: parts of the whole pictures.
    let (printed, crops, _) = run(&d, &path, "crops", &format!("{more} --lazy --crop-scale 0.08"));
    assert!(crops.test.loss.is_finite() && crops.test != lazy.test, "{printed}");
    let damaged = format!("{path}/train/plain/3.png");
    let whole = std::fs::read(&damaged).unwrap();
    std::fs::write(&damaged, &whole[..whole.len() - 20]).unwrap();
    let message = VIT.fails(&arguments(&path, &d.path("damaged"), &format!("{more} --lazy")));
    assert!(message.starts_with(&format!("{damaged}: a damaged picture")), "{message}");
    let message = VIT.fails(&arguments(&path, &out, &format!("{more} --lazy --resume")));
    assert!(message.contains("pictures"), "{message}");
    std::fs::write(&damaged, whole).unwrap();
    VIT.succeeds(&["evaluate", &path, "--model", &out]);
}

fn idx(shape: &[u32], elements: &[u8]) -> Vec<u8> {
    let extents: Vec<u8> = shape.iter().flat_map(|extent| extent.to_be_bytes()).collect();
    [&[0, 0, 8, shape.len() as u8][..], &extents, elements].concat()
}

/// A part of the training pictures is held out; the model is tested on it again.
#[test]
fn arrays_without_a_test_hold_pictures_out() {
    let d = Dir::new();
    let all = || (0..16).flat_map(|number| (0..3).map(move |class| (class, picture(class, number))));
    let pixels: Vec<u8> = all().flat_map(|(_, picture)| picture.into_raw()).collect();
    let labels: Vec<u8> = all().map(|(class, _)| class as u8).collect();
    let path = d.path("arrays");
    std::fs::create_dir(&path).unwrap();
    let file = |name: &str, content: Vec<u8>| std::fs::write(Path::new(&path).join(name), content).unwrap();
    file("train-images-idx4-ubyte", idx(&[48, SIDE, SIDE, 3], &pixels));
    file("train-labels-idx1-ubyte", idx(&[48], &labels));
    file("classes.txt", CLASSES.join("\n").into());
    let (printed, metrics, out) = run(&d, &path, "out", "--held-out 0.25");
    assert_eq!((metrics.pictures, metrics.held_out.join(" ")), ([24, 12, 12], "validation test".to_owned()));
    assert!(printed.contains("\nheld out of the training pictures: validation and test\n"), "{printed}");
    let evaluated = VIT.succeeds(&["evaluate", &path, "--model", &out]);
    assert!(evaluated.contains(&format!("loss {:.4} ", metrics.test.loss)), "{evaluated}");
    // In folders of the same classes the pictures are others, but of the same kind.
    let folders = pictures(&d, None);
    assert!(VIT.succeeds(&["evaluate", &folders, "--model", &out]).contains("(12 pictures)"));
    for part in ["train", "val", "test"] {
        let [from, to] = ["plain", "slanted"].map(|class| format!("{folders}/{part}/{class}"));
        std::fs::rename(from, to).unwrap();
    }
    let message = VIT.fails(&["evaluate", &folders, "--model", &out]);
    assert_eq!(message, format!("{folders}: the model does not know the class \"slanted\""));
    // The message of a cut file names it, in one line.
    file("train-images-idx4-ubyte", idx(&[48, SIDE, SIDE, 3], &pixels[1..]));
    let message = VIT.fails(&arguments(&path, &out, ""));
    let end = "arrays/train-images-idx4-ubyte: cut off at byte 9235; the shape [48, 8, 8, 3] needs 9236";
    assert!(message.ends_with(end), "{message}");
}

/// A directory may have a test alone, also of some classes. What is held out of other pictures is said.
#[test]
fn a_test_alone_is_evaluated() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let (_, metrics, out) = run(&d, &path, "out", "");
    let alone = d.path("alone");
    std::fs::create_dir(&alone).unwrap();
    std::fs::rename(format!("{path}/test"), format!("{alone}/test")).unwrap();
    let evaluate = |path: &str| VIT.succeeds(&["evaluate", path, "--model", &out]);
    let evaluated = evaluate(&alone);
    let sizes = "coloured pictures of 8 x 8 pixels; 0 for training, 0 for validation, 12 for testing\n";
    assert!(evaluated.starts_with(&format!("alone: 3 classes, {sizes}")), "{evaluated}");
    assert!(evaluated.contains(&format!("loss {:.4} ", metrics.test.loss)), "{evaluated}");
    std::fs::remove_dir_all(format!("{alone}/test/lying")).unwrap();
    assert!(evaluate(&alone).contains("(8 pictures)"));
    let held_out = evaluate(&format!("{path}/train"));
    assert!(held_out.contains("\nheld out of the training pictures: validation and test\n"), "{held_out}");
}

/// What is white in the table of the training is white in others too, whatever their largest value is.
#[test]
fn tables_keep_the_scale_of_the_training() {
    let d = Dir::new();
    let row = |i: usize| {
        let values: String = (0..64).map(|k| format!("{}\t", i * k % 17)).collect();
        format!("{values}{}\n", CLASSES[i % 3])
    };
    let rows: String = (0..60).map(row).collect();
    let (_, metrics, out) = run(&d, &d.write("rows.tsv", &rows), "out", "");
    // The first row is none of the test.
    let brighter = d.write("brighter.tsv", rows.replacen('0', "1000", 1));
    let evaluated = VIT.succeeds(&["evaluate", &brighter, "--model", &out]);
    assert!(evaluated.contains(&format!("loss {:.4} ", metrics.test.loss)), "{evaluated}");
}

#[test]
fn bad_options_get_one_line() {
    let d = Dir::new();
    let (path, out) = (pictures(&d, None), d.path("out"));
    let fails = |more: &str| VIT.fails(&arguments(&path, &out, more));
    assert_eq!(fails("--epochs 0"), "--epochs 0: at least 1 is needed");
    assert_eq!(fails("--patch 3"), "--patch 3: a divisor of the pictures' side, 8, is needed");
    assert_eq!(fails("--patch 0"), "--patch 0: at least 1 is needed");
    assert_eq!(fails("--stochastic-depth 1"), "--stochastic-depth 1: from 0 to below 1 is needed");
    assert_eq!(fails("--ema 1"), "--ema 1: from 0 to below 1 is needed");
    assert_eq!(fails("--mix 1.5"), "--mix 1.5: from 0 to 1 is needed");
    assert_eq!(fails("--flip -1"), "--flip -1: from 0 to 1 is needed");
    assert_eq!(fails("--cutmix NaN"), "--cutmix NaN: 0 or more is needed");
    assert_eq!(fails("--held-out 0"), "--held-out 0: a positive number is needed");
    assert_eq!(fails("--label-smoothing 1"), "--label-smoothing 1: from 0 to below 1 is needed");
    assert!(fails("--width 18446744073709551615").contains(" GB of memory"));
    assert!(fails("--patch 1 --image-size 10000000").contains(" GB of memory"));
    assert_eq!(fails("--attention dot --radius 2"), "--radius: --attention dot has no radius");
    let message = VIT.fails(&arguments(&d.path("none"), &out, ""));
    assert!(message.ends_with("none: No such file or directory (os error 2)"), "{message}");
    let empty = d.path("stripes/test/lying");
    std::fs::remove_dir_all(&empty).unwrap();
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(fails(""), format!("{empty}: a class without PNG or JPEG files"));
    assert!(!Path::new(&out).join("config.json").exists(), "a refused run writes nothing");
}

#[test]
fn a_run_with_other_options_or_pictures_is_not_resumed() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let (_, _, out) = run(&d, &path, "out", "");
    let before = bytes(&out, "model.safetensors");
    let fails = |more: &str| VIT.fails(&arguments(&path, &out, &format!("{more} --resume")));
    for (option, value) in
        [("--key-dim", "4"), ("--attention", "umbral"), ("--ema", "0.9"), ("--flip", "0.1")]
    {
        let message = fails(&format!("{option} {value}"));
        let end = format!("checkpoint.bin: the checkpoint does not fit: a run with another {option}");
        assert!(message.ends_with(&end), "{message}");
    }
    picture(0, 3).save(format!("{path}/train/plain/1.png")).unwrap();
    let message = fails("");
    let end = "checkpoint.bin: the checkpoint does not fit: a run on other pictures";
    assert!(message.ends_with(end), "{message}");
    assert!(bytes(&out, "model.safetensors") == before);
}

#[test]
fn bad_models_and_pictures_are_refused() {
    let d = Dir::new();
    let path = pictures(&d, None);
    let (_, _, out) = run(&d, &path, "out", "");
    let picture = format!("{path}/test/plain/20.png");
    let broken = |name: &str, content: &[u8]| {
        let whole = bytes(&out, name);
        std::fs::write(Path::new(&out).join(name), content).unwrap();
        let message = VIT.fails(&["predict", &picture, "--model", &out]);
        std::fs::write(Path::new(&out).join(name), whole).unwrap();
        message
    };
    let weights = bytes(&out, "model.safetensors");
    assert!(broken("model.safetensors", &weights[..weights.len() / 2]).contains("model.safetensors"));
    let config = String::from_utf8(bytes(&out, "config.json")).unwrap();
    for (from, to, message) in [
        ("\"heads\": 2", "\"heads\": 0", "config.json: --heads 0: at least 1 is needed"),
        ("\"hidden\": 32", "\"hidden\": 1000000", "parameters; model.safetensors has"),
        (
            "\"patch\": 4",
            "\"patch\": 5",
            "config.json: --patch 5: a divisor of the pictures' side, 8, is needed",
        ),
        ("\"channels\": 3", "\"channels\": 2", "config.json: 2 channels and 3 classes"),
        ("\"plain\",", "", "model.safetensors"),
    ] {
        assert!(config.contains(from), "{config}");
        let error = broken("config.json", config.replace(from, to).as_bytes());
        assert!(error.contains(message), "{error}");
    }
    let file = d.write("text.png", "no picture");
    let fails = |file: &str| VIT.fails(&["predict", file, "--model", &out]);
    assert_eq!(fails(&file), format!("{file}: neither a PNG nor a JPEG file"));
    let cut = std::fs::read(&picture).unwrap();
    let file = d.write("cut.png", &cut[..cut.len() / 2]);
    assert!(fails(&file).starts_with(&format!("{file}: a damaged picture: ")));
    assert!(fails(&d.path("nowhere.png")).ends_with("nowhere.png: No such file or directory (os error 2)"));
    let message = VIT.fails(&["predict", &picture, "--model", &d.path("nowhere")]);
    assert!(message.contains("nowhere/config.json: No such file"), "{message}");
    assert_eq!(
        VIT.fails(&["predict", &picture, "--model", &out, "--top", "0"]),
        "--top 0: at least 1 is needed"
    );
}
