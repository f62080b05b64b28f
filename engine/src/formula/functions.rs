//! The scalar function of a row formula, compiled for the numbers that it is evaluated on.

use crate::formula::plan::{BASIS, INVARIANTS, Number, ROWS, RowPlan};
use crate::formula::row::RowFormula;
use crate::numbers::dual::{Dual, Nested};
use crate::numbers::lanes::array;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{F64x4, Register, dispatch_lanes};
#[cfg(feature = "opencl")]
use crate::numbers::trace::{Expression, Trace};

/// The scalar function of a formula, compiled for the numbers that it is evaluated on.
pub(crate) struct Functions {
    /// Which formula it is.
    #[cfg(feature = "opencl")]
    pub(crate) formula: fn() -> std::any::TypeId,
    pub(crate) plan: fn() -> &'static RowPlan,
    /// From the invariants to the outputs, of several groups of rows one after another.
    pub(crate) values: fn(&[Number], &mut [Number]),
    pub(crate) slopes: Slopes,
    /// From the invariants to the outputs, of one row.
    pub(crate) nested: fn(&[Nested], &mut [Nested]),
    /// The same as expressions.
    #[cfg(feature = "opencl")]
    pub(crate) traced: fn(&[Dual<Trace, 1>]) -> Vec<Dual<Trace, 1>>,
}

/// From the invariants and the cotangents of the outputs to the outputs and the cotangents of the
/// invariants, of several groups of rows one after another.
pub(crate) type Slopes = fn(&[Number], &[Number], &mut [Number], &mut [Number]);

impl Functions {
    pub(crate) const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        Functions {
            #[cfg(feature = "opencl")]
            formula: std::any::TypeId::of::<F>,
            plan: F::plan,
            values: values::<F, V, B, I, O>,
            slopes: slopes::<F, V, B, I, O>,
            nested: nested::<F, V, B, I, O>,
            #[cfg(feature = "opencl")]
            traced: |invariants| F::eval(std::array::from_fn(|k| invariants[k])).to_vec(),
        }
    }
}

impl RowPlan {
    /// The scalar function as an expression, from the invariants.
    #[cfg(feature = "opencl")]
    pub(crate) fn value(&self) -> Expression {
        Expression::trace(self.invariants.len(), |x| {
            let x: Vec<_> = x.iter().map(|&value| Dual { value, partials: [Trace::zero()] }).collect();
            (self.functions.traced)(&x).into_iter().map(|y| y.value).collect()
        })
    }

    /// The outputs and the cotangents of the invariants of one row, one partial derivative at a time.
    pub(crate) fn cotangents<S: Scalar>(
        &self,
        eval: impl Fn(&[Dual<S, 1>], &mut [Dual<S, 1>]),
        values: &[S],
        upstream: &[S],
        outputs: &mut [S],
        cotangents: &mut [S],
    ) {
        let seed = |value: S, partial: f64| Dual { value, partials: [S::constant(partial)] };
        let mut arguments = [seed(S::zero(), 0.0); INVARIANTS];
        for (argument, &value) in arguments.iter_mut().zip(values) {
            argument.value = value;
        }
        let arguments = &mut arguments[..values.len()];
        let mut results = [seed(S::zero(), 0.0); BASIS];
        let results = &mut results[..self.outputs];
        for k in 0..values.len().max(1) {
            if let Some(argument) = arguments.get_mut(k) {
                argument.partials = [S::one()];
            }
            eval(arguments, results);
            let Some(argument) = arguments.get_mut(k) else { break };
            argument.partials = [S::zero()];
            cotangents[k] =
                results.iter().zip(upstream).fold(S::zero(), |w, (y, &up)| w + up * y.partials[0]);
        }
        for (output, result) in outputs.iter_mut().zip(results) {
            *output = result.value;
        }
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
                baseline::values(nested::<F, V, B, I, O>, [I, O], invariants, outputs);
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
                baseline::slopes(F::plan(), invariants, upstream, outputs, cotangents);
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

fn nested<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    invariants: &[Nested],
    outputs: &mut [Nested],
) where
    F: RowFormula<V, B, I, O>,
{
    outputs.copy_from_slice(&F::eval(array(Scalar::zero(), |k| invariants[k])));
}

/// Scalar functions on an x86-64 processor without AVX2. They are computed number by number, by the function
/// that forward mode uses: the same bits, but slowly. Compiling every formula once more for
/// them would take too long.
mod baseline {
    use crate::formula::plan::{BASIS, INVARIANTS, Number, ROWS, RowPlan};
    use crate::numbers::dual::{Dual, Nested};
    use crate::numbers::scalar::Scalar;

    fn constant(value: f64) -> Nested {
        Nested::constant(value)
    }

    #[cold]
    pub(super) fn values(
        nested: fn(&[Nested], &mut [Nested]),
        [inputs, results]: [usize; 2],
        invariants: &[Number],
        outputs: &mut [Number],
    ) {
        let (mut arguments, mut out) = ([constant(0.0); INVARIANTS], [constant(0.0); BASIS]);
        let (arguments, out) = (&mut arguments[..inputs], &mut out[..results]);
        for (g, outputs) in outputs.chunks_exact_mut(results).enumerate() {
            for l in 0..ROWS {
                for (argument, value) in arguments.iter_mut().zip(&invariants[g * inputs..]) {
                    *argument = constant(value.get(l));
                }
                nested(arguments, out);
                for (output, value) in outputs.iter_mut().zip(out.iter()) {
                    output.set(l, value.value.value);
                }
            }
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
        type WithTangent = Dual<f64, 1>;
        let (inputs, results) = (plan.invariants.len(), plan.outputs);
        let zero = WithTangent::constant(0.0);
        let (mut values, mut slope) = ([zero; INVARIANTS], [zero; INVARIANTS]);
        let (mut output_cotangents, mut value) = ([zero; BASIS], [zero; BASIS]);
        let (values, slope) = (&mut values[..inputs], &mut slope[..inputs]);
        let (output_cotangents, value) = (&mut output_cotangents[..results], &mut value[..results]);
        let load_lane = |to: &mut [WithTangent], numbers: &[Number], l: usize| {
            to.iter_mut().zip(numbers).for_each(|(to, x)| *to = WithTangent::constant(x.get(l)));
        };
        for g in 0..outputs.len() / results {
            let of_this_group = |count: usize| g * count..(g + 1) * count;
            for l in 0..ROWS {
                load_lane(values, &invariants[of_this_group(inputs)], l);
                load_lane(output_cotangents, &upstream[of_this_group(results)], l);
                plan.cotangents(plan.functions.nested, values, output_cotangents, value, slope);
                for (output, value) in outputs[of_this_group(results)].iter_mut().zip(value.iter()) {
                    output.set(l, value.value);
                }
                for (cotangent, slope) in cotangents[of_this_group(inputs)].iter_mut().zip(slope.iter()) {
                    cotangent.set(l, slope.value);
                }
            }
        }
    }
}
