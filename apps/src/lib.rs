//! What the applications share: data readers, metrics, plots, progress.
//!
//! | module | what |
//! |---|---|
//! | [`edges`] | edge lists: TSV or CSV, plain or gzip |
//! | [`graph`] | named nodes and their neighbours |
//! | [`wordnet`] | the noun closure from WordNet's own files |
//! | [`embeddings`] | named points in files |
//! | [`reconstruction`] | mean rank and MAP |
//! | [`poincare`] | training of Poincaré embeddings |
//! | [`disk`] | pictures of the Poincaré disk |
//! | [`device`] | the option `--device` |
//! | [`progress`] | progress bars, or plain lines |

pub mod device;
pub mod disk;
pub mod edges;
pub mod embeddings;
pub mod error;
pub mod graph;
pub mod poincare;
pub mod progress;
pub mod reconstruction;
pub mod wordnet;

pub use error::{AppError, Result};
