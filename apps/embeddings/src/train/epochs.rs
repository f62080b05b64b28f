//! Passes over the pairs of a graph: on a tape, or without one where the loss allows it.

use cotangent::optim::OptimError;
use cotangent::optim::train::Batches;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};

use crate::graph::Pairs;
use crate::train::all_pairs::AllPairs;
use crate::train::config::EmbeddingConfig;
use crate::train::lock_free::{self, Division};
use crate::train::losses::Losses;
use crate::train::negatives::{Negatives, Sampler};
use crate::train::objective::{DistanceLoss, Loss};
use crate::train::own_negatives::OwnNegatives;
use crate::train::parameters::Parameters;
use crate::train::points::{Shared, Table};
use crate::train::shared_negatives::SharedNegatives;
use crate::train::step::{BatchLoss, Formulas, Move, Step, Threads};

/// Pairs with negative samples of their own that a lock-free thread takes together.
const LOCK_FREE_TOGETHER: usize = 256;

/// How the steps of an epoch are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// On a tape, batch by batch.
    Tape,
    /// Without a tape, batch by batch.
    Table,
    /// Without a tape, without waiting for other threads: pair by pair, or with shared negative samples batch
    /// by batch. A batch with own ones has so many nodes that threads would undo each other's steps.
    LockFree,
}

impl Form {
    /// A loss of distances in a space form needs no tape on the processor, unless the curvature or a
    /// translation is learned.
    fn new(config: &EmbeddingConfig, device: &Device) -> Result<Self> {
        let fixed = !config.learn_kappa;
        let formulas = StepFormulas::new(config, config.lr);
        let option = match (fixed && device.is_cpu() && formulas.is_some(), config.lock_free) {
            (true, false) => return Ok(Form::Table),
            (true, true) => return Ok(Form::LockFree),
            (false, true) => "lock-free",
            (false, false) if config.retraction => "retraction",
            (false, false) => return Ok(Form::Tape),
        };
        Err(AppError::usage(format!(
            "--{option}: only on the processor (--device cpu), for a loss of distances in a space that is no \
             product, without --loss translation or --learn-kappa"
        )))
    }
}

/// The formulas of steps without a tape.
struct StepFormulas {
    formulas: Formulas,
    distance_loss: DistanceLoss,
    /// For shared negative samples.
    all_pairs: Option<AllPairs>,
}

impl StepFormulas {
    /// For this configuration and rate, if there are such formulas.
    fn new(config: &EmbeddingConfig, rate: f64) -> Option<Self> {
        let distance_loss = config.objective.of_distances()?;
        if config.objective.loss == Loss::Translation {
            return None;
        }
        let manifold = config.geometry.manifold();
        let by =
            if config.retraction { Move::Retraction(config.geometry.single()?.kappa()) } else { Move::Exp };
        let formulas = Formulas::new(&manifold, manifold.ambient(config.dim), rate, by)?;
        let all_pairs = match config.shared_negatives {
            0 => None,
            _ => Some(AllPairs::new(config.geometry.single()?)?),
        };
        Some(StepFormulas { formulas, distance_loss, all_pairs })
    }

    fn own<T: Float>(&self, threads: Threads) -> Step<T, OwnNegatives<T>> {
        let loss = OwnNegatives::new(&self.formulas, threads, self.distance_loss);
        Step::new(&self.formulas, threads, loss)
    }

    fn shared<T: Float>(&self, all_pairs: &AllPairs, threads: Threads) -> Step<T, SharedNegatives<T>> {
        Step::new(&self.formulas, threads, SharedNegatives::new(&self.formulas, all_pairs))
    }
}

/// Makes passes over the pairs of a graph.
pub(crate) struct Epochs<'a, T: Float> {
    form: Form,
    batches: PairBatches<'a>,
    tape: Tape<T>,
}

/// A pass over pairs.
pub(crate) struct Pass<'a> {
    /// The numbers of the pairs, in their order.
    pub(crate) pairs: &'a [u32],
    /// The number of the epoch: it says which negative samples are drawn.
    pub(crate) epoch: u64,
    /// Called after the first batch, whose loss is finite.
    pub(crate) goes_well: &'a mut dyn FnMut(),
}

/// The pairs of a graph in batches.
#[derive(Clone, Copy)]
struct PairBatches<'a> {
    config: &'a EmbeddingConfig,
    sampler: &'a Sampler<'a>,
}

