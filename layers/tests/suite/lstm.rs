//! Long short-term memory: against plain loops, in flat and curved space, and over sequences of different
//! lengths.

use cotangent_engine::{Row, Tape, Tensor, rng};
use cotangent_layers::{AnyGeometry, Bidirectional, Cell, Curvature, Geometry, Gru, GyrovectorSpace, Lstm};
use cotangent_manifolds::{Euclidean, Manifold, Module, PoincareBall, Steps};

use super::recurrent::{D, M, last, sequence, sequences};
use super::*;

fn lstm<G: Steps>(manifold: G, seed: u64) -> Lstm<G, f64> {
    let mut lstm = Lstm::new(manifold, D, M, &mut rng::stream(0, 0, 0));
    scatter(&mut lstm, 0.5, seed);
    lstm
}

fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

/// The last h and c of each sequence `[len, batch, D]`, as `torch.nn.LSTM` defines them, in plain loops.
fn by_hand(lstm: &Lstm<Euclidean, f64>, x: &Tensor<f64>) -> [Tensor<f64>; 2] {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let [len, batch] = [x.shape()[0], x.shape()[1]];
    let mut states = [(); 2].map(|()| Tensor::zeros([batch, M]));
    for s in 0..batch {
        let (mut h, mut c) = (vec![0.0; M], vec![0.0; M]);
        for t in 0..len {
            let x = x.row(t * batch + s);
            let gate = |which: usize, j: usize| {
                let row = which * M + j;
                dot(lstm.input.value().row(row), x)
                    + dot(lstm.hidden.value().row(row), &h)
                    + lstm.biases.value().row(which)[j]
            };
            c = (0..M)
                .map(|j| sigmoid(gate(1, j)) * c[j] + sigmoid(gate(0, j)) * gate(3, j).tanh())
                .collect();
            h = (0..M).map(|j| sigmoid(gate(2, j)) * c[j].tanh()).collect();
        }
        states[0].row_mut(s).copy_from_slice(&h);
        states[1].row_mut(s).copy_from_slice(&c);
    }
    states
}

/// The state `[batch, 2M]` of a cell after some steps from the origin.
fn state<G>(lstm: &Lstm<G, f64>, space: G, x: &Tensor<f64>) -> Tensor<f64>
where
    G: Steps + for<'t> GyrovectorSpace<'t, f64, Learned = G>,
{
    let [len, batch] = [x.shape()[0], x.shape()[1]];
    let tape = Tape::new();
    let inputs = lstm.input_terms(&space, tape.constant(x));
    let step = |state, t| {
        let inputs = inputs.gather(&[t as u32]).reshape([batch, 4, M]);
        lstm.step(&space, state, inputs)
    };
    (0..len).fold(tape.zeros([batch, 2 * M]), step).to_tensor()
}

/// In Euclidean space the layer is PyTorch's. The curved layers tend to it, with an error linear in κ.
#[test]
fn it_is_the_ordinary_one_in_flat_space() {
    let flat = lstm(Euclidean, 1);
    let x = sequences(&Euclidean, 6, 5, 1);
    let [h, c] = by_hand(&flat, &x);
    close(&last(&flat, Euclidean, &x, None), &h, 1e-15);
    let whole = state(&flat, Euclidean, &x);
    let part = |first: usize| Tensor::from_fn([5, M], |i| whole.row(i / M)[first + i % M]);
    close(&part(0), &h, 1e-15);
    close(&part(M), &c, 1e-15);
    let error = |kappa: f64| {
        let mut curved = lstm(space(kappa), 2);
        curved.load_state(flat.state()).unwrap();
        difference(&last(&curved, space(kappa), &x, None), &h)
    };
    assert!(error(0.0) < 1e-14);
    for kappa in [-1e-2, -1e-4, -1e-6, 1e-4] {
        let slope = (error(kappa) / error(kappa / 10.0)).log10();
        assert!((slope - 1.0).abs() < 0.01, "{kappa}: {slope}");
    }
}

