//! Relation networks: Santoro et al. 2017 (*A simple neural network module for relational reasoning*); with
//! attention: Gulcehre et al. 2019, section 3.2.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, Module, Point};

use crate::activation::Activation;
use crate::attention::Attention;
use crate::attention::attend::{Aggregation, Mask};
use crate::attention::attentive_read::{Normaliser, attentive_read};
use crate::dropout::Dropout;
use crate::linear::concat::Concat;
use crate::linear::feed_forward::FeedForward;

/// The sizes of a [`RelationNetwork`].
#[derive(Clone, Copy, Debug)]
pub struct RelationSizes<'a> {
    /// Width of an object.
    pub object: usize,
    /// Width of a context: a question, for example.
    pub context: usize,
    /// Units of each layer of g, at least one layer.
    pub relation: &'a [usize],
    /// Units of each layer of h; the last is the width of the result.
    pub output: &'a [usize],
}

/// What several objects say together in a context: `h(Σ_i r_i)`, where object i reads the others,
/// `r_i = Σ_j f(o_i, o_j) g(o_i, o_j, c)`.
///
/// g and h are networks of linear layers with rectifiers, h without one after its last layer. The weights f
/// are 1, or logistic functions of how well two objects [match](Matching). Z = 1 in either case. If points
/// are aggregated, r_i is the midpoint of the points `g(o_i, o_j, c)` with the weights f: it has no Z, and
/// the midpoints of all i are summed as they are.
///
/// The first layer of g is a sum of three products, of o_i, o_j and c, so that n² pairs of n objects need n
/// products of each.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{RelationNetwork, RelationSizes};
/// use cotangent_manifolds::Module;
/// let sizes = RelationSizes { object: 5, context: 3, relation: &[8, 8], output: &[6, 2] };
/// let network = RelationNetwork::new(sizes, &mut rng::stream(1, 0, 0));
/// let tape = Tape::<f32>::new();
/// let objects = tape.zeros([4, 7, 5]); // 4 scenes of 7 objects
/// let questions = tape.zeros([4, 10, 3]); // 10 questions about each scene
/// assert_eq!(network.forward(objects, questions, None).shape().axes(), [4, 10, 2]);
/// assert_eq!(network.count(), (5 + 5 + 3 + 1) * 8 + 9 * 8 + 9 * 6 + 7 * 2);
/// ```
#[derive(Clone, Debug, Module)]
pub struct RelationNetwork<T: Float = f32> {
    /// The first layer of g: of o_i, o_j and c.
    pub first: Concat<Euclidean, T>,
    /// The other layers of g.
    pub relation: FeedForward<Euclidean, T>,
    /// f; without it all weights are 1.
    pub matching: Option<Matching<T>>,
    /// h.
    pub output: FeedForward<Euclidean, T>,
    /// Dropout of the inputs of h's last layer.
    #[module(skip)]
    pub dropout: Dropout,
}

/// f of a relation network: which objects an object reads. Gulcehre et al. 2019, section 3.2.
///
/// The queries are linear functions of o_i, the keys of o_j, or of an object and the context.
#[derive(Clone, Debug, Module)]
pub struct Matching<T: Float = f32> {
    /// Queries: of o_i, or of o_i and c.
    pub queries: Concat<Euclidean, T>,
    /// Keys: of o_j, or of o_j and c.
    pub keys: Concat<Euclidean, T>,
    /// The score, its γ and c, the function that makes it a weight, and the aggregation.
    pub attention: Attention<T>,
}

impl<T: Float> RelationNetwork<T> {
    /// A network whose weights f are 1: that of Santoro et al. 2017. Matrices start by
    /// [`init::glorot_uniform`](crate::init::glorot_uniform), biases at 0.
    ///
    /// # Panics
    /// If g or h has no layer.
    #[track_caller]
    pub fn new(sizes: RelationSizes<'_>, rng: &mut Rng) -> Self {
        let RelationSizes { object, context, relation, output } = sizes;
        assert!(
            !relation.is_empty() && !output.is_empty(),
            "RelationNetwork: {} layers of g and {} of h, where each needs one",
            relation.len(),
            output.len()
        );
        let last = relation[relation.len() - 1];
        let output: Vec<usize> = [&[last], output].concat();
        let output = FeedForward::new(Euclidean, &output, Activation::RELU, rng);
        RelationNetwork {
            first: Concat::new(Euclidean, &[object, object, context], 0, relation[0], rng),
            relation: FeedForward::new(Euclidean, relation, Activation::RELU, rng),
            matching: None,
            output: FeedForward { output: Activation::IDENTITY, ..output },
            dropout: Dropout { rate: 0.0 },
        }
    }

