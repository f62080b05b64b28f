//! The applications `reason` and `tours` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::common;

mod reason;
mod tours;
