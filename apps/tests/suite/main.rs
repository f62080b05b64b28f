//! The applications from the outside.

mod common;
mod device;
mod divergence;
mod graph;
mod gru;
mod output;
mod pictures;
mod poincare;
mod printing;
mod subtree;
mod transformer;
