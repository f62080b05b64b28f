//! The losses of a batch of pairs, on a tape.

use cotangent::layers::loss;
use cotangent::prelude::*;

use crate::train::all_pairs;
use crate::train::config::EmbeddingConfig;
use crate::train::negatives::Sampler;
use crate::train::objective::margin_loss;
use crate::train::parameters::Parameters;

/// What the losses depend on.
pub(crate) struct Losses<'a, 't, T: Float> {
    pub(crate) config: &'a EmbeddingConfig,
    pub(crate) sampler: &'a Sampler<'a>,
    pub(crate) parameters: &'a Parameters<T>,
    pub(crate) tape: &'t Tape<T>,
}

impl<'t, T: Float> Losses<'_, 't, T> {
    /// The loss of each pair of a batch, `[batch]`, by what was drawn for it.
    pub(crate) fn losses(&self, pairs: &[u32], drawn: &[u32]) -> Var<'t, T> {
        let losses = match (self.config.objective.of_distances(), self.config.shared_negatives) {
            (Some(loss), 0) => loss.losses(self.distances(pairs, drawn)),
            (Some(_), _) => self.shared_losses(pairs, drawn),
            (None, _) => self.margin_losses(pairs, drawn),
        };
        let factors: Vec<T> = pairs.iter().map(|&pair| T::nearest(self.sampler.factor::<T>(pair))).collect();
        if factors.iter().all(|&factor| factor == T::one()) {
            return losses;
        }
        losses * self.tape.constant(&Tensor::new([pairs.len()], factors))
    }

    /// The points of some nodes, on the tape.
    fn rows(&self, nodes: &[u32]) -> Var<'t, T> {
        *self.parameters.points.on(self.tape).rows(nodes).coordinates()
    }

    /// The distances from each pair's first node to its candidates, `[batch, candidates]`.
    fn distances(&self, pairs: &[u32], candidates: &[u32]) -> Var<'t, T> {
        let graph = self.sampler.graph;
        let heads: Vec<u32> = pairs.iter().map(|&p| graph.pairs[p as usize].0).collect();
        let (width, batch) = (self.parameters.points.value().width(), pairs.len());
        let u = self.rows(&heads).reshape([batch, 1, width]);
        let v = self.rows(candidates).reshape([batch, self.sampler.candidates(), width]);
        self.parameters.distances(self.tape, [u, v])
    }

    /// The ranking loss of each pair, with negatives that all pairs share; those that are neighbours of the
    /// pair's first node, or that node, do not count.
    fn shared_losses(&self, pairs: &[u32], negatives: &[u32]) -> Var<'t, T> {
        let (graph, tape, batch) = (self.sampler.graph, self.tape, pairs.len());
        let ends = |end: fn(&(u32, u32)) -> u32| -> Vec<u32> {
            pairs.iter().map(|&p| end(&graph.pairs[p as usize])).collect()
        };
        let (heads, seconds) = (ends(|pair| pair.0), ends(|pair| pair.1));
        let [u, v, w] = [&heads[..], &seconds, negatives].map(|nodes| self.rows(nodes));
        let space = self.config.geometry.single().expect("the configuration was checked");
        let to_negatives = all_pairs::distances(space, [u, w]).expect("the configuration was checked");
        let mask = all_pairs::mask(&self.sampler.neighbours, &heads, negatives);
        let mask = tape.constant(&Tensor::new([batch, negatives.len()], mask));
        let positive = self.parameters.points.manifold().dist(&u, &v).reshape([batch, 1]);
        loss::ranking(Var::concat(&[positive, to_negatives.masked_fill(mask, T::LARGEST)], 1))
    }

    /// The max-margin loss of each pair by the energies of cones.
    fn margin_losses(&self, pairs: &[u32], candidates: &[u32]) -> Var<'t, T> {
        let objective = self.config.objective;
        let (mut ancestors, mut descendants) = (Vec::new(), Vec::new());
        for (&pair, candidates) in pairs.iter().zip(candidates.chunks(self.sampler.candidates())) {
            let (u, v) = self.sampler.graph.pairs[pair as usize];
            for (position, &w) in candidates.iter().enumerate() {
                let (below, above) = if self.sampler.replaces_first(position) { (w, v) } else { (u, w) };
                descendants.push(below);
                ancestors.push(above);
            }
        }
        let space = self.config.geometry.single().expect("the configuration was checked");
        let energies = objective.energy(space, &self.rows(&ancestors), &self.rows(&descendants));
        let energies =
            energies.expect("a loss by energies").reshape([pairs.len(), self.sampler.candidates()]);
        margin_loss(energies, objective.margin)
    }
}
