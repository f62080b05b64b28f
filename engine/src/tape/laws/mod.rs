//! What tests compare formulas and gradients with: all evaluations of a formula give the same, and its
//! derivatives are those of finite differences. Nothing that computes is here; tests of your own formulas use
//! it too.

pub mod check;
mod plain_rows;
pub mod registry;
