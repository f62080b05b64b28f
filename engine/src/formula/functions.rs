//! The scalar function of a row formula: compiled for groups of rows or interpreted, and as an expression for
//! all else.

use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::formula::per_type::made_once;
use crate::formula::plan::{BASIS, INVARIANTS, Number, ROWS, RowPlan};
use crate::formula::row::RowFormula;
use crate::numbers::dual::Dual;
use crate::numbers::lanes::array;
use crate::numbers::program::{Input, Program};
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{F64x4, Register, dispatch_lanes, has_vectors};
use crate::numbers::storage::Storage;
use crate::numbers::trace::{Expression, Trace};

/// The scalar function of a formula.
pub(crate) struct Functions {
    /// Which formula it is.
    #[cfg(feature = "opencl")]
    pub(crate) formula: fn() -> std::any::TypeId,
    /// `F::plan`, whichever plan this is.
    pub(crate) plan: fn() -> &'static RowPlan,
    /// The scalar function, if it is compiled.
    compiled: Option<ScalarFunction>,
    /// From the invariants to the outputs.
    traced: fn(&[WithTangent]) -> Vec<WithTangent>,
    made: fn() -> &'static Made,
}

/// What is made of a scalar function when it is first asked for.
#[derive(Default)]
struct Made {
    value: OnceLock<Expression>,
    cotangents: OnceLock<Expression>,
    values: OnceLock<Program<f64>>,
    slopes: OnceLock<Program<f64>>,
    tangents: OnceLock<Program<f64>>,
    cotangent_tangents: OnceLock<Program<f64>>,
}

/// A number with its tangent.
pub(crate) type Moving = Dual<f64, 1>;

type WithTangent = Dual<Trace, 1>;

/// See [`RowPlan::slopes`].
type Slopes = fn(&[Number], &[Number], &mut [Number], &mut [Number]);

/// A scalar function that is compiled for groups of rows: see [`RowPlan::values`].
#[derive(Clone, Copy)]
pub(crate) struct ScalarFunction {
    values: fn(&[Number], &mut [Number]),
    slopes: Slopes,
}

impl ScalarFunction {
    pub(crate) const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        ScalarFunction { values: values::<F, V, B, I, O>, slopes: slopes::<F, V, B, I, O> }
    }
}

/// What is compiled of a formula, if the processor can run it. On x86-64 it needs AVX2: compiling every
/// formula once more for other processors would take too long.
pub(crate) fn runnable<X>(compiled: Option<X>) -> Option<X> {
    compiled.filter(|_| !cfg!(target_arch = "x86_64") || has_vectors())
}

impl Functions {
    pub(crate) const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>(
        compiled: Option<ScalarFunction>,
    ) -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        /// A formula and its counts.
        struct Key<F, const V: usize, const B: usize, const I: usize, const O: usize>(F);
        Functions {
            #[cfg(feature = "opencl")]
            formula: std::any::TypeId::of::<F>,
            plan: F::plan,
            compiled,
            traced: |invariants| F::eval(std::array::from_fn(|k| invariants[k])).to_vec(),
            made: || made_once::<Key<F, V, B, I, O>, Made>(Made::default),
        }
    }
}

impl RowPlan {
    /// Whether the scalar function is compiled.
    pub(crate) fn is_compiled(&self) -> bool {
        self.functions.compiled.is_some()
    }

    /// From the invariants to the outputs, of several groups of rows one after another.
    pub(crate) fn values(&self, invariants: &[Number], outputs: &mut [Number]) {
        match runnable(self.functions.compiled) {
            Some(function) => (function.values)(invariants, outputs),
            None => by_program::values(self, invariants, outputs),
        }
    }

    /// From the invariants and the cotangents of the outputs to the outputs and the cotangents of the
    /// invariants, of several groups of rows one after another.
    pub(crate) fn slopes(
        &self,
        invariants: &[Number],
        upstream: &[Number],
        outputs: &mut [Number],
        cotangents: &mut [Number],
    ) {
        match runnable(self.functions.compiled) {
            Some(function) => (function.slopes)(invariants, upstream, outputs, cotangents),
            None => by_program::slopes(self, invariants, upstream, outputs, cotangents),
        }
    }

