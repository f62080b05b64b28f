//! Embeddings of hierarchies: the applications `poincare` and `subtree`.
//!
//! | module | what |
//! |---|---|
//! | [`command`] | the command line of `poincare` |
//! | [`graph`] | named nodes and their neighbours; edge lists |
//! | [`files`] | named points in files, pictures and pages |
//! | [`train`] | training of Poincaré embeddings |
//! | [`partition`] | the same for graphs larger than memory |
//! | [`evaluate`] | the quality of an embedding |
//! | [`place`] | points for new nodes, all others fixed |
//! | [`subtree`] | logistic regression that separates subtrees |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod command;
pub mod evaluate;
pub mod files;
pub mod graph;
pub mod partition;
pub mod place;
pub mod subtree;
pub mod train;
