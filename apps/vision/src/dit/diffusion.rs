//! The diffusion of data to noise, and back: Ho et al. 2020 (*DDPM*), Song et al. 2021 (*DDIM*).

use cotangent::engine::rng::Rng;
use rand::RngExt;
use rand_distr::StandardNormal;

/// Number of times.
pub(super) const TIMES: usize = 1000;

/// The variances βₜ of the first and the last time; between them they rise linearly. Ho et al. 2020,
/// section 4.
const VARIANCES: [f64; 2] = [1e-4, 0.02];

/// The shares ᾱₜ of the data's variance that are left at each time t, from 0 to 999: the products of
/// 1 − βₛ for s ≤ t. Ho et al. 2020, eq. 4.
pub(super) struct Diffusion {
    left: Vec<f64>,
}

impl Diffusion {
    pub(super) fn new() -> Self {
        let [first, last] = VARIANCES;
        let variance = |t: usize| first + (last - first) * t as f64 / (TIMES - 1) as f64;
        let left = (0..TIMES).scan(1.0, |left, t| {
            *left *= 1.0 - variance(t);
            Some(*left)
        });
        Diffusion { left: left.collect() }
    }

    /// ᾱₜ.
    pub(super) fn left(&self, time: u32) -> f64 {
        self.left[time as usize]
    }

    /// `x ← √ᾱₜ x + √(1 − ᾱₜ) ε`, with data x and noise ε. Ho et al. 2020, eq. 4.
    pub(super) fn add_noise(&self, x: &mut [f32], noise: &[f32], time: u32) {
        let left = self.left(time);
        let [signal, deviation] = [left.sqrt(), (1.0 - left).sqrt()].map(|factor| factor as f32);
        x.iter_mut().zip(noise).for_each(|(x, noise)| *x = signal * *x + deviation * noise);
    }

    /// The data, from what they have become at a time and the noise:
    /// `(xₜ − √(1 − ᾱₜ) ε)/√ᾱₜ`.
    pub(super) fn data(&self, [x, noise]: [&[f32]; 2], time: u32) -> Vec<f32> {
        let left = self.left(time);
        let [signal, deviation] = [left.sqrt(), (1.0 - left).sqrt()].map(|factor| factor as f32);
        x.iter().zip(noise).map(|(x, noise)| (x - deviation * noise) / signal).collect()
    }

    /// ln β̃ₜ and ln βₜ of a step from t to an earlier time s, from ᾱₜ (`now`) and ᾱₛ
    /// (`then`):
    /// `βₜ = 1 − ᾱₜ/ᾱₛ`, `β̃ₜ = (1 − ᾱₛ)/(1 − ᾱₜ) βₜ`.
    fn log_variances(now: f64, then: f64) -> [f64; 2] {
        let variance = 1.0 - now / then;
        [(1.0 - then) / (1.0 - now) * variance, variance].map(f64::ln)
    }

    /// What the bound on the likelihood takes of a step from t to t − 1: a factor c, ln β̃ₜ and
    /// ln βₜ. An error e of the noise is an error c e of the step's mean,
    /// `c = βₜ/√((1 − βₜ)(1 − ᾱₜ))`: Ho et al. 2020, eq. 11. At time 0 β̃ is 0; that of
    /// time 1 takes its place, as in the released program of DiT.
    pub(super) fn bound_terms(&self, time: u32) -> [f64; 3] {
        let then = if time == 0 { 1.0 } else { self.left(time - 1) };
        let (now, variance) = (self.left(time), 1.0 - self.left(time) / then);
        let [smallest, _] = Self::log_variances(self.left(time.max(1)), self.left(time.max(1) - 1));
        [variance / ((1.0 - variance) * (1.0 - now)).sqrt(), smallest, variance.ln()]
    }

    /// A step of sampling from a time t to an earlier one s, or to the data (`None`), with ᾱₛ = 1.
    pub(super) fn step(&self, time: u32, earlier: Option<u32>, eta: f64) -> Step {
        let (now, then) = (self.left(time), earlier.map_or(1.0, |earlier| self.left(earlier)));
        let deviation = eta * ((1.0 - then) / (1.0 - now) * (1.0 - now / then)).sqrt();
        let direction = (1.0 - then - deviation * deviation).max(0.0).sqrt();
        let kept = (then / now).sqrt();
        let variances = (eta == 1.0 && then < 1.0).then(|| Self::log_variances(now, then));
        Step { kept, noise: direction - kept * (1.0 - now).sqrt(), deviation, variances }
    }
}

