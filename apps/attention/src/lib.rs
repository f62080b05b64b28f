//! Attention in any geometry: the applications `transformer`, `lm`, `vit`, `dit`, `graph` and
//! `graph-tasks`.
//!
//! | module | what |
//! |---|---|
//! | [`transformer`] | translation by transformers |
//! | [`transformer::parallel_text`] | their training text |
//! | [`transformer::bpe`] | byte-pair encoding: sentences as tokens |
//! | [`transformer::bleu`] | BLEU, the quality of translations |
//! | [`transformer::heatmap`] | pictures of attention |
//! | [`lm`] | language models |
//! | [`lm::text`], [`lm::vocabulary`] | their text and its tokens |
//! | [`vit`] | vision transformers, which classify pictures |
//! | [`dit`] | diffusion transformers, which make pictures |
//! | [`graph`] | node classification by graph attention |
//! | [`graph::labelled_graph`] | graphs whose nodes have features and classes |
//! | [`graph_tasks`] | questions about the nodes of a graph |
//! | [`graph_tasks::disc`] | random hyperbolic graphs |
//! | [`graph_tasks::links`] | link prediction by graph convolution |
//! | [`attention`] | the options of attention: score, weights, aggregation |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod body;
pub mod dit;
pub mod graph;
pub mod graph_tasks;
mod key_values;
pub mod lm;
mod patches;
mod pictured;
mod saved;
mod training;
pub mod transformer;
pub mod vit;

pub use cotangent_apps_common::attention;
pub use cotangent_apps_pictures as pictures;
