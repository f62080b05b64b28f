//! Mean rank and mean average precision (MAP) of the reconstruction of a graph from its embedding: Nickel &
//! Kiela 2017, section 4.
//!
//! For every node u with neighbours N(u), each v in N(u) is ranked by d(u, v) among d(u, w) for all w ∉
//! N(u) ∪ {u}. Rank 1 means nearer than all of them; a tie counts half. The mean rank is over all pairs.
//! MAP is the mean average precision of N(u) over the nodes that have neighbours.
//!
//! The computation is exact, over all nodes u or over a sample of them; candidates always are all nodes.
//! Ranks need no distances, only their keys, which `keys.rs` has.

use cotangent::prelude::*;
use cotangent_apps_common::geometry::Geometry;
use cotangent_numbers::simd::dispatch_blocks;
use rayon::prelude::*;

use crate::evaluate::keys::{Keys, Origin};
use crate::files::embeddings::Embeddings;
use crate::graph::Neighbours;

/// How well an embedding reconstructs a graph.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Score {
    /// Mean rank of the neighbours; 1 is perfect.
    pub mean_rank: f64,
    /// Mean average precision; 1 is perfect.
    pub map: f64,
    /// Number of nodes with neighbours that were evaluated.
    pub nodes: usize,
    /// Number of their pairs.
    pub pairs: usize,
    /// Number of all nodes with neighbours.
    pub all_nodes: usize,
}

/// A text about a sample of nodes, if not all nodes with neighbours were evaluated.
pub fn sampled(nodes: usize, all_nodes: usize) -> Option<String> {
    (nodes < all_nodes).then(|| format!("of a sample of {nodes} of {all_nodes} nodes"))
}

/// Number of nodes that are ranked together, so that each block of points is read once for all of them.
pub(crate) const TOGETHER: usize = 16;

/// Number of tiles in a block: about as many as the first cache holds in ten dimensions.
const BLOCK: usize = 12;

/// The largest number of distances that an evaluation computes if nothing else is asked for. So all nodes of
/// a graph are evaluated up to 100,000 nodes, and 1,000 of 10 million.
const DISTANCES: usize = 10_000_000_000;

/// Which nodes are evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of nodes; `None` takes as many as 10¹⁰ distances allow.
    pub nodes: Option<usize>,
    /// Seed of the draw.
    pub seed: u64,
}

impl Sample {
    /// All nodes.
    pub const ALL: Sample = Sample { nodes: Some(usize::MAX), seed: 0 };

    /// Draws from the nodes that have neighbours, if they are more than wanted; in ascending order.
    fn draw(self, points: usize, nodes: Vec<u32>) -> Vec<u32> {
        match self.places(points, nodes.len()) {
            Some(places) => places.into_iter().map(|i| nodes[i]).collect(),
            None => nodes,
        }
    }

    /// The places of those that are drawn, among so many nodes; `None` if they are no more than wanted.
    pub(crate) fn places(self, points: usize, nodes: usize) -> Option<Vec<usize>> {
        let wanted = self.nodes.unwrap_or(DISTANCES / points.max(1)).max(1);
        if nodes <= wanted {
            return None;
        }
        let mut rng = rng::stream(self.seed, "reconstruction", 0);
        let mut drawn = rand::seq::index::sample(&mut rng, nodes, wanted).into_vec();
        drawn.sort_unstable();
        Some(drawn)
    }
}

/// The points among which neighbours are ranked.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The points: `[points, coordinates]`.
    pub points: &'a Tensor<f64>,
    /// Their geometry.
    pub geometry: Geometry,
    /// What is added to the point whose neighbours are ranked, in Euclidean space: the vector of
    /// [`Loss::Translation`](crate::train::objective::Loss::Translation).
    pub translation: Option<&'a [f64]>,
}

impl Embeddings {
    /// All points.
    pub(crate) fn candidates(&self) -> Candidates<'_> {
        let Embeddings { points, geometry, translation, .. } = self;
        Candidates { points, geometry: *geometry, translation: translation.as_deref() }
    }
}

impl Candidates<'_> {
    fn keys(&self) -> Keys {
        let keys = Keys::new(self.points, self.geometry);
        match self.translation {
            Some(r) => keys.translated(r),
            None => keys,
        }
    }
}

/// Evaluates points against a graph whose node i is the point `points_of[i]`. Points without a node are
/// candidates too. Uses the current thread pool; the result does not depend on the pool's size.
pub fn evaluate(
    points: &Tensor<f64>,
    geometry: Geometry,
    points_of: &[u32],
    neighbours: &Neighbours,
) -> Score {
    let candidates = Candidates { points, geometry, translation: None };
    rank(candidates, points_of, [neighbours, neighbours], Sample::ALL)
}

