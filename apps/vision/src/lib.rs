//! Pictures with attention in any geometry: the applications `vit` and `dit`.
//!
//! | module | what |
//! |---|---|
//! | [`vit`] | vision transformers, which classify pictures |
//! | [`dit`] | diffusion transformers, which make pictures |
//! | [`attention`] | the options of attention: score, weights, aggregation |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod dit;
mod patches;
mod picture_options;
mod pictured;
pub mod vit;

pub use cotangent_apps_common::attention;
pub use picture_options::PictureOptions;
