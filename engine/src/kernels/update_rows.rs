//! Updates in place: rows that are rewritten from their own old values, as the steps of optimisers on
//! manifolds do. No gradient flows through them.

use std::ops::Range;

use crate::formula::domain::Domain;
use crate::kernels::gram::GROUPS;
use crate::kernels::wedge;
use crate::numbers::compensated::Compensated;
use crate::numbers::lanes::Lanes;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Block, LANES, dispatch, dispatch_blocks, for_each_block};
use crate::numbers::storage::Storage;

/// An operation that commutes with rotations and rewrites the first `W` of its `V` vectors, and `K` numbers
/// that are kept for each row. Each is read once and written once. Inner products are all that it needs, as
/// for a [`RowFormula`](crate::RowFormula).
pub trait RowUpdate<const V: usize, const W: usize, const K: usize>: Sync {
    /// Where the first vector must lie.
    const DOMAIN: Domain;

    /// Sectional curvature of that domain.
    fn kappa(&self) -> f64;

    /// Takes the margin 1 + κ‖v₀‖², the inner products of the vectors, the areas
    /// `⟨v₀, v₀⟩⟨vₐ, v_b⟩ − ⟨v₀, vₐ⟩⟨v₀, v_b⟩`, and the numbers. The areas are
    /// accurate also where vectors are nearly parallel to v₀. Returns the coefficients of each rewritten
    /// vector, and the new numbers.
    fn eval<S: Scalar>(
        &self,
        margin: S,
        products: [[S; V]; V],
        areas: [[S; V]; V],
        numbers: [S; K],
    ) -> ([[S; V]; W], [S; K]);
}

/// Rows whose update is evaluated side by side. [`GROUPS`] groups of them are read before that.
const ROWS: usize = 4;

/// Applies an update to rows of `width` elements, on the calling thread.
///
/// # Errors
/// The first row in which something would not be finite in storage: a coordinate, a number or, where the
/// curvature is not negative, the margin. That row and those after it are unchanged.
///
/// # Panics
/// If the slices do not hold equally many rows.
#[track_caller]
#[inline(never)]
pub fn update_rows<U, T, const V: usize, const W: usize, const K: usize, const N: usize>(
    update: &U,
    written: [&mut [T]; W],
    read: [&[T]; N],
    numbers: [&mut [T]; K],
    width: usize,
) -> Result<(), usize>
where
    U: RowUpdate<V, W, K>,
    T: Storage,
{
    const { assert!(V == W + N && W > 0, "the rewritten vectors come first, then those that are read only") };
    let len = written[0].len();
    assert!(
        width > 0
            && len.is_multiple_of(width)
            && written.iter().all(|w| w.len() == len)
            && read.iter().all(|r| r.len() == len)
            && numbers.iter().all(|n| n.len() * width == len),
        "update_rows: as many rows of {width} elements are needed everywhere"
    );
    dispatch_blocks!(S, (written, numbers), |(written, numbers)| {
        rewrite::<U, T, S, V, W, K, N>(update, written, read, numbers, width)
    })
}

#[inline(always)]
fn rewrite<U, T, S, const V: usize, const W: usize, const K: usize, const N: usize>(
    update: &U,
    mut written: [&mut [T]; W],
    read_only: [&[T]; N],
    numbers: [&mut [T]; K],
    width: usize,
) -> Result<(), usize>
where
    U: RowUpdate<V, W, K>,
    T: Storage,
    S: Block,
{
    let (rows, kappa) = (written[0].len() / width, Lanes::splat(update.kappa()));
    let zero = Lanes::splat(0.0);
    let nothing = Old { margin: zero, products: [[zero; V]; V], areas: [[zero; V]; V], numbers: [zero; K] };
    let mut old = [nothing; GROUPS];
    let mut new = [([[zero; V]; W], [zero; K]); GROUPS];
    let mut survey = Survey::<S, V>::new(kappa);
    let (kappa_above_one, largest_square) =
        (update.kappa().max(1.0), (T::LARGEST * T::LARGEST).min(f64::MAX));
    for start in (0..rows).step_by(GROUPS * ROWS) {
        let groups = (rows - start).div_ceil(ROWS).min(GROUPS);
        for (group, old) in old[..groups].iter_mut().enumerate() {
            let p = start + group * ROWS;
            let count = ROWS.min(rows - p);
            survey.read::<T, W, K, N>(&written, &read_only, &numbers, p..p + count, width, old);
        }
        evaluate(update, &old[..groups], &mut new[..groups]);
        for (group, (coefficients, kept)) in new[..groups].iter().enumerate() {
            let p = start + group * ROWS;
            let count = ROWS.min(rows - p);
            let bounds = bounds(coefficients, &old[group].products);
            let mut good = 0;
            while good < count {
                let fits = |bound: Lanes<ROWS>| bound.get(good) * kappa_above_one <= largest_square;
                let row = (p + good) * width..(p + good + 1) * width;
                if !(bounds.iter().all(|&bound| fits(bound))
                    || fits_exactly::<T, V, W, N>(
                        &written,
                        &read_only,
                        coefficients,
                        good,
                        row,
                        update.kappa(),
                    ))
                    || kept.iter().any(|kept| !T::nearest(kept.get(good)).is_finite())
                {
                    break;
                }
                good += 1;
            }
            let mut squares = [Compensated::<S>::default(); ROWS];
            for l in 0..good {
                let row = (p + l) * width..(p + l + 1) * width;
                squares[l] = combine::<U, T, S, V, W, K, N>(&mut written, &read_only, coefficients, l, row);
                for k in 0..K {
                    numbers[k][p + l] = T::nearest(kept[k].get(l));
                }
            }
            if U::DOMAIN != Domain::Free {
                let margins = Compensated::totals::<T, ROWS>(&squares).margin(kappa);
                for l in 0..good {
                    if U::DOMAIN != Domain::Ball || !(margins.get(l) > 0.0) {
                        let row = (p + l) * width..(p + l + 1) * width;
                        U::DOMAIN.settle(&mut written[0][row], update.kappa());
                    }
                }
            }
            if good < count {
                return Err(p + good);
            }
        }
    }
    Ok(())
}

