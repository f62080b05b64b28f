//! How pictures are changed, mixed and cut into patches, and what a model makes of them.

use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::config;
use cotangent_apps_pictures::{Pictures, Region};

use super::augmentation::random_part;
use super::batch::Batch;
use super::model::VitModel;
use super::rand_augment::Operation;
use super::{Augmentation, VitConfig};
use crate::pictured::Ends;

const NONE: &str = "--flip 0 --crop-padding 0 --jitter 0 --mix 0";

fn config(options: &str) -> VitConfig {
    let arguments: Vec<&str> = options.split_whitespace().collect();
    config::parse::<VitConfig>(&arguments).complete(None)
}

fn augmentation(options: &str) -> Augmentation {
    // The last of two equal options would be refused, so those that are given replace the others.
    let none = NONE.split_whitespace().collect::<Vec<_>>();
    let kept = none.chunks(2).filter(|option| !options.contains(option[0])).map(|option| option.join(" "));
    config(&[kept.collect::<Vec<_>>().join(" "), options.to_owned()].join(" ")).augmentation
}

/// Two pictures of 4 x 4 pixels in three colours, all bytes different.
fn pictures() -> Pictures {
    Pictures::new([4, 3], (0..96).map(|i| 2 * i).collect(), vec![0, 1])
}

fn unchanged(items: &[u32]) -> Batch {
    Batch::plain(&pictures(), items).unwrap()
}

/// The pictures of a batch of two, `[2, patches, numbers]`.
fn batch(options: &str, seed: u64) -> (Vec<f32>, f64) {
    let rng = &mut rng::stream(seed, "dropout", 0);
    let batch = Batch::augmented(&pictures(), &[0, 1], &augmentation(options), rng).unwrap();
    assert_eq!(batch.labels, [[0, 1], [1, 0]]);
    (batch.patches(&Tape::new(), 4).to_tensor().data().to_vec(), batch.share)
}

