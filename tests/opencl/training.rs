//! Training loops on a device: parameters and state stay there, and the results are those of the
//! processor.

use cotangent::engine::loss::cross_entropy;
use cotangent::manifolds::Stereographic;
use cotangent::optim::Algorithm;
use cotangent::optim::Optimiser;
use cotangent::prelude::*;
use rand::RngExt;

use crate::{device, difference};

/// Embeds a ring in the ball by some optimiser steps. Every point is pulled to a neighbour and pushed away
/// from a distant one. The gradients are row-sparse.
fn embed<A: Algorithm, T: Float>(mut optimiser: Optimiser<A, T>, device: &Device) -> Tensor<T> {
    let (ball, n, mut rng) = (Stereographic::new(-1.0), 40_u32, rng::stream(3, 0, 0));
    let start = Tensor::from_fn([n as usize, 5], |_| T::nearest(rng.random_range(-0.1..0.1)));
    let mut points = Param::new("points", ball, start);
    let mut tape = Tape::with_device(device.clone());
    for step in 0..20 {
        tape.reset();
        let left: Vec<u32> = (0..16).map(|i| (i * 7 + step * 3) % n).collect();
        let shifted = |by: u32| -> Vec<u32> { left.iter().map(|i| (i + by) % n).collect() };
        let table = *points.on(&tape).coordinates();
        let gathered = |rows: &[u32]| Point::new(ball, table.gather(rows));
        let (u, neighbour) = (gathered(&left), gathered(&shifted(1)));
        let distant = gathered(&shifted(n / 2));
        let loss = (u.dist(&neighbour) - u.dist(&distant)).softplus().sum();
        let gradients = tape.backward(loss);
        optimiser.step(&mut points, &gradients).unwrap();
    }
    points.value().clone()
}

/// The steps amplify rounding errors. After 20 of them, the points of device and processor still agree to
/// some digits of their type.
fn assert_same_embedding<A: Algorithm, T: Float>(new: impl Fn() -> Optimiser<A, T>) {
    let Some(device) = device() else { return };
    let (got, want) = (embed(new(), &device), embed(new(), &Device::cpu()));
    let difference = difference(&got, &want);
    assert!(difference <= 1000.0, "{} {difference} ulp", T::NAME);
    assert_eq!(got, embed(new(), &device), "two runs differ");
}

#[test]
fn riemannian_sgd() {
    assert_same_embedding(|| RiemannianSgd::<f64>::new(0.1).unwrap());
    assert_same_embedding(|| RiemannianSgd::<f32>::new(0.1).unwrap());
    assert_same_embedding(|| RiemannianSgd::<f64>::new(0.1).unwrap().nesterov(0.9).unwrap());
    assert_same_embedding(|| RiemannianSgd::<f64>::new(0.1).unwrap().decay(0.01).unwrap());
}

#[test]
fn riemannian_adam() {
    assert_same_embedding(|| RiemannianAdam::<f64>::new(0.01).unwrap());
    assert_same_embedding(|| RiemannianAdam::<f64>::new(0.01).unwrap().amsgrad());
    assert_same_embedding(|| RiemannianAdam::<f32>::new(0.01).unwrap());
    assert_same_embedding(|| RiemannianAdam::<f64>::new(0.01).unwrap().sgd_on_curved(5.0).unwrap());
    assert_same_embedding(|| RiemannianSgd::<f64>::new(0.1).unwrap().clip_each(0.5).unwrap());
}

