//! Scenes and the questions about them.

use std::path::Path;

use cotangent_apps_common::error::Result;

use super::questions::Question;
use super::scene::Scene;
use super::{questions_file, scenes_file};

/// Scenes and the questions about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The scenes.
    pub scenes: Vec<Scene>,
    /// The questions. Each says the place of its scene.
    pub questions: Vec<Question>,
}

impl Dataset {
    /// Reads the published files of scenes and of questions, or files in their format, plain or gzip.
    ///
    /// # Errors
    /// As [`scenes_file::read`] and [`questions_file::read`].
    pub fn read(scenes: &Path, questions: &Path) -> Result<Dataset> {
        let scenes = scenes_file::read(scenes)?;
        let questions = questions_file::read(questions, &scenes)?;
        Ok(Dataset { scenes, questions })
    }

    /// Writes both files in the published format.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, scenes: &Path, questions: &Path) -> Result<()> {
        scenes_file::write(scenes, &self.scenes)?;
        questions_file::write(questions, self)
    }

    /// Adds the scenes and questions of another data set.
    pub fn append(&mut self, other: Dataset) {
        let before = self.scenes.len();
        self.scenes.extend(other.scenes);
        let moved = other
            .questions
            .into_iter()
            .map(|question| Question { scene: before + question.scene, ..question });
        self.questions.extend(moved);
    }
}
