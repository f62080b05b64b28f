//! Attention scores: how well a query and a key fit. Each has a file of its own; [`Mapped`] gives a score
//! another map from activations to points.

mod additive;
mod distance;
mod dot;
mod entailment_cone;
mod finite_umbral_cone;
mod half_space_distance;
mod laplacian;
mod list;
mod mapped;
mod penumbral_cone;
mod polar_distance;
mod umbral_cone;

use std::fmt::Debug;

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::Range;
use cotangent_engine::{Float, Pairs, Scalar, Var};
use cotangent_manifolds::{Euclidean, Module, Param, Path, Visitor, VisitorMut};
use smallvec::SmallVec;

use crate::attention::point_map::{PointMap, parts};

pub use list::*;
pub use mapped::Mapped;

/// The score of a query q and a key k: `γ s(q, k) − c`. Queries and keys are any rows; each score maps
/// them to its own space.
///
/// A score consists of a [`PairFormula`](cotangent_engine::PairFormula) and of
/// [`prepare`](Self::prepare), which computes the formula's inputs from queries and keys. The formula's
/// first two parameters are γ and c. A score of one's own works in every attention and on devices, and
/// takes as little memory as the others:
///
/// ```
/// use cotangent_engine::compiled::{Compiled, Pair};
/// use cotangent_engine::{Float, PairFormula, Pairing, Scalar, Tape, Tensor, Var};
/// use cotangent_layers::Attend;
/// use cotangent_layers::score::{Operand, Score, Side};
///
/// /// `−γ‖q − k‖² − c`: weights of a Gaussian kernel.
/// #[derive(Clone, Copy, Debug)]
/// struct Gaussian;
///
/// impl PairFormula<0, 0, 2> for Gaussian {
///     const NAME: &'static str = "gaussian";
///     const PAIRING: Pairing = Pairing::SquaredDistance;
///     fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], [gamma, c]: [S; 2]) -> S {
///         -gamma * square - c
///     }
/// }
///
/// impl<T: Float> Score<T> for Gaussian {
///     fn name(&self) -> &'static str {
///         "gaussian"
///     }
///     fn about(&self) -> &'static str {
///         "Gaussian kernel."
///     }
///     fn formula(&self) -> &'static Compiled<Pair> {
///         <Self as PairFormula<0, 0, 2>>::compiled()
///     }
///     fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
///         Operand::from(x)
///     }
/// }
///
/// let tape = Tape::<f64>::new();
/// let q = tape.constant(&Tensor::new([1, 1], vec![0.0]));
/// let k = tape.constant(&Tensor::new([2, 1], vec![0.0, 1.0]));
/// let v = tape.constant(&Tensor::new([2, 1], vec![0.0, 1.0]));
/// let y = Attend::new(&Gaussian).forward(q, k, v); // [1, 1]
/// assert!((y.item() - 1.0 / (1.0 + 1_f64.exp())).abs() < 1e-15);
/// ```
pub trait Score<T: Float>: Duplicate<T> + Debug + Send + Sync {
    /// The name on command lines and in results: `"half-space"`.
    fn name(&self) -> &'static str;

    /// What the score is and its source, in one line, for the help of command lines.
    fn about(&self) -> &'static str;

    /// The formula. Its inputs are pairs of rows and the numbers of both rows, as
    /// [`prepare`](Self::prepare) returns them; then γ, c and [`scalars`](Self::scalars).
    fn formula(&self) -> &'static Compiled<Pair>;

