//! The points of an embedding while they are trained, the scales of distances if curvatures are learned, and
//! the translation of [`Loss::Translation`].

use cotangent::engine::formulas::Hypot;
use cotangent::prelude::*;
use cotangent_apps_common::geometry::Geometry;

use crate::train::config::EmbeddingConfig;
use crate::train::objective::Loss;

/// What is learned.
#[derive(Debug, Module)]
pub(crate) struct Parameters<T: Float> {
    /// The points, one for each node.
    pub(crate) points: Param<ProductSpace, T>,
    /// If curvatures are learned, a number for each factor: its [`unit`] times it is the logarithm of the
    /// scale of the factor's distances.
    scales: Option<Param<Euclidean, T>>,
    /// The translation of [`Loss::Translation`] in its [`unit`], so that it moves by the mean of a batch. It
    /// starts at 0.
    translation: Option<Param<Euclidean, T>>,
    /// Number of pairs in a batch.
    #[module(skip)]
    batch: usize,
}

/// A step of the optimiser changes the logarithm of a scale by this times the rate, for the mean gradient of
/// a batch: slowly beside the points, which have to follow.
const PACE: f64 = 0.01;

impl<T: Float> Parameters<T> {
    /// For a training on so many pairs.
    pub(crate) fn new(points: Param<ProductSpace, T>, config: &EmbeddingConfig, pairs: usize) -> Self {
        let factors = config.geometry.factors().len();
        let scales = config.learn_kappa.then(|| Param::new("scales", Euclidean, Tensor::zeros([factors])));
        let translated = config.objective.loss == Loss::Translation;
        let zeros = || Param::new("translation", Euclidean, Tensor::zeros([config.dim]));
        let batch = config.batch_of(pairs);
        Parameters { points, scales, translation: translated.then(zeros), batch }
    }

    /// The parameters of the scales, if curvatures are learned.
    pub(crate) fn scales(&self) -> Vec<f64> {
        self.scales.iter().flat_map(|scales| scales.value().data()).map(|x| x.to_f64()).collect()
    }

    /// Sets the parameters of the scales.
    ///
    /// # Panics
    /// If there are not as many.
    pub(crate) fn set_scales(&mut self, values: &[f64]) {
        if let Some(scales) = &mut self.scales {
            let values = values.iter().map(|&x| T::nearest(x)).collect();
            *scales.value_mut() = Tensor::new(scales.value().shape().clone(), values);
        }
    }

    /// The points that were learned, and their geometry: distances times a scale s are those of a space of
    /// curvature κ/s².
    pub(crate) fn learned_points(&self, config: &EmbeddingConfig) -> (Tensor<T>, Geometry) {
        let mut points = self.points.value().clone();
        let rows = points.rows().len();
        let Some(scales) = &self.scales else { return (points, config.geometry) };
        let scales: Vec<f64> =
            scales.value().data().iter().map(|x| (x.to_f64() * unit(PACE, self.batch)).exp()).collect();
        let manifold = config.geometry.manifold();
        for i in 0..rows {
            let row = points.row_mut(i);
            for ((space, coordinates), scale) in manifold.factors_of_width(row.len()).zip(&scales) {
                space.rescale(&mut row[coordinates], *scale);
            }
        }
        let factors = config.geometry.factors().iter().zip(&scales);
        let kappas = factors.map(|(factor, s)| factor.space.kappa() / (s * s));
        let geometry = Geometry::new(config.geometry.models(), Some(kappas.collect()));
        (points, geometry.expect("a scale does not change the sign of a curvature"))
    }

    /// The translation that was learned, if there is one.
    pub(crate) fn learned_translation(&self) -> Option<Vec<f64>> {
        let values = self.translation.as_ref()?.value().data();
        // Rounded as in the file of the embedding.
        let rounded = |x: &T| T::nearest(x.to_f64() * unit(1.0, self.batch)).to_f64();
        Some(values.iter().map(rounded).collect())
    }

    /// Distances of points of the same shape, or whose shapes broadcast. Where curvatures are learned, the
    /// distance in each factor has a scale of its own (Gu, Sala, Gunel, Ré 2019, section 3). With a
    /// translation r they are the distances from x + r.
    pub(crate) fn distances<'t>(&self, tape: &'t Tape<T>, [x, y]: [Var<'t, T>; 2]) -> Var<'t, T> {
        let manifold = self.points.manifold();
        let x = match &self.translation {
            Some(translation) => x + *translation.on(tape).coordinates() * unit(1.0, self.batch),
            None => x,
        };
        let Some(scales) = &self.scales else { return manifold.dist(&x, &y) };
        let scales = (*scales.on(tape).coordinates() * unit(PACE, self.batch)).exp();
        let factors = manifold.factors_of_width(x.shape().width()).enumerate();
        let distances = factors.map(|(i, (space, coordinates))| {
            let [x, y] = [x, y].map(|x| x.columns(coordinates.clone()));
            space.dist(&x, &y) * scales.slice(0, i..i + 1).reshape([])
        });
        distances.reduce(|a, b| tape.map(Hypot, [a, b])).expect("there is a factor")
    }
}

/// The unit of a parameter that all pairs share: with it, a step of the rate r changes what the parameter
/// stands for by `pace` r times the mean gradient of the batch.
fn unit(pace: f64, batch: usize) -> f64 {
    (pace / batch as f64).sqrt()
}
