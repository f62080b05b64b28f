//! What an object looks like: size, colour, material and shape.

/// An attribute of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Attribute {
    /// Small or large.
    Size,
    /// One of eight colours.
    Colour,
    /// Rubber or metal.
    Material,
    /// Cube, sphere or cylinder.
    Shape,
}

/// A value of an attribute, in the order of the attributes and of `metadata.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are the names of the values")]
pub enum AttributeValue {
    Small,
    Large,
    Gray,
    Red,
    Blue,
    Green,
    Brown,
    Purple,
    Cyan,
    Yellow,
    Rubber,
    Metal,
    Cube,
    Sphere,
    Cylinder,
}

use AttributeValue::*;

/// The name of each value in the published files.
const NAMES: [(AttributeValue, &str); 15] = [
    (Small, "small"),
    (Large, "large"),
    (Gray, "gray"),
    (Red, "red"),
    (Blue, "blue"),
    (Green, "green"),
    (Brown, "brown"),
    (Purple, "purple"),
    (Cyan, "cyan"),
    (Yellow, "yellow"),
    (Rubber, "rubber"),
    (Metal, "metal"),
    (Cube, "cube"),
    (Sphere, "sphere"),
    (Cylinder, "cylinder"),
];

impl Attribute {
    /// All attributes, in the order in which a question names them.
    pub const ALL: [Attribute; 4] =
        [Attribute::Size, Attribute::Colour, Attribute::Material, Attribute::Shape];

    /// The name in the published files.
    pub fn name(self) -> &'static str {
        ["size", "color", "material", "shape"][self as usize]
    }

    /// The values, in the order of `metadata.json`.
    pub fn values(self) -> impl ExactSizeIterator<Item = AttributeValue> + Clone {
        let range = [0..2, 2..10, 10..12, 12..15][self as usize].clone();
        NAMES[range].iter().map(|(value, _)| *value)
    }

    /// The value of a name.
    pub fn value(self, name: &str) -> Option<AttributeValue> {
        self.values().find(|value| value.name() == name)
    }
}

impl AttributeValue {
    /// The values of all attributes.
    pub fn all() -> impl ExactSizeIterator<Item = AttributeValue> + Clone {
        NAMES.iter().map(|(value, _)| *value)
    }

    /// The name in the published files.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The attribute that has this value.
    pub fn attribute(self) -> Attribute {
        match self {
            Small | Large => Attribute::Size,
            Gray | Red | Blue | Green | Brown | Purple | Cyan | Yellow => Attribute::Colour,
            Rubber | Metal => Attribute::Material,
            Cube | Sphere | Cylinder => Attribute::Shape,
        }
    }
}
