//! Scores of all pairs of rows with their gradients, outside a tape.

use smallvec::SmallVec;

use super::Pair;
use super::jobs::steps;
use super::pairings::{tile_rows, with_right};
use super::tile::{PairKernel, Tile, TileGradients, gradient_in_pieces};
use crate::formula::per_type::Compiled;
use crate::numbers::storage::Storage;

/// Rows on one side of pairs, and the numbers that the formula takes of them; or the gradients of these.
#[derive(Clone, Debug)]
pub struct PairSide<T> {
    /// `[rows, width]`.
    pub rows: Vec<T>,
    /// `[rows]` each.
    pub numbers: SmallVec<[Vec<T>; 2]>,
}

/// The scores of all pairs of left and right rows by a [`PairFormula`](crate::PairFormula), and the gradients
/// of a loss of these, on the calling thread.
///
/// ```
/// use cotangent_engine::{ManyToMany, PairFormula, PairSide, Pairing, Scalar};
///
/// /// −‖x − y‖².
/// #[derive(Clone, Copy)]
/// struct Nearness;
///
/// impl PairFormula<0, 0, 0> for Nearness {
///     const NAME: &'static str = "nearness";
///     const PAIRING: Pairing = Pairing::SquaredDistance;
///     fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], _: [S; 0]) -> S {
///         -square
///     }
/// }
///
/// let mut pairs = ManyToMany::<f64>::new(Nearness::compiled(), &[]);
/// let side = |rows: &[f64]| PairSide { rows: rows.to_vec(), ..PairSide::default() };
/// let (left, right) = (side(&[0.0]), side(&[1.0, 3.0])); // rows of one coordinate
/// let mut gradients = [PairSide::default(), PairSide::default()];
/// // The loss is the sum of all scores.
/// pairs.gradients([&left, &right], 1, &mut gradients, &mut |_, scores, slopes| {
///     assert_eq!(scores, [-1.0, -9.0]);
///     slopes.fill(1.0);
/// });
/// assert_eq!((&gradients[0].rows[..], &gradients[1].rows[..]), (&[8.0][..], &[-2.0, -6.0][..]));
/// ```
pub struct ManyToMany<T: Storage> {
    kernel: &'static dyn PairKernel<T>,
    params: SmallVec<[f64; 4]>,
    pairings: Vec<T>,
    slopes: Vec<T>,
}

/// A loss of a left row: its number, its scores, and where the derivatives by these go.
type RowLoss<'a, T> = dyn FnMut(usize, &[T], &mut [T]) + 'a;

impl<T: Storage> ManyToMany<T> {
    /// For a formula with these parameters.
    ///
    /// # Panics
    /// If the formula takes another count of parameters.
    pub fn new(formula: &'static Compiled<Pair>, params: &[f64]) -> Self {
        let kernel = formula.for_type().score;
        assert_eq!(kernel.counts()[2], params.len(), "{}: number of parameters", kernel.name());
        ManyToMany { kernel, params: SmallVec::from_slice(params), pairings: Vec::new(), slopes: Vec::new() }
    }

    /// Calls `loss` for each left row with its number and its scores with all right rows. It writes the
    /// derivatives of the loss by these. Then writes the gradients of both sides.
    ///
    /// # Panics
    /// If there are no right rows, rows are of another width, or the formula takes another count of numbers.
    #[inline(never)]
    pub fn gradients(
        &mut self,
        [left, right]: [&PairSide<T>; 2],
        width: usize,
        gradients: &mut [PairSide<T>; 2],
        loss: &mut RowLoss<'_, T>,
    ) {
        let ManyToMany { kernel, params, pairings, slopes } = self;
        let kernel = *kernel;
        let [of_left, of_right] = gradients;
        let [n, m] = [(left, &mut *of_left, kernel.counts()[0]), (right, &mut *of_right, kernel.counts()[1])]
            .map(|(side, gradients, numbers)| side.prepare(gradients, width, numbers));
        assert!(m > 0, "{}: there is nothing to pair with", kernel.name());
        with_right(kernel.pairing(), &right.rows, width, true, |prepared| {
            for rows in steps(0..n, tile_rows(m)) {
                let x = &left.rows[rows.start * width..rows.end * width];
                let count = rows.len() * m;
                pairings.resize(count.max(pairings.len()), T::zero());
                slopes.resize(count.max(slopes.len()), T::zero());
                let (pairings, slopes) = (&mut pairings[..count], &mut slopes[..count]);
                prepared.pairings(x, 0..m, pairings);
                let tile = Tile {
                    columns: m,
                    matched: false,
                    left: left.numbers.iter().map(|numbers| &numbers[rows.clone()]).collect(),
                    right: right.numbers.iter().map(|numbers| &numbers[..]).collect(),
                    params: params.clone(),
                };
                let of_left_numbers = of_left.numbers.iter_mut().map(|sums| Some(&mut sums[rows.clone()]));
                let mut of_numbers = TileGradients {
                    left: of_left_numbers.collect(),
                    right: of_right.numbers.iter_mut().map(|sums| Some(&mut sums[..])).collect(),
                    params: params.iter().map(|_| None).collect(),
                };
                // All scores of a row together: the loss may depend on all of them.
                let work = |i: usize, _: usize, scores: &[T], slopes: &mut [T]| {
                    loss(rows.start + i, scores, slopes);
                };
                gradient_in_pieces(m, kernel, &tile, pairings, slopes, &mut of_numbers, work);
                let of_x = &mut of_left.rows[rows.start * width..rows.end * width];
                prepared.gradient(x, 0..m, pairings, slopes, Some(of_x), Some(&mut of_right.rows));
            }
        });
    }
}

impl<T> Default for PairSide<T> {
    /// No rows.
    fn default() -> Self {
        PairSide { rows: Vec::new(), numbers: SmallVec::new() }
    }
}

impl<T: Storage> PairSide<T> {
    /// Sets gradients to zeros. Returns the number of rows.
    fn prepare(&self, gradients: &mut PairSide<T>, width: usize, numbers: usize) -> usize {
        assert!(
            width > 0 && self.rows.len().is_multiple_of(width),
            "rows of {width} coordinates, at least one, are needed"
        );
        let rows = self.rows.len() / width;
        assert!(
            self.numbers.len() == numbers && self.numbers.iter().all(|numbers| numbers.len() == rows),
            "{numbers} numbers of each row are needed"
        );
        let clear = |sums: &mut Vec<T>, len: usize| {
            sums.clear();
            sums.resize(len, T::zero());
        };
        clear(&mut gradients.rows, rows * width);
        gradients.numbers.resize_with(numbers, Vec::new);
        gradients.numbers.iter_mut().for_each(|sums| clear(sums, rows));
        rows
    }
}
