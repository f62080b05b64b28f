//! Random scenes: where objects stand, and what they look like.
//!
//! The rules are those of the published generator (Johnson et al. 2017, section 3.1 and its program at commit
//! f0ce2c81), which then renders a picture. What is ours: objects may hide each other, because nothing checks
//! that each can be seen in the picture, and they have no place in one.
//!
//! Its program divides the radius of an object named `Cube` by √2. Its own properties call the cube
//! `SmoothCube_v2`, so it divides none, and neither does this.

use std::array;

use cotangent::prelude::rng::{self, Rng};
use rand::RngExt;

use super::attribute::Attribute;
use super::published;
use super::scene::{MAX_OBJECTS, Object, ObjectSet, Relation, Scene};

/// The smallest number of objects.
const MIN_OBJECTS: usize = 3;
/// x and y are between -3 and 3.
const EXTENT: f32 = 3.0;
/// The smallest distance between the discs that two objects cover.
const CLEARANCE: f32 = 0.25;
/// The smallest distance between two centres along each direction.
const MARGIN: f32 = 0.4;
/// Number of tries to place an object, after which the scene is begun anew.
const TRIES: usize = 50;
/// One object is left of another if its offset in that direction exceeds this; the other directions likewise.
const OFFSET: f32 = 0.2;
/// x and y of the camera in the scene of the published generator; it looks at the origin.
pub(super) const CAMERA: [f32; 2] = [7.481_131_6, -6.507_64];
/// The camera is moved at random, by up to this along each axis.
const JITTER: f32 = 0.5;

/// Unit vectors on the plane, in the order of [`Relation::ALL`].
type Directions = [[f32; 2]; 4];

/// The scene of a number. It depends on the seed and the number alone.
///
/// There are 3 to 10 objects, and all numbers, attributes and angles are uniform. A position is uniform too,
/// but one that is too near an earlier object is drawn again.
pub fn random_scene(seed: u64, number: u64, split: &str) -> Scene {
    let mut rng = rng::stream(seed, "clevr scenes", number);
    let directions = random_directions(&mut rng);
    let count = rng.random_range(MIN_OBJECTS..=MAX_OBJECTS);
    let objects = loop {
        if let Some(objects) = random_objects(count, &directions, &mut rng) {
            break objects;
        }
    };
    Scene {
        index: number,
        filename: format!("CLEVR_{split}_{number:06}.png"),
        split: split.to_owned(),
        relations: relations(&objects, &directions),
        objects,
        directions: named(&directions),
    }
}

/// What is behind, left, right and in front as the camera sees it: the view projected onto the plane, and the
/// vectors at right angles and opposite to it.
fn random_directions(rng: &mut Rng) -> Directions {
    let [x, y] = CAMERA.map(|x| x + rng.random_range(-JITTER..JITTER));
    let norm = x.hypot(y);
    let behind = [-x / norm, -y / norm];
    let left = [-behind[1], behind[0]];
    let opposite = |[x, y]: [f32; 2]| [-x, -y];
    [left, opposite(left), behind, opposite(behind)]
}

/// So many objects, or `None` if one finds no place.
fn random_objects(count: usize, directions: &Directions, rng: &mut Rng) -> Option<Vec<Object>> {
    let mut objects: Vec<Object> = Vec::with_capacity(count);
    for _ in 0..count {
        let mut value = |attribute: Attribute| {
            let place = rng.random_range(0..attribute.values().len());
            attribute.values().nth(place).expect("below their number")
        };
        let attributes = Attribute::ALL.map(&mut value);
        let radius = published::radius(attributes[Attribute::Size as usize]);
        let mut draw = || {
            let mut coordinate = || rng.random_range(-EXTENT..EXTENT);
            [coordinate(), coordinate(), radius]
        };
        let fits =
            |position: &[f32; 3]| objects.iter().all(|other| is_clear(*position, radius, other, directions));
        let position = (0..TRIES).map(|_| draw()).find(fits)?;
        let rotation = rng.random_range(0.0..360.0);
        objects.push(Object { attributes, position, rotation, pixels: None });
    }
    Some(objects)
}

/// Whether an object at a position is not too near another one.
fn is_clear(position: [f32; 3], radius: f32, other: &Object, directions: &Directions) -> bool {
    let [x, y] = offset(other.position, position);
    let other_radius = published::radius(other.value(Attribute::Size));
    let clear = x.hypot(y) - radius - other_radius >= CLEARANCE;
    clear && directions.iter().all(|&[a, b]| (a * x + b * y).abs() >= MARGIN)
}

/// The way on the plane from one position to another.
fn offset(from: [f32; 3], to: [f32; 3]) -> [f32; 2] {
    array::from_fn(|i| to[i] - from[i])
}

/// For each relation and object, the objects that stand so.
fn relations(objects: &[Object], directions: &Directions) -> [Vec<ObjectSet>; 4] {
    directions.map(|[a, b]| {
        let stand_so = |from: &Object| {
            let stands_so = |&to: &usize| {
                let [x, y] = offset(from.position, objects[to].position);
                a * x + b * y > OFFSET
            };
            (0..objects.len()).filter(stands_so).collect()
        };
        objects.iter().map(stand_so).collect()
    })
}

/// The directions as the published files have them, which add above and below.
fn named(directions: &Directions) -> Vec<(String, [f32; 3])> {
    let on_plane = |relation: Relation| {
        let [x, y] = directions[relation as usize];
        (relation.name().to_owned(), [x, y, 0.0])
    };
    let upright = [("above", 1.0), ("below", -1.0)].map(|(name, z)| (name.to_owned(), [0.0, 0.0, z]));
    let mut named: Vec<_> = Relation::ALL.map(on_plane).into_iter().chain(upright).collect();
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    named
}
