//! The scalar function of a row formula: compiled for groups of rows, and as an expression for all else.

use std::sync::OnceLock;

use crate::formula::per_type::made_once;
use crate::formula::plan::{Number, ROWS, RowPlan};
use crate::formula::row::RowFormula;
use crate::numbers::dual::Dual;
use crate::numbers::lanes::array;
use crate::numbers::program::Program;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{F64x4, Register, dispatch_lanes};
use crate::numbers::trace::{Expression, Trace};

/// The scalar function of a formula.
pub(crate) struct Functions {
    /// Which formula it is.
    #[cfg(feature = "opencl")]
    pub(crate) formula: fn() -> std::any::TypeId,
    pub(crate) plan: fn() -> &'static RowPlan,
    /// From the invariants to the outputs, of several groups of rows one after another.
    pub(crate) values: fn(&[Number], &mut [Number]),
    pub(crate) slopes: Slopes,
    /// From the invariants to the outputs.
    traced: fn(&[WithTangent]) -> Vec<WithTangent>,
    made: fn() -> &'static Made,
}

/// What is made of a scalar function when it is first asked for.
#[derive(Default)]
struct Made {
    value: OnceLock<Expression>,
    tangents: OnceLock<Expression>,
    cotangents: OnceLock<Expression>,
    values: OnceLock<Program<f64>>,
    slopes: OnceLock<Program<f64>>,
}

type WithTangent = Dual<Trace, 1>;

/// From the invariants and the cotangents of the outputs to the outputs and the cotangents of the
/// invariants, of several groups of rows one after another.
pub(crate) type Slopes = fn(&[Number], &[Number], &mut [Number], &mut [Number]);

impl Functions {
    pub(crate) const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        /// A formula and its counts.
        struct Key<F, const V: usize, const B: usize, const I: usize, const O: usize>(F);
        Functions {
            #[cfg(feature = "opencl")]
            formula: std::any::TypeId::of::<F>,
            plan: F::plan,
            values: values::<F, V, B, I, O>,
            slopes: slopes::<F, V, B, I, O>,
            traced: |invariants| F::eval(std::array::from_fn(|k| invariants[k])).to_vec(),
            made: || made_once::<Key<F, V, B, I, O>, Made>(Made::default),
        }
    }
}

impl RowPlan {
    /// The scalar function as an expression, from the invariants.
    pub(crate) fn value(&self) -> &'static Expression {
        (self.functions.made)().value.get_or_init(|| {
            Expression::trace(self.invariants.len(), |x| {
                self.traced(x, |_| Trace::zero()).into_iter().map(|y| y.value).collect()
            })
        })
    }

    /// The scalar function and its derivative along tangents: from the invariants and their tangents to the
    /// outputs and theirs.
    fn tangents(&self) -> &'static Expression {
        (self.functions.made)().tangents.get_or_init(|| {
            let inputs = self.invariants.len();
            Expression::trace(2 * inputs, |x| {
                let outputs = self.traced(&x[..inputs], |k| x[inputs + k]);
                outputs.iter().map(|y| y.value).chain(outputs.iter().map(|y| y.partials[0])).collect()
            })
        })
    }

    /// The scalar function on numbers with tangents.
    pub(crate) fn along(&self, arguments: &[Dual<f64, 1>]) -> Vec<Dual<f64, 1>> {
        let values = arguments.iter().map(|x| x.value);
        let numbers: Vec<f64> = values.chain(arguments.iter().map(|x| x.partials[0])).collect();
        let results = self.tangents().evaluate(&numbers);
        let (values, tangents) = results.split_at(self.outputs);
        values.iter().zip(tangents).map(|(&value, &tangent)| Dual { value, partials: [tangent] }).collect()
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

    /// The scalar function on traces with a derivative.
    fn traced(&self, values: &[Trace], tangent: impl Fn(usize) -> Trace) -> Vec<WithTangent> {
        let with_tangent = |(k, &value): (usize, &Trace)| Dual { value, partials: [tangent(k)] };
        let arguments: Vec<WithTangent> = values.iter().enumerate().map(with_tangent).collect();
        (self.functions.traced)(&arguments)
    }
}

/// The arguments or results of group `g` of several, in registers.
#[inline(always)]
fn group<const N: usize>(numbers: &[Number], g: usize) -> [F64x4; N] {
    let numbers = &numbers[g * N..][..N];
    array(
        F64x4::splat(0.0),
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
                by_program::values(F::plan(), invariants, outputs);
            } else {
                values_of_rows::<F, V, B, I, O>(invariants, outputs);
            }
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
                by_program::slopes(F::plan(), invariants, upstream, outputs, cotangents);
            } else {
                slopes_of_rows::<F, V, B, I, O>(invariants, upstream, outputs, cotangents);
            }
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
            let mut w = F64x4::splat(0.0);
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

/// Scalar functions on an x86-64 processor without AVX2: as programs. Compiling every formula once more for them
/// would take too long.
mod by_program {
    use smallvec::SmallVec;

    use super::Made;
    use crate::formula::plan::{BASIS, INVARIANTS, Number, ROWS, RowPlan};
    use crate::numbers::lanes::Lanes;
    use crate::numbers::program::{Input, Program};

    fn made(plan: &RowPlan) -> &'static Made {
        (plan.functions.made)()
    }

    #[cold]
    pub(super) fn values(plan: &RowPlan, invariants: &[Number], outputs: &mut [Number]) {
        let program = made(plan).values.get_or_init(|| Program::new(plan.value()));
        let inputs = plan.invariants.len();
        for (g, outputs) in outputs.chunks_exact_mut(plan.outputs).enumerate() {
            run(program, [&invariants[g * inputs..][..inputs], &[]], [outputs, &mut []]);
        }
    }

    #[cold]
    pub(super) fn slopes(
        plan: &RowPlan,
        invariants: &[Number],
        upstream: &[Number],
        outputs: &mut [Number],
        cotangents: &mut [Number],
    ) {
        let (inputs, results) = (plan.invariants.len(), plan.outputs);
        let program = made(plan).slopes.get_or_init(|| Program::new(plan.cotangents()));
        for (g, outputs) in outputs.chunks_exact_mut(results).enumerate() {
            let of_invariants = g * inputs..(g + 1) * inputs;
            let arguments = [&invariants[of_invariants.clone()], &upstream[g * results..][..results]];
            run(program, arguments, [outputs, &mut cotangents[of_invariants]]);
        }
    }

    fn run(program: &Program<f64>, inputs: [&[Number]; 2], outputs: [&mut [Number]; 2]) {
        let arguments: SmallVec<[[f64; ROWS]; INVARIANTS + BASIS]> =
            inputs.iter().flat_map(|numbers| numbers.iter()).map(|number| number.to_array()).collect();
        let arguments: SmallVec<[Input<'_, f64>; INVARIANTS + BASIS]> =
            arguments.iter().map(|column| Input::Column(column)).collect();
        let mut results = [[0.0; ROWS]; INVARIANTS + BASIS];
        let count = outputs[0].len() + outputs[1].len();
        let mut columns: SmallVec<[&mut [f64]; INVARIANTS + BASIS]> =
            results[..count].iter_mut().map(|column| column.as_mut_slice()).collect();
        program.run(&arguments, &mut columns);
        drop(columns);
        for (to, from) in outputs.into_iter().flatten().zip(results) {
            *to = Lanes::from(from);
        }
    }
}
