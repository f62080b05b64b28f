//! Updates in place: rows and elements that are rewritten from their own old values, as the steps of optimisers do.
//! No gradient flows through them.

use std::ops::Range;

use crate::domain::Compensated;
use crate::kernels::gram::GROUPS;
use crate::simd::{Avx2, Avx512, Block, LANES, Portable, dispatch_wide, for_each_block, read};
use crate::{Domain, Float, Lanes, Scalar};

/// An operation that commutes with rotations and rewrites the first `W` of its `V` vectors, with `K` numbers that are
/// kept for each row: one read and one write of each. See [`RowFormula`](crate::RowFormula) for why inner products are
/// all that it needs.
pub trait RowUpdate<const V: usize, const W: usize, const K: usize>: Sync {
    /// Where the first vector must lie.
    const DOMAIN: Domain;

    /// Sectional curvature of that domain.
    fn kappa(&self) -> f64;

    /// From the margin 1 + κ‖v₀‖², the inner products of the vectors and the numbers: the coefficients of each
    /// rewritten vector, and the new numbers.
    fn eval<S: Scalar>(&self, margin: S, products: [[S; V]; V], numbers: [S; K]) -> ([[S; V]; W], [S; K]);
}

/// Rows whose update is evaluated side by side; [`GROUPS`] times as many are read before.
const ROWS: usize = 4;

