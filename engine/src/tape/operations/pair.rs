//! Scores of pairs of rows on the tape, and their derivatives along tangents.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::formula::pair::{PairFormula, Pairing};
use crate::formula::per_type::Compiled;
use crate::kernels::attend::Dropped;
use crate::kernels::pair::{Pair, PairKernel, PairKernels, elementwise, sizes};
use crate::numbers::parallel;
use crate::tape::Tape;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

impl<T: Float> Tape<T> {
    /// All pairs of a row of x, `[…, n, d]`, and a row of y, `[…, m, d]`, to be scored by a formula.
    /// `left` has the formula's numbers of the rows of x, `[…, n]` each, `right` those of y, `[…, m]`
    /// each; `params` are single numbers, or have one for each entry of the last leading axis: `[heads]` if x
    /// is `[batch, heads, n, d]`. The leading axes are equal, or y and `right` have none. Nothing is computed
    /// yet: see [`Pairs`].
    pub fn pairs<'t, F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize>(
        &'t self,
        _formula: F,
        [x, y]: [Var<'t, T>; 2],
        left: [Var<'t, T>; L],
        right: [Var<'t, T>; R],
        params: [Var<'t, T>; P],
    ) -> Pairs<'t, T> {
        Pairs { tape: self, ..Pairs::compiled(F::compiled(), [x, y], [&left, &right], &params) }
    }
}

/// Pairs of rows and the [`PairFormula`] that scores them, from [`Tape::pairs`]. [`scores`](Self::scores)
/// computes the scores of all pairs, [`along`](Self::along) those at the elements of a sparse matrix;
/// [`attend`](Self::attend) computes sums of values that are weighted by the scores.
#[derive(Clone)]
pub struct Pairs<'t, T: Float> {
    pub(super) tape: &'t Tape<T>,
    pub(super) kernels: &'static PairKernels<T>,
    /// x, y, numbers of left rows, of right rows, parameters.
    pub(super) inputs: SmallVec<[Var<'t, T>; 6]>,
    /// The rate of dropout, and what is dropped.
    pub(super) rate: f64,
    pub(super) dropped: Dropped,
}

impl<'t, T: Float> Pairs<'t, T> {
    /// As [`Tape::pairs`], for a formula chosen at run time: `formula` is what
    /// [`PairFormula::compiled`] returns, `numbers` are those of the left rows and those of the right rows.
    ///
    /// # Panics
    /// If the formula takes another count of numbers or parameters.
    #[track_caller]
    pub fn compiled(
        formula: &'static Compiled<Pair>,
        [x, y]: [Var<'t, T>; 2],
        numbers: [&[Var<'t, T>]; 2],
        params: &[Var<'t, T>],
    ) -> Self {
        let kernels: &'static PairKernels<T> = formula.for_type();
        let given = [numbers[0].len(), numbers[1].len(), params.len()];
        let counts = kernels.score.counts();
        assert!(
            given == counts,
            "{}: takes {counts:?} numbers of left rows, numbers of right rows and parameters, not {given:?}",
            kernels.score.name()
        );
        let mut inputs: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(&[x, y]);
        inputs.extend(numbers.into_iter().flatten().chain(params).copied());
        Pairs { tape: x.tape(), kernels, inputs, rate: 0.0, dropped: Dropped::Weights }
    }

    /// Dropout of the weights of attention at this rate, on a tape that is
    /// [`training`](crate::Tape::training): see [`Var::dropout`]. The weights need not be stored for it.
    ///
    /// # Panics
    /// If the rate is not in [0, 1).
    #[track_caller]
    pub fn dropout(self, rate: f64) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout: a rate of {rate}");
        Pairs { rate, dropped: Dropped::Weights, ..self }
    }

    /// As [`dropout`](Self::dropout), but of the pairs of queries and keys, before weights are normalised: a
    /// query does not attend to its dropped keys, and normalised weights of the others sum to 1. Logistic
    /// weights of the others stay as they are. It takes the same draws. DropKey, Li et al. 2023.
    ///
    /// # Panics
    /// If the rate is not in [0, 1).
    #[track_caller]
    pub fn drop_keys(self, rate: f64) -> Self {
        Pairs { dropped: Dropped::Keys, ..self.dropout(rate) }
    }

    /// The scores of all pairs: `[…, n, m]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn scores(&self) -> Var<'t, T> {
        self.tape.record(Op::Pair(self.kernels), &self.inputs)
    }
}

/// A pair formula as an operation.
impl<T: Float> Operation<T> for PairKernels<T> {
    fn name(&self) -> &'static str {
        self.score.name()
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(sizes(inputs, self.score.counts())?.1)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        self.compute(inputs, out);
    }

    fn backward(&self, inputs: &[View<'_, T>], _: Outcome<'_, T>, g: &[T], grads: &mut [Option<&mut [T]>]) {
        self.pullback(inputs, g, grads);
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        Some(self.score.form())
    }

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let [l, r, _] = self.score.counts();
        let (tape, x, y) = (inputs[0].tape(), inputs[0], inputs[1]);
        let partial = |argument| {
            let operation = PairPartial { argument, score: self.score };
            tape.shared_operation(Arc::new(operation), inputs)
        };
        let (dx, dy) = (tangents[0], tangents[1]);
        let column = |v: Var<'t, T>| v.reshape(v.shape().with_width(1));
        let row = |v: Var<'t, T>| v.reshape(v.shape().insert(v.shape().rank() - 1));
        let of_pairing = match self.score.pairing() {
            Pairing::Dot => Var::sum_of([dx.map(|dx| dx.matmul_nt(y)), dy.map(|dy| x.matmul_nt(dy))]),
            Pairing::SquaredDistance => (dx.is_some() || dy.is_some()).then(|| {
                let operation = DistanceTangent { has_dx: dx.is_some(), has_dy: dy.is_some() };
                let operands: SmallVec<[Var<'t, T>; 4]> =
                    [Some(x), Some(y), dx, dy].into_iter().flatten().collect();
                tape.shared_operation(Arc::new(operation), &operands)
            }),
        };
        let mut terms: SmallVec<[Option<Var<'t, T>>; 6]> = SmallVec::new();
        terms.push(of_pairing.map(|d| partial(0) * d));
        for (k, tangent) in tangents[2..].iter().enumerate() {
            terms.push(tangent.map(|d| {
                let d = if k < l {
                    column(d)
                } else if k < l + r {
                    row(d)
                } else {
                    match d.shape().elements() {
                        1 => d.reshape([]),
                        entries => d.reshape([entries, 1, 1]),
                    }
                };
                partial(1 + k) * d
            }));
        }
        Var::sum_of(terms).expect("at least one tangent")
    }
}

/// The tangents `2⟨x − y, ẋ − ẏ⟩` of the squared distances of all pairs of rows x and y. The
/// operands are x, y, and the tangents that are not zero. The result is computed in `f64` from differences,
/// so that it is accurate for nearby rows too.
struct DistanceTangent {
    has_dx: bool,
    has_dy: bool,
}

impl<T: Float> Operation<T> for DistanceTangent {
    fn name(&self) -> &'static str {
        "squared_distance"
    }
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(sizes(&inputs[..2], [0; 3])?.1)
    }
    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (s, _) = sizes(&[inputs[0].shape, inputs[1].shape], [0; 3]).expect("checked");
        let [x, y] = [inputs[0].data, inputs[1].data];
        let dx = self.has_dx.then(|| inputs[2].data);
        let dy = self.has_dy.then(|| inputs[2 + usize::from(self.has_dx)].data);
        parallel::for_each_part(out, s.m, 1, s.m * s.width, |rows, out| {
            for (i, out) in rows.zip(out.chunks_exact_mut(s.m)) {
                for (j, out) in out.iter_mut().enumerate() {
                    let (i, j) = (i * s.width, (i / s.n * s.m + j) * s.width);
                    let slope = |tangent: Option<&[T]>, at: usize| tangent.map_or(0.0, |t| t[at].to_f64());
                    let term = |c: usize| {
                        (x[i + c].to_f64() - y[j + c].to_f64()) * (slope(dx, i + c) - slope(dy, j + c))
                    };
                    *out = T::nearest(2.0 * (0..s.width).map(term).sum::<f64>());
                }
            }
        });
    }
    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        panic!("squared_distance: second derivatives of pair formulas are not offered")
    }
}

/// For all pairs, the partial derivative of a pair formula with respect to one of its arguments.
struct PairPartial<T: Float> {
    /// 0 is the pairing; then come the numbers of left rows, those of right rows, and the parameters.
    argument: usize,
    score: &'static dyn PairKernel<T>,
}

impl<T: Float> Operation<T> for PairPartial<T> {
    fn name(&self) -> &'static str {
        self.score.name()
    }
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(sizes(inputs, self.score.counts())?.1)
    }
    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let kernel = self.score;
        elementwise(inputs, kernel, out, &|tile, s| {
            let rows = s.chunks_exact_mut(tile.columns).enumerate();
            rows.for_each(|(i, s)| kernel.partial(tile, self.argument, i, 0, s));
        });
    }
    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        panic!("{}: second derivatives of pair formulas are not offered", self.score.name())
    }
}
