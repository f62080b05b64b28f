//! Sequences read both ways. Schuster & Paliwal 1997.

use cotangent_engine::{Float, Var, row_numbers};
use cotangent_manifolds::{Manifold, Module, Point, module};

use crate::cell::extents;
use crate::{Cell, GyrovectorSpace};

/// Two cells: one reads sequences from their start, the other from their end.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Bidirectional, Rnn};
/// use cotangent_manifolds::{Euclidean, Point};
/// let mut rng = rng::stream(1, 0, 0);
/// let rnn = Rnn::new(Euclidean, 1, 2, &mut rng);
/// let both = Bidirectional { onward: rnn.clone(), backward: rnn };
/// let tape = Tape::<f64>::new();
/// let x = Point::new(Euclidean, tape.constant(&Tensor::new([3, 1, 1], vec![0.1, 0.2, 0.1])));
/// let [onward, backward] = both.forward(x, None); // 3 states [1, 2] each
/// let [a, b] = [onward[2], backward[2]].map(|h| h.coordinates().to_tensor());
/// assert_eq!(a, b); // the sequence is its own mirror image
/// ```
#[derive(Clone, Debug)]
pub struct Bidirectional<C> {
    /// Reads from the start.
    pub onward: C,
    /// Reads from the end.
    pub backward: C,
}
module!(impl[C: Module<T>, T: Float] Module<T> for Bidirectional<C> { onward, backward });

impl<C> Bidirectional<C> {
    /// The states of both cells after each element that they have read: as [`Cell::forward`] of the sequences, and of
    /// the sequences in reverse. The last ones have read everything.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn forward<'t, M, T>(
        &self,
        x: Point<M, Var<'t, T>>,
        lengths: Option<&[usize]>,
    ) -> [Vec<Point<M, Var<'t, T>>>; 2]
    where
        M: Manifold + GyrovectorSpace<'t, T, Learned = M>,
        T: Float,
        C: Cell<M, T>,
    {
        let states = self.forward_in(x.manifold(), *x.coordinates(), lengths);
        states.map(|states| states.into_iter().map(|h| Point::new(*x.manifold(), h)).collect())
    }

    /// As [`forward`](Self::forward), in a geometry that is given: see [`Curvature`](crate::Curvature).
    #[track_caller]
    pub fn forward_in<'t, S, T>(
        &self,
        space: &S,
        x: Var<'t, T>,
        lengths: Option<&[usize]>,
    ) -> [Vec<Var<'t, T>>; 2]
    where
        S: GyrovectorSpace<'t, T>,
        T: Float,
        C: Cell<S::Learned, T>,
    {
        let onward = self.onward.forward_in(space, x, lengths);
        [onward, self.backward.forward_in(space, reversed(x, self.backward.dims()[0], lengths), lengths)]
    }
}

/// The sequences `[len, batch, d]` from their last element to their first; padding stays behind.
#[track_caller]
fn reversed<'t, T: Float>(x: Var<'t, T>, d: usize, lengths: Option<&[usize]>) -> Var<'t, T> {
    let [len, batch] = extents(x, d, lengths);
    let from = |t: usize, b: usize| {
        let n = lengths.map_or(len, |lengths| lengths[b]);
        if t < n { n - 1 - t } else { t }
    };
    let place = |i: usize| from(i / batch, i % batch) * batch + i % batch;
    let rows: Vec<u32> = row_numbers(len * batch).map(|i| place(i as usize) as u32).collect();
    x.reshape([len * batch, d]).gather(&rows).reshape(x.shape())
}
