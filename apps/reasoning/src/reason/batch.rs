//! Examples side by side, as the model reads them.

use cotangent::prelude::*;

use super::dataset::{Example, Reading, Scene};
use crate::clevr;
use crate::clevr::features::{FEATURES, features};
use crate::sort_of_clevr::SIDE;

/// Examples side by side.
pub(super) struct Batch<'a> {
    examples: &'a [&'a Example],
    /// Places for questions of each example; some may be empty.
    places: usize,
}

impl<'a> Batch<'a> {
    /// Puts examples side by side. All have the same kind of scene and of questions.
    ///
    /// # Panics
    /// If there is no question.
    pub(super) fn new(examples: &'a [&'a Example]) -> Self {
        let places = examples.iter().map(|example| example.questions.len()).max().unwrap_or(0);
        assert!(places > 0, "Batch: no question");
        Batch { examples, places }
    }

    /// Number of examples, and of places for questions of each.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.examples.len(), self.places]
    }

    /// The places of the questions among all places, in order.
    pub(super) fn rows(&self) -> Vec<u32> {
        let places = |(i, example): (usize, &&Example)| {
            let first = i * self.places;
            (first..first + example.questions.len()).map(|place| place as u32)
        };
        self.examples.iter().enumerate().flat_map(places).collect()
    }

    /// The number of the question at each place; an empty place has that of another question.
    pub(super) fn questions(&self) -> Vec<u32> {
        let mut questions = vec![0; self.examples.len() * self.places];
        (0..).zip(self.rows()).for_each(|(question, place)| questions[place as usize] = question);
        questions
    }

    /// The answers of the questions, in order.
    pub(super) fn answers(&self) -> Vec<u32> {
        let questions = self.examples.iter().flat_map(|example| &example.questions);
        questions.map(|question| question.answer).collect()
    }

    /// The pictures, `[batch, 3, SIDE, SIDE]`, if the scenes are pictures.
    pub(super) fn images<'t>(&self, tape: &'t Tape<f32>) -> Option<Var<'t, f32>> {
        let images = self.examples.iter().map(|example| match &example.scene {
            Scene::Image(image) => Some(image),
            Scene::Objects(_) => None,
        });
        let images: Vec<_> = images.collect::<Option<_>>()?;
        Some(tape.constant_with([images.len(), 3, SIDE, SIDE], |pixels| {
            pixels.chunks_mut(3 * SIDE * SIDE).zip(images).for_each(|(pixels, image)| image.draw(pixels));
        }))
    }

    /// The features of the scenes' objects, `[batch, n, FEATURES]`, and which places of objects are empty,
    /// `[batch, n]`.
    ///
    /// # Panics
    /// If a scene is a picture, or no scene has objects.
    pub(super) fn objects<'t>(&self, tape: &'t Tape<f32>) -> [Var<'t, f32>; 2] {
        let scenes = self.examples.iter().map(|example| match &example.scene {
            Scene::Objects(scene) => scene,
            Scene::Image(_) => panic!("Batch: objects of a picture"),
        });
        let scenes: Vec<&clevr::Scene> = scenes.collect();
        let n = scenes.iter().map(|scene| scene.objects.len()).max().unwrap_or(0);
        let rows = tape.constant_with([scenes.len(), n, FEATURES], |numbers| {
            for (places, scene) in numbers.chunks_mut(n * FEATURES).zip(&scenes) {
                places.copy_from_slice(&features(scene).as_flattened()[..n * FEATURES]);
            }
        });
        let absent = tape.constant_with([scenes.len(), n], |numbers| {
            for (places, scene) in numbers.chunks_mut(n).zip(&scenes) {
                let (present, absent) = places.split_at_mut(scene.objects.len());
                present.fill(0.0);
                absent.fill(1.0);
            }
        });
        [rows, absent]
    }

    /// The bits of questions that are read so, `[batch, places, bits]`. Empty places have zeros.
    pub(super) fn bits<'t>(&self, tape: &'t Tape<f32>) -> Option<Var<'t, f32>> {
        let readings = self.examples.iter().flat_map(|example| &example.questions).map(|q| &q.reading);
        let bits = readings.map(|reading| match reading {
            Reading::Bits(bits) => Some(bits),
            Reading::Words(_) => None,
        });
        let bits: Vec<&Vec<f32>> = bits.collect::<Option<_>>()?;
        let width = bits[0].len();
        Some(tape.constant_with([self.examples.len(), self.places, width], |numbers| {
            numbers.fill(0.0);
            for (place, bits) in self.rows().into_iter().zip(bits) {
                numbers[place as usize * width..][..width].copy_from_slice(bits);
            }
        }))
    }

    /// The words of questions, in order.
    ///
    /// # Panics
    /// If questions are read as bits.
    pub(super) fn words(&self) -> Vec<&'a [u32]> {
        let readings = self.examples.iter().flat_map(|example| &example.questions).map(|q| &q.reading);
        let words = readings.map(|reading| match reading {
            Reading::Words(words) => &words[..],
            Reading::Bits(_) => panic!("Batch: words of bits"),
        });
        words.collect()
    }
}
