//! The recursive transformer on a graph: Gulcehre et al. 2019, section 5.1 and appendix A.6; the first
//! preprint, Figure 9.
//!
//! An encoder turns the input of each node into its state. One block of attention and feed-forward network is
//! applied several times, with the same weights. A read-out answers questions from the states of two nodes.

use std::sync::Arc;

use cotangent::layers::{EncoderLayer, NormOrder, TransformerSizes};
use cotangent::prelude::*;
use cotangent_apps_attention::body::table;

use super::config::{GraphTasksConfig, Input};
use super::task::{Example, Lesson};

/// An example as the model reads it.
#[derive(Clone, Debug)]
pub(super) struct Questions {
    /// Number of nodes.
    nodes: usize,
    reading: Reading,
    /// The nodes that the input marks.
    flagged: Option<Vec<u32>>,
    /// The two nodes of each question.
    pairs: [Vec<u32>; 2],
    /// The class of each answer.
    pub(super) labels: Vec<u32>,
}

/// The nodes' input.
#[derive(Clone, Debug)]
enum Reading {
    /// `[nodes, rows of the table]`, and the row of each node.
    Adjacency(Arc<Sparsity>, Vec<u32>),
    /// For each node ln(1 + its number of edges); edges to neighbours and to itself.
    Neighbours(Vec<f32>, Arc<Sparsity>),
}

impl Questions {
    /// Prepares an example of a lesson. A row of the table is for the same angle whatever the number of
    /// nodes: of n nodes in the whole disc, node i has the row `i · table / n`.
    pub(super) fn new(example: &Example, lesson: &Lesson, config: &GraphTasksConfig) -> Self {
        let graph = &example.graph;
        let nodes = graph.nodes();
        let row = |node: u32| (node as usize * config.disc.nodes / lesson.nodes) as u32;
        let numbers = 0..nodes as u32;
        let edges = |own: bool| {
            numbers.clone().flat_map(move |i| {
                let others = graph.neighbours(i as usize).iter().copied();
                others.chain(own.then_some(i)).map(move |j| (i, j))
            })
        };
        let reading = match config.input {
            Input::Adjacency => {
                let elements: Vec<(u32, u32)> = edges(false).map(|(i, j)| (i, row(j))).collect();
                let sparsity = Sparsity::new(nodes, config.disc.nodes, &elements);
                Reading::Adjacency(Arc::new(sparsity), numbers.map(row).collect())
            }
            Input::Neighbours => {
                let degree = |node: usize| (graph.neighbours(node).len() as f32).ln_1p();
                let pairs: Vec<(u32, u32)> = edges(true).collect();
                let sparsity = Sparsity::new(nodes, nodes, &pairs);
                Reading::Neighbours((0..nodes).map(degree).collect(), Arc::new(sparsity))
            }
        };
        Questions {
            nodes,
            reading,
            flagged: config.flags.then(|| example.pairs.concat()),
            pairs: [0, 1].map(|side| example.pairs.iter().map(|pair| pair[side]).collect()),
            labels: example.labels.iter().map(|&label| label as u32).collect(),
        }
    }
}

/// The encoder.
#[derive(Clone, Debug, Module)]
enum Encoder<T: Float> {
    /// Adjacency rows through a linear layer.
    Adjacency {
        /// What a neighbour adds: `[nodes, width]`.
        neighbours: Param<Euclidean, T>,
        /// What the node itself adds: `[nodes, width]`.
        own: Param<Euclidean, T>,
    },
    /// Numbers of edges through a linear layer.
    Degree(Linear<Euclidean, T>),
}

/// Encoder, block and read-out.
#[derive(Clone, Debug, Module)]
pub(super) struct RecursiveTransformer<T: Float = f32> {
    encoder: Encoder<T>,
    /// Added to the state of a marked node: `[width]`.
    flag: Option<Param<Euclidean, T>>,
    pub(super) block: EncoderLayer<T>,
    /// Of the last states, if the block normalises before its sublayers.
    norm: Option<LayerNorm<T>>,
    read_out: FeedForward<Euclidean, T>,
    /// Number of times that the block is applied.
    depth: usize,
    #[module(skip)]
    dropout: Dropout,
}

