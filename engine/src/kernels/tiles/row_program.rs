//! Rows rewritten by a program of row formulas.

use std::marker::PhantomData;

use smallvec::{SmallVec, smallvec};

use crate::formula::domain::Domain;
use crate::formula::plan::VECTORS;
use crate::formula::straight_line::StraightLine;
use crate::kernels::tiles::Tiles;
use crate::kernels::tiles::survey::{Job, Operand, Survey};
use crate::numbers::compensated::Compensated;
use crate::numbers::simd::{Block, LANES, dispatch_blocks};
use crate::numbers::storage::Storage;

/// Rows rewritten by a program of row formulas, such as an optimiser's step.
pub struct RowProgram<T> {
    program: StraightLine,
    survey: Survey,
    /// The results of the steps.
    results: Vec<Tiles>,
    /// For each tile, which of its rows may be off their domain: a bit for each.
    off: Vec<u8>,
    element: PhantomData<T>,
}

impl<T: Storage> RowProgram<T> {
    /// For rows of type `T`.
    ///
    /// # Panics
    /// If the program's result is a number for each row.
    pub fn new(program: StraightLine) -> Self {
        assert!(program.steps.iter().all(|step| step.plan.vector), "a program of vector formulas is needed");
        let results = program.steps.iter().map(|_| Tiles::new(program.width)).collect();
        RowProgram { program, survey: Survey::default(), results, off: Vec::new(), element: PhantomData }
    }

    /// The results, rounded to `T`, on the domain of the last formula.
    ///
    /// # Errors
    /// The first row whose result is not finite.
    ///
    /// # Panics
    /// If there are not as many vectors as the program takes, or they differ in the number or the width of
    /// rows.
    #[inline(never)]
    pub fn run(&mut self, vectors: &[&Tiles]) -> Result<&Tiles, usize> {
        let first = vectors[0];
        assert!(
            vectors.len() == self.program.inputs
                && vectors.iter().all(|v| v.rows == first.rows && v.width == self.program.width),
            "as many rows of the program's width are needed everywhere"
        );
        for (s, step) in self.program.steps.iter().enumerate() {
            let (done, out) = self.results.split_at_mut(s);
            let mut operands = [Operand::Each(first); VECTORS];
            for (operand, &v) in operands.iter_mut().zip(&step.vectors) {
                *operand = Operand::Each(vectors.get(v).copied().unwrap_or_else(|| &done[v - vectors.len()]));
            }
            let operands = &operands[..step.vectors.len()];
            let (width, tiles) = (first.width, first.tiles());
            let job = Job { step, vectors: operands, width, tiles, reverse: false };
            self.survey.read::<T>(job);
            step.plan.values(&self.survey.values, &mut self.survey.outputs);
            out[0].resize_as(first);
            self.survey.combine(job, &mut out[0]);
        }
        let last = self.program.steps.last().expect("at least one step");
        let kappa = last.params.first().copied().unwrap_or(0.0);
        let result = self.results.last_mut().expect("a result of each step");
        settle::<T>(last.plan.domain, kappa, result, &mut self.off)?;
        Ok(result)
    }
}

/// Rounds rows to `T` and moves them onto their domain. `off`: memory for a number for each tile.
fn settle<T: Storage>(domain: Domain, kappa: f64, rows: &mut Tiles, off: &mut Vec<u8>) -> Result<(), usize> {
    off.resize(rows.tiles(), 0);
    dispatch_blocks!(S, (&mut *rows, &mut *off), |(rows, off)| round::<T, S>(domain, kappa, rows, off));
    for j in (0..rows.rows).filter(|j| off[j / LANES] >> (j % LANES) & 1 == 1) {
        let mut row: SmallVec<[T; 16]> = smallvec![T::zero(); rows.width];
        rows.read(j, &mut row);
        domain.settle(&mut row, kappa);
        if row.iter().any(|x| !x.is_finite()) {
            return Err(j);
        }
        rows.write(j, &row);
    }
    Ok(())
}

/// Rounds rows to `T`. `off` becomes a bit for each row of a tile: whether it may be off its domain.
#[inline(always)]
fn round<T: Storage, S: Block>(domain: Domain, kappa: f64, rows: &mut Tiles, off: &mut [u8]) {
    let (zero, kappa) = (S::splat(0.0), S::splat(kappa));
    for (blocks, off) in rows.blocks.chunks_exact_mut(rows.width).zip(off) {
        let (mut finite, mut square) = (zero, Compensated::<S>::default());
        for block in blocks {
            let x = block.read::<S>().rounded::<T>();
            // 0 · x is NaN where x is not finite.
            finite = x.mul_add(zero, finite);
            if domain == Domain::Ball {
                square.add_square::<T>(x);
            }
            block.write(x);
        }
        // Only rows that rounding has moved outside, or that are not finite.
        let inside = match domain {
            Domain::Free => finite + S::splat(1.0),
            Domain::Ball => square.margin(kappa) + finite,
            _ => zero,
        };
        let mut lanes = [0.0; LANES];
        inside.store(&mut lanes);
        *off = 0;
        for (l, inside) in lanes.into_iter().enumerate() {
            *off |= u8::from(!(inside > 0.0)) << l;
        }
    }
}
