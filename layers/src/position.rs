//! Positions in a sequence: sinusoidal ones, also of a grid, and learned ones in any geometry.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tensor, Var};
use cotangent_manifolds::{Module, Param, Point, Steps};

use crate::embedding::Embedding;
use crate::space::gyrovector_space::GyrovectorSpace;

/// Learned positions: a word with point x at place i gets the point `x ⊕ p_i`, in Euclidean space the
/// sum. López & Strube 2020, section 4.4; Gehring et al. 2017, section 3.1.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::PositionEmbedding;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut rng = rng::stream(1, 0, 0);
/// let positions = PositionEmbedding::new(ball, 20, 3, 1e-4, &mut rng); // 20 places, 3 dimensions
/// let tape = Tape::<f64>::new();
/// let words = Point::new(ball, tape.constant(&Tensor::zeros([2, 5, 3]))); // two sentences of five words
/// let placed = positions.forward(words, 0); // the first five places
/// assert_eq!(placed.coordinates().shape().axes(), [2, 5, 3]);
/// ```
#[derive(Clone, Debug, Module)]
pub struct PositionEmbedding<M, T: Float = f32> {
    /// The points of the places 0, 1, …: `[longest, ambient(dim)]`.
    pub points: Param<M, T>,
}

impl<M: Steps, T: Float> PositionEmbedding<M, T> {
    /// For `longest` places, with coordinates about the origin uniform in `[-range, range]`: 1e-4 in
    /// López & Strube 2020, appendix F.
    ///
    /// # Panics
    /// If the range is negative or not finite.
    #[track_caller]
    pub fn new(manifold: M, longest: usize, dim: usize, range: f64, rng: &mut Rng) -> Self {
        let Embedding { points } = Embedding::uniform("positions", manifold, longest, dim, range, rng);
        PositionEmbedding { points }
    }

    /// Adds positions to points `[…, len, ambient]` of words; the first word is at place `first`.
    ///
    /// # Panics
    /// If there are fewer places than the words need, or the points have another width.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        words: impl Into<Point<G, Var<'t, T>>>,
        first: usize,
    ) -> Point<G, Var<'t, T>> {
        let words: Point<G, Var<'t, T>> = words.into();
        let shape = words.coordinates().shape();
        let axes = shape.axes();
        assert!(axes.len() > 1, "positions: words of shape {shape} where […, len, ambient] fit");
        let places = first..first + axes[axes.len() - 2];
        let longest = self.points.value().shape().rows().elements();
        assert!(places.end <= longest, "positions: places {places:?} of {longest}");
        placed(words, &self.points, places)
    }
}

/// `x ⊕ p` for points x, `[…, len, n]`, at these places of a table of points p.
#[track_caller]
pub(crate) fn placed<'t, T: Float, G: GyrovectorSpace<'t, T>>(
    x: Point<G, Var<'t, T>>,
    table: &Param<G::Learned, T>,
    places: Range<usize>,
) -> Point<G, Var<'t, T>> {
    let (space, x) = (*x.manifold(), *x.coordinates());
    Point::new(space, space.add(x, space.parameter(x.tape(), table).slice(0, places)))
}

/// Sinusoidal positions, `[len, width]`: column 2k holds `sin(i/10000^{2k/width})`, column 2k + 1 its
/// cosine. Vaswani et al. 2017, section 3.5.
///
/// ```
/// let p = cotangent_layers::position::sinusoidal::<f64>(3, 4);
/// assert_eq!(p.row(0), [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(p.row(2), [2_f64.sin(), 2_f64.cos(), 0.02_f64.sin(), 0.02_f64.cos()]);
/// ```
pub fn sinusoidal<T: Float>(len: usize, width: usize) -> Tensor<T> {
    Tensor::from_fn([len, width], |at| {
        let (i, column) = (at / width, at % width);
        let angle = i as f64 / 10_000_f64.powf((column - column % 2) as f64 / width as f64);
        T::nearest(if column % 2 == 0 { angle.sin() } else { angle.cos() })
    })
}

/// Sinusoidal positions of the cells of a square grid, `[side · side, width]`, row by row: the first half of
/// a cell's numbers is [`sinusoidal`] of its row, the others of its column. Peebles & Xie 2023 (*DiT*),
/// section 3.2, after Dosovitskiy et al. 2021.
///
/// ```
/// use cotangent_layers::position::{sinusoidal, sinusoidal_grid};
/// let (p, line) = (sinusoidal_grid::<f64>(3, 8), sinusoidal::<f64>(3, 4));
/// assert_eq!(p.row(3 * 2 + 1), [line.row(2), line.row(1)].concat());
/// ```
pub fn sinusoidal_grid<T: Float>(side: usize, width: usize) -> Tensor<T> {
    let first = width / 2;
    let [rows, columns] = [first, width - first].map(|width| sinusoidal::<T>(side, width));
    Tensor::from_fn([side * side, width], |at| {
        let (cell, number) = (at / width, at % width);
        match number.checked_sub(first) {
            None => rows.row(cell / side)[number],
            Some(number) => columns.row(cell % side)[number],
        }
    })
}
