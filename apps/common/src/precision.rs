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
