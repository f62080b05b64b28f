//! The application `typing` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::{common, pictures};

mod typing;
