//! Training and testing an agent.

use cotangent::layers::Score;
use cotangent::optim::train::{History, TrainError, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::training::{figures, trainer};
use cotangent_apps_common::{config, curves, metrics, output};

use super::agent::{Agent, Decisions, Policy, training_cities};
use super::config::{PARTS, TourConfig};
use super::evaluation::{Gaps, Reference, Tours, reference_name};
use super::instance::City;
use super::rollout::{NotFinite, Rollout};
use super::{TourMetrics, pictures};

/// The pictures beside the learning curves.
const PICTURES: [&str; 1] = ["tours.svg"];
pub(super) const MODEL: &str = "model.safetensors";

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
    Run { config, options }.fit(&*score)
}

/// A training and its test.
struct Run<'a> {
    config: &'a TourConfig,
    options: &'a RunOptions,
}

impl Run<'_> {
    /// Trains the agent, tests it and writes all results.
    fn fit(&self, score: &dyn Score<f32>) -> Result<TourMetrics> {
        let Run { config, options } = *self;
        let out = &options.out;
        let mut agent = Agent::new(config, score);
        let history = self.epochs(&mut agent)?;
        save_model(&agent.online, &out.join(MODEL), Some(&output::fingerprint(config, 0)))?;
        let test = Reference::new(config.cities, config.test_instances, config.data_seed, "test");
        let rollout = self.rollout(&agent);
        let tours = Tours::new(rollout, &test.instances, &test.distances, config.decoding, config.data_seed)
            .map_err(|NotFinite| TrainError::Other("a value of the last network is not finite".into()))?;
        let metrics = self.metrics(&agent, &history, &test, &tours);
        metrics::write(out, &metrics)?;
        let geometry = config::name(config.geometry);
        let title =
            format!("{} cities, {geometry}: mean gap {} %", config.cities, metrics.gaps.greedy.percent());
        curves::training(&out.join("curves.svg"), &title, &history.epochs, "gap of greedy tours", f64::min)?;
        pictures::sheet(&out.join(PICTURES[0]), &title, &test, &tours, config.decoding)?;
        Ok(metrics)
    }

    fn rollout<'r>(&'r self, agent: &'r Agent) -> Rollout<'r> {
        Rollout { network: &agent.online, device: &self.options.device }
    }

    /// Trains the agent.
    fn epochs(&self, agent: &mut Agent) -> Result<History> {
        let Run { config, options } = *self;
        let mut adam = RiemannianAdam::new(config.lr)?.clip(config.clip)?;
        let steps = config.epochs * config.epoch_steps;
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = trainer(config, 0, options)
            .schedule(Schedule::Cosine { steps, floor: 0.0 })
            .parts(PARTS[0], PARTS[1])
            .display(|now| {
                progress.update(now.history.steps, || {
                    let mut figures = figures(&now, "validation_gap", "decisions_per_second");
                    figures.push(Figure::new("epsilon", config.epsilon(now.history.epochs.len() as u64), 2));
                    figures
                })
            });
        trainer.check()?;
        if !options.resume {
            output::set_aside(&options.out, |name| PICTURES.contains(&name))?;
        }
        let validation =
            Reference::new(config.cities, config.validation_instances, config.data_seed, "validation");
        // A resumed run gets its memory from the checkpoint.
        self.explore(agent, 0)
            .map_err(|NotFinite| TrainError::Other("an initial value is not finite".into()))?;
        let history = trainer.run(
            agent,
            &mut adam,
            &Decisions(config),
            |agent, tape, items| agent.loss(tape, items),
            |agent, before| Ok(self.end_epoch(agent, before, &validation).unwrap_or(f64::NAN)),
        )?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// The mean gap of greedy tours. Then the target network becomes the online network, and the memory gets
    /// the tours of the next epoch.
    fn end_epoch(
        &self,
        agent: &mut Agent,
        before: &History,
        validation: &Reference,
    ) -> std::result::Result<f64, NotFinite> {
        let gap = validation.greedy_gap(self.rollout(agent))?;
        agent.renew_target();
        self.explore(agent, before.epochs.len() as u64 + 1)?;
        Ok(gap)
    }

    /// Puts the tours into the memory that an epoch, from 0 on, begins with. The random stream is named
    /// `"exploration"`.
    fn explore(&self, agent: &mut Agent, epoch: u64) -> std::result::Result<(), NotFinite> {
        let &TourConfig { cities, seed, epoch_tours, .. } = self.config;
        let first = epoch * epoch_tours;
        let instances: Vec<Vec<City>> =
            (first..first + epoch_tours).map(|number| training_cities(cities, seed, number)).collect();
        let rng = |number: usize| rng::stream(seed, "exploration", first + number as u64);
        let policy = Policy::Explore(self.config.epsilon(epoch));
        let cities = |number: usize| &instances[number][..];
        let tours = self.rollout(agent).tours(instances.len(), policy, cities, rng)?;
        agent.remember(first, &tours);
        Ok(())
    }

    fn metrics(&self, agent: &Agent, history: &History, test: &Reference, tours: &Tours) -> TourMetrics {
        let lengths: Vec<f64> =
            test.distances.iter().zip(&test.best).map(|(distances, tour)| distances.length(tour)).collect();
        TourMetrics {
            config: self.config.clone(),
            parameters: agent.online.count(),
            threads: rayon::current_num_threads(),
            device: self.options.device.to_string(),
            epochs: history.epochs.clone(),
            reference: reference_name(self.config.cities),
            reference_length: Interval::mean(&lengths),
            gaps: Gaps::new(test, tours),
            seconds: history.seconds,
        }
    }
}
