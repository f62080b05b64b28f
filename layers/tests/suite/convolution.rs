//! Convolution of images and batch normalisation of maps, against plain loops.

use cotangent_engine::{Tape, Tensor, rng};
use cotangent_layers::{BatchNorm2d, BatchStatistics, Conv2d, ConvStack};
use cotangent_manifolds::Module;

use super::*;

/// Images `[3, 2, 5, 4]`, whose channels have means and deviations of their own.
fn images(seed: u64) -> Tensor<f64> {
    let noise = uniform(&[3, 2, 5, 4], 1.0, &mut rng::stream(seed, 0, 0));
    Tensor::from_fn([3, 2, 5, 4], |i| [3.0, -50.0][channel(i)] + [0.5, 20.0][channel(i)] * noise.data()[i])
}

/// The channel of an element of [`images`].
fn channel(element: usize) -> usize {
    element / (5 * 4) % 2
}

/// Mean and variance of each channel, in plain loops.
fn moments(x: &Tensor<f64>) -> [[f64; 2]; 2] {
    let n = x.len() as f64 / 2.0;
    let mean_of = |number: &dyn Fn(usize) -> f64| {
        [0, 1].map(|c| (0..x.len()).filter(|&i| channel(i) == c).map(number).sum::<f64>() / n)
    };
    let mean = mean_of(&|i| x.data()[i]);
    [mean, mean_of(&|i| (x.data()[i] - mean[channel(i)]).powi(2))]
}

fn value<'t>(y: Var<'t, f64>) -> Tensor<f64> {
    y.to_tensor()
}

/// `β + γ (x − m)/√(v + 10⁻⁵)`.
fn normalised(x: &Tensor<f64>, norm: &BatchNorm2d<f64>, mean: &[f64], variance: &[f64]) -> Tensor<f64> {
    let (bias, scale) = (norm.bias.value().data(), norm.scale.value().data());
    Tensor::from_fn(x.shape().clone(), |i| {
        let c = channel(i);
        bias[c] + scale[c] * (x.data()[i] - mean[c]) / (variance[c] + 1e-5).sqrt()
    })
}

#[test]
fn a_convolution_adds_its_bias_to_each_filter() {
    let mut conv = Conv2d { stride: 2, padding: 1, ..Conv2d::new(2, 3, 3, &mut rng::stream(1, 0, 0)) };
    scatter(&mut conv, 0.5, 1);
    let x = images(1);
    let tape = Tape::new();
    let got = value(conv.forward(tape.constant(&x)));
    assert_eq!(got.shape().axes(), [3, 3, 3, 2]);
    let want = Tensor::from_fn([3, 3, 3, 2], |p| {
        let (px, py, f, b) = (p % 2, p / 2 % 3, p / 6 % 3, p / 18);
        let mut sum = conv.bias.as_ref().unwrap().value().data()[f];
        for (c, k) in (0..2).flat_map(|c| (0..9).map(move |k| (c, k))) {
            let (y, x_at) = (2 * py + k / 3, 2 * px + k % 3);
            if (1..6).contains(&y) && (1..5).contains(&x_at) {
                let pixel = x.data()[((b * 2 + c) * 5 + y - 1) * 4 + x_at - 1];
                sum += pixel * conv.filters.value().data()[(f * 2 + c) * 9 + k];
            }
        }
        sum
    });
    close(&got, &want, 1e-12);
    let without = conv.clone().without_bias();
    let added = Tensor::from_fn([3, 3, 3, 2], |p| conv.bias.as_ref().unwrap().value().data()[p / 6 % 3]);
    let bare = value(without.forward(tape.constant(&x)));
    close(&Tensor::from_fn(bare.shape().clone(), |i| bare.data()[i] + added.data()[i]), &want, 1e-12);
}

/// The variance of the weights is 2 by the number of elements under a filter: He et al. 2015, eq. 10.
#[test]
fn filters_start_as_for_a_relu() {
    let conv = Conv2d::<f64>::new(8, 40, 5, &mut rng::stream(2, 0, 0));
    assert_eq!(conv.filters.value().shape().axes(), [40, 8, 5, 5]);
    let weights = conv.filters.value().data();
    let variance = weights.iter().map(|w| w * w).sum::<f64>() / weights.len() as f64;
    assert!((variance * 200.0 / 2.0 - 1.0).abs() < 0.05, "{variance}");
    assert!(conv.bias.is_some_and(|bias| bias.value().data() == [0.0; 40]));
}

