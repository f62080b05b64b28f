//! Concatenation and logistic regression: López & Strube 2020, sections 4.3 and 4.5, appendix E.

use cotangent::prelude::*;

use super::space::{Located, geometry};
use crate::config::{Regression, Space, TypingConfig};

/// The concatenation of mention, characters and context, in this order (appendix F), by eq. 7. In Euclidean
/// space it is a linear layer.
#[derive(Clone, Debug, Module)]
pub(crate) struct Joining<T: Float> {
    geometry: AnyGeometry<T>,
    concat: Concat<SpaceForm, T>,
    #[module(skip)]
    dropout: Dropout,
}

impl<T: Float> Joining<T> {
    pub(crate) fn new(config: &TypingConfig, rng: &mut rng::Rng) -> Self {
        let geometry = geometry(config.spaces.concatenation);
        let widths = [config.mention_dim, config.char_dim, 2 * config.context_dim];
        let concat = Concat::new(geometry.manifold(), &widths, 0, config.dim(), rng);
        Joining { geometry, concat, dropout: Dropout { rate: config.concat_dropout } }
    }

    /// The text vectors: `[batch, m]`.
    pub(crate) fn forward<'t>(&self, parts: [Located<'t, T>; 3]) -> Located<'t, T> {
        let space = self.geometry.on(parts[0].coordinates().tape());
        let parts = parts.map(|part| self.dropout.forward(into_space(space, part)));
        self.concat.forward(&parts, None)
    }
}

/// The logistic regression, eq. 10 with the normals of eq. 19, in one of its forms.
#[derive(Clone, Debug, Module)]
pub(crate) struct Classifier<T: Float> {
    geometry: AnyGeometry<T>,
    form: Form<T>,
    /// A factor of the logits: 4 for the Euclidean limit of the hyperbolic forms, eq. 21; else 1.
    #[module(skip)]
    factor: f64,
}

#[derive(Clone, Debug, Module)]
enum Form<T: Float> {
    /// Eq. 20, or ⟨x − p, a⟩.
    Points(LogisticRegression<SpaceForm, T>),
    /// Shimizu et al. 2021, eq. 6.
    Unidirectional(UnidirectionalRegression<T>),
}

impl<T: Float> Classifier<T> {
    pub(crate) fn new(types: usize, config: &TypingConfig, rng: &mut rng::Rng) -> Self {
        let geometry = geometry(config.spaces.mlr);
        let form = match config.regression {
            Regression::Points | Regression::Usual => {
                Form::Points(LogisticRegression::new(geometry.manifold(), config.dim(), types, rng))
            }
            Regression::Unidirectional => {
                Form::Unidirectional(UnidirectionalRegression::new(config.dim(), types, rng))
            }
        };
        let limit = config.spaces.mlr == Space::Euclidean && config.regression != Regression::Usual;
        Classifier { geometry, form, factor: if limit { 4.0 } else { 1.0 } }
    }

    /// The logits: `[batch, types]`.
    pub(crate) fn forward<'t>(&self, text: Located<'t, T>) -> Var<'t, T> {
        let x = into_space(self.geometry.on(text.coordinates().tape()), text);
        let logits = match &self.form {
            Form::Points(regression) => regression.forward(x),
            Form::Unidirectional(regression) => regression.forward(x),
        };
        if self.factor == 1.0 { logits } else { logits * self.factor }
    }

    /// The hyperplanes of all types: a point of each, `[types, m]`, and a normal at the origin, `[types, m]`.
    pub(crate) fn hyperplanes(&self) -> [Tensor<f64>; 2] {
        match &self.form {
            Form::Points(regression) => {
                [regression.points.value(), regression.normals.value()].map(|tensor| tensor.cast())
            }
            Form::Unidirectional(regression) => {
                let flat = matches!(self.geometry, AnyGeometry::Euclidean(_));
                let normals: Tensor<f64> = regression.directions.value().cast();
                let mut points = normals.clone();
                for (i, r) in regression.offsets.value().data().iter().enumerate() {
                    let row = points.row_mut(i);
                    let norm = row.iter().map(|z| z * z).sum::<f64>().sqrt();
                    // p = exp₀(r z/‖z‖)
                    let r = r.to_f64();
                    let length = if flat { r } else { r.tanh() };
                    row.iter_mut().for_each(|z| *z *= length / norm.max(f64::MIN_POSITIVE));
                }
                [points, normals]
            }
        }
    }
}