/// Applies an update to rows of `width` elements, on the calling thread.
///
/// # Errors
/// The first row whose coefficients are not finite. It and those after it are unchanged.
///
/// # Panics
/// If the slices do not hold equally many rows.
#[track_caller]
pub fn update_rows<U, T, const V: usize, const W: usize, const K: usize, const N: usize>(
    update: &U,
    written: [&mut [T]; W],
    read: [&[T]; N],
    numbers: [&mut [T]; K],
    width: usize,
) -> Result<(), usize>
where
    U: RowUpdate<V, W, K>,
    T: Float,
{
    const { assert!(V == W + N && W > 0, "the rewritten vectors come first, then those that are read only") };
    let len = written[0].len();
    assert!(
        written.iter().all(|w| w.len() == len)
            && read.iter().all(|r| r.len() == len)
            && numbers.iter().all(|n| n.len() * width == len),
        "update_rows: as many rows of {width} elements are needed everywhere"
    );
    dispatch_wide(
        (written, numbers),
        #[inline(always)]
        |(written, numbers)| rewrite::<U, T, Avx512, V, W, K, N>(update, written, read, numbers, width),
        #[inline(always)]
        |(written, numbers)| rewrite::<U, T, Avx2, V, W, K, N>(update, written, read, numbers, width),
        #[inline(always)]
        |(written, numbers)| rewrite::<U, T, Portable, V, W, K, N>(update, written, read, numbers, width),
    )
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
    T: Float,
    S: Block,
{
    let (rows, kappa) = (written[0].len() / width, Lanes::splat(update.kappa()));
    let zero = Lanes::splat(0.0);
    let mut old = [Old { margin: zero, products: [[zero; V]; V], numbers: [zero; K] }; GROUPS];
    let mut new = [([[zero; V]; W], [zero; K]); GROUPS];
    for start in (0..rows).step_by(GROUPS * ROWS) {
        let groups = (rows - start).div_ceil(ROWS).min(GROUPS);
        for (group, old) in old[..groups].iter_mut().enumerate() {
            let p = start + group * ROWS;
            let count = ROWS.min(rows - p);
            *old = survey::<T, S, V, W, K, N>(&written, &read_only, &numbers, p..p + count, width, kappa);
        }
        for (old, new) in old[..groups].iter().zip(&mut new) {
            *new = update.eval(old.margin, old.products, old.numbers);
        }
        for (group, (coefficients, kept)) in new[..groups].iter().enumerate() {
            let p = start + group * ROWS;
            let count = ROWS.min(rows - p);
            // 0 · x is NaN for what is not finite.
            let mut bad = zero;
            for w in 0..W {
                for b in 0..V {
                    bad = bad + coefficients[w][b] * zero;
                }
            }
            for k in 0..K {
                bad = bad + kept[k] * zero;
            }
            let good = bad.to_array().iter().take(count).take_while(|x| x.is_finite()).count();
            let mut squares = [Compensated::<S>::default(); ROWS];
            for l in 0..good {
                let start = (p + l) * width;
                squares[l] =
                    combine::<U, T, S, V, W, K, N>(&mut written, &read_only, coefficients, l, start, width);
                for k in 0..K {
                    numbers[k][p + l] = T::nearest(kept[k].get(l));
                }
            }
            if U::DOMAIN != Domain::Free {
                let margins = Compensated::totals::<T, ROWS>(&squares).margin(kappa);
                for l in 0..good {
                    if U::DOMAIN != Domain::Ball || !(margins.get(l) > 0.0) {
                        let start = (p + l) * width;
                        U::DOMAIN.settle(&mut written[0][start..start + width], update.kappa());
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

/// What an update is evaluated on: a row in each lane.
#[derive(Clone, Copy)]
struct Old<const V: usize, const K: usize> {
    margin: Lanes<ROWS>,
    products: [[Lanes<ROWS>; V]; V],
    numbers: [Lanes<ROWS>; K],
}

/// Reads some rows, at most [`ROWS`].
#[inline(always)]
fn survey<T: Float, S: Block, const V: usize, const W: usize, const K: usize, const N: usize>(
    written: &[&mut [T]; W],
    read_only: &[&[T]; N],
    numbers: &[&mut [T]; K],
    rows: Range<usize>,
    width: usize,
    kappa: Lanes<ROWS>,
) -> Old<V, K> {
    let zero = S::splat(0.0);
    let (mut sums, mut squares) = ([[[zero; ROWS]; V]; V], [Compensated::<S>::default(); ROWS]);
    let mut old = Old {
        margin: Lanes::splat(0.0),
        products: [[Lanes::splat(0.0); V]; V],
        numbers: [Lanes::splat(0.0); K],
    };
    for (l, p) in rows.enumerate() {
        let start = p * width;
        let mut row = [[].as_slice(); V];
        for i in 0..W {
            row[i] = &written[i][start..][..width];
        }
        for i in 0..N {
            row[W + i] = &read_only[i][start..][..width];
        }
        let (mut of_row, mut square) = ([[zero; V]; V], Compensated::<S>::default());
        for_each_block(
            width,
            &row,
            None,
            #[inline(always)]
            |_, v: [S; V], _| {
                square.add_square::<T>(v[0]);
                for a in 0..V {
                    for b in a.max(1)..V {
                        of_row[a][b] = of_row[a][b] + v[a] * v[b];
                    }
                }
            },
        );
        squares[l] = square;
        for a in 0..V {
            for b in a.max(1)..V {
                sums[a][b][l] = of_row[a][b];
            }
        }
        for k in 0..K {
            old.numbers[k].set(l, numbers[k][p].to_f64());
        }
    }
    for a in 0..V {
        for b in a.max(1)..V {
            old.products[a][b] = S::sums(&sums[a][b]);
            old.products[b][a] = old.products[a][b];
        }
    }
    let square = Compensated::totals::<T, ROWS>(&squares);
    old.products[0][0] = square.value();
    old.margin = square.margin(kappa);
    old
}

/// Rewrites the vectors of the row that starts at element `start` by lane `l` of the coefficients. Returns the square of the
/// first one, where its domain is a ball.
#[inline(always)]
fn combine<U, T, S, const V: usize, const W: usize, const K: usize, const N: usize>(
    written: &mut [&mut [T]; W],
    read_only: &[&[T]; N],
    coefficients: &[[Lanes<ROWS>; V]; W],
    l: usize,
    start: usize,
    width: usize,
) -> Compensated<S>
where
    U: RowUpdate<V, W, K>,
    T: Float,
    S: Block,
{
    let mut square = Compensated::<S>::default();
    for c in (0..width).step_by(LANES) {
        let v: [S; V] = vectors(written, read_only, start + c, width - c);
        for w in 0..W {
            let mut y = S::splat(0.0);
            for b in 0..V {
                y = y + S::splat(coefficients[w][b].get(l)) * v[b];
            }
            let mut stored = [T::zero(); LANES];
            y.store(&mut stored);
            if w == 0 && U::DOMAIN == Domain::Ball {
                square.add_square::<T>(S::load(&stored));
            }
            // No more than the row's own: what lies beyond is still to be read.
            match written[w][start + c..].first_chunk_mut::<LANES>() {
                Some(out) if width - c >= LANES => *out = stored,
                _ => written[w][start + c..start + width].copy_from_slice(&stored[..width - c]),
            }
        }
    }
    square
}

/// Some consecutive elements of all vectors of a row, from element `at` on; `left` of them are in the row.
#[inline(always)]
fn vectors<T: Float, S: Block, const V: usize, const W: usize, const N: usize>(
    written: &[&mut [T]; W],
    read_only: &[&[T]; N],
    at: usize,
    left: usize,
) -> [S; V] {
    let mut v = [S::splat(0.0); V];
    for i in 0..W {
        v[i] = read(&*written[i], at, left);
    }
    for i in 0..N {
        v[W + i] = read(read_only[i], at, left);
    }
    v
}

/// Elements that [`update_elements`] works on side by side.
pub const ELEMENTS: usize = 16;

/// So many elements of a type.
type Elements<T> = Lanes<ELEMENTS, T>;

/// Rewrites elements, each from its own old values, `K` numbers that are kept for it and those that are read only, on
/// the calling thread, in the arithmetic of their type.
///
/// # Errors
/// The first element of the first slice that is not finite now. All are rewritten.
///
/// # Panics
/// If the slices are not of one length.
#[track_caller]
pub fn update_elements<T: Float, const W: usize, const K: usize, const N: usize>(
    written: [&mut [T]; W],
    numbers: [&mut [T]; K],
    read: [&[T]; N],
    update: impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> ([Elements<T>; W], [Elements<T>; K]),
) -> Result<(), usize> {
    let len = written[0].len();
    assert!(
        written.iter().chain(&numbers).all(|w| w.len() == len) && read.iter().all(|r| r.len() == len),
        "update_elements: slices of one length are needed"
    );
    dispatch_wide(
        (written, numbers),
        #[inline(always)]
        |(written, numbers)| rewrite_elements(written, numbers, read, &update),
        #[inline(always)]
        |(written, numbers)| rewrite_elements(written, numbers, read, &update),
        #[inline(always)]
        |(written, numbers)| rewrite_elements(written, numbers, read, &update),
    )
}

#[inline(always)]
fn rewrite_elements<T: Float, const W: usize, const K: usize, const N: usize>(
    written: [&mut [T]; W],
    numbers: [&mut [T]; K],
    read: [&[T]; N],
    update: &impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> ([Elements<T>; W], [Elements<T>; K]),
) -> Result<(), usize> {
    let len = written[0].len();
    let zero = Elements::<T>::splat(T::zero());
    // 0 · x is NaN for what is not finite.
    let mut bad = zero;
    for at in (0..len).step_by(ELEMENTS) {
        let end = len.min(at + ELEMENTS);
        let (mut old, mut kept, mut given) = ([zero; W], [zero; K], [zero; N]);
        for i in 0..W {
            old[i] = Lanes::load(&written[i][at..end], 0.0);
        }
        for k in 0..K {
            kept[k] = Lanes::load(&numbers[k][at..end], 0.0);
        }
        for i in 0..N {
            given[i] = Lanes::load(&read[i][at..end], 0.0);
        }
        let (new, kept) = update(old, kept, given);
        bad = bad + new[0] * zero;
        for i in 0..W {
            new[i].store(&mut written[i][at..end]);
        }
        for k in 0..K {
            kept[k].store(&mut numbers[k][at..end]);
        }
    }
    if bad.to_array().iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    // A lane beyond the end may be the bad one.
    written[0].iter().position(|x| !x.is_finite()).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x ← x − 2⟨x, g⟩ g, and the number with ⟨g, g⟩ added.
    struct Reflect;

    impl RowUpdate<2, 1, 1> for Reflect {
        const DOMAIN: Domain = Domain::Ball;
        fn kappa(&self) -> f64 {
            -1.0
        }
        fn eval<S: Scalar>(&self, _: S, products: [[S; 2]; 2], [n]: [S; 1]) -> ([[S; 2]; 1], [S; 1]) {
            ([[S::one(), S::constant(-2.0) * products[0][1]]], [n + products[1][1]])
        }
    }

    /// Of a bad row, those before it are rewritten, itself and those after it are not, wherever it stands.
    #[test]
    fn rows_from_the_first_bad_one_on_are_unchanged() {
        let (n, width) = (37, 3);
        let x: Vec<f64> = (0..n * width).map(|i| (i as f64).sin() / 2.0).collect();
        let g: Vec<f64> = (0..n * width).map(|i| (i as f64).cos()).collect();
        let update = |g: &[f64]| {
            let (mut x, mut numbers) = (x.clone(), vec![1.0; n]);
            let result = update_rows(&Reflect, [&mut x], [g], [&mut numbers], width);
            (result, x, numbers)
        };
        let (result, new, numbers) = update(&g);
        assert_eq!(result, Ok(()));
        assert!(numbers.iter().all(|&n| n > 1.0) && new.iter().zip(&x).any(|(new, x)| new != x));
        for bad in 0..n {
            let mut g = g.clone();
            (bad..n).step_by(2).for_each(|row| g[row * width + row % width] = f64::NAN);
            let (result, rewritten, kept) = update(&g);
            assert_eq!(result, Err(bad));
            assert_eq!(rewritten, [&new[..bad * width], &x[bad * width..]].concat(), "{bad}");
            assert_eq!(kept, [&numbers[..bad], &vec![1.0; n - bad]].concat(), "{bad}");
        }
    }
}
