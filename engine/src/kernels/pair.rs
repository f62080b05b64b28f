//! The `pair` kernel: a score of all pairs of rows (i, j), from their inner product or their distance and from
//! numbers of each row.
//!
//! Distance matrices, attention scores, logits of hyperplanes. The formula is written once ([`PairFormula`]); the
//! kernel goes over tiles of pairs, and [`attend`](crate::kernels::attend) runs the same formulas without ever
//! storing the scores.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::compiled::{self, Compiled};
use crate::kernels::gemm::{Matrix, serial};
use crate::kernels::line::load;
use crate::lanes::array;
use crate::operation::{Operation, Outcome, View, shapes};
use crate::parallel::{self, PIECES, split_front};
use crate::simd::dispatch;
use crate::{Dual, Float, Lanes, Scalar, Shape, Tape, Var};

/// What a pair's score is a function of, besides numbers of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The inner product `⟨x_i, y_j⟩`.
    Dot,
    /// The squared distance `‖x_i − y_j‖²`, from differences: accurate for nearby rows.
    SquaredDistance,
}

/// A score of a pair of rows: a function of their inner product or squared distance, of `L` numbers of the left
/// row, `R` of the right one, and `P` parameters.
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

/// A tile of pairs with the numbers of its rows.
#[doc(hidden)]
#[allow(missing_docs)]
pub struct Tile<'a, T> {
    /// Right rows.
    pub(crate) columns: usize,
    /// For each number, one element per left row.
    pub(crate) left: SmallVec<[&'a [T]; 4]>,
    pub(crate) right: SmallVec<[&'a [T]; 4]>,
    pub(crate) params: SmallVec<[f64; 4]>,
}

/// Gradients of the numbers of a tile's rows, to be added to; none where it is not asked for.
#[doc(hidden)]
#[allow(missing_docs)]
pub struct TileGradients<'a, T> {
    pub(crate) left: SmallVec<[Option<&'a mut [T]>; 4]>,
    pub(crate) right: SmallVec<[Option<&'a mut [T]>; 4]>,
    pub(crate) params: SmallVec<[Option<f64>; 4]>,
}

/// A pair formula with its type erased: the elementwise part, on tiles.
#[doc(hidden)]
pub trait PairKernel<T: Float>: Send + Sync {
    fn pairing(&self) -> Pairing;
    /// How many numbers of left rows, of right rows, and parameters.
    fn counts(&self) -> [usize; 3];
    /// Turns pairings into scores, in place.
    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]);
    /// Turns pairings into the partial derivatives by one of the arguments, in place.
    fn partial(&self, tile: &Tile<'_, T>, which: usize, s: &mut [T]);
    /// Turns the scores' gradients `g` into the pairings' (`s` holds the pairings), and adds those of the
    /// numbers.
    fn gradient(&self, tile: &Tile<'_, T>, s: &[T], g: &mut [T], grads: &mut TileGradients<'_, T>);
    /// The operation that computes the scores of all pairs.
    fn operation(&self) -> &'static dyn Operation<T>;
}

pub(crate) struct ErasedPair<F, const L: usize, const R: usize, const P: usize>(PhantomData<fn() -> F>);

impl<F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize> ErasedPair<F, L, R, P> {
    const VALUE: Self = ErasedPair(PhantomData);

    pub(crate) const fn kernel<T: Float>() -> &'static dyn PairKernel<T> {
        &Self::VALUE
    }
}

const LANES: usize = 8;

/// A block of pairs: the arguments of the formula.
struct Block<T: Float, const L: usize, const R: usize, const P: usize> {
    pairing: Lanes<LANES, T>,
    left: [Lanes<LANES, T>; L],
    right: [Lanes<LANES, T>; R],
    params: [Lanes<LANES, T>; P],
}

