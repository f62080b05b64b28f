//! The types of functions: `metadata.json`.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;

use super::attribute::Attribute;
use super::published;

/// The type of a value in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// One object.
    Object,
    /// A set of objects.
    ObjectSet,
    /// A number.
    Integer,
    /// Yes or no.
    Bool,
    /// A relation.
    Relation,
    /// A value of an attribute.
    Attribute(Attribute),
}

/// The name in `metadata.json`.
impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueType::Object => "Object",
            ValueType::ObjectSet => "ObjectSet",
            ValueType::Integer => "Integer",
            ValueType::Bool => "Bool",
            ValueType::Relation => "Relation",
            ValueType::Attribute(attribute) => ["Size", "Color", "Material", "Shape"][*attribute as usize],
        })
    }
}

impl ValueType {
    /// The type of a name in `metadata.json`.
    pub fn find(name: &str) -> Option<ValueType> {
        let plain = [
            ValueType::Object,
            ValueType::ObjectSet,
            ValueType::Integer,
            ValueType::Bool,
            ValueType::Relation,
        ];
        let attributes = Attribute::ALL.map(ValueType::Attribute);
        plain.into_iter().chain(attributes).find(|kind| kind.to_string() == name)
    }
}

/// What a function takes and returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The types of what other nodes return to it.
    pub inputs: Vec<ValueType>,
    /// The types of its constants, the side inputs or value inputs of the published files.
    pub constants: Vec<ValueType>,
    /// The type of what it returns.
    pub output: ValueType,
    /// Whether only templates have it.
    pub template_only: bool,
}

/// The signature of each function, by name.
static SIGNATURES: LazyLock<HashMap<String, Signature>> = LazyLock::new(|| {
    let file: File = published::parse("metadata.json", published::METADATA);
    file.functions.into_iter().map(|function| (function.name.clone(), function.signature())).collect()
});

#[derive(Deserialize)]
struct File {
    functions: Vec<Listed>,
}

/// A function as the file lists it.
#[derive(Deserialize)]
struct Listed {
    name: String,
    inputs: Vec<String>,
    #[serde(default)]
    side_inputs: Vec<String>,
    output: String,
    #[serde(default)]
    template_only: bool,
}

impl Listed {
    fn signature(self) -> Signature {
        let find = |name: &String| ValueType::find(name).expect("a type of the file");
        Signature {
            inputs: self.inputs.iter().map(find).collect(),
            constants: self.side_inputs.iter().map(find).collect(),
            output: find(&self.output),
            template_only: self.template_only,
        }
    }
}

impl Signature {
    /// The signature of a function.
    pub fn find(function: &str) -> Option<&'static Signature> {
        SIGNATURES.get(function)
    }

    /// Checks the inputs and the number of constants of a node. `outputs` has the types of what the nodes
    /// before it return.
    ///
    /// # Errors
    /// If there are too many or too few, or one has another type or comes from a node that is not before
    /// this one.
    pub fn check(&self, inputs: &[usize], outputs: &[ValueType], constants: usize) -> Result<(), String> {
        if inputs.len() != self.inputs.len() {
            return Err(format!("number of inputs: {}; it takes {}", inputs.len(), self.inputs.len()));
        }
        for (&input, &wanted) in inputs.iter().zip(&self.inputs) {
            let Some(&found) = outputs.get(input) else {
                return Err(format!("its input is node {input}, which is not before it: a cycle"));
            };
            if found != wanted {
                return Err(format!("its input, node {input}, is of type {found}; it takes {wanted}"));
            }
        }
        if constants != self.constants.len() {
            return Err(format!("number of value inputs: {constants}; it takes {}", self.constants.len()));
        }
        Ok(())
    }
}
