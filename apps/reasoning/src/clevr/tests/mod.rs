//! Tests that need several modules, and the scene that they share.

mod drawing;
mod files;
mod generated;
mod programs;
mod templates;

use super::attribute::Attribute;
use super::scene::{Object, ObjectSet, Scene};

/// A scene of four objects, seen along the y axis, so that left is towards -x and behind is towards +y:
///
/// ```text
///      y
///  3        2
///  2   0
///  1            3
///  0       1
///     -1 0 1 2  x
/// ```
pub(super) fn scene() -> Scene {
    let object = |[size, colour, material, shape]: [&str; 4], x: f32, y: f32| {
        let attributes =
            std::array::from_fn(|i| Attribute::ALL[i].value([size, colour, material, shape][i]).unwrap());
        let z = if size == "large" { 0.7 } else { 0.35 };
        Object { attributes, position: [x, y, z], rotation: 45.0, pixels: None }
    };
    let objects = vec![
        object(["large", "red", "metal", "cube"], -1.0, 2.0),
        object(["small", "red", "rubber", "sphere"], 0.0, 0.0),
        object(["large", "blue", "rubber", "cylinder"], 1.0, 3.0),
        object(["small", "red", "metal", "cube"], 2.0, 1.0),
    ];
    let stands = |greater: fn(&Object, &Object) -> bool| -> Vec<ObjectSet> {
        let stand_so = |from: &Object| {
            (0..objects.len()).filter(|&to| greater(&objects[to], from)).collect::<ObjectSet>()
        };
        objects.iter().map(stand_so).collect()
    };
    Scene {
        index: 7,
        filename: "CLEVR_new_000007.png".to_owned(),
        split: "new".to_owned(),
        relations: [
            stands(|to, from| to.position[0] < from.position[0]),
            stands(|to, from| to.position[0] > from.position[0]),
            stands(|to, from| to.position[1] > from.position[1]),
            stands(|to, from| to.position[1] < from.position[1]),
        ],
        objects,
        directions: Vec::new(),
    }
}
