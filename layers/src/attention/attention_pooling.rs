//! Attention that pools a sequence to one point: López & Strube 2020, section 4.4.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::linear::Linear;
use crate::position::placed;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// Distance-based attention over a sequence of points. With learned positions p, `r = x ⊕ p`,
/// `q = W^Q ⊗ r ⊕ b^Q` and `k = W^K ⊗ r ⊕ b^K`. The weights are `softmax(−β d(q, k))` along the sequence
/// (eq. 8). The result is the barycentre of the points with these weights, the Möbius midpoint (eq. 9).
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::AttentionPooling;
/// use cotangent_manifolds::{Manifold, Point, PoincareBall};
/// let ball = PoincareBall::ball(-1.0).unwrap();
/// let mut rng = rng::stream(1, 0, 0);
/// let layer = AttentionPooling::new(ball, 3, 10, &mut rng); // of up to ten points in three dimensions
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::from_fn([2, 5, 3], |i| 0.3 * (i as f64).sin())));
/// let y = layer.forward(x, Some(&[5, 2])); // the second sequence ends after two points
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

    /// Pools sequences `[batch, len, n]` to `[batch, n]`. Of each sequence the first `lengths` points
    /// count; without lengths, all do.
    ///
    /// # Panics
    /// If a sequence is empty or longer than the table of positions, or there is not one length per
    /// sequence.
    #[track_caller]
    pub fn forward<'t>(&self, x: Point<M, Var<'t, T>>, lengths: Option<&[usize]>) -> Point<M, Var<'t, T>>
    where
        M: GyrovectorSpace<'t, T, Learned = M>,
    {
        Point::new(*x.manifold(), self.forward_in(x.manifold(), *x.coordinates(), lengths))
    }

    /// Same as [`forward`](Self::forward), with the geometry as an argument.
    #[track_caller]
    pub fn forward_in<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        x: Var<'t, T>,
        lengths: Option<&[usize]>,
    ) -> Var<'t, T> {
        space.gyromidpoint(x, self.weigh(space, x, lengths))
    }

    /// The weights of the points, `[batch, len]`. Points beyond a sequence's length have weight 0.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    #[track_caller]
    pub fn weigh<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        x: Var<'t, T>,
        lengths: Option<&[usize]>,
    ) -> Var<'t, T> {
        let (tape, shape) = (x.tape(), x.shape());
        let longest = self.positions.value().shape()[0];
        let [batch, len, _] = *shape.axes() else {
            panic!("AttentionPooling: sequences [batch, len, n] are needed, not {shape}")
        };
        assert!(
            (1..=longest).contains(&len),
            "AttentionPooling: {len} points, there are {longest} positions"
        );
        let r = placed(space, x, &self.positions, 0..len);
        let [q, k] = [&self.query, &self.key].map(|linear| linear.forward_in(space, r));
        let scores = space.distance(q, k) * self.sharpness.on(tape) * -1.0;
        let Some(lengths) = lengths else { return scores.softmax(-1) };
        assert_eq!(
            lengths.len(),
            batch,
            "AttentionPooling: lengths of {} sequences, not {batch}",
            lengths.len()
        );
        if let Some(length) = lengths.iter().find(|length| !(1..=len).contains(*length)) {
            panic!("AttentionPooling: a sequence of {length} points, of 1 to {len}")
        }
        let hidden = tape.constant(&Tensor::from_fn([batch, len], |at| {
            if at % len < lengths[at / len] { T::zero() } else { T::one() }
        }));
        scores.masked_fill(hidden, f64::NEG_INFINITY).softmax(-1)
    }
}
