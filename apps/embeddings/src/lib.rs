//! Embeddings of hierarchies: the applications `poincare` and `subtree`.
//!
//! | module | what |
//! |---|---|
//! | [`poincare`] | training of Poincaré embeddings |
//! | [`subtree`] | logistic regression that separates subtrees |
//! | [`edges`] | edge lists: TSV or CSV, plain or gzip |
//! | [`graph`] | named nodes and their neighbours |
//! | [`hyperbolicity`] | how close a graph is to a tree |
//! | [`wordnet`] | the transitive closure of WordNet's nouns, from its own files |
//! | [`embeddings`] | named points in files |
//! | [`neighbours`] | distances between them, and the nearest ones |
//! | [`view`] | a page to explore an embedding |
//! | [`reconstruction`] | mean rank and MAP of an embedding |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod edges;
pub mod embeddings;
mod fused;
pub mod graph;
pub mod hyperbolicity;
mod lock_free;
mod negatives;
pub mod neighbours;
pub mod poincare;
pub mod reconstruction;
pub mod subtree;
pub mod view;
pub mod wordnet;
