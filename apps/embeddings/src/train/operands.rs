//! The operands of the formula of all pairs, made of points in the coordinates of their space, and the
//! gradients for these points.

use cotangent::engine::{PairSide, RowNumbers, StraightLine, Tiles};
use cotangent::prelude::*;

use crate::train::all_pairs::{AllPairs, operands, unit_ball};

/// Makes operands of points.
pub(crate) enum Operands<T: Float> {
    /// The points have the coordinates of the formula.
    Scaled(Box<Scaled<T>>),
    /// The points have other coordinates, which are converted on a tape.
    OnTape(AllPairs, Box<Tape<T>>),
}

/// Makes operands of points that have the coordinates of the formula: the points times a scale.
pub(crate) struct Scaled<T> {
    scale: f64,
    width: usize,
    /// λ, if the formula takes half of it.
    lambda: Option<RowNumbers<T>>,
    /// The points times the scale, and the gradients that reach them by λ.
    rows: Tiles,
    of_rows: Tiles,
    weights: Vec<f64>,
    row: Vec<f64>,
}

/// The operands that were made of some points: what their gradients go back through.
pub(crate) enum Made<'a, T: Float> {
    Scaled(&'a mut Scaled<T>),
    OnTape { points: Var<'a, T>, rows: Var<'a, T>, numbers: Option<Var<'a, T>> },
}

impl<T: Float> Operands<T> {
    /// For points of `width` coordinates.
    pub(crate) fn new(all_pairs: &AllPairs, width: usize) -> Self {
        if all_pairs.converts() {
            return Operands::OnTape(all_pairs.clone(), Box::default());
        }
        let lambda = || StraightLine::number(width, |[x]| unit_ball().lambda(x)).expect("a row formula");
        Operands::Scaled(Box::new(Scaled {
            scale: all_pairs.scale,
            width,
            lambda: all_pairs.takes_lambda.then(|| RowNumbers::new(lambda())),
            rows: Tiles::new(width),
            of_rows: Tiles::new(width),
            weights: Vec::new(),
            row: Vec::new(),
        }))
    }

    /// Writes the operands of `points`, `[n, width]`: of the first ones to one side, of all others to the
    /// other.
    pub(crate) fn make(
        &mut self,
        points: &[T],
        width: usize,
        first: usize,
        mut sides: [&mut PairSide<T>; 2],
    ) -> Made<'_, T> {
        match self {
            Operands::Scaled(scaled) => {
                scaled.make(points, first, sides);
                Made::Scaled(scaled)
            }
            Operands::OnTape(all_pairs, tape) => {
                tape.reset();
                let points = tape.variable(&Tensor::new([points.len() / width, width], points.to_vec()));
                let (rows, numbers) = operands(all_pairs, points);
                let values = rows.to_tensor();
                write_rows(&mut sides, first * values.width(), values.data().iter().copied());
                if let Some(numbers) = numbers {
                    write_numbers(sides, first, numbers.to_tensor().data().iter().copied());
                }
                Made::OnTape { points, rows, numbers }
            }
        }
    }
}

/// Writes the coordinates of all rows, the first so many of them to one side.
fn write_rows<T>(sides: &mut [&mut PairSide<T>; 2], first: usize, mut values: impl Iterator<Item = T>) {
    sides.iter_mut().for_each(|side| side.rows.clear());
    sides[0].rows.extend(values.by_ref().take(first));
    sides[1].rows.extend(values);
}

/// Writes the only number of each row.
fn write_numbers<T>(sides: [&mut PairSide<T>; 2], first: usize, mut numbers: impl Iterator<Item = T>) {
    let [one, other] = sides.map(|side| {
        side.numbers.resize_with(1, Vec::new);
        side.numbers[0].clear();
        &mut side.numbers[0]
    });
    one.extend(numbers.by_ref().take(first));
    other.extend(numbers);
}

impl<T: Float> Scaled<T> {
    fn make(&mut self, points: &[T], first: usize, mut sides: [&mut PairSide<T>; 2]) {
        let scaled = points.iter().map(|x| T::nearest(x.to_f64() * self.scale));
        write_rows(&mut sides, first * self.width, scaled);
        if let Some(lambda) = &mut self.lambda {
            self.rows.clear();
            for side in &sides {
                side.rows.chunks_exact(self.width).for_each(|row| self.rows.push(row));
            }
            let numbers = lambda.numbers(&[&self.rows]).iter();
            write_numbers(sides, first, numbers.map(|x| T::nearest(0.5 * x)));
        }
    }

    fn gradients(&mut self, of_sides: [&PairSide<T>; 2], of_points: &mut Vec<f64>) {
        let of_rows = of_sides.iter().flat_map(|side| &side.rows);
        of_points.clear();
        of_points.extend(of_rows.map(|x| x.to_f64()));
        if let Some(lambda) = &mut self.lambda {
            self.weights.clear();
            self.weights.extend(of_sides.iter().flat_map(|side| &side.numbers[0]).map(|x| 0.5 * x.to_f64()));
            lambda.gradients(&[&self.rows], &self.weights, &mut [&mut self.of_rows]);
            self.row.resize(self.width, 0.0);
            for (j, row) in of_points.chunks_exact_mut(self.width).enumerate() {
                self.of_rows.read(j, &mut self.row);
                row.iter_mut().zip(&self.row).for_each(|(x, y)| *x += y);
            }
        }
        of_points.iter_mut().for_each(|x| *x *= self.scale);
    }
}

impl<'a, T: Float> Made<'a, T> {
    /// Writes the gradients for the points, `[n, width]`, from those for the two sides.
    pub(crate) fn gradients(self, of_sides: [&PairSide<T>; 2], of_points: &mut Vec<f64>) {
        match self {
            Made::Scaled(scaled) => scaled.gradients(of_sides, of_points),
            Made::OnTape { points, rows, numbers } => {
                let tape = points.tape();
                let times = |x: Var<'a, T>, gradients: fn(&PairSide<T>) -> &Vec<T>| {
                    let given = of_sides.iter().flat_map(|side| gradients(side));
                    let fill = |to: &mut [T]| to.iter_mut().zip(given).for_each(|(to, x)| *to = *x);
                    (x * tape.constant_with(x.shape(), fill)).sum()
                };
                // The loss has these gradients; so has this sum.
                let mut sum = times(rows, |side| &side.rows);
                if let Some(numbers) = numbers {
                    sum = sum + times(numbers, |side| &side.numbers[0]);
                }
                let gradients = tape.backward(sum).wrt(points);
                of_points.clear();
                of_points.extend(gradients.data().iter().map(|x| x.to_f64()));
            }
        }
    }
}
