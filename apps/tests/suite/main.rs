//! The applications from the outside.

mod common;
mod graph;
mod gru;
mod poincare;
mod subtree;
mod transformer;
