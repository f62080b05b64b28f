//! The pictures.

use cotangent::engine::rng::{self, Rng};
use rand::RngExt;

/// Width and height of a picture in pixels.
pub const SIDE: usize = 75;

/// The colours of the objects: name, and red, green, blue.
pub const COLOURS: [(&str, [u8; 3]); 6] = [
    ("red", [255, 0, 0]),
    ("green", [0, 255, 0]),
    ("blue", [0, 0, 255]),
    ("orange", [255, 156, 0]),
    ("gray", [128, 128, 128]),
    ("yellow", [255, 255, 0]),
];

/// Half the side of a square, and the radius of a circle, in pixels.
const RADIUS: i32 = 5;

/// The shape of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A square of 11 × 11 pixels.
    Square,
    /// A disc of 11 pixels.
    Circle,
}

/// An object. Its colour is its place in the picture's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its shape.
    pub shape: Shape,
    /// The pixel at its centre: column and row, from the upper left corner.
    pub centre: [i32; 2],
}

impl Object {
    /// The squared distance of the centres.
    pub fn squared_distance(&self, other: &Object) -> i32 {
        (0..2).map(|axis| (self.centre[axis] - other.centre[axis]).pow(2)).sum()
    }

    /// Whether the objects touch or overlap.
    fn touches(&self, other: &Object) -> bool {
        (0..2).all(|axis| (self.centre[axis] - other.centre[axis]).abs() <= 2 * RADIUS + 1)
    }

    fn covers(&self, column: i32, row: i32) -> bool {
        let [x, y] = [column - self.centre[0], row - self.centre[1]];
        match self.shape {
            Shape::Square => x.abs() <= RADIUS && y.abs() <= RADIUS,
            Shape::Circle => x * x + y * y <= RADIUS * RADIUS,
        }
    }
}

/// A picture: an object of each colour on white, none of which touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// In the order of [`COLOURS`].
    pub objects: [Object; COLOURS.len()],
}

impl Image {
    /// A random picture. Shapes are as likely, places uniform among those where objects do not touch. No
    /// object has two nearest or two farthest others, nor is one in the middle: every question has one
    /// answer. The random stream is named `"sort-of-clevr"`.
    pub fn random(seed: u64, number: u64) -> Self {
        let rng = &mut rng::stream(seed, "sort-of-clevr", number);
        loop {
            let image = Image { objects: [0; COLOURS.len()].map(|_| object(rng)) };
            if image.is_clear() {
                return image;
            }
        }
    }

    /// Whether no objects touch, and each has a single nearest and a single farthest other object.
    fn is_clear(&self) -> bool {
        self.objects.iter().enumerate().all(|(i, object)| {
            let others = self.objects.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| other);
            let mut distances: Vec<i32> =
                others.clone().map(|other| object.squared_distance(other)).collect();
            distances.sort_unstable();
            let [first, second, .., before, last] = distances[..] else { unreachable!("six objects") };
            !others.clone().any(|other| object.touches(other)) && first < second && before < last
        })
    }

    /// Red, green and blue of every pixel, from 0 to 1, into `[3, SIDE, SIDE]`.
    ///
    /// # Panics
    /// If `pixels` has another length.
    pub fn draw(&self, pixels: &mut [f32]) {
        assert_eq!(pixels.len(), 3 * SIDE * SIDE, "Image::draw");
        pixels.fill(1.0);
        for (object, (_, colour)) in self.objects.iter().zip(COLOURS) {
            let around = |axis: usize| object.centre[axis] - RADIUS..=object.centre[axis] + RADIUS;
            for (row, column) in around(1).flat_map(|row| around(0).map(move |column| (row, column))) {
                if !object.covers(column, row) {
                    continue;
                }
                for (channel, &level) in colour.iter().enumerate() {
                    pixels[(channel * SIDE + row as usize) * SIDE + column as usize] =
                        f32::from(level) / 255.0;
                }
            }
        }
    }
}

/// A random object inside the picture.
fn object(rng: &mut Rng) -> Object {
    let shape = if rng.random() { Shape::Square } else { Shape::Circle };
    let centre = [0; 2].map(|_| {
        loop {
            let place = rng.random_range(RADIUS..SIDE as i32 - RADIUS);
            if 2 * place + 1 != SIDE as i32 {
                break place;
            }
        }
    });
    Object { shape, centre }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each object covers the pixels of its shape: nothing hides it.
    #[test]
    fn objects_are_seen_whole() {
        let (square, circle) = (121, 81);
        for number in 0..50 {
            let image = Image::random(7, number);
            let mut pixels = vec![0.0; 3 * SIDE * SIDE];
            image.draw(&mut pixels);
            for (object, (name, colour)) in image.objects.iter().zip(COLOURS) {
                let is = |pixel: usize| {
                    (0..3).all(|c| pixels[c * SIDE * SIDE + pixel] == f32::from(colour[c]) / 255.0)
                };
                let count = (0..SIDE * SIDE).filter(|&pixel| is(pixel)).count();
                let want = if object.shape == Shape::Square { square } else { circle };
                assert_eq!(count, want, "{name} in {image:?}");
                assert!(is(object.centre[1] as usize * SIDE + object.centre[0] as usize));
            }
        }
    }

    #[test]
    fn a_picture_follows_from_its_seed_and_number() {
        assert_eq!(Image::random(1, 5), Image::random(1, 5));
        assert!(Image::random(1, 5) != Image::random(1, 6) && Image::random(1, 5) != Image::random(2, 5));
        let squares: usize = (0..200)
            .flat_map(|number| Image::random(3, number).objects)
            .filter(|object| object.shape == Shape::Square)
            .count();
        assert!((500..700).contains(&squares), "{squares} of 1200");
    }
}
