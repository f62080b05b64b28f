//! Training of embeddings.
//!
//! | module | what |
//! |---|---|
//! | [`poincare`] | the run: epochs, checkpoints, evaluation, all that is written |
//! | [`config`] | what determines its result |
//! | [`initial_points`] | where the points start |
//! | [`objective`] | what it minimises: the ranking loss, or the energies of cones |

pub mod config;
pub(crate) mod fused;
pub mod initial_points;
mod lock_free;
mod losses;
pub(crate) mod negatives;
pub mod objective;
mod operands;
mod parameters;
pub mod poincare;
mod positions;
mod shared_negatives;
mod shared_step;
mod trainer;