impl<T: Float, const L: usize, const R: usize, const P: usize> Block<T, L, R, P> {
    /// Pairs of left row `i` with the right rows from `at` on.
    #[inline(always)]
    fn load(tile: &Tile<'_, T>, s: &[T], i: usize, at: usize) -> Self {
        let zero = Lanes::splat(T::zero());
        Block {
            pairing: load(s, 1.0),
            left: array(zero, |k| Lanes::splat(tile.left[k][i])),
            right: array(zero, |k| load(&tile.right[k][at..][..s.len()], 1.0)),
            params: array(zero, |p| Lanes::splat(T::nearest(tile.params[p]))),
        }
    }

    #[inline(always)]
    fn score<F: PairFormula<L, R, P>>(self) -> Lanes<LANES, T> {
        F::eval(self.pairing, self.left, self.right, self.params)
    }

    /// The partial derivative by argument `which`. One at a time: the dual numbers stay in registers.
    #[inline(always)]
    fn partial<F: PairFormula<L, R, P>>(&self, which: usize) -> Lanes<LANES, T> {
        let dual = |value, on: bool| Dual { value, partials: [Lanes::splat(T::constant(f64::from(on)))] };
        let zero = dual(Lanes::splat(T::zero()), false);
        let y = F::eval(
            dual(self.pairing, which == 0),
            array(zero, |k| dual(self.left[k], which == 1 + k)),
            array(zero, |k| dual(self.right[k], which == 1 + L + k)),
            array(zero, |k| dual(self.params[k], which == 1 + L + R + k)),
        );
        y.partials[0]
    }
}

impl<F, T, const L: usize, const R: usize, const P: usize> PairKernel<T> for ErasedPair<F, L, R, P>
where
    F: PairFormula<L, R, P>,
    T: Float,
{
    fn pairing(&self) -> Pairing {
        F::PAIRING
    }
    fn counts(&self) -> [usize; 3] {
        [L, R, P]
    }
    fn operation(&self) -> &'static dyn Operation<T> {
        &Self::VALUE
    }

    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]) {
        dispatch(
            #[inline(always)]
            || {
                for (i, s) in s.chunks_exact_mut(tile.columns).enumerate() {
                    for (b, s) in s.chunks_mut(LANES).enumerate() {
                        Block::<T, L, R, P>::load(tile, s, i, b * LANES).score::<F>().store(s);
                    }
                }
            },
        );
    }

    fn partial(&self, tile: &Tile<'_, T>, which: usize, s: &mut [T]) {
        dispatch(
            #[inline(always)]
            || {
                for (i, s) in s.chunks_exact_mut(tile.columns).enumerate() {
                    for (b, s) in s.chunks_mut(LANES).enumerate() {
                        Block::<T, L, R, P>::load(tile, s, i, b * LANES).partial::<F>(which).store(s);
                    }
                }
            },
        );
    }

    fn gradient(&self, tile: &Tile<'_, T>, s: &[T], g: &mut [T], grads: &mut TileGradients<'_, T>) {
        let rows = s.chunks_exact(tile.columns).zip(g.chunks_exact_mut(tile.columns)).enumerate();
        dispatch(
            #[inline(always)]
            || {
                for (i, (s, g)) in rows {
                    let mut of_left = [Lanes::<LANES>::splat(0.0); L];
                    let mut of_params = [Lanes::<LANES>::splat(0.0); P];
                    for (b, (s, g)) in s.chunks(LANES).zip(g.chunks_mut(LANES)).enumerate() {
                        let at = b * LANES;
                        let block = Block::<T, L, R, P>::load(tile, s, i, at);
                        let upstream = load(g, 0.0);
                        // What lies beyond the tile must not count, whatever it came to.
                        let weigh = |partial: Lanes<LANES, T>| {
                            let mut w = upstream * partial;
                            (s.len()..LANES).for_each(|l| w.set(l, T::zero()));
                            w
                        };
                        weigh(block.partial::<F>(0)).store(g);
                        for k in 0..L {
                            if grads.left[k].is_some() {
                                of_left[k] = of_left[k] + weigh(block.partial::<F>(1 + k)).widen();
                            }
                        }
                        for k in 0..R {
                            if let Some(sums) = grads.right[k].as_deref_mut() {
                                let w = weigh(block.partial::<F>(1 + L + k));
                                for (l, sum) in sums[at..][..s.len()].iter_mut().enumerate() {
                                    *sum = *sum + w.get(l);
                                }
                            }
                        }
                        for k in 0..P {
                            if grads.params[k].is_some() {
                                of_params[k] =
                                    of_params[k] + weigh(block.partial::<F>(1 + L + R + k)).widen();
                            }
                        }
                    }
                    for k in 0..L {
                        if let Some(sums) = grads.left[k].as_deref_mut() {
                            sums[i] = sums[i] + T::nearest(of_left[k].sum());
                        }
                    }
                    for k in 0..P {
                        if let Some(sum) = &mut grads.params[k] {
                            *sum += of_params[k].sum();
                        }
                    }
                }
            },
        );
    }
}

