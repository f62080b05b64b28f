//! The model at its start, noise and sampling against closed forms, and distances of distributions.

use cotangent::engine::rng::Rng;
use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::config;

use super::bound::{bound, surprise};
use super::diffusion::{Diffusion, Noised, TIMES, denoise, normal, spread};
use super::frechet::Gaussian;
use super::model::{DitBlock, DitModel, Prediction};
use super::{DitConfig, DitSize};
use crate::patches::{cut_patches, join_patches};
use crate::pictured::Ends;

fn config(options: &str) -> DitConfig {
    let arguments: Vec<&str> = options.split_whitespace().collect();
    config::parse::<DitConfig>(&arguments).complete(None)
}

fn stream(number: u64) -> Rng {
    rng::stream(7, "tests", number)
}

/// A model of pictures of 4 x 4 pixels in three colours.
fn model(options: &str) -> DitModel {
    let sizes = "--image-size 4 --patch 2 --layers 2 --width 16 --heads 2 --hidden 32";
    let config = config(&format!("{sizes} {options}"));
    let score = config.check(&Scores::default()).unwrap();
    let ends = Ends { channels: 3, classes: 3 };
    let model = DitModel::new(&config, &*score, ends, &mut stream(0));
    let (count, least) = (model.count() as f64, config.least_parameters(ends));
    assert!(count >= least && count < 1.6 * least, "{count}, at least {least}");
    model
}

/// Fills all parameters with random numbers: those that are 0 at first would hide what depends on them.
fn scatter(model: &mut impl Module<f32>) {
    let mut rng = stream(1);
    let mut state = model.state();
    for (_, tensor) in &mut state {
        let noise = normal(tensor.len(), &mut rng);
        tensor.data_mut().iter_mut().zip(noise).for_each(|(x, noise)| *x += 0.2 * noise);
    }
    model.load_state(state).unwrap();
}

/// Patches of some pictures.
fn pixels(count: usize) -> Tensor<f32> {
    Tensor::new([count, 4, 12], normal(count * 48, &mut stream(2)))
}

