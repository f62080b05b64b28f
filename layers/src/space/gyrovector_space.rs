//! The operations that layers need of a geometry: those of a gyrovector space, and the manifold on which
//! its points are learned. Ganea, Bécigneul, Hofmann 2018, section 2.

use cotangent_engine::{Float, Shape, Tape, Tensor, Var};
use cotangent_manifolds::{
    Barycentre, ConstantCurvature, Curved, Euclidean, KappaStereographic, Manifold, Module, Param, Point,
    Sign, Steps, barycentre,
};

/// The operations that layers are written in. Points and vectors are rows `[…, n]`; leading axes broadcast.
///
/// | geometry | its points are learned as |
/// |---|---|
/// | [`Euclidean`]: the layer is the ordinary one | vectors |
/// | the Poincaré ball, the projected sphere: [`KappaStereographic`] | points |
/// | [`Curved`], a variable curvature: see [`Curvature`](crate::Curvature) | tangent vectors at the origin |
/// | [`AnySpace`](crate::AnySpace), chosen at run time | as in the one that is chosen |
pub trait GyrovectorSpace<'t, T: Float>: Copy + PartialEq + std::fmt::Debug {
    /// The manifold of the parameters that stand for points, such as biases.
    type Learned: Steps;

    /// The points that learned coordinates stand for.
    ///
    /// # Panics
    /// If the learned coordinates are on a manifold of another curvature.
    fn points(&self, stored: Point<Self::Learned, Var<'t, T>>) -> Point<Self, Var<'t, T>>;

    /// The coordinates that points are learned in: the inverse of [`points`](Self::points).
    fn to_learned(&self, x: Var<'t, T>) -> Var<'t, T>;

    /// Möbius addition x ⊕ y, eq. 4.
    fn add(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T>;

    /// The exponential map at the origin, eq. 11.
    fn exp0(&self, v: Var<'t, T>) -> Var<'t, T>;

    /// The logarithm at the origin, eq. 11.
    fn log0(&self, x: Var<'t, T>) -> Var<'t, T>;

    /// Geodesic distance between points: `[…]`. Eq. 6.
    fn dist(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T>;

    /// The gyromidpoint of each set of points, `[…, n, d]`, with weights `[…, n]` that are not negative:
    /// `[…, d]`. It is the [`Barycentre`](cotangent_manifolds::Barycentre).
    fn gyromidpoint(&self, points: Var<'t, T>, weights: Var<'t, T>) -> Var<'t, T>;

    /// The gyromidpoint of sets of points that `sum` forms: it maps rows that belong to the points x,
    /// `[n, …]`, to their weighted sums, `[sets, …]`. For sparse weights; far from the origin
    /// [`gyromidpoint`](Self::gyromidpoint) is more accurate: see
    /// [`barycentre`](cotangent_manifolds::barycentre).
    fn gyromidpoint_from_sum(&self, x: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T>;

    /// Logits of points x, `[…, n]`, for k classes: `[…, k]`. The hyperplane of a class goes through p,
    /// `[k, n]`; its normal is a, `[k, n]`, transported from the origin. Eq. 23.
    fn logits(&self, x: Var<'t, T>, p: Var<'t, T>, a: Var<'t, T>) -> Var<'t, T>;

    /// Same as [`logits`](Self::logits), for classes given by directions z, `[k, n]`, and offsets r,
    /// `[k]`: p = exp₀(r z/‖z‖), a = z. Shimizu et al. 2021 (HNN++), eq. 6.
    fn unidirectional_logits(&self, x: Var<'t, T>, z: Var<'t, T>, r: Var<'t, T>) -> Var<'t, T>;

    /// The points that a parameter stands for.
    ///
    /// # Panics
    /// As [`points`](Self::points).
    #[track_caller]
    fn parameter(&self, tape: &'t Tape<T>, param: &Param<Self::Learned, T>) -> Var<'t, T> {
        *self.points(param.on(tape)).coordinates()
    }

    /// Möbius scalar multiplication r ⊗ x: `exp₀(r log₀ x)`, r `[…]`. Eq. 12.
    #[track_caller]
    fn scale(&self, r: Var<'t, T>, x: Var<'t, T>) -> Var<'t, T> {
        self.map(x, |v| r.insert_axis(r.shape().rank()) * v)
    }

    /// The Möbius version `exp₀(f(log₀ x))` of a function of vectors, eq. 24.
    #[track_caller]
    fn map(&self, x: Var<'t, T>, f: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        self.exp0(f(self.log0(x)))
    }

    /// Möbius matrix multiplication M ⊗ x, M `[m, n]`: `[…, m]`. Eq. 25.
    ///
    /// # Panics
    /// If the rows of x are not n wide, or x has a single axis: it needs one for several rows.
    #[track_caller]
    fn matvec(&self, m: Var<'t, T>, x: Var<'t, T>) -> Var<'t, T> {
        assert_weight_fits(m, x);
        self.map(x, |v| v.matmul_nt(m))
    }

    /// A linear layer `M ⊗ x ⊕ b`, b `[m]`: `[…, m]`. Eq. 25 and 26.
    ///
    /// # Panics
    /// As [`matvec`](Self::matvec), and if b does not fit.
    #[track_caller]
    fn linear(&self, m: Var<'t, T>, x: Var<'t, T>, b: Var<'t, T>) -> Var<'t, T> {
        self.add(self.matvec(m, x), b)
    }
}

#[track_caller]
fn assert_weight_fits<T: Float>(m: Var<'_, T>, x: Var<'_, T>) {
    let (weight, rows) = (m.shape(), x.shape());
    assert!(
        weight.rank() == 2 && rows.rank() >= 2 && weight[1] == rows.width(),
        "a weight {weight} on rows of shape {rows}: weights [m, n] take rows […, rows, n]"
    );
}

impl<'t, T: Float> GyrovectorSpace<'t, T> for Euclidean {
    type Learned = Euclidean;

    fn points(&self, stored: Point<Euclidean, Var<'t, T>>) -> Point<Self, Var<'t, T>> {
        stored
    }
    fn to_learned(&self, x: Var<'t, T>) -> Var<'t, T> {
        x
    }
    #[track_caller]
    fn add(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        x + y
    }
    fn exp0(&self, v: Var<'t, T>) -> Var<'t, T> {
        v
    }
    fn log0(&self, x: Var<'t, T>) -> Var<'t, T> {
        x
    }
    #[track_caller]
    fn dist(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        Manifold::dist(self, &x, &y)
    }
    #[track_caller]
    fn gyromidpoint(&self, points: Var<'t, T>, weights: Var<'t, T>) -> Var<'t, T> {
        Barycentre::barycentre(self, &points, &weights)
    }
    #[track_caller]
    fn gyromidpoint_from_sum(&self, x: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        Barycentre::barycentre_from_sum(self, &sum(Barycentre::barycentre_features(self, &x)))
    }
    /// `⟨x − p, a⟩`. The Euclidean metric has λ = 1. The flat limit of the curved metrics has λ = 2,
    /// and its logits are four times as large.
    #[track_caller]
    fn logits(&self, x: Var<'t, T>, p: Var<'t, T>, a: Var<'t, T>) -> Var<'t, T> {
        x.linear(a, -(p * a).sum_axis(-1))
    }
    /// `⟨x, z⟩ − r‖z‖`: see [`logits`](Self::logits).
    #[track_caller]
    fn unidirectional_logits(&self, x: Var<'t, T>, z: Var<'t, T>, r: Var<'t, T>) -> Var<'t, T> {
        x.linear(z, -r * z.norm_axis(-1))
    }
    #[track_caller]
    fn linear(&self, m: Var<'t, T>, x: Var<'t, T>, b: Var<'t, T>) -> Var<'t, T> {
        assert_weight_fits(m, x);
        x.linear(m, b)
    }
}

impl<'t, T: Float> GyrovectorSpace<'t, T> for Curved<Var<'t, T>> {
    type Learned = Euclidean;

    fn points(&self, stored: Point<Euclidean, Var<'t, T>>) -> Point<Self, Var<'t, T>> {
        Point::new(*self, Curved::exp0(self, stored.coordinates()))
    }
    fn to_learned(&self, x: Var<'t, T>) -> Var<'t, T> {
        Curved::log0(self, &x)
    }
    #[track_caller]
    fn add(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        Curved::add(self, &x, &y)
    }
    #[track_caller]
    fn exp0(&self, v: Var<'t, T>) -> Var<'t, T> {
        Curved::exp0(self, &v)
    }
    #[track_caller]
    fn log0(&self, x: Var<'t, T>) -> Var<'t, T> {
        Curved::log0(self, &x)
    }
    #[track_caller]
    fn dist(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        Curved::dist(self, &x, &y)
    }
    #[track_caller]
    fn gyromidpoint(&self, points: Var<'t, T>, weights: Var<'t, T>) -> Var<'t, T> {
        barycentre::barycentre(&points, &weights, self.kappa())
    }
    #[track_caller]
    fn gyromidpoint_from_sum(&self, x: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        barycentre::from_sum(&sum(barycentre::features(&x, self.kappa())), self.kappa())
    }
    #[track_caller]
    fn logits(&self, x: Var<'t, T>, p: Var<'t, T>, a: Var<'t, T>) -> Var<'t, T> {
        // λ₀/λ_p = 2/λ_p, eq. 14.
        let normals = a * (2.0 / self.lambda(&p)).insert_axis(1);
        Curved::logits(self, x, p, normals)
    }
    #[track_caller]
    fn unidirectional_logits(&self, x: Var<'t, T>, z: Var<'t, T>, r: Var<'t, T>) -> Var<'t, T> {
        Curved::unidirectional_logits(self, x, z, r)
    }
}

/// The operations with the manifold's curvature as a constant of the tape.
fn curved<'t, T: Float, S: Sign>(manifold: &KappaStereographic<S>, x: Var<'t, T>) -> Curved<Var<'t, T>> {
    Curved::new(x.tape().scalar(manifold.kappa()))
}

impl<'t, T: Float, S: Sign> GyrovectorSpace<'t, T> for KappaStereographic<S> {
    type Learned = Self;

    #[track_caller]
    fn points(&self, stored: Point<Self, Var<'t, T>>) -> Point<Self, Var<'t, T>> {
        let manifold = stored.manifold();
        assert!(manifold == self, "points of {manifold:?} do not serve {self:?}");
        stored
    }
    fn to_learned(&self, x: Var<'t, T>) -> Var<'t, T> {
        x
    }
    #[track_caller]
    fn parameter(&self, tape: &'t Tape<T>, param: &Param<Self, T>) -> Var<'t, T> {
        let manifold = param.manifold();
        assert!(
            manifold == self,
            "parameter {:?} is of {manifold:?}, the points are of {self:?}",
            param.name()
        );
        *param.on(tape).coordinates()
    }
    #[track_caller]
    fn add(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        GyrovectorSpace::add(&curved(self, x), x, y)
    }
    #[track_caller]
    fn exp0(&self, v: Var<'t, T>) -> Var<'t, T> {
        GyrovectorSpace::exp0(&curved(self, v), v)
    }
    #[track_caller]
    fn log0(&self, x: Var<'t, T>) -> Var<'t, T> {
        GyrovectorSpace::log0(&curved(self, x), x)
    }
    #[track_caller]
    fn dist(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        Manifold::dist(self, &x, &y)
    }
    #[track_caller]
    fn gyromidpoint(&self, points: Var<'t, T>, weights: Var<'t, T>) -> Var<'t, T> {
        Barycentre::barycentre(self, &points, &weights)
    }
    #[track_caller]
    fn gyromidpoint_from_sum(&self, x: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        GyrovectorSpace::gyromidpoint_from_sum(&curved(self, x), x, sum)
    }
    #[track_caller]
    fn logits(&self, x: Var<'t, T>, p: Var<'t, T>, a: Var<'t, T>) -> Var<'t, T> {
        GyrovectorSpace::logits(&curved(self, x), x, p, a)
    }
    #[track_caller]
    fn unidirectional_logits(&self, x: Var<'t, T>, z: Var<'t, T>, r: Var<'t, T>) -> Var<'t, T> {
        GyrovectorSpace::unidirectional_logits(&curved(self, x), x, z, r)
    }
}

/// The geometry that a model is built in and owns: a manifold, a [`Curvature`](crate::Curvature) that
/// is learned with the model, or an [`AnyGeometry`](crate::AnyGeometry) that is chosen at run time. Layers
/// are built on [`manifold`](Self::manifold), and take points of the space that [`on`](Self::on) returns for
/// a tape.
pub trait Geometry<T: Float>: Module<T> + Clone + Send + Sync + std::fmt::Debug {
    /// The manifold of the parameters that stand for points, such as biases.
    type Learned: Steps;

    /// The operations on a tape.
    type On<'t>: GyrovectorSpace<'t, T, Learned = Self::Learned>;

    /// The manifold to make layers on.
    fn manifold(&self) -> Self::Learned;

    /// The space whose points layers take on this tape.
    fn on<'t>(&self, tape: &'t Tape<T>) -> Self::On<'t>;
}

macro_rules! fixed {
    ($([$($generic:tt)*] $manifold:ty;)*) => { $(
        impl<T: Float, $($generic)*> Geometry<T> for $manifold {
            type Learned = Self;
            type On<'t> = Self;
            fn manifold(&self) -> Self {
                *self
            }
            fn on(&self, _: &Tape<T>) -> Self {
                *self
            }
        }
    )* };
}
fixed! {
    [] Euclidean;
    [S: Sign] KappaStereographic<S>;
}

/// The origin of a manifold, repeated to the shape `rows`. Biases start there.
pub(crate) fn origins<M: Manifold, T: Float>(manifold: &M, rows: &[usize], dim: usize) -> Tensor<T> {
    let origin = manifold.origin::<T>(dim);
    Tensor::from_fn(Shape::new(rows).with_width(origin.len()), |i| origin[i % origin.len()])
}
