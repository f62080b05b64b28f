//! Attention in any geometry: the applications `transformer` and `graph`.
//!
//! | module | what |
//! |---|---|
//! | [`transformer`] | translation by transformers |
//! | [`transformer::parallel_text`] | what they read |
//! | [`transformer::bpe`] | how they see it |
//! | [`transformer::bleu`] | how they are measured |
//! | [`transformer::heatmap`] | pictures of attention |
//! | [`graph`] | classes of a graph's nodes by graph attention |
//! | [`graph::labelled_graph`] | graphs whose nodes have features and classes |
//! | [`attention`] | the options that choose an attention |

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod attention;
pub mod graph;
pub mod transformer;