    /// The same with weights f by this attention, whose queries and keys have d dimensions, and read the
    /// context or do not. For weights from 0 to 1 that do not compete, [`Attention::weights`] must be
    /// logistic. If the values are aggregated as points, g has no rectifier after its last layer.
    pub fn matching(self, attention: Attention<T>, d: usize, reads_context: bool, rng: &mut Rng) -> Self {
        let widths = [0, 2].map(|i| self.first.weights[i].value().shape().width());
        let widths = if reads_context { &widths[..] } else { &widths[..1] };
        let [queries, keys] = [0, 1].map(|_| Concat::new(Euclidean, widths, 0, d, rng));
        let mut relation = self.relation;
        if attention.aggregation == Aggregation::Barycentre {
            relation.output = Activation::IDENTITY;
        }
        RelationNetwork { relation, matching: Some(Matching { queries, keys, attention }), ..self }
    }

    /// From objects `[batch, n, o]` and contexts `[batch, contexts, c]` to `[batch, contexts, width of h]`.
    /// Where `absent`, `[batch, n]`, is not 0, there is no object: neither its coordinates nor its number
    /// change the result.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(
        &self,
        objects: Var<'t, T>,
        contexts: Var<'t, T>,
        absent: Option<Var<'t, T>>,
    ) -> Var<'t, T> {
        self.check(objects, contexts, absent);
        let values = self.values(objects, contexts);
        let shape = values.shape();
        let &[batch, questions, n, _, e] = shape.axes() else { unreachable!("pairs in contexts") };
        let read = match self.weights(objects, contexts, absent) {
            None => values.reshape([batch, questions, n * n, e]),
            Some(weights) => self.read(weights.broadcast_to([batch, questions, n, n]), values),
        };
        let read = match absent {
            Some(absent) => {
                let absent = absent.reshape([batch, 1, n, 1]).broadcast_to([batch, questions, n, 1]);
                read.masked_fill(absent, 0.0)
            }
            None => read,
        };
        self.result(read.sum_axis(-2))
    }

    /// f: the weights with which objects read others, `[batch, contexts or 1, n, n]`. Those of absent objects
    /// are 0. `None` if all are 1.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weights<'t>(
        &self,
        objects: Var<'t, T>,
        contexts: Var<'t, T>,
        absent: Option<Var<'t, T>>,
    ) -> Option<Var<'t, T>> {
        self.check(objects, contexts, absent);
        let [batch, n] = [objects.shape()[0], objects.shape()[1]];
        let hidden = absent.map(|absent| absent.reshape([batch, 1, 1, n]));
        let Some(Matching { queries, keys, attention }) = &self.matching else {
            let present = |hidden| objects.tape().scalar(1.0).masked_fill(hidden, 0.0);
            return hidden.map(|hidden| present(hidden).broadcast_to([batch, 1, n, n]));
        };
        let [queries, keys] = [queries, keys].map(|layer| linear(layer, &[objects.insert_axis(1)], contexts));
        Some(attention.aggregated_weights(queries, keys, hidden.map_or(Mask::None, Mask::Hidden)))
    }

    /// g of all pairs: `[batch, contexts, n, n, e]`.
    #[track_caller]
    fn values<'t>(&self, objects: Var<'t, T>, contexts: Var<'t, T>) -> Var<'t, T> {
        let objects = objects.insert_axis(1);
        let first = linear(&self.first, &[objects.insert_axis(3), objects.insert_axis(2)], contexts);
        let activation =
            if self.relation.layers.is_empty() { self.relation.output } else { Activation::RELU };
        let pairs = Point::new(Euclidean, first);
        *self.relation.forward(activation.forward(pairs)).coordinates()
    }

    /// What each object reads, `[batch, contexts, n, e]`.
    #[track_caller]
    fn read<'t>(&self, weights: Var<'t, T>, values: Var<'t, T>) -> Var<'t, T> {
        match &self.matching {
            Some(Matching { attention, .. }) if attention.aggregation == Aggregation::Barycentre => {
                let points = attention.values;
                points.aggregate(&attentive_read(weights, points.features(&values), Normaliser::One))
            }
            _ => attentive_read(weights, values, Normaliser::One),
        }
    }

    /// h.
    #[track_caller]
    fn result<'t>(&self, sum: Var<'t, T>) -> Var<'t, T> {
        let (last, before) = self.output.layers.split_last().expect("a layer of h");
        let mut x = Point::new(Euclidean, sum);
        for layer in before {
            x = self.output.activation.forward(layer.forward(x));
        }
        *self.output.output.forward(last.forward(self.dropout.forward(x))).coordinates()
    }

    /// Panics if the shapes do not fit.
    #[track_caller]
    fn check(&self, objects: Var<'_, T>, contexts: Var<'_, T>, absent: Option<Var<'_, T>>) {
        let (a, b) = (objects.shape(), contexts.shape());
        let [object, context] = [0, 2].map(|i| self.first.weights[i].value().shape().width());
        let fits = a.rank() == 3 && b.rank() == 3 && a[0] == b[0] && a[2] == object && b[2] == context;
        assert!(
            fits && absent.is_none_or(|absent| absent.shape().axes() == &a.axes()[..2]),
            "RelationNetwork: objects of shape {a} and contexts of shape {b}{}, where \
             [batch, n, {object}] and [batch, contexts, {context}] fit",
            absent.map_or(String::new(), |absent| format!(", absent of shape {}", absent.shape()))
        );
    }
}

