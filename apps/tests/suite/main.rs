//! The applications from the outside.

mod common;
mod gru;
mod poincare;
mod subtree;
