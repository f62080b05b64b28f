//! The kernels that are no formulas.
