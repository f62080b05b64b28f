//! Training without a tape: one pass over the candidates of each pair finds distances, loss, gradients and
//! the Riemannian step. The formulas are those of the tape.

use cotangent::engine::{OneToMany, RowProgram, StraightLine, Tiles};
use cotangent::layers::loss;
use cotangent::prelude::*;
use rayon::prelude::*;

use crate::train::negatives::Sampler;

/// What one thread needs for a pair.
pub(crate) struct Pass<T> {
    distances: OneToMany<T>,
    /// The candidates' points, and the gradients for them.
    pub(crate) rows: Tiles,
    pub(crate) gradients: Tiles,
    /// The gradient for the pair's first node.
    pub(crate) of_head: Vec<f64>,
    /// The derivatives of the loss by the distances.
    weights: Vec<f64>,
}

impl<T: Float> Pass<T> {
    pub(crate) fn new(formulas: &Formulas, width: usize) -> Self {
        Pass {
            distances: OneToMany::new(formulas.distance.clone()),
            rows: Tiles::new(width),
            gradients: Tiles::new(width),
            of_head: vec![0.0; width],
            weights: Vec::new(),
        }
    }

    /// The ranking loss of a pair, times `factor`, from the point of its first node and `rows`. Leaves the
    /// gradients behind.
    pub(crate) fn loss(&mut self, head: &[T], factor: f64) -> f64 {
        let distances = self.distances.numbers(head, &self.rows);
        self.weights.resize(distances.len(), 0.0);
        let loss = loss::ranking_with_gradient(distances, &mut self.weights);
        if factor != 1.0 {
            self.weights.iter_mut().for_each(|weight| *weight *= factor);
        }
        self.distances.gradients(&self.rows, &self.weights, &mut self.of_head, &mut self.gradients);
        factor * loss
    }
}

/// Brings rows of a table into the cache, given the numbers of the rows: reads the first and the last element
/// of each. Nothing waits for these reads, so that many of them are under way at once.
pub(crate) fn touch<X>(table: &[X], rows: &[u32], width: usize, bits: impl Fn(&X) -> u64) {
    let touched = rows.iter().fold(0, |touched, &row| {
        let first = row as usize * width;
        touched ^ bits(&table[first]) ^ bits(&table[first + width - 1])
    });
    std::hint::black_box(touched);
}

/// The formulas of a manifold that the fused trainer runs.
pub(crate) struct Formulas {
    distance: StraightLine,
    step: StraightLine,
}

impl Formulas {
    /// The distance and a step of gradient descent, if both are row formulas.
    pub(crate) fn new<M: Manifold>(manifold: &M, width: usize, rate: f64) -> Option<Self> {
        Some(Formulas {
            distance: StraightLine::number(width, |[x, y]| manifold.dist(x, y))?,
            step: StraightLine::vector(width, |[x, g]| manifold.descend(x, g, &x.constant(rate)))?,
        })
    }

    /// The distance.
    pub(crate) fn distance(&self) -> StraightLine {
        self.distance.clone()
    }

    /// The step.
    pub(crate) fn program<T: Float>(&self) -> RowProgram<T> {
        RowProgram::new(self.step.clone())
    }
}

/// Pairs of a batch that one thread takes together.
const TOGETHER: usize = 4;

/// Rows of a batch's step that one thread takes together.
const STEPPED_TOGETHER: usize = 128;

/// The pairs of a batch that are taken together, and the gradients that they leave.
struct Share<T> {
    pass: Pass<T>,
    loss: f64,
    /// For each pair the gradients of its candidates, then that of its first node.
    gradients: Vec<T>,
}

/// Nodes that are moved together.
struct Moved<T> {
    program: RowProgram<T>,
    points: Tiles,
    gradients: Tiles,
    sum: Vec<f64>,
    /// The nodes' new points.
    rows: Vec<T>,
    outcome: Result<(), usize>,
}

/// Deterministic training in batches: the gradients of a batch are added up node by node in the order of its
/// pairs, then every node of the batch takes one step. The result does not depend on the number of threads.
pub(crate) struct Batches<T> {
    width: usize,
    shares: Vec<Share<T>>,
    moved: Vec<Moved<T>>,
    formulas: Formulas,
    /// For each node the last step that it took part in, and its number among the nodes of that step.
    last: Vec<(u32, u32)>,
    /// Number of steps so far.
    steps: u32,
    nodes: Vec<Node>,
    /// For each gradient the next one of the same node.
    next: Vec<u32>,
}

/// A node of a batch, and the first and the last of its gradients.
struct Node {
    node: u32,
    first: u32,
    last: u32,
}

/// No further gradient.
const END: u32 = u32::MAX;

