//! The geometry of embeddings: a space of constant curvature, or a product of several, chosen at run time.

use std::str::FromStr;

use clap::ValueEnum;
use cotangent::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{AppError, Result};

/// Reads the list below: each model with what captions call it, the sign of its curvature, and its space.
macro_rules! models {
    ($(
        $(#[$doc:meta])* $model:ident $words:literal, $sign:literal, |$kappa:pat_param| $space:expr;
    )+) => {
        /// A model of a space of constant curvature. Its name is what `--model` takes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
        pub enum SpaceModel { $($(#[$doc])* $model,)+ }

        impl SpaceModel {
            fn words(self) -> &'static str {
                match self { $(SpaceModel::$model => $words,)+ }
            }

            /// −1, 0 or 1: the sign of every curvature, and the curvature that is used if none is given.
            fn sign(self) -> f64 {
                match self { $(SpaceModel::$model => $sign,)+ }
            }

            fn space(self, kappa: f64) -> SpaceForm {
                match self {
                    $(SpaceModel::$model => {
                        let $kappa = kappa;
                        $space.into()
                    })+
                }
            }
        }
    };
}

models! {
    /// The Poincaré ball.
    Poincare "Poincaré ball", -1.0, |kappa| PoincareBall::new(kappa);
    /// The hyperboloid, with the time coordinate first.
    Lorentz "hyperboloid", -1.0, |kappa| Lorentz::new(kappa);
    /// The upper half-space, with the height last.
    HalfSpace "half-space", -1.0, |kappa| HalfSpace::new(kappa);
    /// The sphere.
    Sphere "sphere", 1.0, |kappa| Sphere::new(kappa);
    /// Euclidean space.
    Euclidean "Euclidean space", 0.0, |_| Euclidean;
}

impl std::fmt::Display for SpaceModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().expect("no model is skipped").get_name())
    }
}

impl SpaceModel {
    /// The space of the curvature that is used if none is given.
    pub fn usual(self) -> SpaceForm {
        self.space(self.sign())
    }
}

/// What distances are multiplied by to be in units of the curvature radius: √|κ|; 1 in flat space.
pub fn unit(space: SpaceForm) -> f64 {
    if space.kappa() == 0.0 { 1.0 } else { space.kappa().abs().sqrt() }
}

/// What `--model` says: the name of a model, or factors with their dimensions, `poincare:5,sphere:3`.
#[derive(Clone, Debug, PartialEq)]
pub struct Models(Vec<(SpaceModel, Option<usize>)>);

impl Models {
    /// The dimension of an embedding, given `--dim`: 5 if neither it nor `--model` says one. A sum of factors
    /// that is too large for an integer is the largest one.
    ///
    /// # Errors
    /// If both say one, and they differ.
    pub fn dimension(&self, dim: Option<usize>) -> Result<usize> {
        let own = total(self.0.iter().map(|factor| factor.1));
        match (own, dim) {
            (Some(own), Some(dim)) if own != dim => {
                Err(AppError::usage(format!("--dim {dim}: the dimension by --model is {own}")))
            }
            _ => Ok(own.or(dim).unwrap_or(5)),
        }
    }
}

impl From<SpaceModel> for Models {
    fn from(model: SpaceModel) -> Self {
        Models(vec![(model, None)])
    }
}

impl FromStr for Models {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let factors: Vec<_> = text.split(',').map(factor).collect::<std::result::Result<_, _>>()?;
        if factors.len() > ProductSpace::MOST_FACTORS {
            return Err(format!("more than {} factors", ProductSpace::MOST_FACTORS));
        }
        match factors.iter().find(|factor| factor.1.is_none()) {
            Some((model, _)) if factors.len() > 1 => {
                Err(format!("{model} needs a dimension, as in {model}:5"))
            }
            _ => Ok(Models(factors)),
        }
    }
}

/// The sum of the dimensions of all factors, at most [`usize::MAX`]; `None` if one has none.
fn total(mut dims: impl Iterator<Item = Option<usize>>) -> Option<usize> {
    dims.try_fold(0, |sum: usize, dim| Some(sum.saturating_add(dim?)))
}

/// A factor as it is written: `sphere:3`.
fn factor(text: &str) -> std::result::Result<(SpaceModel, Option<usize>), String> {
    let (name, dim) = text.split_once(':').map_or((text, None), |(name, dim)| (name, Some(dim)));
    let model = SpaceModel::from_str(name, false).map_err(|_| {
        let names = SpaceModel::value_variants().iter().map(SpaceModel::to_string);
        format!("{name:?} is no model; models are {}", names.collect::<Vec<_>>().join(", "))
    })?;
    match dim.map(str::parse::<usize>) {
        None => Ok((model, None)),
        Some(Ok(dim)) if dim > 0 => Ok((model, Some(dim))),
        _ => Err(format!("{text:?}: the dimension must be a number from 1 on")),
    }
}