fn largest_gap(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Peebles & Xie 2023, section 3.2: with gates of 0 every block is the identity, and the model returns 0.
#[test]
fn blocks_begin_as_the_identity() {
    let tape = Tape::new();
    let config = config("--image-size 4 --patch 2 --layers 1 --width 12 --heads 2 --hidden 24");
    let score = config.check(&Scores::default()).unwrap();
    let mut block = DitBlock::new(&config, &*score, &mut stream(0));
    let result = |block: &DitBlock| {
        let tape = Tape::new();
        let condition = tape.constant(&Tensor::new([2, 12], vec![0.7; 24]));
        block.forward(tape.constant(&pixels(2)), condition).to_tensor()
    };
    assert_eq!(result(&block), pixels(2));
    let mut state = block.modulation.state();
    state.iter_mut().for_each(|(_, tensor)| tensor.data_mut().fill(0.1));
    block.modulation.load_state(state).unwrap();
    assert!(largest_gap(result(&block).data(), pixels(2).data()) > 0.1);
    let x = tape.constant(&pixels(2));
    let start = model("");
    assert!(start.predict(x, &[3, 900], &[0, 1]).noise.to_tensor().data().iter().all(|&x| x == 0.0));
}

/// Time, class, place and all patches of its own picture change the prediction, other pictures do not.
#[test]
fn the_noise_depends_on_time_class_and_place() {
    for options in ["", "--attention penumbral --key-dim 4", "--attention umbral-released"] {
        let mut model = model(options);
        scatter(&mut model);
        let tape = Tape::new();
        let x = tape.constant(&pixels(2));
        let noise = |x, times: &[u32], classes: &[u32]| model.predict(x, times, classes).noise.to_tensor();
        let plain = noise(x, &[10, 500], &[0, 1]);
        let differs = |other: &Tensor<f32>, picture: usize| {
            let range = picture * 48..(picture + 1) * 48;
            largest_gap(&plain.data()[range.clone()], &other.data()[range]) > 1e-3
        };
        for (times, classes) in [([11, 500], [0, 1]), ([10, 500], [2, 1]), ([10, 500], [model.no_class(), 1])]
        {
            let other = noise(x, &times, &classes);
            assert!(differs(&other, 0) && !differs(&other, 1), "{options}: {times:?} {classes:?}");
        }
        let mut moved = pixels(2);
        moved.data_mut()[..48].rotate_left(12);
        let turned = noise(tape.constant(&moved), &[10, 500], &[0, 1]);
        let mut back = turned.clone();
        back.data_mut()[..48].rotate_right(12);
        assert!(differs(&back, 0) && !differs(&turned, 1), "{options}: patches have places");
    }
}

/// Guidance 1 is the prediction for the class, 0 that without a class, and between and beyond it is linear.
#[test]
fn guidance_goes_from_no_class_through_the_class() {
    let mut model = model("");
    scatter(&mut model);
    let tape = Tape::new();
    let x = tape.constant(&pixels(2));
    let guided = |guidance: f64| model.guided(x, 200, &[2, 0], guidance).noise.to_tensor();
    let noise = |classes: [u32; 2]| model.predict(x, &[200; 2], &classes).noise.to_tensor();
    let (class, none) = (noise([2, 0]), noise([model.no_class(); 2]));
    assert_eq!((guided(1.0), guided(0.0)), (class.clone(), none.clone()));
    assert!(largest_gap(class.data(), none.data()) > 1e-2);
    for guidance in [0.5, 1.0 + 1e-9, 3.0] {
        let want = class.data().iter().zip(none.data()).map(|(c, n)| n + guidance as f32 * (c - n));
        assert!(largest_gap(guided(guidance).data(), &want.collect::<Vec<_>>()) < 1e-4, "{guidance}");
    }
}

/// Those of DiT-B/4 for latents of 32 x 32 x 4 and 1000 classes, without and with variances: Tseng et al.
/// 2023, section 4, have 130 million. Attentions have a sharpness and an offset.
#[test]
fn dit_b_has_its_size() {
    let config = config("--size dit-b --image-size 32");
    let score = config.check(&Scores::default()).unwrap();
    let model = DitModel::new(&config, &*score, Ends { channels: 4, classes: 1000 }, &mut stream(0));
    let (width, block) = (768, |w: usize| 18 * w * w + 15 * w + 2);
    let ends = 64 * width + width + 256 * width + width + width * width + width + 1001 * width;
    let last = 2 * width * width + 2 * width + 64 * width + 64;
    assert_eq!(model.count(), 12 * block(width) + ends + last);
    assert_eq!(model.count(), 130_377_304);
    let config = DitConfig { learn_variances: true, ..config };
    let model = DitModel::new(&config, &*score, Ends { channels: 4, classes: 1000 }, &mut stream(0));
    assert_eq!(model.count(), 130_377_304 + 64 * width + 64);
    assert_eq!((config.batch, config.ema, config.lr), (256, 0.9999, 0.0001));
    assert_eq!(DitSize::DitS.defaults().hidden, 4 * DitSize::DitS.defaults().width);
}

#[test]
fn patches_are_joined_as_they_were_cut() {
    let (extents, pixels) = ([6, 2, 3], normal(2 * 72, &mut stream(3)));
    let mut patches = vec![0.0; pixels.len()];
    cut_patches(&pixels, extents, &mut patches, |x| x);
    assert!(patches != pixels);
    assert_eq!(join_patches(&patches, extents), pixels);
    // The second row of the first picture's second patch: row 1, columns 3 to 5.
    assert_eq!(patches[18 + 6..18 + 12], pixels[12 + 6..12 + 12]);
}

/// Ho et al. 2020, eq. 2 and 4: xₜ has the mean √ᾱₜ x and the variance 1 − ᾱₜ. Step by step,
/// xₜ = √(1 − βₜ) xₜ₋₁ + √βₜ ε has the same.
#[test]
fn noised_data_have_the_mean_and_the_variance_of_the_chain() {
    let diffusion = Diffusion::new();
    let (mut mean, mut variance) = (1.0_f64, 0.0_f64);
    for t in 0..TIMES {
        let beta = 1e-4 + (0.02 - 1e-4) * t as f64 / 999.0;
        (mean, variance) = (mean * (1.0 - beta).sqrt(), variance * (1.0 - beta) + beta);
        let left = diffusion.left(t as u32);
        assert!((left.sqrt() - mean).abs() < 1e-12 && (1.0 - left - variance).abs() < 1e-12, "{t}");
    }
    let n = 40_000;
    let mut rng = stream(4);
    for time in [0, 300, 999] {
        let mut x = vec![0.8_f32; n];
        let noise = normal(n, &mut rng);
        diffusion.add_noise(&mut x, &noise, time);
        let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
        let variance = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n as f64;
        let (want, left) = (0.8 * diffusion.left(time).sqrt(), diffusion.left(time));
        let error = 5.0 * ((1.0 - left) / n as f64).sqrt();
        assert!((mean - want).abs() < error + 1e-6, "{time}: {mean}, {want}");
        assert!((variance / (1.0 - left) - 1.0).abs() < 0.05, "{time}: {variance}");
    }
}

/// The best prediction for normal data N(m, s²) is `√(1 − ᾱ) (x − √ᾱ m)/(ᾱ s² + 1 − ᾱ)`.
/// Sampling by it gives the data's mean and variance, with any share of new noise.
#[test]
fn sampling_by_the_best_prediction_gives_the_distribution_of_the_data() {
    let diffusion = Diffusion::new();
    let (m, s) = (0.6, 0.3);
    let predict = |x: &[f32], time: u32| -> (Vec<f32>, Option<Vec<f32>>) {
        let left = diffusion.left(time);
        let noise = |x: f64| (1.0 - left).sqrt() * (x - left.sqrt() * m) / (left * s * s + 1.0 - left);
        (x.iter().map(|&x| noise(f64::from(x)) as f32).collect(), None)
    };
    // Without new noise a picture is a linear function of its first noise z ~ N(0, 1): m + s z.
    let (mut x, mut streams) = (vec![-1.0, 0.0, 1.0], [stream(0), stream(1), stream(2)]);
    denoise(&diffusion, [1000, 1], 0.0, (&mut x, &mut streams), predict);
    let want = [m - s, m, m + s].map(|x| x as f32);
    assert!(largest_gap(&x, &want) < 0.01, "{x:?}, {want:?}");
    for (steps, eta) in [(1000, 1.0), (200, 0.5)] {
        let (n, size) = (8, 1000);
        let mut streams: Vec<Rng> = (0..n).map(stream).collect();
        let mut x: Vec<f32> = streams.iter_mut().flat_map(|rng| normal(size, rng)).collect();
        denoise(&diffusion, [steps, size], eta, (&mut x, &mut streams), predict);
        let count = x.len() as f64;
        let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
        let deviation = (x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean - m).abs() < 0.015 && (deviation - s).abs() < 0.015, "{eta}: {mean} ± {deviation}");
    }
}