/// A small convolutional classifier with dropout: its losses, step by step, and its parameters.
fn classify(device: &Device) -> (Vec<f64>, Vec<Tensor<f32>>) {
    let mut rng = rng::stream(8, 0, 0);
    let mut tensor = |name: &str, shape: &[usize], range: f32| {
        Param::new(name, Euclidean, Tensor::from_fn(shape, |_| rng.random_range(-range..=range)))
    };
    let mut params = [
        tensor("filters", &[4, 1, 3, 3], 0.4),
        tensor("bias", &[4, 1, 1], 0.1),
        tensor("hidden", &[64, 16], 0.2),
        tensor("gain", &[16], 1.0),
        tensor("shift", &[16], 0.1),
        tensor("out", &[16, 2], 0.3),
    ];
    let mut adam = RiemannianAdam::new(0.01).unwrap();
    let (mut data, mut losses) = (rng::stream(8, 1, 0), Vec::new());
    let mut tape = Tape::with_device(device.clone());
    for _ in 0..30 {
        // Horizontal and vertical bars.
        let labels: Vec<u32> = (0..16).map(|_| data.random_range(0..2)).collect();
        let mut pixels = Vec::new();
        for &label in &labels {
            let at: usize = data.random_range(0..8);
            let inside = |p: usize| if label == 0 { p / 8 == at } else { p % 8 == at };
            pixels.extend((0..64).map(|p| f32::from(inside(p)) + data.random_range(-0.2..0.2)));
        }
        tape.reset();
        tape.training(rng::stream(8, 2, losses.len() as u64));
        let [filters, bias, hidden, gain, shift, out] = [0, 1, 2, 3, 4, 5].map(|i| *params[i].on(&tape));
        let pictures = tape.constant(&Tensor::new([16, 1, 8, 8], pixels));
        let maps = (pictures.conv2d(filters, 1, 1) + bias).relu().max_pool2d(2, 2);
        let hidden = maps.reshape([16, 64]).matmul(hidden).layer_norm(gain, shift, 1e-5).gelu();
        let loss = cross_entropy(hidden.dropout(0.1).matmul(out), &labels, 0.05);
        losses.push(loss.item());
        let gradients = tape.backward(loss);
        for param in &mut params {
            adam.step(param, &gradients).unwrap();
        }
    }
    (losses, params.iter().map(|param| param.value().clone()).collect())
}

#[test]
fn a_classifier() {
    let Some(device) = device() else { return };
    let (got, want) = (classify(&device), classify(&Device::cpu()));
    // It learns, and its losses are those of the processor. The tolerance allows for 30 steps that amplify
    // rounding errors.
    assert!(got.0[29] < 0.5 * got.0[0], "{:?}", got.0);
    for (a, b) in got.0.iter().zip(&want.0) {
        assert!((a - b).abs() <= 1e-3 * b, "{a} {b}");
    }
    assert_eq!(got, classify(&device), "two runs differ");
}

/// The last states of a reader of pictures, statistics of its maps, and the gradients of its parameters:
/// convolution, batch normalisation, long short-term memory on the ball.
fn read_pictures<T: Float>(device: &Device) -> Vec<Tensor<T>> {
    let (ball, rng) = (PoincareBall::new(-1.0), &mut rng::stream(5, "initial", 0));
    let (stack, lstm) = (ConvStack::<T>::new(&[2, 3], 3, 3, rng), Lstm::<_, T>::new(ball, 3, 4, rng));
    let tape = Tape::with_device(device.clone());
    let pictures = Tensor::from_fn([4, 2, 9, 7], |i| T::nearest(((i * 37 + 11) as f64).sin()));
    let (maps, batch) = stack.forward_batch(tape.variable(&pictures)); // [4, 3, 3, 3]
    let places = exp0(ball, maps.reshape([4, 3, 9]).permute(&[2, 0, 1]) * 0.3);
    let states = lstm.forward(Sequence::new(places).with_lengths(&[9, 4, 7, 1]));
    let last = *states.last().coordinates();
    let mut all = vec![last.to_tensor(), batch[0].mean.clone(), batch[0].variance.clone()];
    let gradients = tape.backward(last.square().sum());
    let (convolution, norm) = (&stack.convolutions[0], &stack.norms[0]);
    let flat = [&convolution.filters, &norm.scale, &norm.bias, &lstm.input, &lstm.hidden];
    all.extend(flat.map(|param| gradients.wrt(param)));
    all.push(gradients.wrt(&lstm.biases));
    all
}

