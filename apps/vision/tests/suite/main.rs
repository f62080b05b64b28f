//! The applications `vit` and `dit` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::common;

mod dit;
mod vit;