/// For each rewritten vector a bound of its square, from the squares of the vectors that it combines:
/// `‖Σ cᵦ vᵦ‖² ≤ V Σ cᵦ² ‖vᵦ‖²`. Not finite where a coefficient is not finite.
#[inline(always)]
fn bounds<const V: usize, const W: usize>(
    coefficients: &[[Lanes<ROWS>; V]; W],
    products: &[[Lanes<ROWS>; V]; V],
) -> [Lanes<ROWS>; W] {
    let mut bounds = [Lanes::splat(0.0); W];
    for w in 0..W {
        for b in 0..V {
            let c = coefficients[w][b];
            bounds[w] = bounds[w] + c * c * products[b][b];
        }
        bounds[w] = bounds[w] * Lanes::splat(V as f64);
    }
    bounds
}

/// For rows beyond the [`bounds`]: whether the rewritten vectors of a row would be finite in storage
/// and, where the curvature is not negative, the margin of the first one too.
#[cold]
#[inline(never)]
fn fits_exactly<T: Storage, const V: usize, const W: usize, const N: usize>(
    written: &[&mut [T]; W],
    read_only: &[&[T]; N],
    coefficients: &[[Lanes<ROWS>; V]; W],
    l: usize,
    row: Range<usize>,
    kappa: f64,
) -> bool {
    let vectors = self::row::<T, V, W, N>(written, read_only, row);
    coefficients.iter().enumerate().all(|(w, coefficients)| {
        let mut square = 0.0;
        let finite = (0..vectors[0].len()).all(|i| {
            let terms = (0..V).map(|b| coefficients[b].get(l) * vectors[b][i].to_f64());
            let new = T::nearest(terms.sum());
            square += new.to_f64() * new.to_f64();
            new.is_finite()
        });
        finite && (w > 0 || kappa < 0.0 || (kappa.max(1.0) * square).is_finite())
    })
}

/// What an update is evaluated on: a row in each lane.
#[derive(Clone, Copy)]
struct Old<const V: usize, const K: usize> {
    margin: Lanes<ROWS>,
    products: [[Lanes<ROWS>; V]; V],
    areas: [[Lanes<ROWS>; V]; V],
    numbers: [Lanes<ROWS>; K],
}

/// What an update returns for them: the coefficients of each rewritten vector, and the new numbers.
type New<const V: usize, const W: usize, const K: usize> = ([[Lanes<ROWS>; V]; W], [Lanes<ROWS>; K]);

/// An update of several groups of rows, in a function of its own as [row formulas](crate::kernels::gram) are.
#[inline(never)]
fn evaluate<U, const V: usize, const W: usize, const K: usize>(
    update: &U,
    old: &[Old<V, K>],
    new: &mut [New<V, W, K>],
) where
    U: RowUpdate<V, W, K>,
{
    dispatch(
        #[inline(always)]
        || {
            for (old, new) in old.iter().zip(new) {
                *new = update.eval(old.margin, old.products, old.areas, old.numbers);
            }
        },
    );
}

