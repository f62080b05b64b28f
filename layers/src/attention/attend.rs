//! Attention as a function: any score, any mask, any weights.

use std::sync::Arc;

use cotangent_engine::{Float, Pairs, Sparsity, Var, Weights};

use crate::attention::point_map::PointMap;
use crate::attention::score::{Score, check, prepared};
use crate::dropout::Dropout;

/// How several values and their weights become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// The weighted sum.
    Sum,
    /// The barycentre of the values' points in hyperbolic space of curvature −1, the Einstein midpoint,
    /// taken back to a value. The points are exp₀ v of the values v unless [`Attend::values`] says
    /// otherwise. Gulcehre et al. 2019, eq. 3. It depends on the shares of the weights alone, so logistic
    /// weights are normalised first. In `f32` a point farther than 8 from the origin has lost its
    /// digits.
    Barycentre,
}

/// Which keys a query attends to.
#[derive(Clone, Copy)]
pub enum Mask<'t, T: Float> {
    /// All.
    None,
    /// With n queries and m keys, query i attends to keys up to i + m − n.
    Causal,
    /// Those where this tensor is 0. It broadcasts to `[…, n, m]`: a batch's padding is `[batch, 1, m]`,
    /// with heads `[batch, 1, 1, m]`. The others have no weight and no gradient. A key that is hidden from
    /// all queries, and its value, have no effect, even if they are NaN. A key that some queries attend to
    /// must not be NaN. If scores are functions of distances, such a key can change the rounding of the other
    /// queries' scores, but no more.
    Hidden(Var<'t, T>),
}

/// Attention without parameters of its own, set up step by step. The layer with parameters γ and c is
/// [`Attention`](crate::Attention).
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::Attend;
/// use cotangent_layers::score::Distance;
/// let tape = Tape::<f64>::new();
/// let x = tape.constant(&Tensor::from_fn([3, 2], |i| (i as f64).sin())); // three rows
/// let y = Attend::new(&Distance).causal().sharpness(tape.scalar(2.0)).forward(x, x, x); // [3, 2]
/// assert_eq!(y.to_tensor().row(0), x.to_tensor().row(0)); // the first attends to itself alone
/// ```
///
/// Scores are never stored, so memory is linear in the number of keys, unless a mask's queries share their
/// keys.
#[derive(Clone, Copy)]
pub struct Attend<'a, 't, T: Float> {
    score: &'a dyn Score<T>,
    sharpness: Option<Var<'t, T>>,
    offset: Option<Var<'t, T>>,
    weights: Weights,
    mask: Mask<'t, T>,
    aggregation: Aggregation,
    values: PointMap,
    dropout: Dropout,
}

impl<'a, 't, T: Float> Attend<'a, 't, T> {
    /// Softmax of scores, weighted sums of values, no mask, no dropout; γ as the score says, c = 0.
    pub fn new(score: &'a dyn Score<T>) -> Self {
        Attend {
            score,
            sharpness: None,
            offset: None,
            weights: Weights::Softmax,
            mask: Mask::None,
            aggregation: Aggregation::Sum,
            values: PointMap::Exp,
            dropout: Dropout { rate: 0.0 },
        }
    }

    /// γ, the factor of scores: a single number, or `[heads]`, one for each head of rows
    /// `[…, heads, n, d]`. Its inverse is the temperature.
    pub fn sharpness(self, gamma: impl Into<Var<'t, T>>) -> Self {
        Attend { sharpness: Some(gamma.into()), ..self }
    }

    /// c, which is subtracted from scores: a single number, or one for each head, as γ.
    pub fn offset(self, c: impl Into<Var<'t, T>>) -> Self {
        Attend { offset: Some(c.into()), ..self }
    }

    /// How scores become weights.
    pub fn weights(self, weights: Weights) -> Self {
        Attend { weights, ..self }
    }

    /// With n queries and m keys, query i attends to keys up to i + m − n.
    pub fn causal(self) -> Self {
        self.masked(Mask::Causal)
    }

    /// Queries attend to keys where `hidden`, which broadcasts to `[…, n, m]`, is 0: see [`Mask::Hidden`].
    pub fn mask(self, hidden: Var<'t, T>) -> Self {
        self.masked(Mask::Hidden(hidden))
    }

    /// Any of the masks.
    pub fn masked(self, mask: Mask<'t, T>) -> Self {
        Attend { mask, ..self }
    }

