//! Losses: those of the engine, and over distances.

pub use cotangent_engine::loss::*;
use cotangent_engine::{Float, Scalar, Var, softmax_in_place};

/// The ranking loss, a softmax over one positive and its negatives: for each row
/// `d₊ + ln Σ_j e^{−d_j}`. `distances` is `[batch, 1 + negatives]` with the positive's distance first;
/// the result is `[batch]`. Nickel & Kiela 2017, eq. 6.
///
/// # Panics
/// If there is no distance, or the distances have other than two axes.
#[track_caller]
pub fn ranking<'t, T: Float>(distances: Var<'t, T>) -> Var<'t, T> {
    let shape = distances.shape();
    assert_eq!(shape.rank(), 2, "ranking: distances {shape}, not [batch, candidates]");
    let batch = shape[0];
    let positive = distances.slice(1, 0..1).reshape([batch]);
    positive + (-distances).logsumexp(1)
}

/// The [`ranking`] loss of one row of distances, outside a tape. Writes its derivatives by the distances:
/// 1 for the first, minus the softmax of −d for all. A negative at an infinite distance does not count.
///
/// ```
/// let mut slopes = [0.0; 2];
/// let loss = cotangent_layers::loss::ranking_with_gradient(&[1.0, 1.0], &mut slopes);
/// assert_eq!((loss, slopes), (2.0_f64.ln(), [0.5, -0.5]));
/// ```
///
/// # Panics
/// If there is no distance, or there are not as many derivatives.
#[track_caller]
pub fn ranking_with_gradient<T: Float>(distances: &[T], gradient: &mut [T]) -> f64 {
    assert_eq!(distances.len(), gradient.len(), "ranking_with_gradient: distances and their derivatives");
    gradient.iter_mut().zip(distances).for_each(|(slope, &distance)| *slope = -distance);
    let total = softmax_in_place(gradient);
    gradient.iter_mut().for_each(|slope| *slope = -*slope);
    gradient[0] = gradient[0] + T::one();
    distances[0].to_f64() + total
}

/// The Fermi-Dirac decoder: an edge between two points at distance d has the probability
/// `p = 1/(exp((d − r)/t) + 1)`. Krioukov et al. 2010; Nickel & Kiela 2017, eq. 7. Chami et al. 2019
/// take the squared distance for d.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::loss::FermiDirac;
/// let decoder = FermiDirac::new(2.0, 0.5);
/// let tape = Tape::<f64>::new();
/// let d = tape.constant(&Tensor::new([2], vec![2.0, 1.0]));
/// let p = decoder.log_odds(d).sigmoid().to_tensor();
/// assert_eq!((p.data()[0], p.data()[1]), (0.5, 1.0 / (1.0 + (-2.0_f64).exp())));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FermiDirac {
    r: f64,
    t: f64,
}

impl FermiDirac {
    /// With the distance r of even odds, and the temperature t: the odds fall by the factor e in each
    /// distance t.
    ///
    /// # Panics
    /// If one of them is not positive and finite.
    #[track_caller]
    pub fn new(r: f64, t: f64) -> Self {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        assert!(positive(r) && positive(t), "FermiDirac: r = {r}, t = {t}: both must be positive and finite");
        FermiDirac { r, t }
    }

    /// The logarithm of the odds of an edge, `ln p/(1 − p) = (r − d)/t`, for distances of any shape.
    pub fn log_odds<'t, T: Float>(&self, distances: Var<'t, T>) -> Var<'t, T> {
        distances * (-1.0 / self.t) + self.r / self.t
    }

    /// The cross entropy of an edge and pairs that are none, without overflow: for each row
    /// `−ln p(d₊) − Σ_j ln(1 − p(d_j))`. `distances` is `[batch, 1 + negatives]`, with the edge's
    /// first, and all finite; the result is `[batch]`.
    ///
    /// # Panics
    /// If there is no distance, or the distances have other than two axes.
    #[track_caller]
    pub fn cross_entropy<'t, T: Float>(&self, distances: Var<'t, T>) -> Var<'t, T> {
        let shape = distances.shape();
        assert_eq!(shape.rank(), 2, "FermiDirac::cross_entropy: distances {shape}, not [batch, candidates]");
        let [batch, width] = [shape[0], shape[1]];
        let log_odds = self.log_odds(distances);
        let edge = log_odds.slice(1, 0..1).log_sigmoid().reshape([batch]);
        -(edge + (-log_odds.slice(1, 1..width)).log_sigmoid().sum_axis(1))
    }

    /// The [`cross_entropy`](Self::cross_entropy) of one row of distances, outside a tape. Writes its
    /// derivatives by the distances.
    ///
    /// ```
    /// let decoder = cotangent_layers::loss::FermiDirac::new(1.0, 1.0);
    /// let mut slopes = [0.0; 2];
    /// let loss = decoder.cross_entropy_with_gradient(&[1.0, 1.0], &mut slopes);
    /// assert_eq!((loss, slopes), (2.0 * 2.0_f64.ln(), [0.5, -0.5]));
    /// ```
    ///
    /// # Panics
    /// If there is no distance, or there are not as many derivatives.
    #[track_caller]
    pub fn cross_entropy_with_gradient<T: Float>(&self, distances: &[T], gradient: &mut [T]) -> f64 {
        assert_eq!(
            distances.len(),
            gradient.len(),
            "FermiDirac::cross_entropy_with_gradient: distances and their derivatives"
        );
        assert!(!distances.is_empty(), "FermiDirac::cross_entropy_with_gradient: no distance");
        let mut total = 0.0;
        for (j, (slope, distance)) in gradient.iter_mut().zip(distances).enumerate() {
            // 1 for the edge, −1 for all others: ln(1 − p) has the opposite log-odds.
            let sign = if j == 0 { 1.0 } else { -1.0 };
            let log_odds = sign * (self.r - distance.to_f64()) / self.t;
            total -= log_odds.log_sigmoid();
            *slope = T::nearest(sign * (-log_odds).sigmoid() / self.t);
        }
        total
    }
}
