//! Batches of sequences of different lengths.

use std::sync::Arc;

use cotangent_engine::{Float, Var, row_numbers};
use cotangent_manifolds::Point;

/// A batch of sequences of points: `[len, batch, width]`. Slice t holds element t of every sequence.
/// Shorter sequences are padded with any points: [`with_lengths`](Self::with_lengths) says where each
/// ends.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::Sequence;
/// use cotangent_manifolds::{Euclidean, Point};
/// let tape = Tape::<f64>::new();
/// let x = tape.constant(&Tensor::from_fn([3, 2, 1], |i| i as f64)); // two sequences: 0 2 4, and 1 3 5
/// let x = Sequence::new(Point::new(Euclidean, x)).with_lengths(&[3, 2]); // the second is 1 3
/// assert_eq!(x.last().to_tensor().data(), [4.0, 3.0]);
/// assert_eq!(x.reversed().points().to_tensor().data(), [4.0, 3.0, 2.0, 1.0, 0.0, 5.0]);
/// assert_eq!(x.ended().unwrap().to_tensor().data(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Sequence<'t, G, T: Float> {
    space: G,
    elements: Elements<'t, T>,
    lengths: Option<Arc<[usize]>>,
}

#[derive(Clone, Debug)]
enum Elements<'t, T: Float> {
    /// `[len, batch, width]`.
    Stacked(Var<'t, T>),
    /// `[batch, width]` for each element. After its end, a sequence repeats its last element.
    Steps(Vec<Var<'t, T>>),
}

impl<'t, G: Copy, T: Float> Sequence<'t, G, T> {
    /// Sequences that all have `len` elements: points `[len, batch, width]`.
    ///
    /// # Panics
    /// If the points have other than three axes.
    #[track_caller]
    pub fn new(points: Point<G, Var<'t, T>>) -> Self {
        let shape = points.coordinates().shape();
        assert_eq!(shape.rank(), 3, "Sequence: points of shape {shape} where [len, batch, width] fit");
        Sequence {
            space: *points.manifold(),
            elements: Elements::Stacked(*points.coordinates()),
            lengths: None,
        }
    }

    /// Sequences from their elements, `[batch, width]` each. A sequence that has ended repeats its last
    /// element.
    pub(super) fn from_steps(space: G, steps: Vec<Var<'t, T>>, lengths: Option<Arc<[usize]>>) -> Self {
        Sequence { space, elements: Elements::Steps(steps), lengths }
    }

    /// The same points as sequences of other lengths: the first `lengths[b]` elements of sequence b count.
    ///
    /// # Panics
    /// If there is not one length for each sequence, or one is larger than `len`.
    #[track_caller]
    pub fn with_lengths(self, lengths: &[usize]) -> Self {
        let [len, batch] = [self.len(), self.batch()];
        assert_eq!(lengths.len(), batch, "Sequence: {} lengths for {batch} sequences", lengths.len());
        if let Some(n) = lengths.iter().find(|&&n| n > len) {
            panic!("Sequence: a length of {n} where sequences have {len} elements")
        }
        // Stacked: steps repeat the last element of a sequence that has ended, by its old length.
        let elements = Elements::Stacked(*self.points().coordinates());
        Sequence { elements, lengths: Some(lengths.into()), ..self }
    }

    /// The space of the points.
    pub fn space(&self) -> &G {
        &self.space
    }

    /// The extent of the first axis: the largest length that a sequence can have.
    pub fn len(&self) -> usize {
        match &self.elements {
            Elements::Stacked(x) => x.shape()[0],
            Elements::Steps(steps) => steps.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of sequences.
    pub fn batch(&self) -> usize {
        match &self.elements {
            Elements::Stacked(x) => x.shape()[1],
            Elements::Steps(steps) => steps.first().map_or(0, |step| step.shape()[0]),
        }
    }

    /// The length of each sequence; `None` if all have [`len`](Self::len) elements.
    pub fn lengths(&self) -> Option<&[usize]> {
        self.lengths.as_deref()
    }

    pub(super) fn shared_lengths(&self) -> Option<Arc<[usize]>> {
        self.lengths.clone()
    }

    /// All points, `[len, batch, width]`, those beyond a sequence's end included.
    #[track_caller]
    pub fn points(&self) -> Point<G, Var<'t, T>> {
        let stacked = match &self.elements {
            Elements::Stacked(x) => *x,
            Elements::Steps(steps) => {
                let steps: Vec<_> = steps.iter().map(|step| step.insert_axis(0)).collect();
                Var::concat(&steps, 0)
            }
        };
        Point::new(self.space, stacked)
    }

    /// Element t of every sequence: `[batch, width]`.
    ///
    /// # Panics
    /// If t is not less than [`len`](Self::len).
    #[track_caller]
    pub fn element(&self, t: usize) -> Point<G, Var<'t, T>> {
        let element = match &self.elements {
            Elements::Steps(steps) => steps[t],
            Elements::Stacked(x) => {
                let shape = x.shape().without(0);
                assert!(t < self.len(), "Sequence: element {t} of {}", self.len());
                // A gather, because a slice would have a gradient as large as the whole sequence.
                x.gather(&[t as u32]).reshape(shape)
            }
        };
        Point::new(self.space, element)
    }

    /// The last element of each sequence: `[batch, width]`. If the elements are the states of a
    /// [`Cell`](crate::Cell), this is the state after the whole sequence; after a sequence without
    /// elements it is the origin.
    ///
    /// # Panics
    /// If [`len`](Self::len) is 0. If a sequence has no element, unless these are a cell's states.
    #[track_caller]
    pub fn last(&self) -> Point<G, Var<'t, T>> {
        assert!(!self.is_empty(), "Sequence: the last of no elements");
        match (&self.elements, &self.lengths) {
            (Elements::Stacked(x), Some(lengths)) => {
                let batch = lengths.len();
                let place = |b: usize| {
                    let n = lengths[b];
                    assert!(n > 0, "Sequence: sequence {b} has no last element");
                    u32::try_from((n - 1) * batch + b).expect("Sequence: row numbers are u32")
                };
                let rows: Vec<u32> = (0..batch).map(place).collect();
                Point::new(self.space, x.reshape([self.len() * batch, x.shape().width()]).gather(&rows))
            }
            _ => self.element(self.len() - 1),
        }
    }

    /// 1 beyond the end of a sequence, else 0: `[len, batch]`. `None` without lengths.
    pub fn ended(&self) -> Option<Var<'t, T>> {
        let lengths = self.lengths.as_ref()?;
        let tape = match &self.elements {
            Elements::Stacked(x) => x.tape(),
            Elements::Steps(steps) => steps.first()?.tape(),
        };
        Some(tape.constant_with([self.len(), lengths.len()], |mask| fill_ended(mask, lengths, 0)))
    }

    /// The sequences from end to start. Padding stays at the end.
    #[track_caller]
    pub fn reversed(&self) -> Self {
        let (x, [len, batch]) = (*self.points().coordinates(), [self.len(), self.batch()]);
        let from = |t: usize, b: usize| {
            let n = self.lengths().map_or(len, |lengths| lengths[b]);
            if t < n { n - 1 - t } else { t }
        };
        let place = |i: usize| from(i / batch, i % batch) * batch + i % batch;
        let rows: Vec<u32> = row_numbers(len * batch).map(|i| place(i as usize) as u32).collect();
        let reversed = x.reshape([len * batch, x.shape().width()]).gather(&rows).reshape(x.shape());
        Sequence { space: self.space, elements: Elements::Stacked(reversed), lengths: self.shared_lengths() }
    }
}

/// Fills a mask `[steps, batch]`, whose first step is element `first`: 1 where a sequence has no such
/// element, else 0.
pub(super) fn fill_ended<T: Float>(mask: &mut [T], lengths: &[usize], first: usize) {
    let batch = lengths.len();
    for (i, mask) in mask.iter_mut().enumerate() {
        *mask = if lengths[i % batch] <= first + i / batch { T::one() } else { T::zero() };
    }
}

/// Sequences without padding, from points `[len, batch, width]`: see [`Sequence::new`].
impl<'t, G: Copy, T: Float> From<Point<G, Var<'t, T>>> for Sequence<'t, G, T> {
    #[track_caller]
    fn from(points: Point<G, Var<'t, T>>) -> Self {
        Sequence::new(points)
    }
}
