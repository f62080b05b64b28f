//! The questions and their answers.

use cotangent::engine::rng;
use rand::seq::SliceRandom;

use super::image::{COLOURS, Image, SIDE, Shape};

/// All answers.
pub const ANSWERS: [&str; 12] =
    ["square", "circle", "left", "right", "top", "bottom", "1", "2", "3", "4", "5", "6"];

/// What is asked of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Its shape.
    Shape,
    /// Whether it is in the left or the right half.
    Horizontal,
    /// Whether it is in the upper or the lower half.
    Vertical,
    /// The shape of the nearest other object.
    Nearest,
    /// The shape of the farthest other object.
    Farthest,
    /// How many objects have its shape, itself included.
    Count,
}

impl Subject {
    /// All, first those that need no other object.
    pub const ALL: [Self; 6] = [
        Subject::Shape,
        Subject::Horizontal,
        Subject::Vertical,
        Subject::Nearest,
        Subject::Farthest,
        Subject::Count,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Shape => "shape",
            Subject::Horizontal => "left or right",
            Subject::Vertical => "top or bottom",
            Subject::Nearest => "nearest",
            Subject::Farthest => "farthest",
            Subject::Count => "count",
        }
    }

    /// Whether the answer depends on other objects.
    pub fn is_relational(self) -> bool {
        matches!(self, Subject::Nearest | Subject::Farthest | Subject::Count)
    }
}

/// A question about the object of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The number of the colour.
    pub colour: usize,
    /// What is asked.
    pub subject: Subject,
}

impl Question {
    /// Number of [`bits`](Self::bits).
    pub const BITS: usize = 11;

    /// Different questions about a picture in random order: `count` of those that are relational, or of the
    /// others. The random stream is named `"questions"`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn random(seed: u64, number: u64, relational: bool, count: usize) -> Vec<Self> {
        let subjects = Subject::ALL.into_iter().filter(|subject| subject.is_relational() == relational);
        let mut all: Vec<Self> = subjects
            .flat_map(|subject| (0..COLOURS.len()).map(move |colour| Question { colour, subject }))
            .collect();
        assert!(count <= all.len(), "Question::random: {count} of {} questions", all.len());
        all.shuffle(&mut rng::stream(seed, "questions", 2 * number + u64::from(relational)));
        all.truncate(count);
        all
    }

    /// As bits: six say the colour, one that it is relational, one that it is not, three what is asked.
    pub fn bits(&self) -> [f32; Self::BITS] {
        let mut bits = [0.0; Self::BITS];
        bits[self.colour] = 1.0;
        bits[if self.subject.is_relational() { 6 } else { 7 }] = 1.0;
        bits[8 + self.subject as usize % 3] = 1.0;
        bits
    }

    /// The number of the answer in [`ANSWERS`].
    pub fn answer(&self, image: &Image) -> u32 {
        let object = &image.objects[self.colour];
        let others = (0..COLOURS.len()).filter(|i| *i != self.colour).map(|i| &image.objects[i]);
        let shape = |shape| u32::from(shape == Shape::Circle);
        let is_after = |axis: usize| u32::from(2 * object.centre[axis] + 1 > SIDE as i32);
        let found = "there are other objects";
        match self.subject {
            Subject::Shape => shape(object.shape),
            Subject::Horizontal => 2 + is_after(0),
            Subject::Vertical => 4 + is_after(1),
            Subject::Nearest => {
                shape(others.min_by_key(|other| object.squared_distance(other)).expect(found).shape)
            }
            Subject::Farthest => {
                shape(others.max_by_key(|other| object.squared_distance(other)).expect(found).shape)
            }
            Subject::Count => 6 + others.filter(|other| other.shape == object.shape).count() as u32,
        }
    }

    /// The question in English.
    pub fn text(&self) -> String {
        let colour = COLOURS[self.colour].0;
        match self.subject {
            Subject::Shape => format!("What is the shape of the {colour} object?"),
            Subject::Horizontal => format!("Is the {colour} object on the left or on the right?"),
            Subject::Vertical => format!("Is the {colour} object on the top or on the bottom?"),
            Subject::Nearest => format!("What is the shape of the object closest to the {colour} object?"),
            Subject::Farthest => {
                format!("What is the shape of the object furthest from the {colour} object?")
            }
            Subject::Count => format!("How many objects have the shape of the {colour} object?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::image::Object;
    use super::*;

    /// Squares at the left, circles at the right, from top to bottom.
    fn image() -> Image {
        let object = |shape, centre| Object { shape, centre };
        let (square, circle) = (Shape::Square, Shape::Circle);
        let objects = [
            object(square, [10, 10]),
            object(square, [10, 30]),
            object(circle, [60, 12]),
            object(circle, [60, 40]),
            object(circle, [30, 66]),
            object(circle, [64, 64]),
        ];
        Image { objects }
    }

    #[test]
    fn answers_of_a_known_picture() {
        let image = image();
        let answer = |colour, subject| ANSWERS[Question { colour, subject }.answer(&image) as usize];
        assert_eq!([0, 2].map(|i| answer(i, Subject::Shape)), ["square", "circle"]);
        assert_eq!([0, 5].map(|i| answer(i, Subject::Horizontal)), ["left", "right"]);
        assert_eq!([0, 5].map(|i| answer(i, Subject::Vertical)), ["top", "bottom"]);
        assert_eq!([0, 4].map(|i| answer(i, Subject::Nearest)), ["square", "circle"]);
        assert_eq!([0, 5].map(|i| answer(i, Subject::Farthest)), ["circle", "square"]);
        assert_eq!([1, 3].map(|i| answer(i, Subject::Count)), ["2", "4"]);
    }

    /// Bits tell all questions apart.
    #[test]
    fn questions_differ() {
        let numbers = Subject::ALL.map(|subject| subject as usize);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        let all: Vec<Question> =
            [true, false].into_iter().flat_map(|kind| Question::random(1, 0, kind, 18)).collect();
        let mut bits: Vec<_> = all.iter().map(|question| question.bits().map(|bit| bit as u8)).collect();
        assert!(bits.iter().all(|bits| bits.iter().sum::<u8>() == 3));
        bits.sort();
        bits.dedup();
        assert_eq!(bits.len(), 36);
        assert_eq!(all[0].text().matches('?').count(), 1);
        assert_eq!(Question::random(1, 4, true, 10), Question::random(1, 4, true, 10));
        assert!(Question::random(1, 4, true, 10) != Question::random(1, 5, true, 10));
        assert!(Question::random(1, 4, true, 10).iter().all(|q| q.subject.is_relational()));
    }
}
