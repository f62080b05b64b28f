//! The linear layer of HNN++: Shimizu, Mukuta, Harada 2021, section 3.2.

use cotangent_engine::domain::largest_time;
use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Rows, Var};
use cotangent_manifolds::{ConstantCurvature, Lorentz, Manifold, Module, PoincareBall, Point};

use crate::linear::logistic_regression::UnidirectionalRegression;

/// Returns the point y whose signed distance to the k-th axis hyperplane is the k-th logit `vₖ(x)`:
/// `y = w/(1 + √(1 − κ‖w‖²))`, where `wₖ = sinh(√-κ vₖ)/√-κ` are the space coordinates
/// of y on the hyperboloid. `[…, rows, n]` to `[…, rows, m]`. HNN++, eq. 7.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::PoincareLinear;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut layer = PoincareLinear::new(1, 1, &mut rng::stream(1, 0, 0));
/// *layer.logits.directions.value_mut() = Tensor::new([1, 1], vec![0.5]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 1], vec![0.25])));
/// let y = layer.forward(x); // 2‖z‖ = 1: the distance stays
/// assert!((y.coordinates().item() - 0.25).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, Module)]
pub struct PoincareLinear<T: Float = f32> {
    /// Directions `[m, n]` and offsets `[m]`.
    pub logits: UnidirectionalRegression<T>,
}

impl<T: Float> PoincareLinear<T> {
    /// A layer from n to m dimensions: see [`UnidirectionalRegression::new`].
    pub fn new(n: usize, m: usize, rng: &mut Rng) -> Self {
        PoincareLinear { logits: UnidirectionalRegression::new(n, m, rng) }
    }

    /// The points y, `[…, rows, m]`.
    ///
    /// # Panics
    /// If the rows are not n wide.
    #[track_caller]
    pub fn forward<'t>(&self, x: Point<PoincareBall, Var<'t, T>>) -> Point<PoincareBall, Var<'t, T>> {
        let kappa = x.manifold().kappa();
        let lorentz = Lorentz::new(kappa);
        let root = (-kappa).sqrt();
        let logits = self.logits.forward(x) * root; // […, m]
        // Larger logits lead beyond the farthest point that `T` holds, and their sinh would overflow.
        let longest = largest_time::<T>().asinh() - 1.0;
        let [least, most] =
            [-longest, longest].map(|limit| logits.tape().constant_with([], |to| to.fill(T::nearest(limit))));
        let space = logits.min(most).maximum(least).sinh() * (1.0 / root);
        let any_time = space.zeros(1);
        let y = lorentz.project(&Rows::concat(&any_time, &space));
        Point::new(lorentz, y).to()
    }
}
