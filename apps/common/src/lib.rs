//! Shared by the applications: options, files, metrics, pictures, progress. A module is here if two
//! packages use it.
//!
//! | module | what |
//! |---|---|
//! | [`application`] | what an application says of itself: help, README, tests |
//! | [`command_line`] | what every command line has: `--quiet`, `--json`, `--generate` |
//! | [`config`] | the configuration of a run, which clap fills and serde prints |
//! | [`options`], [`device`], [`precision`], [`space`], [`threads`] | options of several applications |
//! | [`memory`] | whether what the options ask for fits in memory |
//! | [`error`] | errors as one line |
//! | [`mod@print`] | lines of output, which the reader may close |
//! | [`progress`] | progress: a bar, plain lines or JSON |
//! | [`seeds`] | several runs with different seeds |
//! | [`ranks`] | a process that is one of several ranks of a job |
//! | [`training`] | what the trainings have in common: options, seeds, the trainer |
//! | [`table`] | TSV or CSV, plain or gzip |
//! | [`json`] | JSON whose errors name file, line and column |
//! | [`padded`] | sentences of different lengths side by side |
//! | [`word_vectors`] | word2vec's formats, read |
//! | [`output`] | the output directory of a run |
//! | [`metrics`] | `metrics.json` |
//! | [`confusion`] | confusion matrices: accuracy, precision, recall, F1 |
//! | [`interval`] | means of a few runs, with confidence intervals |
//! | [`geometry`] | a model of space at a curvature |
//! | [`disk`] | pictures of the Poincaré disk |
//! | [`adjacency_list`] | neighbours of nodes, shortest paths, connected components |
//! | [`hierarchy`] | a layout of trees in a disk, each subtree in a sector |
//! | [`attention`] | the options of attention: score, weights, aggregation |
//! | [`curvature`] | a curvature that may be learned, as the command line says it |
//! | [`curves`] | pictures of training curves |
//! | [`chart`] | charts of bars, and parts of other charts |
//! | [`lettering`] | the width of text in pictures, to wrap or shorten it |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod adjacency_list;
pub mod application;
pub mod attention;
pub mod chart;
pub mod command_line;
pub mod config;
pub mod confusion;
pub mod curvature;
pub mod curves;
pub mod device;
pub mod disk;
pub mod error;
pub mod geometry;
pub mod hierarchy;
pub mod interval;
pub mod json;
pub mod lettering;
pub mod memory;
pub mod metrics;
pub mod options;
pub mod output;
pub mod padded;
pub mod precision;
pub mod print;
pub mod progress;
pub mod ranks;
pub mod seeds;
pub mod space;
pub mod table;
pub mod task;
pub mod threads;
pub mod training;
pub mod word_vectors;

pub use error::{AppError, Result};
