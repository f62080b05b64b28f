//! Row formulas as data: what kernels, the printing for devices, forward mode and the registry read.
//!
//! A [`RowPlan`] holds the constants of a [`RowFormula`] as slices and its scalar function as pointers.
//! So none of its readers is compiled for each formula. Only the scalar function is, a few times.

use crate::formula::domain::Domain;
use crate::formula::row::{Invariant, Metric, RowFormula, Vector};
use crate::kernels::gram::{RowKernel, RowKernels};
use crate::numbers::dual::{Dual, Nested};
use crate::numbers::lanes::{Lanes, array};
use crate::numbers::per_type::Compiled;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{F64x4, Register, dispatch_lanes};
#[cfg(feature = "opencl")]
use crate::numbers::trace::{Expression, Trace};

/// How many rows a scalar function takes side by side. Four `f64` fill one AVX2 register; with eight,
/// dual numbers spill out of the registers.
pub(crate) const ROWS: usize = 4;

/// A formula has at most this many vectors.
pub(crate) const VECTORS: usize = 4;

/// A formula has at most this many basis vectors.
pub(crate) const BASIS: usize = 6;

/// A formula has at most this many invariants.
pub(crate) const INVARIANTS: usize = 12;

/// Number of pairs of basis vectors.
pub(crate) const PAIRS: usize = BASIS * (BASIS + 1) / 2;

/// One number of several rows, a row in each lane.
pub(crate) type Number = Lanes<ROWS>;

/// A row formula as data. `F::plan()` is the plan of a [`RowFormula`] `F`.
pub struct RowPlan {
    /// The name shown in messages.
    pub name: &'static str,
    /// How many vectors it takes.
    pub vectors: usize,
    /// Whether the result is a vector (a combination of the basis) or a number.
    pub vector: bool,
    /// The basis vectors.
    pub basis: &'static [Vector],
    /// The arguments of the scalar function.
    pub invariants: &'static [Invariant],
    /// How many results the scalar function has.
    pub outputs: usize,
    /// The metric of the inner products.
    pub metric: Metric,
    /// Where the resulting rows must lie; κ is parameter 0.
    pub domain: Domain,
    pub(crate) layout: Layout,
    pub(crate) functions: Functions,
    /// Kernels that are compiled for this formula alone, if there are any.
    pub(crate) specialised: Compiled<RowKernels>,
}

impl std::fmt::Debug for RowPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowPlan({})", self.name)
    }
}

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

/// What follows from the basis, the metric and the invariants.
pub(crate) struct Layout {
    pairs: [(usize, usize); PAIRS],
    count: usize,
    position: [[usize; BASIS]; BASIS],
    /// Which pairs of basis vectors some invariant combines.
    pub(crate) paired: [[bool; BASIS]; BASIS],
    /// Which basis vectors the cotangent of each input is made of.
    pub(crate) receives: [[bool; BASIS]; VECTORS],
    /// Whether a coordinate at an end of the row is treated separately.
    pub(crate) apart: bool,
    /// Whether an end of a row is an invariant of its own.
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    pub(crate) ends: bool,
}

impl Layout {
    const fn of(vectors: usize, basis: &[Vector], metric: Metric, invariants: &[Invariant]) -> Self {
        assert!(vectors <= VECTORS, "a row formula has at most 4 vectors");
        assert!(basis.len() <= BASIS, "a row formula has at most 6 basis vectors");
        assert!(invariants.len() <= INVARIANTS, "a row formula has at most 12 invariants");
        let (mut pairs, mut count) = ([(0, 0); PAIRS], 0);
        let mut position = [[0; BASIS]; BASIS];
        let mut with = [[false; BASIS]; BASIS];
        let mut receives = [[false; BASIS]; VECTORS];
        let mut a = 0;
        while a < basis.len() {
            let mut b = 0;
            while b < basis.len() {
                if a <= b && multiplies(invariants, a, b) {
                    pairs[count] = (a, b);
                    position[a][b] = count;
                    position[b][a] = count;
                    count += 1;
                }
                with[a][b] = paired(invariants, a, b);
                let mut i = 0;
                while i < vectors {
                    receives[i][a] |= share(basis[b], i) != 0 && with[a][b];
                    i += 1;
                }
                b += 1;
            }
            a += 1;
        }
        let ends = has_ends(invariants);
        Layout {
            pairs,
            count,
            position,
            paired: with,
            receives,
            apart: ends || has_apart(metric, basis),
            ends,
        }
    }

