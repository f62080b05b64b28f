//! Attention on the tape.

use smallvec::SmallVec;

use crate::kernels::attend::{Attend, Weights, causal_reach, split};
use crate::tape::Tape;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::formulas::ScaledDot;
use crate::tape::operation::Operation;
use crate::tape::operations::pair::Pairs;
use crate::tape::var::Var;
use crate::tensor::shape::Shape;

impl Weights {
    /// The weights of stored scores, `[…, n, m]`: exactly 0 where `hidden`, `[…, n, m]` or of fewer
    /// axes, is not 0. A query whose keys are all hidden has no weight at all.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn of<'t, T: Float>(self, scores: Var<'t, T>, hidden: Option<Var<'t, T>>) -> Var<'t, T> {
        // The lowest score has no weight in a softmax beside others. It is finite, so a query whose keys
        // are all hidden gets weights too; the second fill sets them to 0.
        let lowered = hidden.map_or(scores, |hidden| scores.masked_fill(hidden, -T::LARGEST));
        let weights = match self {
            Weights::Softmax => lowered.softmax(-1),
            Weights::Sigmoid => lowered.sigmoid(),
        };
        hidden.map_or(weights, |hidden| weights.masked_fill(hidden, 0.0))
    }
}

impl<'t, T: Float> Var<'t, T> {
    /// Scaled dot-product attention (Vaswani et al. 2017, eq. 1): `softmax(scale · Q Kᵀ) V` with `self`
    /// as queries `[…, n, d]`, keys `[…, m, d]`, values `[…, m, e]`: `[…, n, e]`. If `causal`, query i
    /// attends to keys up to i + m − n. A query that attends to nothing gives 0.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend(self, keys: impl Into<Self>, values: impl Into<Self>, scale: f64, causal: bool) -> Self {
        let tape = self.tape();
        let pairs = tape.pairs(ScaledDot, [self, keys.into()], [], [], [tape.scalar(scale)]);
        pairs.attend(values, Weights::Softmax, causal)
    }
}

impl<'t, T: Float> Pairs<'t, T> {
    /// Attention, with left rows as queries and right rows as keys: `weights(scores) V` for values
    /// `[…, m, e]`, which is `[…, n, e]`. If `causal`, of n queries and m keys, query i attends to keys
    /// up to i + m − n. A query that attends to nothing gives 0. The forward and reverse passes
    /// do not store the scores.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend(&self, values: impl Into<Var<'t, T>>, weights: Weights, causal: bool) -> Var<'t, T> {
        let mut inputs = self.inputs.clone();
        inputs.push(values.into());
        let attend = Attend { score: self.kernels.score, weights, causal };
        self.tape.record(Op::Attend(attend), &inputs)
    }
}

impl<T: Float> Tape<T> {
    /// The keys that causal attention hides, for n queries and m keys: `[n, m]`, 0 where query i attends
    /// to a key, 1 where it does not.
    pub fn causal_mask(&self, n: usize, m: usize) -> Var<'_, T> {
        self.constant_with([n, m], |mask| {
            for (i, row) in mask.chunks_exact_mut(m.max(1)).enumerate() {
                let (reached, hidden) = row.split_at_mut(causal_reach(i, n, m));
                reached.fill(T::zero());
                hidden.fill(T::one());
            }
        })
    }
}

impl<T: Float> Operation<T> for Attend<T> {
    fn name(&self) -> &'static str {
        "attend"
    }

    of_kernel!(Attend<T>);

    fn keeps(&self, inputs: &[&Shape]) -> usize {
        <Attend<T>>::keeps(self, inputs)
    }

    /// Goes through the scores, all of which it stores.
    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let tape = inputs[0].tape();
        let (scored, values) = split(inputs);
        let scores = tape.operation(self.score.kernels(), scored);
        let hidden = self.causal.then(|| {
            let shape = scores.shape();
            tape.causal_mask(shape.rows().width(), shape.width())
        });
        let stored = self.weights.of(scores, hidden).matmul(*values);
        let given: SmallVec<[(Var<'t, T>, Var<'t, T>); 6]> =
            inputs.iter().zip(tangents).filter_map(|(x, tangent)| tangent.map(|t| (*x, t))).collect();
        tape.jvp(stored, &given)
    }
}