/// `x ← √ᾱₛ x̂ + √(1 − ᾱₛ − σ²) ε + σ z`, with new normal noise z. The predicted noise
/// ε implies the data `x̂ = (x − √(1 − ᾱₜ) ε)/√ᾱₜ`. The deviation is
/// `σ = η √((1 − ᾱₛ)/(1 − ᾱₜ)) √(1 − ᾱₜ/ᾱₛ)`.
///
/// With η = 0 the step is deterministic (DDIM). With η = 1, from each time to the next, it is the step of
/// Ho et al. 2020 with the smaller of their fixed variances. Song et al. 2021, eq. 12 and 16. With η = 1 a
/// learned variance takes the place of that of σ z; the mean keeps σ.
pub(super) struct Step {
    /// The factor of x.
    kept: f64,
    /// The factor of ε.
    noise: f64,
    /// σ, the factor of z.
    deviation: f64,
    /// ln β̃ and ln β, between which learned variances are, if the step takes them.
    variances: Option<[f64; 2]>,
}

impl Step {
    /// Takes the step for one picture, whose predicted noise is `noise`. Its learned variances, if there are
    /// any, are at these places between β̃ and β.
    pub(super) fn take(&self, x: &mut [f32], noise: &[f32], places: Option<&[f32]>, rng: &mut Rng) {
        for (i, (x, noise)) in x.iter_mut().zip(noise).enumerate() {
            let fresh = if self.deviation > 0.0 { rng.sample::<f64, _>(StandardNormal) } else { 0.0 };
            let deviation = match (places, self.variances) {
                (Some(places), Some([small, large])) => {
                    (0.5 * (small + (large - small) * f64::from(places[i]))).exp()
                }
                _ => self.deviation,
            };
            *x = (self.kept * f64::from(*x) + self.noise * f64::from(*noise) + deviation * fresh) as f32;
        }
    }
}

/// Pictures with noise.
pub(super) struct Noised {
    /// `[n, patches, numbers]`: the pictures with noise, and the noise.
    pub(super) numbers: [Vec<f32>; 2],
    pub(super) times: Vec<u32>,
    pub(super) classes: Vec<u32>,
}

impl Noised {
    /// No pictures yet.
    pub(super) fn new() -> Self {
        Noised { numbers: [Vec::new(), Vec::new()], times: Vec::new(), classes: Vec::new() }
    }

    /// Adds a picture in patches, at a time and with noise that are drawn.
    pub(super) fn add(&mut self, diffusion: &Diffusion, mut patches: Vec<f32>, class: u32, rng: &mut Rng) {
        let time = rng.random_range(0..TIMES as u32);
        let noise = normal(patches.len(), rng);
        diffusion.add_noise(&mut patches, &noise, time);
        self.numbers.iter_mut().zip([patches, noise]).for_each(|(all, own)| all.extend(own));
        self.times.push(time);
        self.classes.push(class);
    }
}

/// Normal noise.
pub(super) fn normal(count: usize, rng: &mut Rng) -> Vec<f32> {
    (0..count).map(|_| rng.sample::<f32, _>(StandardNormal)).collect()
}

/// So many times, evenly spread from the last to the first. A single one is the last.
pub(super) fn spread(count: usize) -> Vec<u32> {
    let last = (TIMES - 1) as f64;
    let gap = last / (count.max(2) - 1) as f64;
    (0..count).map(|i| (last - gap * i as f64).round() as u32).collect()
}

/// Brings noise back to data, `steps` times by `predict`, which returns the noise in all pictures at a time
/// and the places of learned variances. `x` holds the pictures side by side, one for each random stream.
pub(super) fn denoise(
    diffusion: &Diffusion,
    [steps, size]: [usize; 2],
    eta: f64,
    (x, streams): (&mut [f32], &mut [Rng]),
    mut predict: impl FnMut(&[f32], u32) -> (Vec<f32>, Option<Vec<f32>>),
) {
    let times = spread(steps);
    for (i, &time) in times.iter().enumerate() {
        let (noise, places) = predict(x, time);
        let step = diffusion.step(time, times.get(i + 1).copied(), eta);
        for (number, (x, rng)) in x.chunks_exact_mut(size).zip(&mut *streams).enumerate() {
            let own = number * size..(number + 1) * size;
            step.take(x, &noise[own.clone()], places.as_ref().map(|places| &places[own]), rng);
        }
    }
}
