//! Tests of the model and its data.

use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::config;

use super::dataset::{Dataset, Example};
use super::model::Reasoner;
use super::{Matching, ReasonConfig};

/// A small network on few scenes.
fn config(more: &[&str]) -> ReasonConfig {
    let small = ["--scenes", "12", "--held-out", "4", "--questions-per-scene", "3"];
    config::parse(&[&SIZES[..], &small[..], more].concat())
}

const SIZES: [&str; 6] = ["--units", "4", "--channels", "4,6,8,10", "--read-out", "8"];

fn model(config: &ReasonConfig, data: &Dataset) -> Reasoner {
    Reasoner::new(config, data, &*config.check(&Scores::default()).unwrap())
}

/// The defaults of each matching are those that its help says.
#[test]
fn matchings_have_their_defaults() {
    let [none, euclidean, hyperbolic] =
        ["none", "euclidean", "hyperbolic"].map(|name| config(&["--matching", name]));
    assert_eq!((none.matching, &none.attention[..]), (Matching::None, "dot"));
    assert_eq!((&euclidean.attention[..], euclidean.options.learn_sharpness), ("dot", false));
    assert_eq!((&hyperbolic.attention[..], hyperbolic.options.learn_sharpness), ("polar-distance", true));
    assert_eq!(config(&[]), hyperbolic);
}

/// The answers do not depend on what else is in a batch, once the statistics are set.
#[test]
fn answers_do_not_depend_on_the_batch() {
    for matching in ["none", "euclidean", "hyperbolic"] {
        let config = config(&["--matching", matching]);
        let data = Dataset::new(&config).unwrap();
        let mut model = model(&config, &data);
        let mut tape = Tape::<f32>::new();
        let all: Vec<&Example> = data.train.iter().collect();
        model.observe(&mut tape, &data.train).unwrap();
        tape.reset();
        let together = model.logits(&tape, &model.batch(&all, None).unwrap()).to_tensor();
        let alone: Vec<f32> = all
            .iter()
            .flat_map(|example| {
                tape.reset();
                model.logits(&tape, &model.batch(&[example], None).unwrap()).to_tensor().data().to_vec()
            })
            .collect();
        assert_eq!(together.data().len(), 12 * 3 * data.answers.len());
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
        assert!(together.data().iter().zip(&alone).all(close), "{matching}");
    }
}

/// A hidden scene changes nothing; a scene that is seen does.
#[test]
fn the_blind_see_questions_alone() {
    for (blind, same) in [(true, true), (false, false)] {
        let config = config(if blind { &["--blind"] } else { &[] });
        let data = Dataset::new(&config).unwrap();
        let model = model(&config, &data);
        let [a, b] = [&data.train[0], &data.train[1]];
        let moved = Example { scene: b.scene.clone(), questions: a.questions.clone() };
        let tape = Tape::<f32>::new();
        let [x, y] = [a, &moved]
            .map(|example| model.logits(&tape, &model.batch(&[example], None).unwrap()).to_tensor());
        assert_eq!(x == y, same, "blind: {blind}");
    }
}

/// Each kind has an answer of its own: a shape, or one of the numbers in the middle for counts.
#[test]
fn most_common_answers_are_of_training() {
    let all = ["--scenes", "300", "--held-out", "4", "--questions", "all", "--questions-per-scene", "9"];
    let config = config::parse(&all);
    let data = Dataset::new(&config).unwrap();
    assert_eq!(data.sizes(), [[300, 5400], [4, 72], [4, 72]]);
    let common = data.most_common_answers();
    let names: Vec<&str> = common.iter().map(|&answer| &data.answers[answer as usize][..]).collect();
    assert!(["square", "circle"].contains(&names[0]) && ["3", "4"].contains(&names[5]), "{names:?}");
}

/// A scene with fewer questions or objects than others has places to spare, which change nothing.
#[test]
fn scenes_of_objects_stand_side_by_side() {
    let clevr = ["--data", "clevr", "--scenes", "6", "--held-out", "2", "--dropout", "0", "--units", "4"];
    let config: ReasonConfig = config::parse(&[&clevr[..], &["--read-out", "8"]].concat());
    let mut data = Dataset::new(&config).unwrap();
    data.train[0].questions.truncate(3);
    let counts: Vec<usize> = data.train.iter().map(|example| example.questions.len()).collect();
    assert!(counts[0] == 3 && counts.iter().any(|&count| count > 3), "{counts:?}");
    let model = model(&config, &data);
    let all: Vec<&Example> = data.train.iter().collect();
    let tape = Tape::<f32>::new();
    let together = model.logits(&tape, &model.batch(&all, None).unwrap()).to_tensor();
    let alone: Vec<f32> = all
        .iter()
        .flat_map(|example| {
            model.logits(&tape, &model.batch(&[example], None).unwrap()).to_tensor().data().to_vec()
        })
        .collect();
    assert_eq!((together.width(), alone.len()), (28, counts.iter().sum::<usize>() * 28));
    assert!(together.data().iter().zip(&alone).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + b.abs())));
}
