//! Row formulas as data: what kernels, the printing for devices, forward mode and the registry read.
//!
//! A [`RowPlan`] holds the constants of a [`RowFormula`] as slices and its scalar function as pointers.
//! So none of its readers is compiled for each formula. Only the scalar function is, a few times, and in
//! builds with debug assertions not even that.

use crate::formula::domain::Domain;
use crate::formula::functions::{Functions, ScalarFunction};
use crate::formula::per_type::{Compiled, Each};
use crate::formula::row::{Invariant, Metric, RowFormula, Vector};
use crate::formula::sums::{has_end, has_flip, has_wedge, paired, reads_ends};
use crate::kernels::gram::{RowKernel, RowKernels};
use crate::numbers::lanes::Lanes;

/// How many rows a scalar function takes side by side. Four `f64` fill one AVX2 register; with eight,
/// dual numbers spill out of the registers.
pub(crate) const ROWS: usize = 4;

/// A formula has at most this many vectors.
pub(crate) const VECTORS: usize = 4;

/// A formula has at most this many basis vectors.
pub(crate) const BASIS: usize = 6;

/// A formula has at most this many invariants.
pub(crate) const INVARIANTS: usize = 12;

/// A formula has at most this many parameters.
pub(crate) const PARAMS: usize = 4;

/// Number of pairs of basis vectors, each with itself included.
pub(crate) const PAIRS: usize = BASIS * (BASIS + 1) / 2;

/// One number of several rows, a row in each lane.
pub(crate) type Number = Lanes<ROWS>;

/// Of a formula that the common kernels run.
const NO_KERNELS: Compiled<RowKernels> = Compiled(Each { f32: None, f64: None });

/// A row formula as data. `F::plan()` is the plan of a [`RowFormula`] `F`.
pub struct RowPlan {
    /// The name shown in messages.
    pub name: &'static str,
    /// How many vectors it takes.
    pub vectors: usize,
    /// Whether the result is a vector (a combination of the basis) or a number.
    pub vector: bool,
    /// The basis vectors.
    pub basis: &'static [Vector],
    /// The arguments of the scalar function.
    pub invariants: &'static [Invariant],
    /// How many results the scalar function has.
    pub outputs: usize,
    /// The metric of the inner products.
    pub metric: Metric,
    /// Where the resulting rows must lie; κ is parameter 0.
    pub domain: Domain,
    pub(crate) layout: Layout,
    pub(crate) functions: Functions,
    /// Kernels that are compiled for this formula alone, if there are any.
    pub(crate) specialised: Compiled<RowKernels>,
}

impl std::fmt::Debug for RowPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowPlan({})", self.name)
    }
}

/// What follows from the basis, the metric and the invariants.
pub(crate) struct Layout {
    pairs: [(usize, usize); PAIRS],
    count: usize,
    position: [[usize; BASIS]; BASIS],
    /// Which pairs of basis vectors some invariant combines.
    pub(crate) paired: [[bool; BASIS]; BASIS],
    /// Which basis vectors the cotangent of each input is made of.
    pub(crate) receives: [[bool; BASIS]; VECTORS],
    /// Whether the first or the last coordinate of a row is treated separately.
    pub(crate) has_end: bool,
    /// Whether the first or the last coordinate is an invariant of its own.
    #[cfg_attr(not(feature = "opencl"), allow(dead_code))]
    pub(crate) reads_ends: bool,
}

