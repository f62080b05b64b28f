//! Fine-grained types of entities in their sentences: the application `typing`.
//!
//! | module | what |
//! |---|---|
//! | [`APP`], [`run()`] | the command |
//! | [`config`] | all settings |
//! | [`mention`], [`readers`] | mentions, and the formats of their files |
//! | [`types`] | the list of types, coarse to ultra-fine |
//! | [`tokens`] | plain text as tokens |
//! | [`words`] | word vectors |
//! | [`examples`] | mentions as numbers |
//! | `model` | the model of López & Strube 2020 |
//! | `loss`, `batches` | what is minimised, and in which portions |
//! | [`data`], [`mod@train`] | the data of a training, and the training |
//! | [`typer`] | a trained model: its files, its predictions |
//! | [`metrics`] | precision, recall, F1 |
//! | [`published`] | the figures of the paper |
//! | [`nearest`], [`pictures`] | analyses of a trained model |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod batches;
mod command;
pub mod config;
pub mod data;
pub mod examples;
mod loss;
pub mod mention;
pub mod metrics;
mod model;
pub mod nearest;
pub mod pictures;
pub mod published;
pub mod readers;
pub mod tokens;
pub mod train;
pub mod typer;
pub mod types;
pub mod words;

pub use command::{APP, run};
