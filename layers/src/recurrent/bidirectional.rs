//! Reads sequences in both directions. Schuster & Paliwal 1997.

use cotangent_engine::Float;
use cotangent_manifolds::Module;

use crate::recurrent::cell::Cell;
use crate::recurrent::sequence::Sequence;
use crate::space::gyrovector_space::GyrovectorSpace;

/// Two cells: one reads sequences from start to end, the other from end to start.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Bidirectional, Rnn};
/// use cotangent_manifolds::{Euclidean, Point};
/// let mut rng = rng::stream(1, 0, 0);
/// let rnn = Rnn::new(Euclidean, 1, 2, &mut rng);
/// let cells = Bidirectional { onward: rnn.clone(), backward: rnn };
/// let tape = Tape::<f64>::new();
/// let x = Point::new(Euclidean, tape.constant(&Tensor::new([3, 1, 1], vec![0.1, 0.2, 0.1])));
/// let [onward, backward] = cells.forward(x); // 3 states [1, 2] each
/// let [a, b] = [onward, backward].map(|states| states.last().to_tensor());
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
    /// The states of each cell after every element that it has read: those of [`Cell::forward`] on the
    /// sequences, and those on the reversed sequences. So the last state of each cell is the one after the
    /// whole sequence.
    ///
    /// # Panics
    /// As [`Cell::forward`].
    #[track_caller]
    pub fn forward<'t, G, T>(&self, x: impl Into<Sequence<'t, G, T>>) -> [Sequence<'t, G, T>; 2]
    where
        G: GyrovectorSpace<'t, T>,
        T: Float,
        C: Cell<G::Learned, T>,
    {
        let x: Sequence<'t, G, T> = x.into();
        let backward = self.backward.forward(x.reversed());
        [self.onward.forward(x), backward]
    }
}
