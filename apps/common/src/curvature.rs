//! A curvature as the command line says it, for a hyperbolic model whose curvature may be learned.

use std::str::FromStr;

use cotangent::prelude::{AnyGeometry, Curvature, Float, PoincareBall};
use serde::{Deserialize, Serialize};

use crate::error::{AppError, Result};

/// A curvature as the command line and files say it: "-0.5", "learned" or "learned:-0.5".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CurvatureOption {
    /// The sectional curvature, or its initial value.
    pub kappa: f64,
    /// Whether it is learned.
    pub learned: bool,
}

impl CurvatureOption {
    /// Checks that it is the curvature of a hyperbolic space, from -1e6 to -1e-6.
    ///
    /// # Errors
    /// If it is not; the error names `--kappa`.
    pub fn check(self) -> Result<()> {
        if (-1e6..=-1e-6).contains(&self.kappa) {
            return Ok(());
        }
        let message = format!("--kappa {}: a number from -1e6 to -1e-6 is needed", self.kappa);
        Err(AppError::usage(message))
    }

    /// The Poincaré ball of this curvature.
    ///
    /// # Panics
    /// If the curvature is none of hyperbolic space: see [`check`](Self::check).
    pub fn geometry<T: Float>(self) -> AnyGeometry<T> {
        if self.learned { Curvature::new(self.kappa).into() } else { PoincareBall::new(self.kappa).into() }
    }
}

impl FromStr for CurvatureOption {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (number, learned) = match text.strip_prefix("learned") {
            Some("") => ("-1", true),
            // Without a colon it is no number, and the error says so.
            Some(initial) => (initial.strip_prefix(':').unwrap_or(text), true),
            None => (text, false),
        };
        let kappa = number.parse().map_err(|_| "a number, learned, or learned:NUMBER is needed")?;
        Ok(CurvatureOption { kappa, learned })
    }
}

impl std::fmt::Display for CurvatureOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.learned { "learned:" } else { "" }, self.kappa)
    }
}

impl TryFrom<String> for CurvatureOption {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CurvatureOption> for String {
    fn from(curvature: CurvatureOption) -> Self {
        curvature.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curvature_is_written_as_it_is_read() {
        for (text, kappa, learned) in
            [("-0.5", -0.5, false), ("learned", -1.0, true), ("learned:-0.25", -0.25, true)]
        {
            let curvature: CurvatureOption = text.parse().unwrap();
            assert_eq!(curvature, CurvatureOption { kappa, learned });
            assert_eq!(curvature.to_string().parse(), Ok(curvature));
            assert!(curvature.check().is_ok());
        }
        for text in ["", "flat", "learned-1", "learned:x"] {
            assert!(text.parse::<CurvatureOption>().is_err(), "{text}");
        }
        let positive: CurvatureOption = "1".parse().unwrap();
        assert!(positive.check().unwrap_err().to_string().starts_with("--kappa 1: "));
    }
}