impl<T: Float> Tape<T> {
    /// The score of every pair of a row of `x` and a row of `y`: `[…, n, d]` and `[…, m, d]` give `[…, n, m]`.
    /// `left` and `right` are numbers of the rows, `[…, n]` and `[…, m]`; `params` single numbers. The leading
    /// axes are equal, or `y` (and `right`) has none.
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

/// Checks the inputs of a pair formula and finds its sizes: inputs are x, y, numbers of left and right rows,
/// parameters.
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
    // One set of right rows for a whole batch: the batch's left rows are as one.
    let batch: usize = if lead_y.is_empty() { 1 } else { lead_x.iter().product() };
    Ok((Sizes { batch, n: if lead_y.is_empty() { x.rows().len() } else { *n }, m: *m, width: *d }, shape))
}

/// Pairings of some left rows with some right ones: `s[i, j]`.
pub(crate) fn pairings<T: Float>(pairing: Pairing, x: &[T], y: &[T], width: usize, s: &mut [T]) {
    let (n, m) = (x.len() / width.max(1), y.len() / width.max(1));
    match pairing {
        Pairing::Dot => serial(Matrix::new(x, n, width), Matrix::new(y, m, width).transposed(), false, s),
        Pairing::SquaredDistance => dispatch(
            #[inline(always)]
            || {
                // Eight right rows side by side, coordinate by coordinate.
                T::with_scratch(width * LANES, |panel| {
                    for (block, y) in y.chunks(LANES * width).enumerate() {
                        let count = y.len() / width;
                        for c in 0..width {
                            for l in 0..LANES {
                                panel[c * LANES + l] = y[l.min(count - 1) * width + c];
                            }
                        }
                        for (i, x) in x.chunks_exact(width).enumerate() {
                            let mut sum = Lanes::<LANES, T>::splat(T::zero());
                            for (x, y) in x.iter().zip(panel.chunks_exact(LANES)) {
                                let d = Lanes::splat(*x) - load(y, 0.0);
                                sum = d.mul_add(d, sum);
                            }
                            sum.store(&mut s[i * m + block * LANES..][..count]);
                        }
                    }
                });
            },
        ),
    }
}

/// Gradients of rows from those of their pairings `w`, added to `dx` and `dy`.
pub(crate) fn pairings_gradient<T: Float>(
    pairing: Pairing,
    (x, y): (&[T], &[T]),
    width: usize,
    w: &[T],
    dx: Option<&mut [T]>,
    dy: Option<&mut [T]>,
) {
    let (n, m) = (x.len() / width.max(1), y.len() / width.max(1));
    let weights = Matrix::new(w, n, m);
    match pairing {
        Pairing::Dot => {
            if let Some(dx) = dx {
                serial(weights, Matrix::new(y, m, width), true, dx);
            }
            if let Some(dy) = dy {
                serial(weights.transposed(), Matrix::new(x, n, width), true, dy);
            }
        }
        // From differences: 2 w (x − y).
        Pairing::SquaredDistance => {
            let side = |rows: &[T], others: &[T], weight: &dyn Fn(usize, usize) -> T, out: &mut [T]| {
                for (i, (row, out)) in rows.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
                    for (j, other) in others.chunks_exact(width).enumerate() {
                        let w = weight(i, j) + weight(i, j);
                        for ((out, a), b) in out.iter_mut().zip(row).zip(other) {
                            *out = *out + w * (*a - *b);
                        }
                    }
                }
            };
            if let Some(dx) = dx {
                side(x, y, &|i, j| w[i * m + j], dx);
            }
            if let Some(dy) = dy {
                side(y, x, &|j, i| w[i * m + j], dy);
            }
        }
    }
}

