//! The geometry of a part of a model.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The geometry of a part of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Euclidean space.
    Euclidean,
    /// The Poincaré ball.
    Hyperbolic,
}
