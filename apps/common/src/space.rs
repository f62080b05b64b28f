//! The geometry of a part of a model.

use clap::ValueEnum;
use cotangent::prelude::{AnyGeometry, Euclidean, Float};
use serde::{Deserialize, Serialize};

use crate::curvature::CurvatureOption;

/// The geometry of a part of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Euclidean space.
    Euclidean,
    /// The Poincaré ball.
    Hyperbolic,
}

impl Space {
    /// The geometry, with this curvature where it is hyperbolic.
    ///
    /// # Panics
    /// As [`CurvatureOption::geometry`].
    pub fn geometry<T: Float>(self, curvature: CurvatureOption) -> AnyGeometry<T> {
        match self {
            Space::Euclidean => Euclidean.into(),
            Space::Hyperbolic => curvature.geometry(),
        }
    }
}
