//! Means of a few runs, with confidence intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with the half width of its 95 % interval by Student's t distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the interval's width; `None` for a single value.
    pub half_width: Option<f64>,
}

impl Interval {
    /// The interval of the mean of independent values.
    ///
    /// # Panics
    /// If there are none.
    pub fn of_mean(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "a mean of nothing");
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok().map(|t| t.inverse_cdf(0.975));
        Interval { mean, half_width: t.map(|t| t * (variance / n).sqrt()) }
    }

    /// In percent: `97.12 ± 0.34`.
    pub fn percent(&self) -> String {
        match self.half_width {
            Some(half) => format!("{:.2} ± {:.2}", 100.0 * self.mean, 100.0 * half),
            None => format!("{:.2}", 100.0 * self.mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let of = Interval::of_mean(&[0.1, 0.2, 0.3]);
        // t for two degrees of freedom is 4.302653, the deviation 0.1.
        assert!((of.mean - 0.2).abs() < 1e-15);
        assert!((of.half_width.unwrap() - 4.302_652_7 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-8);
        assert_eq!(of.percent(), "20.00 ± 24.84");
        assert_eq!(Interval::of_mean(&[0.5]).percent(), "50.00");
    }
}
