//! The bound on the likelihood, by which variances are learned: Ho et al. 2020, eq. 5; Nichol & Dhariwal 2021
//! (*Improved DDPM*), section 3.1.

use std::f64::consts::{LN_2, PI};

use cotangent::prelude::*;

use super::diffusion::Diffusion;
use super::model::Prediction;
use super::training::Noised;

/// Half of the distance between neighbouring values of pixels, which go from −1 to 1.
const HALF_BIN: f64 = 1.0 / 255.0;

/// The terms of the bound at the times of the pictures, in bits per number, their mean. Only the variances get
/// gradients: the noise is taken as it is. At time 0 the term is the negative logarithm of the probability of a
/// pixel's value, at others the divergence of the step that was predicted from the step that is right. `None`
/// if no variances are learned.
pub(super) fn bound<'t>(
    diffusion: &Diffusion,
    noised: &Noised,
    prediction: Prediction<'t>,
) -> Option<Var<'t, f32>> {
    let place = prediction.variance?;
    let (tape, shape, n) = (place.tape(), place.shape(), noised.times.len());
    let (count, size) = (shape.elements(), shape.elements() / n);
    let terms: Vec<[f64; 3]> = noised.times.iter().map(|&time| diffusion.bound(time)).collect();
    let of_pictures = |number: &dyn Fn(usize) -> f64| {
        tape.constant_with([n, 1, 1], |to| (0..n).for_each(|i| to[i] = number(i) as f32))
    };
    // By how much the means of the steps are wrong.
    let errors = prediction.noise.with_data(|predicted| {
        let pairs = predicted.iter().zip(&noised.numbers[1]).enumerate();
        pairs
            .map(|(i, (predicted, noise))| terms[i / size][0] as f32 * (predicted - noise))
            .collect::<Vec<_>>()
    });
    let log = place * of_pictures(&|i| terms[i][2] - terms[i][1]) + of_pictures(&|i| terms[i][1]);
    let excess = log - of_pictures(&|i| terms[i][1]);
    let squares = tape.constant_with(shape, |to| to.iter_mut().zip(&errors).for_each(|(to, x)| *to = x * x));
    let divergence = (excess + (-excess).exp() + (-log).exp() * squares - 1.0) * 0.5;
    let is_later = of_pictures(&|i| f64::from(u8::from(noised.times[i] > 0)));
    let mut sum = (divergence * is_later).sum();
    for i in (0..n).filter(|&i| noised.times[i] == 0) {
        let own = i * size..(i + 1) * size;
        let data = diffusion.data(noised.numbers.each_ref().map(|numbers| &numbers[own.clone()]), 0);
        let log = log.slice(0, i..i + 1).reshape([size]);
        sum = sum + surprise(log, &errors[own], &data);
    }
    Some(sum * (1.0 / (LN_2 * count as f64)))
}

/// The negative logarithms of the probabilities of pixels, their sum. Their values are rounded from normal
/// numbers, whose means differ from them by `errors` and whose variances have these logarithms. The least and the
/// largest value stand for all beyond, too.
pub(super) fn surprise<'t>(log: Var<'t, f32>, errors: &[f32], data: &[f32]) -> Var<'t, f32> {
    let tape = log.tape();
    let scale = (log * -0.5).exp();
    let below = |edge: f64, beyond: &dyn Fn(f32) -> bool, share: f32| {
        let constant = |number: &dyn Fn(usize) -> f32| {
            tape.constant_with(log.shape(), |to| {
                to.iter_mut().enumerate().for_each(|(i, to)| *to = number(i))
            })
        };
        let share_below = normal_share(constant(&|i| errors[i] + edge as f32) * scale);
        let inside = constant(&|i| if beyond(data[i]) { 0.0 } else { 1.0 });
        share_below * inside + constant(&|i| if beyond(data[i]) { share } else { 0.0 })
    };
    let upper = below(HALF_BIN, &|x| x > 0.999, 1.0);
    let lower = below(-HALF_BIN, &|x| x < -0.999, 0.0);
    -(upper - lower + 1e-12).ln().sum()
}

/// The share of a standard normal distribution that is below x, by Page's approximation (1977), whose error is
/// below 2e-4.
fn normal_share(x: Var<'_, f32>) -> Var<'_, f32> {
    ((x + x.square() * x * 0.044_715) * (8.0 / PI).sqrt()).sigmoid()
}
