//! Layers as modules: names of parameters, files, initial weights, training, and rejected input.

use cotangent_engine::{Gradients, Tape, Tensor, Var, loss, rng};
use cotangent_layers::{Activation, Bidirectional, Cell, Concat, Curvature, Dropout, Embedding, FeedForward};
use cotangent_layers::{
    Gru, GyrovectorSpace, Linear, LogisticRegression, Rnn, Sequence, UnidirectionalRegression, init,
};
use cotangent_manifolds::{
    Euclidean, Module, Param, Path, PoincareBall, Product, Spd, Steps, Stiefel, VisitorMut,
};

use super::*;

/// A classifier of sequences of tokens.
#[derive(Clone, Module)]
struct Classifier<M> {
    words: Embedding<M, f64>,
    encoder: Bidirectional<Gru<M, f64>>,
    join: Concat<M, f64>,
    hidden: FeedForward<M, f64>,
    classes: LogisticRegression<M, f64>,
}

impl<M: Steps> Classifier<M> {
    fn new(manifold: M, seed: u64) -> Self {
        let rng = &mut rng::stream(seed, 0, 0);
        Classifier {
            words: Embedding::uniform("words", manifold, 4, 2, 0.5, rng),
            encoder: Bidirectional {
                onward: Gru::new(manifold, 2, 3, rng),
                backward: Gru::new(manifold, 2, 3, rng),
            },
            join: Concat::new(manifold, &[3, 3], 1, 3, rng),
            hidden: FeedForward::new(manifold, &[3, 3], Activation::TANH, rng),
            classes: LogisticRegression::new(manifold, 3, 2, rng),
        }
    }

    /// Logits `[batch, 2]` of sequences of tokens `[len, batch]`.
    fn forward<'t>(&self, tape: &'t Tape<f64>, tokens: &[u32], lengths: &[usize]) -> Var<'t, f64>
    where
        M: GyrovectorSpace<'t, f64, Learned = M>,
    {
        let batch = lengths.len();
        let words = self.words.forward(tape, tokens).arrange([tokens.len() / batch, batch]);
        let [onward, backward] =
            self.encoder.forward(Sequence::new(words).with_lengths(lengths)).map(|states| states.last());
        let feature = onward.dist(&backward).reshape([batch, 1]);
        let joined = self.join.forward(&[onward, backward], Some(feature));
        self.classes.forward(self.hidden.forward(joined))
    }
}

#[test]
fn parameters_have_ordered_path_names() {
    let names: Vec<String> =
        Classifier::new(space(-1.0), 1).state().into_iter().map(|(name, _)| name).collect();
    let want = [
        "words.points",
        "encoder.onward.input",
        "encoder.onward.gates",
        "encoder.onward.hidden",
        "encoder.onward.gate_biases",
        "encoder.onward.bias",
        "encoder.backward.input",
        "encoder.backward.gates",
        "encoder.backward.hidden",
        "encoder.backward.gate_biases",
        "encoder.backward.bias",
        "join.weights.0",
        "join.weights.1",
        "join.features.0",
        "join.bias",
        "hidden.layers.0.weight",
        "hidden.layers.0.bias",
        "classes.points",
        "classes.normals",
    ];
    assert_eq!(names, want);
    let rng = &mut rng::stream(1, 0, 0);
    let others = (
        Rnn::<_, f64>::new(Euclidean, 1, 1, rng),
        (
            UnidirectionalRegression::new(1, 1, rng),
            (Linear::new(Euclidean, 1, 1, rng).without_bias(), Curvature::new(0.0)),
        ),
    );
    let names: Vec<String> = others.state().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["0.input", "0.hidden", "0.bias", "1.0.directions", "1.0.offsets", "1.1.0.weight", "1.1.1.kappa"]
    );
}

#[test]
fn weights_go_through_a_file_to_the_bit() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("weights.safetensors");
    let (mut source, mut target) = (Classifier::new(space(-0.5), 1), Classifier::new(space(-0.5), 2));
    scatter(&mut source, 0.6, 1);
    source.save(&file).unwrap();
    target.load(&file).unwrap();
    assert_eq!(source.state(), target.state());
    let (tokens, lengths) = ([0, 1, 2, 3, 1, 1], [3, 2]);
    let logits = |model: &Classifier<_>| model.forward(&Tape::new(), &tokens, &lengths).to_tensor();
    assert_eq!(logits(&source), logits(&target));
}