/// The largest difference between two lists.
fn gap(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn patches_are_squares_of_the_picture() {
    let tape = Tape::new();
    let batch = unchanged(&[1, 0]);
    let patches = batch.patches(&tape, 2).to_tensor();
    assert_eq!(patches.shape().axes(), [2, 4, 12]);
    // The second picture begins at byte 48 of 96; a row has 12 bytes. The last patch of it.
    let bytes: Vec<u8> = [24 + 6, 36 + 6].iter().flat_map(|&start| start..start + 6).collect();
    let want: Vec<f32> = bytes.iter().map(|&i| 2.0 * f32::from(2 * (48 + i)) / 255.0 - 1.0).collect();
    assert_eq!(patches.row(3), want);
    assert!(patches.row(4).iter().zip(patches.row(0)).all(|(a, b)| b - a > 0.5));
}

#[test]
fn pictures_are_mirrored_and_moved() {
    let (plain, share) = batch("", 1);
    assert_eq!(share, 1.0);
    assert_eq!(gap(&plain, unchanged(&[0, 1]).patches(&Tape::new(), 4).to_tensor().data()), 0.0);
    let (mirrored, _) = batch("--flip 1", 1);
    for (row, mirrored) in plain.chunks(12).zip(mirrored.chunks(12)) {
        let pixels: Vec<f32> = row.chunks(3).rev().flatten().copied().collect();
        assert_eq!(mirrored, pixels);
    }
    // What comes in from the margin is black, and all else is the picture's.
    let mut seen = [false; 3];
    for seed in 0..80 {
        let (moved, _) = batch("--crop-padding 2", seed);
        for (a, b) in plain.chunks(48).zip(moved.chunks(48)) {
            let black = b.chunks(3).filter(|pixel| pixel == &[-1.0; 3]).count();
            assert!(black <= 12 + 1, "two rows and two columns at most: {black}");
            assert!(
                b.chunks(3).filter(|pixel| pixel != &[-1.0; 3]).all(|pixel| a.chunks(3).any(|p| p == pixel))
            );
            seen[0] |= a == b;
            seen[1] |= black >= 4;
            seen[2] |= black >= 12;
        }
    }
    assert_eq!(seen, [true; 3]);
    // Moved by more than the side, a picture stays where it is at least in part or is black.
    assert!(batch("--crop-padding 1000000000", 1).0.iter().all(|x| x.is_finite()));
}

#[test]
fn colours_change_within_their_range() {
    let (plain, _) = batch("", 1);
    let mut largest = 0.0_f32;
    for seed in 0..20 {
        let (changed, _) = batch("--jitter 0.4", seed);
        assert!(changed.iter().all(|x| (-1.0..=1.0).contains(x)));
        largest = largest.max(gap(&plain, &changed));
    }
    assert!(largest > 0.2 && largest < 1.6, "{largest}");
}

/// A crop of the whole is the picture; parts have areas and ratios within their bounds.
#[test]
fn parts_of_a_picture_have_random_areas() {
    let rng = &mut rng::stream(1, "dropout", 0);
    let (plain, _) = batch("", 1);
    assert!((0..20).any(|seed| gap(&plain, &batch("--crop-scale 0.3", seed).0) > 0.05));
    assert_eq!(batch("--crop-scale 1", 3).0, batch("--crop-scale 1", 4).0);
    let mut shares = Vec::new();
    for _ in 0..400 {
        let part = random_part([60, 90], 0.08, rng);
        assert!(part.top + part.height <= 60 && part.left + part.width <= 90);
        let (height, width) = (part.height as f64, part.width as f64);
        assert!((0.7..1.43).contains(&(width / height)), "{part:?}");
        shares.push(height * width / 5400.0);
    }
    assert!(shares.iter().all(|share| (0.07..=1.0).contains(share)));
    assert!(shares.iter().any(|&share| share < 0.15) && shares.iter().any(|&share| share > 0.8));
    // No part of all of a long picture has an allowed ratio: it is the middle.
    assert_eq!(random_part([30, 90], 1.0, rng), Region { top: 0, left: 25, height: 30, width: 40 });
    assert_eq!(random_part([90, 30], 1.0, rng), Region { top: 25, left: 0, height: 40, width: 30 });
}

#[test]
fn a_rectangle_is_erased() {
    let (plain, _) = batch("", 1);
    let mut counts = Vec::new();
    for seed in 0..60 {
        let (erased, _) = batch("--erase 1", seed);
        let [changed, beyond] = [0.0, 1.0].map(|least| {
            let pixels = erased.chunks(3).zip(plain.chunks(3));
            pixels.filter(|(a, b)| gap(a, b) > 0.0 && a.iter().any(|x| x.abs() > least)).count()
        });
        assert!(changed <= 12, "{changed} of 32 pixels; a third of each picture at most");
        counts.push((changed, beyond));
    }
    assert!(counts.iter().any(|&(changed, beyond)| changed > 4 && beyond > 0));
    assert!((0..9).all(|seed| batch("--erase 0", seed).0 == plain));
}

/// A picture in three colours of 6 x 4 pixels.
fn image() -> Vec<f32> {
    (0..72).map(|i| ((i * 29) % 67) as f32 / 66.0).collect()
}

/// Operations without strength change nothing, or what they are to change whatever it is.
#[test]
fn operations_have_their_strengths() {
    let extents = [6, 4, 3];
    let result = |operation: Operation, strength: f32, sign: f32| {
        let mut pixels = image();
        operation.apply(&mut pixels, extents, strength, sign);
        pixels
    };
    let always = [Operation::AutoContrast, Operation::Equalise, Operation::Invert, Operation::Posterise];
    for operation in Operation::ALL {
        let moved = |strength, sign| gap(&result(operation, strength, sign), &image());
        if !always.contains(&operation) {
            assert!(moved(0.0, 1.0) < 1e-6, "{operation:?}");
        }
        assert!(moved(0.9, 1.0).max(moved(0.9, -1.0)) > 0.05, "{operation:?}");
        for (strength, sign) in [(0.3, 1.0), (1.0, -1.0), (1.0, 1.0)] {
            let pixels = result(operation, strength, sign);
            assert!(pixels.iter().all(|x| (0.0..=1.0).contains(x)), "{operation:?}");
        }
    }
    let stretched = result(Operation::AutoContrast, 0.0, 1.0);
    for channel in 0..3 {
        let own = || stretched.iter().skip(channel).step_by(3).copied();
        assert_eq!((own().fold(1.0, f32::min), own().fold(0.0, f32::max)), (0.0, 1.0));
    }
    let even = result(Operation::Equalise, 0.0, 1.0);
    let below = even.iter().filter(|&&x| x < 0.5).count();
    assert!((30..42).contains(&below), "{below} of 72 numbers are below a half");
    // Four bits, then none.
    let posterised = result(Operation::Posterise, 0.0, 1.0);
    assert!(posterised.iter().all(|x| ((255.0 * x).round() as u8).is_multiple_of(16)));
    assert!(result(Operation::Posterise, 1.0, 1.0).iter().all(|&x| x == 0.0));
    assert!(gap(&result(Operation::Solarise, 1.0, 1.0), &result(Operation::Invert, 0.0, 1.0)) < 1e-6);
    // Less colour is grey; more contrast is farther from the mean.
    let faded = result(Operation::Colour, 1.0, -1.0);
    let range = |pixel: &[f32]| gap(&[pixel[0]; 2], &pixel[1..]);
    assert!(faded.chunks(3).zip(image().chunks(3)).all(|(new, old)| range(new) < 0.11 * range(old) + 1e-6));
    // Half of a picture of four columns is two columns; what comes in from outside is grey.
    let columns = result(Operation::MoveAlongRows, 0.5 / 0.45, 1.0);
    for row in 0..6 {
        let at = |column: usize| 3 * (4 * row + column)..3 * (4 * row + column + 1);
        assert!(gap(&columns[at(0)], &image()[at(2)]) < 1e-5);
        assert!(gap(&columns[at(3)], &[0.5; 3]) < 1e-5);
    }
    assert!((0..9).any(|seed| batch("--rand-augment 9", seed).0 != batch("--rand-augment 9", 99).0));
}

/// A mixture keeps what both pictures have together, and says how much of it is whose.
#[test]
fn pictures_are_mixed_in_pairs() {
    let (plain, _) = batch("", 1);
    let (a, b) = plain.split_at(48);
    for seed in 0..20 {
        let (mixed, share) = batch("--mix 1 --cutmix 0", seed);
        let blend = |a: &[f32], b: &[f32]| -> Vec<f32> {
            a.iter().zip(b).map(|(a, b)| share as f32 * a + (1.0 - share as f32) * b).collect()
        };
        assert!(gap(&mixed, &[blend(a, b), blend(b, a)].concat()) < 1e-5);
        assert!((0.0..=1.0).contains(&share));
        let (cut, share) = batch("--mix 1 --mixup 0", seed);
        let own = cut[..48].chunks(3).zip(a.chunks(3)).filter(|(cut, a)| cut == a).count();
        assert_eq!(own as f64 / 16.0, share);
        let exchanged = cut.chunks(3).zip(plain.chunks(3)).filter(|(cut, plain)| cut != plain).count();
        assert_eq!(exchanged, 2 * (16 - own));
    }
    let shares: Vec<f64> = (0..40).map(|seed| batch("--mix 0.5", seed).1).collect();
    let whole = shares.iter().filter(|&&share| share == 1.0).count();
    assert!((8..32).contains(&whole), "{whole} of 40 batches, half expected");
    assert!((0..9).all(|seed| batch("--mix 1 --mixup 0 --cutmix 0", seed).1 == 1.0));
}

fn model(options: &str) -> VitModel {
    let sizes = "--image-size 4 --patch 2 --layers 2 --width 16 --heads 2 --hidden 32";
    let config = config(&format!("{sizes} {options}"));
    let score = config.check(&Scores::default()).unwrap();
    let ends = Ends { channels: 3, classes: 7 };
    let model = VitModel::new(&config, &*score, ends, &mut rng::stream(1, "initial", 0));
    let least = config.least_parameters(ends.channels, ends.classes);
    assert!(model.count() as f64 >= least && (model.count() as f64) < 1.4 * least, "{least}");
    model
}

/// A picture has the same logits alone and beside others, and its mixture with another class the mean of both
/// losses.
#[test]
fn pictures_of_a_batch_do_not_see_one_another() {
    for options in ["", "--attention penumbral --key-dim 4", "--attention umbral-released --norm post"] {
        let (model, tape) = (model(options), Tape::new());
        let logits = |items: &[u32]| model.logits(&tape, &unchanged(items)).to_tensor();
        let together = logits(&[0, 1]);
        for item in [0, 1] {
            assert!(gap(together.row(item), logits(&[item as u32]).row(0)) < 1e-5, "{options}");
        }
        let mut batch = unchanged(&[0, 1]);
        let own = model.loss(&tape, &batch, 0.1).item();
        batch.share = 0.0;
        let others = model.loss(&tape, &batch, 0.1).item();
        batch.share = 0.25;
        let mixed = model.loss(&tape, &batch, 0.1).item();
        assert!(
            (mixed - 0.25 * own - 0.75 * others).abs() < 1e-5 && (own - others).abs() > 1e-4,
            "{options}"
        );
    }
}

/// Positions matter, and the weights of a head are shares.
#[test]
fn the_class_token_looks_at_all_patches() {
    let (model, tape) = (model(""), Tape::new());
    let batch = |items: &[u32]| unchanged(items);
    for layer in 0..2 {
        let weights = model.weights(&tape, &batch(&[0]), layer);
        assert_eq!(weights.shape().axes(), [2, 5, 5]);
        assert!(weights.rows().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
    }
    let mut pixels = pictures().pixels().to_vec();
    pixels[..48].reverse();
    let turned = Pictures::new([4, 3], pixels, vec![0, 1]);
    let logits = |all: &Pictures| model.logits(&tape, &Batch::plain(all, &[0]).unwrap()).to_tensor();
    assert!(gap(logits(&pictures()).data(), logits(&turned).data()) > 1e-4);
}

/// DeiT-Ti has 5.7 million parameters for 1000 classes.
#[test]
fn deit_tiny_has_its_size() {
    let config = config("--size deit-tiny --image-size 224");
    let score = config.check(&Scores::default()).unwrap();
    let model = VitModel::new(
        &config,
        &*score,
        Ends { channels: 3, classes: 1000 },
        &mut rng::stream(1, "initial", 0),
    );
    // Those of DeiT-Ti; each attention has a sharpness and an offset beside them.
    assert_eq!(model.count(), 5_717_416 + 12 * 2);
    assert_eq!((config.batch, config.epochs, config.heads, config.body().head()), (256, 300, 3, [64, 64]));
}
