//! The cotangents of a row's inputs, as linear combinations, from the cotangents of the invariants.

use crate::formula::plan::{BASIS, RowPlan, VECTORS};
use crate::formula::sums::{BODY, END, Received, leaves, share_of};
use crate::numbers::scalar::Scalar;

/// The coefficients of the basis vectors and of the upstream cotangent in the inputs' cotangents, of one row
/// or of one in each lane: first for the [body](BODY) of the row, then for its [end](END).
#[derive(Clone, Copy)]
pub(crate) struct Shares<S, const V: usize, const B: usize> {
    pub(crate) of_basis: [[[S; B]; V]; 2],
    pub(crate) of_upstream: [[S; V]; 2],
    /// What the invariants have passed on. The first and the last coordinate of an input receive `ends` in
    /// addition.
    pub(crate) received: Received<S, V, B>,
}

impl<S: Scalar, const V: usize, const B: usize> Shares<S, V, B> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let zero = S::zero();
        Shares { of_basis: [[[zero; B]; V]; 2], of_upstream: [[zero; V]; 2], received: Received::new() }
    }
}

/// A row, or one in each lane, as the reverse pass sees it.
#[derive(Clone, Copy)]
pub(crate) struct Surveyed<'a, S> {
    /// The invariants.
    pub(crate) values: &'a [S],
    /// The parts of their sums that the reverse pass reads.
    pub(crate) products: &'a [[S; 4]],
    /// Parameter 0, if there is one.
    pub(crate) kappa: S,
    /// The outputs of the scalar function.
    pub(crate) outputs: &'a [S],
    /// The cotangents of the invariants.
    pub(crate) cotangents: &'a [S],
}

impl<S: Scalar> Shares<S, VECTORS, BASIS> {
    /// The shares of rows.
    #[inline(always)]
    pub(crate) fn compute(&mut self, plan: &RowPlan, rows: Surveyed<'_, S>) {
        let (zero, count) = (S::zero(), plan.basis.len());
        let received = &mut self.received;
        received.clear(count);
        for (k, invariant) in plan.invariants.iter().enumerate() {
            let (w, value) = (rows.cotangents[k], rows.values[k]);
            invariant.pull(w, value, &rows.products[k], rows.kappa, received);
        }
        let regions: &[usize] = if plan.layout.has_end { &[BODY, END] } else { &[BODY] };
        for &region in regions {
            for i in 0..plan.vectors {
                let of_basis = &mut self.of_basis[region][i][..count];
                of_basis.fill(zero);
                let mut of_upstream = zero;
                for (b, &vector) in plan.basis.iter().enumerate() {
                    let Some([sign, lowered]) = share_of(vector, plan.metric, region, i) else { continue };
                    if leaves(plan.metric, region) {
                        let lowered = S::constant(f64::from(lowered));
                        for a in (0..count).filter(|&a| plan.layout.paired[b][a]) {
                            of_basis[a] = of_basis[a] + lowered * self.received.pairs[b][a];
                        }
                    }
                    if plan.vector {
                        of_upstream = of_upstream + S::constant(f64::from(sign)) * rows.outputs[b];
                    }
                }
                self.of_upstream[region][i] = of_upstream;
            }
        }
    }
}
