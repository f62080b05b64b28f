//! What a method that is generic over [`Rows`] does, recorded as a [`StraightLine`] program.

use std::cell::RefCell;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::formula::map::MapFormula;
use crate::formula::plan::RowPlan;
use crate::formula::row::RowFormula;
use crate::formula::straight_line::{Step, StraightLine};
use crate::tape::row_function::RowFunction;
use crate::tape::rows::Rows;

/// Rows without coordinates, which record the formulas that are applied to them.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The number of an input, or of a step's result after all inputs.
    vector: usize,
    width: usize,
    record: Rc<RefCell<Record>>,
}

/// A number for each [`Recorded`] row.
#[derive(Clone, Copy, Debug)]
pub enum RecordedNumber {
    /// The same for every row.
    Constant(f64),
    /// The result of the step of this number.
    Formula(usize),
    /// Something else.
    Other,
}

#[derive(Debug, Default)]
struct Record {
    inputs: usize,
    width: usize,
    steps: Vec<Step>,
    /// Whether there was anything but row formulas with constant parameters.
    other: bool,
}

impl StraightLine {
    fn record<const V: usize, R>(width: usize, f: impl FnOnce([&Recorded; V]) -> R) -> (R, Record) {
        let record = Rc::new(RefCell::new(Record { inputs: V, width, ..Record::default() }));
        let inputs: [Recorded; V] =
            std::array::from_fn(|vector| Recorded { vector, width, record: Rc::clone(&record) });
        let result = f(inputs.each_ref());
        (result, record.take())
    }

    /// The result if it is that of the last step.
    fn ending_with(record: Record, last: usize) -> Option<Self> {
        let Record { inputs, width, steps, other } = record;
        (!other && last + 1 == steps.len()).then_some(StraightLine { inputs, width, steps })
    }

    /// What `f` does to `V` vectors of `width` coordinates, if that is row formulas with constant parameters
    /// and no more.
    pub fn vector<const V: usize>(width: usize, f: impl FnOnce([&Recorded; V]) -> Recorded) -> Option<Self> {
        let (result, record) = StraightLine::record(width, f);
        StraightLine::ending_with(record, result.vector.checked_sub(V)?)
    }

    /// As [`vector`](Self::vector), with a number for each row as the result.
    pub fn number<const V: usize>(
        width: usize,
        f: impl FnOnce([&Recorded; V]) -> RecordedNumber,
    ) -> Option<Self> {
        let (result, record) = StraightLine::record(width, f);
        let RecordedNumber::Formula(step) = result else { return None };
        StraightLine::ending_with(record, step)
    }
}

impl Recorded {
    /// Records a formula; returns the number of its step.
    fn step(plan: &'static RowPlan, vectors: &[&Self], params: &[&RecordedNumber]) -> usize {
        let mut record = vectors[0].record.borrow_mut();
        let mut constants = SmallVec::new();
        for param in params {
            match param {
                RecordedNumber::Constant(value) => constants.push(*value),
                RecordedNumber::Formula(_) | RecordedNumber::Other => record.other = true,
            }
        }
        let vectors = vectors.iter().map(|v| v.vector).collect();
        record.steps.push(Step { plan, vectors, params: constants });
        record.steps.len() - 1
    }

    fn result_of(&self, step: usize) -> Self {
        let vector = self.record.borrow().inputs + step;
        Recorded { vector, width: self.width, record: Rc::clone(&self.record) }
    }

    /// Notes something that is no row formula; its result has `width` coordinates.
    fn other(&self, width: usize) -> Self {
        self.record.borrow_mut().other = true;
        Recorded { width, ..self.clone() }
    }
}

impl Rows for Recorded {
    type Scalar = RecordedNumber;

    fn constant(&self, value: f64) -> RecordedNumber {
        RecordedNumber::Constant(value)
    }
    fn scalar<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&RecordedNumber; P],
    ) -> RecordedNumber
    where
        F: RowFormula<V, B, I, 1>,
    {
        RecordedNumber::Formula(Recorded::step(F::plan(), &vectors, &params))
    }
    fn vector<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&RecordedNumber; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        vectors[0].result_of(Recorded::step(F::plan(), &vectors, &params))
    }
    fn differential<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        _tangents: [&Self; V],
        _constants: [f64; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        vectors[0].other(vectors[0].width)
    }
    fn map<F: MapFormula<K>, const K: usize>(_formula: F, scalars: [&RecordedNumber; K]) -> RecordedNumber {
        let constants = scalars.map(|number| match number {
            RecordedNumber::Constant(value) => Some(*value),
            RecordedNumber::Formula(_) | RecordedNumber::Other => None,
        });
        if constants.iter().all(Option::is_some) {
            return RecordedNumber::Constant(F::eval(constants.map(Option::unwrap_or_default)));
        }
        RecordedNumber::Other
    }
    fn width(&self) -> usize {
        self.width
    }
    fn columns(&self, range: std::ops::Range<usize>) -> Self {
        self.other(range.len())
    }
    fn concat(left: &Self, right: &Self) -> Self {
        left.other(left.width + right.width)
    }
    fn zeros(&self, width: usize) -> Self {
        self.other(width)
    }
    /// The result is recorded as wide as the first rows, although it need not be.
    fn row_function<F: RowFunction<V>, const V: usize>(_function: F, rows: [&Self; V]) -> Self {
        rows[0].other(rows[0].width)
    }
    fn scalar_function<F: RowFunction<V>, const V: usize>(_function: F, rows: [&Self; V]) -> RecordedNumber {
        rows[0].other(1);
        RecordedNumber::Other
    }
}
