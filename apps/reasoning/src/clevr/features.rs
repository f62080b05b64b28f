//! State descriptions: a scene as numbers, a row for each object.
//!
//! Santoro et al. 2017, section 3.1: the coordinates x, y and z, red, green and blue, the shape, the material
//! and the size. That shape, material and size are one-hot is ours; the paper does not say.

use super::attribute::{Attribute, AttributeValue};
use super::scene::{MAX_OBJECTS, Object, Scene};

/// Number of features of an object: three coordinates, three of the colour, three shapes, two materials, two
/// sizes.
pub const FEATURES: usize = 13;

/// The features of each object, `[MAX_OBJECTS, FEATURES]`. Rows after the last object are 0.
pub fn features(scene: &Scene) -> [[f32; FEATURES]; MAX_OBJECTS] {
    let mut rows = [[0.0; FEATURES]; MAX_OBJECTS];
    rows.iter_mut().zip(&scene.objects).for_each(|(row, object)| *row = object_features(object));
    rows
}

fn object_features(object: &Object) -> [f32; FEATURES] {
    let one_hot = |attribute: Attribute| {
        let is = move |value: AttributeValue| if value == object.value(attribute) { 1.0 } else { 0.0 };
        attribute.values().map(is)
    };
    let colour = object.colour();
    let mut numbers = object
        .position
        .into_iter()
        .chain(colour)
        .chain([Attribute::Shape, Attribute::Material, Attribute::Size].into_iter().flat_map(one_hot));
    std::array::from_fn(|_| numbers.next().expect("a number for each feature"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clevr::tests::scene;

    #[test]
    fn a_row_has_position_colour_shape_material_and_size() {
        let scene = scene();
        let rows = features(&scene);
        let (red, green, blue) = (173.0 / 255.0, 35.0 / 255.0, 35.0 / 255.0);
        // A large red metal cube.
        let cube = [-1.0, 2.0, 0.7, red, green, blue, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        assert_eq!(rows[0], cube);
        let count = scene.objects.len();
        assert!(rows[count..].iter().flatten().all(|x| *x == 0.0));
        assert!(rows[count - 1].iter().any(|x| *x != 0.0));
    }
}