/// The linear layer of objects `[batch, 1, …, o]`, one for each of the first matrices, and of contexts
/// `[batch, contexts, c]` if the layer has a matrix more.
#[track_caller]
fn linear<'t, T: Float>(
    layer: &Concat<Euclidean, T>,
    objects: &[Var<'t, T>],
    contexts: Var<'t, T>,
) -> Var<'t, T> {
    let tape = contexts.tape();
    let weight = |i: usize| *layer.weights[i].on(tape);
    let mut sum = *layer.bias.on(tape);
    if objects.len() < layer.weights.len() {
        let of_contexts = contexts.linear(weight(objects.len()), sum);
        // [batch, contexts, 1, …, m]
        sum = (2..objects[0].shape().rank() - 1).fold(of_contexts, |x, axis| x.insert_axis(axis));
    }
    objects.iter().enumerate().fold(sum, |sum, (i, &x)| sum + x.matmul_nt(weight(i)))
}

#[cfg(test)]
mod tests {
    use cotangent_engine::{Tape, Tensor, Weights, check, rng};
    use cotangent_manifolds::PoincareBall;

    use super::*;
    use crate::attention::attend::Attend;
    use crate::attention::score::Distance;

    const SIZES: RelationSizes<'static> =
        RelationSizes { object: 3, context: 2, relation: &[4, 3], output: &[4, 2] };

    fn sines(shape: impl Into<cotangent_engine::Shape>, start: f64) -> Tensor<f64> {
        Tensor::from_fn(shape, |i| (start + 1.7 * i as f64).sin())
    }

    fn attention(d: usize, aggregation: Aggregation) -> Attention<f64> {
        Attention { weights: Weights::Sigmoid, aggregation, ..Attention::new(&Distance, d) }
    }

    /// A network with biases that are not 0.
    fn network(aggregation: Option<Aggregation>, reads_context: bool) -> RelationNetwork<f64> {
        let rng = &mut rng::stream(3, 0, 0);
        let mut network = RelationNetwork::new(SIZES, rng);
        if let Some(aggregation) = aggregation {
            network = network.matching(attention(4, aggregation), 4, reads_context, rng);
            let matching = network.matching.as_mut().unwrap();
            *matching.queries.bias.value_mut() = sines([4], 0.1);
        }
        *network.first.bias.value_mut() = sines([4], 0.4);
        network
    }

    /// Every network.
    fn networks() -> impl Iterator<Item = RelationNetwork<f64>> {
        let kinds = [None, Some(Aggregation::Sum), Some(Aggregation::Barycentre)];
        kinds.into_iter().flat_map(|kind| [false, true].map(|reads_context| network(kind, reads_context)))
    }

