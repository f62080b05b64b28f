//! Attention with a score of any geometry: Vaswani et al. 2017; Gulcehre et al. 2019 (*Hyperbolic
//! Attention Networks*); López & Strube 2020; Tseng et al. 2023 (*Coneheads*).

pub(crate) mod attention_pooling;
pub(crate) mod graph_attention;
pub(crate) mod multi_head_attention;

use std::sync::Arc;

use cotangent_engine::{Float, Sparsity, Tensor, Var, Weights};
use cotangent_manifolds::scores::{
    Additive, BallDistance, Dot, HalfSpaceDistance, Laplacian, PenumbralCone, PolarDistance,
    SquaredPenumbralCone, UmbralCone,
};
use cotangent_manifolds::{Barycentre, Euclidean, HalfSpace, Module, Param, PoincareBall, direction};

use crate::dropout::Dropout;

/// The similarity of a query q and a key k, of which a score is a multiple. Activations are any rows;
/// each score maps them to its own space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Similarity {
    /// `⟨q, k⟩`. Vaswani et al. 2017, eq. 1.
    Dot,
    /// `−d(exp₀ q, exp₀ k)` in the Poincaré ball of curvature −1. The distance on the hyperboloid is the
    /// same. Gulcehre et al. 2019, eq. 2; López & Strube 2020, eq. 8.
    Distance,
    /// Same as [`Distance`](Self::Distance), for points in pseudo-polar coordinates: the last coordinate
    /// is the distance from the origin, the others the direction. A negative distance means the opposite
    /// direction. Works for all finite distances. Gulcehre et al. 2019, section 4.1.
    PolarDistance,
    /// `−d(ψ(q), ψ(k))` in the half-space. Tseng et al. 2023, eq. 10 for ψ. For last coordinates up to
    /// ±42 (`f64`: ±345). Beyond that, the square of a distance between half-space coordinates overflows
    /// or underflows. It is then taken as the type's largest number or as 0, without a gradient. Scores
    /// and gradients stay finite, but are not those of the distance.
    HalfSpaceDistance,
    /// `−H(ξ(q), ξ(k))`: H is the height of the lowest penumbral cone that contains both, for a light
    /// source at a given height (1 in the paper). Tseng et al. 2023, eq. 5 to 7, eq. 11 for ξ.
    PenumbralCone {
        /// The height of the light source, h = r.
        light: f64,
    },
    /// `−H(ψ(q), ψ(k))`: H is the height of the lowest umbral cone that contains both, for balls of a
    /// given hyperbolic radius (0.1 in the paper). Tseng et al. 2023, eq. 8. For last coordinates up to
    /// 88 (`f64`: 709), where the height reaches the type's largest number. In `f32`, horizontal
    /// distances above 1.7·10¹⁹ count as 1.7·10¹⁹. Farther up, scores are finite, but gradients need not
    /// be.
    UmbralCone {
        /// The radius of the balls.
        radius: f64,
    },
    /// `−H²` in place of the `−H` of [`PenumbralCone`](Self::PenumbralCone), as in the released program
    /// of Tseng et al. 2023, which produced the paper's figures.
    ReleasedPenumbralCone {
        /// The height of the light source, h = r.
        light: f64,
    },
    /// Same as [`UmbralCone`](Self::UmbralCone), with heights `exp(x_d/d)` in place of `exp x_d` for
    /// d-dimensional activations, as in the released program of Tseng et al. 2023, which produced the
    /// paper's figures.
    ReleasedUmbralCone {
        /// The radius of the balls.
        radius: f64,
    },
    /// `−‖q − k‖`, for weights of a Laplacian kernel. Tseng et al. 2023, section 4.
    Laplacian,
    /// `LeakyReLU(Σ q + Σ k)`, with slope 0.2 for negative arguments. If queries and keys are the values
    /// times a vector, coordinate by coordinate, it is the score of graph attention networks. Veličković
    /// et al. 2018, eq. 3.
    Additive,
}

