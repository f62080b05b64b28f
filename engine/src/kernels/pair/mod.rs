//! The `pair` kernel: a score of all pairs of rows (i, j), computed from their inner product or their
//! distance and from numbers of each row.
//!
//! Distance matrices, attention scores, logits of hyperplanes. The formula is written once
//! ([`PairFormula`]). The kernel goes over tiles of pairs; [`attend`](crate::kernels::attend) runs the
//! same formulas without ever storing the scores.

mod jobs;
mod pairings;
mod reverse;
mod tile;

use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;

pub(crate) use self::jobs::{Gradients, pieces, tiles};
pub(crate) use self::pairings::{Part, pairings, pairings_gradient, tile_rows};
use self::reverse::gradients;
pub(crate) use self::tile::{ErasedPair, PairKernel, Tile, TileGradients, gradient};
use crate::numbers::parallel::{self, split_front};
use crate::numbers::scalar::Scalar;
use crate::tape::Tape;
use crate::tape::compiled::{self, Compiled};
use crate::tape::float::Float;
use crate::tape::operation::{Operation, Outcome, View, shapes};
use crate::tape::var::Var;
use crate::tensor::shape::Shape;

/// What a pair's score is a function of, besides numbers of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The inner product `⟨x_i, y_j⟩`.
    Dot,
    /// The squared distance `‖x_i − y_j‖²`, accurate for nearby rows too: those are subtracted, the
    /// others are computed from a matrix product of centred rows. Its last bits may depend on the other
    /// right rows.
    SquaredDistance,
}

/// A score of a pair of rows: a function of their inner product or squared distance, of `L` numbers of
/// the left row, `R` of the right one, and `P` parameters.
///
/// ```
/// use cotangent_engine::{PairFormula, Pairing, Scalar, Tape, Tensor};
///
/// /// The Gaussian kernel exp(−‖x − y‖²/2s²).
/// #[derive(Clone, Copy)]
/// struct Gaussian;
///
/// impl PairFormula<0, 0, 1> for Gaussian {
///     const NAME: &'static str = "gaussian";
///     const PAIRING: Pairing = Pairing::SquaredDistance;
///     fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], [s]: [S; 1]) -> S {
///         (S::constant(-0.5) * square / s.square()).exp()
///     }
/// }
///
/// let tape = Tape::<f64>::new();
/// let x = tape.variable(&Tensor::new([2, 1], vec![0.0, 1.0])); // 2 rows
/// let y = tape.variable(&Tensor::new([3, 1], vec![0.0, 1.0, 2.0])); // 3 rows
/// let k = tape.pairs(Gaussian, x, y, [], [], [tape.scalar(1.0)]); // [2, 3]
/// assert_eq!(k.to_tensor().row(1), [(-0.5_f64).exp(), 1.0, (-0.5_f64).exp()]);
/// ```
pub trait PairFormula<const L: usize, const R: usize, const P: usize>: Copy + Send + Sync + 'static {
    /// The name shown in messages.
    const NAME: &'static str;
    /// What the first argument of [`eval`](Self::eval) is.
    const PAIRING: Pairing;
    /// The formula's kernels: see [`compiled_here!`](crate::compiled_here).
    fn compiled() -> &'static Compiled<compiled::Pair> {
        Compiled::pair::<Self, L, R, P>()
    }
    /// The score.
    fn eval<S: Scalar>(pairing: S, left: [S; L], right: [S; R], params: [S; P]) -> S;
}

impl<T: Float> Tape<T> {
    /// The score of every pair of a row of `x` and a row of `y`: `[…, n, d]` and `[…, m, d]` give
    /// `[…, n, m]`. `left` and `right` are numbers of the rows, `[…, n]` and `[…, m]`; `params` are
    /// single numbers. The leading axes are equal, or `y` (and `right`) has none.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn pairs<'t, F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize>(
        &'t self,
        _formula: F,
        x: Var<'t, T>,
        y: Var<'t, T>,
        left: [Var<'t, T>; L],
        right: [Var<'t, T>; R],
        params: [Var<'t, T>; P],
    ) -> Var<'t, T> {
        let mut inputs: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(&[x, y]);
        inputs.extend(left.into_iter().chain(right).chain(params));
        self.operation(F::compiled().of_type::<T>().operation(), &inputs)
    }
}

/// The sizes of a batch of pairs.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    pub(crate) n: usize,
    pub(crate) m: usize,
    pub(crate) width: usize,
}