#[test]
fn each_channel_is_brought_to_a_mean_and_a_deviation() {
    let x = images(3);
    let [mean, variance] = moments(&x);
    let mut norm = BatchNorm2d::new(2);
    norm.bias.value_mut().data_mut().copy_from_slice(&[0.3, -0.2]);
    norm.scale.value_mut().data_mut().copy_from_slice(&[1.5, 0.7]);
    let tape = Tape::new();
    let (y, batch) = norm.forward_batch(tape.constant(&x));
    close(&value(y), &normalised(&x, &norm, &mean, &variance), 1e-12);
    // Of 60 numbers for each channel.
    let unbiased = variance.map(|v| v * 60.0 / 59.0);
    close(&batch.mean, &Tensor::new([2], mean.to_vec()), 1e-12);
    close(&batch.variance, &Tensor::new([2], unbiased.to_vec()), 1e-11);
}

#[test]
fn running_statistics_move_towards_those_of_a_batch() {
    let x = images(4);
    let mut norm = BatchNorm2d::new(2);
    let tape = Tape::new();
    // At first the mean is 0 and the variance 1.
    let forward = |norm: &BatchNorm2d<f64>| value(norm.forward(tape.constant(&x)));
    close(&forward(&norm), &normalised(&x, &norm, &[0.0; 2], &[1.0; 2]), 1e-12);
    let batch = BatchStatistics {
        mean: Tensor::new([2], vec![3.0, -40.0]),
        variance: Tensor::new([2], vec![2.0, 101.0]),
    };
    norm.observe(&batch);
    close(norm.mean.value(), &Tensor::new([2], vec![0.3, -4.0]), 1e-14);
    close(norm.variance.value(), &Tensor::new([2], vec![1.1, 11.0]), 1e-14);
    close(&forward(&norm), &normalised(&x, &norm, &[0.3, -4.0], &[1.1, 11.0]), 1e-12);
    norm.momentum = 1.0;
    norm.observe(&batch);
    assert_eq!((norm.mean.value(), norm.variance.value()), (&batch.mean, &batch.variance));
}

/// A stack is its layers one after another. Its names are those of files.
#[test]
fn a_stack_is_its_layers_one_after_another() {
    let mut stack = ConvStack::new(&[2, 3, 4], 3, 2, &mut rng::stream(5, 0, 0));
    scatter(&mut stack, 0.5, 5);
    stack.norms.iter_mut().for_each(|norm| norm.variance.value_mut().data_mut().fill(2.5));
    let names: Vec<String> = stack.state().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..3], ["convolutions.0.filters", "convolutions.1.filters", "norms.0.bias"]);
    let tape = Tape::new();
    let x = tape.constant(&images(5));
    let first = stack.norms[0].forward(stack.convolutions[0].forward(x)).relu();
    let second = stack.norms[1].forward(stack.convolutions[1].forward(first)).relu();
    assert_eq!(second.shape().axes(), [3, 4, 2, 1]);
    assert_eq!(value(stack.forward(x)), value(second));

    let (first, of_first) = stack.norms[0].forward_batch(stack.convolutions[0].forward(x));
    let (second, of_second) = stack.norms[1].forward_batch(stack.convolutions[1].forward(first.relu()));
    let (maps, statistics) = stack.forward_batch(x);
    assert_eq!(value(maps), value(second.relu()));
    assert_eq!(statistics, [of_first, of_second]);
    let mut by_hand = stack.clone();
    stack.observe(&statistics);
    by_hand.norms.iter_mut().zip(&statistics).for_each(|(norm, batch)| norm.observe(batch));
    assert_eq!(stack.state(), by_hand.state());
}

#[test]
#[should_panic(expected = "ConvStack: 1 statistics for 2 layers")]
fn each_layer_of_a_stack_has_statistics() {
    let mut stack = ConvStack::<f64>::new(&[2, 3, 4], 3, 2, &mut rng::stream(5, 0, 0));
    stack.observe(&[BatchStatistics { mean: Tensor::zeros([3]), variance: Tensor::zeros([3]) }]);
}

#[test]
#[should_panic(
    expected = "conv2d: images [batch, channels, h, w] and filters [filters, channels, h, w] are \
                           needed, not [1, 3, 8, 8], [4, 2, 3, 3]"
)]
fn images_have_the_channels_of_the_filters() {
    let tape = Tape::<f64>::new();
    Conv2d::new(2, 4, 3, &mut rng::stream(0, 0, 0)).forward(tape.zeros([1, 3, 8, 8]));
}

#[test]
#[should_panic(expected = "BatchNorm2d: maps of shape [2, 4, 8, 8] where [batch, 3, height, width] fit")]
fn maps_have_the_channels_of_the_layer() {
    let tape = Tape::<f64>::new();
    BatchNorm2d::new(3).forward(tape.zeros([2, 4, 8, 8]));
}

#[test]
#[should_panic(expected = "BatchNorm2d: no variance in maps of shape [1, 3, 1, 1]")]
fn a_channel_has_two_numbers_at_least() {
    let tape = Tape::<f64>::new();
    let _ = BatchNorm2d::new(3).forward_batch(tape.zeros([1, 3, 1, 1]));
}
