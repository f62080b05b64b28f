//! Reasoning about objects and their relations: the application `reason`.
//!
//! | module | what |
//! |---|---|
//! | [`reason`] | questions about scenes, answered by relation networks |
//! | [`clevr`] | scenes of simple objects, and questions with programs that answer them |
//! | [`sort_of_clevr`] | pictures of six objects, and questions about them |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod clevr;
pub mod reason;
pub mod sort_of_clevr;
