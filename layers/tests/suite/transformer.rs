//! Transformer layers: which rows see which, and whether every parameter is learned.

use std::sync::Arc;

use cotangent_engine::Sparsity;
use cotangent_layers::score::{Distance, Dot, Score, UmbralCone};
use cotangent_layers::{
    DecoderLayer, EncoderLayer, LayerNorm, Mask, NormOrder, StochasticDepth, TransformerSizes,
};
use cotangent_manifolds::{Steps, Visitor};

use super::*;

const CONES: &dyn Score<f64> = &UmbralCone { radius: 0.1 };

fn sizes(order: NormOrder) -> TransformerSizes {
    TransformerSizes { width: 6, heads: 2, head: [3, 3], hidden: 8, dropout: 0.3, order }
}

/// A batch of one, `[1, n, 6]`.
fn sequence(n: usize, seed: u64) -> Tensor<f64> {
    uniform(&[1, n, 6], 1.0, &mut rng::stream(seed, 4, 0))
}

/// An encoder ignores the order of its input. The place of the normalisation makes a difference.
#[test]
fn encoders_take_sets() {
    let x = sequence(4, 1);
    let order = [2_u32, 0, 3, 1];
    let mut results = Vec::new();
    for norm in [NormOrder::Pre, NormOrder::Post] {
        for score in [&Dot as &dyn Score<f64>, &Distance, CONES] {
            let layer = EncoderLayer::<f64>::new(score, sizes(norm), &mut rng::stream(2, 4, 0));
            let tape = Tape::new();
            let encode = |x: Var<'_, f64>| layer.forward(x, Mask::None).reshape([4, 6]).to_tensor();
            let (before, rows) = (tape.constant(&x), tape.constant(&x.reshape([4, 6])));
            let after = encode(rows.gather(&order).reshape([1, 4, 6]));
            let want = encode(before);
            for (i, &from) in order.iter().enumerate() {
                let differences =
                    after.row(i).iter().zip(want.row(from as usize)).map(|(a, b)| (a - b).abs());
                assert!(differences.fold(0.0, f64::max) < 1e-12);
            }
            results.push(want);
        }
    }
    assert!((1..6).all(|i| difference(&results[0], &results[i]) > 1e-3));
}

/// While training, a sequence leaves a layer as it came in, or by one or both of its sublayers with twice
/// their results. Without training the rate makes no difference.
#[test]
fn stochastic_depth_leaves_out_sublayers_by_sequence() {
    let sizes = TransformerSizes { dropout: 0.0, ..sizes(NormOrder::Pre) };
    let mut layer = EncoderLayer::<f64>::new(CONES, sizes, &mut rng::stream(2, 4, 0));
    let x = uniform(&[64, 4, 6], 1.0, &mut rng::stream(1, 4, 0));
    let run = |layer: &EncoderLayer<f64>, trains: bool| {
        let tape = Tape::new();
        if trains {
            tape.training(rng::stream(7, 4, 0));
        }
        layer.forward(tape.constant(&x), Mask::None).to_tensor()
    };
    let want = run(&layer, false);
    layer.depth = StochasticDepth { rate: 0.5 };
    assert_eq!(run(&layer, false), want);
    let trained = run(&layer, true);
    let same = |at: usize| {
        let range = at * 24..(at + 1) * 24;
        trained.data()[range.clone()] == x.data()[range]
    };
    let left_out = (0..64).filter(|&at| same(at)).count();
    assert!((4..32).contains(&left_out), "{left_out} of 64 sequences, a quarter expected");
    assert_eq!([0, 1, 2].map(|layer| StochasticDepth::rising(0.2, layer, 3).rate), [0.0, 0.1, 0.2]);
    assert_eq!(StochasticDepth::rising(0.2, 0, 1).rate, 0.0);
}

/// While training, the nodes of a graph leave out a sublayer together. A decoder leaves out sublayers by
/// sequence, as an encoder does.
#[test]
fn stochastic_depth_of_graphs_and_decoders() {
    // So many hidden units that no row has all of them at 0.
    let sizes = TransformerSizes { dropout: 0.0, hidden: 64, ..sizes(NormOrder::Pre) };
    let half = StochasticDepth { rate: 0.5 };
    let mut encoder = EncoderLayer::<f64>::new(CONES, sizes, &mut rng::stream(2, 4, 0));
    encoder.depth = half;
    let edges = Arc::new(Sparsity::new(4, 4, &[(0, 0), (1, 0), (1, 2), (2, 3), (3, 1)]));
    let nodes = uniform(&[4, 6], 1.0, &mut rng::stream(1, 4, 0));
    let mut left_out = 0;
    for draw in 0..40 {
        let tape = Tape::new();
        tape.training(rng::stream(7, 4, draw));
        let y = encoder.along_edges(tape.constant(&nodes), &edges).to_tensor();
        let same = (0..4).filter(|&i| y.row(i) == nodes.row(i)).count();
        assert!(same == 0 || same == 4, "{same} of the nodes of a graph");
        left_out += usize::from(same == 4);
    }
    assert!((2..20).contains(&left_out), "{left_out} of 40 graphs, a quarter expected");

    let mut decoder = DecoderLayer::<f64>::new(CONES, sizes, &mut rng::stream(3, 4, 0));
    decoder.depth = half;
    let [x, encoded] = [5, 6].map(|seed| uniform(&[64, 3, 6], 1.0, &mut rng::stream(seed, 4, 0)));
    let tape = Tape::new();
    tape.training(rng::stream(7, 4, 0));
    let y = decoder.forward(tape.constant(&x), tape.constant(&encoded), Mask::None).to_tensor();
    let left_out = y.data().chunks(18).zip(x.data().chunks(18)).filter(|(y, x)| y == x).count();
    assert!((1..20).contains(&left_out), "{left_out} of 64 sequences, an eighth expected");
}

