//! A number formula of one row and many others.

use std::marker::PhantomData;

use crate::formula::straight_line::{Step, StraightLine};
use crate::kernels::tiles::Tiles;
use crate::kernels::tiles::survey::{Job, Operand, Survey, Target};
use crate::numbers::lanes::Lanes;
use crate::numbers::line::pairwise;
use crate::numbers::simd::{Aligned, LANES};
use crate::numbers::storage::Storage;

/// A number formula of one row and many others, with its gradients.
///
/// ```
/// use cotangent_engine::{OneToMany, StraightLine, Rows, Tiles, row_formula};
///
/// row_formula! {
///     /// ‖y − x‖².
///     Square = "square": number [Difference(1, 0)];
///     square = Dot(0, 0) => square
/// }
///
/// let square = StraightLine::number(2, |[x, y]| Rows::scalar(Square, [x, y], [])).unwrap();
/// let mut squares = OneToMany::<f64>::new(square);
/// let mut others = Tiles::new(2);
/// others.push(&[3.0, 0.0]);
/// others.push(&[0.0, 4.0]);
/// assert_eq!(squares.numbers(&[0.0, 0.0], &others), [9.0, 16.0]);
/// let (mut of_one, mut of_others) = ([0.0; 2], Tiles::new(2));
/// squares.gradients(&others, &[1.0, 0.5], &mut of_one, &mut of_others);
/// assert_eq!(of_one, [-6.0, -4.0]);
/// let mut row = [0.0; 2];
/// of_others.read(0, &mut row);
/// assert_eq!(row, [6.0, 0.0]);
/// ```
pub struct OneToMany<T> {
    step: Step,
    width: usize,
    survey: Survey,
    /// The one row, each coordinate in all lanes.
    one: Vec<Aligned>,
    numbers: Vec<f64>,
    sums: Vec<Aligned>,
    element: PhantomData<T>,
}

impl<T: Storage> OneToMany<T> {
    /// For rows of type `T`.
    ///
    /// # Panics
    /// If the program is not one number formula of two vectors.
    pub fn new(number: StraightLine) -> Self {
        assert_eq!(number.inputs, 2, "a number formula of two vectors is needed");
        OneToMany {
            width: number.width,
            step: number.into_number(),
            survey: Survey::default(),
            one: Vec::new(),
            numbers: Vec::new(),
            sums: Vec::new(),
            element: PhantomData,
        }
    }

    /// The numbers of `one` with each of the `others`.
    ///
    /// # Panics
    /// If the rows are of another width.
    #[inline(never)]
    pub fn numbers(&mut self, one: &[T], others: &Tiles) -> &[f64] {
        assert!(one.len() == self.width && others.width == self.width, "rows of another width");
        self.one.clear();
        self.one.extend(one.iter().map(|x| Aligned([x.to_f64(); LANES])));
        let vectors = [Operand::One(&self.one), Operand::Each(others)];
        let (step, width, tiles) = (&self.step, self.width, others.tiles());
        let job = Job { step, vectors: &vectors, width, tiles, reverse: true };
        self.survey.numbers::<T>(job, &mut self.numbers, others.rows);
        &self.numbers
    }

    /// The gradients for the rows of the last [`numbers`](Self::numbers), given again: the sum over all rows
    /// of their weight times the gradient of their number, of the one row; and each row's own term, of the
    /// others.
    ///
    /// # Panics
    /// If there is not a weight for each row, or rows are of another width.
    #[inline(never)]
    pub fn gradients(&mut self, others: &Tiles, weights: &[f64], of_one: &mut [f64], of_others: &mut Tiles) {
        assert!(
            weights.len() == self.numbers.len() && others.rows == weights.len(),
            "a weight for each row is needed"
        );
        assert!(of_one.len() == self.width && of_others.width == self.width, "rows of another width");
        of_others.resize_as(others);
        self.sums.clear();
        self.sums.resize(self.width, Aligned::default());
        let vectors = [Operand::One(&self.one), Operand::Each(others)];
        let (step, width, tiles) = (&self.step, self.width, others.tiles());
        let job = Job { step, vectors: &vectors, width, tiles, reverse: true };
        let mut targets = [Target::One(&mut self.sums), Target::Each(of_others)];
        self.survey.gradients(job, weights, &mut targets);
        for (out, sum) in of_one.iter_mut().zip(&self.sums) {
            *out = pairwise(Lanes::from(sum.0));
        }
    }
}
