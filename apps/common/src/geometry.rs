//! The geometry of embeddings: a space and its curvature, chosen at run time.

use clap::ValueEnum;
use cotangent::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{AppError, Result};

/// A model of hyperbolic space, or Euclidean space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// The Poincaré ball.
    Poincare,
    /// The hyperboloid, with the time coordinate first.
    Lorentz,
    /// Euclidean space.
    Euclidean,
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().expect("no model is skipped").get_name())
    }
}

/// A space with its curvature.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    /// The model.
    pub model: Model,
    /// Sectional curvature; 0 for Euclidean space.
    pub kappa: f64,
}

impl Geometry {
    /// A space of curvature `kappa`, by default −1 for the hyperbolic models and 0 for Euclidean space.
    ///
    /// # Errors
    /// If `kappa` is not negative and finite for a hyperbolic model, or not 0 for Euclidean space.
    pub fn new(model: Model, kappa: Option<f64>) -> Result<Self> {
        let kappa = kappa.unwrap_or(if model == Model::Euclidean { 0.0 } else { -1.0 });
        let fits = if model == Model::Euclidean { kappa == 0.0 } else { kappa < 0.0 && kappa.is_finite() };
        if fits {
            return Ok(Geometry { model, kappa });
        }
        let needs = if model == Model::Euclidean { "curvature 0" } else { "a negative curvature" };
        Err(AppError::usage(format!("--kappa {kappa}: --model {model} needs {needs}")))
    }

    /// Calls the visitor with the manifold.
    pub fn with<V: ForManifold>(self, visitor: V) -> V::Output {
        match self.model {
            Model::Euclidean => visitor.run(Euclidean),
            Model::Poincare => visitor.run(PoincareBall::new(self.kappa)),
            Model::Lorentz => visitor.run(Lorentz::new(self.kappa)),
        }
    }

    /// Checks that a row is a point of the manifold. Points of the hyperboloid are checked in `f32`, so that
    /// an embedding that was trained in `f32` passes.
    ///
    /// # Errors
    /// If it is not; the error says why.
    pub fn check(self, row: &[f64]) -> std::result::Result<(), String> {
        struct Check<'a>(Model, &'a [f64]);
        impl ForManifold for Check<'_> {
            type Output = std::result::Result<(), String>;
            fn run<M: Manifold>(self, m: M) -> Self::Output {
                let Check(model, row) = self;
                let checked = match model {
                    Model::Lorentz => m.contains(&row.iter().map(|&x| x as f32).collect::<Vec<_>>()),
                    _ => m.contains(row),
                };
                checked.map_err(|error| error.to_string())
            }
        }
        if self.model == Model::Lorentz && row.len() < 2 {
            return Err("points of the Lorentz model have at least two coordinates".to_owned());
        }
        self.with(Check(self.model, row))
    }

    /// Number of coordinates of a point of a `dim`-dimensional embedding.
    pub fn ambient(self, dim: usize) -> usize {
        dim + usize::from(self.model == Model::Lorentz)
    }
}

/// Code that is generic over the manifold, for [`Geometry::with`].
pub trait ForManifold {
    /// The result.
    type Output;
    /// Runs the code on this manifold.
    fn run<M: Manifold>(self, manifold: M) -> Self::Output;
}