    /// The inner products of basis vectors that are asked for; the first number is at most the second.
    pub(crate) fn pairs(&self) -> &[(usize, usize)] {
        &self.pairs[..self.count]
    }

    /// Where the inner product of two basis vectors is among [`pairs`](Self::pairs).
    pub(crate) fn position(&self, a: usize, b: usize) -> usize {
        self.position[a][b]
    }
}

impl RowPlan {
    /// The plan of a formula that the common kernels run: they read the plan.
    pub const fn of<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> &'static Self
    where
        F: RowFormula<V, B, I, O>,
    {
        const { &RowPlan::new::<F, V, B, I, O>(Compiled { f32: None, f64: None }) }
    }

    /// The plan of a formula with kernels that are compiled for it alone. They are faster for narrow
    /// rows and take seconds to compile.
    pub const fn specialised<F, const V: usize, const B: usize, const I: usize, const O: usize>()
    -> &'static Self
    where
        F: RowFormula<V, B, I, O>,
    {
        const {
            let f32 = Some(RowKernel::<f32>::of::<F, V, B, I, O>());
            &RowPlan::new::<F, V, B, I, O>(Compiled {
                f32,
                f64: Some(RowKernel::<f64>::of::<F, V, B, I, O>()),
            })
        }
    }

    const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>(
        specialised: Compiled<RowKernels>,
    ) -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        assert!(O == if F::VECTOR { B } else { 1 }, "a vector formula has one coefficient per basis vector");
        assert!(
            !matches!(F::METRIC, Metric::Horizontal) || !has_wedge(&F::INVARIANTS),
            "a wedge is not of the horizontal metric"
        );
        assert!(
            !matches!(F::METRIC, Metric::Horizontal) || !has_flip(&F::BASIS),
            "a flipped vector is not of the horizontal metric"
        );
        RowPlan {
            name: F::NAME,
            vectors: V,
            vector: F::VECTOR,
            basis: const { &F::BASIS },
            invariants: const { &F::INVARIANTS },
            outputs: O,
            metric: F::METRIC,
            domain: F::DOMAIN,
            layout: Layout::of(V, &F::BASIS, F::METRIC, &F::INVARIANTS),
            functions: Functions {
                #[cfg(feature = "opencl")]
                formula: std::any::TypeId::of::<F>,
                plan: F::plan,
                values: values::<F, V, B, I, O>,
                slopes: slopes::<F, V, B, I, O>,
                nested: nested::<F, V, B, I, O>,
                #[cfg(feature = "opencl")]
                traced: |invariants| F::eval(std::array::from_fn(|k| invariants[k])).to_vec(),
            },
            specialised,
        }
    }

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

/// Scalar functions on an x86-64 processor without AVX2. They are computed number by number, by the
/// function that forward mode takes: the same bits, slowly. A copy of every formula for such processors
/// would take long to compile.
mod baseline {
    use super::{BASIS, INVARIANTS, Number, ROWS, RowPlan};
    use crate::numbers::dual::Dual;
    use crate::numbers::dual::Nested;
    use crate::numbers::scalar::Scalar;

    fn still(value: f64) -> Nested {
        Nested::constant(value)
    }

