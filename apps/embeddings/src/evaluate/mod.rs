//! The quality of an embedding.
//!
//! | module | what |
//! |---|---|
//! | [`evaluation`] | quality in the course of the training |
//! | [`reconstruction`] | mean rank and MAP of an embedding |
//! | [`link_prediction`] | pairs that are held out in training, and found again |
//! | [`rank_correlation`] | depth in a hierarchy and distance from the origin |
//! | [`gold`] | graded pairs of words, and values of nodes, that people gave |
//! | [`distortion`] | distances in an embedding and in its graph |
//! | [`is_a`] | which pairs of a hierarchy are true, by a score |
//! | [`neighbours`] | distances between points, and the nearest ones |

pub mod distortion;
pub mod evaluation;
pub mod gold;
pub mod is_a;
pub(crate) mod keys;
pub mod link_prediction;
pub mod neighbours;
pub mod rank_correlation;
pub mod reconstruction;
