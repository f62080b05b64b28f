//! What training minimises: a loss of distances, or the energies of cones.

use clap::{Args, ValueEnum};
use cotangent::layers::loss::FermiDirac;
use cotangent::prelude::*;
use cotangent_apps_common::config::by;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, SpaceModel};
use cotangent_apps_common::options;
use serde::{Deserialize, Serialize};

/// The loss of a pair (u, v), where u is below v, and its negative samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// u nearer to v than to the negatives, by softmax (Nickel & Kiela 2017).
    #[default]
    Ranking,
    /// The Fermi-Dirac probability 1/(exp((d - r)/t) + 1) of an edge by cross entropy, r = --radius and t =
    /// --temperature (Krioukov et al. 2010; Nickel & Kiela 2017).
    FermiDirac,
    /// u in the entailment cone at v (Ganea et al. 2018), in poincare, lorentz or half-space.
    Cones,
    /// u in the umbral shadow cone at v (Yu et al. 2023; Tseng et al. 2023), in half-space.
    Umbral,
    /// u in the penumbral shadow cone at v (Yu et al. 2023; Tseng et al. 2023), in half-space.
    Penumbral,
    /// As ranking, of squared distances: in Euclidean space the baseline of Nickel & Kiela 2017.
    SquaredRanking,
    /// As squared-ranking, of the distances from u + r: all edges share the vector r, which is learned by the
    /// mean of a batch. The translational baseline of Nickel & Kiela 2017, in euclidean.
    Translation,
}

impl Loss {
    /// The usual size of cones and the usual margin. Those of entailment cones are `K = 0.1` and 0.01, as in
    /// Ganea et al. 2018 (Hyperbolic Entailment Cones). Those of shadow cones are a radius of 1, a light
    /// source at height 4 and a margin of 0.2; they were chosen on a tree of 40 nodes.
    fn usual(self) -> (f64, f64) {
        match self {
            Loss::Ranking | Loss::FermiDirac | Loss::SquaredRanking | Loss::Translation => (0.0, 0.0),
            Loss::Cones => (0.1, 0.01),
            Loss::Umbral => (1.0, 0.2),
            Loss::Penumbral => (4.0, 0.2),
        }
    }

    /// The usual distance of even odds and the usual temperature: those of the program of Chami et al. 2019.
    fn usual_decoder(self) -> (f64, f64) {
        if self == Loss::FermiDirac { (2.0, 1.0) } else { (0.0, 0.0) }
    }
}

/// A loss of distances: that of a pair and those of its negative samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DistanceLoss {
    /// [`loss::ranking`].
    Ranking,
    /// [`FermiDirac::cross_entropy`].
    FermiDirac(FermiDirac),
    /// [`loss::ranking`] of squared distances.
    SquaredRanking,
}