/// With η = 1, from each time to the next, a step has the variance (1 − ᾱₜ₋₁)/(1 − ᾱₜ) βₜ
/// of Ho et al. 2020, eq. 7, and its mean.
#[test]
fn a_step_with_all_new_noise_is_that_of_ddpm() {
    let diffusion = Diffusion::new();
    let [now, then] = [500, 499].map(|time| diffusion.left(time));
    let beta = 1.0 - now / then;
    let (x, noise) = (0.7_f64, -0.4_f64);
    let n = 20_000;
    let (mut many, noises) = (vec![x as f32; n], vec![noise as f32; n]);
    diffusion.step(500, Some(499), 1.0).take(&mut many, &noises, None, &mut stream(5));
    let mean = many.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
    let variance = many.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n as f64;
    let want = (x - beta / (1.0 - now).sqrt() * noise) / (1.0 - beta).sqrt(); // eq. 11
    let posterior = (1.0 - then) / (1.0 - now) * beta;
    assert!((mean - want).abs() < 5.0 * (posterior / n as f64).sqrt(), "{mean}, {want}");
    assert!((variance / posterior - 1.0).abs() < 0.05, "{variance}, {posterior}");
    // The last step has no noise: it returns the data that the prediction implies.
    let mut last = vec![x as f32];
    diffusion.step(0, None, 1.0).take(&mut last, &[noise as f32], None, &mut stream(5));
    let left = diffusion.left(0);
    let data = (x - (1.0 - left).sqrt() * noise) / left.sqrt();
    assert!((f64::from(last[0]) - data).abs() < 1e-6);
    assert_eq!((spread(1), spread(3)), (vec![999], vec![999, 500, 0]));
    assert_eq!(spread(1000), (0..1000).rev().collect::<Vec<u32>>());
}