impl Similarity {
    /// One similarity of each kind, with the papers' constants.
    pub const ALL: [Self; 10] = [
        Similarity::Dot,
        Similarity::Distance,
        Similarity::PolarDistance,
        Similarity::HalfSpaceDistance,
        Similarity::PenumbralCone { light: 1.0 },
        Similarity::UmbralCone { radius: 0.1 },
        Similarity::ReleasedPenumbralCone { light: 1.0 },
        Similarity::ReleasedUmbralCone { radius: 0.1 },
        Similarity::Laplacian,
        Similarity::Additive,
    ];
}

/// How several values and their weights become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// The weighted sum.
    Sum,
    /// `log₀` of the barycentre of the points exp₀ v, v the values, in the Poincaré ball of curvature
    /// −1: the Einstein midpoint. Gulcehre et al. 2019, eq. 3.
    Barycentre,
}

/// Which keys a query attends to.
#[derive(Clone, Copy)]
pub enum Mask<'t, T: Float> {
    /// All.
    None,
    /// With n queries and m keys, query i attends to keys up to i + m − n.
    Causal,
    /// Those where this tensor, `[…, n, m]` or with fewer axes, is 0. The others have no weight and no
    /// gradient. A key that is hidden from all queries, and its value, may be anything, even NaN, and
    /// change nothing. A key that some queries attend to has to consist of numbers. Where scores are
    /// functions of distances, it can change the rounding of the other queries' scores, but no more.
    Hidden(Var<'t, T>),
}

/// Attention: `score = γ · similarity − c`; the scores give weights, and the weighted values give the
/// result.
///
/// With no mask or a causal one, and without dropout, scores are never stored: memory is linear in the
/// number of keys.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::{Attention, Mask, Similarity};
/// let attention = Attention::new(Similarity::Distance, 2);
/// let tape = Tape::<f64>::new();
/// let q = tape.constant(&Tensor::new([1, 2], vec![1.0, 0.0])); // one query
/// let k = tape.constant(&Tensor::new([2, 2], vec![1.0, 0.0, -1.0, 0.0])); // two keys, at distances 0 and 4
/// let v = tape.constant(&Tensor::new([2, 1], vec![0.0, 1.0])); // their values
/// let y = attention.forward(q, k, v, Mask::None); // [1, 1]
/// assert!((y.item() - 1.0 / (1.0 + 4_f64.exp())).abs() < 1e-15);
/// ```
///
/// For a distance, pass points of the ball as their logarithms at the origin. Here queries and keys are
/// Möbius maps `W ⊗ x ⊕ b` of the points (López & Strube 2020, eq. 8).
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Attention, Linear, Mask, Similarity};
/// use cotangent_manifolds::{Manifold, Point, PoincareBall};
/// let (ball, mut rng) = (PoincareBall::ball(-1.0).unwrap(), rng::stream(1, 0, 0));
/// let [to_q, to_k] = [0, 1].map(|_| {
///     let mut layer = Linear::new(ball, 3, 3, &mut rng);
///     *layer.bias.as_mut().unwrap().value_mut() = Tensor::new([3], vec![0.2, -0.1, 0.3]);
///     layer
/// });
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::from_fn([5, 3], |i| 0.4 * (i as f64).sin())));
/// let [q, k] = [&to_q, &to_k].map(|layer| *layer.forward(x).coordinates()); // [5, 3], in the ball
/// let attention = Attention::new(Similarity::Distance, 3);
/// let scores = attention.scores(ball.log0(&q), ball.log0(&k)); // [5, 5]
/// let first = ball.dist(&q.slice(0, 0..1), &k.slice(0, 0..1));
/// assert!((scores.to_tensor().data()[0] + first.item()).abs() < 1e-14);
/// let y = attention.forward(ball.log0(&q), ball.log0(&k), *x.coordinates(), Mask::None);
/// assert_eq!(y.shape(), [5, 3].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct Attention<T: Float = f32> {
    /// The similarity that scores are multiples of.
    #[module(skip)]
    pub similarity: Similarity,
    /// γ; for distances the papers write β: `[1]`.
    pub sharpness: Param<Euclidean, T>,
    /// c: `[1]`. It makes no difference to a softmax.
    pub offset: Param<Euclidean, T>,
    /// Whether γ and c are learned; if not, no gradient reaches them.
    pub learned: bool,
    /// How scores become weights.
    #[module(skip)]
    pub weights: Weights,
    /// How values are put together.
    #[module(skip)]
    pub aggregation: Aggregation,
    /// Dropout of weights, while training.
    #[module(skip)]
    pub dropout: Dropout,
}

