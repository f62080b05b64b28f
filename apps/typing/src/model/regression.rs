//! Concatenation and logistic regression: López & Strube 2020, sections 4.3 and 4.5, appendix E.

use cotangent::prelude::*;

use super::space::{Located, PartSpace};
use crate::config::{Regression, Space, TypingConfig};

/// The concatenation of mention, characters and context, in this order (appendix F), by eq. 7. In Euclidean
/// space it is a linear layer.
#[derive(Clone, Debug, Module)]
pub(crate) struct Joining<S, T: Float> {
    #[module(skip)]
    space: S,
    concat: Concat<S, T>,
    #[module(skip)]
    dropout: Dropout,
}

impl<S: PartSpace<T>, T: Float> Joining<S, T> {
    pub(crate) fn new(space: S, config: &TypingConfig, rng: &mut rng::Rng) -> Self {
        let widths = [config.mention_dim, config.char_dim, 2 * config.context_dim];
        let concat = Concat::new(space, &widths, 0, config.dim(), rng);
        Joining { space, concat, dropout: Dropout { rate: config.concat_dropout } }
    }

    /// The text vectors: `[batch, m]`.
    pub(crate) fn forward<'t>(&self, parts: [Located<'t, T>; 3]) -> Located<'t, T> {
        let parts = parts.map(|part| self.dropout.forward(self.space.take(part)));
        self.space.give(self.concat.forward(&parts, None))
    }
}

/// The logistic regression, eq. 10 with the normals of eq. 19, in one of its forms.
#[derive(Clone, Debug, Module)]
pub(crate) struct Classifier<S, T: Float> {
    #[module(skip)]
    space: S,
    form: Form<S, T>,
    /// A factor of the logits: 4 for the Euclidean limit of the hyperbolic forms, eq. 21; else 1.
    #[module(skip)]
    factor: f64,
}

#[derive(Clone, Debug, Module)]
enum Form<S, T: Float> {
    /// Eq. 20, or ⟨x − p, a⟩.
    Points(LogisticRegression<S, T>),
    /// Shimizu et al. 2021, eq. 6.
    Unidirectional(UnidirectionalRegression<T>),
}

impl<S: PartSpace<T>, T: Float> Classifier<S, T> {
    pub(crate) fn new(space: S, types: usize, config: &TypingConfig, rng: &mut rng::Rng) -> Self {
        let form = match config.regression {
            Regression::Points | Regression::Usual => {
                Form::Points(LogisticRegression::new(space, config.dim(), types, rng))
            }
            Regression::Unidirectional => {
                Form::Unidirectional(UnidirectionalRegression::new(config.dim(), types, rng))
            }
        };
        let limit = config.spaces.mlr == Space::Euclidean && config.regression != Regression::Usual;
        Classifier { space, form, factor: if limit { 4.0 } else { 1.0 } }
    }

    /// The logits: `[batch, types]`.
    pub(crate) fn forward<'t>(&self, text: Located<'t, T>) -> Var<'t, T> {
        let x = self.space.take(text);
        let logits = match &self.form {
            Form::Points(regression) => regression.forward(x),
            Form::Unidirectional(regression) => regression.forward(x),
        };
        if self.factor == 1.0 { logits } else { logits * self.factor }
    }

    /// The hyperplanes of all types: a point of each, `[types, m]`, and a normal at the origin, `[types, m]`.
    pub(crate) fn hyperplanes(&self, space: Space) -> [Tensor<f64>; 2] {
        match &self.form {
            Form::Points(regression) => {
                [regression.points.value(), regression.normals.value()].map(|tensor| tensor.cast())
            }
            Form::Unidirectional(regression) => {
                let normals: Tensor<f64> = regression.directions.value().cast();
                let mut points = normals.clone();
                for (i, r) in regression.offsets.value().data().iter().enumerate() {
                    let row = points.row_mut(i);
                    let norm = row.iter().map(|z| z * z).sum::<f64>().sqrt();
                    // p = exp₀(r z/‖z‖)
                    let r = r.to_f64();
                    let length = if space == Space::Hyperbolic { r.tanh() } else { r };
                    row.iter_mut().for_each(|z| *z *= length / norm.max(f64::MIN_POSITIVE));
                }
                [points, normals]
            }
        }
    }
}