    /// The scalar function as an expression, from the invariants.
    pub(crate) fn value(&self) -> &'static Expression {
        (self.functions.made)().value.get_or_init(|| {
            Expression::trace(self.invariants.len(), |x| {
                self.traced(x, |_| Trace::zero()).into_iter().map(|y| y.value).collect()
            })
        })
    }

    /// The reverse pass of the scalar function: from the invariants and the cotangents of the outputs to the
    /// outputs and the cotangents of the invariants.
    pub(crate) fn cotangents(&self) -> &'static Expression {
        (self.functions.made)().cotangents.get_or_init(|| {
            let inputs = self.invariants.len();
            Expression::trace(inputs + self.outputs, |x| {
                let (values, upstream) = x.split_at(inputs);
                let outputs = self.traced(values, |_| Trace::zero());
                let mut results: Vec<Trace> = outputs.into_iter().map(|y| y.value).collect();
                for k in 0..inputs {
                    let along = |i: usize| Trace::constant(if i == k { 1.0 } else { 0.0 });
                    let terms = self.traced(values, along).into_iter().zip(upstream);
                    results.push(terms.fold(Trace::zero(), |w, (y, &up)| w + up * y.partials[0]));
                }
                results
            })
        })
    }

    /// The scalar function of several rows, with tangents: `invariant(k, row)` is invariant k of a row. The
    /// outputs of a row are neighbours.
    pub(crate) fn outputs_along(
        &self,
        rows: usize,
        invariant: impl Fn(usize, usize) -> Moving,
    ) -> Vec<Moving> {
        let inputs = self.invariants.len();
        let program = (self.functions.made)().tangents.get_or_init(|| {
            Program::new(&Expression::trace(2 * inputs, |x| {
                values_and_tangents(self.traced(&x[..inputs], |k| x[inputs + k]))
            }))
        });
        run_along(program, [inputs, self.outputs], rows, invariant)
    }

    /// [`cotangents`](Self::cotangents) of several rows, with tangents: `argument(k, row)` is a row's
    /// argument k, of the invariants and the cotangents of the outputs. The results of a row are
    /// neighbours.
    pub(crate) fn cotangents_along(
        &self,
        rows: usize,
        argument: impl Fn(usize, usize) -> Moving,
    ) -> Vec<Moving> {
        let [inputs, results] = [self.invariants.len() + self.outputs, self.outputs + self.invariants.len()];
        let program = (self.functions.made)().cotangent_tangents.get_or_init(|| {
            let cotangents = self.cotangents();
            Program::new(&Expression::trace(2 * inputs, |x| {
                let (values, tangents) = x.split_at(inputs);
                let pairs = values.iter().zip(tangents);
                let arguments: Vec<WithTangent> =
                    pairs.map(|(&value, &tangent)| Dual { value, partials: [tangent] }).collect();
                values_and_tangents(cotangents.evaluate(&arguments))
            }))
        });
        run_along(program, [inputs, results], rows, argument)
    }

    /// The scalar function on traces with a derivative.
    fn traced(&self, values: &[Trace], tangent: impl Fn(usize) -> Trace) -> Vec<WithTangent> {
        let with_tangent = |(k, &value): (usize, &Trace)| Dual { value, partials: [tangent(k)] };
        let arguments: Vec<WithTangent> = values.iter().enumerate().map(with_tangent).collect();
        (self.functions.traced)(&arguments)
    }
}

fn values_and_tangents(numbers: Vec<WithTangent>) -> Vec<Trace> {
    numbers.iter().map(|y| y.value).chain(numbers.iter().map(|y| y.partials[0])).collect()
}

/// Runs a program of `count` arguments and `results` results, each with a tangent: all values, then all
/// tangents.
fn run_along(
    program: &Program<f64>,
    [count, results]: [usize; 2],
    rows: usize,
    argument: impl Fn(usize, usize) -> Moving,
) -> Vec<Moving> {
    let mut found = vec![Moving::zero(); results * rows];
    run_on_rows(
        program,
        [2 * count, 2 * results],
        rows,
        |k, row| if k < count { argument(k, row).value } else { argument(k - count, row).partials[0] },
        |k, row, y| {
            let numbers = &mut found[row * results..][..results];
            match k.checked_sub(results) {
                None => numbers[k].value = y,
                Some(k) => numbers[k].partials = [y],
            }
        },
    );
    found
}

/// A program has at most this many arguments, and as many results: those of a scalar function and of its
/// reverse pass, each with a tangent.
const COLUMNS: usize = 2 * (INVARIANTS + BASIS);

