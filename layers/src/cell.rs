//! Recurrent cells, and how they are run over sequences of different lengths.

use cotangent_engine::{Float, Var, row_numbers};
use cotangent_manifolds::{Manifold, Module, Point};

use crate::GyrovectorSpace;

/// A recurrent layer: a state h of m dimensions, moved by one input of d dimensions after another. [`Rnn`](crate::Rnn),
/// [`Gru`](crate::Gru).
///
/// A batch of sequences is `[len, batch, d]`: element t of all sequences is a slice. Shorter ones are padded with any
/// points; their state stays, to the bit, where their last element has put it.
pub trait Cell<M: Manifold, T: Float>: Module<T> + Send + Sync {
    /// d and m.
    fn dims(&self) -> [usize; 2];

    /// What a step needs of its input and no state: `U ⊗ x` for each of the cell's gates, `[…, batch, d]` to
    /// `[…, batch, gates, m]`.
    fn of_inputs<'t, S: GyrovectorSpace<'t, T, Learned = M>>(&self, space: &S, x: Var<'t, T>) -> Var<'t, T>;

    /// The states `[batch, m]` after one more input, which is given as
    /// [`of_inputs`](Self::of_inputs), `[batch, gates, m]`.
    fn step<'t, S: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: &S,
        h: Var<'t, T>,
        inputs: Var<'t, T>,
    ) -> Var<'t, T>;

    /// Runs over sequences `[len, batch, d]` from the origin and returns the states after each element, `[batch, m]`,
    /// as many as the longest sequence has. `lengths` are those of the sequences; `None` if all are whole.
    ///
    /// # Panics
    /// If the points are not d wide, there is not one length for each sequence, or one is larger than `len`; if no
    /// sequence has an element; if the cell's points are on another manifold.
    #[track_caller]
    fn forward<'t>(&self, x: Point<M, Var<'t, T>>, lengths: Option<&[usize]>) -> Vec<Point<M, Var<'t, T>>>
    where
        M: GyrovectorSpace<'t, T, Learned = M>,
    {
        let states = self.forward_in(x.manifold(), *x.coordinates(), lengths);
        states.into_iter().map(|h| Point::new(*x.manifold(), h)).collect()
    }

    /// As [`forward`](Self::forward), in a geometry that is given: see [`Curvature`](crate::Curvature).
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
        let at = inputs.shape().without(0);
        let mut h = x.tape().zeros([batch, m]);
        let mut states = Vec::with_capacity(longest);
        for number in row_numbers(longest) {
            let t = number as usize;
            // Gathered: a slice would have a gradient as large as the whole sequence in every step.
            let input = inputs.gather(&[number]).reshape(at.clone());
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

/// 1 for sequences without an element t, else 0: `[batch, 1]`.
fn ended<'t, T: Float>(x: Var<'t, T>, lengths: &[usize], t: usize) -> Var<'t, T> {
    x.tape().constant_with([lengths.len(), 1], |mask| {
        for (mask, &n) in mask.iter_mut().zip(lengths) {
            *mask = if n <= t { T::one() } else { T::zero() };
        }
    })
}

/// `len` and `batch` of sequences that a cell of d-dimensional inputs can be run over.
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
