//! Attention that pools a sequence to one point: López & Strube 2020, section 4.4.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tensor, Var, Weights};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::linear::Linear;
use crate::position::placed;
use crate::recurrent::sequence::Sequence;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// Distance-based attention over a sequence of points. With learned positions p, `r = x ⊕ p`,
/// `q = W^Q ⊗ r ⊕ b^Q` and `k = W^K ⊗ r ⊕ b^K`. The weights are `softmax(−β d(q, k))` along the
/// sequence (eq. 8). The result is the barycentre of the points with these weights, the Möbius midpoint
/// (eq. 9).
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{AttentionPooling, Sequence};
/// use cotangent_manifolds::{Manifold, Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut rng = rng::stream(1, 0, 0);
/// let layer = AttentionPooling::new(ball, 3, 10, &mut rng); // of up to ten points in three dimensions
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::from_fn([5, 2, 3], |i| 0.3 * (i as f64).sin())));
/// let y = layer.forward(Sequence::new(x).with_lengths(&[5, 2])); // the second ends after two points
/// assert_eq!(y.coordinates().shape(), [2, 3].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct AttentionPooling<M, T: Float = f32> {
    /// p: points, `[longest, n]`.
    pub positions: Param<M, T>,
    /// The map to q.
    pub query: Linear<M, T>,
    /// The map to k.
    pub key: Linear<M, T>,
    /// β: `[1]`.
    pub sharpness: Param<Euclidean, T>,
}

impl<M: Manifold, T: Float> AttentionPooling<M, T> {
    /// For sequences of up to `longest` points of n dimensions. Positions start at the origin, β at 1.
    pub fn new(manifold: M, n: usize, longest: usize, rng: &mut Rng) -> Self {
        AttentionPooling {
            positions: Param::new("positions", manifold, origins(&manifold, &[longest], n)),
            query: Linear::new(manifold, n, n, rng),
            key: Linear::new(manifold, n, n, rng),
            sharpness: Param::new("sharpness", Euclidean, Tensor::new([1], vec![T::one()])),
        }
    }

    /// Pools sequences of n-dimensional points to a point each: `[batch, n]`.
    ///
    /// # Panics
    /// If a sequence is empty, or longer than the table of positions, or the points are not n wide.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Sequence<'t, G, T>>,
    ) -> Point<G, Var<'t, T>> {
        let x = x.into();
        let (space, rows) = (*x.space(), self.by_sequence(&x));
        Point::new(space, space.gyromidpoint(*rows.coordinates(), self.weights(&x, rows)))
    }

    /// The weights of the points, `[batch, len]`, up to the length of the longest sequence. Points beyond a
    /// sequence's length have weight 0.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    #[track_caller]
    pub fn weigh<'t, G: GyrovectorSpace<'t, T, Learned = M>>(&self, x: &Sequence<'t, G, T>) -> Var<'t, T> {
        self.weights(x, self.by_sequence(x))
    }

    /// Queries q and keys k of points r, `[…, n]`, and their scores −β d(q, k), `[…]`.
    ///
    /// # Panics
    /// If the points are not n wide.
    #[track_caller]
    pub fn scores<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        r: Point<G, Var<'t, T>>,
    ) -> ([Point<G, Var<'t, T>>; 2], Var<'t, T>) {
        let matched = [&self.query, &self.key].map(|linear| linear.forward(r));
        let [q, k] = matched.each_ref().map(|points| *points.coordinates());
        (matched, r.manifold().dist(q, k) * self.sharpness.on(q.tape()) * -1.0)
    }

    /// Same as [`weigh`](Self::weigh), with the points of x in `rows`,
    /// [sequence by sequence](Self::by_sequence).
    #[track_caller]
    fn weights<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: &Sequence<'t, G, T>,
        rows: Point<G, Var<'t, T>>,
    ) -> Var<'t, T> {
        let len = rows.coordinates().shape()[1];
        let (_, scores) = self.scores(placed(rows, &self.positions, 0..len));
        match x.ended() {
            Some(ended) => {
                let ended = ended.slice(0, 0..len).permute(&[1, 0]);
                Weights::Softmax.normalise(scores, Some(ended))
            }
            None => scores.softmax(-1),
        }
    }

    /// The points sequence by sequence, up to the length of the longest: `[batch, len, n]`.
    #[track_caller]
    fn by_sequence<'t, G: Copy>(&self, x: &Sequence<'t, G, T>) -> Point<G, Var<'t, T>> {
        let positions = self.positions.value().shape()[0];
        if x.lengths().is_some_and(|lengths| lengths.contains(&0)) {
            panic!("AttentionPooling: a sequence without points")
        }
        let len = x.lengths().and_then(|lengths| lengths.iter().copied().max()).unwrap_or(x.len());
        assert!(
            (1..=positions).contains(&len),
            "AttentionPooling: {len} points, there are {positions} positions"
        );
        let points = *x.points().coordinates();
        let points = if len < x.len() { points.slice(0, 0..len) } else { points };
        Point::new(*x.space(), points.permute(&[1, 0, 2]))
    }
}
