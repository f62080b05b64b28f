//! The registry of formulas, for tests. A [`Formula`] is a map, row or pair formula with its type erased.
//!
//! Lists of formulas ([`crate::formulas::ALL`] and those of other crates) let one test compare all
//! evaluations of each: on plain numbers, dual numbers, lanes and traces, as a kernel of the tape, and
//! derivatives by finite differences.

use crate::formula::map::MapFormula;
use crate::formula::pair::{self, PairFormula, Pairing};
use crate::formula::per_type::Compiled;
use crate::formula::plan::RowPlan;
use crate::formula::row::RowFormula;
use crate::kernels::map::Map;
use crate::kernels::pair::Pair;
use crate::numbers::dual::Dual;
use crate::numbers::lanes::{Lanes, array};
use crate::numbers::scalar::Scalar;
use crate::numbers::trace::{Expression, Trace};
use crate::tape::float::Float;
use crate::tape::operation::Operation;

/// The range in which an argument is tested: lower and upper bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range(pub f64, pub f64);

/// What a formula's arguments are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An elementwise formula, with the ranges of its operands.
    Map(&'static [Range]),
    /// A row formula.
    Row {
        /// The formula as data.
        plan: fn() -> &'static RowPlan,
        /// Ranges of the parameters.
        params: &'static [Range],
        /// Where the vectors lie.
        sample: Sample,
    },
    /// A pair formula.
    Pair {
        /// Ranges of all arguments: the pairing, numbers of left rows, of right rows, parameters.
        ranges: &'static [Range],
        /// How many numbers each left row and each right row has, and how many parameters there are.
        counts: [usize; 3],
        /// What the first argument is.
        pairing: Pairing,
    },
}

/// Where the vectors of a row formula lie when it is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// Anywhere.
    Free,
    /// Inside a ball of radius ½.
    Ball,
    /// The first `n` on the hyperboloid ⟨x, x⟩_L = 1/κ, κ = parameter 0; the others tangent to the
    /// first.
    Hyperboloid(usize),
    /// The first `n` on the sphere ⟨x, x⟩ = 1/κ, κ = parameter 0; the others tangent to the first.
    Sphere(usize),
    /// The last coordinate positive.
    HalfSpace,
}

/// A value and its partial derivatives with respect to all arguments.
pub type Derivatives = (f64, Vec<f64>);

/// A formula with its type erased.
#[derive(Clone, Copy, Debug)]
pub struct Formula {
    /// The name shown in messages.
    pub name: &'static str,
    /// What its arguments are.
    pub kind: Kind,
    /// Number of arguments of the scalar formula.
    pub arguments: usize,
    /// The formula on plain numbers.
    pub plain: fn(&[f64]) -> Vec<f64>,
    /// The formula on plain `f32`.
    pub plain_f32: fn(&[f32]) -> Vec<f32>,
    /// The formula on lanes, with the same arguments in every lane. Returns the results of the last lane.
    pub lanes: fn(&[f64]) -> Vec<f64>,
    /// The formula on dual numbers: for each result its value and its partial derivatives.
    pub dual: fn(&[f64]) -> Vec<Derivatives>,
    /// The formula on traces.
    pub trace: fn() -> Expression,
    kernels: Kernels,
}

/// What the formula is compiled to.
#[derive(Clone, Copy, Debug)]
enum Kernels {
    Map(fn() -> &'static Compiled<Map>),
    Row { plan: fn() -> &'static RowPlan, interpreted: fn() -> &'static RowPlan },
    Pair { kernels: fn() -> &'static Compiled<Pair>, interpreted: fn() -> &'static Compiled<Pair> },
}

/// A formula as a function of a slice: the number of its arguments is known only at run time.
trait Erase: 'static {
    fn eval<S: Scalar>(arguments: &[S]) -> Vec<S>;
}

fn fixed<S: Scalar, const N: usize>(arguments: &[S]) -> [S; N] {
    array(S::zero(), |i| arguments[i])
}

struct ErasedMap<F, const K: usize>(std::marker::PhantomData<F>);

impl<F: MapFormula<K>, const K: usize> Erase for ErasedMap<F, K> {
    fn eval<S: Scalar>(arguments: &[S]) -> Vec<S> {
        vec![F::eval(fixed(arguments))]
    }
}

