//! Row formulas: how an operation of geometry is declared.
//!
//! A function of k vectors that commutes with rotations is a combination of those vectors whose coefficients
//! depend on their inner products alone (first fundamental theorem of invariant theory for O(n); O(1, n) with
//! the Minkowski product). So an operation of hyperbolic, spherical or Euclidean geometry *is* a small scalar
//! function: from inner products and parameters to coefficients, or to a number.

use crate::formula::domain::Domain;
use crate::formula::plan::{PARAMS, RowPlan};
use crate::formula::sums::{Sum, Terms};
use crate::numbers::scalar::Scalar;

/// A basis vector of a row formula, from its input rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector {
    /// Input `i`.
    Input(usize),
    /// The sum of inputs `i` and `j`.
    Sum(usize, usize),
    /// Input `i` minus input `j`, formed coordinate by coordinate: differences of nearby points keep
    /// their accuracy, and cotangents flow back through the difference.
    Difference(usize, usize),
    /// Input `i` with its first (time) coordinate negated.
    Flip(usize),
    /// The unit vector of the first (time) coordinate.
    Time,
    /// The unit vector of the last coordinate: the height in a half-space.
    Height,
}

/// What a row formula takes as an argument. Numbers are positions in its basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// The inner product of two basis vectors in the formula's metric.
    Dot(usize, usize),
    /// The inner product of two basis vectors, as if computed in twice the precision of `f64`. Where the
    /// vectors are exact it has all its digits, even if it is small beside the product of their norms.
    Accurate(usize, usize),
    /// The component ⟨a, b⟩/‖b‖ of one basis vector along another; 0 where ‖b‖ is 0.
    /// `Along(a, a)` is the norm. Accurate also where squares of coordinates overflow or underflow. Not for
    /// the Minkowski metric.
    Along(usize, usize),
    /// The norm of a basis vector whose product with itself overflows or underflows; 0 where it does not.
    /// Beside `Dot(a, a)` it costs next to nothing: see [`norm`](crate::norm). Not for the Minkowski metric.
    Extreme(usize),
    /// The first coordinate of an input, whatever the metric.
    First(usize),
    /// The last coordinate of an input, whatever the metric.
    Last(usize),
    /// 1 + κ‖v‖² of a basis vector, with κ = parameter 0, in the Euclidean metric. Accurate to an ulp
    /// near the boundary.
    Margin(usize),
    /// `⟨a∧b, a∧c⟩ = ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩` of three basis vectors, accurate
    /// also where they are nearly parallel. For b = c: the Gram determinant. Not in the
    /// [horizontal](Metric::Horizontal) metric.
    Wedge(usize, usize, usize),
    /// Parameter `p` of the row.
    Param(usize),
    /// Machine epsilon of the storage type, `T::EPSILON`.
    Epsilon,
}

/// The inner product that a formula's invariants are taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// `Σ xᵢ yᵢ`.
    Euclidean,
    /// `−x₀ y₀ + Σ xᵢ yᵢ`, the time coordinate first.
    Minkowski,
    /// `Σ xᵢ yᵢ` over the space coordinates: the time coordinate of a hyperboloid point, which they
    /// determine, is not read.
    Space,
    /// `Σ xᵢ yᵢ` over all but the last coordinate. The last coordinate of basis vectors is 0, but for
    /// [`Vector::Height`]. Heights are read by [`Invariant::Last`].
    Horizontal,
}

/// Fails, when compiled, if a call passes fewer parameters than a formula of these invariants and this domain
/// reads, or more than a formula has.
pub(crate) const fn check_params(invariants: &[Invariant], domain: Domain, passed: usize) {
    assert!(passed <= PARAMS, "a row formula has at most 4 parameters");
    let reads_kappa = !matches!(domain, Domain::Free | Domain::HalfSpace);
    assert!(!reads_kappa || passed > 0, "the row formula's domain reads parameter 0, which is not passed");
    let mut k = 0;
    while k < invariants.len() {
        let is_passed = match invariants[k] {
            Invariant::Param(p) => p < passed,
            Invariant::Margin(_) => passed > 0,
            _ => true,
        };
        assert!(is_passed, "the row formula reads a parameter that is not passed");
        k += 1;
    }
}

/// An operation on rows as a function of their inner products. Usually declared by
/// [`row_formula!`](crate::row_formula), which fills in the counts. Implement the trait by hand where
/// formulas share a basis, invariants or `eval`.
///
/// `V` input vectors, `B` basis vectors, `I` invariants, `O` outputs: `O = 1` for a formula that returns a
/// number per row, `O = B` (one coefficient for each basis vector) for one that returns a vector. At most 4
/// vectors, 6 basis vectors and 12 invariants: more do not compile.
pub trait RowFormula<const V: usize, const B: usize, const I: usize, const O: usize>:
    Copy + Send + Sync + 'static
{
    /// The name shown in messages.
    const NAME: &'static str;
    /// Whether the result is a vector (a combination of the basis) or a number.
    const VECTOR: bool;
    /// The basis vectors.
    const BASIS: [Vector; B];
    /// The arguments of [`eval`](Self::eval).
    const INVARIANTS: [Invariant; I];
    /// The metric of the inner products.
    const METRIC: Metric = Metric::Euclidean;
    /// Where the resulting rows must lie; κ is parameter 0.
    const DOMAIN: Domain = Domain::Free;
    /// Whether kernels are compiled for this formula alone: see [`compiled_here!`](crate::compiled_here).
    const SPECIALISED: bool = false;

    /// The formula as data, which kernels read: see [`compiled_here!`](crate::compiled_here).
    fn plan() -> &'static RowPlan {
        RowPlan::of::<Self, V, B, I, O>()
    }

    /// From invariants to coefficients, or to the one result. Mark it `#[inline(always)]`: only then is it
    /// compiled for the kernel's instruction set.
    fn eval<S: Scalar>(invariants: [S; I]) -> [S; O];
}

