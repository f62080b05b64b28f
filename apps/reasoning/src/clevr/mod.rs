//! CLEVR: questions about scenes of simple objects, with programs that answer them (Johnson et al. 2017).
//!
//! The published scenes and questions can be read. A [`Generator`] makes others in their form, by the
//! published rules and templates, and draws pictures of them; they are not the published ones.
//!
//! | module | what |
//! |---|---|
//! | [`scene`], [`attribute`] | objects, what they look like, and how they stand to each other |
//! | [`placement`] | random scenes |
//! | [`picture`] | their pictures, from files or drawn |
//! | [`program`], [`function`], [`metadata`] | the programs that answer questions, and their types |
//! | [`answer`] | the 28 answers |
//! | [`template`] | the templates of questions |
//! | [`questions`] | questions, and how they are generated |
//! | [`dataset`], [`scenes_file`], [`questions_file`] | the published files, read and written |
//! | [`kind`] | kinds of questions |
//! | [`words`], [`features`] | questions and scenes as numbers for a network |

pub mod answer;
pub mod attribute;
mod balance;
pub mod dataset;
mod drawing;
pub mod features;
pub mod function;
mod instance;
pub mod kind;
pub mod metadata;
mod options;
pub mod picture;
pub mod placement;
pub mod program;
mod published;
pub mod questions;
pub mod questions_file;
pub mod scene;
pub mod scenes_file;
pub mod template;
#[cfg(test)]
mod tests;
mod wording;
pub mod words;

pub use answer::Answer;
pub use dataset::Dataset;
pub use kind::QuestionKind;
pub use picture::Picture;
pub use questions::{Generator, Question};
pub use scene::{MAX_OBJECTS, Scene};
pub use words::Vocabulary;