    #[cold]
    pub(super) fn values(
        nested: fn(&[Nested], &mut [Nested]),
        [inputs, results]: [usize; 2],
        invariants: &[Number],
        outputs: &mut [Number],
    ) {
        let (mut arguments, mut out) = ([still(0.0); INVARIANTS], [still(0.0); BASIS]);
        let (arguments, out) = (&mut arguments[..inputs], &mut out[..results]);
        for (g, outputs) in outputs.chunks_exact_mut(results).enumerate() {
            for l in 0..ROWS {
                for (argument, value) in arguments.iter_mut().zip(&invariants[g * inputs..]) {
                    *argument = still(value.get(l));
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
        type Still = Dual<f64, 1>;
        let (inputs, results) = (plan.invariants.len(), plan.outputs);
        let none = Still::constant(0.0);
        let (mut values, mut slope) = ([none; INVARIANTS], [none; INVARIANTS]);
        let (mut of_outputs, mut value) = ([none; BASIS], [none; BASIS]);
        let (values, slope) = (&mut values[..inputs], &mut slope[..inputs]);
        let (of_outputs, value) = (&mut of_outputs[..results], &mut value[..results]);
        let take = |to: &mut [Still], numbers: &[Number], l: usize| {
            to.iter_mut().zip(numbers).for_each(|(to, x)| *to = Still::constant(x.get(l)));
        };
        for g in 0..outputs.len() / results {
            let of_group = |count: usize| g * count..(g + 1) * count;
            for l in 0..ROWS {
                take(values, &invariants[of_group(inputs)], l);
                take(of_outputs, &upstream[of_group(results)], l);
                plan.cotangents(plan.functions.nested, values, of_outputs, value, slope);
                for (output, value) in outputs[of_group(results)].iter_mut().zip(value.iter()) {
                    output.set(l, value.value);
                }
                for (cotangent, slope) in cotangents[of_group(inputs)].iter_mut().zip(slope.iter()) {
                    cotangent.set(l, slope.value);
                }
            }
        }
    }
}

/// What receives a cotangent: the first of two basis vectors, through their inner product; a parameter;
/// the first or the last coordinate of an input.
pub(crate) enum Receiver {
    Pair(usize, usize),
    Param(usize),
    First(usize),
    Last(usize),
}

/// Passes the cotangent `w` of an invariant on to what the invariant is made of. `products` are those of
/// the survey; κ is parameter 0.
#[inline(always)]
pub(crate) fn of_invariant<S: Scalar>(
    invariant: Invariant,
    w: S,
    value: S,
    products: &[S; 4],
    kappa: S,
    mut give: impl FnMut(Receiver, S),
) {
    match invariant {
        Invariant::Dot(a, b) | Invariant::Accurate(a, b) => {
            give(Receiver::Pair(a, b), w);
            give(Receiver::Pair(b, a), w);
        }
        Invariant::Margin(a) => {
            give(Receiver::Pair(a, a), S::constant(2.0) * kappa * w);
            give(Receiver::Param(0), w * products[0]);
        }
        Invariant::Along(a, b) => {
            // ∂(⟨a, b⟩/‖b‖) = (⟨∂a, b⟩ + ⟨a, ∂b⟩)/‖b‖ − (⟨a, b⟩/‖b‖) ⟨b, ∂b⟩/‖b‖².
            let norm = products[0];
            let positive = S::zero().lt(norm);
            // The norm itself where it is 0 or NaN.
            let per = S::select(positive, w / norm, norm);
            let lost = S::select(positive, per * (value / norm), norm);
            give(Receiver::Pair(a, b), per);
            give(Receiver::Pair(b, a), per);
            give(Receiver::Pair(b, b), -lost);
        }
        Invariant::Wedge(a, b, c) => {
            // The product rule on ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩.
            let [aa, ab, ac, bc] = *products;
            for (i, j, y) in [(a, a, bc), (b, c, aa), (a, b, -ac), (a, c, -ab)] {
                give(Receiver::Pair(i, j), w * y);
                give(Receiver::Pair(j, i), w * y);
            }
        }
        Invariant::First(i) => give(Receiver::First(i), w),
        Invariant::Last(i) => give(Receiver::Last(i), w),
        Invariant::Param(p) => give(Receiver::Param(p), w),
        Invariant::Epsilon => {}
    }
}

/// How input `i` takes part in a basis vector: its factor, and the factor with the index lowered by the
/// metric. `apart` is 0 for most coordinates and 1 for the end of the row that the formula treats
/// separately. `None` where the input takes no part.
#[inline(always)]
pub(crate) const fn share_of(vector: Vector, metric: Metric, apart: usize, i: usize) -> Option<[i32; 2]> {
    let times = share(vector, i);
    if times == 0 || apart == 1 && matches!(metric, Metric::Horizontal) {
        return None;
    }
    let sign = if apart == 1 && matches!(vector, Vector::Flip(_)) { -times } else { times };
    Some([sign, if apart == 1 && matches!(metric, Metric::Minkowski) { -sign } else { sign }])
}

/// Whether the metric keeps the basis at these coordinates. Where it does not, the terms are left out,
/// so that infinite coordinates are not multiplied by 0.
#[inline(always)]
pub(crate) const fn leaves(metric: Metric, apart: usize) -> bool {
    apart == 0 || matches!(metric, Metric::Euclidean | Metric::Minkowski)
}

/// How often input `i` is in a basis vector, with its sign.
#[inline(always)]
pub(crate) const fn share(vector: Vector, i: usize) -> i32 {
    match vector {
        Vector::Input(j) | Vector::Flip(j) => (i == j) as i32,
        Vector::Sum(j, k) => (i == j) as i32 + (i == k) as i32,
        Vector::Difference(j, k) => (i == j) as i32 - (i == k) as i32,
        Vector::Time | Vector::Height => 0,
    }
}

#[inline(always)]
const fn among(a: usize, [b, c, d]: [usize; 3]) -> bool {
    a == b || a == c || a == d
}

/// Whether some invariant combines the basis vectors `a` and `b`.
#[inline(always)]
pub(crate) const fn paired(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        match invariants[k] {
            Invariant::Dot(c, d) | Invariant::Accurate(c, d) | Invariant::Along(c, d)
                if (a == c && b == d) || (a == d && b == c) =>
            {
                return true;
            }
            Invariant::Along(_, c) | Invariant::Margin(c) if a == c && b == c => return true,
            Invariant::Wedge(c, d, e) if among(a, [c, d, e]) && among(b, [c, d, e]) => return true,
            _ => {}
        }
        k += 1;
    }
    false
}

/// Whether some invariant asks for the plain inner product of the basis vectors `a` and `b`.
pub(crate) const fn multiplies(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        let pairs: &[(usize, usize)] = match invariants[k] {
            Invariant::Dot(c, d) => &[(c, d)],
            Invariant::Wedge(c, d, e) => &[(c, c), (c, d), (c, e), (d, e)],
            _ => &[],
        };
        let mut i = 0;
        while i < pairs.len() {
            let (c, d) = pairs[i];
            if (a == c && b == d) || (a == d && b == c) {
                return true;
            }
            i += 1;
        }
        k += 1;
    }
    false
}

/// Whether the metric or a basis vector treats a coordinate at an end of the row separately.
pub(crate) const fn has_apart(metric: Metric, basis: &[Vector]) -> bool {
    !matches!(metric, Metric::Euclidean) || has_flip(basis)
}

const fn has_flip(basis: &[Vector]) -> bool {
    let mut b = 0;
    while b < basis.len() {
        if matches!(basis[b], Vector::Flip(_)) {
            return true;
        }
        b += 1;
    }
    false
}

/// Whether an end of a row is an invariant of its own.
pub(crate) const fn has_ends(invariants: &[Invariant]) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        if matches!(invariants[k], Invariant::First(_) | Invariant::Last(_)) {
            return true;
        }
        k += 1;
    }
    false
}

const fn has_wedge(invariants: &[Invariant]) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        if matches!(invariants[k], Invariant::Wedge(..)) {
            return true;
        }
        k += 1;
    }
    false
}