/// A learned variance is β̃ at the place 0 and β at 1, with any number of steps; DDIM has none.
#[test]
fn learned_variances_are_between_the_fixed_ones() {
    let diffusion = Diffusion::new();
    for (time, earlier) in [(2, 1), (700, 400)] {
        let [now, then] = [time, earlier].map(|time| diffusion.left(time));
        let beta = 1.0 - now / then;
        let posterior = (1.0 - then) / (1.0 - now) * beta;
        for (place, want) in [(0.0, posterior), (1.0, beta), (0.5, (posterior * beta).sqrt())] {
            let n = 20_000;
            let (mut x, places) = (vec![0.3_f32; n], vec![place; n]);
            diffusion.step(time, Some(earlier), 1.0).take(
                &mut x,
                &vec![0.0; n],
                Some(&places),
                &mut stream(5),
            );
            let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
            let variance = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n as f64;
            assert!((variance / want - 1.0).abs() < 0.05, "{time} {place}: {variance}, {want}");
        }
        let (mut x, mut fixed) = ([0.3_f32], [0.3_f32]);
        diffusion.step(time, Some(earlier), 0.5).take(&mut x, &[0.0], Some(&[1.0]), &mut stream(5));
        diffusion.step(time, Some(earlier), 0.5).take(&mut fixed, &[0.0], None, &mut stream(5));
        assert_eq!(x, fixed);
    }
}

#[test]
fn each_picture_has_its_own_variances() {
    let sampled = |places: &[f32]| {
        let (mut x, mut streams) = (vec![0.3_f32; places.len()], vec![stream(0); places.len()]);
        let predict = |x: &[f32], _| (vec![0.0; x.len()], Some(places.to_vec()));
        denoise(&Diffusion::new(), [5, 1], 1.0, (&mut x, &mut streams), predict);
        x
    };
    let pair = sampled(&[0.0, 1.0]);
    assert_eq!(pair, [sampled(&[0.0]), sampled(&[1.0])].concat());
    assert!(pair[0] != pair[1]);
}