impl<T: Float> Batches<T> {
    /// For `nodes` points of `width` coordinates.
    pub(crate) fn new(formulas: Formulas, nodes: usize, width: usize) -> Self {
        Batches {
            width,
            shares: Vec::new(),
            moved: Vec::new(),
            formulas,
            last: vec![(0, 0); nodes],
            steps: 0,
            nodes: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Takes a step for the pairs of a batch with their candidates. Returns the loss, summed over the pairs.
    ///
    /// # Errors
    /// The first node whose point would not be finite. No point has changed.
    pub(crate) fn step(
        &mut self,
        sampler: &Sampler<'_>,
        pairs: &[u32],
        candidates: &[u32],
        points: &mut [T],
    ) -> Result<f64, u32> {
        let loss = self.find_gradients(sampler, pairs, candidates, points);
        self.collect(sampler, pairs, candidates);
        let moved = self.move_nodes(sampler.width(), points);
        // If the loss is not finite, that is why no step is possible, so the loss is reported.
        if loss.is_finite() { moved.map(|()| loss) } else { Ok(loss) }
    }

    fn find_gradients(
        &mut self,
        sampler: &Sampler<'_>,
        pairs: &[u32],
        candidates: &[u32],
        points: &[T],
    ) -> f64 {
        let (width, k) = (self.width, sampler.width());
        let shares = pairs.len().div_ceil(TOGETHER);
        while self.shares.len() < shares {
            let pass = Pass::new(&self.formulas, width);
            self.shares.push(Share { pass, loss: 0.0, gradients: Vec::new() });
        }
        let row = |node: u32| &points[node as usize * width..][..width];
        let jobs = self.shares[..shares]
            .par_iter_mut()
            .zip(pairs.par_chunks(TOGETHER))
            .zip(candidates.par_chunks(TOGETHER * k));
        jobs.for_each(|((share, pairs), candidates)| {
            let Share { pass, loss, gradients } = share;
            *loss = 0.0;
            gradients.resize(pairs.len() * (k + 1) * width, T::zero());
            let places = gradients.chunks_exact_mut((k + 1) * width);
            for ((&pair, candidates), place) in pairs.iter().zip(candidates.chunks_exact(k)).zip(places) {
                touch(points, candidates, width, |x| x.to_f64().to_bits());
                pass.rows.clear();
                candidates.iter().for_each(|&node| pass.rows.push(row(node)));
                let head = sampler.graph.pairs[pair as usize].0;
                *loss += pass.loss(row(head), sampler.factor::<T>(pair));
                let (of_candidates, of_head) = place.split_at_mut(k * width);
                for (j, place) in of_candidates.chunks_exact_mut(width).enumerate() {
                    pass.gradients.read(j, place);
                }
                of_head.iter_mut().zip(&pass.of_head).for_each(|(to, &x)| *to = T::nearest(x));
            }
        });
        self.shares[..shares].iter().map(|share| share.loss).sum()
    }

    /// Finds the nodes of a batch and chains the gradients of each.
    fn collect(&mut self, sampler: &Sampler<'_>, pairs: &[u32], candidates: &[u32]) {
        let k = sampler.width();
        self.steps += 1;
        self.nodes.clear();
        self.next.clear();
        self.next.resize(pairs.len() * (k + 1), END);
        let mut gradient = 0;
        for (&pair, candidates) in pairs.iter().zip(candidates.chunks_exact(k)) {
            let head = sampler.graph.pairs[pair as usize].0;
            for &node in candidates.iter().chain([&head]) {
                let (step, number) = &mut self.last[node as usize];
                if *step == self.steps {
                    let node = &mut self.nodes[*number as usize];
                    self.next[node.last as usize] = gradient;
                    node.last = gradient;
                } else {
                    (*step, *number) = (self.steps, self.nodes.len() as u32);
                    self.nodes.push(Node { node, first: gradient, last: gradient });
                }
                gradient += 1;
            }
        }
    }

    /// Moves every node of the batch by the sum of its gradients. `k` is the number of candidates of a pair.
    fn move_nodes(&mut self, k: usize, points: &mut [T]) -> Result<(), u32> {
        let width = self.width;
        let groups = self.nodes.len().div_ceil(STEPPED_TOGETHER);
        while self.moved.len() < groups {
            self.moved.push(Moved {
                program: self.formulas.program(),
                points: Tiles::new(width),
                gradients: Tiles::new(width),
                sum: vec![0.0; width],
                rows: Vec::new(),
                outcome: Ok(()),
            });
        }
        let (shares, next) = (&self.shares, &self.next);
        let of_share = TOGETHER * (k + 1);
        let given = &*points;
        let jobs = self.moved[..groups].par_iter_mut().zip(self.nodes.par_chunks(STEPPED_TOGETHER));
        jobs.for_each(|(moved, nodes)| {
            let Moved { program, points, gradients, sum, rows, outcome } = moved;
            points.clear();
            gradients.clear();
            for node in nodes {
                points.push(&given[node.node as usize * width..][..width]);
                sum.fill(0.0);
                let mut gradient = node.first;
                while gradient != END {
                    let (share, at) = (gradient as usize / of_share, gradient as usize % of_share);
                    let gradients = &shares[share].gradients[at * width..][..width];
                    sum.iter_mut().zip(gradients).for_each(|(sum, x)| *sum += x.to_f64());
                    gradient = next[gradient as usize];
                }
                gradients.push(sum);
            }
            *outcome = program.run(&[&*points, &*gradients]).map(|new| {
                rows.resize(nodes.len() * width, T::zero());
                for (j, row) in rows.chunks_exact_mut(width).enumerate() {
                    new.read(j, row);
                }
            });
        });
        let groups = || self.moved.iter().zip(self.nodes.chunks(STEPPED_TOGETHER));
        for (moved, nodes) in groups() {
            moved.outcome.map_err(|row| nodes[row].node)?;
        }
        for (moved, nodes) in groups() {
            for (node, row) in nodes.iter().zip(moved.rows.chunks_exact(width)) {
                points[node.node as usize * width..][..width].copy_from_slice(row);
            }
        }
        Ok(())
    }
}
