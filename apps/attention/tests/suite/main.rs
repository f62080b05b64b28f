//! The applications `transformer` and `graph` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::common;

mod graph;
mod transformer;
