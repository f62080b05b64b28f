//! What a training in parts takes of memory and disk, and how many parts it needs.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use cotangent::prelude::Manifold;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;

use crate::partition::schedule::{self, Order, Schedule, Turns, distinct};
use crate::train::config::EmbeddingConfig;

/// A number of bytes: "4GB", "500MB", "64GiB".
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bytes(pub(crate) f64);

/// The units of bytes.
const UNITS: [(&str, f64); 8] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];

impl FromStr for Bytes {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let lower = text.trim().to_lowercase();
        let unit =
            UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(&unit.to_lowercase())?, factor)));
        let (number, factor) = unit.unwrap_or((lower.as_str(), &1.0));
        match number.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Bytes(number * factor)),
            _ => Err("a size such as 4GB, 500MB or 64GiB is needed".to_owned()),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&memory::text(self.0))
    }
}

/// The largest number of parts.
pub(crate) const PARTS: usize = 1024;

/// What is known of a training before it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Demand {
    /// Number of nodes.
    pub(crate) nodes: f64,
    /// Number of edges.
    pub(crate) edges: f64,
    /// Bytes of a name, on average.
    pub(crate) name: f64,
    /// Whether edges have weights.
    pub(crate) weighted: bool,
    /// Bytes of a point.
    pub(crate) point: f64,
    /// Number of coordinates of a point.
    pub(crate) width: f64,
    /// Whether threads do not wait for each other: the points of a bucket are there twice.
    pub(crate) lock_free: bool,
    /// Whether negative samples are drawn by degree.
    pub(crate) by_degree: bool,
    /// The order of the buckets.
    pub(crate) order: Order,
    /// Number of ranks.
    pub(crate) ranks: usize,
}

/// The speed of one rank and of the link between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    /// Pairs trained per second.
    pub(crate) pairs: f64,
    /// Bytes per second that the disk reads and writes.
    pub(crate) disk: f64,
    /// Bytes per second that a rank sends, and as many that it receives.
    pub(crate) link: f64,
    /// Seconds that a message takes besides.
    pub(crate) latency: f64,
}

/// What a training by several ranks sends, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Bytes of parts that are sent in the whole training.
    pub(crate) sent: f64,
    /// Seconds of all epochs.
    pub(crate) seconds: f64,
}

/// Bytes of the program itself and of what does not grow with the graph.
const PROGRAM: f64 = 64e6;

/// Number of epochs that are followed turn by turn; more take as long as these on average.
const FOLLOWED: u64 = 16;

/// By how much the largest part or bucket is larger than the mean, if there are several.
const IMBALANCE: f64 = 1.15;

impl Demand {
    /// Of a graph with so many nodes and edges, and names of so many bytes on average.
    pub(crate) fn new(nodes: f64, edges: f64, name: f64, weighted: bool, config: &EmbeddingConfig) -> Self {
        let width = config.geometry.manifold().ambient(config.dim) as f64;
        let point = width * config.precision.bytes() as f64;
        let (lock_free, by_degree) = (config.lock_free, config.negative_power != 0.0);
        let (order, ranks) = (Order::Sweep, 1);
        Demand { nodes, edges, name, weighted, point, width, lock_free, by_degree, order, ranks }
    }

    /// Bytes of a pair on disk.
    fn pair(&self) -> f64 {
        if self.weighted { 16.0 } else { 8.0 }
    }

    /// Bytes of all points.
    pub(crate) fn table(&self) -> f64 {
        self.nodes * self.point
    }

    /// The memory that a training in so many parts takes.
    pub(crate) fn memory(&self, parts: usize) -> f64 {
        let (several, uneven) = (parts > 1, if parts > 1 { IMBALANCE } else { 1.0 });
        let part = uneven * self.nodes / parts as f64;
        let pairs = uneven * self.edges / schedule::count(parts) as f64 * if several { 2.0 } else { 1.0 };
        // Two parts and, in a sweep, copies of both while one of them is exchanged, and the next one; in a
        // tournament two more come while two are stored; several ranks have copies in messages. A single
        // part stays.
        let copies = match self.order {
            Order::Sweep => 3.0,
            Order::Tournament if self.ranks == 1 => 4.0,
            Order::Tournament => 8.0,
        };
        let (held, copies) = if several { (2.0, copies) } else { (1.0, 1.0) };
        let twice = if self.lock_free { held } else { 0.0 };
        let points = (held + copies + twice) * part * self.point;
        // Starts of neighbours, and while they are found a copy; degrees and what draws by them.
        let node = 16.0 + if self.by_degree { 40.0 } else { 0.0 };
        // The pairs now and those read meanwhile, their neighbours and their order; about as many are known.
        let known = if several { 20.0 } else { 0.0 };
        let training = points + held * part * node + pairs * (2.0 * self.pair() + 8.0 + known);
        let start = 8.0 * self.nodes + part * self.point;
        let files = (self.nodes / 1000.0).clamp(1.0, 128.0);
        let ends = (2.0 * self.edges / 128.0).max(1_048_576.0);
        let prepare = 4.0 * self.nodes
            + (self.nodes / files * (self.name + 64.0))
                .max(ends * (12.0 + self.pair()))
                .max(pairs * 5.0 * self.pair());
        // The keys of a part, and its points in `f64`.
        let evaluation = part * (2.0 * self.point + 20.0 * self.width) + self.nodes / 8.0;
        PROGRAM + training.max(start).max(prepare).max(evaluation)
    }