/// The loss of a pass or a step, summed over the pairs.
type Outcome = std::result::Result<f64, OptimError>;

/// One step of the training loop is a pass over all pairs; [`Form`] says how it is computed.
impl Batches for Sampler<'_> {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        vec![self.order(epoch)]
    }
}

/// The pairs of a graph and their negative samples, as the configuration says.
///
/// # Errors
/// If the sum of the weights is too large.
pub(crate) fn sampler<'a>(graph: impl Into<Pairs<'a>>, config: &EmbeddingConfig) -> Result<Sampler<'a>> {
    let negatives = match config.shared_negatives {
        0 => Negatives::Own(config.negatives),
        count => Negatives::Shared(count),
    };
    let mut sampler = Sampler::new(graph.into(), config.seed, negatives, config.negative_power);
    if config.sample_by_weight {
        sampler = sampler.by_weight()?;
    }
    if config.rank_by_weight {
        sampler = sampler.ranked_by_weight();
    }
    if !config.objective.is_of_distances() {
        sampler = sampler.for_both_ends();
    }
    Ok(sampler)
}

impl<'a, T: Shared> Epochs<'a, T> {
    /// # Errors
    /// If the options do not go together.
    pub(crate) fn new(
        config: &'a EmbeddingConfig,
        sampler: &'a Sampler<'a>,
        device: &Device,
    ) -> Result<Self> {
        let tape = Tape::with_device(device.clone());
        Ok(Epochs { form: Form::new(config, device)?, batches: PairBatches { config, sampler }, tape })
    }

    /// Makes one pass over all pairs, at the rate of `sgd`. Returns the mean loss per pair, or the first loss
    /// that is not finite.
    ///
    /// # Errors
    /// If a point would not be finite.
    pub(crate) fn pass(
        &mut self,
        parameters: &mut Parameters<T>,
        sgd: &mut RiemannianSgd<T>,
        pass: Pass<'_>,
    ) -> Outcome {
        let batches = self.batches;
        let pairs = pass.pairs.len();
        let formulas = StepFormulas::new(batches.config, sgd.rate());
        let total = match (self.form, formulas) {
            (Form::LockFree, Some(formulas)) => batches.lock_free(parameters, &pass, &formulas)?,
            (Form::Table, Some(formulas)) => match &formulas.all_pairs {
                None => batches.on_table(parameters, pass, formulas.own(Threads::Pool))?,
                Some(all_pairs) => {
                    batches.on_table(parameters, pass, formulas.shared(all_pairs, Threads::Pool))?
                }
            },
            _ => batches.on_tape(parameters, sgd, pass, &mut self.tape)?,
        };
        Ok(total / pairs as f64)
    }
}

