//! The applications `poincare` and `subtree` from the outside.

#[macro_use]
#[path = "../../../tests/mod.rs"]
mod shared;

use shared::{common, pictures};

mod arguments;
mod evaluation;
mod interchange;
mod models;
mod partition;
mod place;
mod poincare;
mod projections;
mod subtree;
mod view;