/// Same as [`evaluate`], for some of the pairs of a graph, those of `ranked`, and a sample of its nodes. No
/// pair of `known`, which has these pairs too, counts as a wrong one.
pub fn rank(
    candidates: Candidates<'_>,
    points_of: &[u32],
    [ranked, known]: [&Neighbours; 2],
    sample: Sample,
) -> Score {
    let keys = candidates.keys();
    let sources: Vec<u32> = (0..points_of.len() as u32).filter(|&u| !ranked.of(u).is_empty()).collect();
    let all_nodes = sources.len();
    let nodes = sample.draw(candidates.points.shape()[0], sources);
    let count = |group: &[u32]| {
        let point_of = |&v: &u32| points_of[v as usize] as usize;
        let ranking = |u: &u32| {
            let [near, known] = [ranked, known].map(|neighbours| neighbours.of(*u).iter().map(point_of));
            Ranking::new(&keys, point_of(u), near, known)
        };
        let mut rankings: Vec<Ranking> = group.iter().map(ranking).collect();
        count_among(&keys, &mut rankings);
        rankings.iter().map(Ranking::result).collect::<Vec<_>>()
    };
    let scores: Vec<(f64, usize, f64)> = nodes.par_chunks(TOGETHER).flat_map_iter(count).collect();
    Score::of_nodes(&scores, all_nodes)
}

impl Score {
    /// The score of nodes, each with the [result](Ranking::result) of its ranking.
    pub(crate) fn of_nodes(nodes: &[(f64, usize, f64)], all_nodes: usize) -> Score {
        let pairs = nodes.iter().map(|node| node.1).sum();
        Score {
            mean_rank: nodes.iter().map(|node| node.0).sum::<f64>() / pairs as f64,
            map: nodes.iter().map(|node| node.2).sum::<f64>() / nodes.len() as f64,
            nodes: nodes.len(),
            pairs,
            all_nodes,
        }
    }
}

/// Adds to rankings the points of these keys that are nearer than the neighbours.
pub(crate) fn count_among(keys: &Keys, rankings: &mut [Ranking]) {
    dispatch_blocks!(rankings, |rankings| count_nearer(keys, rankings));
}

/// The ranks of a node's neighbours.
pub(crate) struct Ranking {
    origin: Origin,
    /// The keys of the neighbours, in ascending order.
    near: Vec<f64>,
    /// The prefix sums give, for each neighbour, twice the number of nearer points; a tie adds one.
    steps: Vec<i64>,
}

/// Counts the points that are nearer than the neighbours.
#[inline(always)]
fn count_nearer(keys: &Keys, rankings: &mut [Ranking]) {
    for first in (0..keys.tiles()).step_by(BLOCK) {
        for ranking in &mut *rankings {
            let farthest = ranking.near[ranking.near.len() - 1];
            for tile in first..keys.tiles().min(first + BLOCK) {
                let found = keys.tile(&ranking.origin, tile);
                if found.any_up_to(farthest) {
                    found.divided()[..keys.len(tile)].iter().for_each(|&key| ranking.count(key, 1));
                }
            }
        }
    }
}

impl Ranking {
    /// For the neighbours `near` of a point. It itself and `known` points, among them the neighbours, are no
    /// candidates: they are taken off in advance.
    pub(crate) fn new(
        keys: &Keys,
        point: usize,
        near: impl Iterator<Item = usize>,
        known: impl Iterator<Item = usize>,
    ) -> Self {
        let origin = keys.origin(point);
        let mut near: Vec<f64> = near.map(|v| keys.key(&origin, v)).collect();
        near.sort_unstable_by(f64::total_cmp);
        let steps = vec![0; near.len() + 1];
        let mut ranking = Ranking { origin, near, steps };
        for v in known.chain([point]) {
            ranking.count(keys.key(&ranking.origin, v), -1);
        }
        ranking
    }

    /// Counts a point with this key so many times.
    #[inline(always)]
    fn count(&mut self, key: f64, times: i64) {
        if key <= self.near[self.near.len() - 1] {
            let tied_or_farther = self.near.partition_point(|&s| s < key);
            let farther = self.near.partition_point(|&s| s <= key);
            self.steps[tied_or_farther] += times;
            self.steps[farther] += times;
        }
    }