/// Copies of a layer are separate layers: six copies of one layer, both directions copied from one cell,
/// a student copied from its teacher.
#[test]
fn copies_of_layers_learn_apart() {
    let rng = &mut rng::stream(8, 0, 0);
    let x = points(&ball(), 5, 2, 1.0, rng);
    // For comparison: gradients of layers that are built one by one with the same weights.
    let gradients_of = |layers: &[Linear<PoincareBall, f64>]| -> Vec<Vec<f64>> {
        let tape = Tape::new();
        let y = layers.iter().fold(on(&tape, ball(), &x), |x, layer| layer.forward(x));
        let gradients = tape.backward(y.coordinates().square().sum());
        assert!(layers.iter().all(|layer| gradients.view(&layer.weight).is_some()));
        layers.iter().map(|layer| gradients.wrt(&layer.weight).data().to_vec()).collect()
    };
    let layer = Linear::new(ball(), 2, 2, rng);
    let remade: Vec<Linear<_, f64>> = (0..6)
        .map(|_| {
            let mut own = Linear::new(ball(), 2, 2, rng);
            own.load_state(layer.state()).unwrap();
            own
        })
        .collect();
    let copied = vec![layer; 6];
    assert_eq!(gradients_of(&copied), gradients_of(&remade));
    assert_ne!(gradients_of(&copied)[0], gradients_of(&copied)[5]);

    let cell = Rnn::new(ball(), 2, 2, rng);
    let mut cells = Bidirectional { onward: cell.clone(), backward: cell };
    let input = |cells: &Bidirectional<Rnn<_, f64>>| {
        [&cells.onward, &cells.backward].map(|c| c.input.value().clone())
    };
    let tape = Tape::new();
    let sequences = on(&tape, ball(), &points(&ball(), 6, 2, 1.0, rng)).arrange([3, 2]);
    let [onward, _] = cells.forward(sequences);
    let gradients = tape.backward(onward.last().coordinates().square().sum());
    let [before, still] = input(&cells);
    descend_some(&mut cells, &gradients, 0.1);
    let [after, untouched] = input(&cells);
    assert!(before != after && still == untouched);

    let teacher = Classifier::new(ball(), 5);
    let mut student = teacher.clone();
    let kept = teacher.state();
    let (tokens, lengths) = ([0, 1, 2, 3, 1, 1], [3, 2]);
    let tape = Tape::new();
    let [of_student, of_teacher] = [&student, &teacher].map(|model| model.forward(&tape, &tokens, &lengths));
    let gradients = tape.backward((of_student.square() + 2.0 * of_teacher).sum());
    let alone = Tape::new();
    let expected = alone.backward(student.forward(&alone, &tokens, &lengths).square().sum());
    let id = student.words.points.id();
    assert_eq!(gradients.param(id).unwrap().to_dense(4, 2), expected.param(id).unwrap().to_dense(4, 2));
    descend(&mut student, &gradients, 0.1);
    assert!(teacher.state() == kept && student.state() != kept);
}

/// One step of Riemannian gradient descent of all parameters.
fn descend(module: &mut impl Module<f64>, gradients: &Gradients<'_, f64>, rate: f64) {
    assert_eq!(descend_some(module, gradients, rate), module.state().len());
}

/// One step for the parameters that have a gradient. Returns their number.
fn descend_some(module: &mut impl Module<f64>, gradients: &Gradients<'_, f64>, rate: f64) -> usize {
    struct Descend<'a, 't>(&'a Gradients<'t, f64>, f64, usize);
    impl VisitorMut<f64> for Descend<'_, '_> {
        fn param<M: Steps>(&mut self, _: &str, param: &mut Param<M, f64>) {
            let (manifold, width, rows) = (*param.manifold(), param.value().width(), param.value().len());
            let Some(gradient) = self.0.param(param.id()) else { return };
            self.2 += 1;
            let gradient = gradient.to_dense(rows / width, width);
            manifold.descend_rows(param.value_mut().data_mut(), &gradient, width, self.1).unwrap();
            param.verify().unwrap();
        }
    }
    let mut descend = Descend(gradients, rate, 0);
    module.visit_mut(&mut Path::root(), &mut descend);
    descend.2
}

