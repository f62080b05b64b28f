//! How pictures are changed, mixed and cut into patches, and what a model makes of them.

use cotangent::prelude::*;
use cotangent_apps_common::config;

use super::batch::Batch;
use super::model::VitModel;
use super::{Augmentation, VitConfig};
use crate::attention::Scores;
use crate::pictures::{Ends, Pictures};

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
    Pictures { side: 4, channels: 3, pixels: (0..96).map(|i| 2 * i).collect(), labels: vec![0, 1] }
}

/// The pictures of a batch of two, `[2, patches, numbers]`.
fn batch(options: &str, seed: u64) -> (Vec<f32>, f64) {
    let rng = &mut rng::stream(seed, "dropout", 0);
    let batch = Batch::augmented(&pictures(), &[0, 1], &augmentation(options), rng);
    assert_eq!(batch.labels, [[0, 1], [1, 0]]);
    (batch.patches(&Tape::new(), 4).to_tensor().data().to_vec(), batch.share)
}

/// How far two lists are apart at most.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn patches_are_squares_of_the_picture() {
    let tape = Tape::new();
    let batch = Batch::plain(&pictures(), &[1, 0]);
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
    assert_eq!(
        apart(&plain, Batch::plain(&pictures(), &[0, 1]).patches(&Tape::new(), 4).to_tensor().data()),
        0.0
    );
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
        largest = largest.max(apart(&plain, &changed));
    }
    assert!(largest > 0.2 && largest < 1.6, "{largest}");
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
        assert!(apart(&mixed, &[blend(a, b), blend(b, a)].concat()) < 1e-5);
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
        let logits = |items: &[u32]| model.logits(&tape, &Batch::plain(&pictures(), items)).to_tensor();
        let together = logits(&[0, 1]);
        for item in [0, 1] {
            assert!(apart(together.row(item), logits(&[item as u32]).row(0)) < 1e-5, "{options}");
        }
        let mut batch = Batch::plain(&pictures(), &[0, 1]);
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
    let batch = |items: &[u32]| Batch::plain(&pictures(), items);
    for layer in 0..2 {
        let weights = model.weights(&tape, &batch(&[0]), layer);
        assert_eq!(weights.shape().axes(), [2, 5, 5]);
        assert!(weights.rows().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
    }
    let mut turned = pictures();
    turned.pixels[..48].reverse();
    let logits = |pictures: &Pictures| model.logits(&tape, &Batch::plain(pictures, &[0])).to_tensor();
    assert!(apart(logits(&pictures()).data(), logits(&turned).data()) > 1e-4);
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
