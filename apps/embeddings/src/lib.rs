//! Embeddings of hierarchies: the applications `poincare` and `subtree`.
//!
//! | module | what |
//! |---|---|
//! | [`poincare`] | training of Poincaré embeddings |
//! | [`subtree`] | logistic regression on embeddings |
//! | [`edges`] | edge lists: TSV or CSV, plain or gzip |
//! | [`graph`] | named nodes and their neighbours |
//! | [`wordnet`] | the noun closure from WordNet's own files |
//! | [`embeddings`] | named points in files |
//! | [`reconstruction`] | mean rank and MAP |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod edges;
pub mod embeddings;
pub mod graph;
pub mod poincare;
pub mod reconstruction;
pub mod subtree;
pub mod wordnet;