/// The task: does the token 1 occur in a sequence? The data: all sequences of three tokens of four
/// kinds; in some, the last token is padding.
#[test]
fn training_learns() {
    fn learns<M: Steps + for<'t> GyrovectorSpace<'t, f64, Learned = M>>(manifold: M, rate: f64) {
        let mut model = Classifier::new(manifold, 3);
        let lengths: Vec<usize> = (0..64).map(|b| if b % 5 == 0 { 2 } else { 3 }).collect();
        let token = |t: usize, b: usize| (b / [1, 4, 16][t] % 4) as u32;
        let tokens: Vec<u32> = (0..192).map(|i| token(i / 64, i % 64)).collect();
        let labels: Vec<u32> =
            (0..64).map(|b| u32::from((0..lengths[b]).any(|t| token(t, b) == 1))).collect();
        let mut step = || {
            let tape = Tape::new();
            let logits = model.forward(&tape, &tokens, &lengths);
            let loss = loss::cross_entropy(logits, &labels, 0.0);
            let gradients = tape.backward(loss);
            descend(&mut model, &gradients, rate);
            loss.item()
        };
        let first = step();
        assert!(first > 0.5 && (1..150).any(|_| step() < 0.1 * first), "{manifold:?}: from {first}");
    }
    learns(space(-1.0), 0.3);
    learns(Euclidean, 0.3);
}

#[test]
fn weights_start_where_their_sources_say() {
    let rng = &mut rng::stream(4, 0, 0);
    let variance = |w: &Tensor<f64>| w.data().iter().map(|w| w * w).sum::<f64>() / w.len() as f64;
    let glorot = init::glorot_uniform::<f64>(60, 140, rng);
    let range = (6.0 / 200.0_f64).sqrt();
    assert!(glorot.data().iter().all(|w| w.abs() <= range));
    assert!((variance(&glorot) / (2.0 / 200.0) - 1.0).abs() < 0.05);
    let he = init::he_normal::<f64>(60, 140, rng);
    assert!((variance(&he) / (2.0 / 140.0) - 1.0).abs() < 0.05);
    for (m, n) in [(3, 3), (5, 2), (2, 5)] {
        let w = init::orthogonal::<f64>(m, n, rng);
        assert_eq!(w.shape().axes(), [m, n]);
        let tape = Tape::new();
        let w = tape.constant(&w);
        let product = if m < n { w.matmul_nt(w) } else { w.matmul_tn(w) };
        let small = m.min(n);
        let identity = Tensor::from_fn([small, small], |i| f64::from(i / small == i % small));
        close(&product.to_tensor(), &identity, 1e-14);
    }
    // Each gate's weight is a separate orthogonal matrix; biases start at the origin.
    let gru = Gru::<_, f64>::new(space(-1.0), 2, 4, rng);
    let tape = Tape::new();
    let gates = tape.constant(gru.gates.value());
    let product = gates.matmul_tn(gates).to_tensor();
    close(&product, &Tensor::from_fn([4, 4], |i| 2.0 * f64::from(i / 4 == i % 4)), 1e-14);
    assert!(gru.gates.value().row(0) != gru.gates.value().row(4));
    assert!(gru.gate_biases.value().data().iter().chain(gru.bias.value().data()).all(|b| *b == 0.0));
}

/// Tables start about the origin, and every coordinate varies, also where points are matrices.
#[test]
fn tables_start_about_the_origin() {
    fn check<M: Steps>(manifold: M, dim: usize) {
        let rng = &mut rng::stream(9, 0, 0);
        let points = Embedding::<_, f64>::uniform("points", manifold, 20, dim, 0.1, rng).points;
        let (points, origin) = (points.value(), manifold.origin::<f64>(dim));
        for row in points.rows() {
            manifold.contains(row).unwrap();
            assert!(row.iter().zip(origin.iter()).all(|(x, o)| (x - o).abs() < 0.5), "{manifold:?}: {row:?}");
        }
        for column in 0..points.width() {
            let first = points.row(0)[column];
            assert!(points.rows().any(|row| row[column] != first), "{manifold:?}: coordinate {column}");
        }
    }
    check(Spd::affine_invariant(3), 6);
    check(Spd::log_euclidean(2), 3);
    check(Stiefel::new(4, 2), 5);
    check(Product::new(Spd::affine_invariant(2), 3, ball()), 5);
    check(ball(), 3);
    // Free coordinates are the numbers themselves, in their order.
    let flat = Embedding::uniform("points", Euclidean, 3, 2, 0.5, &mut rng::stream(9, 0, 0)).points;
    let mut numbers = rng::stream(9, 0, 0);
    assert_eq!(flat.value(), &Tensor::<f64>::from_fn([3, 2], |_| numbers.random_range(-0.5..=0.5)));
}

