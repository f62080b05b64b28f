//! Text with attention in any geometry: the applications `transformer` and `lm`.
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
//! | [`attention`] | the options of attention: score, weights, aggregation |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod key_values;
pub mod lm;
pub mod transformer;

pub use cotangent_apps_common::attention;
