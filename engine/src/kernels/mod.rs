//! The kernels: each skeleton of computation once, for every formula.

pub(crate) mod gram;
pub(crate) mod index;
pub(crate) mod map;
pub(crate) mod pieces;
pub(crate) mod reduce;
