//! How well a model answers, by kind of question.

use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use serde::{Deserialize, Serialize};

use super::dataset::{Dataset, Example};
use super::model::Reasoner;

/// The questions of a kind, and how many of them were answered rightly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindAnswers {
    /// What the kind is called.
    pub kind: String,
    /// Number of questions.
    pub questions: usize,
    /// Number of right answers.
    pub correct: usize,
    /// Number of right answers if each question gets the most common answer of its kind in training.
    pub constant: usize,
}

/// The answers to the questions of a part of the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// By kind. Kinds without questions are left out.
    pub kinds: Vec<KindAnswers>,
    /// Number of logits that are no finite numbers.
    pub not_finite: usize,
}

impl Answers {
    /// Number of questions.
    pub fn questions(&self) -> usize {
        self.kinds.iter().map(|kind| kind.questions).sum()
    }

    /// The share of right answers.
    pub fn accuracy(&self) -> f64 {
        self.share(|kind| kind.correct)
    }

    /// The share of right answers if each question gets the most common answer of its kind in training.
    pub fn constant(&self) -> f64 {
        self.share(|kind| kind.constant)
    }

    fn share(&self, count: impl Fn(&KindAnswers) -> usize) -> f64 {
        self.kinds.iter().map(count).sum::<usize>() as f64 / self.questions() as f64
    }
}

/// Number of scenes that are read together.
const TOGETHER: usize = 8;

/// The answers of a model to the questions about some examples.
///
/// # Errors
/// If a picture cannot be read.
pub(super) fn answer(
    model: &Reasoner,
    data: &Dataset,
    examples: &[Example],
    tape: &mut Tape<f32>,
) -> Result<Answers> {
    let constant = data.most_common_answers();
    let kind = |kind: &String| KindAnswers { kind: kind.clone(), questions: 0, correct: 0, constant: 0 };
    let mut answers = Answers { kinds: data.kinds.iter().map(kind).collect(), not_finite: 0 };
    for examples in examples.chunks(TOGETHER) {
        tape.reset();
        let examples: Vec<&Example> = examples.iter().collect();
        let logits = model.logits(tape, &model.batch(&examples, None)?);
        answers.not_finite += logits.to_tensor().data().iter().filter(|logit| !logit.is_finite()).count();
        let questions = examples.iter().flat_map(|example| &example.questions);
        for (question, found) in questions.zip(logits.top_k(1).1) {
            let kind = &mut answers.kinds[question.kind as usize];
            kind.questions += 1;
            kind.correct += usize::from(found == question.answer);
            kind.constant += usize::from(constant[question.kind as usize] == question.answer);
        }
    }
    answers.kinds.retain(|kind| kind.questions > 0);
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_questions() {
        let kind = |kind: &str, questions, correct, constant| KindAnswers {
            kind: kind.to_owned(),
            questions,
            correct,
            constant,
        };
        let answers = Answers { kinds: vec![kind("a", 6, 3, 1), kind("b", 2, 1, 2)], not_finite: 0 };
        assert_eq!((answers.questions(), answers.accuracy(), answers.constant()), (8, 0.5, 0.375));
    }
}
