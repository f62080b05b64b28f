//! Recurrent layers: law 53, padding, both directions.

use cotangent_engine::{Row, Tape, Tensor, rng};
use cotangent_layers::{
    Activation, Bidirectional, Cell, Curvature, Geometry, Gru, GyrovectorSpace, Rnn, Sequence,
};
use cotangent_manifolds::{Euclidean, Manifold, Module, Point, Steps, Stereographic};

use super::*;

pub(super) const D: usize = 3;
pub(super) const M: usize = 4;

fn gru<G: Steps>(manifold: G, seed: u64) -> Gru<G, f64> {
    let mut gru = Gru::new(manifold, D, M, &mut rng::stream(0, 0, 0));
    scatter(&mut gru, 0.5, seed);
    gru
}

/// Sequences `[len, batch, D]`.
pub(super) fn sequences<G: Steps>(manifold: &G, len: usize, batch: usize, seed: u64) -> Tensor<f64> {
    points(manifold, len * batch, D, 0.8, &mut rng::stream(seed, 0, 0)).reshape([len, batch, D])
}

pub(super) fn sequence<'t, G: Steps>(
    tape: &'t Tape<f64>,
    manifold: G,
    x: &Tensor<f64>,
    lengths: Option<&[usize]>,
) -> Sequence<'t, G, f64> {
    let x = Sequence::new(on(tape, manifold, x));
    if let Some(lengths) = lengths { x.with_lengths(lengths) } else { x }
}

pub(super) fn last<G, C>(cell: &C, manifold: G, x: &Tensor<f64>, lengths: Option<&[usize]>) -> Tensor<f64>
where
    G: Steps + for<'t> GyrovectorSpace<'t, f64, Learned = G>,
    C: Cell<G, f64>,
{
    let tape = Tape::new();
    read(&cell.forward(sequence(&tape, manifold, x, lengths)).last())
}

/// The Euclidean GRU of Cho et al. 2014, eq. 28 of Ganea et al., in plain loops.
fn by_hand(gru: &Gru<Euclidean, f64>, x: &Tensor<f64>) -> Tensor<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
    let [len, batch] = [x.shape()[0], x.shape()[1]];
    let mut states = Tensor::zeros([batch, M]);
    for s in 0..batch {
        let mut h = vec![0.0; M];
        for t in 0..len {
            let x = x.row(t * batch + s);
            let gate = |which: usize, i: usize| {
                let row = which * M + i;
                let inner = dot(gru.gates.value().row(row), &h) + dot(gru.input.value().row(row), x);
                sigmoid(inner + gru.gate_biases.value().row(which)[i])
            };
            let reset: Vec<f64> = (0..M).map(|i| gate(0, i) * h[i]).collect();
            let next = (0..M).map(|i| {
                let inner = dot(gru.hidden.value().row(i), &reset) + dot(gru.input.value().row(2 * M + i), x);
                let candidate = (inner + gru.bias.value().data()[i]).tanh();
                let z = gate(1, i);
                (1.0 - z) * h[i] + z * candidate
            });
            h = next.collect();
        }
        states.row_mut(s).copy_from_slice(&h);
    }
    states
}

/// Law 53: the layer in Euclidean space is the ordinary one. The curved layers tend to it, with an error
/// linear in κ.
#[test]
fn a_gru_is_the_ordinary_one_in_flat_space() {
    let flat = gru(Euclidean, 1);
    let x = sequences(&Euclidean, 6, 5, 1);
    let want = by_hand(&flat, &x);
    close(&last(&flat, Euclidean, &x, None), &want, 1e-15);
    let error = |kappa: f64| {
        let mut curved = gru(space(kappa), 2);
        curved.load_state(flat.state()).unwrap();
        difference(&last(&curved, space(kappa), &x, None), &want)
    };
    assert!(error(0.0) < 1e-14);
    for kappa in [-1e-2, -1e-4, -1e-6, 1e-4] {
        let slope = (error(kappa) / error(kappa / 10.0)).log10();
        assert!((slope - 1.0).abs() < 0.01, "{kappa}: {slope}");
    }
}

