//! Models that are not trained: what they predict from what, and the memory of a text that is being made.

use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::config;

use super::blocks::Batch;
use super::generator::{Generator, Sampling};
use super::model::LmModel;
use super::*;

const VOCABULARY: usize = 30;

fn model(options: &str) -> LmModel {
    let small = "--layers 2 --width 16 --heads 2 --hidden 32 --bands 5,12 --factor 2";
    let arguments: Vec<&str> = small.split_whitespace().chain(options.split_whitespace()).collect();
    let config = config::parse::<LmConfig>(&arguments).complete();
    let score = config.check(&Scores::default()).unwrap();
    LmModel::new(&config, &*score, VOCABULARY, &mut rng::stream(1, "initial", 0))
}

fn tokens(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| (i * i * 7 + i * 3) % VOCABULARY as u32).collect()
}

const KINDS: [&str; 4] = [
    "--block 16",
    "--block 16 --output plain --attention umbral --positions learned",
    "--block 16 --untied --attention entailment --norm post",
    "--block 16 --attention polar-distance --positions hyperbolic --key-dim 4",
];

/// Token by token, with the keys and values of the earlier ones, a text has the probabilities that it has as
/// a whole.
#[test]
fn a_text_made_token_by_token_is_as_probable_as_the_whole() {
    for options in KINDS {
        let model = model(options);
        let text = tokens(16);
        let tape = Tape::new();
        let (states, _) = model.states(&tape, &[], &text, 0..16);
        let whole = model.log_probabilities(states.reshape([16, 16])).to_tensor();
        let mut generator = Generator::new(&model, &Device::cpu());
        for (i, token) in text.iter().enumerate() {
            let (likeliest, logs) = generator.add(&[*token], usize::MAX);
            assert_eq!(likeliest.len(), VOCABULARY);
            for (token, log) in likeliest.iter().zip(logs) {
                let want = whole.row(i)[*token as usize];
                assert!((log - want).abs() < 1e-4, "{options}, {i}: {log} {want}");
            }
        }
    }
}

/// The mean of the losses of single tokens, of which only those that count are computed.
#[test]
fn losses_are_those_of_the_probabilities() {
    for options in KINDS {
        let model = model(options);
        let text = tokens(17);
        let tape = Tape::new();
        let (states, _) = model.states(&tape, &[], &text[..16], 0..16);
        let logs = model.log_probabilities(states.reshape([16, 16])).to_tensor();
        for counted in [16, 3] {
            let next = text[17 - counted..].to_vec();
            let places = (16 - counted..16).zip(&next);
            let want: f32 =
                places.map(|(i, token)| logs.row(i)[*token as usize]).sum::<f32>() / counted as f32;
            let batch = Batch { given: text[..16].to_vec(), len: 16, next, counted };
            let loss = model.loss(&tape, &batch).item();
            assert!((loss + f64::from(want)).abs() < 1e-4, "{options}, {counted}: {loss} {want}");
        }
    }
}

/// A text may be longer than a block: it goes on from the last half of the block. So memory does not grow
/// with the text, and within a block no more than the keys and values do.
#[test]
fn memory_does_not_grow_with_the_text() {
    let model = model("--block 64");
    let mut generator = Generator::new(&model, &Device::cpu());
    let sampling = Sampling::new(1.0, None, 1).unwrap();
    let mut grows = |count: usize| {
        generator.continues(&[3], count, &sampling);
        generator.memory()
    };
    let [within, _] = grows(60);
    let [later, cache] = grows(200);
    // But for a small buffer or two.
    let latest = grows(200)[0];
    assert!(
        latest < later + later / 100,
        "bytes of the tape after 260 and after 460 tokens: {later} {latest}"
    );
    // Keys and values, which are copied when a token is added to them; buffers are powers of two.
    assert!(later - within.min(later) < 8 * cache.max(1), "{within} {later} {cache}");
    let largest = 64 * 2 * 2 * 16 * size_of::<f32>(); // tokens, layers, keys and values, width
    assert!((largest / 2..=largest).contains(&cache), "{cache} of {largest}");
}

/// Lower temperatures and fewer tokens take likelier ones, and the seed decides.
#[test]
fn draws_follow_their_options() {
    let model = model("--block 16");
    let text = |temperature, top_k, seed| {
        let sampling = Sampling::new(temperature, top_k, seed).unwrap();
        Generator::new(&model, &Device::cpu()).continues(&[3], 40, &sampling)
    };
    let greedy = text(1.0, Some(1), 1);
    assert_eq!(greedy, text(1e-6, None, 2));
    assert_eq!(text(1.0, None, 1), text(1.0, None, 1));
    assert_ne!(text(1.0, None, 1), text(1.0, None, 2));
    // The likeliest tokens after the first one: of two, only these two are drawn.
    let (two, _) = Generator::new(&model, &Device::cpu()).add(&[3], 2);
    let drawn: Vec<u32> = (0..20).map(|seed| text(10.0, Some(2), seed)[0]).collect();
    assert!(two.iter().all(|token| drawn.contains(token)) && drawn.iter().all(|token| two.contains(token)));
    assert!(Sampling::new(0.0, None, 1).is_err() && Sampling::new(1.0, Some(0), 1).is_err());
}
