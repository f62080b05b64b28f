//! Wrong optimisers that have been released elsewhere. For each, a law that the right one obeys and the
//! wrong one breaks.

mod common;

use common::*;
use cotangent_engine::{Row, Tape, Tensor, rng};
use cotangent_manifolds::{Manifold, Param, Stereographic};
use cotangent_optim::{RiemannianAdam, RiemannianSgd};

/// The fault of an optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// No fault.
    None,
    /// The momentum starts from the gradient with respect to the coordinates.
    StartedFromEuclideanGradient,
    /// The momentum is not transported when its point moves.
    NotTransported,
    /// The step counter is increased twice per step.
    CountedTwice,
}
use Fault::*;

const RATE: f64 = 0.4;
const MU: f64 = 0.5;
const STEPS: i32 = 6;

fn ball() -> Stereographic {
    Stereographic::new(-1.0)
}

fn start_and_target() -> [Row<f64>; 2] {
    let mut rng = rng::stream(12, 0, 0);
    [(); 2].map(|()| ball().random_point(3, 1.5, &mut rng))
}

fn scaled(v: &Row<f64>, t: f64) -> Row<f64> {
    Row::from(v.iter().map(|v| t * v).collect::<Vec<_>>().as_slice())
}

fn table(x: &Row<f64>) -> Tensor<f64> {
    Tensor::new([1, x.len()], x.to_vec())
}

/// The end point of momentum steps: the point is pulled to a target in the first step only.
fn glide(fault: Fault) -> Row<f64> {
    let (m, [mut x, target]) = (ball(), start_and_target());
    // The Riemannian gradient of half the squared distance.
    let mut momentum = scaled(&m.log(&x, &target), -1.0);
    if fault == StartedFromEuclideanGradient {
        let conversion = m.egrad_to_rgrad(&x, &momentum);
        momentum = scaled(&momentum, momentum[0] / conversion[0]);
    }
    for _ in 0..STEPS {
        let next = m.exp(&x, &scaled(&momentum, -RATE));
        if fault != NotTransported {
            momentum = m.transport(&x, &next, &momentum);
        }
        momentum = scaled(&momentum, MU);
        x = next;
    }
    x
}

/// Laws 23 and 61: the point moves along the geodesic to its target, and each step is `MU` times as long
/// as the one before.
fn glides(end: &Row<f64>) -> bool {
    let (m, [start, target]) = (ball(), start_and_target());
    let part = RATE * (0..STEPS).map(|k| MU.powi(k)).sum::<f64>();
    m.dist(end, &m.geodesic(&start, &target, &part)) < 1e-12
}

#[test]
fn momenta() {
    let [start, target] = start_and_target();
    let mut x = Param::new("x", ball(), table(&start));
    let mut sgd = RiemannianSgd::new(RATE).unwrap().momentum(MU).unwrap();
    for step in 0..STEPS {
        let tape = Tape::new();
        let loss = pull(&x.on(&tape), &table(&target)) * if step == 0 { 1.0 } else { 0.0 };
        sgd.step(&mut x, &tape.backward(loss)).unwrap();
    }
    assert!(glides(&Row::from(x.value().data())), "the optimiser");
    assert!(glides(&glide(None)), "its definition");
    for fault in [StartedFromEuclideanGradient, NotTransported] {
        assert!(!glides(&glide(fault)), "{fault:?}");
    }
}

/// The length of Adam's first step is the rate, for any gradient (Kingma & Ba 2015, section 2.1).
fn first_step(x: &Row<f64>) -> bool {
    (ball().dist(&start_and_target()[0], x) / RATE - 1.0).abs() < 1e-6
}

fn adam(fault: Fault) -> Row<f64> {
    let (m, [x, target]) = (ball(), start_and_target());
    let (b1, b2, epsilon) = (0.9_f64, 0.999_f64, 1e-8);
    let gradient = scaled(&m.log(&x, &target), -1.0);
    let t = if fault == CountedTwice { 2 } else { 1 };
    let first = (1.0 - b1) / (1.0 - b1.powi(t));
    let second = ((1.0 - b2) / (1.0 - b2.powi(t))).sqrt() * m.norm(&x, &gradient);
    m.exp(&x, &scaled(&gradient, -RATE * first / (second + epsilon)))
}

#[test]
fn step_counters() {
    let [start, target] = start_and_target();
    let mut x = Param::new("x", ball(), table(&start));
    let tape = Tape::new();
    let gradients = tape.backward(pull(&x.on(&tape), &table(&target)));
    RiemannianAdam::new(RATE).unwrap().step(&mut x, &gradients).unwrap();
    assert!(first_step(&Row::from(x.value().data())), "the optimiser");
    assert!(first_step(&adam(None)), "its definition");
    assert!(!first_step(&adam(CountedTwice)));
}