/// The divergence of normal distributions, from their means and variances, and its gradient. One batch holds
/// all cases, with two numbers each, and pictures at time 0 between them.
#[test]
fn the_bound_is_the_divergence_of_steps() {
    let diffusion = Diffusion::new();
    let cases = [
        (0, 0.4, 0.5, 0.6),
        (1, 0.8, -1.0, -2.1),
        (2, 0.1, 0.4, 0.9),
        (0, -0.2, 0.2, -0.1),
        (5, 0.5, 0.1, 0.0),
    ];
    let term = |time: u32, place: f64, noise: f64, predicted: f64| {
        let [now, then] = [diffusion.left(time), if time == 0 { 1.0 } else { diffusion.left(time - 1) }];
        let beta = 1.0 - now / then;
        let gap = beta / (1.0 - now).sqrt() / (1.0 - beta).sqrt() * (noise - predicted);
        if time == 0 {
            let next = diffusion.left(1);
            let right = (1.0 - now) / (1.0 - next) * (1.0 - next / now);
            let tape = Tape::new();
            let number = |x: f64| tape.constant(&Tensor::new([1], vec![x as f32]));
            let log = place * beta.ln() + (1.0 - place) * right.ln();
            return surprise(number(log), number(gap), &[0.1]).item() / 2.0_f64.ln();
        }
        let right = (1.0 - then) / (1.0 - now) * beta;
        let variance = beta.powf(place) * right.powf(1.0 - place);
        0.5 * ((variance / right).ln() + (right + gap * gap) / variance - 1.0) / 2.0_f64.ln()
    };
    let mut noised = Noised::new();
    let tape = Tape::new();
    for (time, _, noise, _) in cases {
        let (mut data, noise) = (vec![0.1; 2], vec![noise as f32; 2]);
        diffusion.add_noise(&mut data, &noise, time);
        noised.numbers.iter_mut().zip([data, noise]).for_each(|(all, own)| all.extend(own));
        noised.times.push(time);
    }
    let variable = |number: fn(&(u32, f64, f64, f64)) -> f64| {
        let numbers = cases.iter().flat_map(|case| [number(case) as f32; 2]).collect();
        tape.variable(&Tensor::new([5, 2, 1], numbers))
    };
    let (place, predicted) = (variable(|case| case.1), variable(|case| case.3));
    let prediction = Prediction { noise: predicted, place: Some(place) };
    let bits = bound(&diffusion, &noised, variable(|case| case.2), prediction).unwrap();
    let want = cases.iter().map(|&(time, place, noise, predicted)| term(time, place, noise, predicted));
    let want = want.sum::<f64>() / 5.0;
    assert!((bits.item() - want).abs() < 1e-4 * want, "{} {want}", bits.item());
    let gradients = tape.backward(bits);
    assert!(gradients.wrt(predicted).data().iter().all(|&x| x == 0.0));
    for (i, (time, place_, noise, predicted)) in cases.into_iter().enumerate() {
        let slope = f64::from(gradients.wrt(place).data()[2 * i]);
        let change = |h: f64| term(time, place_ + h, noise, predicted);
        // The surprise is computed in `f32`.
        let h = if time == 0 { 1e-2 } else { 1e-5 };
        let want = (change(h) - change(-h)) / (2.0 * h) / 10.0;
        let tolerance = if time == 0 { 2e-2 } else { 1e-3 };
        assert!((slope / want - 1.0).abs() < tolerance, "{time}: {slope} {want}");
    }
}

/// The probabilities of the 256 values of a pixel add up to 1, and have the variance of the normal numbers
/// and of their rounding.
#[test]
fn the_values_of_a_pixel_are_normal() {
    let tape = Tape::new();
    let number = |x: f64| tape.constant(&Tensor::new([1], vec![x as f32]));
    for (mean, log) in [(0.3, -6.0), (-0.1, -8.0), (-0.99, -4.0), (1.0, -9.0)] {
        let probability = |x: f64| (-surprise(number(log), number(x - mean), &[x as f32]).item()).exp();
        let values = || (0..256).map(|k| f64::from(k) / 127.5 - 1.0);
        let total: f64 = values().map(probability).sum();
        assert!((total - 1.0).abs() < 1e-5, "{mean} {log}: {total}");
        if mean.abs() < 0.5 {
            let square: f64 = values().map(|x| probability(x) * (x - mean).powi(2)).sum();
            let want = log.exp() + (2.0_f64 / 255.0).powi(2) / 12.0;
            assert!((square / want - 1.0).abs() < 5e-3, "{mean} {log}: {square} {want}");
        }
    }
}

/// Far from the mean a value costs about half of the square of its distance in deviations, on both sides, and
/// so does a value at the edge that the mean is far inside of.
#[test]
fn improbable_values_have_finite_gradients() {
    for (deviations, data) in [(5.0, 0.0), (5.6, 0.0), (6.2, 0.0), (5.6, 1.0)] {
        let slopes = [1.0, -1.0].map(|sign| {
            let tape = Tape::new();
            let log = tape.variable(&Tensor::new([1], vec![-6.0]));
            let error = sign * deviations * (-3.0_f64).exp();
            let error = tape.constant(&Tensor::new([1], vec![error as f32]));
            let cost = surprise(log, error, &[(sign * data) as f32]);
            assert!((8.0..29.0).contains(&cost.item()), "{deviations}: {}", cost.item());
            f64::from(tape.backward(cost).wrt(log).data()[0])
        });
        let want = -0.5 * deviations * deviations;
        assert!((slopes[0] / slopes[1] - 1.0).abs() < 1e-3, "{deviations}: {slopes:?}");
        assert!((0.5..2.0).contains(&(slopes[0] / want)), "{deviations}: {slopes:?}, {want}");
    }
}