struct ErasedRow<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    std::marker::PhantomData<F>,
);

impl<F: RowFormula<V, B, I, O>, const V: usize, const B: usize, const I: usize, const O: usize> Erase
    for ErasedRow<F, V, B, I, O>
{
    fn eval<S: Scalar>(arguments: &[S]) -> Vec<S> {
        F::eval(fixed::<S, I>(arguments)).to_vec()
    }
}

struct ErasedPair<F, const L: usize, const R: usize, const P: usize>(std::marker::PhantomData<F>);

impl<F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize> Erase
    for ErasedPair<F, L, R, P>
{
    fn eval<S: Scalar>(arguments: &[S]) -> Vec<S> {
        vec![pair::eval::<F, S, L, R, P>(arguments)]
    }
}

fn lanes<E: Erase>(arguments: &[f64]) -> Vec<f64> {
    let arguments: Vec<Lanes<4>> = arguments.iter().map(|&x| Lanes::splat(x)).collect();
    E::eval(&arguments).into_iter().map(|y| y.get(3)).collect()
}

fn dual<E: Erase>(arguments: &[f64]) -> Vec<Derivatives> {
    dual_by(arguments, E::eval)
}

/// The derivatives of `eval`, which is called once for each argument.
fn dual_by(arguments: &[f64], eval: impl Fn(&[Dual<f64, 1>]) -> Vec<Dual<f64, 1>>) -> Vec<Derivatives> {
    let along = |k: usize| {
        let seed = |(i, &value): (usize, &f64)| Dual { value, partials: [if i == k { 1.0 } else { 0.0 }] };
        eval(&arguments.iter().enumerate().map(seed).collect::<Vec<_>>())
    };
    let mut results: Vec<Derivatives> = Vec::new();
    for k in 0..arguments.len() {
        for (o, y) in along(k).into_iter().enumerate() {
            if k == 0 {
                results.push((y.value, Vec::new()));
            }
            results[o].1.push(y.partials[0]);
        }
    }
    results
}

impl Formula {
    const fn new<E: Erase>(
        name: &'static str,
        kind: Kind,
        arguments: usize,
        trace: fn() -> Expression,
        kernels: Kernels,
    ) -> Self {
        Formula {
            name,
            kind,
            arguments,
            plain: E::eval::<f64>,
            plain_f32: E::eval::<f32>,
            lanes: lanes::<E>,
            dual: dual::<E>,
            trace,
            kernels,
        }
    }

    /// The entry of an elementwise formula.
    pub const fn map<F: MapFormula<K>, const K: usize>(_formula: F, ranges: &'static [Range]) -> Self {
        assert!(ranges.len() == K, "a range for each operand");
        Formula::new::<ErasedMap<F, K>>(
            F::NAME,
            Kind::Map(ranges),
            K,
            || Expression::trace(K, ErasedMap::<F, K>::eval::<Trace>),
            Kernels::Map(F::compiled),
        )
    }

    /// The entry of a row formula.
    pub const fn row<
        F: RowFormula<V, B, I, O>,
        const V: usize,
        const B: usize,
        const I: usize,
        const O: usize,
    >(
        _formula: F,
        sample: Sample,
        params: &'static [Range],
    ) -> Self {
        Formula {
            name: F::NAME,
            kind: Kind::Row { plan: F::plan, params, sample },
            arguments: I,
            plain: ErasedRow::<F, V, B, I, O>::eval,
            plain_f32: ErasedRow::<F, V, B, I, O>::eval,
            // The function of the plan: this is what kernels call.
            lanes: |arguments| F::plan().on_lanes(arguments),
            dual: |arguments| dual_by(arguments, |x| F::plan().outputs_along(1, |k, _| x[k])),
            trace: || F::plan().value().clone(),
            kernels: Kernels::Row { plan: F::plan, interpreted: RowPlan::interpreted::<F, V, B, I, O> },
        }
    }

    /// The entry of a pair formula.
    pub const fn pair<F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize>(
        _formula: F,
        ranges: &'static [Range],
    ) -> Self {
        assert!(ranges.len() == 1 + L + R + P, "a range for each argument");
        Formula::new::<ErasedPair<F, L, R, P>>(
            F::NAME,
            Kind::Pair { ranges, counts: [L, R, P], pairing: F::PAIRING },
            1 + L + R + P,
            || Expression::trace(1 + L + R + P, ErasedPair::<F, L, R, P>::eval::<Trace>),
            Kernels::Pair { kernels: F::compiled, interpreted: Compiled::pair_interpreted::<F, L, R, P> },
        )
    }

