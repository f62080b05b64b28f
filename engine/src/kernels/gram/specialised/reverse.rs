//! The end of the reverse pass: the cotangents of the inputs, from those of the invariants.

use std::ops::Range;

use super::survey::{Row, basis};
use super::{Chunk, groups, of_group};
use crate::formula::plan::Number;
use crate::formula::row::RowFormula;
use crate::formula::sums::{BODY, END, Received, has_end, leaves, paired, reads_ends, region_of, share_of};
use crate::kernels::gram::shares::Shares;
use crate::kernels::gram::{Gradient, give_parameters};
use crate::kernels::operands::{Operand, Parameter};
use crate::kernels::pieces::Place;
use crate::numbers::lanes::unrolled;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{
    Avx2, Avx512, Block, LANES, Portable, add, dispatch_wide, for_each_block, read, write,
};
use crate::numbers::storage::Storage;

/// Where the cotangents of the inputs go, of `n` row positions.
pub(super) struct Cotangents<'p, 'q, 'r, T, const V: usize> {
    pub(super) n: usize,
    pub(super) vectors: [Option<Gradient<'p, T>>; V],
    pub(super) parameters: &'q mut [Place<'r, T>],
}

/// Writes or adds the cotangents of the inputs at the positions `at`, from those of the invariants. `g` holds
/// the upstream cotangents of all results.
pub(super) fn distribute<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    chunk: &mut Chunk<'_, '_, T, V>,
    operands: (&[Operand<'_, T>; V], &[Parameter<'_>]),
    at: Range<usize>,
    g: &[T],
    cotangents: &mut Cotangents<'_, '_, '_, T, V>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
{
    by_instruction_set!(distribute_groups((chunk, cotangents), operands, at.clone(), g));
}

#[inline(always)]
fn distribute_groups<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    (chunk, to): (&mut Chunk<'_, '_, T, V>, &mut Cotangents<'_, '_, '_, T, V>),
    (vectors, parameters): (&[Operand<'_, T>; V], &[Parameter<'_>]),
    at: Range<usize>,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let width = chunk.width;
    let row_len = if F::VECTOR { width } else { 1 };
    for (group, at) in groups(at).enumerate() {
        let shares = shares_of::<F, V, B, I, O>(
            of_group(chunk.values, group),
            of_group(chunk.products, group),
            chunk.params[group][0],
            of_group(chunk.outputs, group),
            of_group(chunk.slopes, group),
        );
        for (l, p) in at.clone().enumerate() {
            let mut starts = [0; V];
            for i in 0..V {
                starts[i] = match &to.vectors[i] {
                    None => 0,
                    Some(Gradient::Full { first, .. }) => (p - first) * width,
                    Some(Gradient::Sums { first, .. }) => (vectors[i].rows.at(p) - first) * width,
                };
            }
            let g = &g[p * row_len..][..row_len];
            let row = &chunk.rows[group][l];
            distribute_row::<F, T, S, V, B, I, O>(row, &mut to.vectors, &starts, &shares, l, g);
        }
        give_parameters(parameters, to.parameters, to.n, at, &shares.received.params);
    }
}

/// The shares of a group of rows: as [`Shares::compute`], with all that a plan says known to the compiler.
#[inline(always)]
fn shares_of<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    values: &[Number; I],
    products: &[[Number; 4]; I],
    kappa: Number,
    outputs: &[Number; O],
    cotangents: &[Number; I],
) -> Shares<Number, V, B>
where
    F: RowFormula<V, B, I, O>,
{
    // Here, and not in place: so it stays in registers.
    let mut received = Received::<_, V, B>::new();
    unrolled::<I>(
        #[inline(always)]
        |k| {
            F::INVARIANTS[k].pull(cotangents[k], values[k], &products[k], kappa, &mut received);
        },
    );
    let mut shares = Shares::new();
    let paired = const { paired::<B>(&F::INVARIANTS) };
    (shares.received.params, shares.received.ends) = (received.params, received.ends);
    for i in 0..V {
        for b in 0..B {
            for region in [BODY, END] {
                let Some([sign, lowered]) = share_of(F::BASIS[b], F::METRIC, region, i) else { continue };
                let (sign, lowered) =
                    (Number::constant(f64::from(sign)), Number::constant(f64::from(lowered)));
                for a in 0..B {
                    if leaves(F::METRIC, region) && paired[a][b].at_all {
                        let of_basis = &mut shares.of_basis[region][i][a];
                        *of_basis = *of_basis + lowered * received.pairs[b][a];
                    }
                }
                if F::VECTOR {
                    let of_upstream = &mut shares.of_upstream[region][i];
                    *of_upstream = *of_upstream + sign * outputs[b];
                }
            }
        }
    }
    shares
}