/// The second half of the head is of variances: between the fixed ones at first, and those of the class.
#[test]
fn a_model_predicts_variances_of_the_class() {
    let mut model = model("--learn-variances");
    let predict = |model: &DitModel, guidance: f64| {
        let tape = Tape::new();
        let predicted = model.guided(tape.constant(&pixels(2)), 200, &[2, 0], guidance);
        (predicted.noise.to_tensor(), predicted.place.expect("variances are learned").to_tensor())
    };
    assert!(predict(&model, 1.0).1.data().iter().all(|&place| place == 0.5));
    scatter(&mut model);
    let (noise, class) = predict(&model, 1.0);
    assert_eq!((class.shape(), predict(&model, 3.0).1), (pixels(2).shape(), class.clone()));
    for other in [predict(&model, 0.0).1, noise] {
        assert!(largest_gap(class.data(), other.data()) > 1e-2);
    }
}

/// Times are drawn from all of them, classes are kept.
#[test]
fn training_draws_times_and_noise() {
    let (diffusion, mut noised, mut rng) = (Diffusion::new(), Noised::new(), stream(6));
    for class in 0..400 {
        noised.add(&diffusion, vec![0.5; 3], class, &mut rng);
    }
    assert_eq!(noised.classes, (0..400).collect::<Vec<u32>>());
    assert!(noised.times.iter().any(|&t| t < 20) && noised.times.iter().any(|&t| t > 980));
    let [x, noise] = &noised.numbers;
    for (i, (&x, &noise)) in x.iter().zip(noise).enumerate() {
        let left = diffusion.left(noised.times[i / 3]);
        let want = 0.5 * left.sqrt() + (1.0 - left).sqrt() * f64::from(noise);
        assert!((f64::from(x) - want).abs() < 1e-5);
    }
}

/// Dowson & Landau 1982: of diagonal covariances the distance is the sum of (μ₁ − μ₂)² and
/// (σ₁ − σ₂)².
/// In two dimensions tr (Σ₁ Σ₂)^½ = √(tr Σ₁ Σ₂ + 2 √det Σ₁ Σ₂).
#[test]
fn frechet_distances_have_their_closed_forms() {
    let gaussian = |mean: [f64; 2], c: [f64; 4]| {
        Gaussian::new(Tensor::new([2], mean.to_vec()), Tensor::new([2, 2], c.to_vec()))
    };
    let a = gaussian([1.0, -2.0], [4.0, 0.0, 0.0, 0.25]);
    let b = gaussian([0.5, 1.0], [1.0, 0.0, 0.0, 9.0]);
    let want = 0.25 + 9.0 + 1.0 + 6.25;
    assert!((a.frechet(&b) - want).abs() < 1e-12 && (b.frechet(&a) - want).abs() < 1e-12);
    assert!(a.frechet(&a).abs() < 1e-12);
    let (c, d) = ([2.0, 0.7, 0.7, 1.0], [1.5, -0.9, -0.9, 3.0]);
    let trace_of_product: f64 = c[0] * d[0] + 2.0 * c[1] * d[1] + c[3] * d[3];
    let determinant = (c[0] * c[3] - c[1] * c[1]) * (d[0] * d[3] - d[1] * d[1]);
    let want = 3.0 + 4.5 - 2.0 * (trace_of_product + 2.0 * determinant.sqrt()).sqrt();
    assert!((gaussian([0.0; 2], c).frechet(&gaussian([0.0; 2], d)) - want).abs() < 1e-12);
    // A direction without variance does no harm.
    let flat = gaussian([0.0; 2], [1.0, 1.0, 1.0, 1.0]);
    assert!((flat.frechet(&gaussian([0.0; 2], [0.0; 4])) - 2.0).abs() < 1e-12);
    // Fitted: rows 0 and 2, 1 and 5 have the variances 2 and 8, divided by n − 1, and the covariance 4.
    let fitted = Gaussian::fitted(&Tensor::new([2, 2], vec![0.0, 1.0, 2.0, 5.0]));
    assert_eq!(fitted, gaussian([1.0, 3.0], [2.0, 4.0, 4.0, 8.0]));
}
