//! Gradients of all layers with respect to their parameters and inputs, compared with finite
//! differences.

use std::collections::HashMap;

use cotangent_engine::{Float, ParamId, Tape, Tensor, Var, check, rng};
use cotangent_layers::{
    Activation, Aggregation, BatchNorm, BatchNorm2d, Cell, Concat, Conv2d, ConvStack, Curvature, Features,
    FeedForward, Geometry, GraphConvolution, Gru, Linear, LogisticRegression, Lstm, PoincareLinear, Rnn,
    Sequence, UnidirectionalRegression, exp0, log0,
};
use cotangent_manifolds::{Euclidean, Module, PoincareBall};

use super::*;

/// The ids of a module's parameters by name.
fn ids<T: Float>(module: &impl Module<T>) -> HashMap<String, ParamId> {
    let mut ids = HashMap::new();
    module.each(|path, param| {
        ids.insert(param.called(path).to_owned(), param.id());
    });
    ids
}

/// Compares the gradient of a loss with respect to every parameter, and to an input, with finite
/// differences.
pub(super) fn agrees<N: Module<f64> + Clone>(
    module: &N,
    x: &Tensor<f64>,
    loss: impl for<'t> Fn(&N, Var<'t, f64>) -> Var<'t, f64>,
) {
    let names: Vec<String> = module.state().into_iter().map(|(name, _)| name).collect();
    trained(module, &names.iter().map(String::as_str).collect::<Vec<_>>(), x, loss);
}

/// Same as [`agrees`], where only the parameters in `names` have a gradient and the others have none.
fn trained<N: Module<f64> + Clone>(
    module: &N,
    names: &[&str],
    x: &Tensor<f64>,
    loss: impl for<'t> Fn(&N, Var<'t, f64>) -> Var<'t, f64>,
) {
    let worst = check::gradients(std::slice::from_ref(x), |x| loss(module, x[0]));
    assert!(worst.relative < 1e-8 && worst.reverse != 0.0, "{worst:?}");
    let tape = Tape::new();
    let gradients = tape.backward(loss(module, tape.constant(x)));
    let ids = ids(module);
    for (k, (name, value)) in module.state().into_iter().enumerate() {
        let reverse = gradients.param(ids[&name]);
        assert_eq!(reverse.is_some(), names.contains(&name.as_str()), "{name}");
        let Some(reverse) = reverse else { continue };
        let reverse = reverse.to_dense(value.len() / value.width(), value.width());
        let at = |j: usize, h: f64| {
            let mut state = module.state();
            state[k].1.data_mut()[j] += h;
            let mut moved = module.clone();
            moved.load_state(state).unwrap();
            loss(&moved, Tape::new().constant(x)).item()
        };
        // Extrapolated once, as in `check`.
        let central = |j: usize, h: f64| (at(j, h) - at(j, -h)) / (2.0 * h);
        let finite: Vec<f64> =
            (0..value.len()).map(|j| (4.0 * central(j, 5e-4) - central(j, 1e-3)) / 3.0).collect();
        let scale = finite.iter().fold(1e-3, |m: f64, x| m.max(x.abs()));
        for (reverse, finite) in reverse.iter().zip(&finite) {
            assert!((reverse - finite).abs() < 1e-8 * scale, "{name}: {reverse} {finite}");
        }
    }
}

