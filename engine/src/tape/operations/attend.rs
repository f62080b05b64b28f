//! Attention on the tape.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernels::attend::{Attend, Dropped, Inputs, Weights, causal_reach};
use crate::tape::Tape;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::formulas::ScaledDot;
use crate::tape::operation::Operation;
use crate::tape::operations::pair::Pairs;
use crate::tape::var::Var;
use crate::tensor::shape::Shape;
use crate::tensor::sparsity::Sparsity;

impl Weights {
    /// The weights of stored scores, `[…, n, m]`. They are exactly 0 where `hidden` is not 0; its shape
    /// broadcasts to that of the scores. A query whose keys are all hidden has only weights 0.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    #[inline(never)]
    pub fn normalise<'t, T: Float>(self, scores: Var<'t, T>, hidden: Option<Var<'t, T>>) -> Var<'t, T> {
        self.normalised(scores, hidden, |scores| scores.softmax(-1))
    }

    /// The weights of the scores of edges, `[edges]` or `[edges, heads]`: of the edges of each row if they
    /// are normalised. They are exactly 0 where `hidden` is not 0, as in [`normalise`](Self::normalise).
    ///
    /// # Panics
    /// If there are not as many scores as edges, or `hidden` does not broadcast to them.
    #[track_caller]
    #[inline(never)]
    pub fn normalise_edges<'t, T: Float>(
        self,
        scores: Var<'t, T>,
        hidden: Option<Var<'t, T>>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        assert_eq!(scores.shape().axes().first(), Some(&edges.pairs().len()), "one score for each edge");
        self.normalised(scores, hidden, |scores| scores.segment_softmax(edges))
    }

    /// The weights of scores, some of which may be hidden, given the softmax.
    #[track_caller]
    fn normalised<'t, T: Float>(
        self,
        scores: Var<'t, T>,
        hidden: Option<Var<'t, T>>,
        softmax: impl FnOnce(Var<'t, T>) -> Var<'t, T>,
    ) -> Var<'t, T> {
        // The lowest finite score has weight 0 in a softmax with other scores. Where all keys of a query are
        // hidden, the softmax of these scores is finite, and the second fill sets it to 0.
        let lowered = hidden.map_or(scores, |hidden| scores.masked_fill(hidden, -T::LARGEST));
        let weights = match self {
            Weights::Softmax => softmax(lowered),
            Weights::Sigmoid => lowered.sigmoid(),
            Weights::NormalisedSigmoid => softmax(lowered.log_sigmoid()),
        };
        hidden.map_or(weights, |hidden| weights.masked_fill(hidden, 0.0))
    }
}

impl<'t, T: Float> Var<'t, T> {
    /// Scaled dot-product attention (Vaswani et al. 2017, eq. 1): `softmax(scale · Q Kᵀ) V`. `self` has
    /// the queries, `[…, n, d]`; keys `[…, m, d]` and values `[…, m, e]` give `[…, n, e]`. If
    /// `causal`, query i attends to keys up to i + m − n. A query that attends to no key gives 0.
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
    /// Attention with n left rows as queries and m right rows as keys: `weights(scores) V`. Values
    /// `[…, m, e]` give `[…, n, e]`. If `causal`, query i attends to keys up to i + m − n. A query that
    /// attends to no key gives 0. The forward and reverse passes do not store the scores.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend(&self, values: impl Into<Var<'t, T>>, weights: Weights, causal: bool) -> Var<'t, T> {
        self.record_attend(values.into(), weights, causal, None)
    }

    /// Same as [`attend`](Self::attend) to all keys but those where `hidden` is not 0. `hidden` broadcasts to
    /// `[…, n, m]` and has no gradient.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend_masked(
        &self,
        values: impl Into<Var<'t, T>>,
        weights: Weights,
        hidden: Var<'t, T>,
    ) -> Var<'t, T> {
        self.record_attend(values.into(), weights, false, Some(hidden))
    }

    #[track_caller]
    fn record_attend(
        &self,
        values: Var<'t, T>,
        weights: Weights,
        causal: bool,
        hidden: Option<Var<'t, T>>,
    ) -> Var<'t, T> {
        let mut inputs = self.inputs.clone();
        let masked = hidden.is_some();
        inputs.extend(hidden.into_iter().chain([values]));
        let [queries, keys] = [0, 1].map(|i| self.inputs[i].shape());
        let count = queries.rows().elements() * keys.rows().width();
        let dropout = self.tape.draw_dropout(self.rate, count).map(Box::new);
        let (score, dropped) = (self.kernels.score, self.dropped);
        let attend = Attend { score, weights, causal, masked, dropout, dropped };
        self.tape.record(Op::Attend(attend), &inputs)
    }
}

impl<T: Float> Tape<T> {
    /// The keys that causal attention hides, for n queries and m keys: `[n, m]`, 1 where query i does not
    /// attend to key j (j > i + m − n), else 0.
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

    kernel_passes!(Attend<T>);

    fn keeps(&self, inputs: &[&Shape]) -> usize {
        self.kept_elements(inputs)
    }

    /// Records attention with stored scores, and takes the derivative of that.
    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let tape = inputs[0].tape();
        let Inputs { scored, hidden, values } = self.split(inputs);
        let scores = tape.record(Op::Pair(self.score.kernels()), scored);
        let causal = self.causal.then(|| {
            let shape = scores.shape();
            tape.causal_mask(shape.rows().width(), shape.width())
        });
        let hidden = causal.or(hidden.copied());
        let kept = self.dropout.as_deref().map(|dropout| tape.dropout_mask(scores.shape(), dropout));
        let weights = match (kept, self.dropped) {
            (None, _) => self.weights.normalise(scores, hidden),
            (Some(kept), Dropped::Weights) => self.weights.normalise(scores, hidden) * kept,
            (Some(kept), Dropped::Keys) => {
                let dropped = tape.scalar(1.0).masked_fill(kept, 0.0);
                let hidden = hidden.map_or(dropped, |hidden| dropped.masked_fill(hidden, 1.0));
                self.weights.normalise(scores, Some(hidden))
            }
        };
        let stored = weights.matmul(*values);
        let given: SmallVec<[(Var<'t, T>, Var<'t, T>); 6]> =
            inputs.iter().zip(tangents).filter_map(|(x, tangent)| tangent.map(|t| (*x, t))).collect();
        tape.jvp(stored, &given)
    }
}
