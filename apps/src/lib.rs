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
//! | [`sentence_pairs`] | labelled pairs of sentences: PREFIX, SNLI, files |
//! | [`gru`] | training of recurrent networks on them |
//! | [`subtree`] | logistic regression on embeddings |
//! | [`labelled_graph`] | graphs whose nodes have features and classes |
//! | [`node_classification`] | graph attention networks on them |
//! | [`translation`] | translation by transformers |
//! | [`parallel_text`], [`bpe`], [`bleu`] | what they read, how they see it, how they are measured |
//! | [`heatmap`] | pictures of attention |
//! | [`lettering`] | text in pictures, as wide as there is room |
//! | [`attention`] | the options that choose an attention |
//! | [`confusion`] | confusion matrices: accuracy, precision, recall, F1 |
//! | [`curves`] | pictures of training curves |
//! | [`options`], [`device`], [`threads`] | options of several applications |
//! | [`checkpoints`] | checkpoints of a training that may diverge |
//! | [`output`] | the output directory of a run |
//! | [`progress`] | progress bars, or plain lines |
//! | [`mod@print`] | lines of output that may be closed |

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod attention;
pub mod bleu;
pub mod bpe;
pub mod checkpoints;
pub mod confusion;
pub mod curves;
pub mod device;
pub mod disk;
pub mod edges;
pub mod embeddings;
pub mod error;
pub mod graph;
pub mod gru;
pub mod heatmap;
pub mod interval;
pub mod labelled_graph;
pub mod lettering;
pub mod metrics;
pub mod node_classification;
pub mod options;
pub mod output;
pub mod parallel_text;
pub mod poincare;
pub mod precision;
pub mod print;
pub mod progress;
pub mod reconstruction;
pub mod sentence_pairs;
pub mod subtree;
pub mod table;
pub mod threads;
pub mod translation;
pub mod wordnet;

pub use error::{AppError, Result};
