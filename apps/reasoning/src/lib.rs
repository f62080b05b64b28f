//! Reasoning about objects and their relations: the applications `reason` and `tours`.
//!
//! | module | what |
//! |---|---|
//! | [`reason`] | questions about scenes, answered by relation networks |
//! | [`clevr`] | scenes of simple objects, and questions with programs that answer them |
//! | [`sort_of_clevr`] | pictures of six objects, and questions about them |
//! | [`tours`] | tours of the travelling salesman by Q-learning |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod clevr;
pub mod reason;
pub mod sort_of_clevr;
pub mod tours;