    /// The sum of the neighbours' ranks, their number, and their average precision.
    pub(crate) fn result(&self) -> (f64, usize, f64) {
        let k = self.near.len();
        let (mut twice_nearer, mut ranks, mut precision) = (0, 0.0, 0.0);
        for (i, step) in self.steps[..k].iter().enumerate() {
            twice_nearer += step;
            let nearer = twice_nearer as f64 / 2.0;
            ranks += 1.0 + nearer;
            precision += (i + 1) as f64 / ((i + 1) as f64 + nearer);
        }
        (ranks, k, precision / k as f64)
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use cotangent::prelude::rng::stream;
    use cotangent_apps_common::geometry::{Models, SpaceModel};

    use super::*;
    use crate::graph::Builder;

    /// The definition, literally: computes every distance, counts every rank, sums every precision.
    fn brute_force(m: ProductSpace, points: &Tensor<f64>, neighbours: &Neighbours) -> (f64, f64) {
        let n = points.shape()[0];
        let (mut ranks, mut pairs, mut precisions, mut sources) = (0.0, 0, 0.0, 0);
        for u in 0..n {
            let near: Vec<usize> = neighbours.of(u as u32).iter().map(|&v| v as usize).collect();
            if near.is_empty() {
                continue;
            }
            let candidates: Vec<usize> = (0..n).filter(|w| *w != u && !near.contains(w)).collect();
            let of_u = Row::from(points.row(u));
            let distances: Vec<f64> = (0..n).map(|w| m.dist(&of_u, &Row::from(points.row(w)))).collect();
            let nearer = |v: usize| {
                let nearer = candidates.iter().filter(|&&w| distances[w] < distances[v]).count() as f64;
                let ties = candidates.iter().filter(|&&w| distances[w] == distances[v]).count() as f64;
                nearer + ties / 2.0
            };
            let mut order = near.clone();
            order.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]));
            let mut precision = 0.0;
            for (i, &v) in order.iter().enumerate() {
                ranks += 1.0 + nearer(v);
                precision += (i + 1) as f64 / ((i + 1) as f64 + nearer(v));
            }
            pairs += near.len();
            precisions += precision / near.len() as f64;
            sources += 1;
        }
        (ranks / f64::from(u32::try_from(pairs).unwrap()), precisions / f64::from(sources))
    }

    fn agrees(models: impl Into<Models>, kappas: &[f64]) {
        let geometry = Geometry::new(models, Some(kappas.to_vec())).unwrap();
        let m = geometry.manifold();
        for seed in 0..5 {
            let mut rng = stream(seed, 7, 0);
            let n = 60;
            let mut points = Tensor::zeros([n, m.ambient(3)]);
            for i in 0..n {
                // Every third point is a copy of an earlier one, which gives exact ties.
                let row =
                    if i % 3 == 2 { Row::from(points.row(i / 2)) } else { m.random_point(3, 4.0, &mut rng) };
                points.row_mut(i).copy_from_slice(&row);
            }
            let mut b = Builder::default();
            for i in 0..n {
                b.add(&i.to_string(), &(i / 2).to_string(), None);
                b.add(&i.to_string(), &(i / 4).to_string(), None);
                b.add(&i.to_string(), &((i * 7 + 3) % n).to_string(), None);
            }
            let graph = b.finish();
            let at: Vec<u32> = graph.names.iter().map(|name| name.parse().unwrap()).collect();
            // The brute force needs the points in the graph's order.
            let ordered = Tensor::new(
                points.shape().clone(),
                at.iter().flat_map(|&i| points.row(i as usize).to_vec()).collect(),
            );
            let neighbours = graph.neighbours();
            let (mean_rank, map) = brute_force(m, &ordered, &neighbours);
            let got = evaluate(&points, geometry, &at, &neighbours);
            assert!((got.mean_rank - mean_rank).abs() < 1e-12 * mean_rank, "{got:?} {mean_rank}");
            assert!((got.map - map).abs() < 1e-12, "{got:?} {map}");
            assert_eq!(got.pairs, graph.pairs.len());
        }
    }

    #[test]
    fn equals_brute_force_with_ties() {
        for &model in SpaceModel::value_variants() {
            let kappa = model.usual().kappa();
            agrees(model, &[kappa]);
            agrees(model, &[0.4 * kappa]);
        }
        agrees("poincare:2,sphere:1".parse::<Models>().unwrap(), &[-2.0, 0.5]);
    }

    /// A squared distance may overflow or be NaN. Such a neighbour counts as infinitely far, and u and its
    /// neighbours still are no candidates.
    #[test]
    fn a_neighbour_may_be_infinitely_far() {
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let mut b = Builder::default();
        for (u, v) in [("0", "1"), ("0", "2"), ("3", "0")] {
            b.add(u, v, None);
        }
        let neighbours = b.finish().neighbours();
        for distant in [1e200, f64::INFINITY, f64::NAN] {
            let mut points = Tensor::new([4, 1], vec![0.0, 1.0, distant, 5.0]);
            let score = |points: &Tensor<f64>| evaluate(points, geometry, &[0, 1, 2, 3], &neighbours);
            // For node 0: 1 is nearer than 3, and 2 farther. For node 3: 0 is farther than 1 and nearer
            // than 2.
            let found = score(&points);
            assert_eq!(
                (found.mean_rank, found.map),
                (5.0 / 3.0, ((1.0 + 2.0 / 3.0) / 2.0 + 0.5) / 2.0),
                "{distant}"
            );
            // A candidate at the same distance as the neighbour is a tie.
            points.data_mut()[3] = -distant;
            assert_eq!(score(&points).mean_rank, (1.0 + 1.5 + 2.0) / 3.0, "{distant}");
        }
    }

    /// On a line, seen from 0: node 1 is at 1, nearer are −0.5 and, from 1.8, 2.1.
    #[test]
    fn a_translation_moves_the_point_whose_neighbours_are_ranked() {
        let points = Tensor::new([4, 1], vec![0.0, 1.0, -0.5, 2.1]);
        let mut builder = Builder::default();
        [("0", "1"), ("2", "1"), ("3", "1")].iter().for_each(|(u, v)| builder.add(u, v, None));
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let ranked = Neighbours::new(4, || [(0, 1)].into_iter());
        for (r, want) in [(None, 2.0), (Some(1.0), 1.0), (Some(-1.0), 2.0), (Some(1.8), 2.0)] {
            let translation = r.map(|r| [r]);
            let translation = translation.as_ref().map(|r| &r[..]);
            let candidates = Candidates { points: &points, geometry, translation };
            let score = rank(candidates, &[0, 1, 2, 3], [&ranked; 2], Sample::ALL);
            assert_eq!((score.mean_rank, score.pairs), (want, 1), "{r:?}");
        }
    }

    /// The mean over all samples of one node is that of all nodes, if each has as many neighbours.
    #[test]
    fn a_sample_is_drawn_by_its_seed() {
        let n = 40;
        let mut rng = stream(1, 7, 0);
        let points = Tensor::from_fn([n, 1], |_| rand::RngExt::random_range(&mut rng, -0.9..0.9));
        let mut builder = Builder::default();
        (0..n).for_each(|i| builder.add(&i.to_string(), &((i + 1) % n).to_string(), None));
        let neighbours = builder.finish().neighbours();
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let identity: Vec<u32> = (0..n as u32).collect();
        let candidates = Candidates { points: &points, geometry, translation: None };
        let score = |nodes, seed| rank(candidates, &identity, [&neighbours; 2], Sample { nodes, seed });
        let all = evaluate(&points, geometry, &identity, &neighbours);
        assert_eq!((all.nodes, all.all_nodes, sampled(n, n)), (n, n, None));
        assert_eq!((score(None, 3), score(Some(n), 3)), (all, all));
        let ten = score(Some(10), 3);
        assert_eq!((ten.nodes, ten.pairs, ten), (10, 10, score(Some(10), 3)));
        assert_eq!(sampled(ten.nodes, ten.all_nodes).unwrap(), "of a sample of 10 of 40 nodes");
        assert_ne!(ten.mean_rank, score(Some(10), 4).mean_rank);
        let mean = (0..2000).map(|seed| score(Some(1), seed).mean_rank).sum::<f64>() / 2000.0;
        assert!((mean / all.mean_rank - 1.0).abs() < 0.1, "{mean} {}", all.mean_rank);
    }

    #[test]
    fn at_most_ten_thousand_million_distances_are_computed() {
        let sample = Sample { nodes: None, seed: 1 };
        let drawn = |nodes: u32| sample.draw(nodes as usize, (0..nodes).collect());
        assert_eq!(drawn(100_000), (0..100_000).collect::<Vec<_>>());
        let some = drawn(200_000);
        assert!(some.len() == 50_000 && some.is_sorted_by(|a, b| a < b));
        assert_eq!(sample.draw(usize::MAX, vec![5]), [5]);
    }

    #[test]
    fn a_perfect_embedding_scores_one() {
        let points = Tensor::new([4, 1], vec![0.0, 0.1, 0.5, 0.61]);
        let mut b = Builder::default();
        for (u, v) in [("0", "1"), ("1", "0"), ("2", "3"), ("3", "2")] {
            b.add(u, v, None);
        }
        let g = b.finish();
        let score = evaluate(
            &points,
            Geometry::new(SpaceModel::Poincare, None).unwrap(),
            &[0, 1, 2, 3],
            &g.neighbours(),
        );
        assert_eq!((score.mean_rank, score.map), (1.0, 1.0));
    }
}
