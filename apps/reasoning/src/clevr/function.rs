//! The 27 functions of programs: what each computes on a scene.

use super::answer::Answer;
use super::attribute::{Attribute, AttributeValue};
use super::metadata::ValueType;
use super::scene::{ObjectSet, Relation, Scene};

/// A function of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// All objects.
    Scene,
    /// The objects that have a value of the attribute.
    Filter(Attribute),
    /// The only object of a set; an error if there are none or several.
    Unique,
    /// The objects that stand in a relation to an object.
    Relate,
    /// The objects of either set.
    Union,
    /// The objects of both sets.
    Intersect,
    /// Number of objects.
    Count,
    /// Whether there is an object.
    Exist,
    /// The value of an object's attribute.
    Query(Attribute),
    /// The other objects that have the same value of the attribute.
    Same(Attribute),
    /// Whether two values of the attribute are equal.
    Equal(Attribute),
    /// Whether two numbers are equal.
    EqualInteger,
    /// Whether two objects are the same one.
    EqualObject,
    /// Whether the first number is the smaller one.
    LessThan,
    /// Whether the first number is the greater one.
    GreaterThan,
}

use Attribute::{Colour, Material, Shape, Size};

/// The name of each function in `metadata.json`.
const NAMES: [(&str, Function); 27] = [
    ("scene", Function::Scene),
    ("filter_size", Function::Filter(Size)),
    ("filter_color", Function::Filter(Colour)),
    ("filter_material", Function::Filter(Material)),
    ("filter_shape", Function::Filter(Shape)),
    ("unique", Function::Unique),
    ("relate", Function::Relate),
    ("union", Function::Union),
    ("intersect", Function::Intersect),
    ("count", Function::Count),
    ("exist", Function::Exist),
    ("query_size", Function::Query(Size)),
    ("query_color", Function::Query(Colour)),
    ("query_material", Function::Query(Material)),
    ("query_shape", Function::Query(Shape)),
    ("same_size", Function::Same(Size)),
    ("same_color", Function::Same(Colour)),
    ("same_material", Function::Same(Material)),
    ("same_shape", Function::Same(Shape)),
    ("equal_size", Function::Equal(Size)),
    ("equal_color", Function::Equal(Colour)),
    ("equal_material", Function::Equal(Material)),
    ("equal_shape", Function::Equal(Shape)),
    ("equal_integer", Function::EqualInteger),
    ("equal_object", Function::EqualObject),
    ("less_than", Function::LessThan),
    ("greater_than", Function::GreaterThan),
];

/// What a program says itself: a side input, or value input, of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Constant {
    /// A relation.
    Relation(Relation),
    /// A value of an attribute.
    Value(AttributeValue),
}

impl Constant {
    /// The constant of a type and a name.
    pub fn find(kind: ValueType, name: &str) -> Option<Constant> {
        Constant::with_type(kind).into_iter().find(|constant| constant.name() == name)
    }

    /// The constants of a type; none of a type that has no names.
    pub fn with_type(kind: ValueType) -> Vec<Constant> {
        match kind {
            ValueType::Relation => Relation::ALL.map(Constant::Relation).to_vec(),
            ValueType::Attribute(attribute) => attribute.values().map(Constant::Value).collect(),
            ValueType::Object | ValueType::ObjectSet | ValueType::Integer | ValueType::Bool => Vec::new(),
        }
    }

    /// The name in the published files.
    pub fn name(self) -> &'static str {
        match self {
            Constant::Relation(relation) => relation.name(),
            Constant::Value(value) => value.name(),
        }
    }
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// One object, by number.
    Object(usize),
    /// A set of objects.
    Objects(ObjectSet),
    /// An answer.
    Answer(Answer),
}

impl Function {
    /// The function of a name; `None` also for those that only templates have.
    pub fn find(name: &str) -> Option<Function> {
        NAMES.iter().find(|(other, _)| *other == name).map(|(_, function)| *function)
    }

    /// The name in `metadata.json`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, other)| *other == self).expect("each function is listed").0
    }

    /// What the function returns.
    ///
    /// # Errors
    /// If `unique` does not find exactly one object: how many it finds.
    ///
    /// # Panics
    /// If the inputs or the constant are not of the types that the function takes.
    pub fn apply(self, scene: &Scene, inputs: &[Value], constant: Option<Constant>) -> Result<Value, usize> {
        let yes = |yes| Value::Answer(Answer::Bool(yes));
        Ok(match (self, inputs, constant) {
            (Function::Scene, [], None) => Value::Objects(scene.all()),
            (Function::Filter(_), [Value::Objects(set)], Some(Constant::Value(value))) => {
                Value::Objects(*set & scene.having(value))
            }
            (Function::Unique, [Value::Objects(set)], None) => {
                Value::Object(set.only().ok_or_else(|| set.len())?)
            }
            (Function::Relate, [Value::Object(object)], Some(Constant::Relation(relation))) => {
                Value::Objects(scene.related(relation, *object))
            }
            (Function::Union, [Value::Objects(a), Value::Objects(b)], None) => Value::Objects(*a | *b),
            (Function::Intersect, [Value::Objects(a), Value::Objects(b)], None) => Value::Objects(*a & *b),
            (Function::Count, [Value::Objects(set)], None) => Value::Answer(Answer::Integer(set.len() as u8)),
            (Function::Exist, [Value::Objects(set)], None) => yes(!set.is_empty()),
            (Function::Query(attribute), [Value::Object(object)], None) => {
                Value::Answer(Answer::Value(scene.objects[*object].value(attribute)))
            }
            (Function::Same(attribute), [Value::Object(object)], None) => {
                let value = scene.objects[*object].value(attribute);
                Value::Objects(scene.having(value).without(*object))
            }
            (Function::Equal(_) | Function::EqualInteger, [Value::Answer(a), Value::Answer(b)], None) => {
                yes(a == b)
            }
            (Function::EqualObject, [Value::Object(a), Value::Object(b)], None) => yes(a == b),
            (Function::LessThan, [Value::Answer(a), Value::Answer(b)], None) => yes(a < b),
            (Function::GreaterThan, [Value::Answer(a), Value::Answer(b)], None) => yes(a > b),
            _ => panic!("{}: inputs {inputs:?} and constant {constant:?}", self.name()),
        })
    }
}
