//! The type that numbers are stored in.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// The type that coordinates are stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}
