//! The applications `transformer` and `lm` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::common;

mod lm;
mod transformer;
