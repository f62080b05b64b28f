//! Recurrent cells, and how they run over sequences of different lengths.

use cotangent_engine::{Float, Var, row_numbers};
use cotangent_manifolds::{Manifold, Module, Point};

use crate::space::gyrovector_space::GyrovectorSpace;

/// A recurrent layer. Its state h has m dimensions; each input has d dimensions and updates the state.
/// See [`Rnn`](crate::Rnn) and [`Gru`](crate::Gru).
///
/// A batch of sequences is `[len, batch, d]`: slice t holds element t of every sequence. Shorter
/// sequences are padded with any points. After its last element, a sequence's state stays the same to
/// the bit.
pub trait Cell<M: Manifold, T: Float>: Module<T> + Send + Sync {
    /// d and m: the dimensions of inputs and of states.
    fn dims(&self) -> [usize; 2];

    /// The part of a step that depends on the input only: `U ⊗ x` for each of the cell's gates,
    /// `[…, batch, d]` to `[…, batch, gates, m]`.
    fn of_inputs<'t, S: GyrovectorSpace<'t, T, Learned = M>>(&self, space: &S, x: Var<'t, T>) -> Var<'t, T>;

    /// The states `[batch, m]` after one more input. `inputs` is the result of
    /// [`of_inputs`](Self::of_inputs), `[batch, gates, m]`.
    fn step<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        h: Var<'t, T>,
        inputs: Var<'t, T>,
    ) -> Var<'t, T>;

    /// Runs over sequences `[len, batch, d]`, starting at the origin. Returns the states `[batch, m]`
    /// after each element, as many as the longest sequence has elements. `lengths` has one length per
    /// sequence; `None` means that all have `len` elements.
    ///
    /// # Panics
    /// If the points are not d wide, if there is not one length for each sequence, if a length is larger
    /// than `len`, if no sequence has an element, or if the cell's points are on another manifold.
    #[track_caller]
    fn forward<'t>(&self, x: Point<M, Var<'t, T>>, lengths: Option<&[usize]>) -> Vec<Point<M, Var<'t, T>>>
    where
        M: GyrovectorSpace<'t, T, Learned = M>,
    {
        let states = self.forward_in(x.manifold(), *x.coordinates(), lengths);
        states.into_iter().map(|h| Point::new(*x.manifold(), h)).collect()
    }

    /// Same as [`forward`](Self::forward), with the geometry as an argument: see
    /// [`Curvature`](crate::Curvature).
    #[track_caller]
    fn forward_in<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        x: Var<'t, T>,
        lengths: Option<&[usize]>,
    ) -> Vec<Var<'t, T>> {
        let [d, m] = self.dims();
        let [len, batch] = extents(x, d, lengths);
        let longest = lengths.map_or(len, |lengths| lengths.iter().copied().max().unwrap_or(0));
        assert!(longest > 0, "Cell: no element in sequences of shape {}", x.shape());
        let x = if longest < len { x.slice(0, 0..longest) } else { x };
        let inputs = self.of_inputs(space, x); // [longest, batch, gates, m]
        let shape = inputs.shape().without(0);
        let mut h = x.tape().zeros([batch, m]);
        let mut states = Vec::with_capacity(longest);
        for number in row_numbers(longest) {
            let t = number as usize;
            // A gather, because a slice would have a gradient as large as the whole sequence in every
            // step.
            let input = inputs.gather(&[number]).reshape(shape.clone());
            let next = self.step(space, h, input);
            h = match lengths {
                Some(lengths) if lengths.iter().any(|&n| n <= t) => next.fill_where(ended(x, lengths, t), h),
                _ => next,
            };
            states.push(h);
        }
        states
    }
}

/// 1 for sequences that have no element t, else 0: `[batch, 1]`.
fn ended<'t, T: Float>(x: Var<'t, T>, lengths: &[usize], t: usize) -> Var<'t, T> {
    x.tape().constant_with([lengths.len(), 1], |mask| {
        for (mask, &n) in mask.iter_mut().zip(lengths) {
            *mask = if n <= t { T::one() } else { T::zero() };
        }
    })
}

/// `len` and `batch` of sequences. Checks that their inputs are d-dimensional and that the lengths fit.
#[track_caller]
pub(crate) fn extents<T: Float>(x: Var<'_, T>, d: usize, lengths: Option<&[usize]>) -> [usize; 2] {
    let shape = x.shape();
    let axes = shape.axes();
    assert!(axes.len() == 3 && axes[2] == d, "Cell: sequences of shape {shape} where [len, batch, {d}] fit");
    if let Some(lengths) = lengths {
        assert_eq!(lengths.len(), axes[1], "Cell: {} lengths for sequences of shape {shape}", lengths.len());
        if let Some(n) = lengths.iter().find(|&&n| n > axes[0]) {
            panic!("Cell: a length of {n} in sequences of shape {shape}")
        }
    }
    [axes[0], axes[1]]
}
