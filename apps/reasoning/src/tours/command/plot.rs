//! `tours plot`.

use std::path::PathBuf;

use clap::Args;
use cotangent::prelude::Tape;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::{OUT, RUN};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_common::{config, output, say};

use super::load;
use crate::tours::evaluation::{Gaps, Reference, Tours};
use crate::tours::rollout::{NotFinite, Rollout};
use crate::tours::{Decoding, pictures};

#[derive(Args)]
pub(super) struct Plot {
    /// The output directory of a training.
    #[arg(long, default_value = OUT, help_heading = "Tours")]
    model: PathBuf,
    #[command(flatten)]
    decoding: Decoding,
    /// Seed of cities and samples.
    #[arg(long, default_value_t = 42, help_heading = "Tours")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory: tours.svg.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

impl Plot {
    /// Draws tours of new cities by the agent beside those of other methods.
    pub(super) fn run(&self, scores: &Scores) -> Result<()> {
        let Plot { model, decoding, seed, out, .. } = self;
        decoding.check()?;
        let device = self.device.choose()?;
        let (trained, network) = load(model, scores)?;
        let cities = trained.config.cities;
        self.threads.start()?.run(|| {
            let reference = Reference::new(cities, pictures::ROWS, *seed, "plot");
            let rollout = Rollout { network: &network, tape: &mut Tape::with_device(device) };
            let Reference { instances, distances, .. } = &reference;
            let tours = Tours::new(rollout, instances, distances, *decoding, *seed)
                .map_err(|NotFinite| AppError::content(model, "a value of the model is not finite"))?;
            let gap = Gaps::new(&reference, &tours).greedy.mean;
            let geometry = config::name(trained.config.geometry);
            let title = format!("{cities} cities, {geometry}: mean gap of these {:.2} %", 100.0 * gap);
            let _held = output::hold(out)?;
            pictures::sheet(&out.join("tours.svg"), &title, &reference, &tours, *decoding)
        })?;
        say!("written to {}", out.display());
        Ok(())
    }
}
