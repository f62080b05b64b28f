//! Numbers of parameters, and a step of training.

use cotangent::layers::score::Dot;

use cotangent::prelude::*;

use super::batches::{Batch, Pair};
use super::model::TransformerModel;
use super::training::token_loss;
use super::*;

fn model(config: &TransformerConfig, vocabulary: usize) -> TransformerModel {
    TransformerModel::new(config, &Dot, vocabulary, &mut rng::stream(config.seed, "initial", 0))
}

/// Tseng et al. 2023, Figure 4: queries and keys of 16 dimensions in place of 128 save `2 (512 · 448 +
/// 448)` parameters in each of the 18 attentions, so that 39.5 million become 31.2 million.
#[test]
fn narrow_queries_and_keys_save_what_the_paper_says() {
    const LAYERS: usize = 6;
    assert_eq!(Size::Iwslt.numbers(), [LAYERS, 512, 4, 1024]);
    // One layer and two give the number of any: the larger models need not be made.
    let count = |key: usize| {
        let [one, two] =
            [1, 2].map(|layers| model(&TransformerConfig::sized(Size::Iwslt, layers, Some(key)), 8).count());
        one + (LAYERS - 1) * (two - one)
    };
    let [wide, narrow] = [128, 16].map(count);
    assert_eq!(wide - narrow, 3 * LAYERS * 2 * (512 * 448 + 448));
    // The words of both languages in fairseq's IWSLT data, which have a vector each.
    let words = 512 * (8848 + 6632 - 8);
    let millions = [wide, narrow].map(|count| ((count + words) as f64 / 1e5).round() / 10.0);
    assert_eq!(millions, [39.5, 31.2]);
}

/// Vaswani et al. 2017, Table 3: 213 million parameters of the big model, and 65 million of the base
/// model, with a shared vocabulary of about 37,000 tokens.
#[test]
fn base_and_big_have_the_parameters_that_the_paper_says() {
    for (size, published) in [(Size::Base, 65), (Size::Big, 213)] {
        let [layers, width, ..] = size.numbers();
        let count = |layers: usize| model(&TransformerConfig::sized(size, layers, None), 8).count();
        let [one, two] = [1, 2].map(count);
        let millions = (one + (layers - 1) * (two - one) + width * (37_000 - 8)) as f64 / 1e6;
        assert!((millions / f64::from(published) - 1.0).abs() < 0.05, "{size:?}: {millions}");
    }
}

/// The model of Tseng et al. 2023 takes a step, after which the loss of the same sentences is lower.
#[test]
fn the_iwslt_model_takes_a_step() {
    let [layers, ..] = Size::Iwslt.numbers();
    let config = TransformerConfig::sized(Size::Iwslt, layers, Some(16));
    let mut model = model(&config, 20);
    let pairs = [
        Pair { source: vec![5, 6], target: vec![8, 9] },
        Pair { source: vec![10, 7], target: vec![11, 12, 13] },
    ];
    let batch = Batch::new(pairs.iter());
    let loss = |model: &TransformerModel| token_loss(model, &Tape::new(), &batch, 0.0).item();
    let before = loss(&model);
    let tape = Tape::new();
    tape.training(rng::stream(1, "order", 0));
    let gradients = tape.backward(token_loss(&model, &tape, &batch, config.label_smoothing));
    let mut adam = RiemannianAdam::new(1e-4).unwrap().betas(0.9, 0.98).unwrap();
    adam.step(&mut model, &gradients).unwrap();
    let after = loss(&model);
    assert!(after < before, "{before} {after}");
}