/// Evaluates an expression with the pair formula of an attention's score and the formula's arguments:
/// rows, numbers of the query rows and of the key rows, parameters.
macro_rules! with_formula {
    ($self:expr, $queries:expr, $keys:expr, |$formula:ident, [$q:ident, $k:ident], $left:ident, $right:ident, $params:ident| $body:expr) => {{
        let tape = $queries.tape();
        let [gamma, c] = $self.numbers($queries);
        let half_space = HalfSpace::new(-1.0).expect("a negative curvature");
        match $self.similarity {
            Similarity::Dot => {
                let ($formula, [$q, $k], $left, $right, $params) =
                    (Dot, [$queries, $keys], [], [], [gamma, c]);
                $body
            }
            Similarity::Additive => {
                // Only the sums count, so the rows themselves need not be wide.
                let [$left, $right] = [$queries, $keys].map(|x| [x.sum_axis(-1)]);
                let [$q, $k] = [$left[0], $right[0]].map(|x| x.reshape(x.shape().with_width(1)));
                let ($formula, $params) = (Additive, [gamma, c]);
                $body
            }
            Similarity::Laplacian => {
                let ($formula, [$q, $k], $left, $right, $params) =
                    (Laplacian, [$queries, $keys], [], [], [gamma, c]);
                $body
            }
            Similarity::Distance => {
                let ball = PoincareBall::ball(-1.0).expect("a negative curvature");
                let [$q, $k] = [$queries, $keys].map(|x| ball.exp0(&x));
                let [$left, $right] = [$q, $k].map(|x| [0.5 * ball.lambda(&x)]);
                let ($formula, $params) = (BallDistance, [gamma, c]);
                $body
            }
            Similarity::PolarDistance => {
                let [($q, $left), ($k, $right)] = [$queries, $keys].map(|x| polar(x));
                let ($formula, $params) = (PolarDistance, [gamma, c]);
                $body
            }
            Similarity::HalfSpaceDistance => {
                let [$q, $k] = [$queries, $keys].map(|x| half_space.psi(&x));
                let [$left, $right] = [$queries, $keys].map(|x| [(parts(x)[1] * -0.5).exp()]);
                let ($formula, $params) = (HalfSpaceDistance, [gamma, c]);
                $body
            }
            Similarity::PenumbralCone { light } => {
                let [[$q, left], [$k, right]] = [$queries, $keys].map(|x| parts(half_space.xi(&x, light)));
                let ($formula, $left, $right) = (PenumbralCone, [left], [right]);
                let $params = [gamma, c, tape.scalar(light)];
                $body
            }
            Similarity::UmbralCone { radius } => {
                let [[$q, left], [$k, right]] = [$queries, $keys].map(|x| parts(half_space.psi(&x)));
                let ($formula, $left, $right) = (UmbralCone, [left], [right]);
                let $params = [gamma, c, tape.scalar(radius.sinh())];
                $body
            }
            Similarity::ReleasedUmbralCone { radius } => {
                let flat = [$queries, $keys].map(|x| lowered(x));
                let [[$q, left], [$k, right]] = flat.map(|x| parts(half_space.psi(&x)));
                let ($formula, $left, $right) = (UmbralCone, [left], [right]);
                let $params = [gamma, c, tape.scalar(radius.sinh())];
                $body
            }
            Similarity::ReleasedPenumbralCone { light } => {
                let [[$q, left], [$k, right]] = [$queries, $keys].map(|x| parts(half_space.xi(&x, light)));
                let ($formula, $left, $right) = (SquaredPenumbralCone, [left], [right]);
                let $params = [gamma, c, tape.scalar(light)];
                $body
            }
        }
    }};
}