    /// Row i of `[rows, d]`.
    fn row<'t>(x: Var<'t, f64>, i: usize) -> Var<'t, f64> {
        x.slice(0, i..i + 1)
    }

    /// The definition, pair by pair: one scene and one question.
    fn by_pairs<'t>(
        network: &RelationNetwork<f64>,
        objects: Var<'t, f64>,
        question: Var<'t, f64>,
    ) -> Var<'t, f64> {
        let point = |x| Point::new(Euclidean, x);
        let n = objects.shape()[0];
        let g = |i: usize, j: usize| {
            let points = [row(objects, i), row(objects, j), question].map(point);
            let first = network.first.forward(&points, None).coordinates().relu();
            *network.relation.forward(point(first)).coordinates()
        };
        let sums = (0..n).map(|i| {
            let values = Var::concat(&(0..n).map(|j| g(i, j)).collect::<Vec<_>>(), 0);
            let Some(Matching { queries, keys, attention }) = &network.matching else {
                return values.sum_axis(0).insert_axis(0);
            };
            let reads_context = queries.weights.len() == 2;
            let matched = |layer: &Concat<Euclidean, f64>, i: usize| {
                let points = [row(objects, i), question].map(point);
                *layer.forward(&points[..1 + usize::from(reads_context)], None).coordinates()
            };
            let keys = Var::concat(&(0..n).map(|j| matched(keys, j)).collect::<Vec<_>>(), 0);
            let attend = Attend::new(&Distance).weights(Weights::Sigmoid);
            attend.aggregation(attention.aggregation).forward(matched(queries, i), keys, values)
        });
        let sum = sums.reduce(|a, b| a + b).unwrap();
        *network.output.forward(point(sum)).coordinates()
    }

    #[test]
    fn it_is_its_definition_pair_by_pair() {
        for network in networks() {
            let tape = Tape::<f64>::new();
            let [objects, questions] =
                [sines([2, 5, 3], 0.2), sines([2, 3, 2], 0.7)].map(|x| tape.constant(&x));
            let got = network.forward(objects, questions, None).to_tensor();
            assert_eq!(got.shape(), &[2, 3, 2].into());
            for (k, got) in got.rows().enumerate() {
                let scene = row(objects, k / 3).reshape([5, 3]);
                let question = row(questions, k / 3).reshape([3, 2]).slice(0, k % 3..k % 3 + 1);
                let want = by_pairs(&network, scene, question).to_tensor();
                assert!(got.iter().zip(want.data()).all(|(x, y)| (x - y).abs() < 1e-13), "{got:?} {want:?}");
            }
        }
    }

    /// Objects that are absent change nothing; the order of objects does not either.
    #[test]
    fn absent_objects_change_nothing() {
        for network in networks() {
            let tape = Tape::<f64>::new();
            let (objects, questions) = (sines([1, 3, 3], 0.2), tape.constant(&sines([1, 2, 2], 0.7)));
            let want = network.forward(tape.constant(&objects), questions, None).to_tensor();
            let [a, b, c]: [&[f64]; 3] = [0, 1, 2].map(|i| objects.row(i));
            let more = [c, &[9.0, 8.0, 7.0], a, b, &[1.0; 3]].concat();
            let absent = tape.constant(&Tensor::new([1, 5], vec![0.0, 1.0, 0.0, 0.0, 1.0]));
            let more = tape.constant(&Tensor::new([1, 5, 3], more));
            let got = network.forward(more, questions, Some(absent)).to_tensor();
            assert!(
                got.data().iter().zip(want.data()).all(|(x, y)| (x - y).abs() < 1e-13),
                "{got:?} {want:?}"
            );
        }
    }

    #[test]
    fn gradients() {
        for network in networks() {
            let inputs = [sines([1, 3, 3], 0.2), sines([1, 2, 2], 0.7)];
            let worst = check::gradients(&inputs, |v| {
                let y = network.forward(v[0], v[1], None);
                (y * y).sum()
            });
            assert!(worst.relative < 1e-6, "{worst:?}");
        }
    }

    /// In two dimensions, as with the smallest networks, the midpoints are those of the ball.
    #[test]
    fn midpoints_of_equal_weights_are_barycentres() {
        let sizes = RelationSizes { relation: &[2], output: &[2], ..SIZES };
        let rng = &mut rng::stream(5, 0, 0);
        let mut network =
            RelationNetwork::new(sizes, rng).matching(attention(2, Aggregation::Barycentre), 2, false, rng);
        // Every distance is 0.
        for layer in network.matching.iter_mut().flat_map(|m| [&mut m.queries, &mut m.keys]) {
            *layer.weights[0].value_mut() = Tensor::zeros([2, 3]);
        }
        *network.output.layers[0].weight.value_mut() = Tensor::new([2, 2], vec![1.0, 0.0, 0.0, 1.0]);
        let tape = Tape::<f64>::new();
        let [objects, question] = [sines([1, 4, 3], 0.2), sines([1, 1, 2], 0.7)].map(|x| tape.constant(&x));
        let got = network.forward(objects, question, None).reshape([2]).to_tensor();
        let ball = PoincareBall::new(-1.0);
        let values = network.values(objects, question).reshape([4, 4, 2]);
        let points = ball.exp0(&values);
        let ones = tape.constant(&Tensor::new([4, 4], vec![1.0; 16]));
        let midpoints = crate::space::gyrovector_space::GyrovectorSpace::gyromidpoint(&ball, points, ones);
        let want = ball.log0(&midpoints).sum_axis(0).to_tensor();
        assert!(got.data().iter().zip(want.data()).all(|(x, y)| (x - y).abs() < 1e-13), "{got:?} {want:?}");
    }

    #[test]
    #[should_panic(expected = "objects of shape [1, 3, 3] and contexts of shape [2, 1, 2], where \
                               [batch, n, 3] and [batch, contexts, 2] fit")]
    fn shapes_must_fit() {
        let tape = Tape::<f64>::new();
        network(None, false).forward(tape.zeros([1, 3, 3]), tape.zeros([2, 1, 2]), None);
    }

    #[test]
    #[should_panic(expected = "0 layers of g and 2 of h, where each needs one")]
    fn there_are_layers() {
        RelationNetwork::<f64>::new(RelationSizes { relation: &[], ..SIZES }, &mut rng::stream(1, 0, 0));
    }
}