    /// The disk that a training in so many parts takes, beside the edges that it reads: while these are
    /// brought to their buckets, and then twice the points, the pairs and the names.
    pub(crate) fn disk(&self) -> f64 {
        let ends = 2.0 * self.edges;
        let weights = if self.weighted { 8.0 * self.edges } else { 0.0 };
        let names = self.nodes * (self.name + 4.0);
        let prepare =
            (ends * (12.0 + self.name)).max(ends * 8.0 + names).max(ends * 8.0 + 2.0 * names) + weights;
        let graph = self.edges * self.pair() + names + 4.0 * self.nodes;
        prepare.max(graph + 2.0 * self.table())
    }

    /// Bytes that an epoch reads and writes on all ranks: parts that come and go, and the pairs.
    pub(crate) fn traffic(&self, parts: usize) -> f64 {
        let mut held = vec![Vec::new(); self.ranks];
        let mut loads = 0;
        let config = Schedule { seed: 0, epochs: 1, order: self.order };
        for turn in Turns::new(config, parts, self.ranks, 0).filter(|_| parts > 1) {
            for (held, bucket) in held.iter_mut().zip(&turn.buckets) {
                let wanted = bucket.map_or(Vec::new(), distinct);
                loads += wanted.iter().filter(|part| !held.contains(*part)).count();
                *held = wanted;
            }
        }
        // The pairs within a part are read with those of all of its buckets.
        let pairs = (2.0 - 1.0 / parts as f64) * self.edges * self.pair();
        2.0 * loads as f64 * self.table() / parts as f64 + pairs
    }

    /// What a training by several ranks sends, and how long it takes. A turn takes as long as its slowest
    /// rank. Parts that nobody trains travel meanwhile, the others after it.
    pub(crate) fn forecast(&self, parts: usize, schedule: Schedule, speed: Speed) -> Forecast {
        let part = self.table() / parts as f64;
        let bucket = self.edges / schedule::count(parts) as f64;
        let training = bucket / speed.pairs;
        let mut location = vec![0; parts];
        let mut forecast = Forecast { sent: 0.0, seconds: 0.0 };
        let mut last = 0.0;
        let followed = schedule.epochs.min(FOLLOWED);
        for turn in Turns::new(Schedule { epochs: followed, ..schedule }, parts, self.ranks, 0) {
            let [resting, trained] = [&turn.resting, &turn.trained].map(|transfers| {
                let mut bytes = vec![[0.0_f64; 2]; self.ranks];
                for go in transfers {
                    bytes[go.from][0] += part;
                    bytes[go.to][1] += part;
                    location[go.part] = go.to;
                    forecast.sent += part;
                }
                let longest = bytes.iter().flatten().fold(0.0, |longest: f64, &bytes| longest.max(bytes));
                if transfers.is_empty() { 0.0 } else { longest / speed.link + speed.latency }
            });
            // Those at rest travel while the turn before is trained.
            forecast.seconds += f64::max(last, resting) + trained;
            let moved = turn.buckets.iter().flatten().map(|&bucket| distinct(bucket).len()).max();
            let disk = 2.0 * moved.unwrap_or(0) as f64 * part / speed.disk;
            last = if self.ranks * 2 < parts { f64::max(training, disk) } else { training };
        }
        forecast.seconds += last;
        let factor = if followed > 0 { schedule.epochs as f64 / followed as f64 } else { 0.0 };
        forecast = Forecast { sent: forecast.sent * factor, seconds: forecast.seconds * factor };
        // At the end all parts go to rank 0.
        let elsewhere = location.iter().filter(|&&rank| rank != 0).count() as f64;
        forecast.sent += elsewhere * part;
        forecast.seconds += elsewhere * part / speed.link;
        forecast
    }

