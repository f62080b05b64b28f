//! Batch normalisation on manifolds: Lou et al. 2020 (*Differentiating through the Fréchet Mean*),
//! section 5. In Euclidean space: Ioffe & Szegedy 2015.

use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// Brings a batch to the deviation |γ| about the point β, both learned. With m the batch's barycentre and v
/// the mean of `d(x, m)²`:
///
/// ```text
/// x ↦ β ⊕ (γ/√(v + ε)) ⊗ (⊖m ⊕ x)
/// ```
///
/// The mean squared distance from β is then `γ² v/(v + ε)` (on a sphere, if scaling takes no point beyond
/// the antipode of β). In flat space β is the mean of the result. In curved space it is the barycentre in
/// general only where the factor `γ/√(v + ε)` is ±1: the barycentre of ⊖m ⊕ x is the origin, but
/// scaling moves barycentres.
///
/// The barycentre, which has a closed form, takes the place of the Fréchet mean. There is one variance
/// for all coordinates, because curved space has no operation that scales a single coordinate.
///
/// In training, [`forward_batch`](Self::forward_batch) normalises by the batch's own mean and variance
/// and returns them. Pass them to [`observe`](Self::observe), which updates the running ones.
/// [`forward`](Self::forward) normalises by the running ones.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::BatchNorm;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut norm = BatchNorm::new(ball, 1);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([2, 1], vec![0.0, 0.8]))); // barycentre 0.5
/// let (y, batch) = norm.forward_batch(x);
/// let distances = y.dist(&Point::new(ball, tape.zeros([1]))).to_tensor();
/// assert!(distances.data().iter().all(|d| (d - 1.0).abs() < 1e-4)); // ε makes them slightly smaller
/// norm.observe(&batch);
/// ```
#[derive(Clone, Debug, Module)]
pub struct BatchNorm<M, T: Float = f32> {
    /// β: a point, `[n]`.
    pub bias: Param<M, T>,
    /// γ: `[1]`.
    pub scale: Param<Euclidean, T>,
    /// The running mean: a point, `[n]`. No gradient reaches it.
    pub mean: Param<M, T>,
    /// The running variance: `[1]`. No gradient reaches it.
    pub variance: Param<Euclidean, T>,
    /// ε: 10⁻⁵ at first.
    pub epsilon: f64,
    /// How far one batch moves the running mean and variance towards its own: 0.1 at first.
    pub momentum: f64,
}

/// Mean and variance of a batch, of a [`BatchNorm`] or a [`BatchNorm2d`](crate::BatchNorm2d).
#[derive(Clone, Debug, PartialEq)]
pub struct BatchStatistics<T: Float = f32> {
    /// The barycentre, in the coordinates that a [`BatchNorm`]'s points are learned in: `[n]`. Of maps the
    /// mean of each channel: `[channels]`.
    pub mean: Tensor<T>,
    /// The mean squared distance from it: `[1]`. Of maps the unbiased variance of each channel: `[channels]`.
    pub variance: Tensor<T>,
}

/// Moves a running value along a geodesic, by this fraction of the way to that of a batch.
pub(super) fn towards<M: Manifold, T: Float>(running: &mut Param<M, T>, batch: &Tensor<T>, fraction: f64) {
    let (from, to): (Tensor<f64>, _) = (running.value().cast(), batch.cast());
    let moved: Tensor<T> = running.manifold().geodesic(&from, &to, &Tensor::scalar(fraction)).cast();
    // Rounding to `T` may leave the manifold.
    *running.value_mut() = running.manifold().project(&moved);
}

impl<M: Manifold, T: Float> BatchNorm<M, T> {
    /// For points of n dimensions. β and the running mean start at the origin, the deviation and the
    /// running variance at 1.
    pub fn new(manifold: M, n: usize) -> Self {
        let one = || Tensor::new([1], vec![T::one()]);
        BatchNorm {
            bias: Param::new("bias", manifold, origins(&manifold, &[], n)),
            scale: Param::new("scale", Euclidean, one()),
            mean: Param::new("mean", manifold, origins(&manifold, &[], n)),
            variance: Param::new("variance", Euclidean, one()),
            epsilon: 1e-5,
            momentum: 0.1,
        }
    }

    /// Points `[…, n]`, normalised by the running mean and variance.
    ///
    /// # Panics
    /// If the rows are not n wide, or the layer's points are on another manifold.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Point<G, Var<'t, T>>>,
    ) -> Point<G, Var<'t, T>> {
        let x: Point<G, Var<'t, T>> = x.into();
        let (space, tape) = (*x.manifold(), x.coordinates().tape());
        self.check_width(*x.coordinates());
        let mean = space.points(Point::new(*self.mean.manifold(), tape.constant(self.mean.value())));
        self.normalise(x, *mean.coordinates(), tape.constant(self.variance.value()))
    }

    /// Points `[…, n]`, normalised by their own barycentre and variance, through which gradients flow.
    ///
    /// # Panics
    /// As [`forward`](Self::forward); if there are no points.
    #[track_caller]
    pub fn forward_batch<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Point<G, Var<'t, T>>>,
    ) -> (Point<G, Var<'t, T>>, BatchStatistics<T>) {
        let x: Point<G, Var<'t, T>> = x.into();
        let (space, coordinates) = (*x.manifold(), *x.coordinates());
        self.check_width(coordinates);
        let (shape, tape) = (coordinates.shape(), coordinates.tape());
        let n = shape.width();
        let count = shape.elements() / n;
        assert!(count > 0, "BatchNorm: no points in a batch of shape {shape}");
        let rows = coordinates.reshape([count, n]);
        let mean = space.gyromidpoint(rows, tape.constant_with([count], |ones| ones.fill(T::one())));
        let variance = space.dist(rows, mean).square().mean().reshape([1]);
        let batch =
            BatchStatistics { mean: space.to_learned(mean).to_tensor(), variance: variance.to_tensor() };
        (self.normalise(x, mean, variance), batch)
    }

    /// Moves the running mean (along a geodesic) and the running variance towards those of a batch.
    pub fn observe(&mut self, batch: &BatchStatistics<T>) {
        towards(&mut self.mean, &batch.mean, self.momentum);
        towards(&mut self.variance, &batch.variance, self.momentum);
    }

    #[track_caller]
    fn normalise<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: Point<G, Var<'t, T>>,
        mean: Var<'t, T>,
        variance: Var<'t, T>,
    ) -> Point<G, Var<'t, T>> {
        let (space, x) = (*x.manifold(), *x.coordinates());
        let tape = x.tape();
        let ratio = *self.scale.on(tape) / (variance + self.epsilon).sqrt();
        let centred = space.map(space.add(-mean, x), |v| ratio * v);
        Point::new(space, space.add(space.parameter(tape, &self.bias), centred))
    }

    /// Panics if the rows are not as wide as the layer's points.
    #[track_caller]
    fn check_width(&self, x: Var<'_, T>) {
        let (shape, n) = (x.shape(), self.bias.value().width());
        assert!(
            !shape.axes().is_empty() && shape.width() == n,
            "BatchNorm: rows of shape {shape} where […, {n}] fit"
        );
    }
}