impl<T: Float> RecursiveTransformer<T> {
    /// The model before the first step. Its random stream is named `"initial"`.
    pub(super) fn new(config: &GraphTasksConfig, score: &dyn Score<T>) -> Self {
        let mut rng = rng::stream(config.seed, "initial", 0);
        let [width, hidden] = config.sizes();
        let order: NormOrder = config.norm.into();
        let head = [config.head_dim; 2];
        let sizes =
            TransformerSizes { width, heads: config.heads, head, hidden, dropout: config.dropout, order };
        let encoder = match config.input {
            Input::Adjacency => Encoder::Adjacency {
                neighbours: table("neighbours", config.disc.nodes, width, &mut rng),
                own: table("own", config.disc.nodes, width, &mut rng),
            },
            Input::Neighbours => Encoder::Degree(Linear::new(Euclidean, 1, width, &mut rng)),
        };
        let flag = config.flags.then(|| {
            let row = table::<T>("flag", 1, width, &mut rng);
            Param::new("flag", Euclidean, row.value().reshape([width]))
        });
        let mut block = EncoderLayer::new(score, sizes, &mut rng);
        config.options.apply_to_heads(&mut block.attention);
        let dims = [3 * width, hidden, config.task.classes()];
        let read_out = FeedForward::new(Euclidean, &dims, Activation::RELU, &mut rng);
        RecursiveTransformer {
            encoder,
            flag,
            block,
            norm: (order == NormOrder::Pre).then(|| LayerNorm::new(width)),
            read_out: FeedForward { output: Activation::IDENTITY, ..read_out },
            depth: config.layers,
            dropout: Dropout { rate: config.dropout },
        }
    }

    /// The states of the nodes before the first block, `[nodes, width]`.
    fn encode<'t>(&self, tape: &'t Tape<T>, questions: &Questions) -> Var<'t, T> {
        let x = match (&self.encoder, &questions.reading) {
            (Encoder::Adjacency { neighbours, own }, Reading::Adjacency(elements, rows)) => {
                let ones = tape.constant_with([elements.pairs().len()], |ones| ones.fill(T::one()));
                ones.sparse_matmul(elements, *neighbours.on(tape)) + own.on(tape).gather(rows)
            }
            (Encoder::Degree(linear), Reading::Neighbours(degrees, _)) => {
                let degrees = Tensor::from_fn([questions.nodes, 1], |i| T::nearest(degrees[i].into()));
                *linear.forward(tape.constant(&degrees))
            }
            _ => unreachable!("questions for another input"),
        };
        let x = match (&self.flag, &questions.flagged) {
            (Some(flag), Some(nodes)) => {
                let marks = tape.constant_with([questions.nodes, 1], |marks| {
                    marks.fill(T::zero());
                    nodes.iter().for_each(|&node| marks[node as usize] = T::one());
                });
                x + marks * *flag.on(tape)
            }
            _ => x,
        };
        *self.dropout.forward(x)
    }

    /// The states of the nodes before each block, and after the last: `[nodes, width]` each.
    fn states<'t>(&self, tape: &'t Tape<T>, questions: &Questions) -> Vec<Var<'t, T>> {
        let mut states = vec![self.encode(tape, questions)];
        for _ in 0..self.depth {
            let x = states[states.len() - 1];
            states.push(match &questions.reading {
                Reading::Adjacency(..) => {
                    let shape = x.shape();
                    let batch = x.reshape([1, shape[0], shape[1]]);
                    self.block.forward(batch, Mask::None).reshape(shape)
                }
                Reading::Neighbours(_, edges) => self.block.along_edges(x, edges),
            });
        }
        states
    }

    /// The logits of the questions, `[questions, classes]`. They do not depend on the order of a question's
    /// two nodes: the read-out takes the sum of their states, the product and the absolute difference,
    /// coordinate by coordinate.
    pub(super) fn logits<'t>(&self, tape: &'t Tape<T>, questions: &Questions) -> Var<'t, T> {
        let states = self.states(tape, questions);
        let last = states[states.len() - 1];
        let last = self.norm.as_ref().map_or(last, |norm| norm.forward(last));
        let [a, b] = questions.pairs.each_ref().map(|nodes| last.gather(nodes));
        *self.read_out.forward(Var::concat(&[a + b, a * b, (a - b).abs()], -1))
    }

    /// The mean loss of the questions.
    pub(super) fn loss<'t>(&self, tape: &'t Tape<T>, questions: &Questions) -> Var<'t, T> {
        loss::cross_entropy(self.logits(tape, questions), &questions.labels, 0.0)
    }

    /// Queries and keys of all nodes and heads, in each application of the block: `[1, heads, nodes, d]`.
    pub(super) fn project<'t>(&self, tape: &'t Tape<T>, questions: &Questions) -> Vec<[Var<'t, T>; 2]> {
        let mut states = self.states(tape, questions);
        states.pop();
        let project = |x: Var<'t, T>| {
            let shape = x.shape();
            self.block.project(x.reshape([1, shape[0], shape[1]]))
        };
        states.into_iter().map(project).collect()
    }
}
