//! Examples side by side, as the model reads them.

use cotangent::engine::rng::Rng;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;

use super::dataset::{Example, Reading, Scene};
use crate::clevr;
use crate::clevr::features::{FEATURES, features};
use crate::sort_of_clevr::SIDE;

/// Examples side by side.
pub(super) struct Batch<'a> {
    examples: &'a [&'a Example],
    /// Places for questions of each example; some may be empty.
    places: usize,
    /// The pictures and their side, `[batch, 3, side, side]`, if the scenes are pictures that are
    /// looked at.
    pixels: Option<(Vec<f32>, usize)>,
}

impl<'a> Batch<'a> {
    /// Puts examples side by side. All have the same kind of scene and of questions. With a random stream
    /// CLEVR's pictures are moved and turned a little.
    ///
    /// # Errors
    /// If the file of a picture cannot be read, or is no picture.
    ///
    /// # Panics
    /// If there is no question.
    pub(super) fn new(examples: &'a [&'a Example], mut rng: Option<&mut Rng>) -> Result<Self> {
        let batch = Batch::blind(examples);
        let side = match &examples[0].scene {
            Scene::Image(_) => Some(SIDE),
            Scene::Picture(picture) => Some(picture.side),
            Scene::Objects(_) => None,
        };
        let Some(side) = side else { return Ok(batch) };
        let mut pixels = vec![0.0; examples.len() * 3 * side * side];
        for (example, to) in examples.iter().zip(pixels.chunks_exact_mut(3 * side * side)) {
            match &example.scene {
                Scene::Image(image) => image.draw(to),
                Scene::Picture(picture) => picture.draw(to, rng.as_deref_mut())?,
                Scene::Objects(_) => panic!("Batch: objects beside pictures"),
            }
        }
        Ok(Batch { pixels: Some((pixels, side)), ..batch })
    }

    /// Same as [`new`](Self::new), without pictures.
    ///
    /// # Panics
    /// If there is no question.
    pub(super) fn blind(examples: &'a [&'a Example]) -> Self {
        let places = examples.iter().map(|example| example.questions.len()).max().unwrap_or(0);
        assert!(places > 0, "Batch: no question");
        Batch { examples, places, pixels: None }
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

    /// The pictures, `[batch, 3, side, side]`, if the scenes are pictures.
    pub(super) fn images<'t>(&self, tape: &'t Tape<f32>) -> Option<Var<'t, f32>> {
        let (pixels, side) = self.pixels.as_ref()?;
        let shape = [self.examples.len(), 3, *side, *side];
        Some(tape.constant_with(shape, |to| to.copy_from_slice(pixels)))
    }

    /// The features of the scenes' objects, `[batch, n, FEATURES]`, and which places of objects are empty,
    /// `[batch, n]`.
    ///
    /// # Panics
    /// If a scene is a picture, or no scene has objects.
    pub(super) fn objects<'t>(&self, tape: &'t Tape<f32>) -> [Var<'t, f32>; 2] {
        let scenes = self.examples.iter().map(|example| match &example.scene {
            Scene::Objects(scene) => scene,
            Scene::Image(_) | Scene::Picture(_) => panic!("Batch: objects of a picture"),
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
