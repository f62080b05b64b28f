//! The 28 answers: yes, no, 0 to 10, and the 15 values of attributes.

use std::fmt;

use super::attribute::AttributeValue;
use super::metadata::Type;
use super::scene::MOST_OBJECTS;

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// Yes or no.
    Bool(bool),
    /// A number of objects, from 0 to [`MOST_OBJECTS`].
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
    pub const COUNT: usize = 2 + (MOST_OBJECTS + 1) + 15;

    /// All answers, by [number](Answer::number).
    pub fn all() -> impl Iterator<Item = Answer> {
        [true, false]
            .map(Answer::Bool)
            .into_iter()
            .chain(Self::of(Type::Integer))
            .chain(AttributeValue::all().map(Answer::Value))
    }

    /// The answers of a type; none of a type that is no answer's.
    pub fn of(kind: Type) -> Vec<Answer> {
        match kind {
            Type::Bool => [true, false].map(Answer::Bool).to_vec(),
            Type::Integer => (0..=MOST_OBJECTS as u8).map(Answer::Integer).collect(),
            Type::Attribute(attribute) => attribute.values().map(Answer::Value).collect(),
            Type::Object | Type::ObjectSet | Type::Relation => Vec::new(),
        }
    }

    /// The number of the answer, below [`Answer::COUNT`]: the class that a network predicts.
    pub fn number(self) -> usize {
        match self {
            Answer::Bool(yes) => usize::from(!yes),
            Answer::Integer(count) => 2 + usize::from(count),
            Answer::Value(value) => 2 + (MOST_OBJECTS + 1) + value as usize,
        }
    }

    /// The answer of a word.
    pub fn find(word: &str) -> Option<Answer> {
        Answer::all().find(|answer| answer.to_string() == word)
    }
}