/// Checks the inputs of a pair formula and finds its sizes. The inputs are x, y, numbers of left and
/// right rows, and parameters.
pub(crate) fn sizes(inputs: &[&Shape], [l, r, _]: [usize; 3]) -> Result<(Sizes, Shape), String> {
    let shapes = || inputs.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
    let (x, y) = (inputs[0], inputs[1]);
    let ([lead_x @ .., n, d], [lead_y @ .., m, e]) = (x.axes(), y.axes()) else {
        return Err(format!("rows […, n, d] and […, m, d] are needed, not {x}, {y}"));
    };
    if *d == 0 || *m == 0 {
        return Err(format!("there is nothing to pair with: rows {x}, {y}"));
    }
    if d != e || !(lead_x == lead_y || lead_y.is_empty()) {
        return Err(format!("rows […, n, d] and […, m, d] are needed, not {x}, {y}"));
    }
    let (left, rest) = inputs[2..].split_at(l);
    let (right, params) = rest.split_at(r);
    if !left.iter().all(|s| **s == x.rows()) || !right.iter().all(|s| **s == y.rows()) {
        let (of_x, of_y) = (x.rows(), y.rows());
        return Err(format!("numbers of rows must be {of_x} and {of_y}: shapes {}", shapes()));
    }
    if !params.iter().all(|s| s.len() == 1) {
        return Err(format!("parameters must be single numbers: shapes {}", shapes()));
    }
    let shape = x.rows().with_width(*m);
    // If one set of right rows serves the whole batch, the batch's left rows count as one entry's.
    let batch: usize = if lead_y.is_empty() { 1 } else { lead_x.iter().product() };
    Ok((Sizes { batch, n: if lead_y.is_empty() { x.rows().len() } else { *n }, m: *m, width: *d }, shape))
}

