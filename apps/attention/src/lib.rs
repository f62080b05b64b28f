//! What the applications with transformers share.
//!
//! | module | what |
//! |---|---|
//! | [`mod@body`] | the layers of a transformer, as options describe them |
//! | [`saved`] | models in files, which a program can use by itself |
//! | [`training`] | how such models are trained |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod body;
pub mod saved;
pub mod training;