/// The number of input vectors: one more than the largest input number in the basis, `First` and `Last`.
#[doc(hidden)]
pub const fn count_inputs(basis: &[Vector], invariants: &[Invariant]) -> usize {
    const fn at_least(count: usize, input: usize) -> usize {
        if count > input { count } else { input + 1 }
    }
    let (mut count, mut k) = (0, 0);
    while k < basis.len() {
        count = match basis[k].terms() {
            Terms::Unit(_) => count,
            Terms::One(i, _) => at_least(count, i),
            Terms::Sum(i, j) | Terms::Difference(i, j) => at_least(at_least(count, i), j),
        };
        k += 1;
    }
    k = 0;
    while k < invariants.len() {
        if let Sum::Entry(i, _) = invariants[k].sum() {
            count = at_least(count, i);
        }
        k += 1;
    }
    count
}

/// Declares a row formula: its name in messages, its basis, its invariants, each named, and the formula.
/// Basis vectors and invariants are written without `Vector::` and `Invariant::`. `S` is the number type, a
/// [`Scalar`].
///
/// ```
/// use cotangent_engine::{Row, Rows, row_formula};
///
/// row_formula! {
///     /// The reflection of y in the hyperplane orthogonal to x: y − 2⟨x, y⟩/⟨x, x⟩ x.
///     pub Reflect = "reflect": vector [Input(0), Input(1)];
///     xx = Dot(0, 0), xy = Dot(0, 1) => [S::constant(-2.0) * xy / xx, S::one()]
/// }
///
/// let y = Row::vector(Reflect, [&Row::from([1.0, 0.0]), &Row::from([3.0, 4.0])], []);
/// assert_eq!(y[..], [-3.0, 4.0]);
/// ```
///
/// A call that passes fewer parameters than the formula reads does not compile:
///
/// ```compile_fail
/// # use cotangent_engine::{Row, Rows, row_formula};
/// row_formula! {
///     /// κ⟨x, x⟩.
///     pub Curved = "curved": number [Input(0)];
///     xx = Dot(0, 0), kappa = Param(0) => kappa * xx
/// }
///
/// let y = Row::scalar(Curved, [&Row::from([1.0, 0.0])], []);
/// ```
///
/// A `vector` returns a coefficient per basis vector, a `number` one number per row. After the basis: the
/// metric unless Euclidean, the domain of the results, and `kernel specialised` for hot formulas (see
/// [`compiled_here!`](crate::compiled_here)).
///
/// ```
/// use cotangent_engine::{Row, Rows, row_formula};
///
/// row_formula! {
///     /// The time coordinate of the hyperboloid point with x's space coordinates; x's own is not read.
///     Time = "time": number [Input(0)], metric Space;
///     xx = Dot(0, 0), kappa = Param(0) => (xx - S::one() / kappa).sqrt()
/// }
///
/// assert_eq!(Row::scalar(Time, [&Row::from([9.0, 3.0, 4.0])], [&-1.0]), 26.0_f64.sqrt());
/// ```
///
/// The number of inputs is inferred from the basis, `First` and `Last`. A formula that never uses its last
/// input implements [`RowFormula`] itself.
#[macro_export]
macro_rules! row_formula {
    (@outputs vector $basis:expr) => { $basis.len() };
    (@outputs number $basis:expr) => { 1 };
    (@is_vector vector) => { true };
    (@is_vector number) => { false };
    (@result vector $body:expr) => { $body };
    (@result number $body:expr) => { [$body] };
    (
        $(#[$attribute:meta])*
        $visibility:vis $formula:ident = $name:literal: $kind:ident $basis:tt
        $(, metric $metric:ident)? $(, domain $domain:ident)? $(, kernel $kernel:ident)?;
        $($argument:ident = $invariant:expr),* => $body:expr
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        $visibility struct $formula;

        const _: () = {
            const BASIS: &[$crate::Vector] = {
                #[allow(unused_imports)]
                use $crate::Vector::*;
                &$basis
            };
            const INVARIANTS: &[$crate::Invariant] = {
                #[allow(unused_imports)]
                use $crate::Invariant::*;
                &[$($invariant),*]
            };

            impl $crate::RowFormula<
                { $crate::count_inputs(BASIS, INVARIANTS) },
                { BASIS.len() },
                { INVARIANTS.len() },
                { $crate::row_formula!(@outputs $kind BASIS) },
            > for $formula {
                const NAME: &'static str = $name;
                const VECTOR: bool = $crate::row_formula!(@is_vector $kind);
                const BASIS: [$crate::Vector; BASIS.len()] = *BASIS.first_chunk().unwrap();
                const INVARIANTS: [$crate::Invariant; INVARIANTS.len()] = *INVARIANTS.first_chunk().unwrap();
                $(const METRIC: $crate::Metric = $crate::Metric::$metric;)?
                $(const DOMAIN: $crate::Domain = $crate::Domain::$domain;)?
                $crate::compiled_here!(row $(, $kernel)?);
                #[inline(always)]
                fn eval<S: $crate::Scalar>(
                    [$($argument),*]: [S; INVARIANTS.len()],
                ) -> [S; $crate::row_formula!(@outputs $kind BASIS)] {
                    $crate::row_formula!(@result $kind $body)
                }
            }
        };
    };
}