/// A space, and its dimension if it is a factor of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    /// The model.
    pub model: SpaceModel,
    /// The space, with its curvature.
    pub space: SpaceForm,
    /// Dimension. `None` if the space is not a product: then the points have one.
    pub dim: Option<usize>,
}

/// A space of constant curvature, or a product of several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Geometry {
    /// The factors; those from `count` on are not used and repeat the last.
    factors: [Factor; ProductSpace::MOST_FACTORS],
    count: usize,
}

/// A geometry in files: the models as `--model` gives them, and the curvature of the first factor. A product
/// also has the curvatures of all factors; files of earlier versions have none.
#[derive(Serialize, Deserialize)]
struct Stored {
    model: String,
    kappa: f64,
    #[serde(default)]
    kappas: Vec<f64>,
}

impl From<Geometry> for Stored {
    fn from(geometry: Geometry) -> Self {
        let kappas: Vec<f64> = geometry.factors().iter().map(|factor| factor.space.kappa()).collect();
        let kappa = kappas[0];
        Stored {
            model: geometry.to_string(),
            kappa,
            kappas: if kappas.len() > 1 { kappas } else { Vec::new() },
        }
    }
}

impl TryFrom<Stored> for Geometry {
    type Error = AppError;

    fn try_from(Stored { model, kappa, kappas }: Stored) -> Result<Self> {
        let models: Models = model.parse().map_err(AppError::usage)?;
        Geometry::new(models, Some(if kappas.is_empty() { vec![kappa] } else { kappas }))
    }
}

impl std::fmt::Display for Geometry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, Factor { model, dim, .. }) in self.factors().iter().enumerate() {
            write!(f, "{}{model}", if i > 0 { "," } else { "" })?;
            dim.map_or(Ok(()), |dim| write!(f, ":{dim}"))?;
        }
        Ok(())
    }
}

impl Geometry {
    /// Spaces with curvatures `kappas`, one for each factor; by default −1 for the hyperbolic models, 1 for
    /// the sphere and 0 for Euclidean space.
    ///
    /// # Errors
    /// If the number of curvatures is not that of the factors, or a curvature has the wrong sign.
    pub fn new(models: impl Into<Models>, kappas: Option<Vec<f64>>) -> Result<Self> {
        let Models(models) = models.into();
        let kappas = kappas.unwrap_or_else(|| models.iter().map(|(model, _)| model.sign()).collect());
        if kappas.len() != models.len() || !(1..=ProductSpace::MOST_FACTORS).contains(&models.len()) {
            let (given, needed) = (kappas.len(), models.len());
            return Err(AppError::usage(format!("--kappa: {given} curvatures for {needed} factors")));
        }
        let factor = |(&(model, dim), &kappa): (&(SpaceModel, Option<usize>), &f64)| {
            let sign = model.sign();
            if !kappa.is_finite() || kappa.partial_cmp(&0.0) != sign.partial_cmp(&0.0) {
                let needs = ["a negative curvature", "curvature 0", "a positive curvature"];
                let needs = needs[(sign + 1.0) as usize];
                return Err(AppError::usage(format!("--kappa {kappa}: --model {model} needs {needs}")));
            }
            if models.len() > 1 && dim.is_none_or(|dim| dim == 0) {
                return Err(AppError::usage(format!("--model: the factor {model} needs a dimension")));
            }
            Ok(Factor { model, space: model.space(kappa), dim: dim.filter(|_| models.len() > 1) })
        };
        let factors: Vec<Factor> = models.iter().zip(&kappas).map(factor).collect::<Result<_>>()?;
        let last = factors[factors.len() - 1];
        let mut geometry = Geometry { factors: [last; ProductSpace::MOST_FACTORS], count: factors.len() };
        geometry.factors[..factors.len()].copy_from_slice(&factors);
        Ok(geometry)
    }

    /// The factors, in the order of their coordinates.
    pub fn factors(&self) -> &[Factor] {
        &self.factors[..self.count]
    }

    /// The curvatures, as `--kappa` gives them.
    pub fn kappas(&self) -> String {
        let kappas: Vec<String> =
            self.factors().iter().map(|factor| factor.space.kappa().to_string()).collect();
        kappas.join(",")
    }

    /// The models, as `--model` gives them.
    pub fn models(&self) -> Models {
        Models(self.factors().iter().map(|factor| (factor.model, factor.dim)).collect())
    }

    /// The space, if it is not a product.
    pub fn single(&self) -> Option<SpaceForm> {
        (self.count == 1).then_some(self.factors[0].space)
    }

    /// The space of this dimension, as captions call it.
    pub fn words(&self, dim: usize) -> String {
        let words = if self.count == 1 { self.factors[0].model.words() } else { "product space" };
        format!("{dim}-dimensional {words}")
    }