    /// Takes queries or keys x, `[…, n, d]`, and returns the rows that the formula pairs, with the numbers
    /// of each row. The rows may have any width, the same for queries and keys. Attention panics unless
    /// there are as many numbers as the formula takes: queries are its left rows, keys its right ones.
    fn prepare<'t>(&self, x: Var<'t, T>, side: Side) -> Operand<'t, T>;

    /// The maps by which the score can take rows to points of hyperbolic space. The first is its own;
    /// [`Mapped`] chooses another. Empty if the score has no choice.
    fn maps(&self) -> &'static [PointMap] {
        &[]
    }

    /// The map by which the score takes rows to points, if it has a choice.
    fn map(&self) -> Option<PointMap> {
        self.maps().first().copied()
    }

    /// Same as [`prepare`](Self::prepare), with points by one of the [`maps`](Self::maps).
    fn prepare_by<'t>(&self, map: PointMap, x: Var<'t, T>, side: Side) -> Operand<'t, T> {
        let _ = map;
        self.prepare(x, side)
    }

    /// The formula's parameters after γ and c: single numbers on the tape of x.
    fn scalars<'t>(&self, x: Var<'t, T>) -> Numbers<'t, T> {
        let _ = x;
        Numbers::new()
    }

    /// Whether the last coordinate of queries and keys is a height, or a distance from the origin. If so,
    /// they need at least two coordinates.
    fn needs_height(&self) -> bool {
        false
    }

    /// The initial γ for d-dimensional queries and keys.
    fn sharpness(&self, d: usize) -> f64 {
        let _ = d;
        1.0
    }

    /// A positive number that can be chosen, with its name: `light` of penumbral cones. The applications
    /// have options for `light` and `radius`; a number of another name keeps its value there.
    fn setting(&self) -> Option<(&'static str, f64)> {
        None
    }

    /// Changes the [`setting`](Self::setting).
    ///
    /// # Panics
    /// If the score has none.
    #[track_caller]
    fn set(&mut self, value: f64) {
        panic!("score {}: no setting to change to {value}", self.name())
    }

    /// The parameters that the score learns besides γ and c.
    fn parameters(&self) -> &[Param<Euclidean, T>] {
        &[]
    }

    /// Same as [`parameters`](Self::parameters), mutable.
    fn parameters_mut(&mut self) -> &mut [Param<Euclidean, T>] {
        &mut []
    }
}

/// Numbers of each row, `[…, n]` each, or a formula's parameters. Up to four need no allocation.
pub type Numbers<'t, T> = SmallVec<[Var<'t, T>; 4]>;

/// Whether rows are queries or keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Queries.
    Query,
    /// Keys.
    Key,
}

/// Queries or keys, as a formula takes them.
#[derive(Clone, Debug)]
pub struct Operand<'t, T: Float> {
    /// What the formula pairs: `[…, n, d]`.
    pub rows: Var<'t, T>,
    /// The numbers of each row that the formula takes: `[…, n]` each.
    pub numbers: Numbers<'t, T>,
}

/// Rows without numbers.
impl<'t, T: Float> From<Var<'t, T>> for Operand<'t, T> {
    fn from(rows: Var<'t, T>) -> Self {
        Operand { rows, numbers: Numbers::new() }
    }
}

/// Implemented for every score that is `Clone`.
pub trait Duplicate<T: Float> {
    /// A copy. As with `Clone`, its learned parameters have ids of their own.
    fn duplicate(&self) -> Box<dyn Score<T>>;
}

impl<T: Float, S: Score<T> + Clone + 'static> Duplicate<T> for S {
    fn duplicate(&self) -> Box<dyn Score<T>> {
        Box::new(self.clone())
    }
}

impl<T: Float> Clone for Box<dyn Score<T>> {
    fn clone(&self) -> Self {
        (**self).duplicate()
    }
}

impl<T: Float> Module<T> for Box<dyn Score<T>> {
    fn visit<V: Visitor<T>>(&self, path: &mut Path, visitor: &mut V) {
        self.parameters().visit(path, visitor);
    }
    fn visit_mut<V: VisitorMut<T>>(&mut self, path: &mut Path, visitor: &mut V) {
        self.parameters_mut().visit_mut(path, visitor);
    }
}

/// The fewest dimensions of queries and keys: a height needs another coordinate beside it, and so does the
/// direction of polar coordinates.
pub fn least_dimensions<T: Float>(score: &dyn Score<T>) -> usize {
    1 + usize::from(score.needs_height()) + usize::from(score.map() == Some(PointMap::Polar))
}

/// Panics if d dimensions are too few for the score, or its setting is not positive.
#[track_caller]
pub(super) fn check<T: Float>(score: &dyn Score<T>, d: usize) {
    let least = least_dimensions(score);
    assert!(d >= least, "attention: {score:?} needs {least} dimensions or more; queries have {d}");
    if let Some((name, value)) = score.setting() {
        assert!(
            value > 0.0 && value.is_finite(),
            "attention: the {name} of {score:?} is {value}; a positive number is needed"
        );
    }
}