impl PairBatches<'_> {
    /// One pass without waiting for other threads.
    fn lock_free<T: Shared>(
        self,
        parameters: &mut Parameters<T>,
        pass: &Pass<'_>,
        formulas: &StepFormulas,
    ) -> Outcome {
        let manifold = *parameters.points.manifold();
        let (sampler, order) = (self.sampler, pass.pairs);
        let batch = self.config.batch_of(order.len());
        let table = parameters.points.points_mut().data_mut();
        let loss = match &formulas.all_pairs {
            None => {
                let division = Division { together: LOCK_FREE_TOGETHER, batch: 1 };
                let step = || formulas.own(Threads::One);
                lock_free::epoch(&manifold, step, sampler, pass.epoch, order, division, table)
            }
            Some(all_pairs) => {
                let division = Division { together: batch, batch };
                let step = || formulas.shared(all_pairs, Threads::One);
                lock_free::epoch(&manifold, step, sampler, pass.epoch, order, division, table)
            }
        };
        loss.map_err(|node| diverged(parameters, node))
    }

    /// One pass by such steps on the table of points.
    fn on_table<T: Shared, L: BatchLoss<T>>(
        self,
        parameters: &mut Parameters<T>,
        pass: Pass<'_>,
        mut step: Step<T, L>,
    ) -> Outcome {
        let width = parameters.points.value().width();
        self.steps(pass, |pairs, drawn| {
            let rows = parameters.points.points_mut().data_mut();
            let loss = step.step(self.sampler, pairs, drawn, &mut Table { rows, width });
            loss.map_err(|node| diverged(parameters, node))
        })
    }

    /// One pass on the tape.
    fn on_tape<T: Float>(
        self,
        parameters: &mut Parameters<T>,
        sgd: &mut RiemannianSgd<T>,
        pass: Pass<'_>,
        tape: &mut Tape<T>,
    ) -> Outcome {
        let PairBatches { config, sampler } = self;
        self.steps(pass, |pairs, drawn| {
            tape.reset();
            let batch_loss = Losses { config, sampler, parameters, tape }.losses(pairs, drawn).sum();
            let loss = batch_loss.item();
            let gradients = tape.backward(batch_loss);
            let stepped = sgd.step(parameters, &gradients);
            // If the loss is not finite, that is why the step was refused, so the loss is reported.
            if loss.is_finite() { stepped.map(|_| loss) } else { Ok(loss) }
        })
    }

    /// Takes a `step` for each batch of pairs with what was drawn for it. Returns the loss, summed over the
    /// pairs, or the first one that is not finite.
    fn steps(self, pass: Pass<'_>, mut step: impl FnMut(&[u32], &[u32]) -> Outcome) -> Outcome {
        let order = pass.pairs;
        let batch = self.config.batch_of(order.len());
        let (mut drawn, mut total) = (Vec::new(), 0.0);
        let together = EmbeddingConfig::drawn_together(batch);
        for (block, pairs) in order.chunks(together).enumerate() {
            let first = block * (together / batch);
            self.sampler.draw_batches(pass.epoch, batch, first, pairs, &mut drawn);
            let drawn = drawn.chunks(self.sampler.drawn(batch));
            for (i, (pairs, drawn)) in pairs.chunks(batch).zip(drawn).enumerate() {
                let loss = step(pairs, drawn)?;
                if !loss.is_finite() {
                    return Ok(loss);
                }
                if first + i == 0 {
                    (pass.goes_well)();
                }
                total += loss;
            }
        }
        Ok(total)
    }
}

/// The step of this node was not finite.
fn diverged<T: Float>(parameters: &Parameters<T>, node: u32) -> OptimError {
    OptimError::NotFinite { param: parameters.points.name().to_owned(), row: node as usize }
}

#[cfg(test)]
mod tests {
    use cotangent::optim::train::{Taken, Trainer};

    use super::*;
    use crate::graph::{Builder, Graph};
    use crate::train::config::default_config;
    use crate::train::objective::Objective;
    use clap::ValueEnum;
    use cotangent_apps_common::geometry::{Geometry, Models, SpaceModel};

    /// A tree of 40 nodes with all ancestors, with weights.
    fn tree() -> Graph {
        let mut builder = Builder::default();
        for i in 2..41_u32 {
            let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
            ancestors.for_each(|a| builder.add(&i.to_string(), &a.to_string(), Some(f64::from(1 + i % 3))));
        }
        builder.finish()
    }

    /// A configuration for the tree.
    fn config(model: SpaceModel) -> EmbeddingConfig {
        let geometry = Geometry::new(model, None).unwrap();
        EmbeddingConfig {
            geometry,
            dim: 3,
            seed: 3,
            negatives: 6,
            negative_power: 0.75,
            batch: 7,
            lr: 0.2,
            ..default_config()
        }
    }

    /// The models that can share negatives.
    fn with_all_pairs() -> impl Iterator<Item = SpaceModel> {
        let models = SpaceModel::value_variants().iter().copied();
        models.filter(|model| AllPairs::new(model.usual()).is_some())
    }

