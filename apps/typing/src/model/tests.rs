use super::*;
use crate::config::{AttentionWeights, Loss, Reduction, Regression, Size, Space, Spaces, TypingConfig};
use crate::examples::Example;
use crate::loss::TypingLoss;
use crate::mention::Mention;
use crate::types::Types;

const WORDS: usize = 12;
const TYPES: usize = 5;

/// A small model's settings. Sizes of parts differ, so that none can be taken for another.
fn small(spaces: Spaces) -> TypingConfig {
    TypingConfig {
        size: None,
        spaces,
        mention_dim: 6,
        char_dim: 3,
        context_dim: 2,
        dim: Some(7),
        mention_words: 3,
        context_words: 5,
        ..TypingConfig::for_crowd(Size::Base, Space::Hyperbolic)
    }
}

fn words<T: Float>(space: Space) -> Tensor<T> {
    let scale = if space == Space::Hyperbolic { 0.3 } else { 1.0 };
    Tensor::from_fn([WORDS, 4], |i| T::nearest(scale * (1.3 * i as f64).sin()))
}

fn model<T: Float>(config: &TypingConfig) -> TypingModel<T> {
    TypingModel::new(words(config.spaces.encoder), Counts { characters: 6, types: TYPES }, config)
}

/// Mentions of different lengths. The first word of a mention decides its types.
fn examples() -> Vec<Example> {
    let example = |i: u32| {
        let first = i % 4;
        let (before, after) = (i % 2, i % 3);
        let context: Vec<u32> =
            (0..before).map(|k| 5 + k).chain([first + 1, 9]).chain((0..after).map(|k| 7 + k)).collect();
        let positions = (0..context.len() as u32).map(|k| 4 + k).collect();
        Example {
            context,
            positions,
            mention: vec![first + 1, 9][..1 + (i % 2) as usize].to_vec(),
            characters: vec![1 + first, 1 + i % 2, 0][..1 + (i % 3) as usize].to_vec(),
            types: vec![first % 2, 2 + first / 2, 4],
        }
    };
    (0..12).map(example).collect()
}

fn types() -> Types {
    let names = ["/a", "/b", "/b/c", "/b/d", "/b/d/e"].map(str::to_owned).to_vec();
    Types::from_mentions([&Mention { types: names, ..Mention::default() }]).unwrap()
}

/// All models of Table 5, and those of the options.
fn ablations() -> Vec<TypingConfig> {
    use Space::{Euclidean, Hyperbolic};
    let all = Spaces::all(Hyperbolic);
    let spaces = [
        all,
        Spaces { encoder: Euclidean, ..all },
        Spaces { attention: Euclidean, ..all },
        Spaces { concatenation: Euclidean, ..all },
        Spaces { mlr: Euclidean, ..all },
        Spaces::all(Euclidean),
    ];
    let mut configs: Vec<TypingConfig> = spaces.into_iter().map(small).collect();
    for space in [Euclidean, Hyperbolic] {
        let config = small(Spaces::all(space));
        configs.push(TypingConfig { regression: Regression::Unidirectional, ..config.clone() });
        configs.push(TypingConfig {
            attention_weights: AttentionWeights::Sigmoid,
            attention_offset: true,
            ..config
        });
    }
    configs.push(TypingConfig { regression: Regression::Usual, ..small(Spaces::all(Euclidean)) });
    configs
}

fn loss<'t, T: Float>(model: &TypingModel<T>, tape: &'t Tape<T>, examples: &[&Example]) -> Var<'t, T> {
    let types = types();
    let loss = TypingLoss { types: &types, loss: Loss::MultiTask, reduction: Reduction::Sum };
    loss.compute(model.forward(tape, &Batch::new(examples)).logits, examples)
}

#[test]
fn every_ablation_has_its_shapes_and_gradients_of_all_parameters() {
    let examples = examples();
    let examples: Vec<&Example> = examples.iter().collect();
    for config in ablations() {
        let model = model::<f64>(&config);
        let tape = Tape::new();
        let batch = Batch::new(&examples);
        let output = model.forward(&tape, &batch);
        assert_eq!(output.text.coordinates().shape().axes(), [12, 7]);
        assert_eq!(*output.text.manifold(), space::geometry(config.spaces.concatenation).on(&tape));
        assert_eq!(output.logits.shape().axes(), [12, TYPES]);
        let [queries, keys] = output.queries_and_keys.map(|x| x.coordinates().shape());
        assert_eq!((queries.axes(), &queries), (&[12, batch.context.len, 4][..], &keys));
        assert!(output.logits.to_tensor().data().iter().all(|x| x.is_finite()), "{config:?}");
        let gradients = tape.backward(loss(&model, &tape, &examples));
        let (mut count, mut without) = (0, Vec::new());
        model.each(|path, param| {
            let value = param.value();
            let dense =
                |view: GradientView<'_, f64>| view.to_dense(value.len() / value.width(), value.width());
            let gradient = gradients.param(param.id()).map(dense);
            count += 1;
            if !gradient.is_some_and(|gradient| gradient.iter().any(|g| *g != 0.0)) {
                without.push(path.to_owned());
            }
        });
        assert!(without.is_empty() && count > 20, "{config:?}: {without:?}");
    }
}

