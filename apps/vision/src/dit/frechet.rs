//! The Fréchet distance of two sets of features: Heusel et al. 2017 (*FID*).

use cotangent::manifolds::symmetric_eigen;
use cotangent::prelude::*;

/// A normal distribution: the mean and the covariance of features.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    /// `[d]`.
    mean: Tensor<f64>,
    /// `[d, d]`.
    covariance: Tensor<f64>,
}

impl Gaussian {
    /// A distribution of this mean, `[d]`, and covariance, `[d, d]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn new(mean: Tensor<f64>, covariance: Tensor<f64>) -> Self {
        let d = mean.len();
        assert_eq!(covariance.shape().axes(), [d, d], "Gaussian: a covariance for {d} dimensions");
        Gaussian { mean, covariance }
    }

    /// The distribution of features `[n, d]`: their mean, and `Σ (x − mean)(x − mean)ᵀ/(n − 1)`.
    ///
    /// # Panics
    /// If there are fewer than two rows.
    #[track_caller]
    pub fn fitted(features: &Tensor<f64>) -> Self {
        let n = features.shape()[0];
        assert!(n > 1, "Gaussian: {n} rows have no covariance");
        let tape = Tape::new();
        let x = tape.constant(features);
        let mean = x.mean_axis(0);
        let x = x - mean;
        Gaussian {
            mean: mean.reshape([features.width()]).to_tensor(),
            covariance: (x.matmul_tn(x) / (n - 1) as f64).to_tensor(),
        }
    }

    /// The square of the Fréchet distance, as FID is:
    /// `‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁ Σ₂)^½)`.
    /// The trace of the root is the sum of the roots of the eigenvalues of `Σ₁^½ Σ₂ Σ₁^½`.
    /// Heusel et al. 2017, eq. 6; Dowson & Landau 1982.
    ///
    /// # Panics
    /// If the dimensions differ.
    #[track_caller]
    pub fn frechet(&self, other: &Self) -> f64 {
        assert_eq!(self.mean.len(), other.mean.len(), "Gaussian: other dimensions");
        let means: f64 = self.mean.data().iter().zip(other.mean.data()).map(|(a, b)| (a - b) * (a - b)).sum();
        let trace = |it: &Self| (0..it.mean.len()).map(|i| it.covariance.row(i)[i]).sum::<f64>();
        let tape = Tape::new();
        // Rounding leaves eigenvalues slightly below 0.
        let (values, vectors) = symmetric_eigen(&self.covariance);
        let roots =
            Tensor::new([values.len(), 1], values.iter().map(|value| value.max(0.0).sqrt()).collect());
        let vectors = tape.constant(&vectors);
        let root = vectors.matmul_tn(vectors * tape.constant(&roots));
        let product = root.matmul(tape.constant(&other.covariance)).matmul(root).to_tensor();
        let cross: f64 = symmetric_eigen(&product).0.iter().map(|value| value.max(0.0).sqrt()).sum();
        means + trace(self) + trace(other) - 2.0 * cross
    }
}