/// Queries and keys, prepared by the score and paired by its formula.
#[track_caller]
pub(super) fn prepared<'t, T: Float>(
    score: &dyn Score<T>,
    queries: Var<'t, T>,
    keys: Var<'t, T>,
    [gamma, c]: [Var<'t, T>; 2],
) -> Pairs<'t, T> {
    let [q, k] = [(queries, Side::Query), (keys, Side::Key)].map(|(x, side)| score.prepare(x, side));
    let mut params = Numbers::from_slice(&[gamma, c]);
    params.extend(score.scalars(queries));
    Pairs::compiled(score.formula(), [q.rows, k.rows], [&q.numbers, &k.numbers], &params)
}

// Ranges from which the test of the formulas draws its inputs.
const SQUARE: Range = Range(0.1, 4.0);
const FACTOR: Range = Range(1.0, 5.0);
const HEIGHT: Range = Range(0.2, 1.0);
const SHARPNESS: Range = Range(0.5, 2.0);
const OFFSET: Range = Range(-1.0, 1.0);

/// The distance in hyperbolic space of curvature −1, from `sinh(d/2)`.
#[inline(always)]
fn distance_from_sinh<S: Scalar>(sinh: S) -> S {
    S::constant(2.0) * sinh.asinh()
}

/// The smallest and the largest square that all formulas here can handle.
#[inline(always)]
fn squares<S: Scalar>() -> [S; 2] {
    if S::EPSILON < 1e-10 { [1e-300, 1e308] } else { [1e-37, 3e38] }.map(S::constant)
}

/// The square of a distance, brought into the range of [`squares`]: 0 if it is below, the largest square
/// if it is above. Both have no gradient.
#[inline(always)]
fn normal<S: Scalar>(square: S) -> S {
    let [least, largest] = squares::<S>();
    // At the largest square the derivative is that of the square.
    let square = largest.min(square);
    S::select(square.lt(least), S::zero(), square)
}

/// The maps of scores with heights, those whose paper takes them by ψ and those by ξ.
const BY_PSI: [PointMap; 5] = PointMap::ALL;
const BY_XI: [PointMap; 5] =
    [PointMap::Xi, PointMap::Psi, PointMap::Exp, PointMap::Polar, PointMap::Weierstrass];

/// Makes a cone a score. Takes the cone's setting and its default, the formula and how many numbers of a
/// row it takes, the name and the description, and the map of the paper. Then, for the cone `self`: points
/// of the half-space from queries or keys x by a map, what the formula takes of each point besides its
/// height, and the formula's third parameter.
macro_rules! cone_score {
    (
        $cone:ident { $setting:ident: $default:literal } by $formula:ident of $count:literal,
        $name:literal, $about:literal, $maps:path;
        |$self:ident, $x:ident, $map:ident| $points:expr, |$point:ident| [$($number:expr),*], $scalar:expr
    ) => {
        impl Default for $cone {
            fn default() -> Self {
                $cone { $setting: $default }
            }
        }

        impl<T: Float> Score<T> for $cone {
            fn name(&self) -> &'static str {
                $name
            }
            fn about(&self) -> &'static str {
                $about
            }
            fn formula(&self) -> &'static Compiled<Pair> {
                <$formula as PairFormula<$count, $count, 3>>::compiled()
            }
            fn prepare<'t>(&self, x: Var<'t, T>, side: Side) -> Operand<'t, T> {
                self.prepare_by($maps[0], x, side)
            }
            fn maps(&self) -> &'static [PointMap] {
                &$maps
            }
            fn prepare_by<'t>(&$self, $map: PointMap, $x: Var<'t, T>, _: Side) -> Operand<'t, T> {
                let $point = $points;
                let [rows, heights] = parts($point);
                let numbers = [heights $(, $number.reshape(heights.shape()))*];
                Operand { rows, numbers: Numbers::from_slice(&numbers) }
            }
            fn scalars<'t>(&$self, x: Var<'t, T>) -> Numbers<'t, T> {
                Numbers::from_slice(&[x.tape().scalar($scalar)])
            }
            fn needs_height(&self) -> bool {
                true
            }
            fn setting(&self) -> Option<(&'static str, f64)> {
                Some((stringify!($setting), self.$setting))
            }
            fn set(&mut self, value: f64) {
                self.$setting = value;
            }
        }
    };
}
use cone_score;