impl<T: Float> Attention<T> {
    /// Softmax of scores of d-dimensional queries and keys, and weighted sums of values. γ is 1/√d for
    /// [`Similarity::Dot`], else 1; c is 0. Neither is learned.
    ///
    /// # Panics
    /// If the score needs a height and d is less than 2, or its light or radius is not positive.
    #[track_caller]
    pub fn new(similarity: Similarity, d: usize) -> Self {
        let (heights, positive) = match similarity {
            Similarity::PenumbralCone { light } | Similarity::ReleasedPenumbralCone { light } => {
                (true, light)
            }
            Similarity::UmbralCone { radius } | Similarity::ReleasedUmbralCone { radius } => (true, radius),
            Similarity::HalfSpaceDistance | Similarity::PolarDistance => (true, 1.0),
            Similarity::Dot | Similarity::Distance | Similarity::Laplacian | Similarity::Additive => {
                (false, 1.0)
            }
        };
        assert!(d > usize::from(heights), "attention: {similarity:?} of {d} dimensions");
        assert!(positive > 0.0 && positive.is_finite(), "attention: {similarity:?}");
        let sharpness = if similarity == Similarity::Dot { (d as f64).powf(-0.5) } else { 1.0 };
        let number = |name: &str, x: f64| Param::new(name, Euclidean, Tensor::new([1], vec![T::nearest(x)]));
        Attention {
            similarity,
            sharpness: number("sharpness", sharpness),
            offset: number("offset", 0.0),
            learned: false,
            weights: Weights::Softmax,
            aggregation: Aggregation::Sum,
            dropout: Dropout { rate: 0.0 },
        }
    }

    /// From queries `[…, n, d]`, keys `[…, m, d]` and values `[…, m, e]` to results `[…, n, e]`. The result
    /// of a query that attends to no key is 0.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(
        &self,
        queries: Var<'t, T>,
        keys: Var<'t, T>,
        values: Var<'t, T>,
        mask: Mask<'t, T>,
    ) -> Var<'t, T> {
        let dropped = self.dropout.rate > 0.0 && queries.tape().is_training();
        let values = without_padding(values, mask);
        self.aggregate(values, |values| match (mask, dropped) {
            (Mask::None, false) => self.attend(queries, keys, values, false),
            (Mask::Causal, false) => self.attend(queries, keys, values, true),
            _ => {
                let weights = self.weigh(queries, keys, mask);
                self.dropout.forward_in(&Euclidean, weights).matmul(values)
            }
        })
    }

    /// Attention along the edges of a graph: query i attends to key j if (i, j) is an edge. From queries
    /// `[n, heads, d]`, keys `[m, heads, d]` and values `[m, heads, e]` to results `[n, heads, e]`; with
    /// one head the heads axis may be left out. Memory is linear in the number of edges. The result of a
    /// query without edges is 0. A row without edges changes nothing and has no gradient, unless it is NaN:
    /// then its gradient is NaN.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn along_edges<'t>(
        &self,
        queries: Var<'t, T>,
        keys: Var<'t, T>,
        values: Var<'t, T>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        let weights = self.edge_weights(queries, keys, edges);
        let weights = self.dropout.forward_in(&Euclidean, weights);
        self.aggregate(values, |values| weights.sparse_matmul(edges, values))
    }

    /// The weight of each edge of a graph, `[edges, heads]`. Queries and keys are as in
    /// [`along_edges`](Self::along_edges).
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn edge_weights<'t>(
        &self,
        queries: Var<'t, T>,
        keys: Var<'t, T>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        let tape = queries.tape();
        let scores = with_formula!(self, queries, keys, |formula, [q, k], left, right, params| {
            tape.sparse_pairs(formula, edges, [q, k], left, right, params)
        });
        match self.weights {
            Weights::Softmax => scores.segment_softmax(edges),
            Weights::Sigmoid => scores.sigmoid(),
        }
    }

    /// Aggregates weighted values; `sum` computes their weighted sum.
    #[track_caller]
    fn aggregate<'t>(&self, values: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        match self.aggregation {
            Aggregation::Sum => sum(values),
            Aggregation::Barycentre => {
                let ball = PoincareBall::ball(-1.0).expect("a negative curvature");
                let sums = sum(ball.barycentre_features(&ball.exp0(&values)));
                ball.log0(&ball.barycentre_from_sum(&sums))
            }
        }
    }

    /// The scores of all pairs, `[…, n, m]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn scores<'t>(&self, queries: Var<'t, T>, keys: Var<'t, T>) -> Var<'t, T> {
        let tape = queries.tape();
        with_formula!(self, queries, keys, |formula, [q, k], left, right, params| {
            tape.pairs(formula, q, k, left, right, params)
        })
    }

    /// Attention by the kernel that does not store scores.
    #[track_caller]
    fn attend<'t>(
        &self,
        queries: Var<'t, T>,
        keys: Var<'t, T>,
        values: Var<'t, T>,
        causal: bool,
    ) -> Var<'t, T> {
        let tape = queries.tape();
        with_formula!(self, queries, keys, |formula, [q, k], left, right, params| {
            tape.attend(formula, [q, k, values], left, right, params, self.weights, causal)
        })
    }

    /// The weights of all pairs, `[…, n, m]`, exactly 0 where masked.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weigh<'t>(&self, queries: Var<'t, T>, keys: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        let scores = self.scores(queries, without_padding(keys, mask));
        let hidden = match mask {
            Mask::None => None,
            Mask::Hidden(hidden) => Some(hidden),
            Mask::Causal => {
                let shape = scores.shape();
                Some(queries.tape().causal_mask(shape.rows().width(), shape.width()))
            }
        };
        self.weights.of(scores, hidden)
    }

    /// γ and c.
    fn numbers<'t>(&self, x: Var<'t, T>) -> [Var<'t, T>; 2] {
        [&self.sharpness, &self.offset].map(|param| {
            let tape = x.tape();
            if self.learned { *param.on(tape) } else { tape.constant(param.value()) }
        })
    }
}