    /// The manifold.
    pub fn manifold(&self) -> ProductSpace {
        let (last, first) = self.factors().split_last().expect("a geometry has a factor");
        let with_dimension = |factor: &Factor| (factor.space, factor.dim.expect("a factor has one"));
        ProductSpace::new(&first.iter().map(with_dimension).collect::<Vec<_>>(), last.space)
    }

    /// Checks that a row is a point of the manifold. Points of a surface, the hyperboloid or the sphere, are
    /// checked in `f32`, so that an embedding that was trained in `f32` passes.
    ///
    /// # Errors
    /// If it is not; the error says why.
    pub fn check(&self, row: &[f64]) -> std::result::Result<(), String> {
        let manifold = self.manifold();
        // The dimensions of a product are known; that of a single space is the points' own.
        let dim = total(self.factors().iter().map(|factor| factor.dim));
        let dim = dim.unwrap_or_else(|| manifold.dimension(row.len()).max(1));
        if dim > row.len().max(1) || manifold.ambient(dim) != row.len() {
            return Err(format!("points of {self} do not have {} coordinates", row.len()));
        }
        manifold.factors_of_width(row.len()).try_for_each(|(space, part)| {
            let row = &row[part];
            let is_surface = space.ambient(1) > 1;
            let checked = if is_surface {
                space.contains(&row.iter().map(|&x| x as f32).collect::<Vec<_>>())
            } else {
                space.contains(row)
            };
            checked.map_err(|error| error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_written_as_its_factors() {
        let models: Models = "poincare:5,sphere:3".parse().unwrap();
        let geometry = Geometry::new(models.clone(), Some(vec![-2.0, 0.5])).unwrap();
        assert_eq!(geometry.to_string(), "poincare:5,sphere:3");
        assert_eq!(models.dimension(None).unwrap(), 8);
        assert_eq!(geometry.manifold().ambient(8), 9);
        let json = serde_json::to_string(&geometry).unwrap();
        assert_eq!(serde_json::from_str::<Geometry>(&json).unwrap(), geometry);
        let ball = Geometry::new(SpaceModel::Poincare, None).unwrap();
        let json = serde_json::to_string(&ball).unwrap();
        assert_eq!(serde_json::from_str::<Geometry>(&json).unwrap(), ball);
        // As files of earlier versions have it.
        assert_eq!(serde_json::from_str::<Geometry>(r#"{"model":"poincare","kappa":-1.0}"#).unwrap(), ball);
        assert!(serde_json::from_str::<Geometry>(r#"{"model":"poincare","kappa":1.0}"#).is_err());
        assert!(serde_json::from_str::<Geometry>(r#"{"model":"poincare:2,sphere:1","kappa":-1.0}"#).is_err());
    }

    #[test]
    fn bad_models_are_errors() {
        let error = |text: &str| text.parse::<Models>().unwrap_err();
        assert!(error("ball").contains("models are poincare, lorentz, half-space, sphere, euclidean"));
        assert_eq!(error("poincare:5,sphere"), "sphere needs a dimension, as in sphere:5");
        assert!(error("poincare:0").contains("a number from 1 on"));
        assert!(error(&["sphere:1"; 9].join(",")).contains("more than 8 factors"));
        let error = |text: &str, kappas: &[f64]| {
            Geometry::new(text.parse::<Models>().unwrap(), Some(kappas.to_vec())).unwrap_err().to_string()
        };
        assert!(error("sphere", &[-1.0]).contains("needs a positive curvature"));
        assert!(error("euclidean", &[f64::NAN]).contains("needs curvature 0"));
        assert!(error("poincare:2,sphere:2", &[-1.0]).contains("1 curvatures for 2 factors"));
        assert!("sphere:3".parse::<Models>().unwrap().dimension(Some(4)).is_err());
        // The sum is no dimension of an embedding, and it is not 0.
        let large: Models = format!("poincare:{},sphere:1", usize::MAX).parse().unwrap();
        assert_eq!(large.dimension(None).unwrap(), usize::MAX);
        let large = Geometry::new(large, None).unwrap();
        assert!(large.check(&[0.0, 1.0, 0.0]).unwrap_err().contains("3 coordinates"));
    }

    #[test]
    fn points_of_a_product_are_checked_by_factor() {
        let geometry = Geometry::new("poincare:2,sphere:1".parse::<Models>().unwrap(), None).unwrap();
        geometry.check(&[0.1, 0.2, 1.0, 0.0]).unwrap();
        assert!(geometry.check(&[0.1, 1.2, 1.0, 0.0]).unwrap_err().contains("Poincaré ball"));
        assert!(geometry.check(&[0.1, 0.2, 1.0, 0.1]).unwrap_err().contains("sphere"));
        assert!(geometry.check(&[0.1, 0.2, 1.0]).unwrap_err().contains("3 coordinates"));
        assert!(geometry.check(&[0.1, 0.2, 1.0, 0.0, 0.0]).unwrap_err().contains("5 coordinates"));
    }
}