#[test]
#[should_panic(expected = "Embedding: a range of NaN; it must be finite and at least 0")]
fn a_range_is_a_number() {
    let _ = Embedding::<_, f64>::uniform("points", Euclidean, 3, 2, f64::NAN, &mut rng::stream(9, 0, 0));
}

#[test]
#[should_panic(expected = "Curvature: a finite curvature is needed, not inf")]
fn a_curvature_is_finite() {
    let _ = Curvature::<f64>::new(f64::INFINITY);
}

#[test]
#[should_panic(expected = "Concat: a layer of no points")]
fn a_concatenation_has_points() {
    let _ = Concat::<_, f64>::new(ball(), &[], 1, 2, &mut rng::stream(0, 0, 0));
}

fn ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

#[test]
#[should_panic(expected = "a weight [2, 3] on rows of shape [4, 5]: weights [m, n] take rows […, rows, n]")]
fn linear_names_both_shapes() {
    let tape = Tape::new();
    Linear::new(ball(), 3, 2, &mut rng::stream(0, 0, 0)).forward(on(&tape, ball(), &Tensor::zeros([4, 5])));
}

#[test]
#[should_panic(expected = "LogisticRegression: normals [2, 3] for rows of shape [4, 5]")]
fn regression_names_both_shapes() {
    let tape = Tape::new();
    let layer = LogisticRegression::new(ball(), 3, 2, &mut rng::stream(0, 0, 0));
    layer.forward(on(&tape, ball(), &Tensor::zeros([4, 5])));
}

#[test]
#[should_panic(expected = "Cell: sequences of shape [4, 2, 5] where [len, batch, 3] fit")]
fn cells_name_both_shapes() {
    let tape = Tape::new();
    Gru::new(ball(), 3, 2, &mut rng::stream(0, 0, 0)).forward(on(&tape, ball(), &Tensor::zeros([4, 2, 5])));
}

#[test]
#[should_panic(expected = "Sequence: 3 lengths for 2 sequences")]
fn sequences_have_a_length_each() {
    let tape = Tape::new();
    let x = on(&tape, ball(), &Tensor::zeros([4, 2, 3]));
    let _ = Sequence::new(x).with_lengths(&[1, 2, 3]);
}

#[test]
#[should_panic(expected = "Sequence: a length of 5 where sequences have 4 elements")]
fn lengths_fit() {
    let tape = Tape::new();
    let x = on(&tape, ball(), &Tensor::zeros([4, 2, 3]));
    let _ = Sequence::new(x).with_lengths(&[1, 5]);
}

#[test]
#[should_panic(expected = "Cell: no element in sequences of shape [4, 2, 3]")]
fn cells_take_an_element_at_least() {
    let tape = Tape::new();
    let x = on(&tape, ball(), &Tensor::zeros([4, 2, 3]));
    Rnn::new(ball(), 3, 2, &mut rng::stream(0, 0, 0)).forward(Sequence::new(x).with_lengths(&[0, 0]));
}

#[test]
#[should_panic(expected = "Concat: 1 points and 0 features for a layer of 2 and 1")]
fn concatenations_count_their_inputs() {
    let tape = Tape::new();
    let x = on(&tape, ball(), &Tensor::zeros([4, 3]));
    Concat::new(ball(), &[3, 3], 1, 2, &mut rng::stream(0, 0, 0)).forward(&[x], None);
}

#[test]
#[should_panic(expected = "parameter \"bias\" is of PoincareBall { kappa: -1.0 }, \
                the points are of PoincareBall { kappa: -0.5 }")]
fn curvatures_do_not_mix() {
    let tape = Tape::new();
    let layer = Linear::new(ball(), 3, 2, &mut rng::stream(0, 0, 0));
    layer.forward(on(&tape, PoincareBall::new(-0.5), &Tensor::zeros([4, 3])));
}

#[test]
#[should_panic(expected = "dropout: a rate of 1")]
fn dropout_keeps_something() {
    let tape = Tape::new();
    Dropout { rate: 1.0 }.forward(on(&tape, ball(), &Tensor::zeros([4, 3])));
}