/// Later rows, and hidden rows of the other sequence, change no bit.
#[test]
fn decoders_see_what_they_may() {
    let layer = DecoderLayer::<f64>::new(CONES, sizes(NormOrder::Pre), &mut rng::stream(3, 4, 0));
    let run = |x: &Tensor<f64>, encoded: &Tensor<f64>| {
        let tape = Tape::new();
        let hidden = tape.constant(&Tensor::new([3], vec![0.0, 1.0, 0.0]));
        let y = layer.forward(tape.constant(x), tape.constant(encoded), Mask::Hidden(hidden));
        y.to_tensor()
    };
    let (x, encoded) = (sequence(4, 4), sequence(3, 5));
    let want = run(&x, &encoded);
    let changed = |x: &Tensor<f64>, row: usize| {
        let mut x = x.clone();
        x.row_mut(row).fill(0.5);
        x
    };
    let later = run(&changed(&x, 3), &encoded);
    for (i, (a, b)) in want.rows().zip(later.rows()).enumerate() {
        assert_eq!(a == b, i < 3, "row {i}");
    }
    assert_eq!(run(&x, &changed(&encoded, 1)), want);
    assert!(run(&x, &changed(&encoded, 2)) != want);
}

/// The weights for pictures are computed from the attention's actual input.
#[test]
fn weights_are_of_what_attention_is_given() {
    for order in [NormOrder::Pre, NormOrder::Post] {
        let layer = EncoderLayer::<f64>::new(CONES, sizes(order), &mut rng::stream(16, 4, 0));
        let tape = Tape::new();
        let x = tape.constant(&sequence(5, 17));
        let given = if order == NormOrder::Pre { LayerNorm::new(6).forward(x) } else { x };
        let weights = layer.weigh(x, Mask::None).to_tensor();
        assert_eq!(weights.shape(), &[1, 2, 5, 5].into());
        assert_eq!(weights, layer.attention.weigh(given, given, Mask::None).to_tensor(), "{order:?}");
    }
}

/// Every parameter has a nonzero gradient, except the fixed ones of the score.
#[test]
fn all_of_it_is_learned() {
    struct Learned<'a, 't>(&'a cotangent_engine::Gradients<'t, f64>, usize);
    impl Visitor<f64> for Learned<'_, '_> {
        fn param<M: Steps>(&mut self, path: &str, param: &Param<M, f64>) {
            let fixed = path.ends_with("sharpness") || path.ends_with("offset");
            let gradient = self.0.param(param.id()).map(|g| g.to_dense(param.value().len(), 1));
            assert_eq!(gradient.is_none(), fixed, "{path}");
            assert!(gradient.is_none_or(|g| g.iter().any(|g| *g != 0.0)), "{path}");
            self.1 += 1;
        }
    }
    let (encoder, decoder) = {
        let mut rng = rng::stream(6, 4, 0);
        let order = NormOrder::Post;
        (EncoderLayer::new(CONES, sizes(order), &mut rng), DecoderLayer::new(CONES, sizes(order), &mut rng))
    };
    let tape = Tape::new();
    tape.training(rng::stream(7, 4, 0));
    let encoded = encoder.forward(tape.constant(&sequence(5, 8)), Mask::None);
    let y = decoder.forward(tape.constant(&sequence(4, 9)), encoded, Mask::None);
    let weights = tape.constant(&sequence(4, 10));
    let gradients = tape.backward((y * weights).sum());
    let mut learned = Learned(&gradients, 0);
    encoder.visit(&mut Path::root(), &mut learned);
    decoder.visit(&mut Path::root(), &mut learned);
    assert_eq!(learned.1, (10 + 4 + 4) + (20 + 4 + 6));
}

