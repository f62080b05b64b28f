//! Any score with another map from rows to points. Tseng et al. 2023, section 5.1 and Table 2.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, Param};

use super::{Numbers, Operand, Score, Side};
use crate::attention::point_map::PointMap;

/// A score whose rows become points by a chosen map. All else is the score's own.
///
/// Heights that a penumbral cone cannot have, above its light, are lowered to that of the light: Tseng et al.
/// 2023, section 5.1. The light of ξ is that of the cones; for other scores it is at height 1.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::score::{HalfSpaceDistance, Mapped, Score};
/// use cotangent_layers::{Attend, PointMap};
/// let score = Mapped::new(&HalfSpaceDistance, PointMap::Exp);
/// let tape = Tape::<f64>::new();
/// let q = tape.constant(&Tensor::new([1, 2], vec![0.0, 0.0])); // the origin
/// let k = tape.constant(&Tensor::new([1, 2], vec![0.3, 0.4]));
/// assert!((Attend::new(&score).scores(q, k).item() + 0.5).abs() < 1e-14); // [1, 1]
/// ```
#[derive(Clone, Debug)]
pub struct Mapped<T: Float> {
    score: Box<dyn Score<T>>,
    map: PointMap,
}

impl<T: Float> Mapped<T> {
    /// The score, with this map in place of its own.
    ///
    /// # Panics
    /// If the score does not have the map: see [`Score::maps`].
    #[track_caller]
    pub fn new(score: &dyn Score<T>, map: PointMap) -> Self {
        assert!(score.maps().contains(&map), "score {}: no map {map:?}", score.name());
        Mapped { score: score.duplicate(), map }
    }
}

impl<T: Float> Score<T> for Mapped<T> {
    fn name(&self) -> &'static str {
        self.score.name()
    }
    fn about(&self) -> &'static str {
        self.score.about()
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        self.score.formula()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, side: Side) -> Operand<'t, T> {
        self.prepare_by(self.map, x, side)
    }
    fn maps(&self) -> &'static [PointMap] {
        self.score.maps()
    }
    fn map(&self) -> Option<PointMap> {
        Some(self.map)
    }
    fn prepare_by<'t>(&self, map: PointMap, x: Var<'t, T>, side: Side) -> Operand<'t, T> {
        self.score.prepare_by(map, x, side)
    }
    fn scalars<'t>(&self, x: Var<'t, T>) -> Numbers<'t, T> {
        self.score.scalars(x)
    }
    fn needs_height(&self) -> bool {
        self.score.needs_height()
    }
    fn sharpness(&self, d: usize) -> f64 {
        self.score.sharpness(d)
    }
    fn setting(&self) -> Option<(&'static str, f64)> {
        self.score.setting()
    }
    fn set(&mut self, value: f64) {
        self.score.set(value);
    }
    fn parameters(&self) -> &[Param<Euclidean, T>] {
        self.score.parameters()
    }
    fn parameters_mut(&mut self) -> &mut [Param<Euclidean, T>] {
        self.score.parameters_mut()
    }
}
