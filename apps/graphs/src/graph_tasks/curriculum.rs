//! The course of the lessons: Gulcehre et al. 2019, appendix A.3.

use cotangent_apps_common::error::{AppError, Result};

use super::task::Lesson;

/// Lessons that follow one another, and when each is passed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curriculum {
    /// The lessons; the last one is trained to the end.
    pub(super) lessons: Vec<Lesson>,
    /// A lesson is passed if the mean accuracy of its last validations is as large.
    pub(super) pass: f64,
    /// The number of these validations.
    pub(super) last: usize,
    /// The largest number of epochs of a lesson.
    pub(super) longest: u64,
    /// Number of epochs of the whole training.
    pub(super) epochs: u64,
}

/// A lesson under way: its number, from 0, and the number of epochs before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lesson: usize,
    pub(super) start: usize,
}

impl Curriculum {
    /// The lessons that have begun after epochs with these validation accuracies. It follows from them alone,
    /// so a resumed run goes on in the lesson that it was in.
    pub(super) fn places(&self, validations: &[f64]) -> Vec<Place> {
        let mut places = vec![Place { lesson: 0, start: 0 }];
        for end in 1..=validations.len() {
            let Place { lesson, start } = places[places.len() - 1];
            if lesson + 1 < self.lessons.len() && self.passes(&validations[start..end]) {
                places.push(Place { lesson: lesson + 1, start: end });
            }
        }
        places
    }

    /// The lesson after epochs with these validation accuracies.
    pub(super) fn place(&self, validations: &[f64]) -> Place {
        *self.places(validations).last().expect("there is a first lesson")
    }

    /// Whether a lesson with these validation accuracies is passed.
    fn passes(&self, validations: &[f64]) -> bool {
        let Some(first) = validations.len().checked_sub(self.last) else { return false };
        validations[first..].iter().sum::<f64>() / self.last as f64 >= self.pass
    }

    /// Checks, after an epoch, that its lesson is passed or may go on.
    ///
    /// # Errors
    /// If the lesson has had as many epochs as it may have, or the training has, and was not passed.
    pub(super) fn check(&self, validations: &[f64]) -> Result<()> {
        let Place { lesson, start } = self.place(validations);
        let (done, accuracies) = (validations.len() as u64, &validations[start..]);
        let is_last = lesson + 1 == self.lessons.len();
        if is_last || ((accuracies.len() as u64) < self.longest && done < self.epochs) {
            return Ok(());
        }
        let accuracy = accuracies.last().map_or(String::new(), |last| format!(", accuracy {last:.3}"));
        Err(AppError::usage(format!(
            "lesson {} of {} ({}) is not passed after {} epochs{accuracy}; a lower --pass or more \
             --lesson-epochs and --epochs may help",
            lesson + 1,
            self.lessons.len(),
            name(&self.lessons[lesson]),
            accuracies.len(),
        )))
    }
}

/// A lesson in texts: `30°, 1000 nodes`.
pub(super) fn name(lesson: &Lesson) -> String {
    format!("{}°, {} nodes", lesson.angle, lesson.nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curriculum() -> Curriculum {
        let lessons = [(30.0, 50), (90.0, 50), (360.0, 100)];
        let lessons = lessons.map(|(angle, nodes)| Lesson { angle, nodes }).to_vec();
        Curriculum { lessons, pass: 0.75, last: 2, longest: 4, epochs: 9 }
    }

    /// By the mean of the last two accuracies of the lesson itself; the last lesson has no end.
    #[test]
    fn lessons_are_passed_by_their_own_accuracies() {
        let starts = |validations: &[f64]| -> Vec<usize> {
            curriculum().places(validations).iter().map(|place| place.start).collect()
        };
        assert_eq!(starts(&[]), [0]);
        assert_eq!(starts(&[1.0]), [0]);
        assert_eq!(starts(&[0.5, 1.0]), [0, 2]);
        assert_eq!(starts(&[0.5, 1.0, 1.0]), [0, 2]);
        assert_eq!(starts(&[0.5, 1.0, 0.4, 0.9, 0.6]), [0, 2, 5]);
        assert_eq!(starts(&[1.0; 9]), [0, 2, 4]);
        assert_eq!(curriculum().place(&[1.0; 9]), Place { lesson: 2, start: 4 });
    }

    /// The error names the lesson. At the end of the training, too, whatever its lesson may take.
    #[test]
    fn a_lesson_that_is_not_passed_is_named() {
        let low = [0.5; 4];
        assert!(curriculum().check(&low[..3]).is_ok());
        let error = curriculum().check(&low).unwrap_err().to_string();
        let expected = "lesson 1 of 3 (30°, 50 nodes) is not passed after 4 epochs, accuracy 0.500; ";
        assert!(error.starts_with(expected), "{error}");
        let short = Curriculum { epochs: 3, ..curriculum() };
        assert!(short.check(&[1.0, 1.0, 0.5]).unwrap_err().to_string().starts_with("lesson 2 of 3 (90°"));
        assert!(short.check(&[0.5, 1.0]).is_ok());
        let passed = [&[1.0; 4][..], &[0.0; 5]].concat();
        assert!(curriculum().check(&passed).is_ok());
    }
}
