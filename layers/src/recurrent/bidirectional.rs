//! Reads sequences in both directions. Schuster & Paliwal 1997.

use cotangent_engine::{Float, Var, row_numbers};
use cotangent_manifolds::{Manifold, Module, Point};

use crate::recurrent::cell::{Cell, extents};
use crate::space::gyrovector_space::GyrovectorSpace;

/// Two cells: one reads sequences from start to end, the other from end to start.
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
#[derive(Clone, Debug, Module)]
pub struct Bidirectional<C> {
    /// Reads from the start.
    pub onward: C,
    /// Reads from the end.
    pub backward: C,
}

impl<C> Bidirectional<C> {
    /// The states of both cells after each element that they have read. The first are those of
    /// [`Cell::forward`] on the sequences, the second those on the reversed sequences. The last state of
    /// each cell has read everything.
    ///
    /// # Panics
    /// As [`Cell::forward`].
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

    /// Same as [`forward`](Self::forward), with the geometry as an argument: see
    /// [`Curvature`](crate::Curvature).
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

/// Reverses the sequences `[len, batch, d]`. Padding stays at the end.
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