/// Left rows of a tile: about 512 KiB of scores for `m` right rows in f32.
pub(crate) fn tile_rows(m: usize) -> usize {
    (128 * 1024 / m.max(1)).clamp(16, 128) / 16 * 16
}

/// One batch entry's part of each input.
pub(crate) struct Part<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) y: &'a [T],
    left: SmallVec<[&'a [T]; 4]>,
    right: SmallVec<[&'a [T]; 4]>,
    params: SmallVec<[f64; 4]>,
    width: usize,
}

impl<'a, T: Float> Part<'a, T> {
    /// Left rows `rows` (of all the batch's) with the right rows of batch entry `b`.
    pub(crate) fn of(
        inputs: &[View<'a, T>],
        [l, r, _]: [usize; 3],
        s: Sizes,
        b: usize,
        rows: Range<usize>,
    ) -> Self {
        let (left, rest) = inputs[2..].split_at(l);
        let (right, params) = rest.split_at(r);
        Part {
            x: &inputs[0].data[rows.start * s.width..rows.end * s.width],
            y: &inputs[1].data[b * s.m * s.width..(b + 1) * s.m * s.width],
            left: left.iter().map(|v| &v.data[rows.clone()]).collect(),
            right: right.iter().map(|v| &v.data[b * s.m..(b + 1) * s.m]).collect(),
            params: params.iter().map(|v| v.constant.unwrap_or_else(|| v.data[0].to_f64())).collect(),
            width: s.width,
        }
    }

    /// The numbers of some of the left rows and some of the right ones.
    pub(crate) fn tile(&self, left: Range<usize>, right: Range<usize>) -> Tile<'a, T> {
        Tile {
            columns: right.len(),
            left: self.left.iter().map(|v| &v[left.clone()]).collect(),
            right: self.right.iter().map(|v| &v[right.clone()]).collect(),
            params: self.params.clone(),
        }
    }

    /// Some of the left rows and some of the right ones.
    pub(crate) fn rows(&self, left: Range<usize>, right: Range<usize>) -> (&'a [T], &'a [T]) {
        let width = self.width;
        (&self.x[left.start * width..left.end * width], &self.y[right.start * width..right.end * width])
    }
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
        elementwise(inputs, [L, R, P], F::PAIRING, out, |tile, s| PairKernel::score(self, tile, s));
    }

    fn backward(&self, inputs: &[View<'_, T>], _: Outcome<'_, T>, g: &[T], grads: &mut [Option<&mut [T]>]) {
        let shapes = shapes(inputs);
        let (s, _) = sizes(&shapes, [L, R, P]).expect("checked");
        gradients(self, inputs, s, g, grads);
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
        let last = |v: Var<'t, T>| v.sum_axis(-1);
        let of_pairing = match F::PAIRING {
            Pairing::Dot => Var::sum_of([dx.map(|dx| dx.matmul_nt(y)), dy.map(|dy| x.matmul_nt(dy))]),
            Pairing::SquaredDistance => {
                let of_x = dx.map(|dx| column(last(x * dx)) - dx.matmul_nt(y));
                let of_y = dy.map(|dy| row(last(y * dy)) - x.matmul_nt(dy));
                Var::sum_of([of_x, of_y]).map(|d| d * 2.0)
            }
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

/// Pairings of all rows, then `work` on them, tile by tile.
fn elementwise<T: Float>(
    inputs: &[View<'_, T>],
    counts: [usize; 3],
    pairing: Pairing,
    out: &mut [T],
    work: impl Fn(&Tile<'_, T>, &mut [T]) + Sync,
) {
    let shapes = shapes(inputs);
    let (s, _) = sizes(&shapes, counts).expect("checked");
    let cost = 1 + s.m * (s.width / 16 + 2);
    parallel::for_each_part(out, s.m, 16, cost, |range, out| {
        let mut rest = out;
        let mut start = range.start;
        while start < range.end {
            // A tile stays within one batch entry.
            let b = start / s.n;
            let end = range.end.min(start + tile_rows(s.m)).min((b + 1) * s.n);
            let part = Part::of(inputs, counts, s, b, start..end);
            let tile = split_front(&mut rest, (end - start) * s.m);
            pairings(pairing, part.x, part.y, s.width, tile);
            work(&part.tile(0..end - start, 0..s.m), tile);
            start = end;
        }
    });
}

/// Left rows are split into at most this many chunks if there is one batch entry: each has its own sum for the
/// right rows.
const CHUNKS: usize = 4;

/// What one job of the reverse pass works on: some left rows of one batch entry, or some batch entries.
struct Job<'a, T> {
    rows: Range<usize>,
    g: &'a [T],
    dx: Option<&'a mut [T]>,
    dleft: SmallVec<[Option<&'a mut [T]>; 4]>,
    dy: Option<Side<'a, T>>,
    dright: SmallVec<[Option<Side<'a, T>>; 4]>,
    dparams: SmallVec<[Option<f64>; 4]>,
}

/// The gradient of right rows: in place, or this job's share of a sum.
enum Side<'a, T> {
    Own(&'a mut [T]),
    Share(Vec<T>),
}

impl<'a, T: Float> Side<'a, T> {
    /// A share of `len` elements, or the next `len` elements of a gradient.
    fn of(rest: &mut &'a mut [T], share: bool, len: usize) -> Self {
        if share { Side::Share(vec![T::zero(); len]) } else { Side::Own(split_front(rest, len)) }
    }

    fn slice(&mut self) -> &mut [T] {
        match self {
            Side::Own(slice) => slice,
            Side::Share(sum) => sum,
        }
    }
}

/// The reverse pass of a pair formula.
fn gradients<T: Float>(
    kernel: &dyn PairKernel<T>,
    inputs: &[View<'_, T>],
    s: Sizes,
    g: &[T],
    grads: &mut [Option<&mut [T]>],
) {
    let counts = kernel.counts();
    let [l, r, p] = counts;
    let shared = s.batch == 1;
    let cost = 1 + s.m * (s.width / 8 + 4);
    let mut ranges = parallel::pieces(s.batch * s.n, if shared { 16 } else { s.n.max(1) }, cost);
    if shared && ranges.len() > CHUNKS {
        let step = s.n.div_ceil(CHUNKS).next_multiple_of(16);
        ranges = (0..s.n).step_by(step).map(|i| i..s.n.min(i + step)).collect();
    }
    let share = shared && ranges.len() > 1;
    grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
    let (dx, rest) = grads.split_at_mut(1);
    let (dy, rest) = rest.split_at_mut(1);
    let (dleft, rest) = rest.split_at_mut(l);
    let (dright, dparams) = rest.split_at_mut(r);
    {
        let mut dx = dx[0].as_deref_mut();
        let mut dy_rest = dy[0].as_deref_mut();
        let mut dleft_rest: SmallVec<[Option<&mut [T]>; 4]> =
            dleft.iter_mut().map(|d| d.as_deref_mut()).collect();
        let mut dright_rest: SmallVec<[Option<&mut [T]>; 4]> =
            dright.iter_mut().map(|d| d.as_deref_mut()).collect();
        let mut jobs: SmallVec<[Job<'_, T>; PIECES]> = SmallVec::new();
        for rows in ranges {
            let entries = if shared { 1 } else { rows.len() / s.n.max(1) };
            jobs.push(Job {
                g: &g[rows.start * s.m..rows.end * s.m],
                dx: dx.as_mut().map(|dx| split_front(dx, rows.len() * s.width)),
                dleft: dleft_rest
                    .iter_mut()
                    .map(|d| d.as_mut().map(|d| split_front(d, rows.len())))
                    .collect(),
                dy: dy_rest.as_mut().map(|d| Side::of(d, share, entries * s.m * s.width)),
                dright: dright_rest
                    .iter_mut()
                    .map(|d| d.as_mut().map(|d| Side::of(d, share, entries * s.m)))
                    .collect(),
                dparams: dparams.iter().map(|d| d.as_ref().map(|_| 0.0)).collect(),
                rows,
            });
        }
        drop((dleft_rest, dright_rest));
        parallel::run(&mut jobs, |job| run_job(kernel, inputs, s, job));
        let mut sums: SmallVec<[f64; 4]> = SmallVec::from_elem(0.0, p);
        let mut shares: SmallVec<[(usize, Vec<T>); 16]> = SmallVec::new();
        for job in jobs {
            for (sum, share) in sums.iter_mut().zip(&job.dparams) {
                *sum += share.unwrap_or(0.0);
            }
            for (k, side) in std::iter::once(job.dy).chain(job.dright).enumerate() {
                if let Some(Side::Share(share)) = side {
                    shares.push((k, share));
                }
            }
        }
        for (grad, sum) in dparams.iter_mut().zip(sums) {
            if let Some(grad) = grad {
                grad[0] = T::nearest(sum);
            }
        }
        for (k, share) in shares {
            let grad = if k == 0 { &mut dy[0] } else { &mut dright[k - 1] };
            if let Some(grad) = grad.as_deref_mut() {
                crate::kernels::index::add(grad, &share);
            }
        }
    }
}

fn run_job<T: Float>(kernel: &dyn PairKernel<T>, inputs: &[View<'_, T>], s: Sizes, job: &mut Job<'_, T>) {
    let step = tile_rows(s.m);
    T::with_scratch(2 * step * s.m, |scratch| {
        let (pairs, weights) = scratch.split_at_mut(step * s.m);
        let mut start = job.rows.start;
        while start < job.rows.end {
            let b = start / s.n;
            let end = job.rows.end.min(start + step).min((b + 1) * s.n);
            let part = Part::of(inputs, kernel.counts(), s, b, start..end);
            let (pairs, weights) = (&mut pairs[..(end - start) * s.m], &mut weights[..(end - start) * s.m]);
            let first = start - job.rows.start;
            let here = first..first + (end - start);
            // The batch entry's place among this job's.
            let entry = if s.batch == 1 { 0 } else { b - job.rows.start / s.n };
            pairings(kernel.pairing(), part.x, part.y, s.width, pairs);
            weights.copy_from_slice(&job.g[here.start * s.m..here.end * s.m]);
            let mut grads = TileGradients {
                left: job.dleft.iter_mut().map(|d| d.as_deref_mut().map(|d| &mut d[here.clone()])).collect(),
                right: job
                    .dright
                    .iter_mut()
                    .map(|d| d.as_mut().map(|d| &mut d.slice()[entry * s.m..(entry + 1) * s.m]))
                    .collect(),
                params: job.dparams.clone(),
            };
            kernel.gradient(&part.tile(0..end - start, 0..s.m), pairs, weights, &mut grads);
            job.dparams = grads.params;
            let dx = job.dx.as_deref_mut().map(|dx| &mut dx[here.start * s.width..here.end * s.width]);
            let size = s.m * s.width;
            let dy = job.dy.as_mut().map(|dy| &mut dy.slice()[entry * size..(entry + 1) * size]);
            pairings_gradient(kernel.pairing(), (part.x, part.y), s.width, weights, dx, dy);
            start = end;
        }
    });
}

/// The partial derivative of a pair formula by its pairing (0) or one of its numbers, of all pairs.
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
        elementwise(inputs, [L, R, P], F::PAIRING, out, |tile, s| kernel.partial(tile, self.which, s));
    }
    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        panic!("{}: second derivatives of pair formulas are not offered", F::NAME)
    }
}
