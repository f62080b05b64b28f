//! A number formula of rows side by side.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::formula::plan::VECTORS;
use crate::formula::straight_line::{Step, StraightLine};
use crate::kernels::tiles::Tiles;
use crate::kernels::tiles::survey::{Job, Operand, Survey, Target};
use crate::numbers::storage::Storage;

/// A number formula of rows, or of rows in pairs: one number for each row, with its gradients.
///
/// ```
/// use cotangent_engine::{RowNumbers, Rows, StraightLine, Tiles, row_formula};
///
/// row_formula! {
///     /// ⟨x, y⟩.
///     Product = "product": number [Input(0), Input(1)];
///     xy = Dot(0, 1) => xy
/// }
///
/// let product = StraightLine::number(2, |[x, y]| Rows::scalar(Product, [x, y], [])).unwrap();
/// let mut products = RowNumbers::<f64>::new(product);
/// let (mut x, mut y) = (Tiles::new(2), Tiles::new(2));
/// x.push(&[1.0, 2.0]);
/// y.push(&[3.0, 4.0]);
/// assert_eq!(products.numbers(&[&x, &y]), [11.0]);
/// let (mut of_x, mut of_y) = (Tiles::new(2), Tiles::new(2));
/// products.gradients(&[&x, &y], &[0.5], &mut [&mut of_x, &mut of_y]);
/// let mut row = [0.0; 2];
/// of_x.read(0, &mut row);
/// assert_eq!(row, [1.5, 2.0]);
/// ```
pub struct RowNumbers<T> {
    step: Step,
    inputs: usize,
    width: usize,
    survey: Survey,
    numbers: Vec<f64>,
    element: PhantomData<T>,
}

impl<T: Storage> RowNumbers<T> {
    /// For rows of type `T`.
    ///
    /// # Panics
    /// If the program is not one number formula of its vectors, in their order.
    pub fn new(number: StraightLine) -> Self {
        RowNumbers {
            inputs: number.inputs,
            width: number.width,
            step: number.into_number(),
            survey: Survey::default(),
            numbers: Vec::new(),
            element: PhantomData,
        }
    }

    /// The number of each row.
    ///
    /// # Panics
    /// If there are not as many vectors as the formula takes, or they differ in the number or the width of
    /// rows.
    #[inline(never)]
    pub fn numbers(&mut self, vectors: &[&Tiles]) -> &[f64] {
        let rows = self.rows(vectors);
        let operands = operands(vectors);
        let (step, width, tiles) = (&self.step, self.width, vectors[0].tiles());
        let job = Job { step, vectors: &operands[..vectors.len()], width, tiles, reverse: true };
        self.survey.numbers::<T>(job, &mut self.numbers, rows);
        &self.numbers
    }

    /// The gradients for the rows of the last [`numbers`](Self::numbers), given again: each row's weight
    /// times the gradient of its number.
    ///
    /// # Panics
    /// If there are not as many vectors and results as the formula takes, or not a weight for each row, or
    /// rows are of another width.
    #[inline(never)]
    pub fn gradients(&mut self, vectors: &[&Tiles], weights: &[f64], out: &mut [&mut Tiles]) {
        let rows = self.rows(vectors);
        assert!(weights.len() == rows && self.numbers.len() == rows, "a weight for each row is needed");
        assert!(
            out.len() == vectors.len() && out.iter().all(|out| out.width == self.width),
            "a result of the formula's width is needed for each vector"
        );
        let operands = operands(vectors);
        let (step, width, tiles) = (&self.step, self.width, vectors[0].tiles());
        let job = Job { step, vectors: &operands[..vectors.len()], width, tiles, reverse: true };
        let mut targets: SmallVec<[Target<'_>; VECTORS]> = SmallVec::new();
        for out in out {
            out.resize_as(vectors[0]);
            targets.push(Target::Each(out));
        }
        self.survey.gradients(job, weights, &mut targets);
    }

    /// The number of rows, which is checked.
    fn rows(&self, vectors: &[&Tiles]) -> usize {
        let rows = vectors.first().map_or(0, |first| first.rows);
        assert!(
            vectors.len() == self.inputs && vectors.iter().all(|v| v.rows == rows && v.width == self.width),
            "as many rows of the formula's width are needed everywhere"
        );
        rows
    }
}

/// The vectors as operands, and some more of the first.
fn operands<'a>(vectors: &[&'a Tiles]) -> [Operand<'a>; VECTORS] {
    std::array::from_fn(|v| Operand::Each(vectors.get(v).copied().unwrap_or(vectors[0])))
}
