//! Dropout. Srivastava et al. 2014.

use cotangent_engine::{Float, Var};
use cotangent_manifolds::Point;

use crate::space::gyrovector_space::GyrovectorSpace;

/// Dropout in the tangent space at the origin: the Möbius version of [`Var::dropout`]. In Euclidean space
/// it is [`Var::dropout`] itself. It does nothing unless the tape is
/// [`training`](cotangent_engine::Tape::training). Ganea et al. 2018, eq. 24.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::Dropout;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let tape = Tape::<f64>::new();
/// tape.training(rng::stream(1, 0, 0));
/// let x = Point::new(ball, tape.constant(&Tensor::from_fn([50, 1], |_| 0.5)));
/// let y = Dropout { rate: 0.5 }.forward(x);
/// let doubled = 0.8; // 2 ⊗ ½
/// assert!(y.coordinates().to_tensor().data().iter().all(|y| *y == 0.0 || (y - doubled).abs() < 1e-15));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability with which a coordinate is dropped, in [0, 1).
    pub rate: f64,
}

impl Dropout {
    /// Maps rows `[…, n]` to the tangent space at the origin, drops some coordinates there, and maps
    /// back.
    ///
    /// # Panics
    /// If the rate is not in [0, 1).
    #[track_caller]
    pub fn forward<'t, G, T>(&self, x: impl Into<Point<G, Var<'t, T>>>) -> Point<G, Var<'t, T>>
    where
        G: GyrovectorSpace<'t, T>,
        T: Float,
    {
        let x: Point<G, Var<'t, T>> = x.into();
        assert!((0.0..1.0).contains(&self.rate), "dropout: a rate of {}", self.rate);
        let (space, coordinates) = (*x.manifold(), *x.coordinates());
        if self.rate == 0.0 || !coordinates.tape().is_training() {
            return x;
        }
        Point::new(space, space.map(coordinates, |v| v.dropout(self.rate)))
    }
}
