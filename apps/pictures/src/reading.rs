//! How pictures are read, and what is read of a directory.

use cotangent_apps_common::error::{AppError, Result};

use crate::pictures::Pictures;

/// How pictures are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The side that pictures are brought to. If there is none, arrays keep theirs.
    pub side: Option<usize>,
    /// The side of pictures from folders if no other is wanted.
    pub folder_side: usize,
    /// Share of the training pictures that is held out for each part that is missing.
    pub held_out: f64,
    /// Seed of that choice.
    pub seed: u64,
    /// The value in a table that is white. If there is none, it is the largest.
    pub white: Option<f32>,
    /// Whether pictures of folders stay in their files, and each is read whenever it is asked for.
    pub lazy: bool,
}

impl Reading {
    /// The side of pictures from folders.
    pub(crate) fn folder_side(&self) -> usize {
        self.side.unwrap_or(self.folder_side)
    }

    /// Checks that so many pictures from folders fit in memory, unless they stay in their files.
    pub(crate) fn check_memory(&self, count: usize) -> Result<()> {
        if self.lazy {
            // Those of a batch are checked by the application.
            return Ok(());
        }
        let hint = |error: AppError| AppError::usage(format!("{error}; --lazy keeps them in their files"));
        Pictures::<u8>::check_memory(count, self.folder_side(), 3).map_err(hint)
    }
}

/// What a directory has.
pub(crate) struct Parts<N = u8> {
    pub(crate) classes: Vec<String>,
    pub(crate) train: Pictures<N>,
    /// For validation and testing.
    pub(crate) others: [Option<Pictures<N>>; 2],
    /// The value that is white, if they are from a table.
    pub(crate) white: Option<f32>,
}