/// The equations, computed by the manifold's own operations on rows, one state after another.
#[test]
fn steps_are_the_equations_on_rows() {
    for kappa in [-1.0, -0.2, 0.3] {
        let ball = space(kappa);
        let lstm = lstm(ball, 3);
        let x = sequences(&ball, 4, 1, 3);
        let part = |stacked: &Tensor<f64>, k: usize, width: usize| {
            Tensor::new([M, width], stacked.data()[k * M * width..(k + 1) * M * width].to_vec())
        };
        let row = |values: &mut dyn Iterator<Item = f64>| Row::from(values.collect::<Vec<_>>().as_slice());
        let times = |d: &Row<f64>, x: &Row<f64>| {
            ball.map(x, |v| row(&mut d.iter().zip(v.iter()).map(|(d, v)| d * v)))
        };
        let tanh = |x: &Row<f64>| ball.map(x, |v| row(&mut v.iter().map(|v| v.tanh())));
        let [mut h, mut c] = [ball.origin::<f64>(M), ball.origin::<f64>(M)];
        for t in 0..4 {
            let x = Row::from(x.row(t));
            let sum = |k: usize| {
                let (w, u) = (part(lstm.hidden.value(), k, M), part(lstm.input.value(), k, D));
                let sum = ball.add(&ball.matvec(&w, &h), &ball.matvec(&u, &x));
                ball.add(&sum, &Row::from(lstm.biases.value().row(k)))
            };
            let gate = |k: usize| row(&mut ball.log0(&sum(k)).iter().map(|t| sigmoid(*t)));
            let (i, f, o) = (gate(0), gate(1), gate(2));
            c = ball.add(&times(&f, &c), &times(&i, &tanh(&sum(3))));
            h = times(&o, &tanh(&c));
        }
        let want: Vec<f64> = h.iter().chain(c.iter()).copied().collect();
        close(&state(&lstm, ball, &x), &Tensor::new([1, 2 * M], want), 1e-14);
    }
}

/// A sequence in a padded batch has the same states as alone, to the bit, whatever the padding is.
#[test]
fn padding_changes_nothing() {
    let ball = space(-1.0);
    let cell = lstm(ball, 4);
    let lengths = [4, 2, 0, 6, 1];
    let mut x = sequences(&ball, 7, 5, 4);
    let whole = last(&cell, ball, &x, Some(&lengths));
    for (b, &n) in lengths.iter().enumerate() {
        let alone = Tensor::from_fn([n, 1, D], |i| x.row(i / D * 5 + b)[i % D]);
        let want = if n == 0 { Tensor::zeros([1, M]) } else { last(&cell, ball, &alone, None) };
        assert_eq!(whole.row(b), want.row(0), "sequence {b}");
    }
    for i in (0..35).filter(|i| i / 5 >= lengths[i % 5]) {
        x.row_mut(i).fill(0.1);
    }
    assert_eq!(last(&cell, ball, &x, Some(&lengths)), whole);
}

/// The backward cell reads each sequence from that sequence's own end, and the states go on to other cells.
#[test]
fn it_reads_both_ways_and_is_stacked() {
    let ball = space(-0.5);
    let cells = Bidirectional { onward: lstm(ball, 5), backward: lstm(ball, 6) };
    let lengths = [3, 5, 1];
    let x = sequences(&ball, 5, 3, 5);
    let mirrored = Tensor::from_fn([5, 3, D], |i| {
        let (t, b) = (i / (3 * D), i / D % 3);
        let from = if t < lengths[b] { lengths[b] - 1 - t } else { t };
        x.row(from * 3 + b)[i % D]
    });
    let tape = Tape::new();
    let [onward, backward] = cells.forward(sequence(&tape, ball, &x, Some(&lengths)));
    assert_eq!(read(&onward.last()), last(&cells.onward, ball, &x, Some(&lengths)));
    assert_eq!(read(&backward.last()), last(&cells.backward, ball, &mirrored, Some(&lengths)));
    assert_eq!(onward.points().coordinates().shape().axes(), [5, 3, M]);
    let mut second = Gru::new(ball, M, 2, &mut rng::stream(0, 0, 0));
    scatter(&mut second, 0.5, 7);
    assert_eq!(read(&second.forward(onward).last()).shape().axes(), [3, 2]);
}

/// The forget gate's bias starts at 1 where biases are vectors, all other biases at the origin.
#[test]
fn the_forget_gate_starts_open() {
    let rng = &mut rng::stream(8, 0, 0);
    let flat = Lstm::<_, f64>::new(Euclidean, 2, 3, rng);
    let ones = Tensor::from_fn([4, 3], |i| f64::from(i / 3 == 1));
    assert_eq!(flat.biases.value(), &ones);
    let learned = Lstm::<_, f64>::new(Curvature::<f64>::new(-1.0).manifold(), 2, 3, rng);
    assert_eq!(learned.biases.value(), &ones);
    assert_eq!(learned.with_biases_at_the_origin().biases.value(), &Tensor::zeros([4, 3]));
    for geometry in [AnyGeometry::from(Euclidean), Curvature::<f64>::new(-1.0).into()] {
        assert_eq!(Lstm::<_, f64>::new(geometry.manifold(), 2, 3, rng).biases.value(), &ones);
    }
    let curved = AnyGeometry::<f64>::from(PoincareBall::new(-1.0));
    let chosen = Lstm::<_, f64>::new(curved.manifold(), 2, 3, rng);
    assert_eq!(chosen.biases.value(), &Tensor::zeros([4, 3]));
    let curved = Lstm::<_, f64>::new(space(-1.0), 2, 3, rng);
    assert_eq!(curved.biases.value(), &Tensor::zeros([4, 3]));
    let names: Vec<String> = curved.state().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["input", "hidden", "biases"]);
}
