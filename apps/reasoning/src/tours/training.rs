//! Training and testing an agent.

use std::path::Path;
use std::sync::OnceLock;

use cotangent::optim::train::{Goal, History, MODEL, Progress, TrainError, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::progress::Figure;
use cotangent_apps_common::task::{self, Recipe, Task, Trained};
use cotangent_apps_common::{config, output};

use super::agent::{Agent, Decisions, Policy, training_cities};
use super::config::{PARTS, TourConfig};
use super::evaluation::{Gaps, Reference, Tours, reference_name};
use super::instance::City;
use super::rollout::{NotFinite, Rollout};
use super::{TourMetrics, pictures};

/// The pictures beside the learning curves.
const PICTURES: [&str; 1] = ["tours.svg"];

/// Trains an agent and writes `metrics.json`, `model.safetensors` (the last value network), `curves.svg`,
/// `tours.svg` and the checkpoint. It uses the current thread pool; the result does not depend on the pool's
/// size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(config: &TourConfig, scores: &Scores, options: &RunOptions) -> Result<TourMetrics> {
    let score = config.check(scores)?;
    let _held = output::hold(&options.out)?;
    let validation =
        Reference::new(config.cities, config.validation_instances, config.data_seed, "validation");
    let task = TourTask { config, options, validation, tested: OnceLock::new() };
    task::fit(&task, Agent::new(config, &*score), options)
}

/// A training and its test.
struct TourTask<'a> {
    config: &'a TourConfig,
    options: &'a RunOptions,
    validation: Reference,
    /// The instances of the test and their tours.
    tested: OnceLock<(Reference, Tours)>,
}

impl TourTask<'_> {
    /// The mean gap of greedy tours. Then the target network becomes the online network, and the memory gets
    /// the tours of the next epoch.
    fn end_epoch(
        &self,
        agent: &mut Agent,
        before: &History,
        tape: &mut Tape<f32>,
    ) -> std::result::Result<f64, NotFinite> {
        let gap = self.validation.greedy_gap(Rollout { network: &agent.online, tape })?;
        agent.renew_target();
        self.explore(agent, before.epochs.len() as u64 + 1, tape)?;
        Ok(gap)
    }

    /// Puts the tours into the memory that an epoch, from 0 on, begins with. The random stream is named
    /// `"exploration"`.
    fn explore(
        &self,
        agent: &mut Agent,
        epoch: u64,
        tape: &mut Tape<f32>,
    ) -> std::result::Result<(), NotFinite> {
        let &TourConfig { cities, seed, epoch_tours, .. } = self.config;
        let first = epoch * epoch_tours;
        let instances: Vec<Vec<City>> =
            (first..first + epoch_tours).map(|number| training_cities(cities, seed, number)).collect();
        let rng = |number: usize| rng::stream(seed, "exploration", first + number as u64);
        let policy = Policy::Explore(self.config.epsilon(epoch));
        let cities = |number: usize| &instances[number][..];
        let mut rollout = Rollout { network: &agent.online, tape };
        let tours = rollout.tours(instances.len(), policy, cities, rng)?;
        agent.remember(first, &tours);
        Ok(())
    }
}

impl<'a> Task for TourTask<'a> {
    type Config = TourConfig;
    type Number = f32;
    type Model = Agent;
    type Batches = Decisions<'a>;
    type Metrics = TourMetrics;

    const GOAL: Goal = Goal::Least;
    const VALIDATION: &'static str = "gap of greedy tours";
    const SHOWN: [&'static str; 2] = ["validation_gap", "decisions_per_second"];
    const FILES: &'static [&'static str] = &PICTURES;

    fn config(&self) -> &TourConfig {
        self.config
    }

    fn batches(&self) -> Decisions<'a> {
        Decisions(self.config)
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<f32>> {
        let adam = RiemannianAdam::new(self.config.lr)?.clip(self.config.clip)?;
        let schedule = Schedule::Cosine { steps, floor: 0.0 };
        Ok(Recipe { schedule, parts: PARTS, keeps_best: false, ..Recipe::new(adam) })
    }

    /// The tours of the first epoch.
    fn prepare(&self, agent: &mut Agent, tape: &mut Tape<f32>) -> Result<()> {
        let explored = self.explore(agent, 0, tape);
        Ok(explored.map_err(|NotFinite| TrainError::Other("an initial value is not finite".into()))?)
    }

    fn loss<'t>(&self, agent: &Agent, tape: &'t Tape<f32>, items: &[u32]) -> Result<Var<'t, f32>> {
        Ok(agent.loss(tape, items))
    }

    fn validate(&self, agent: &mut Agent, before: &History, tape: &mut Tape<f32>) -> Result<f64> {
        Ok(self.end_epoch(agent, before, tape).unwrap_or(f64::NAN))
    }

    fn more_figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        vec![Figure::new("epsilon", self.config.epsilon(now.history.epochs.len() as u64), 2)]
    }

    fn test(&self, agent: &mut Agent, history: &History, tape: &mut Tape<f32>) -> Result<TourMetrics> {
        let TourTask { config, options, .. } = *self;
        save_model(&agent.online, &options.out.join(MODEL), Some(&self.name(0)))?;
        let test = Reference::new(config.cities, config.test_instances, config.data_seed, "test");
        let rollout = Rollout { network: &agent.online, tape };
        let tours = Tours::new(rollout, &test.instances, &test.distances, config.decoding, config.data_seed)
            .map_err(|NotFinite| TrainError::Other("a value of the last network is not finite".into()))?;
        let lengths: Vec<f64> =
            test.distances.iter().zip(&test.best).map(|(distances, tour)| distances.length(tour)).collect();
        let metrics = TourMetrics {
            config: config.clone(),
            training: Training::new(&agent.online, history, &options.device),
            reference: reference_name(config.cities),
            reference_length: Interval::mean(&lengths),
            gaps: Gaps::new(&test, &tours),
        };
        let _ = self.tested.set((test, tours));
        Ok(metrics)
    }

    fn title(&self, metrics: &TourMetrics) -> String {
        let (cities, geometry) = (self.config.cities, config::name(self.config.geometry));
        format!("{cities} cities, {geometry}: mean gap {} %", metrics.gaps.greedy.percent())
    }

    fn draw(&self, out: &Path, trained: Trained<'_, Self>, _: &mut Tape<f32>) -> Result<()> {
        let (title, path) = (self.title(trained.metrics), out.join(PICTURES[0]));
        trained.curves(&title, out)?;
        let (test, tours) = self.tested.get().expect("it was tested");
        pictures::sheet(&path, &title, test, tours, self.config.decoding)
    }
}
