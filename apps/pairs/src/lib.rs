//! Classification of pairs of sentences: the application `gru`.
//!
//! | module | what |
//! |---|---|
//! | [`gru`] | classification by recurrent networks |
//! | [`sentence_pairs`] | labelled pairs of sentences: PREFIX, SNLI, files |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod gru;
pub mod sentence_pairs;
