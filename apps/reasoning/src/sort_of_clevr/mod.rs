//! Sort-of-CLEVR: small pictures of six objects, and questions about them. Santoro et al. 2017, supplement D.
//!
//! The paper gives 75 × 75 pixels, six colours, two shapes, the kinds of questions and their eleven bits. It
//! does not give the objects' size, their distance, the background or the encoding of answers; these are our
//! own.

mod image;
mod question;

pub use image::{COLOURS, Image, Object, SIDE, Shape};
pub use question::{ANSWERS, Question, Subject};
