//! Training of embeddings.
//!
//! | module | what |
//! |---|---|
//! | [`poincare`] | the run: epochs, checkpoints, evaluation, all that is written |
//! | [`config`] | what determines its result |
//! | [`initial_points`] | where the points start |
//! | [`objective`] | what it minimises: a loss of distances, or the energies of cones |

mod all_pairs;
pub(crate) mod batch;
pub mod config;
pub(crate) mod epochs;
pub mod initial_points;
mod lock_free;
mod losses;
pub(crate) mod negatives;
pub mod objective;
mod operands;
pub(crate) mod own_negatives;
pub(crate) mod parameters;
pub mod poincare;
pub(crate) mod points;
mod positions;
mod shared_negatives;
pub(crate) mod step;
