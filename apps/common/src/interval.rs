//! Means of a few runs, with confidence intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with its 95 % confidence interval by Student's t distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the interval's width; `None` for a single value.
    pub half_width: Option<f64>,
}

impl Interval {
    /// The mean of independent values, with its interval.
    ///
    /// # Panics
    /// If there are no values.
    pub fn mean(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "the mean of no values");
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok().map(|t| t.inverse_cdf(0.975));
        Interval { mean, half_width: t.map(|t| t * (variance / n).sqrt()) }
    }

    /// In percent: `97.12 ± 0.34`.
    pub fn percent(&self) -> String {
        Interval { mean: 100.0 * self.mean, half_width: self.half_width.map(|half| 100.0 * half) }.text(2)
    }

    /// With `digits` digits after the decimal point: `0.971 ± 0.003`.
    pub fn text(&self, digits: usize) -> String {
        let half = self.half_width.map_or(String::new(), |half| format!(" ± {half:.digits$}"));
        format!("{:.digits$}{half}", self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let mean = Interval::mean(&[0.1, 0.2, 0.3]);
        // t for two degrees of freedom is 4.302653, the deviation 0.1.
        assert!((mean.mean - 0.2).abs() < 1e-15);
        assert!((mean.half_width.unwrap() - 4.302_652_7 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-8);
        assert_eq!(mean.percent(), "20.00 ± 24.84");
        assert_eq!(Interval::mean(&[0.5]).percent(), "50.00");
    }
}
