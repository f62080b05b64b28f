//! A linear layer of several inputs: Ganea, Bécigneul, Hofmann 2018, section 3.2, "Concatenation of
//! multiple input vectors".

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Rows, Tensor, Var};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::init;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// `y = M₁ ⊗ x₁ ⊕ M₂ ⊗ x₂ ⊕ … ⊕ f₁ ⊗ c₁ ⊕ … ⊕ b`, summed from the left. The
/// inputs are points xᵢ, `[…, rows, nᵢ]`, and real features fⱼ. In Euclidean space this is
/// [`Linear`](crate::Linear) of their concatenation.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::Concat;
/// use cotangent_manifolds::{Module, Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut layer = Concat::new(ball, &[1, 1], 0, 1, &mut rng::stream(1, 0, 0));
/// layer.weights.iter_mut().for_each(|w| *w.value_mut() = Tensor::new([1, 1], vec![1.0]));
/// let tape = Tape::<f64>::new();
/// let [x, y] = [0.5, 0.25].map(|x| Point::new(ball, tape.constant(&Tensor::new([1, 1], vec![x]))));
/// let sum = layer.forward(&[x, y], None); // [1, 1]
/// assert!((sum.coordinates().to_tensor().data()[0] - 0.75 / 1.125).abs() < 1e-15); // ½ ⊕ ¼
/// assert_eq!(layer.count(), 3);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Concat<M, T: Float = f32> {
    /// Mᵢ: `[m, nᵢ]` each.
    pub weights: Vec<Param<Euclidean, T>>,
    /// cⱼ: a point for each real feature, `[m]` each.
    pub features: Vec<Param<M, T>>,
    /// b: a point, `[m]`.
    pub bias: Param<M, T>,
    /// Whether b is added before the features, as in the program of Ganea et al. 2018: the sum of points
    /// depends on the order.
    #[module(skip)]
    pub bias_first: bool,
}

impl<M: Manifold, T: Float> Concat<M, T> {
    /// A layer from points of `widths` dimensions and `features` real features to m dimensions. One
    /// matrix is drawn by [`init::glorot_uniform`]: the weights are blocks of its columns, and each
    /// feature's point is exp₀ of a column. The bias starts at the origin.
    ///
    /// # Panics
    /// If there are no points.
    #[track_caller]
    pub fn new(manifold: M, widths: &[usize], features: usize, m: usize, rng: &mut Rng) -> Self {
        assert!(!widths.is_empty(), "Concat: a layer of no points");
        let n = widths.iter().sum::<usize>() + features;
        let whole = init::glorot_uniform::<T>(m, n, rng);
        let mut start = 0;
        let mut block = |width: usize| {
            let columns = Rows::columns(&whole, start..start + width);
            start += width;
            columns
        };
        let weights = widths.iter().map(|&width| Param::new("weight", Euclidean, block(width))).collect();
        let origin = manifold.origin::<T>(m);
        let point = |v: Tensor<T>| {
            let point = manifold.exp(&origin, &Row::from(v.data()));
            Tensor::new([point.len()], point.to_vec())
        };
        Concat {
            weights,
            features: (0..features).map(|_| Param::new("feature", manifold, point(block(1)))).collect(),
            bias: Param::new("bias", manifold, origins(&manifold, &[], m)),
            bias_first: false,
        }
    }

    /// The sum of all inputs. `features` are `[…, rows, number of features]`.
    ///
    /// # Panics
    /// If the number of inputs, their widths or their manifold are not those of the layer.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        points: &[Point<G, Var<'t, T>>],
        features: Option<Var<'t, T>>,
    ) -> Point<G, Var<'t, T>> {
        let given = features.map_or(0, |f| f.shape().width());
        assert!(
            points.len() == self.weights.len() && given == self.features.len() && !points.is_empty(),
            "Concat: {} points and {given} features for a layer of {} and {}",
            points.len(),
            self.weights.len(),
            self.features.len()
        );
        let (space, tape) = (*points[0].manifold(), points[0].coordinates().tape());
        if let Some(other) = points.iter().map(|x| x.manifold()).find(|other| **other != space) {
            panic!("Concat: points of {space:?} and of {other:?}")
        }
        let mut sum = None;
        let mut add = |y| sum = Some(sum.map_or(y, |sum| space.add(sum, y)));
        for (weight, x) in self.weights.iter().zip(points) {
            add(space.matvec(*weight.on(tape), *x.coordinates()));
        }
        if self.bias_first {
            add(space.parameter(tape, &self.bias));
        }
        for (j, param) in self.features.iter().enumerate() {
            let feature = features.expect("as many as the layer's").slice(-1, j..j + 1);
            let factors = feature.reshape(feature.shape().rows());
            add(space.scale(factors, space.parameter(tape, param)));
        }
        if !self.bias_first {
            add(space.parameter(tape, &self.bias));
        }
        Point::new(space, sum.expect("a bias at least"))
    }
}