/// Reads rows, at most [`ROWS`] at a time. One `Survey` serves all of them: values of earlier rows are
/// overwritten or ignored.
struct Survey<S, const V: usize> {
    kappa: Lanes<ROWS>,
    /// Inner products of each row, before they are summed over the lanes of a block.
    sums: [[[S; ROWS]; V]; V],
    squares: [Compensated<S>; ROWS],
    /// The inner products of the vectors' residuals, which are orthogonal to the first vector but for
    /// rounding: with each other, and with the first one.
    residuals: [[[S; ROWS]; V]; V],
    along: [[S; ROWS]; V],
}

impl<S: Block, const V: usize> Survey<S, V> {
    #[inline(always)]
    fn new(kappa: Lanes<ROWS>) -> Self {
        let zero = S::splat(0.0);
        Survey {
            kappa,
            sums: [[[zero; ROWS]; V]; V],
            squares: [Compensated::default(); ROWS],
            residuals: [[[zero; ROWS]; V]; V],
            along: [[zero; ROWS]; V],
        }
    }

    /// Reads some rows into `old`.
    #[inline(always)]
    fn read<T: Storage, const W: usize, const K: usize, const N: usize>(
        &mut self,
        written: &[&mut [T]; W],
        read_only: &[&[T]; N],
        numbers: &[&mut [T]; K],
        rows: Range<usize>,
        width: usize,
        old: &mut Old<V, K>,
    ) {
        let zero = S::splat(0.0);
        for (l, p) in rows.clone().enumerate() {
            let row = row::<T, V, W, N>(written, read_only, p * width..(p + 1) * width);
            let (mut products, mut square) = ([[zero; V]; V], Compensated::<S>::default());
            for_each_block(
                width,
                &row,
                None,
                false,
                #[inline(always)]
                |_, v: [S; V], _| {
                    square.add_square::<T>(v[0]);
                    for a in 0..V {
                        for b in a.max(1)..V {
                            products[a][b] = v[a].mul_add(v[b], products[a][b]);
                        }
                    }
                },
            );
            self.squares[l] = square;
            for a in 0..V {
                for b in a.max(1)..V {
                    self.sums[a][b][l] = products[a][b];
                }
            }
            for k in 0..K {
                old.numbers[k].set(l, numbers[k][p].to_f64());
            }
        }
        for a in 0..V {
            for b in a.max(1)..V {
                old.products[a][b] = S::sums(&self.sums[a][b]);
                old.products[b][a] = old.products[a][b];
            }
        }
        let square = Compensated::totals::<T, ROWS>(&self.squares);
        old.products[0][0] = square.value();
        old.margin = square.margin(self.kappa);
        // Lanes without a row have nothing to refine.
        let mut wide = [true; ROWS];
        for a in 1..V {
            for b in a..V {
                let products = products_of(&old.products, a, b);
                let area = wedge::by_products(&products);
                (old.areas[a][b], old.areas[b][a]) = (area, area);
                for l in 0..rows.len() {
                    wide[l] &= a != b || wedge::wide(area, &products).get(l);
                }
            }
        }
        if wide != [true; ROWS] {
            self.refine::<T, W, K, N>(written, read_only, wide, rows, width, old);
        }
    }

    /// Recomputes the areas of the rows where some vector is not at a [`wide`](wedge::wide) angle to the
    /// first one.
    #[inline(always)]
    fn refine<T: Storage, const W: usize, const K: usize, const N: usize>(
        &mut self,
        written: &[&mut [T]; W],
        read_only: &[&[T]; N],
        wide: [bool; ROWS],
        rows: Range<usize>,
        width: usize,
        old: &mut Old<V, K>,
    ) {
        let (zero, products) = (S::splat(0.0), &old.products);
        let mut slopes = [Lanes::splat(0.0); V];
        for a in 1..V {
            slopes[a] = products[0][a] / products[0][0];
        }
        for (l, p) in rows.enumerate() {
            if wide[l] {
                continue;
            }
            let row = row::<T, V, W, N>(written, read_only, p * width..(p + 1) * width);
            let (mut residuals, mut along, mut slope) = ([[zero; V]; V], [zero; V], [zero; V]);
            for a in 1..V {
                slope[a] = S::splat(slopes[a].get(l));
            }
            for_each_block(
                width,
                &row,
                None,
                false,
                #[inline(always)]
                |_, v: [S; V], _| {
                    let mut residual = v;
                    for a in 1..V {
                        residual[a] = slope[a].mul_sub(v[0], v[a]);
                        along[a] = residual[a].mul_add(v[0], along[a]);
                        for b in 1..=a {
                            residuals[b][a] = residual[b].mul_add(residual[a], residuals[b][a]);
                        }
                    }
                },
            );
            for a in 1..V {
                self.along[a][l] = along[a];
                for b in a..V {
                    self.residuals[a][b][l] = residuals[a][b];
                }
            }
        }
        let mut along = [Lanes::splat(0.0); V];
        for a in 1..V {
            along[a] = S::sums(&self.along[a]);
        }
        for a in 1..V {
            for b in a..V {
                let residuals = [S::sums(&self.residuals[a][b]), along[a], along[b]];
                let area = wedge::value(&products_of(products, a, b), residuals);
                for l in 0..ROWS {
                    if !wide[l] {
                        old.areas[a][b].set(l, area.get(l));
                        old.areas[b][a].set(l, area.get(l));
                    }
                }
            }
        }
    }
}

