//! Parts of the model in either geometry, and the maps between these.

use cotangent::prelude::*;

#[cfg(test)]
use crate::config::Space;

/// A part of the model in the geometry that a run chooses for it. So both geometries of each part are
/// compiled, but not all combinations of all parts.
#[derive(Clone, Debug, Module)]
pub(crate) enum Part<E, H> {
    /// The part in Euclidean space.
    Euclidean(E),
    /// The part in the Poincaré ball.
    Hyperbolic(H),
}

/// Evaluates an expression with the content of a [`Part`].
macro_rules! on_part {
    ($part:expr, $name:ident => $value:expr) => {
        match $part {
            $crate::model::space::Part::Euclidean($name) => $value,
            $crate::model::space::Part::Hyperbolic($name) => $value,
        }
    };
}
pub(crate) use on_part;

/// The Poincaré ball of curvature −1, in which all hyperbolic parts are (section 2: c = 1).
pub(crate) fn ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

/// Points of either geometry: `[…, n]`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Located<'t, T: Float> {
    /// Vectors.
    Flat(Var<'t, T>),
    /// Points of the ball.
    Curved(Var<'t, T>),
}

impl<'t, T: Float> Located<'t, T> {
    /// The coordinates, whatever the geometry.
    pub(crate) fn coordinates(self) -> Var<'t, T> {
        match self {
            Located::Flat(x) | Located::Curved(x) => x,
        }
    }

    /// The geometry.
    #[cfg(test)]
    pub(crate) fn space(self) -> Space {
        match self {
            Located::Flat(_) => Space::Euclidean,
            Located::Curved(_) => Space::Hyperbolic,
        }
    }

    /// The distance of each point from the origin: in the ball `2 artanh ‖x‖`. Appendix H.
    pub(crate) fn norm(self) -> Var<'t, T> {
        match self {
            Located::Flat(x) => x.norm_axis(-1),
            // The length of the logarithm at the origin, by the metric there.
            Located::Curved(x) => ball().log0(&x).norm_axis(-1) * 2.0,
        }
    }
}

/// A geometry in which a part of the model can be.
pub(crate) trait PartSpace<T: Float>: Steps + for<'t> GyrovectorSpace<'t, T, Learned = Self> {
    /// Points in this geometry: by exp₀ or log₀ if they are in the other (section 6.1.2).
    fn take<'t>(&self, x: Located<'t, T>) -> Point<Self, Var<'t, T>>;

    /// Points of this geometry, for another part.
    fn give<'t>(&self, x: Point<Self, Var<'t, T>>) -> Located<'t, T>;
}

impl<T: Float> PartSpace<T> for Euclidean {
    fn take<'t>(&self, x: Located<'t, T>) -> Point<Self, Var<'t, T>> {
        match x {
            Located::Flat(x) => Point::new(Euclidean, x),
            Located::Curved(x) => log0(Point::new(ball(), x)),
        }
    }
    fn give<'t>(&self, x: Point<Self, Var<'t, T>>) -> Located<'t, T> {
        Located::Flat(*x.coordinates())
    }
}

impl<T: Float> PartSpace<T> for PoincareBall {
    fn take<'t>(&self, x: Located<'t, T>) -> Point<Self, Var<'t, T>> {
        match x {
            Located::Flat(x) => exp0(*self, x),
            Located::Curved(x) => Point::new(*self, x),
        }
    }
    fn give<'t>(&self, x: Point<Self, Var<'t, T>>) -> Located<'t, T> {
        Located::Curved(*x.coordinates())
    }
}
