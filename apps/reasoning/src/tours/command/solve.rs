//! `tours solve`.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent::engine::files::atomic;
use cotangent::prelude::Tape;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_common::{metrics, output, say};
use serde::{Deserialize, Serialize};

use super::load;
use crate::tours::coordinates::{Coordinates, Metric};
use crate::tours::evaluation::{STARTS, Tours};
use crate::tours::instance::{Distances, in_unit_square};
use crate::tours::rollout::{NotFinite, Rollout};
use crate::tours::solvers::{LARGEST_EXACT, best_two_opt, held_karp, nearest_neighbour};
use crate::tours::{Decoding, pictures};

#[derive(Args)]
pub(super) struct Solve {
    /// The cities: TSPLIB's format with NODE_COORD_SECTION and EUC_2D, or a table of x and y, or of a name, x
    /// and y.
    file: PathBuf,
    /// The output directory of a training, whose agent makes the tour. Without it the tour is the shortest
    /// one, for up to 20 cities by Held-Karp, for more the best of 2-opt.
    #[arg(long, help_heading = "Tours")]
    model: Option<PathBuf>,
    #[command(flatten)]
    decoding: Decoding,
    /// Random starts of 2-opt, for more than 20 cities [default: 100 of up to 100 cities, 0 of more]. Another
    /// start are the nearest neighbours.
    #[arg(long, help_heading = "Tours")]
    starts: Option<usize>,
    /// Seed of samples and random starts.
    #[arg(long, default_value_t = 42, help_heading = "Tours")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory: tour.tsv with the cities in the order of the tour, tour.svg, metrics.json. It must
    /// not be that of a training.
    #[arg(long, default_value = "runs/tour", help_heading = RUN)]
    out: PathBuf,
}

/// `metrics.json` of a tour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SolveMetrics {
    /// Number of cities.
    pub cities: usize,
    /// How tours are measured.
    pub metric: Metric,
    /// The length of each method's tour.
    pub lengths: Vec<(String, f64)>,
    /// The method of the tour in the files.
    pub method: String,
    /// The names of the cities in the order of this tour.
    pub tour: Vec<String>,
}

/// The largest number of random starts.
const MOST_STARTS: usize = 1 << 16;

/// A tour and how it was found.
type Found = (String, Vec<usize>);

impl Solve {
    pub(super) fn run(&self, scores: &Scores) -> Result<()> {
        let Solve { file, out, .. } = self;
        self.decoding.check()?;
        let coordinates = Coordinates::read(file)?;
        self.check_starts(coordinates.cities.len())?;
        let distances = coordinates.distances();
        let threads = self.threads.start()?;
        // The method of the files first.
        let found = threads.run(|| match &self.model {
            Some(model) => self.by_model(model, &coordinates, &distances, scores),
            None => Ok(vec![
                self.shortest(&distances),
                ("nearest neighbour".into(), nearest_neighbour(&distances)),
            ]),
        })?;
        let _held = output::hold_without_model(out)?;
        let (method, tour) = &found[0];
        let decimals = if coordinates.metric == Metric::Rounded { 0 } else { 4 };
        say!("{} cities, length", tour.len());
        for (method, tour) in &found {
            say!("{:>12.decimals$}  {method}", distances.length(tour));
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let title = format!("{method}, length {:.decimals$}, {name}", distances.length(tour));
        write_tour(&out.join("tour.tsv"), &coordinates, tour)?;
        pictures::tour(&out.join("tour.svg"), &title, &coordinates.cities, &coordinates.names, tour)?;
        let solved = SolveMetrics {
            cities: tour.len(),
            metric: coordinates.metric,
            lengths: found.iter().map(|(method, tour)| (method.clone(), distances.length(tour))).collect(),
            method: method.clone(),
            tour: tour.iter().map(|&city| coordinates.names[city].clone()).collect(),
        };
        metrics::write(out, &solved)?;
        say!("written to {}", out.display());
        Ok(())
    }

    /// Checks that so many starts are possible, and of use for so many cities.
    fn check_starts(&self, cities: usize) -> Result<()> {
        match self.starts {
            Some(starts) if starts > MOST_STARTS => {
                Err(AppError::usage(format!("--starts {starts}: at most 2¹⁶ are possible")))
            }
            Some(_) if cities <= LARGEST_EXACT => {
                let message = format!("--starts: there are {cities} cities, whose shortest tour is found");
                Err(AppError::usage(message))
            }
            _ => Ok(()),
        }
    }

    /// The tours of a model and of the other methods, the model's shortest first.
    fn by_model(
        &self,
        model: &Path,
        coordinates: &Coordinates,
        distances: &Distances,
        scores: &Scores,
    ) -> Result<Vec<Found>> {
        let device = self.device.choose()?;
        let (trained, network) = load(model, scores)?;
        if trained.config.cities != coordinates.cities.len() {
            say!("the model was trained with {} cities", trained.config.cities);
        }
        let rollout = Rollout { network: &network, tape: &mut Tape::with_device(device) };
        let instance = [in_unit_square(&coordinates.cities)];
        let measured = std::slice::from_ref(distances);
        let tours = Tours::new(rollout, &instance, measured, self.decoding, self.seed)
            .map_err(|NotFinite| AppError::content(model, "a value of the model is not finite"))?;
        let named = tours.named(self.decoding).map(|(name, tours)| (name, tours[0].clone()));
        let mut found: Vec<Found> = named.into();
        if distances.length(&found[1].1) < distances.length(&found[0].1) {
            found.swap(0, 1);
        }
        found.push(self.shortest(distances));
        Ok(found)
    }

    /// The shortest tour, or the best of 2-opt.
    fn shortest(&self, distances: &Distances) -> Found {
        let cities = distances.cities();
        if cities <= LARGEST_EXACT {
            return ("shortest (Held-Karp)".to_owned(), held_karp(distances));
        }
        let starts = self.starts.unwrap_or(if cities <= 100 { STARTS } else { 0 });
        let tour = best_two_opt(distances, starts, self.seed);
        (format!("best of 2-opt, {starts} random starts"), tour)
    }
}

/// A city a line in the order of the tour: name, x, y.
fn write_tour(path: &Path, coordinates: &Coordinates, tour: &[usize]) -> Result<()> {
    atomic::write(path, |w| {
        writeln!(w, "city\tx\ty")?;
        tour.iter().try_for_each(|&city| {
            let [x, y] = coordinates.cities[city];
            writeln!(w, "{}\t{x}\t{y}", coordinates.names[city])
        })
    })
    .map_err(AppError::io(path))
}
