//! The floating-point type of a run.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

impl Precision {
    /// The bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => size_of::<f32>(),
            Precision::F64 => size_of::<f64>(),
        }
    }
}