/// Keys or values `[…, m, d]`, set to 0 where they are hidden from all queries. A weight of 0 alone
/// would let NaN through.
#[track_caller]
fn without_padding<'t, T: Float>(rows: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
    let Mask::Hidden(hidden) = mask else { return rows };
    let not = |x: Var<'t, T>| x.tape().scalar(1.0).masked_fill(x, 0.0);
    let mut seen = match hidden.shape().axes().len() {
        0 => return rows,
        1 => not(hidden),
        _ => not(hidden).max_axis(-2),
    };
    // A key that several sets of queries share is hidden only if it is hidden from all of them.
    let shared = rows.shape().rows();
    while seen.shape().axes().len() > shared.axes().len() {
        seen = seen.max_axis(0);
    }
    rows.masked_fill(not(seen.broadcast_to(shared.clone())).insert_axis(shared.axes().len()), 0.0)
}

/// Splits points of the half-space into horizontal parts `[…, n, d − 1]` and heights `[…, n]`.
fn parts<T: Float>(x: Var<'_, T>) -> [Var<'_, T>; 2] {
    let shape = x.shape();
    let last = shape.width() - 1;
    [x.slice(-1, 0..last), x.slice(-1, last..last + 1).reshape(shape.rows())]
}

/// Directions `[…, n, d − 1]` of points in polar coordinates, and the numbers that the score computes
/// from their distances from the origin.
fn polar<T: Float>(x: Var<'_, T>) -> (Var<'_, T>, [Var<'_, T>; 2]) {
    let ([d, r], tape) = (parts(x), x.tape());
    // No gradient passes through the mask.
    let sign = tape.scalar(1.0).masked_fill((-r).relu(), -1.0);
    let direction = direction(&d) * sign.reshape(r.shape().with_width(1));
    let r = r.abs();
    // The constant comes first: with NaN, the result is then NaN.
    (direction, [r, tape.scalar(PolarDistance::NEAR).min(r).sinh()])
}

/// Rows with the last of d coordinates divided by d.
fn lowered<T: Float>(x: Var<'_, T>) -> Var<'_, T> {
    let d = x.shape().width();
    let factor = |i| T::nearest(if i + 1 == d { 1.0 / d as f64 } else { 1.0 });
    x * x.tape().constant(&Tensor::from_fn([d], factor))
}
