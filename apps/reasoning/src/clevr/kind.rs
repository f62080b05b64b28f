//! The kinds of questions by which accuracy is reported: Johnson et al. 2017, section 3; Santoro et al. 2017,
//! section 5.1.

use std::fmt;

use super::function::Function;
use super::program::Program;

/// A kind of question. The last function of its program decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
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

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] =
        [Kind::Exist, Kind::Count, Kind::CompareInteger, Kind::QueryAttribute, Kind::CompareAttribute];

    /// The kind of a program's question; `None` if its last function is one with which no published question
    /// ends.
    pub fn of(program: &Program) -> Option<Kind> {
        match program.last() {
            Function::Exist => Some(Kind::Exist),
            Function::Count => Some(Kind::Count),
            Function::EqualInteger | Function::LessThan | Function::GreaterThan => Some(Kind::CompareInteger),
            Function::Query(_) => Some(Kind::QueryAttribute),
            Function::Equal(_) => Some(Kind::CompareAttribute),
            _ => None,
        }
    }
}

/// As papers name it.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Exist => "exist",
            Kind::Count => "count",
            Kind::CompareInteger => "compare integer",
            Kind::QueryAttribute => "query attribute",
            Kind::CompareAttribute => "compare attribute",
        })
    }
}
