//! Embeddings of hierarchies: the applications `poincare` and `subtree`.
//!
//! | module | what |
//! |---|---|
//! | [`poincare`] | training of Poincaré embeddings |
//! | [`objective`] | what it minimises: the ranking loss, or the energies of cones |
//! | [`subtree`] | logistic regression that separates subtrees |
//! | [`edges`] | edge lists: TSV or CSV, plain or gzip |
//! | [`graph`] | named nodes and their neighbours |
//! | [`hyperbolicity`] | how close a graph is to a tree |
//! | [`wordnet`] | the transitive closure of WordNet's nouns, from its own files |
//! | [`embeddings`] | named points in files |
//! | [`neighbours`] | distances between them, and the nearest ones |
//! | [`reconstruction`] | mean rank and MAP of an embedding |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod edges;
pub mod embeddings;
mod fused;
pub mod graph;
pub mod hyperbolicity;
mod lock_free;
mod losses;
mod negatives;
pub mod neighbours;
pub mod objective;
mod parameters;
pub mod poincare;
pub mod reconstruction;
mod shared_negatives;
pub mod subtree;
mod trainer;
pub mod wordnet;