#[test]
fn a_reader_of_pictures() {
    fn check<T: Float>() {
        let Some(device) = device() else { return };
        let (got, want) = (read_pictures::<T>(&device), read_pictures::<T>(&Device::cpu()));
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            let difference = difference(got, want);
            assert!(difference <= 64.0, "{}, output {k}: {difference} ulp", T::NAME);
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn what_is_not_finite_is_named_and_changes_nothing() {
    let Some(device) = device() else { return };
    let mut x = Param::new("weights", Euclidean, Tensor::new([2, 1], vec![1.0_f64, 0.0]));
    let before = x.value().clone();
    let tape = Tape::with_device(device.clone());
    let gradients = tape.backward(x.on(&tape).ln().sum());
    let error = RiemannianSgd::new(0.1).unwrap().step(&mut x, &gradients).unwrap_err();
    assert_eq!(error.to_string(), {
        let tape = Tape::new();
        let gradients = tape.backward(x.on(&tape).ln().sum());
        RiemannianSgd::new(0.1).unwrap().step(&mut x, &gradients).unwrap_err().to_string()
    });
    assert_eq!(*x.value(), before);
    // A finite gradient whose step overflows: that row stays.
    let huge = Tensor::new([2, 1], vec![f64::MAX, 1.0]);
    let tape = Tape::with_device(device);
    let gradients = tape.backward_from(x.on(&tape) * 1.0, &huge);
    assert!(RiemannianSgd::new(10.0).unwrap().step(&mut x, &gradients).is_err());
    assert_eq!(x.value().data(), [1.0, -10.0]);
}

#[test]
fn a_norm_that_is_not_finite_is_named_and_changes_nothing() {
    let Some(device) = device() else { return };
    let param = |name: &str| Param::new(name, Euclidean, Tensor::new([1, 2], vec![1.0_f32, 2.0]));
    let mut model = [param("a"), param("b")];
    let before = model.state();
    let tape = Tape::with_device(device);
    let [a, b] = model.each_ref().map(|param| *param.on(&tape));
    let gradients = tape.backward((a + b * 3e38).sum());
    let mut adam = RiemannianAdam::new(0.1).unwrap().clip(1.0).unwrap();
    let message = adam.step(&mut model, &gradients).unwrap_err().to_string();
    assert!(message.starts_with("parameter \"1\": with its gradient the norm of all is inf"), "{message}");
    assert_eq!(model.state(), before);
}

/// In a product, no part of a row changes if one of its factors would not be finite, as on the processor. If
/// weight decay finds no geodesic, the error says so.
#[test]
fn rows_whose_step_is_not_finite_stay() {
    use cotangent::manifolds::{Product, Stiefel};
    let Some(device) = device() else { return };
    fn step<M: Steps>(m: M, values: &[f32], last: f32, decay: f64, device: &Device) -> (String, Tensor<f32>) {
        let mut x = Param::new("x", m, Tensor::new([2, values.len() / 2], values.to_vec()));
        let weights =
            Tensor::from_fn([2, values.len() / 2], |i| if i + 1 == values.len() { last } else { 0.1 });
        let tape = Tape::with_device(device.clone());
        let gradients = tape.backward_from(*x.on(&tape).coordinates() * 1.0, &weights);
        let mut adam = RiemannianAdam::new(0.1).unwrap().decay(decay).unwrap();
        let message = adam.step(&mut x, &gradients).unwrap_err().to_string();
        (message, x.value().clone())
    }
    let product = Product::new(Stereographic::new(-1.0), 2, Euclidean);
    let start = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    let (message, moved) = step(product, &start, 1e20, 0.0, &device);
    assert_eq!(message, step(product, &start, 1e20, 0.0, &Device::cpu()).0);
    assert!(message.starts_with("parameter \"x\": the step of row 1 is not finite"), "{message}");
    assert_eq!(moved.row(1), &start[3..]);
    assert_ne!(moved.row(0), &start[..3]);
    let frames = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0];
    let (message, moved) = step(Stiefel::new(2, 2), &frames, 0.1, 0.1, &device);
    assert_eq!(message, step(Stiefel::new(2, 2), &frames, 0.1, 0.1, &Device::cpu()).0);
    assert!(message.contains("no geodesic to the manifold's origin"), "{message}");
    assert_eq!(moved.row(1), &frames[4..]);
}