    /// How values are put together.
    pub fn aggregation(self, aggregation: Aggregation) -> Self {
        Attend { aggregation, ..self }
    }

    /// How values become points to be put together as a [`Barycentre`](Aggregation::Barycentre), and the
    /// result a value: by exp₀ if nothing is said. In polar coordinates, which need e ≥ 2, the result is
    /// a direction of length 1 and a radius that is not negative. Sums take values as they are.
    ///
    /// # Panics
    /// If the map is not one of [`PointMap::OF_VALUES`].
    #[track_caller]
    pub fn values(self, values: PointMap) -> Self {
        assert!(
            PointMap::OF_VALUES.contains(&values),
            "attention: values cannot be aggregated by {values:?}"
        );
        Attend { values, ..self }
    }

    /// Dropout of weights, while training. For a barycentre, which depends on the shares of the weights
    /// alone, keys are dropped before the weights are normalised ([`Pairs::drop_keys`]): the same barycentre,
    /// accurate also where hardly any weight is left. A query whose keys are all dropped gives 0.
    pub fn dropout(self, dropout: Dropout) -> Self {
        Attend { dropout, ..self }
    }

    /// From queries `[…, n, d]`, keys `[…, m, d]` and values `[…, m, e]` to results `[…, n, e]`. The
    /// result of a query that attends to no key is 0.
    ///
    /// # Panics
    /// If the shapes do not fit, or the score needs a height and the rows have one coordinate.
    #[track_caller]
    pub fn forward(
        self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        values: impl Into<Var<'t, T>>,
    ) -> Var<'t, T> {
        let (queries, keys) = (queries.into(), keys.into());
        let values = without_padding(values.into(), self.mask);
        let weights = self.aggregated_weights();
        let pairs = |keys| {
            let pairs = self.pairs(queries, keys);
            match self.aggregation {
                Aggregation::Sum => pairs.dropout(self.dropout.rate),
                Aggregation::Barycentre => pairs.drop_keys(self.dropout.rate),
            }
        };
        self.aggregate(values, |values| match self.mask {
            Mask::None => pairs(keys).attend(values, weights, false),
            Mask::Causal => pairs(keys).attend(values, weights, true),
            Mask::Hidden(hidden) if same_sets(queries, keys) && same_sets(keys, values) => {
                pairs(without_padding(keys, self.mask)).attend_masked(values, weights, hidden)
            }
            Mask::Hidden(_) => self.dropped_weights(queries, keys).matmul(values),
        })
    }

    /// Attention along the edges of a graph: query i attends to key j if (i, j) is an edge. From queries
    /// `[n, heads, d]`, keys `[m, heads, d]` and values `[m, heads, e]` to results `[n, heads, e]`; with
    /// one head the heads axis may be left out. The edges take the place of the mask. Memory is linear in
    /// the number of edges. The result of a query without edges is 0. A row without edges changes nothing
    /// and has no gradient, unless it is NaN: then its gradient is NaN.
    ///
    /// # Panics
    /// If the shapes do not fit, or γ or c is not a single number.
    #[track_caller]
    pub fn along_edges(
        self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        values: impl Into<Var<'t, T>>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        let scores = self.pairs(queries.into(), keys.into()).along(edges);
        let weights = self.aggregated_weights();
        let weights = self.drop(scores, None, |hidden| weights.normalise_edges(scores, hidden, edges));
        self.aggregate(values.into(), |values| weights.sparse_matmul(edges, values))
    }

    /// The weight of each edge of a graph, `[edges, heads]`, before dropout and, if logistic, before they are
    /// normalised for a barycentre. Queries and keys are as in
    /// [`along_edges`](Self::along_edges).
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn edge_weights(
        self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        self.weights.normalise_edges(self.pairs(queries.into(), keys.into()).along(edges), None, edges)
    }

    /// The scores of all pairs, `[…, n, m]`, whatever the mask.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn scores(self, queries: impl Into<Var<'t, T>>, keys: impl Into<Var<'t, T>>) -> Var<'t, T> {
        self.pairs(queries.into(), keys.into()).scores()
    }

    /// The weights of all pairs, `[…, n, m]`, exactly 0 where masked; before dropout and, if logistic,
    /// before they are normalised for a barycentre.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weigh(self, queries: impl Into<Var<'t, T>>, keys: impl Into<Var<'t, T>>) -> Var<'t, T> {
        let (scores, hidden) = self.stored(queries.into(), keys.into());
        self.weights.normalise(scores, hidden)
    }

    /// The scores of all pairs, and the mask of those that are hidden, if there is one.
    #[track_caller]
    fn stored(self, queries: Var<'t, T>, keys: Var<'t, T>) -> (Var<'t, T>, Option<Var<'t, T>>) {
        let scores = self.scores(queries, without_padding(keys, self.mask));
        let hidden = match self.mask {
            Mask::None => None,
            Mask::Hidden(hidden) => Some(hidden),
            Mask::Causal => {
                let shape = scores.shape();
                Some(scores.tape().causal_mask(shape.rows().width(), shape.width()))
            }
        };
        (scores, hidden)
    }

    /// The weights of all pairs, by which values are aggregated, with dropout.
    #[track_caller]
    pub(crate) fn dropped_weights(self, queries: Var<'t, T>, keys: Var<'t, T>) -> Var<'t, T> {
        let (scores, hidden) = self.stored(queries, keys);
        self.drop(scores, hidden, |hidden| self.aggregated_weights().normalise(scores, hidden))
    }

    /// The weights that `normalise` makes of scores, given which are hidden, with dropout: of the weights, or
    /// for a barycentre of the keys, which are then hidden too.
    #[track_caller]
    fn drop(
        self,
        scores: Var<'t, T>,
        hidden: Option<Var<'t, T>>,
        normalise: impl FnOnce(Option<Var<'t, T>>) -> Var<'t, T>,
    ) -> Var<'t, T> {
        let (tape, rate) = (scores.tape(), self.dropout.rate);
        if self.aggregation == Aggregation::Sum || rate == 0.0 || !tape.is_training() {
            return *self.dropout.forward(normalise(hidden));
        }
        let kept = tape.constant_with(scores.shape(), |ones| ones.fill(T::one())).dropout(rate);
        let dropped = tape.scalar(1.0).masked_fill(kept, 0.0);
        normalise(Some(hidden.map_or(dropped, |hidden| dropped.masked_fill(hidden, 1.0))))
    }

    /// Queries and keys, paired by the score.
    #[track_caller]
    fn pairs(self, queries: Var<'t, T>, keys: Var<'t, T>) -> Pairs<'t, T> {
        let (tape, d) = (queries.tape(), queries.shape().width());
        check(self.score, d);
        let gamma = self.sharpness.unwrap_or_else(|| tape.scalar(self.score.sharpness(d)));
        let c = self.offset.unwrap_or_else(|| tape.scalar(0.0));
        prepared(self.score, queries, keys, [gamma, c])
    }

    /// The weights by which values are aggregated. A barycentre depends on their shares alone; those of
    /// logistic weights are computed as shares, because far from all keys the weights themselves underflow.
    fn aggregated_weights(self) -> Weights {
        match (self.aggregation, self.weights) {
            (Aggregation::Barycentre, Weights::Sigmoid) => Weights::NormalisedSigmoid,
            (_, weights) => weights,
        }
    }

    /// Aggregates weighted values; `sum` computes their weighted sum.
    #[track_caller]
    fn aggregate(self, values: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        match self.aggregation {
            Aggregation::Sum => sum(values),
            Aggregation::Barycentre => self.values.aggregate(&sum(self.values.features(&values))),
        }
    }
}

/// Whether two batches of sets of rows, `[…, n, d]`, have equal axes but for the last two.
fn same_sets<T: Float>(a: Var<'_, T>, b: Var<'_, T>) -> bool {
    let (a, b) = (a.shape(), b.shape());
    let [a, b] = [&a, &b].map(|shape| &shape.axes()[..shape.rank().saturating_sub(2)]);
    a == b
}

/// Keys or values `[…, m, d]`, set to 0 where they are hidden from all queries. A weight of 0 alone
/// would let NaN through.
#[track_caller]
fn without_padding<'t, T: Float>(rows: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
    let Mask::Hidden(hidden) = mask else { return rows };
    let not = |x: Var<'t, T>| x.tape().scalar(1.0).masked_fill(x, 0.0);
    let mut seen = match hidden.shape().rank() {
        0 => return rows,
        1 => not(hidden),
        _ => not(hidden).max_axis(-2),
    };
    // A key that several sets of queries share is hidden only if it is hidden from all of them.
    let shared = rows.shape().rows();
    while seen.shape().rank() > shared.rank() {
        seen = seen.max_axis(0);
    }
    rows.masked_fill(not(seen.broadcast_to(shared.clone())).insert_axis(shared.rank()), 0.0)
}
