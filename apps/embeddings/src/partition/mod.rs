//! Embeddings larger than memory: the nodes are in P parts, the edges in buckets, one for each pair of parts.
//! A step trains the edges of one bucket with its two parts in memory; all others are on disk. Lerer et al.
//! 2019 (PyTorch-BigGraph).
//!
//! | module | what |
//! |---|---|
//! | `survey` | a first pass over the edges: how many there are |
//! | `plan` | how many parts a size of memory needs; what a run takes of memory and disk |
//! | `prepare` | names to numbers, nodes to parts, edges to buckets, in bounded memory |
//! | `store` | the graph in parts and buckets on disk |
//! | `schedule` | which bucket is trained when, by which rank |
//! | `parts` | parts on the disk, while nobody trains them |
//! | `start` | where the points start |
//! | `supply` | what a turn of the training needs, from the disk and from other ranks |
//! | `course` | the training |
//! | `job` | what several ranks agree on before they train |
//! | `embedding` | a trained embedding in parts: its points, their neighbours, their evaluation |
//! | [`run`] | a run from its options to its results |

pub(crate) mod course;
pub(crate) mod embedding;
mod frame;
pub(crate) mod job;
pub(crate) mod parts;
pub(crate) mod plan;
mod prepare;
pub mod run;
pub(crate) mod schedule;
mod spill;
mod start;
pub(crate) mod store;
mod supply;
pub(crate) mod survey;

#[cfg(test)]
mod tests;