/// Every ablation learns to tell the made types apart.
#[test]
fn every_ablation_fits_a_small_set() {
    let examples = examples();
    let examples: Vec<&Example> = examples.iter().collect();
    for config in ablations() {
        let mut model = model::<f32>(&config);
        let mut adam = RiemannianAdam::new(0.03).unwrap().clip(5.0).unwrap();
        let mut parallel = DataParallel::new(cotangent::prelude::Device::cpu());
        let mut step = || {
            parallel
                .step(&mut model, &mut adam, &[()], |model, tape, ()| loss(model, tape, &examples))
                .unwrap()
        };
        let first = step();
        let bound = (0.05 * first).min(0.1);
        assert!((0..150).any(|_| step() < bound), "{config:?}: from {first}");
        let tape = Tape::new();
        let logits = model.forward(&tape, &Batch::new(&examples)).logits.to_tensor();
        for (row, example) in logits.rows().zip(&examples) {
            let found: Vec<u32> = (0..TYPES as u32).filter(|&k| row[k as usize] > 0.0).collect();
            assert_eq!(found, example.types, "{config:?}");
        }
    }
}

/// Padding must not matter: a mention gets the same logits alone as beside longer ones.
#[test]
fn mentions_do_not_see_their_neighbours() {
    let examples = examples();
    let all: Vec<&Example> = examples.iter().collect();
    for config in ablations() {
        let model = model::<f64>(&config);
        let tape = Tape::new();
        let together = model.forward(&tape, &Batch::new(&all)).logits.to_tensor();
        for (example, row) in all.iter().zip(together.rows()) {
            let alone = model.forward(&tape, &Batch::new(&[example])).logits.to_tensor();
            let error = row.iter().zip(alone.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{config:?}: {error}");
        }
    }
}

/// The Euclidean logits of eq. 21 are four times the usual ones.
#[test]
fn the_limit_is_four_times_the_usual_form() {
    let examples = examples();
    let all: Vec<&Example> = examples.iter().collect();
    let logits = |regression| {
        let config = TypingConfig { regression, ..small(Spaces::all(Space::Euclidean)) };
        let tape = Tape::new();
        model::<f64>(&config).forward(&tape, &Batch::new(&all)).logits.to_tensor()
    };
    let (usual, limit) = (logits(Regression::Usual), logits(Regression::Points));
    assert!(usual.data().iter().zip(limit.data()).all(|(a, b)| (4.0 * a - b).abs() < 1e-14));
}

/// Equal words at other distances from the mention have other weights.
#[test]
fn positions_matter() {
    let examples = examples();
    let mut moved = examples.clone();
    moved.iter_mut().for_each(|example| example.positions.iter_mut().for_each(|position| *position += 1));
    for space in [Space::Euclidean, Space::Hyperbolic] {
        let mut model = model::<f64>(&small(Spaces::all(space)));
        // Positions start so near the origin that they hardly matter.
        let mut adam = RiemannianAdam::new(0.05).unwrap();
        let all: Vec<&Example> = examples.iter().collect();
        let mut parallel = DataParallel::new(cotangent::prelude::Device::cpu());
        for _ in 0..5 {
            parallel.step(&mut model, &mut adam, &[()], |model, tape, ()| loss(model, tape, &all)).unwrap();
        }
        let logits = |examples: &[Example]| {
            let tape = Tape::new();
            model.forward(&tape, &Batch::new(&examples.iter().collect::<Vec<_>>())).logits.to_tensor()
        };
        let [original, shifted] = [logits(&examples), logits(&moved)];
        let change =
            original.data().iter().zip(shifted.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(change > 1e-4, "{space:?}: {change}");
    }
}

#[test]
fn norms_are_distances_from_the_origin() {
    let tape = Tape::<f64>::new();
    let x = tape.constant(&Tensor::new([1, 2], vec![0.3, 0.4]));
    for (space, want) in [(Space::Euclidean, 0.5), (Space::Hyperbolic, 3.0_f64.ln())] {
        let point = Point::new(space::geometry(space).on(&tape), x);
        assert!((space::norm(point).item() - want).abs() < 1e-15);
    }
}

/// Table 1 has 1.8 million parameters at BASE. With 10,331 types the logistic regression alone has more.
#[test]
fn parameters_of_the_parts_are_counted() {
    let config = TypingConfig::for_crowd(Size::Base, Space::Hyperbolic);
    let words = Tensor::<f32>::zeros([1, 100]);
    let model = TypingModel::new(words, Counts { characters: 80, types: 100 }, &config);
    let [encoder, attention, concatenation, mlr] = model.parts();
    let linear = |n: usize, m: usize| n * m + m;
    let rnn = 2 * 20 * 20 + 20;
    let gru = 3 * (20 * 100 + 20 * 20 + 20);
    assert_eq!(encoder, linear(100, 40) + 80 * 20 + rnn + 2 * gru + 2 * 40 * 20 + 40);
    let pooling = |positions: usize| positions * 40 + 2 * linear(40, 40) + 1;
    assert_eq!(attention, pooling(5) + pooling(51));
    assert_eq!(concatenation, linear(100, 100));
    assert_eq!(mlr, 2 * 100 * 100);
    assert_eq!(model.count(), encoder + attention + concatenation + mlr);
}
