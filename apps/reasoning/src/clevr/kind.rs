//! The kinds of questions by which accuracy is reported: Johnson et al. 2017, section 3; Santoro et al. 2017,
//! section 5.1.

use std::fmt;

use super::function::Function;
use super::program::Program;

/// A kind of question. The last function of its program decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QuestionKind {
    /// Whether there is such an object.
    Exist,
    /// How many such objects there are.
    Count,
    /// How two numbers of objects compare.
    CompareInteger,
    /// What value an attribute of an object has.
    QueryAttribute,
    /// Whether two objects have the same value of an attribute.
    CompareAttribute,
}

impl QuestionKind {
    /// All kinds.
    pub const ALL: [QuestionKind; 5] = [
        QuestionKind::Exist,
        QuestionKind::Count,
        QuestionKind::CompareInteger,
        QuestionKind::QueryAttribute,
        QuestionKind::CompareAttribute,
    ];

    /// The kind of a program's question; `None` if its last function is one with which no published question
    /// ends.
    pub fn find(program: &Program) -> Option<QuestionKind> {
        match program.last() {
            Function::Exist => Some(QuestionKind::Exist),
            Function::Count => Some(QuestionKind::Count),
            Function::EqualInteger | Function::LessThan | Function::GreaterThan => {
                Some(QuestionKind::CompareInteger)
            }
            Function::Query(_) => Some(QuestionKind::QueryAttribute),
            Function::Equal(_) => Some(QuestionKind::CompareAttribute),
            _ => None,
        }
    }
}

/// As papers name it.
impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuestionKind::Exist => "exist",
            QuestionKind::Count => "count",
            QuestionKind::CompareInteger => "compare integer",
            QuestionKind::QueryAttribute => "query attribute",
            QuestionKind::CompareAttribute => "compare attribute",
        })
    }
}
