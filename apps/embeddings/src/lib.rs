//! Embeddings of hierarchies: the applications `poincare` and `subtree`.
//!
//! | module | what |
//! |---|---|
//! | [`poincare`] | training of Poincaré embeddings |
//! | [`initial_points`] | where the points start |
//! | [`objective`] | what it minimises: the ranking loss, or the energies of cones |
//! | [`place`] | points for new nodes, all others fixed |
//! | [`new_nodes`] | nodes that an embedding does not know, and their edges |
//! | [`subtree`] | logistic regression that separates subtrees |
//! | [`edges`] | edge lists: TSV, CSV or GraphML, plain or gzip |
//! | [`graph`] | named nodes and their neighbours |
//! | [`names`] | names and their numbers |
//! | [`hyperbolicity`] | how close a graph is to a tree |
//! | [`wordnet`] | the transitive closure of WordNet's nouns, from its own files |
//! | [`embeddings`] | named points in files |
//! | [`format`](mod@format) | the formats of these files |
//! | [`neighbours`] | distances between them, and the nearest ones |
//! | [`picture`] | the picture of an embedding |
//! | [`link_prediction`] | pairs that are held out in training, and found again |
//! | [`view`] | a page to explore an embedding |
//! | [`evaluation`] | quality in the course of the training |
//! | [`reconstruction`] | mean rank and MAP of an embedding |
//! | [`rank_correlation`] | depth in a hierarchy and distance from the origin |
//! | [`distortion`] | distances in an embedding and in its graph |
//! | [`is_a`] | which pairs of a hierarchy are true, by a score |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod as_negative;
pub mod distortion;
pub mod edges;
pub mod embeddings;
pub mod evaluation;
pub mod format;
mod fused;
pub mod graph;
mod graphml;
pub mod hyperbolicity;
pub mod initial_points;
pub mod is_a;
mod keys;
pub mod link_prediction;
mod lock_free;
mod losses;
pub mod names;
mod negatives;
pub mod neighbours;
pub mod new_nodes;
mod numpy;
pub mod objective;
mod operands;
mod parameters;
pub mod picture;
pub mod place;
pub mod poincare;
mod positions;
pub mod rank_correlation;
pub mod reconstruction;
mod shared_negatives;
mod shared_step;
mod shortest_paths;
pub mod subtree;
mod trainer;
pub mod view;
mod word2vec;
pub mod wordnet;