impl<F, T, const L: usize, const R: usize, const P: usize> Operation<T> for ErasedPair<F, L, R, P>
where
    F: PairFormula<L, R, P>,
    T: Float,
{
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        Ok(sizes(inputs, [L, R, P])?.1)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        elementwise::<T>(inputs, self, out, &|tile, s| PairKernel::score(self, tile, s));
    }

    fn backward(&self, inputs: &[View<'_, T>], _: Outcome<'_, T>, g: &[T], grads: &mut [Option<&mut [T]>]) {
        let shapes = shapes(inputs);
        let (s, _) = sizes(&shapes, [L, R, P]).expect("checked");
        gradients(self, inputs, s, g, grads);
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        Some(PairKernel::<T>::form(self))
    }

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let (tape, x, y) = (inputs[0].tape(), inputs[0], inputs[1]);
        let partial = |which| {
            let operation = PairPartial::<F, L, R, P> { which, formula: PhantomData };
            tape.shared_operation(Arc::new(operation), inputs)
        };
        let (dx, dy) = (tangents[0], tangents[1]);
        let column = |v: Var<'t, T>| v.reshape(v.shape().with_width(1));
        let row = |v: Var<'t, T>| v.reshape(v.shape().insert(v.shape().axes().len() - 1));
        let of_pairing = match F::PAIRING {
            Pairing::Dot => Var::sum_of([dx.map(|dx| dx.matmul_nt(y)), dy.map(|dy| x.matmul_nt(dy))]),
            Pairing::SquaredDistance => (dx.is_some() || dy.is_some()).then(|| {
                let operation = DistanceTangent { of_x: dx.is_some(), of_y: dy.is_some() };
                let operands: SmallVec<[Var<'t, T>; 4]> =
                    [Some(x), Some(y), dx, dy].into_iter().flatten().collect();
                tape.shared_operation(Arc::new(operation), &operands)
            }),
        };
        let mut terms: SmallVec<[Option<Var<'t, T>>; 6]> = SmallVec::new();
        terms.push(of_pairing.map(|d| partial(0) * d));
        for (k, tangent) in tangents[2..].iter().enumerate() {
            terms.push(tangent.map(|d| {
                let d = if k < L {
                    column(d)
                } else if k < L + R {
                    row(d)
                } else {
                    d.reshape([])
                };
                partial(1 + k) * d
            }));
        }
        Var::sum_of(terms).expect("at least one tangent")
    }
}

/// Computes the pairings of all rows, then runs `work` on them, tile by tile.
fn elementwise<T: Float>(
    inputs: &[View<'_, T>],
    kernel: &dyn PairKernel<T>,
    out: &mut [T],
    work: &(dyn Fn(&Tile<'_, T>, &mut [T]) + Sync),
) {
    let (shapes, counts) = (shapes(inputs), kernel.counts());
    let (s, _) = sizes(&shapes, counts).expect("checked");
    let cost = 1 + s.m * (s.width / 16 + 2);
    parallel::for_each_part(out, s.m, 16, cost, |rows, out| {
        let mut rest = out;
        for (b, rows) in tiles(s, rows, tile_rows(s.m)) {
            let part = Part::of(inputs, counts, s, b, b * s.n + rows.start..b * s.n + rows.end);
            let tile = split_front(&mut rest, rows.len() * s.m);
            pairings(kernel.pairing(), part.x, part.y, s.width, tile);
            work(&part.tile(0..rows.len(), 0..s.m), tile);
        }
    });
}

/// The tangents `2⟨x − y, ẋ − ẏ⟩` of the squared distances of all pairs of rows x and y. The operands
/// are x, y, and the tangents that are not zero. They are computed row by row in `f64`, from
/// differences, so they are accurate for nearby rows too.
struct DistanceTangent {
    of_x: bool,
    of_y: bool,
}

impl<T: Float> Operation<T> for DistanceTangent {
    fn name(&self) -> &'static str {
        "squared_distance"
    }
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        Ok(sizes(&inputs[..2], [0; 3])?.1)
    }
    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (s, _) = sizes(&[inputs[0].shape, inputs[1].shape], [0; 3]).expect("checked");
        let [x, y] = [inputs[0].data, inputs[1].data];
        let of_x = self.of_x.then(|| inputs[2].data);
        let of_y = self.of_y.then(|| inputs[2 + usize::from(self.of_x)].data);
        parallel::for_each_part(out, s.m, 1, s.m * s.width, |rows, out| {
            for (i, out) in rows.zip(out.chunks_exact_mut(s.m)) {
                for (j, out) in out.iter_mut().enumerate() {
                    let (i, j) = (i * s.width, (i / s.n * s.m + j) * s.width);
                    let moved = |tangent: Option<&[T]>, at: usize| tangent.map_or(0.0, |t| t[at].to_f64());
                    let term = |c: usize| {
                        (x[i + c].to_f64() - y[j + c].to_f64()) * (moved(of_x, i + c) - moved(of_y, j + c))
                    };
                    *out = T::nearest(2.0 * (0..s.width).map(term).sum::<f64>());
                }
            }
        });
    }
    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        panic!("second derivatives of pair formulas are not offered")
    }
}

/// For all pairs, the partial derivative of a pair formula by its pairing (0) or by one of its numbers.
struct PairPartial<F, const L: usize, const R: usize, const P: usize> {
    which: usize,
    formula: PhantomData<fn() -> F>,
}

impl<F, T, const L: usize, const R: usize, const P: usize> Operation<T> for PairPartial<F, L, R, P>
where
    F: PairFormula<L, R, P>,
    T: Float,
{
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        Ok(sizes(inputs, [L, R, P])?.1)
    }
    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let kernel = F::compiled().of_type::<T>();
        elementwise(inputs, kernel, out, &|tile, s| {
            let rows = s.chunks_exact_mut(tile.columns).enumerate();
            rows.for_each(|(i, s)| kernel.partial(tile, self.which, i, 0, s));
        });
    }
    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        panic!("{}: second derivatives of pair formulas are not offered", F::NAME)
    }
}
