//! Formulas: their traits, the basis vectors and invariants of row formulas, and where results must lie.

pub mod domain;
pub(crate) mod functions;
pub(crate) mod map;
pub(crate) mod pair;
pub(crate) mod per_type;
pub(crate) mod plain;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod straight_line;
pub(crate) mod sums;
