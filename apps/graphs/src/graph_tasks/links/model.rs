//! The model: two graph convolutions, and points whose distances make edges.

use std::sync::Arc;

use cotangent::layers::loss::FermiDirac;
use cotangent::prelude::*;
use cotangent_apps_common::curvature::CurvatureOption;
use cotangent_apps_common::error::{AppError, Result};

use super::LinkConfig;
use super::link_graph::LinkGraph;
use super::split::{Pair, Split};
use crate::graph::labelled_graph::feature_matrix;

/// Number of layers.
const LAYERS: usize = 2;

/// What the model reads: the features of all nodes, and the edges for training.
pub(super) struct Input<T: Float> {
    features: Arc<Sparsity>,
    amounts: Tensor<T>,
    adjacency: Adjacency<T>,
}

impl<T: Float> Input<T> {
    /// # Errors
    /// If no node has a feature.
    pub(super) fn new(graph: &LinkGraph, split: &Split, config: &LinkConfig) -> Result<Self> {
        let mut rows = graph.features.clone();
        if config.degrees > 0 {
            let width = rows.iter().flatten().map(|(feature, _)| feature + 1).max().unwrap_or(0);
            for (row, degree) in rows.iter_mut().zip(split.degrees()) {
                let class = width + degree.min(config.degrees);
                row.extend([(class, 1.0), (width + config.degrees + 1, 1.0)]);
            }
        }
        let found = feature_matrix(&rows).filter(|(features, _)| !features.pairs().is_empty());
        let (features, amounts) =
            found.ok_or_else(|| AppError::usage(format!("{}: its nodes have no features", graph.name)))?;
        let directed = split.train.iter().flat_map(|&(u, v)| [(u, v), (v, u)]);
        let own = (0..graph.nodes() as u32).map(|node| (node, node));
        let edges = Sparsity::new(graph.nodes(), graph.nodes(), &directed.chain(own).collect::<Vec<_>>());
        let amounts = Tensor::from_fn([amounts.len()], |i| T::nearest(amounts[i]));
        Ok(Input { features, amounts, adjacency: Adjacency::mean(Arc::new(edges)) })
    }

    /// Number of features.
    pub(super) fn width(&self) -> usize {
        self.features.columns()
    }
}

/// A network of graph convolutions, each in a space of its own. Their nonlinearity is `max(v, 0)` of tangent
/// vectors at the origin, which leads from one space to the next.
#[derive(Clone, Debug, Module)]
pub(super) struct LinkModel<T: Float> {
    /// The space of each layer, and of the result.
    pub(super) spaces: Vec<AnyGeometry<T>>,
    layers: Vec<GraphConvolution<SpaceForm, T>>,
    #[module(skip)]
    decoder: FermiDirac,
}

impl<T: Float> LinkModel<T> {
    /// For nodes with `width` features.
    pub(super) fn new(width: usize, config: &LinkConfig) -> Self {
        let mut rng = rng::stream(config.seed, "initial", 0);
        let geometry = |_| config.kappa.map_or(Euclidean.into(), CurvatureOption::geometry);
        let spaces: Vec<AnyGeometry<T>> = (0..=LAYERS).map(geometry).collect();
        let layer = |(i, space): (usize, &AnyGeometry<T>)| {
            let width = if i == 0 { width } else { config.dim };
            let mut layer = GraphConvolution::new(space.manifold(), width, config.dim, &mut rng);
            layer.aggregation = config.aggregation.into();
            layer.dropout = Dropout { rate: config.dropout };
            layer
        };
        let layers = spaces[..LAYERS].iter().enumerate().map(layer).collect();
        LinkModel { spaces, layers, decoder: FermiDirac::new(config.radius, config.temperature) }
    }

    /// The squared distance of each pair of nodes, `[pairs]`.
    pub(super) fn squared_distances<'t>(
        &self,
        tape: &'t Tape<T>,
        input: &Input<T>,
        pairs: &[Pair],
    ) -> Var<'t, T> {
        let mut x = Features::Sparse(input.features.clone(), tape.constant(&input.amounts));
        for (layer, space) in self.layers.iter().zip(&self.spaces) {
            let points = layer.forward(space.on(tape), &x, &input.adjacency);
            x = Features::Dense(log0(points).relu());
        }
        let Features::Dense(tangents) = x else { unreachable!("there are layers") };
        let space = self.spaces[LAYERS].on(tape);
        let points = space.exp0(tangents);
        let ends = |end: fn(&Pair) -> u32| points.gather(&pairs.iter().map(end).collect::<Vec<_>>());
        space.dist(ends(|pair| pair.0), ends(|pair| pair.1)).square()
    }

    /// The cross entropy of edges, each followed by a pair that is none: the mean over the edges.
    pub(super) fn loss<'t>(&self, tape: &'t Tape<T>, input: &Input<T>, pairs: &[Pair]) -> Var<'t, T> {
        let distances = self.squared_distances(tape, input, pairs);
        self.decoder.cross_entropy(distances.reshape([pairs.len() / 2, 2])).mean()
    }

    /// The sum of the squares of all weights.
    pub(super) fn squares<'t>(&self, tape: &'t Tape<T>) -> Var<'t, T> {
        let squares = self.layers.iter().map(|layer| layer.weight.on(tape).square().sum());
        squares.reduce(|a, b| a + b).expect("there are layers")
    }

    /// The curvatures, if they are learned.
    pub(super) fn learned_kappa(&self) -> Vec<f64> {
        self.spaces.iter().filter_map(AnyGeometry::learned_kappa).collect()
    }
}
