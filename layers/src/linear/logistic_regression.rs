//! Multinomial logistic regression: Ganea, Bécigneul, Hofmann 2018, section 3.1; Shimizu, Mukuta, Harada
//! 2021 (HNN++), section 3.1. The logits go into
//! [`cross_entropy`](cotangent_engine::loss::cross_entropy).

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::init;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// Logits of points for k classes. A logit is `λ_p‖a‖` times the signed distance to the class's
/// hyperplane, which goes through p and has normal a, with a = (λ₀/λ_p) a′ for an a′ in the tangent
/// space at the origin: `[…, rows, n]` to `[…, rows, k]`.
///
/// As κ → 0, the logits tend to `4⟨x − p, a′⟩`. In Euclidean space, whose metric has no factor
/// 4, they are `⟨x − p, a′⟩`. Eq. 23.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::LogisticRegression;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut layer = LogisticRegression::new(ball, 2, 1, &mut rng::stream(1, 0, 0));
/// *layer.normals.value_mut() = Tensor::new([1, 2], vec![3.0, 0.0]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.5, 0.0])));
/// let logits = layer.forward(x); // [1, 1]; the hyperplane goes through the origin, at distance ln 3
/// assert!((logits.item() - 2.0 * 3.0 * 3.0_f64.ln()).abs() < 1e-14);
/// ```
#[derive(Clone, Debug, Module)]
pub struct LogisticRegression<M, T: Float = f32> {
    /// p: one point of each hyperplane, `[k, n]`.
    pub points: Param<M, T>,
    /// a′: the normal of each hyperplane, transported to the origin, `[k, n]`.
    pub normals: Param<Euclidean, T>,
}

impl<M: Manifold, T: Float> LogisticRegression<M, T> {
    /// A layer from n dimensions to k classes: hyperplanes through the origin, with normals by
    /// [`init::glorot_uniform`].
    pub fn new(manifold: M, n: usize, k: usize, rng: &mut Rng) -> Self {
        LogisticRegression {
            points: Param::new("points", manifold, origins(&manifold, &[k], n)),
            normals: Param::new("normals", Euclidean, init::glorot_uniform(k, n, rng)),
        }
    }

    /// The logits `[…, rows, k]`.
    ///
    /// # Panics
    /// If the rows are not n wide, or the layer's points are on another manifold.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Point<G, Var<'t, T>>>,
    ) -> Var<'t, T> {
        let x: Point<G, Var<'t, T>> = x.into();
        let (space, x) = (*x.manifold(), *x.coordinates());
        let normals = *self.normals.on(x.tape());
        rows_fit("LogisticRegression", x, normals);
        space.logits(x, space.parameter(x.tape(), &self.points), normals)
    }
}

/// Same as [`LogisticRegression`], with p = exp₀(r z/‖z‖) and a the transported z. The parameters of
/// a class are a direction and a number, both Euclidean, and one product gives the logits of all classes.
/// A test checks that the two layers agree. HNN++, eq. 6.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::UnidirectionalRegression;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut layer = UnidirectionalRegression::new(2, 1, &mut rng::stream(1, 0, 0));
/// *layer.offsets.value_mut() = Tensor::new([1], vec![0.5_f64.atanh()]);
/// *layer.directions.value_mut() = Tensor::new([1, 2], vec![3.0, 0.0]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.5, 0.0]))); // on the hyperplane
/// assert!(layer.forward(x).item().abs() < 1e-14);
/// ```
#[derive(Clone, Debug, Module)]
pub struct UnidirectionalRegression<T: Float = f32> {
    /// z: `[k, n]`.
    pub directions: Param<Euclidean, T>,
    /// r: `[k]`.
    pub offsets: Param<Euclidean, T>,
}

impl<T: Float> UnidirectionalRegression<T> {
    /// A layer from n dimensions to k classes: hyperplanes through the origin, with directions by
    /// [`init::glorot_uniform`].
    pub fn new(n: usize, k: usize, rng: &mut Rng) -> Self {
        UnidirectionalRegression {
            directions: Param::new("directions", Euclidean, init::glorot_uniform(k, n, rng)),
            offsets: Param::new("offsets", Euclidean, Tensor::zeros([k])),
        }
    }

    /// The logits `[…, rows, k]`.
    ///
    /// # Panics
    /// If the rows are not n wide.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T>>(&self, x: impl Into<Point<G, Var<'t, T>>>) -> Var<'t, T> {
        let x: Point<G, Var<'t, T>> = x.into();
        let (space, x) = (*x.manifold(), *x.coordinates());
        let [z, r] = [&self.directions, &self.offsets].map(|param| *param.on(x.tape()));
        rows_fit("UnidirectionalRegression", x, z);
        space.unidirectional_logits(x, z, r)
    }
}

#[track_caller]
fn rows_fit<T: Float>(layer: &str, x: Var<'_, T>, normals: Var<'_, T>) {
    let (rows, classes) = (x.shape(), normals.shape());
    assert!(
        rows.rank() >= 2 && rows.width() == classes.width(),
        "{layer}: normals {classes} for rows of shape {rows}: [k, n] take […, rows, n]"
    );
}