/// The same for the simple layer: at κ = 0 it is φ(W h + U x + b).
#[test]
fn an_rnn_is_the_ordinary_one_in_flat_space() {
    let mut flat = Rnn::new(Euclidean, D, M, &mut rng::stream(0, 0, 0));
    scatter(&mut flat, 0.5, 3);
    let x = sequences(&Euclidean, 4, 2, 3);
    let tape = Tape::new();
    let [u, w, b] = [&flat.input, &flat.hidden, &flat.bias].map(|p| tape.constant(p.value()));
    let mut h = tape.zeros([2, M]);
    for t in 0..4 {
        let at = tape.constant(&Tensor::new([2, D], x.data()[t * 2 * D..][..2 * D].to_vec()));
        h = (h.matmul_nt(w) + at.matmul_nt(u) + b).tanh();
    }
    close(&last(&flat, Euclidean, &x, None), &h.to_tensor(), 1e-15);
    let mut curved = Rnn::new(space(0.0), D, M, &mut rng::stream(0, 0, 0));
    curved.load_state(flat.state()).unwrap();
    close(&last(&curved, space(0.0), &x, None), &h.to_tensor(), 1e-14);
}

/// Eq. 27 and 29 to 31, computed by the manifold's own operations on rows, one state after another.
#[test]
fn steps_are_the_equations_on_rows() {
    for kappa in [-1.0, -0.2, 0.3] {
        let ball = space(kappa);
        let gru = gru(ball, 4);
        let mut rnn = Rnn::new(ball, D, M, &mut rng::stream(0, 0, 0));
        scatter(&mut rnn, 0.5, 5);
        let x = sequences(&ball, 3, 1, 4);
        let part = |stacked: &Tensor<f64>, k: usize, width: usize| {
            Tensor::new([M, width], stacked.data()[k * M * width..(k + 1) * M * width].to_vec())
        };
        let [mut h, mut g] = [ball.origin::<f64>(M), ball.origin::<f64>(M)];
        let row = |values: &mut dyn Iterator<Item = f64>| Row::from(values.collect::<Vec<_>>().as_slice());
        for t in 0..3 {
            let x = Row::from(x.row(t));
            let sum = |w: &Tensor<f64>, h: &Row<f64>, u: &Tensor<f64>, b: &[f64]| {
                ball.add(&ball.add(&ball.matvec(w, h), &ball.matvec(u, &x)), &Row::from(b))
            };
            let gate = |k: usize| {
                let (w, u) = (part(gru.gates.value(), k, M), part(gru.input.value(), k, D));
                let inner = ball.log0(&sum(&w, &h, &u, gru.gate_biases.value().row(k)));
                row(&mut inner.iter().map(|t| 1.0 / (1.0 + (-t).exp())))
            };
            let times = |d: &Row<f64>, x: &Row<f64>| {
                ball.map(x, |v| row(&mut d.iter().zip(v.iter()).map(|(d, v)| d * v)))
            };
            let tanh = |x: &Row<f64>| ball.map(x, |v| row(&mut v.iter().map(|v| v.tanh())));
            let (r, z) = (gate(0), gate(1));
            let u = part(gru.input.value(), 2, D);
            let candidate = tanh(&sum(gru.hidden.value(), &times(&r, &h), &u, gru.bias.value().data()));
            h = ball.add(&h, &times(&z, &ball.add(&ball.neg(&h), &candidate)));
            g = tanh(&sum(rnn.hidden.value(), &g, rnn.input.value(), rnn.bias.value().data()));
        }
        close(&last(&gru, ball, &x, None), &Tensor::new([1, M], h.to_vec()), 1e-14);
        close(&last(&rnn, ball, &x, None), &Tensor::new([1, M], g.to_vec()), 1e-14);
    }
}

