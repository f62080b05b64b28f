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
//! | [`link_prediction`] | pairs that are held out in training, and found again |
//! | [`reconstruction`] | mean rank and MAP of an embedding |
//! | [`rank_correlation`] | depth in a hierarchy and distance from the origin |
//! | [`distortion`] | distances in an embedding and in its graph |
//! | [`is_a`] | which pairs of a hierarchy are true, by a score |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod distortion;
pub mod edges;
pub mod embeddings;
mod fused;
pub mod graph;
pub mod hyperbolicity;
pub mod is_a;
mod keys;
pub mod link_prediction;
mod lock_free;
mod negatives;
pub mod neighbours;
pub mod poincare;
pub mod rank_correlation;
pub mod reconstruction;
mod shortest_paths;
pub mod subtree;
pub mod wordnet;
