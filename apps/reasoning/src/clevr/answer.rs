//! The 28 answers: yes, no, 0 to 10, and the 15 values of attributes.

use std::fmt;

use super::attribute::AttributeValue;
use super::metadata::ValueType;
use super::scene::MAX_OBJECTS;

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// Yes or no.
    Bool(bool),
    /// A number of objects, from 0 to [`MAX_OBJECTS`].
    Integer(u8),
    /// A value of an attribute.
    Value(AttributeValue),
}

/// As the published questions have it.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Bool(true) => f.write_str("yes"),
            Answer::Bool(false) => f.write_str("no"),
            Answer::Integer(count) => write!(f, "{count}"),
            Answer::Value(value) => f.write_str(value.name()),
        }
    }
}

impl Answer {
    /// Number of answers.
    pub const COUNT: usize = 2 + (MAX_OBJECTS + 1) + 15;

    /// All answers, by [number](Answer::number).
    pub fn all() -> impl Iterator<Item = Answer> {
        [true, false]
            .map(Answer::Bool)
            .into_iter()
            .chain(Self::with_type(ValueType::Integer))
            .chain(AttributeValue::all().map(Answer::Value))
    }

    /// The answers of a type; none of a type that is no answer's.
    pub fn with_type(kind: ValueType) -> Vec<Answer> {
        match kind {
            ValueType::Bool => [true, false].map(Answer::Bool).to_vec(),
            ValueType::Integer => (0..=MAX_OBJECTS as u8).map(Answer::Integer).collect(),
            ValueType::Attribute(attribute) => attribute.values().map(Answer::Value).collect(),
            ValueType::Object | ValueType::ObjectSet | ValueType::Relation => Vec::new(),
        }
    }

    /// The number of the answer, below [`Answer::COUNT`]: the class that a network predicts.
    pub fn number(self) -> usize {
        match self {
            Answer::Bool(yes) => usize::from(!yes),
            Answer::Integer(count) => 2 + usize::from(count),
            Answer::Value(value) => 2 + (MAX_OBJECTS + 1) + value as usize,
        }
    }

    /// The answer of a word.
    pub fn find(word: &str) -> Option<Answer> {
        Answer::all().find(|answer| answer.to_string() == word)
    }
}