/// A number that depends on every coordinate, on each in a different way.
fn mix(y: Var<'_, f64>) -> Var<'_, f64> {
    let weights = y.tape().constant(&Tensor::from_fn(y.shape(), |i| (1.0 + i as f64).sin()));
    (y * weights).sum() + (y * y).sum()
}

const KAPPAS: [f64; 4] = [-1.0, -1e-3, 0.0, 0.3];

#[test]
fn linear_layers() {
    let mut rng = rng::stream(1, 2, 0);
    for kappa in KAPPAS {
        let ball = space(kappa);
        let x = points(&ball, 3, 2, 0.8, &mut rng);
        let mut linear = Linear::new(ball, 2, 3, &mut rng);
        scatter(&mut linear, 0.5, 1);
        agrees(&linear, &x, |layer, x| mix(*layer.forward(Point::new(space(kappa), x)).coordinates()));
        let mut net = FeedForward::new(ball, &[2, 3, 2], Activation::TANH, &mut rng);
        scatter(&mut net, 0.5, 2);
        agrees(&net, &x, |net, x| mix(*net.forward(Point::new(space(kappa), x)).coordinates()));
        let mut norm = BatchNorm::new(ball, 2);
        scatter(&mut norm, 0.5, 10);
        trained(&norm, &["bias", "scale"], &x, |norm, x| {
            mix(*norm.forward_batch(Point::new(space(kappa), x)).0.coordinates())
        });
        let mut concat = Concat::new(ball, &[2, 2], 1, 3, &mut rng);
        scatter(&mut concat, 0.5, 3);
        agrees(&concat, &x, |layer, x| {
            let (point, feature) = (Point::new(space(kappa), x), x.slice(-1, 0..1) * 2.0);
            mix(*layer.forward(&[point, point], Some(feature)).coordinates())
        });
    }
    let mut layer = PoincareLinear::new(2, 3, &mut rng);
    scatter(&mut layer, 0.5, 4);
    let ball = PoincareBall::new(-0.6);
    let x = points(&ball, 3, 2, 0.8, &mut rng);
    agrees(&layer, &x, |layer, x| mix(*layer.forward(Point::new(ball, x)).coordinates()));
}

#[test]
fn convolutions_of_images() {
    let mut rng = rng::stream(7, 2, 0);
    let x = uniform(&[3, 2, 5, 4], 0.8, &mut rng);
    for (stride, padding) in [(1, 0), (2, 1)] {
        let mut conv = Conv2d { stride, padding, ..Conv2d::new(2, 3, 3, &mut rng) };
        scatter(&mut conv, 0.5, 13);
        agrees(&conv, &x, |conv, x| mix(conv.forward(x)));
    }
    let mut norm = BatchNorm2d::new(2);
    scatter(&mut norm, 0.5, 14);
    norm.variance.value_mut().data_mut().copy_from_slice(&[0.7, 1.9]);
    trained(&norm, &["bias", "scale"], &x, |norm, x| mix(norm.forward_batch(x).0));
    trained(&norm, &["bias", "scale"], &x, |norm, x| mix(norm.forward(x)));
    let mut stack = ConvStack::new(&[2, 3, 2], 3, 2, &mut rng);
    scatter(&mut stack, 0.5, 15);
    stack.activation = Activation::TANH; // finite differences of a ReLU fail at its corner
    let learned = ["convolutions.0.filters", "convolutions.1.filters"].into_iter();
    let learned = learned.chain(["norms.0.bias", "norms.0.scale", "norms.1.bias", "norms.1.scale"]);
    trained(&stack, &learned.collect::<Vec<_>>(), &x, |stack, x| mix(stack.forward_batch(x).0));
}

#[test]
fn graph_convolutions() {
    let mut rng = rng::stream(6, 2, 0);
    let adjacency = graph_convolution::adjacency();
    let x = uniform(&[graph_convolution::NODES, 2], 0.8, &mut rng);
    for (kappa, aggregation) in
        KAPPAS.into_iter().flat_map(|kappa| [Aggregation::Sum, Aggregation::Barycentre].map(|a| (kappa, a)))
    {
        let layer = GraphConvolution::new(space(kappa), 2, 3, &mut rng);
        let mut layer = GraphConvolution { aggregation, ..layer };
        scatter(&mut layer, 0.5, 12);
        agrees(&layer, &x, |layer, x| {
            mix(*layer.forward(space(kappa), &Features::Dense(x), &adjacency).coordinates())
        });
    }
}

#[test]
fn regressions() {
    let mut rng = rng::stream(2, 2, 0);
    for kappa in KAPPAS {
        let x = points(&space(kappa), 3, 2, 0.8, &mut rng);
        let mut long = LogisticRegression::new(space(kappa), 2, 3, &mut rng);
        scatter(&mut long, 0.6, 5);
        agrees(&long, &x, |layer, x| mix(layer.forward(Point::new(space(kappa), x))));
        let mut short = UnidirectionalRegression::new(2, 3, &mut rng);
        scatter(&mut short, 0.6, 6);
        agrees(&short, &x, |layer, x| mix(layer.forward(Point::new(space(kappa), x))));
    }
}

#[test]
fn recurrent_layers() {
    let mut rng = rng::stream(3, 2, 0);
    let lengths = [3, 1];
    for kappa in KAPPAS {
        let ball = space(kappa);
        let x = points(&ball, 6, 2, 0.8, &mut rng).reshape([3, 2, 2]);
        let mut rnn = Rnn::new(ball, 2, 2, &mut rng);
        scatter(&mut rnn, 0.5, 7);
        agrees(&rnn, &x, |rnn, x| {
            let x = Sequence::new(Point::new(space(kappa), x)).with_lengths(&lengths);
            mix(*rnn.forward(x).last().coordinates())
        });
        let mut gru = Gru::new(ball, 2, 2, &mut rng);
        scatter(&mut gru, 0.5, 8);
        agrees(&gru, &x, |gru, x| {
            let x = Sequence::new(Point::new(space(kappa), x)).with_lengths(&lengths);
            mix(*gru.forward(x).last().coordinates())
        });
        let mut lstm = Lstm::new(ball, 2, 2, &mut rng);
        scatter(&mut lstm, 0.5, 11);
        agrees(&lstm, &x, |lstm, x| {
            let x = Sequence::new(Point::new(space(kappa), x)).with_lengths(&lengths);
            mix(*lstm.forward(x).last().coordinates())
        });
    }
}

/// A learned curvature has the right gradient through whole networks, at zero too. Euclidean and curved
/// layers can be mixed.
#[test]
fn learned_curvature_and_mixed_networks() {
    let mut rng = rng::stream(4, 2, 0);
    let x = points(&Euclidean, 6, 2, 0.6, &mut rng).reshape([3, 2, 2]);
    for kappa in KAPPAS {
        let gru = Gru::new(Euclidean, 2, 3, &mut rng);
        let mut net = (gru, LogisticRegression::new(Euclidean, 3, 2, &mut rng));
        scatter(&mut net, 0.5, 9);
        let net = (Curvature::new(kappa), net);
        agrees(&net, &x, |(curvature, (gru, classes)), x| {
            let states = gru.forward(exp0(curvature.on(x.tape()), x));
            mix(classes.forward(states.last()))
        });
    }
    let ball = space(-1.0);
    let curved = Gru::new(ball, 2, 3, &mut rng);
    let mut mixed =
        (curved, (Linear::new(Euclidean, 3, 3, &mut rng), LogisticRegression::new(ball, 3, 2, &mut rng)));
    scatter(&mut mixed, 0.5, 10);
    agrees(&mixed, &x, |(gru, (flat, classes)), x| {
        let states = gru.forward(exp0(space(-1.0), x));
        mix(classes.forward(exp0(space(-1.0), flat.forward(log0(states.last())))))
    });
}