/// Runs a program of `inputs` arguments and `outputs` results on several rows. `argument(k, row)` is a row's
/// argument k; `result(k, row, y)` gets its result k.
fn run_on_rows(
    program: &Program<f64>,
    [inputs, outputs]: [usize; 2],
    rows: usize,
    argument: impl Fn(usize, usize) -> f64,
    mut result: impl FnMut(usize, usize, f64),
) {
    if rows == 0 {
        return;
    }
    f64::with_scratch((inputs + outputs) * rows, |columns| {
        let (arguments, results) = columns.split_at_mut(inputs * rows);
        for (k, column) in arguments.chunks_exact_mut(rows).enumerate() {
            column.iter_mut().enumerate().for_each(|(row, x)| *x = argument(k, row));
        }
        let arguments: SmallVec<[Input<'_, f64>; COLUMNS]> =
            arguments.chunks_exact(rows).map(Input::Column).collect();
        let mut results: SmallVec<[&mut [f64]; COLUMNS]> = results.chunks_exact_mut(rows).collect();
        program.run(&arguments, &mut results);
        for (k, column) in results.iter().enumerate() {
            column.iter().enumerate().for_each(|(row, &y)| result(k, row, y));
        }
    });
}

/// The arguments or results of group `g` of several, in registers.
#[inline(always)]
fn group<const N: usize>(numbers: &[Number], g: usize) -> [F64x4; N] {
    let numbers = &numbers[g * N..][..N];
    array(
        F64x4::zero(),
        #[inline(always)]
        |k| <F64x4 as Register<f64>>::load(&numbers[k].to_array()),
    )
}

#[inline(always)]
fn number(register: F64x4) -> Number {
    let mut number = [0.0; ROWS];
    register.store(&mut number);
    Number::from(number)
}

fn values<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    invariants: &[Number],
    outputs: &mut [Number],
) where
    F: RowFormula<V, B, I, O>,
{
    dispatch_lanes(
        outputs,
        #[inline(always)]
        |outputs| values_of_rows::<F, V, B, I, O>(invariants, outputs),
        #[inline(always)]
        |outputs| {
            if cfg!(target_arch = "x86_64") {
                unreachable!("the formula is interpreted");
            }
            values_of_rows::<F, V, B, I, O>(invariants, outputs);
        },
    );
}

#[inline(always)]
fn values_of_rows<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    invariants: &[Number],
    outputs: &mut [Number],
) where
    F: RowFormula<V, B, I, O>,
{
    for (g, outputs) in outputs.chunks_exact_mut(O).enumerate() {
        let values = F::eval(group(invariants, g));
        for o in 0..O {
            outputs[o] = number(values[o]);
        }
    }
}

fn slopes<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    invariants: &[Number],
    upstream: &[Number],
    outputs: &mut [Number],
    cotangents: &mut [Number],
) where
    F: RowFormula<V, B, I, O>,
{
    dispatch_lanes(
        (outputs, cotangents),
        #[inline(always)]
        |(outputs, cotangents)| slopes_of_rows::<F, V, B, I, O>(invariants, upstream, outputs, cotangents),
        #[inline(always)]
        |(outputs, cotangents)| {
            if cfg!(target_arch = "x86_64") {
                unreachable!("the formula is interpreted");
            }
            slopes_of_rows::<F, V, B, I, O>(invariants, upstream, outputs, cotangents);
        },
    );
}

#[inline(always)]
fn slopes_of_rows<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    invariants: &[Number],
    upstream: &[Number],
    outputs: &mut [Number],
    cotangents: &mut [Number],
) where
    F: RowFormula<V, B, I, O>,
{
    for (g, outputs) in outputs.chunks_exact_mut(O).enumerate() {
        let results = F::eval(Dual::variables(group::<I>(invariants, g)));
        let upstream = group::<O>(upstream, g);
        for k in 0..I {
            let mut w = F64x4::zero();
            for o in 0..O {
                w = w + upstream[o] * results[o].partials[k];
            }
            cotangents[g * I + k] = number(w);
        }
        for o in 0..O {
            outputs[o] = number(results[o].value);
        }
    }
}

/// Scalar functions that are interpreted.
mod by_program {
    use super::run_on_rows;
    use crate::formula::plan::{Number, ROWS, RowPlan};
    use crate::numbers::program::Program;

    pub(super) fn values(plan: &RowPlan, invariants: &[Number], outputs: &mut [Number]) {
        let program = (plan.functions.made)().values.get_or_init(|| Program::new(plan.value()));
        let [inputs, results] = [plan.invariants.len(), plan.outputs];
        run_on_rows(
            program,
            [inputs, results],
            outputs.len() / results * ROWS,
            |k, row| invariants[row / ROWS * inputs + k].get(row % ROWS),
            |k, row, y| outputs[row / ROWS * results + k].set(row % ROWS, y),
        );
    }

    pub(super) fn slopes(
        plan: &RowPlan,
        invariants: &[Number],
        upstream: &[Number],
        outputs: &mut [Number],
        cotangents: &mut [Number],
    ) {
        let program = (plan.functions.made)().slopes.get_or_init(|| Program::new(plan.cotangents()));
        let [inputs, results] = [plan.invariants.len(), plan.outputs];
        run_on_rows(
            program,
            [inputs + results, results + inputs],
            outputs.len() / results * ROWS,
            |k, row| {
                let group = row / ROWS;
                let number = match k.checked_sub(inputs) {
                    None => invariants[group * inputs + k],
                    Some(k) => upstream[group * results + k],
                };
                number.get(row % ROWS)
            },
            |k, row, y| {
                let group = row / ROWS;
                let number = match k.checked_sub(results) {
                    None => &mut outputs[group * results + k],
                    Some(k) => &mut cotangents[group * inputs + k],
                };
                number.set(row % ROWS, y);
            },
        );
    }
}