/// Dropout happens while training and only then.
#[test]
fn dropout_is_for_training() {
    let layer = EncoderLayer::<f64>::new(CONES, sizes(NormOrder::Pre), &mut rng::stream(11, 4, 0));
    let x = sequence(4, 12);
    let run = |seed: Option<u64>| {
        let tape = Tape::new();
        if let Some(seed) = seed {
            tape.training(rng::stream(seed, 4, 0));
        }
        layer.forward(tape.constant(&x), Mask::None).to_tensor()
    };
    assert!(run(None) == run(None) && run(Some(1)) == run(Some(1)));
    assert!(run(Some(1)) != run(Some(2)) && run(Some(1)) != run(None));
}

/// Rows one after another, with the keys and values of earlier rows, give the same as all at once.
#[test]
fn causal_encoders_go_on_where_they_stood() {
    let layer = EncoderLayer::<f64>::new(CONES, sizes(NormOrder::Pre), &mut rng::stream(18, 4, 0));
    let tape = Tape::new();
    let x = tape.constant(&sequence(5, 19));
    let whole = layer.forward(x, Mask::Causal);
    let mut so_far = None;
    for places in [0..2, 2..3, 3..5] {
        let (y, kept) = layer.forward_cached(so_far, x.slice(1, places.clone()));
        assert_eq!(kept.keys.shape(), [1, 2, places.end, 3].into());
        close(&y.to_tensor(), &whole.slice(1, places).to_tensor(), 1e-14);
        so_far = Some(kept);
    }
}

/// Decoding places step by step, with the keys and values of earlier places, gives the same as the whole
/// sequence at once.
#[test]
fn decoders_go_on_where_they_stood() {
    for (order, score) in [NormOrder::Pre, NormOrder::Post].into_iter().zip([&Dot as &dyn Score<f64>, CONES])
    {
        let layer = DecoderLayer::<f64>::new(score, sizes(order), &mut rng::stream(13, 4, 0));
        let tape = Tape::new();
        let (x, encoded) = (tape.constant(&sequence(5, 14)), tape.constant(&sequence(3, 15)));
        let whole = layer.forward(x, encoded, Mask::None);
        let across = layer.across.cache(encoded);
        let mut so_far = None;
        for places in [0..1, 1..2, 2..4, 4..5] {
            let (y, kept) = layer.forward_cached(so_far, x.slice(1, places.clone()), across, Mask::None);
            assert_eq!(
                (kept.keys.shape(), kept.values.shape()),
                ([1, 2, places.end, 3].into(), [1, 2, places.end, 3].into())
            );
            so_far = Some(kept);
            let want = whole.slice(1, places.clone()).to_tensor();
            assert!(difference(&y.to_tensor(), &want) < 1e-12, "{score:?}, {places:?}");
        }
    }
}

/// Along the edges of a complete graph it is attention of the sequence. Without its edge to a node, another
/// node's result does not depend on that node; with it, it does.
#[test]
fn nodes_attend_along_edges() {
    for (order, score) in [(NormOrder::Pre, CONES), (NormOrder::Post, &Dot as &dyn Score<f64>)] {
        let layer = EncoderLayer::<f64>::new(score, sizes(order), &mut rng::stream(18, 4, 0));
        let x = sequence(4, 19).reshape([4, 6]);
        let run = |x: &Tensor<f64>, edges: &[(u32, u32)]| {
            let edges = Arc::new(Sparsity::new(4, 4, edges));
            layer.along_edges(Tape::new().constant(x), &edges).to_tensor()
        };
        let all: Vec<(u32, u32)> = (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).collect();
        let tape = Tape::new();
        let whole = layer.forward(tape.constant(&x.reshape([1, 4, 6])), Mask::None).to_tensor();
        assert!(difference(&whole.reshape([4, 6]), &run(&x, &all)) < 1e-12);
        let fewer: Vec<(u32, u32)> = all.iter().copied().filter(|edge| *edge != (0, 3)).collect();
        let mut changed = x.clone();
        changed.row_mut(3).fill(0.5);
        for edges in [&all, &fewer] {
            let (before, after) = (run(&x, edges), run(&changed, edges));
            assert_eq!(before.row(0) == after.row(0), edges.len() == fewer.len());
            assert!(before.row(1) != after.row(1));
        }
    }
}

/// Queries and keys for pictures are those that the weights come from.
#[test]
fn projections_are_of_what_attention_is_given() {
    for order in [NormOrder::Pre, NormOrder::Post] {
        let layer = EncoderLayer::<f64>::new(&Distance, sizes(order), &mut rng::stream(20, 4, 0));
        let tape = Tape::new();
        let x = tape.constant(&sequence(5, 21));
        let [queries, keys] = layer.project(x);
        let weights = layer.attention.attention.weigh(queries, keys, Mask::None).to_tensor();
        assert_eq!(weights, layer.weigh(x, Mask::None).to_tensor(), "{order:?}");
    }
}