    /// The smallest number of parts whose training fits in so much memory.
    ///
    /// # Errors
    /// If there is none; the error says how much is needed.
    pub(crate) fn parts(&self, memory: Bytes) -> Result<usize> {
        let largest = PARTS.min(self.nodes as usize / 2).max(1);
        let least = if self.ranks > 1 { 2 * self.ranks } else { 1 };
        let fits = (least..=largest).find(|&parts| self.memory(parts) <= memory.0);
        fits.ok_or_else(|| {
            let needed = (1..=largest).map(|parts| self.memory(parts)).fold(f64::INFINITY, f64::min);
            AppError::usage(format!(
                "--memory {memory}: two parts of {largest}, and what does not grow with the parts, need {}",
                Bytes(needed)
            ))
        })
    }
}

/// Checks that a directory's disk has so many bytes free.
///
/// # Errors
/// If it has not; the error says how many are needed and free.
pub(crate) fn check_disk(directory: &Path, bytes: f64) -> Result<()> {
    match free(directory) {
        Some(free) if free < bytes => {
            let message = format!("{} of disk are needed, {} are free", Bytes(bytes), Bytes(free));
            Err(AppError::content(directory, message))
        }
        _ => Ok(()),
    }
}

/// The bytes that are free on a directory's disk, where the system says it.
fn free(directory: &Path) -> Option<f64> {
    #[cfg(unix)]
    {
        // The directory itself may not be there yet.
        let found =
            directory.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        let disk = found.filter_map(|path| rustix::fs::statvfs(path).ok()).next()?;
        Some(disk.f_bavail as f64 * disk.f_frsize as f64)
    }
    #[cfg(not(unix))]
    {
        let _ = directory;
        None
    }
}

/// The largest memory that this process had resident so far, where the system says it (Linux).
pub(crate) fn resident() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))?;
    line.parse().ok().map(|kilobytes: f64| 1024.0 * kilobytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [("4GB", 4e9), (" 500 mb", 5e8), ("1.5GiB", 1_610_612_736.0), ("17", 17.0)] {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes));
        }
        assert!(["", "GB", "-1GB", "4 apples", "inf"].iter().all(|text| text.parse::<Bytes>().is_err()));
        assert_eq!(
            [4e9, 5.04e8, 17.0].map(|bytes| Bytes(bytes).to_string()),
            ["4.0 GB", "504.0 MB", "0.0 KB"]
        );
    }

    /// Of eight parts four ranks train two turns of single parts and seven of pairs; two ranks twice as many.
    #[test]
    fn a_forecast_counts_turns_and_messages() {
        let demand = |ranks| Demand {
            nodes: 8.0,
            edges: 36.0,
            name: 1.0,
            weighted: false,
            point: 1.0,
            width: 1.0,
            lock_free: false,
            by_degree: false,
            order: Order::Tournament,
            ranks,
        };
        let schedule = Schedule { seed: 1, epochs: 1, order: Order::Tournament };
        let fast = Speed { pairs: 1.0, disk: f64::INFINITY, link: f64::INFINITY, latency: 0.0 };
        let forecast = |ranks, speed| demand(ranks).forecast(8, schedule, speed);
        assert_eq!([4, 2].map(|ranks| forecast(ranks, fast).seconds), [9.0, 18.0]);
        // Every rank gets at least one part before each of the seven turns, in a second; so many at the end.
        let slow = forecast(4, Speed { link: 1.0, ..fast });
        assert!(slow.seconds >= 9.0 + 7.0 + 6.0 && slow.sent >= 7.0 * 4.0 + 6.0, "{slow:?}");
        assert!(forecast(4, Speed { latency: 1.0, ..fast }).seconds >= 9.0 + 7.0);
    }

    #[test]
    fn less_memory_needs_more_parts() {
        let demand = Demand {
            nodes: 1e8,
            edges: 1e8,
            name: 9.0,
            weighted: false,
            point: 40.0,
            width: 10.0,
            lock_free: true,
            by_degree: false,
            order: Order::Sweep,
            ranks: 1,
        };
        let parts = [64e9, 8e9, 4e9].map(|memory| demand.parts(Bytes(memory)).unwrap());
        assert!(parts[0] == 1 && parts.is_sorted_by(|a, b| a < b), "{parts:?}");
        let error = demand.parts(Bytes(5e8)).unwrap_err().to_string();
        assert!(error.starts_with("--memory 500.0 MB: two parts of 1024"), "{error}");
        assert!(demand.disk() < 25e9);
        // Every part comes and goes once for each other one.
        assert!(demand.traffic(8) > 2.0 * 4.0 * demand.table());
        let error = check_disk(Path::new("."), 1e30).unwrap_err().to_string();
        assert!(error.contains("of disk are needed"), "{error}");
    }
}