    /// The losses of some epochs.
    fn passes(
        config: &EmbeddingConfig,
        graph: &Graph,
        form: Option<Form>,
        parameters: &mut Parameters<f64>,
        epochs: u64,
    ) -> Vec<f64> {
        let sampler = sampler(graph, config).unwrap();
        let mut passes = Epochs::new(config, &sampler, &Device::default()).unwrap();
        passes.form = form.unwrap_or(passes.form);
        let mut sgd = RiemannianSgd::new(config.lr).unwrap();
        let step = |parameters: &mut Parameters<f64>, sgd: &mut RiemannianSgd<f64>, epoch: &mut Taken<'_>| {
            let (pairs, number) = (epoch.items, epoch.number);
            let goes_well = &mut || epoch.goes_well();
            passes.pass(parameters, sgd, Pass { pairs, epoch: number, goes_well })
        };
        let mut trainer = Trainer::new(epochs);
        let history = trainer.run_by(parameters, &mut sgd, &sampler, step, |_, _| Ok(0.0)).unwrap();
        history.epochs.iter().map(|epoch| epoch.loss).collect()
    }

    /// Points and losses after some epochs, from points near the origin.
    fn trained(config: &EmbeddingConfig, graph: &Graph, form: Form, epochs: u64) -> (Tensor<f64>, Vec<f64>) {
        let (m, nodes) = (config.geometry.manifold(), graph.names.len());
        let points = Embedding::uniform("points", m, nodes, 3, 0.3, &mut rng::stream(3, 1, 0)).points;
        let mut parameters = Parameters::new(points, config, graph.pairs.len());
        let losses = passes(config, graph, Some(form), &mut parameters, epochs);
        (parameters.learned_points(config).0, losses)
    }

    /// The largest difference of coordinates.
    fn difference(x: &Tensor<f64>, y: &Tensor<f64>) -> f64 {
        x.data().iter().zip(y.data()).fold(0.0, |largest, (x, y)| largest.max((x - y).abs()))
    }

    #[test]
    fn steps_on_a_table_are_those_of_the_tape() {
        let graph = tree();
        let models = SpaceModel::value_variants().iter().map(|&model| config(model));
        for config in models.flat_map(|config| {
            // Squared distances are steep: by long steps both forms reach the edge of the ball, where
            // rounding decides.
            [(Loss::Ranking, 0.2), (Loss::FermiDirac, 0.2), (Loss::SquaredRanking, 0.02)].map(|(loss, lr)| {
                let objective = Objective::new(loss, None, None);
                EmbeddingConfig { objective, lr, ..config.clone() }
            })
        }) {
            let (points, losses) = trained(&config, &graph, Form::Tape, 3);
            let (on_table, table_losses) = trained(&config, &graph, Form::Table, 3);
            let difference = difference(&points, &on_table);
            assert!(difference < 1e-10, "{}: {difference}", config.geometry);
            for (loss, expected) in losses.iter().zip(&table_losses) {
                assert!((loss - expected).abs() < 1e-12 * loss, "{loss} {expected}");
            }
            assert!(losses[2] < losses[0]);
        }
    }

    /// On two threads, with other negatives than in batches. One seed's losses differ by a tenth.
    #[test]
    fn lock_free_steps_lower_the_loss_as_much() {
        let graph = tree();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let [mut in_batches, mut lock_free] = [0.0; 2];
        for seed in 0..10 {
            let config = EmbeddingConfig { seed, ..config(SpaceModel::Poincare) };
            in_batches += trained(&config, &graph, Form::Table, 3).1[2];
            let (points, losses) = pool.install(|| trained(&config, &graph, Form::LockFree, 3));
            points.rows().for_each(|row| config.geometry.check(row).unwrap());
            lock_free += losses[2];
        }
        let relative = lock_free / in_batches;
        assert!((relative - 1.0).abs() < 0.05, "{relative}");
    }

    #[test]
    fn a_product_is_trained_on_the_tape() {
        let graph = tree();
        let models: Models = "poincare:2,sphere:1".parse().unwrap();
        let product = EmbeddingConfig {
            geometry: Geometry::new(models, None).unwrap(),
            ..config(SpaceModel::Poincare)
        };
        let (points, losses) = trained(&product, &graph, Form::Tape, 3);
        points.rows().for_each(|row| product.geometry.check(row).unwrap());
        assert!(losses[2] < losses[0], "{losses:?}");
        assert!(Form::new(&EmbeddingConfig { lock_free: true, ..product }, &Device::default()).is_err());
    }

    #[test]
    fn learned_scales_are_curvatures() {
        let graph = tree();
        let product: Models = "poincare:2,sphere:1".parse().unwrap();
        for models in [SpaceModel::Poincare.into(), SpaceModel::HalfSpace.into(), product] {
            let geometry = Geometry::new(models, None).unwrap();
            let learned = EmbeddingConfig { geometry, learn_kappa: true, ..config(SpaceModel::Poincare) };
            let m = geometry.manifold();
            let points =
                Embedding::uniform("points", m, graph.names.len(), 3, 0.3, &mut rng::stream(3, 1, 0));
            let mut parameters = Parameters::<f64>::new(points.points, &learned, graph.pairs.len());
            passes(&learned, &graph, None, &mut parameters, 30);
            let (points, found) = parameters.learned_points(&learned);
            for (factor, before) in found.factors().iter().zip(geometry.factors()) {
                assert!((factor.space.kappa() / before.space.kappa() - 1.0).abs() > 0.01, "{factor:?}");
            }
            // The distances in the space of the learned curvature are those that were trained.
            let row = |i: usize| Row::from(points.row(i));
            let tape = Tape::new();
            let [x, y] = [0, 7].map(|i| *parameters.points.on(&tape).rows(&[i]).coordinates());
            let trained = parameters.distances(&tape, [x, y]).item();
            let distance = found.manifold().dist(&row(0), &row(7));
            assert!((distance / trained - 1.0).abs() < 1e-12, "{found}: {distance} {trained}");
        }
    }

    #[test]
    fn shared_negatives_take_the_steps_of_the_tape() {
        let graph = tree();
        let curved = Geometry::new(SpaceModel::Poincare, Some(vec![-2.5])).unwrap();
        let geometries = with_all_pairs().map(|model| config(model).geometry).chain([curved]);
        for geometry in geometries {
            // More negatives than nodes: some are drawn twice, some are heads and second nodes too.
            for count in [1, 5, 60] {
                let shared =
                    EmbeddingConfig { geometry, shared_negatives: count, ..config(SpaceModel::Poincare) };
                let (points, losses) = trained(&shared, &graph, Form::Tape, 3);
                let (on_table, table_losses) = trained(&shared, &graph, Form::Table, 3);
                let difference = difference(&points, &on_table);
                assert!(difference < 1e-10, "{geometry}, {count}: {difference}");
                for (loss, expected) in losses.iter().zip(&table_losses) {
                    assert!((loss - expected).abs() < 1e-12 * (1.0 + loss), "{count}: {loss} {expected}");
                }
                // One thread takes the batches in their order.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                let (alone, _) = pool.install(|| trained(&shared, &graph, Form::LockFree, 3));
                assert_eq!(alone.data(), on_table.data());
            }
        }
    }

    #[test]
    fn shared_negatives_reconstruct_as_well_as_own_ones() {
        let graph = tree();
        for model in with_all_pairs() {
            let own = config(model);
            let shared = EmbeddingConfig { shared_negatives: 12, ..own.clone() };
            let [by_own, by_shared] = [&own, &shared].map(|config| {
                let (points, losses) = trained(config, &graph, Form::Tape, 60);
                let nodes: Vec<u32> = (0..graph.names.len() as u32).collect();
                let neighbours = graph.neighbours();
                let score =
                    crate::evaluate::reconstruction::evaluate(&points, config.geometry, &nodes, &neighbours);
                assert!(losses[59] < losses[0], "{model}: {losses:?}");
                score.map
            });
            assert!(by_shared > by_own - 0.1, "{model}: {by_shared} {by_own}");
        }
    }

    #[test]
    fn cones_come_to_hold_what_is_below() {
        let graph = tree();
        for (loss, model, lr) in [
            (Loss::Cones, SpaceModel::Poincare, 0.005),
            (Loss::Cones, SpaceModel::Lorentz, 0.005),
            (Loss::Umbral, SpaceModel::HalfSpace, 0.05),
            (Loss::Penumbral, SpaceModel::HalfSpace, 0.01),
        ] {
            let objective = Objective::new(loss, None, None);
            let config = EmbeddingConfig { objective, negative_power: 0.0, lr, ..config(model) };
            let (points, losses) = trained(&config, &graph, Form::Tape, 400);
            points.rows().for_each(|row| config.geometry.check(row).unwrap());
            let energy = |u: u32, v: u32| {
                let [x, y] = [v, u].map(|node| Row::from(points.row(node as usize)));
                objective.energy(config.geometry.single().unwrap(), &x, &y).unwrap()
            };
            let mean = |pairs: Vec<(u32, u32)>| {
                pairs.iter().map(|&(u, v)| energy(u, v)).sum::<f64>() / pairs.len() as f64
            };
            let neighbours = graph.neighbours();
            let nodes = 0..graph.names.len() as u32;
            let others = nodes.clone().flat_map(|u| nodes.clone().map(move |v| (u, v)));
            let others = others.filter(|&(u, v)| u != v && !neighbours.contains(u, v)).collect();
            let (inside, outside) = (mean(graph.pairs.clone()), mean(others));
            assert!(inside < 0.3 * outside, "{loss:?} {model}: {inside} {outside}");
            assert!(losses[399] < losses[0]);
        }
    }
}
