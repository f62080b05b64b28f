//! Recurrent cells, and how they run over sequences of different lengths.

use cotangent_engine::{Float, Var, row_numbers};
use cotangent_manifolds::{Module, Steps};

use crate::recurrent::sequence::{Sequence, fill_ended};
use crate::space::gyrovector_space::GyrovectorSpace;

/// A recurrent layer. Its state h has m dimensions; each input has d dimensions and updates the state.
/// See [`Rnn`](crate::Rnn), [`Gru`](crate::Gru) and [`Lstm`](crate::Lstm).
pub trait Cell<M: Steps, T: Float>: Module<T> + Send + Sync {
    /// The number of points, of m dimensions each, that a step goes on from: 1 if h is all of the state. More
    /// of them stand side by side, h first.
    const POINTS: usize = 1;

    /// d and m: the dimensions of inputs and of states.
    fn dims(&self) -> [usize; 2];

    /// The part of a step that depends on the input only: `U ⊗ x` for each of the cell's gates,
    /// `[…, batch, d]` to `[…, batch, gates, m]`.
    fn input_terms<'t, S: GyrovectorSpace<'t, T, Learned = M>>(&self, space: &S, x: Var<'t, T>)
    -> Var<'t, T>;

    /// The states `[batch, POINTS · m]` after one more input. `inputs` is the result of
    /// [`input_terms`](Self::input_terms), `[batch, gates, m]`.
    fn step<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        state: Var<'t, T>,
        inputs: Var<'t, T>,
    ) -> Var<'t, T>;

    /// Runs over sequences of d-dimensional points. The state starts at the origin. Returns the
    /// m-dimensional states h after each element, up to the length of the longest sequence. After the last
    /// element of a sequence its state stays the same to the bit.
    ///
    /// # Panics
    /// If the points are not d wide, if no sequence has an element, or if the cell's points are on
    /// another manifold.
    #[track_caller]
    fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Sequence<'t, G, T>>,
    ) -> Sequence<'t, G, T> {
        let sequences: Sequence<'t, G, T> = x.into();
        let (space, x) = (sequences.space(), *sequences.points().coordinates());
        let ([d, m], shape) = (self.dims(), x.shape());
        assert_eq!(shape.width(), d, "Cell: sequences of shape {shape} where [len, batch, {d}] fit");
        let (len, lengths) = (sequences.len(), sequences.lengths());
        let longest = lengths.map_or(len, |lengths| lengths.iter().copied().max().unwrap_or(0));
        assert!(longest > 0, "Cell: no element in sequences of shape {shape}");
        let x = if longest < len { x.slice(0, 0..longest) } else { x };
        let inputs = self.input_terms(space, x); // [longest, batch, gates, m]
        let shape = inputs.shape().without(0);
        let mut state = x.tape().zeros([sequences.batch(), Self::POINTS * m]);
        let mut states = Vec::with_capacity(longest);
        for number in row_numbers(longest) {
            let t = number as usize;
            // A gather, because a slice would have a gradient as large as the whole sequence in every
            // step.
            let input = inputs.gather(&[number]).reshape(shape.clone());
            let next = self.step(space, state, input);
            state = match lengths {
                Some(lengths) if lengths.iter().any(|&n| n <= t) => {
                    let shape = [lengths.len(), 1];
                    let ended = x.tape().constant_with(shape, |mask| fill_ended(mask, lengths, t));
                    next.fill_where(ended, state)
                }
                _ => next,
            };
            states.push(if Self::POINTS == 1 { state } else { state.slice(-1, 0..m) });
        }
        Sequence::from_steps(*space, states, sequences.shared_lengths())
    }
}

/// M ⊗ x for several M at once, stacked to `[count · m, n]`: `[…, count, m]`. v is the logarithm of x,
/// `[…, n]`.
#[track_caller]
pub(super) fn side_by_side<'t, T: Float>(
    space: &impl GyrovectorSpace<'t, T>,
    v: Var<'t, T>,
    matrices: Var<'t, T>,
    count: usize,
) -> Var<'t, T> {
    let m = matrices.shape()[0] / count;
    space.exp0(v.matmul_nt(matrices).reshape(v.shape().rows().with_width(count).with_width(m)))
}
