//! How often each answer to a template was given: answers that lead are refused.

use super::answer::Answer;
use super::metadata::ValueType;

/// An answer may lead the second most frequent one by this factor,
const SECOND: f64 = 1.1;
/// and the median by this,
const MEDIAN: f64 = 5.0;
/// which counts as at least so many questions.
const LEAST_MEDIAN: u32 = 5;

/// The number of questions of a template with each answer.
pub(super) struct Balance(Vec<(Answer, u32)>);

impl Balance {
    /// No questions, for a template whose answers are of a type.
    pub(super) fn new(kind: ValueType) -> Self {
        Balance(Answer::with_type(kind).into_iter().map(|answer| (answer, 0)).collect())
    }

    /// Whether one more question with this answer is accepted.
    pub(super) fn accepts(&self, answer: Answer) -> bool {
        let mut counts: Vec<u32> = self.0.iter().map(|(_, count)| *count).collect();
        counts.sort_unstable();
        let second = counts[counts.len() - 2];
        let median = counts[counts.len() / 2].max(LEAST_MEDIAN);
        let count = f64::from(self.count(answer));
        count <= SECOND * f64::from(second) && count <= MEDIAN * f64::from(median)
    }

    /// Counts a question.
    pub(super) fn add(&mut self, answer: Answer) {
        self.0.iter_mut().filter(|(other, _)| *other == answer).for_each(|(_, count)| *count += 1);
    }

    fn count(&self, answer: Answer) -> u32 {
        self.0.iter().find(|(other, _)| *other == answer).map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Answer::Integer;

    #[test]
    fn answers_that_lead_are_refused() {
        let mut balance = Balance::new(ValueType::Integer);
        assert!(balance.accepts(Integer(0)));
        balance.add(Integer(0));
        // One more than the second, which has none.
        assert!(!balance.accepts(Integer(0)) && balance.accepts(Integer(1)));
        (0..10).for_each(|_| balance.add(Integer(1)));
        (0..9).for_each(|_| balance.add(Integer(0)));
        assert!(balance.accepts(Integer(0)) && balance.accepts(Integer(1)));
        balance.add(Integer(0));
        // 11 is 1.1 times 10.
        assert!(balance.accepts(Integer(0)));
        balance.add(Integer(0));
        assert!(!balance.accepts(Integer(0)));
        // The median of these is 0, which counts as 5: more than 25 are too many.
        (0..16).for_each(|_| balance.add(Integer(1)));
        (0..14).for_each(|_| balance.add(Integer(0)));
        assert!(!balance.accepts(Integer(0)) && !balance.accepts(Integer(1)) && balance.accepts(Integer(2)));
    }
}