impl DistanceLoss {
    /// The loss of each row of distances, `[batch, 1 + negatives]` with the pair's own first: `[batch]`.
    pub(crate) fn losses<T: Float>(self, distances: Var<'_, T>) -> Var<'_, T> {
        match self {
            DistanceLoss::Ranking => loss::ranking(distances),
            DistanceLoss::FermiDirac(decoder) => decoder.cross_entropy(distances),
            DistanceLoss::SquaredRanking => loss::ranking(distances.square()),
        }
    }

    /// The loss of one row, outside a tape. Writes its derivatives by the distances.
    pub(crate) fn with_gradient<T: Float>(self, distances: &[T], gradient: &mut [T]) -> f64 {
        match self {
            DistanceLoss::Ranking => loss::ranking_with_gradient(distances, gradient),
            DistanceLoss::FermiDirac(decoder) => decoder.cross_entropy_with_gradient(distances, gradient),
            DistanceLoss::SquaredRanking => {
                let squares: Vec<T> = distances.iter().map(|&d| d * d).collect();
                let loss = loss::ranking_with_gradient(&squares, gradient);
                let two = T::one() + T::one();
                gradient.iter_mut().zip(distances).for_each(|(slope, &d)| *slope = *slope * two * d);
                loss
            }
        }
    }
}

/// A loss with its settings.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// What is minimised. Cones are for hierarchies: they tell what is above from what is below.
    #[arg(long, value_enum, default_value_t = Loss::Ranking, help_heading = "Training")]
    pub loss: Loss,
    /// Size of cones: K of entailment cones, the radius of umbral cones at curvature -1, the height of the
    /// light source of penumbral cones [default: 0.1, 1, 4].
    #[arg(long = "cone-size", value_name = "CONE_SIZE", required = false)]
    #[arg(default_value_ifs = by("loss", |loss: Loss| loss.usual().0))]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    pub size: f64,
    /// A negative pair with this energy costs nothing: in radians for entailment cones, a distance for shadow
    /// cones [default: 0.01, 0.2, 0.2]. Cones need a small --lr: for a tree of 40 nodes 0.005 for entailment,
    /// 0.05 for umbral and 0.01 for penumbral cones.
    #[arg(long, required = false, default_value_ifs = by("loss", |loss: Loss| loss.usual().1))]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    pub margin: f64,
    /// The distance at which an edge has even odds, for --loss fermi-dirac [default: 2].
    #[arg(long, required = false, default_value_ifs = by("loss", |loss: Loss| loss.usual_decoder().0))]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    #[serde(default)]
    pub radius: f64,
    /// t of --loss fermi-dirac: the odds of an edge fall by the factor e for each t of further distance
    /// [default: 1].
    #[arg(long, required = false, default_value_ifs = by("loss", |loss: Loss| loss.usual_decoder().1))]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    #[serde(default)]
    pub temperature: f64,
}

impl Objective {
    /// A loss with these settings, or the usual ones.
    pub fn new(loss: Loss, size: Option<f64>, margin: Option<f64>) -> Self {
        let (usual, (radius, temperature)) = (loss.usual(), loss.usual_decoder());
        let (size, margin) = (size.unwrap_or(usual.0), margin.unwrap_or(usual.1));
        Objective { loss, size, margin, radius, temperature }
    }

    /// The loss of distances, unless it is one of energies.
    pub(crate) fn of_distances(&self) -> Option<DistanceLoss> {
        match self.loss {
            Loss::Ranking => Some(DistanceLoss::Ranking),
            Loss::SquaredRanking | Loss::Translation => Some(DistanceLoss::SquaredRanking),
            Loss::FermiDirac => {
                Some(DistanceLoss::FermiDirac(FermiDirac::new(self.radius, self.temperature)))
            }
            Loss::Cones | Loss::Umbral | Loss::Penumbral => None,
        }
    }

