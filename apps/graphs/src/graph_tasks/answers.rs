//! How well a model answers: by class, beside the best constant answer.

use cotangent::optim::train::each_batch;
use cotangent::prelude::*;
use serde::{Deserialize, Serialize};

use super::model::{Questions, RecursiveTransformer};

/// The questions of a class, and how many of them were answered rightly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassAnswers {
    /// Number of questions with this answer.
    pub questions: usize,
    /// Number of those that were answered so.
    pub correct: usize,
}

/// The answers to many questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// By class; class k of paths is the length k + 1.
    pub classes: Vec<ClassAnswers>,
    /// Number of logits that are no finite numbers.
    pub not_finite: usize,
}

impl Answers {
    fn new(classes: usize) -> Self {
        Answers { classes: vec![ClassAnswers::default(); classes], not_finite: 0 }
    }

    /// Number of questions.
    pub fn questions(&self) -> usize {
        self.classes.iter().map(|class| class.questions).sum()
    }

    /// The share of right answers.
    pub fn accuracy(&self) -> f64 {
        let correct: usize = self.classes.iter().map(|class| class.correct).sum();
        correct as f64 / self.questions() as f64
    }

    /// The class that most questions have, and their share: the optimal constant predictor of Gulcehre et al.
    /// 2019, section 5.1.
    pub fn constant(&self) -> (usize, f64) {
        let common = (0..self.classes.len()).rev().max_by_key(|&class| self.classes[class].questions);
        let class = common.expect("there are classes");
        (class, self.classes[class].questions as f64 / self.questions() as f64)
    }

    fn add(mut self, other: Self) -> Self {
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.questions += more.questions;
            class.correct += more.correct;
        }
        self.not_finite += other.not_finite;
        self
    }
}

/// The answers of a model to the questions of some graphs. It uses the current thread pool.
pub(super) fn answer(
    model: &RecursiveTransformer,
    classes: usize,
    graphs: &[Questions],
    tape: &mut Tape<f32>,
) -> Answers {
    let found = each_batch(tape, graphs, |tape, questions| {
        let logits = model.logits(tape, questions);
        let mut answers = Answers::new(classes);
        answers.not_finite = logits.to_tensor().data().iter().filter(|logit| !logit.is_finite()).count();
        let (_, largest) = logits.top_k(1);
        for (&label, answer) in questions.labels.iter().zip(largest) {
            let class = &mut answers.classes[label as usize];
            class.questions += 1;
            class.correct += usize::from(answer == label);
        }
        answers
    });
    found.into_iter().fold(Answers::new(classes), Answers::add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_is_the_most_common_answer() {
        let class = |questions, correct| ClassAnswers { questions, correct };
        let answers = Answers { classes: vec![class(2, 2), class(5, 1), class(5, 0)], not_finite: 0 };
        assert_eq!((answers.questions(), answers.constant()), (12, (1, 5.0 / 12.0)));
        assert_eq!(answers.accuracy(), 0.25);
        assert_eq!(answers.clone().add(answers).classes[1], class(10, 2));
    }
}