/// Law 53: with z = 0 the state stays the same; with z = 1 it becomes the candidate.
#[test]
fn the_update_gate_chooses() {
    // The bias is so far out that σ is 0 and 1 to the bit.
    let ball = space(-1e-4);
    let mut gru = gru(ball, 6);
    let x = sequences(&ball, 1, 5, 6);
    let h = points(&ball, 5, M, 1.0, &mut rng::stream(6, 1, 0));
    let step = |gru: &Gru<Stereographic, f64>| {
        let tape = Tape::new();
        let inputs = gru.input_terms(&ball, tape.constant(&x)).reshape([5, 3, M]);
        gru.step(&ball, tape.constant(&h), inputs).to_tensor()
    };
    let set = |gru: &mut Gru<Stereographic, f64>, to: f64| {
        let b = ball.exp0(&Row::from([to; M]));
        gru.gate_biases.value_mut().row_mut(1).copy_from_slice(&b);
    };
    set(&mut gru, -760.0);
    close(&step(&gru), &h, 1e-14);
    set(&mut gru, 400.0);
    let chosen = step(&gru);
    // The candidate by a reset gate of the same layer: from the origin, h̃ is what the state becomes.
    let mut by_candidate = Tensor::zeros([5, M]);
    for i in 0..5 {
        let x = Row::from(x.row(i));
        let part = |stacked: &Tensor<f64>, k: usize, width: usize| {
            Tensor::new([M, width], stacked.data()[k * M * width..(k + 1) * M * width].to_vec())
        };
        let h = Row::from(h.row(i));
        let wh = ball.matvec(&part(gru.gates.value(), 0, M), &h);
        let ux = ball.matvec(&part(gru.input.value(), 0, D), &x);
        let r = ball.log0(&ball.add(&ball.add(&wh, &ux), &Row::from(gru.gate_biases.value().row(0))));
        let reset = ball.map(&h, |v| {
            let scaled: Vec<f64> = v.iter().zip(r.iter()).map(|(v, r)| v / (1.0 + (-r).exp())).collect();
            Row::from(scaled.as_slice())
        });
        let ux = ball.matvec(&part(gru.input.value(), 2, D), &x);
        let inner = ball.add(&ball.matvec(gru.hidden.value(), &reset), &ux);
        let inner = ball.add(&inner, &Row::from(gru.bias.value().data()));
        let candidate =
            ball.map(&inner, |v| Row::from(v.iter().map(|v| v.tanh()).collect::<Vec<_>>().as_slice()));
        by_candidate.row_mut(i).copy_from_slice(&candidate);
    }
    close(&chosen, &by_candidate, 1e-13);
}

/// Law 53: zero weights, biases and states stay at zero, to the bit.
#[test]
fn nothing_comes_of_nothing() {
    let ball = space(-1.0);
    let mut gru = gru(ball, 7);
    let zeros = gru.state().into_iter().map(|(name, value)| (name, Tensor::zeros(value.shape().clone())));
    gru.load_state(zeros.collect()).unwrap();
    assert_eq!(last(&gru, ball, &sequences(&ball, 5, 2, 7), None), Tensor::zeros([2, M]));
}

/// A sequence in a padded batch has the same states as alone, to the bit, whatever the padding is. The
/// padding has no gradient.
#[test]
fn padding_changes_nothing() {
    let ball = space(-1.0);
    let cell = gru(ball, 8);
    let lengths = [4, 2, 0, 6, 1];
    let x = sequences(&ball, 7, 5, 8);
    let whole = last(&cell, ball, &x, Some(&lengths));
    for (b, &n) in lengths.iter().enumerate() {
        let alone = Tensor::from_fn([n, 1, D], |i| x.row(i / D * 5 + b)[i % D]);
        let want = if n == 0 { Tensor::zeros([1, M]) } else { last(&cell, ball, &alone, None) };
        assert_eq!(whole.row(b), want.row(0), "sequence {b}");
    }
    let mut other = sequences(&ball, 7, 5, 9);
    for i in 0..35 {
        if i / 5 < lengths[i % 5] {
            other.row_mut(i).copy_from_slice(x.row(i));
        }
    }
    assert_eq!(last(&cell, ball, &other, Some(&lengths)), whole);

    let tape = Tape::new();
    let input = tape.variable(&x);
    let states = cell.forward(Sequence::new(Point::new(ball, input)).with_lengths(&lengths));
    assert_eq!(states.len(), 6);
    assert_eq!(read(&states.points()).data()[5 * 5 * M..], *read(&states.last()).data());
    let gradients = tape.backward(states.last().coordinates().square().sum());
    let slope = gradients.wrt(input).data().to_vec();
    for i in 0..35 {
        let within = i / 5 < lengths[i % 5];
        assert!(slope[i * D..(i + 1) * D].iter().all(|s| (*s != 0.0) == within), "element {i}");
    }
}

