//! Pictures with classes: folders of PNG and JPEG by class, arrays (IDX as MNIST comes, npy), each plain or
//! gzip, or a table whose rows are pictures. Also latents, which are floats.
//!
//! | module | what |
//! |---|---|
//! | [`pictures`] | pictures of one size, in memory or in their files |
//! | [`data`] | those of a directory, for training, validation and testing |
//! | [`folders`] | folders of PNG and JPEG files |
//! | [`raster`] | single pictures: their pixels, sizes and channels |
//! | [`codec`] | their files |
//! | [`reading`] | how they are read |
//! | [`sheet`] | pictures side by side |
//! | [`resample`] | moved, turned and sheared ones |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod arrays;
pub mod codec;
pub mod data;
pub mod folders;
mod idx;
pub mod pictures;
pub mod raster;
pub mod reading;
pub mod resample;
mod rows;
pub mod sheet;
#[cfg(test)]
mod tests;

pub use data::PictureData;
pub use pictures::{PictureNumber, Pictures};
pub use raster::{Fit, Raster, Region};
pub use reading::Reading;
