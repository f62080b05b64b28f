//! The bound on the likelihood, by which variances are learned: Ho et al. 2020, eq. 5; Nichol & Dhariwal 2021
//! (*Improved DDPM*), section 3.1.

use std::f64::consts::{LN_2, PI};

use cotangent::prelude::*;

use super::diffusion::{Diffusion, Noised};
use super::model::Prediction;

/// Half of the distance between neighbouring values of pixels, which go from −1 to 1.
const HALF_BIN: f64 = 1.0 / 255.0;

/// The mean of the bound's terms at the times of the pictures, in bits per number. Only the variances get
/// gradients: the noise is taken as it is. At time 0 a term is the negative logarithm of the probability
/// of a pixel's value, also for latents, as in the released program of DiT. At other times it is the
/// divergence of the predicted step from the right one. `noise` is that in the pictures. `None` if no
/// variances are learned.
pub(super) fn bound<'t>(
    diffusion: &Diffusion,
    noised: &Noised,
    noise: Var<'t, f32>,
    prediction: Prediction<'t>,
) -> Option<Var<'t, f32>> {
    let place = prediction.place?;
    let (tape, n, count) = (place.tape(), noised.times.len(), place.shape().elements());
    let terms: Vec<[f64; 3]> = noised.times.iter().map(|&time| diffusion.bound_terms(time)).collect();
    let for_pictures = |number: &dyn Fn(usize) -> f64| {
        tape.constant_with([n, 1, 1], |to| (0..n).for_each(|i| to[i] = number(i) as f32))
    };
    // A copy has no gradient.
    let predicted = tape.constant(&prediction.noise.to_tensor());
    // By how much the means of the steps are wrong.
    let errors = (predicted - noise) * for_pictures(&|i| terms[i][0]);
    // Of ln σ², what is above ln β̃.
    let excess = place * for_pictures(&|i| terms[i][2] - terms[i][1]);
    let log = excess + for_pictures(&|i| terms[i][1]);
    let divergence = (excess + (-excess).exp() + (-log).exp() * errors.square() - 1.0) * 0.5;
    let is_later = for_pictures(&|i| f64::from(u8::from(noised.times[i] > 0)));
    let mut sum = (divergence * is_later).sum();
    let size = count / n;
    for i in (0..n).filter(|&i| noised.times[i] == 0) {
        let data = diffusion.data(noised.numbers.each_ref().map(|all| &all[i * size..(i + 1) * size]), 0);
        let [log, errors] = [log, errors].map(|all| all.slice(0, i..i + 1).reshape([size]));
        sum = sum + surprise(log, errors, &data);
    }
    Some(sum * (1.0 / (LN_2 * count as f64)))
}

/// The sum of the negative logarithms of pixels' probabilities. A pixel's value is a normal number, rounded.
/// `log` holds the logarithms of the variances, and `errors` the values less the means. The least and the
/// largest value stand for all beyond, too.
pub(super) fn surprise<'t>(log: Var<'t, f32>, errors: Var<'t, f32>, data: &[f32]) -> Var<'t, f32> {
    let tape = log.tape();
    let marked = |is_marked: &dyn Fn(f32) -> bool| {
        tape.constant_with([data.len()], |to| {
            to.iter_mut().zip(data).for_each(|(to, &x)| *to = f32::from(u8::from(is_marked(x))));
        })
    };
    let (lowest, highest) = (marked(&|x| x < -0.999), marked(&|x| x > 0.999));
    let inside = marked(&|x| (-0.999..=0.999).contains(&x));
    // Both edges of a value are taken on the side of the mean where shares are small: near 1 their difference
    // would cancel.
    let near = -errors.abs();
    let upper = near * inside + errors * lowest - errors * highest + HALF_BIN;
    let scale = (log * -0.5).exp();
    let probability = normal_share(upper * scale) - inside * normal_share((near - HALF_BIN) * scale);
    -((probability - 1e-12).relu() + 1e-12).ln().sum()
}

/// The share of a standard normal distribution that is below x, by Page's approximation (1977), whose error
/// is below 2e-4.
fn normal_share(x: Var<'_, f32>) -> Var<'_, f32> {
    ((x + x.square() * x * 0.044_715) * (8.0 / PI).sqrt()).sigmoid()
}
