//! Attention in any geometry: the applications `transformer` and `graph`.
//!
//! | module | what |
//! |---|---|
//! | [`transformer`] | translation by transformers |
//! | [`transformer::parallel_text`] | their training text |
//! | [`transformer::bpe`] | sentences as numbers |
//! | [`transformer::bleu`] | the score of translations |
//! | [`transformer::heatmap`] | pictures of attention |
//! | [`graph`] | classes of a graph's nodes by graph attention |
//! | [`graph::labelled_graph`] | graphs whose nodes have features and classes |
//! | [`attention`] | the options that choose an attention |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod attention;
pub mod graph;
pub mod transformer;