    /// Whether the loss is one of distances.
    pub(crate) fn is_of_distances(&self) -> bool {
        !matches!(self.loss, Loss::Cones | Loss::Umbral | Loss::Penumbral)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is wrong or the loss is not one of this space; the error names the option.
    pub fn check(&self, geometry: Geometry) -> Result<()> {
        self.fits(geometry).map_err(|message| AppError::usage(format!("--loss: {message}")))?;
        let cones = [("cone-size", self.size), ("margin", self.margin)];
        let decoder = [("radius", self.radius), ("temperature", self.temperature)];
        for (settings, has_them, losses) in [
            (cones, !self.is_of_distances(), "cones, umbral and penumbral"),
            (decoder, self.loss == Loss::FermiDirac, "fermi-dirac"),
        ] {
            if has_them {
                options::positive(&settings)?;
            } else if let Some((option, _)) = settings.iter().find(|(_, value)| *value != 0.0) {
                return Err(AppError::usage(format!("--{option}: only for --loss {losses}")));
            }
        }
        Ok(())
    }

    /// Whether the loss is one of this space.
    ///
    /// # Errors
    /// If it is not; the text says which spaces there are.
    pub fn fits(&self, geometry: Geometry) -> std::result::Result<(), String> {
        let is_flat = matches!(geometry.single(), Some(SpaceForm::Euclidean(_)));
        if self.loss == Loss::Translation && !is_flat {
            return Err(format!("a translation needs --model euclidean, not {geometry}"));
        }
        // The size of this one may be wrong: it is checked later.
        let usual = Objective { size: self.loss.usual().0, ..*self };
        let has_cones = |space: SpaceForm| {
            let point = space.origin::<f64>(1);
            usual.energy(space, &point, &point).is_some()
        };
        if self.is_of_distances() || geometry.single().is_some_and(has_cones) {
            return Ok(());
        }
        let models = SpaceModel::value_variants().iter().filter(|model| has_cones(model.usual()));
        let names = models.map(SpaceModel::to_string).collect::<Vec<_>>().join(" or ");
        Err(format!("these cones need --model {names}, not {geometry}"))
    }

    /// The energy of each pair of points: 0 where the descendant is in the cone at the ancestor, else by how
    /// much it is outside. `None` for a loss of distances, and if the loss is not one of this space: see
    /// [`check`](Self::check).
    pub fn energy<R: Rows>(&self, space: SpaceForm, ancestor: &R, descendant: &R) -> Option<R::Scalar> {
        match self.loss {
            Loss::Ranking | Loss::SquaredRanking | Loss::Translation | Loss::FermiDirac => None,
            Loss::Cones => space.entailment_energy(ancestor, descendant, self.size),
            Loss::Umbral => space.umbral_energy(ancestor, descendant, self.size),
            Loss::Penumbral => space.penumbral_energy(ancestor, descendant, self.size),
        }
    }
}

/// The max-margin loss of energies, `[batch, 1 + negatives]` with the positive pair's first: for each row
/// `E₊ + Σ_j max(0, margin − E_j)`, `[batch]`. Source: Ganea et al. 2018, Hyperbolic Entailment Cones.
pub(crate) fn margin_loss<T: Float>(energies: Var<'_, T>, margin: f64) -> Var<'_, T> {
    let [batch, width] = [energies.shape()[0], energies.shape()[1]];
    let positive = energies.slice(1, 0..1).reshape([batch]);
    positive + (-energies.slice(1, 1..width) + margin).relu().sum_axis(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_negatives_cost_what_they_lack_of_the_margin() {
        let tape = Tape::<f64>::new();
        let energies = tape.constant(&Tensor::new([2, 3], vec![0.5, 0.2, 2.0, 0.0, 1.0, 0.0]));
        assert_eq!(margin_loss(energies, 1.0).to_tensor().data(), [0.5 + 0.8, 1.0]);
    }

    #[test]
    fn each_loss_has_its_spaces() {
        for (loss, model, fits) in [
            (Loss::Ranking, SpaceModel::Sphere, true),
            (Loss::FermiDirac, SpaceModel::Sphere, true),
            (Loss::SquaredRanking, SpaceModel::Euclidean, true),
            (Loss::Translation, SpaceModel::Euclidean, true),
            (Loss::Translation, SpaceModel::Poincare, false),
            (Loss::Cones, SpaceModel::Lorentz, true),
            (Loss::Cones, SpaceModel::HalfSpace, true),
            (Loss::Umbral, SpaceModel::HalfSpace, true),
            (Loss::Penumbral, SpaceModel::Poincare, false),
        ] {
            let geometry = Geometry::new(model, None).unwrap();
            let objective = Objective::new(loss, None, None);
            assert_eq!(objective.check(geometry).is_ok(), fits, "{loss:?} {model}");
            if fits && !objective.is_of_distances() {
                let origin = geometry.manifold().origin::<f64>(2);
                assert_eq!(objective.energy(geometry.single().unwrap(), &origin, &origin), Some(0.0));
            }
        }
        let objective = Objective::new(Loss::Cones, Some(0.0), None);
        assert!(objective.check(Geometry::new(SpaceModel::Poincare, None).unwrap()).is_err());
    }
}