/// The cotangents of the inputs of a row, in lane `l` of the shares. `g` is the row's upstream cotangent.
#[inline(always)]
fn distribute_row<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    row: &Row<'_, T, V>,
    gradients: &mut [Option<Gradient<'_, T>>; V],
    starts: &[usize; V],
    shares: &Shares<Number, V, B>,
    l: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let width = row[0].len();
    let receives = const { receivers::<F, V, B, I, O>() };
    let mut before = [[0.0; 2]; V];
    if const { splits::<F, V, B, I, O>() } {
        for i in 0..V {
            if let Some(Gradient::Sums { sums, .. }) = &gradients[i] {
                before[i] = [sums[starts[i]], sums[starts[i] + width - 1]];
            }
        }
    }
    for_each_block(
        width,
        row,
        Some(g).filter(|_| F::VECTOR),
        true,
        #[inline(always)]
        |c, inputs, g: S| {
            let (basis, left) = (basis::<F, S, V, B, I, O>(inputs, c, width), width - c);
            for i in 0..V {
                let Some(gradient) = &mut gradients[i] else { continue };
                let mut y = S::splat(0.0);
                for a in 0..B {
                    if receives[i][a] {
                        y = y + S::splat(shares.of_basis[0][i][a].get(l)) * basis[a];
                    }
                }
                if F::VECTOR {
                    y = y + S::splat(shares.of_upstream[0][i].get(l)) * g;
                }
                let at = starts[i] + c;
                match gradient {
                    Gradient::Full { slice, .. } => write(slice, at, left, y),
                    Gradient::Sums { sums, .. } => add(sums, at, left, y),
                }
            }
        },
    );
    if !const { splits::<F, V, B, I, O>() } {
        return;
    }
    for (which, at) in [0, width - 1].into_iter().enumerate() {
        let c = at / LANES * LANES;
        let mut inputs = [S::splat(0.0); V];
        for i in 0..V {
            inputs[i] = read(row[i], c, width - c);
        }
        let basis = basis::<F, S, V, B, I, O>(inputs, c, width);
        let region = region_of(F::METRIC, at, width);
        for i in 0..V {
            let Some(gradient) = &mut gradients[i] else { continue };
            let mut y = shares.received.ends[which][i].get(l);
            if width == 1 {
                y += shares.received.ends[1 - which][i].get(l);
            }
            for a in 0..B {
                if leaves(F::METRIC, region) && receives[i][a] {
                    y += shares.of_basis[region][i][a].get(l) * basis[a].lanes().get(at - c);
                }
            }
            if F::VECTOR {
                y += shares.of_upstream[region][i].get(l) * g[at].to_f64();
            }
            let (place, y) = (starts[i] + at, before[i][which] + y);
            match gradient {
                Gradient::Full { slice, .. } => slice[place] = T::nearest(y),
                Gradient::Sums { sums, .. } => sums[place] = y,
            }
        }
    }
}

/// Which basis vectors each input's cotangent is made of.
const fn receivers<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> [[bool; B]; V]
where
    F: RowFormula<V, B, I, O>,
{
    let paired = paired::<B>(&F::INVARIANTS);
    let mut receivers = [[false; B]; V];
    let mut i = 0;
    while i < V {
        let mut b = 0;
        while b < B {
            let mut a = 0;
            while a < B {
                receivers[i][a] |= F::BASIS[b].share(i) != 0 && paired[a][b].at_all;
                a += 1;
            }
            b += 1;
        }
        i += 1;
    }
    receivers
}

/// Whether a formula treats a coordinate at an end of the row separately.
const fn splits<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> bool
where
    F: RowFormula<V, B, I, O>,
{
    has_end(F::METRIC, &F::BASIS) || reads_ends(&F::INVARIANTS)
}
