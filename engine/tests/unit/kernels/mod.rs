mod finite;
pub(crate) mod gram;
pub(crate) mod line;
pub(crate) mod pairings;
mod range;
mod update_rows;
mod wedge;