/// The vectors of a row.
#[inline(always)]
fn row<'a, T, const V: usize, const W: usize, const N: usize>(
    written: &'a [&mut [T]; W],
    read_only: &[&'a [T]; N],
    range: Range<usize>,
) -> [&'a [T]; V] {
    let mut row = [[].as_slice(); V];
    for i in 0..W {
        row[i] = &written[i][range.clone()];
    }
    for i in 0..N {
        row[W + i] = &read_only[i][range.clone()];
    }
    row
}

/// What the area of v₀ with vₐ and v_b is computed from.
#[inline(always)]
fn products_of<const V: usize>(products: &[[Lanes<ROWS>; V]; V], a: usize, b: usize) -> [Lanes<ROWS>; 4] {
    [products[0][0], products[0][a], products[0][b], products[a][b]]
}

/// Rewrites the vectors of a row by lane `l` of the coefficients. Returns the square of the first one,
/// where its domain is a ball.
#[inline(always)]
fn combine<U, T, S, const V: usize, const W: usize, const K: usize, const N: usize>(
    written: &mut [&mut [T]; W],
    read_only: &[&[T]; N],
    coefficients: &[[Lanes<ROWS>; V]; W],
    l: usize,
    row: Range<usize>,
) -> Compensated<S>
where
    U: RowUpdate<V, W, K>,
    T: Storage,
    S: Block,
{
    let mut square = Compensated::<S>::default();
    let count = row.len() / LANES;
    // Split here, so that there is nothing to check in the loop.
    let (mut out, mut ends) = ([const { empty::<[T; LANES]>() }; W], [const { empty::<T>() }; W]);
    for (i, written) in written.iter_mut().enumerate() {
        let (blocks, end) = written[row.clone()].as_chunks_mut();
        (out[i], ends[i]) = (&mut blocks[..count], end);
    }
    let (mut given, mut given_ends) = ([[].as_slice(); N], [[].as_slice(); N]);
    for (i, read) in read_only.iter().enumerate() {
        let (blocks, end) = read[row.clone()].as_chunks();
        (given[i], given_ends[i]) = (&blocks[..count], end);
    }
    let mut v = [S::splat(0.0); V];
    for at in 0..count {
        for i in 0..W {
            v[i] = S::load(&out[i][at]);
        }
        for i in 0..N {
            v[W + i] = S::load(&given[i][at]);
        }
        let new = combined::<U, T, S, V, W, K>(coefficients, l, v, &mut square);
        for i in 0..W {
            new[i].store(&mut out[i][at]);
        }
    }
    if count * LANES < row.len() {
        for i in 0..W {
            v[i] = S::load_part(ends[i]);
        }
        for i in 0..N {
            v[W + i] = S::load_part(given_ends[i]);
        }
        let new = combined::<U, T, S, V, W, K>(coefficients, l, v, &mut square);
        for i in 0..W {
            new[i].store_part(ends[i]);
        }
    }
    square
}

/// The rewritten vectors at some of the coordinates. The square of the first one is added up where its
/// domain is a ball.
#[inline(always)]
fn combined<U, T, S, const V: usize, const W: usize, const K: usize>(
    coefficients: &[[Lanes<ROWS>; V]; W],
    l: usize,
    v: [S; V],
    square: &mut Compensated<S>,
) -> [S; W]
where
    U: RowUpdate<V, W, K>,
    T: Storage,
    S: Block,
{
    let mut new = [S::splat(0.0); W];
    for w in 0..W {
        new[w] = S::splat(coefficients[w][0].get(l)) * v[0];
        for b in 1..V {
            new[w] = S::splat(coefficients[w][b].get(l)).mul_add(v[b], new[w]);
        }
    }
    if U::DOMAIN == Domain::Ball {
        square.add_square::<T>(new[0].rounded::<T>());
    }
    new
}

const fn empty<'a, T>() -> &'a mut [T] {
    &mut []
}
