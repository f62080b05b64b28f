//! What can be answered without the scene: the most common answer of a question's kind.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::kind::Kind;
use super::questions::Question;

/// The most common answer of each kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior(BTreeMap<Kind, Answer>);

/// How many of a kind's questions the prior answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Questions of which the answer is known.
    pub questions: usize,
    /// Those to which the prior's answer is right.
    pub right: usize,
}

impl Prior {
    /// The most common answer of each kind in the questions for training; of several the first by number.
    /// Questions without answer or program do not count.
    pub fn new(training: &[Question]) -> Self {
        let mut counts: BTreeMap<Kind, [usize; Answer::COUNT]> = BTreeMap::new();
        for (kind, answer) in known(training) {
            counts.entry(kind).or_insert([0; Answer::COUNT])[answer.number()] += 1;
        }
        let most =
            |counts: [usize; Answer::COUNT]| {
                Answer::all().reduce(|best, answer| {
                    if counts[answer.number()] > counts[best.number()] { answer } else { best }
                })
            };
        Prior(counts.into_iter().filter_map(|(kind, counts)| Some((kind, most(counts)?))).collect())
    }

    /// Its answer to questions of a kind; `None` if training has none of that kind.
    pub fn answer(&self, kind: Kind) -> Option<Answer> {
        self.0.get(&kind).copied()
    }

    /// How many of these questions it answers, for each kind that occurs.
    pub fn test(&self, questions: &[Question]) -> BTreeMap<Kind, Answered> {
        let mut tested = BTreeMap::new();
        for (kind, answer) in known(questions) {
            let answered = tested.entry(kind).or_insert(Answered { questions: 0, right: 0 });
            answered.questions += 1;
            answered.right += usize::from(self.answer(kind) == Some(answer));
        }
        tested
    }
}

/// Kind and answer of the questions that have both.
fn known(questions: &[Question]) -> impl Iterator<Item = (Kind, Answer)> {
    questions.iter().filter_map(|question| Some((question.kind()?, question.answer?)))
}
