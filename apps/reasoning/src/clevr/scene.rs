//! Scenes: objects on a plane, and which of them stand left of, right of, behind or in front of which.

use std::ops::{BitAnd, BitOr};

use super::attribute::{Attribute, AttributeValue};
use super::published;

/// The largest number of objects of a scene, as published.
pub const MAX_OBJECTS: usize = 10;

/// A relation between two objects, in the order of `metadata.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are the names of the relations")]
pub enum Relation {
    Left,
    Right,
    Behind,
    Front,
}

impl Relation {
    /// All relations.
    pub const ALL: [Relation; 4] = [Relation::Left, Relation::Right, Relation::Behind, Relation::Front];

    /// The name in the published files.
    pub fn name(self) -> &'static str {
        ["left", "right", "behind", "front"][self as usize]
    }

    /// The relation of a name.
    pub fn find(name: &str) -> Option<Relation> {
        Relation::ALL.into_iter().find(|relation| relation.name() == name)
    }
}

/// A set of objects of a scene, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectSet(u16);

impl ObjectSet {
    /// The objects with numbers below `count`.
    pub fn first(count: usize) -> Self {
        ObjectSet(((1u32 << count) - 1) as u16)
    }

    /// Number of objects.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is no object.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether an object is one of them.
    pub fn contains(self, object: usize) -> bool {
        self.0 & (1 << object) != 0
    }

    /// The object, if it is the only one.
    pub fn only(self) -> Option<usize> {
        (self.len() == 1).then(|| self.0.trailing_zeros() as usize)
    }

    /// The objects without one.
    pub fn without(self, object: usize) -> Self {
        ObjectSet(self.0 & !(1 << object))
    }

    /// The objects, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MAX_OBJECTS).filter(move |&object| self.contains(object))
    }
}

impl FromIterator<usize> for ObjectSet {
    fn from_iter<I: IntoIterator<Item = usize>>(objects: I) -> Self {
        ObjectSet(objects.into_iter().fold(0, |set, object| set | (1 << object)))
    }
}

/// The objects of both.
impl BitAnd for ObjectSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        ObjectSet(self.0 & other.0)
    }
}

/// The objects of either.
impl BitOr for ObjectSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        ObjectSet(self.0 | other.0)
    }
}

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The value of each attribute, in the order of [`Attribute::ALL`].
    pub attributes: [AttributeValue; 4],
    /// The centre: x and y on the plane, and the height above it.
    pub position: [f32; 3],
    /// The angle in degrees by which it is turned.
    pub rotation: f32,
    /// Where the centre is in the picture: column, row and distance; `None` if there is no picture.
    pub pixels: Option<[f32; 3]>,
}

impl Object {
    /// The value of an attribute.
    pub fn value(&self, attribute: Attribute) -> AttributeValue {
        self.attributes[attribute as usize]
    }

    /// Red, green and blue, from 0 to 1.
    pub fn colour(&self) -> [f32; 3] {
        published::rgb(self.value(Attribute::Colour))
    }

    /// Its radius, in the unit of its position.
    pub fn radius(&self) -> f32 {
        published::radius(self.value(Attribute::Size))
    }
}

/// A scene of one to [`MAX_OBJECTS`] objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The number by which questions name the scene.
    pub index: u64,
    /// The name of its picture, which need not exist.
    pub filename: String,
    /// The part of the data that it belongs to, such as `train`.
    pub split: String,
    /// The objects.
    pub objects: Vec<Object>,
    /// For each relation, in the order of [`Relation::ALL`], and each object: the objects that stand so.
    /// Those left of object 3 are `relations[0][3]`.
    pub relations: [Vec<ObjectSet>; 4],
    /// The name and unit vector of each direction, as in the file; empty if the file has none.
    pub directions: Vec<(String, [f32; 3])>,
}

impl Scene {
    /// All objects.
    pub fn all(&self) -> ObjectSet {
        ObjectSet::first(self.objects.len())
    }

    /// The objects that have a value of an attribute.
    pub fn having(&self, value: AttributeValue) -> ObjectSet {
        let attribute = value.attribute();
        let has = |&object: &usize| self.objects[object].value(attribute) == value;
        (0..self.objects.len()).filter(has).collect()
    }

    /// The objects that stand in a relation to an object.
    pub fn related(&self, relation: Relation, object: usize) -> ObjectSet {
        self.relations[relation as usize][object]
    }
}