impl Layout {
    const fn new(vectors: usize, basis: &[Vector], metric: Metric, invariants: &[Invariant]) -> Self {
        assert!(vectors <= VECTORS, "a row formula has at most 4 vectors");
        assert!(basis.len() <= BASIS, "a row formula has at most 6 basis vectors");
        assert!(invariants.len() <= INVARIANTS, "a row formula has at most 12 invariants");
        let (mut pairs, mut count) = ([(0, 0); PAIRS], 0);
        let mut position = [[0; BASIS]; BASIS];
        let mut combined = [[false; BASIS]; BASIS];
        let paired = paired::<BASIS>(invariants);
        let mut receives = [[false; BASIS]; VECTORS];
        let mut a = 0;
        while a < basis.len() {
            let mut b = 0;
            while b < basis.len() {
                let pair = paired[a][b];
                if a <= b && pair.plainly {
                    pairs[count] = (a, b);
                    position[a][b] = count;
                    position[b][a] = count;
                    count += 1;
                }
                combined[a][b] = pair.at_all;
                let mut i = 0;
                while i < vectors {
                    receives[i][a] |= basis[b].share(i) != 0 && combined[a][b];
                    i += 1;
                }
                b += 1;
            }
            a += 1;
        }
        let ends = reads_ends(invariants);
        Layout {
            pairs,
            count,
            position,
            paired: combined,
            receives,
            has_end: ends || has_end(metric, basis),
            reads_ends: ends,
        }
    }

    /// The pairs of basis vectors whose inner products some invariant needs. The first of a pair is not above
    /// the second.
    pub(crate) fn pairs(&self) -> &[(usize, usize)] {
        &self.pairs[..self.count]
    }

    /// Where the inner product of two basis vectors is among [`pairs`](Self::pairs).
    pub(crate) fn position(&self, a: usize, b: usize) -> usize {
        self.position[a][b]
    }
}

impl RowPlan {
    /// The plan of a formula: [compiled](Self::compiled), or [interpreted](Self::interpreted) if the engine
    /// is built with debug assertions. In such a build a formula's crate is seldom optimised. The
    /// interpreter of an optimised engine is then faster, and nothing has to be compiled.
    pub const fn of<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> &'static Self
    where
        F: RowFormula<V, B, I, O>,
    {
        #[cfg(debug_assertions)]
        return Self::interpreted::<F, V, B, I, O>();
        #[cfg(not(debug_assertions))]
        return Self::compiled::<F, V, B, I, O>();
    }

    /// The plan of a formula of which nothing is compiled: its scalar function is a
    /// [program](crate::Program). The results are the same.
    pub const fn interpreted<F, const V: usize, const B: usize, const I: usize, const O: usize>()
    -> &'static Self
    where
        F: RowFormula<V, B, I, O>,
    {
        const { &RowPlan::new::<F, V, B, I, O>(None, NO_KERNELS) }
    }

    /// The plan of a formula whose scalar function is compiled. A [specialised](RowFormula::SPECIALISED) one
    /// also has kernels of its own, which are faster for narrow rows and take seconds to compile.
    pub const fn compiled<F, const V: usize, const B: usize, const I: usize, const O: usize>()
    -> &'static RowPlan
    where
        F: RowFormula<V, B, I, O>,
    {
        const {
            let kernels = if F::SPECIALISED {
                let f32 = Some(RowKernel::<f32>::new::<F, V, B, I, O>());
                let f64 = Some(RowKernel::<f64>::new::<F, V, B, I, O>());
                Compiled(Each { f32, f64 })
            } else {
                NO_KERNELS
            };
            &RowPlan::new::<F, V, B, I, O>(Some(ScalarFunction::new::<F, V, B, I, O>()), kernels)
        }
    }

    const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>(
        function: Option<ScalarFunction>,
        specialised: Compiled<RowKernels>,
    ) -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        assert!(O == if F::VECTOR { B } else { 1 }, "a vector formula has one coefficient per basis vector");
        assert!(
            !matches!(F::METRIC, Metric::Horizontal) || !has_wedge(&F::INVARIANTS),
            "a wedge is not of the horizontal metric"
        );
        assert!(
            !matches!(F::METRIC, Metric::Horizontal) || !has_flip(&F::BASIS),
            "a flipped vector is not of the horizontal metric"
        );
        RowPlan {
            name: F::NAME,
            vectors: V,
            vector: F::VECTOR,
            basis: const { &F::BASIS },
            invariants: const { &F::INVARIANTS },
            outputs: O,
            metric: F::METRIC,
            domain: F::DOMAIN,
            layout: Layout::new(V, &F::BASIS, F::METRIC, &F::INVARIANTS),
            functions: Functions::new::<F, V, B, I, O>(function),
            specialised,
        }
    }
}
