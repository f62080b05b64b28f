//! Graphs with attention in any geometry: the applications `graph` and `graph-tasks`.
//!
//! | module | what |
//! |---|---|
//! | [`graph`] | node classification by graph attention |
//! | [`graph::labelled_graph`] | graphs whose nodes have features and classes |
//! | [`graph_tasks`] | questions about the nodes of a graph |
//! | [`graph_tasks::disc`] | random hyperbolic graphs |
//! | [`graph_tasks::links`] | link prediction by graph convolution |
//! | [`attention`] | the options of attention: score, weights, aggregation |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod graph;
pub mod graph_tasks;

pub use cotangent_apps_common::attention;