    /// The formula as an operation of a tape.
    #[inline(never)]
    pub fn as_operation<T: Float>(&self) -> &'static dyn Operation<T> {
        match self.kernels {
            Kernels::Map(compiled) => compiled().for_type::<T>(),
            Kernels::Row { plan, .. } => plan(),
            Kernels::Pair { kernels, .. } => kernels().for_type::<T>(),
        }
    }

    /// The same, interpreted.
    #[inline(never)]
    pub fn as_interpreted_operation<T: Float>(&self) -> &'static dyn Operation<T> {
        match self.kernels {
            Kernels::Map(_) => self.as_operation(),
            Kernels::Row { interpreted, .. } => interpreted(),
            Kernels::Pair { interpreted, .. } => interpreted().for_type::<T>(),
        }
    }

    /// Whether code is compiled for the formula. None is for an elementwise formula.
    pub fn is_compiled(&self) -> bool {
        match self.kernels {
            Kernels::Map(_) => false,
            Kernels::Row { plan, .. } => plan().is_compiled(),
            Kernels::Pair { kernels, interpreted } => !std::ptr::eq(kernels(), interpreted()),
        }
    }
}

/// Declares the row formulas of a file, each as in [`row_formula!`](crate::row_formula!), and their list for
/// the registry. After `tested in` stands where tests draw the vectors of a formula, a [`Sample`], and the
/// ranges of its parameters. After the list's name and `and` other formulas may follow.
///
/// ```
/// use cotangent_engine::registry::{Formula, Range};
/// use cotangent_engine::row_formulas;
///
/// row_formulas! {
///     /// All formulas here.
///     pub ALL and [Formula::map(cotangent_engine::formulas::Relu, &[Range(0.5, 2.0)])];
///
///     /// `t v`, t = parameter 0.
///     pub Times = "times": vector [Input(0)], tested in Free [Range(0.2, 0.9)];
///     t = Param(0) => [t];
///
///     /// `⟨u, v⟩`.
///     pub Inner = "inner": number [Input(0), Input(1)], tested in Free [];
///     uv = Dot(0, 1) => uv;
/// }
///
/// assert_eq!(ALL.iter().map(|formula| formula.name).collect::<Vec<_>>(), ["times", "inner", "relu"]);
/// ```
#[macro_export]
macro_rules! row_formulas {
    (
        $(#[$about:meta])*
        $visible:vis $list:ident $(and [$($other:expr),* $(,)?])?;
        $(
            $(#[$attribute:meta])*
            $visibility:vis $formula:ident = $name:literal: $kind:ident $basis:tt
            $(, metric $metric:ident)? $(, domain $domain:ident)? $(, kernel $kernel:ident)?
            , tested in $sample:ident $(($points:literal))? [$($range:expr),*];
            $($argument:ident = $invariant:expr),* => $body:expr;
        )*
    ) => {
        $($crate::row_formula! {
            $(#[$attribute])*
            $visibility $formula = $name: $kind $basis
            $(, metric $metric)? $(, domain $domain)? $(, kernel $kernel)?;
            $($argument = $invariant),* => $body
        })*

        $(#[$about])*
        $visible const $list: &[$crate::registry::Formula] = &[
            $($crate::registry::Formula::row(
                $formula,
                $crate::registry::Sample::$sample $(($points))?,
                &[$($range),*],
            ),)*
            $($($other),*)?
        ];
    };
}

/// The number of formulas in some lists.
pub const fn count(lists: &[&[Formula]]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < lists.len() {
        count += lists[i].len();
        i += 1;
    }
    count
}

/// Lists of formulas, one after another, as one of [`count`] formulas. The first list must not be empty.
pub const fn joined<const N: usize>(lists: &[&[Formula]]) -> [Formula; N] {
    let (mut all, mut next, mut i) = ([lists[0][0]; N], 0, 0);
    while i < lists.len() {
        let mut k = 0;
        while k < lists[i].len() {
            all[next] = lists[i][k];
            (next, k) = (next + 1, k + 1);
        }
        i += 1;
    }
    all
}