/// The backward cell reads each sequence from that sequence's own end.
#[test]
fn backward_is_forward_of_the_mirror_image() {
    let ball = space(-0.5);
    let cells = Bidirectional { onward: gru(ball, 10), backward: gru(ball, 11) };
    let lengths = [3, 5, 1];
    let x = sequences(&ball, 5, 3, 10);
    let mirrored = Tensor::from_fn([5, 3, D], |i| {
        let (t, b, n) = (i / (3 * D), i / D % 3, lengths[i / D % 3]);
        x.row(if t < n { (n - 1 - t) * 3 + b } else { t * 3 + b })[i % D]
    });
    let tape = Tape::new();
    let [onward, backward] = cells.forward(sequence(&tape, ball, &x, Some(&lengths)));
    assert_eq!(read(&onward.last()), last(&cells.onward, ball, &x, Some(&lengths)));
    assert_eq!(read(&backward.last()), last(&cells.backward, ball, &mirrored, Some(&lengths)));
    assert_eq!(backward.len(), 5);
}

/// With a variable curvature, the layer computes the same as with that curvature fixed. Its biases are
/// tangent vectors.
#[test]
fn a_gru_of_variable_curvature() {
    let ball = space(-0.7);
    let moving = gru(Euclidean, 12);
    let mut fixed = gru(ball, 13);
    let mut state = moving.state();
    for (_, value) in state.iter_mut().filter(|(name, _)| name.contains("bias")) {
        for i in 0..value.len() / M {
            let point = ball.exp0(&Row::from(value.row(i)));
            value.row_mut(i).copy_from_slice(&point);
        }
    }
    fixed.load_state(state).unwrap();
    let x = sequences(&ball, 4, 2, 12);
    let tape = Tape::new();
    let space = Curvature::new(-0.7).on(&tape);
    let states = moving.forward(Point::new(space, tape.constant(&x)));
    close(&states.last().coordinates().to_tensor(), &last(&fixed, ball, &x, None), 1e-14);
}

/// The layer's activation is used.
#[test]
fn the_activation_can_be_chosen() {
    let ball = space(-1.0);
    let mut gru = gru(ball, 14);
    let x = sequences(&ball, 2, 2, 14);
    let tanh = last(&gru, ball, &x, None);
    gru.activation = Activation::RELU;
    assert!(difference(&last(&gru, ball, &x, None), &tanh) > 1e-3);
}

/// A cell over the states of another: in a padded batch each sequence has the states that it has alone.
#[test]
fn cells_are_stacked() {
    let ball = space(-1.0);
    let first = gru(ball, 15);
    let mut second = Rnn::new(ball, M, 2, &mut rng::stream(0, 0, 0));
    scatter(&mut second, 0.5, 16);
    let (x, lengths) = (sequences(&ball, 4, 2, 15), [4, 2]);
    let tape = Tape::new();
    let states = first.forward(sequence(&tape, ball, &x, Some(&lengths)));
    let stacked = second.forward(states.clone());
    for (b, n) in lengths.into_iter().enumerate() {
        let alone = Tensor::from_fn([n, 1, D], |i| x.row(i / D * 2 + b)[i % D]);
        let alone = second.forward(first.forward(on(&tape, ball, &alone)));
        assert_eq!(read(&stacked.last()).row(b), read(&alone.last()).row(0));
    }
    // Elements of stacked points are those of the steps, and shorter lengths end earlier.
    let points = Sequence::new(states.points());
    assert_eq!(read(&points.element(1)), read(&states.element(1)));
    let shorter = read(&states.clone().with_lengths(&[3, 1]).last());
    assert_eq!(shorter.row(0), read(&states.element(2)).row(0));
    assert_eq!(shorter.row(1), read(&states.element(0)).row(1));
    let reversed = read(&states.reversed().element(0));
    assert_eq!(reversed.row(1), read(&states.element(1)).row(1));
}
