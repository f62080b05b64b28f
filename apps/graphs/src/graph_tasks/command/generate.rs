//! `graph-tasks generate`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use cotangent::engine::files::atomic;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_common::{metrics, output, say};
use serde::{Deserialize, Serialize};

use crate::graph_tasks::LessonOption;
use crate::graph_tasks::disc::{Disc, DiscGraph};
use crate::graph_tasks::drawing::{draw_graph, draw_lessons};
use crate::graph_tasks::task::Lesson;

/// Larger graphs are written without a search for the longest path, and lessons are drawn if they are named.
const SEARCHED: usize = 5_000;

/// Angles of the lessons that are drawn without `--curriculum`. The first is that of the paper, appendix A.3.
const ANGLES: [f64; 4] = [30.0, 90.0, 180.0, 360.0];

#[derive(Args)]
pub(super) struct Generate {
    #[command(flatten)]
    disc: Disc,
    /// Seed of the graph. Same seed, same graph, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Graph")]
    seed: u64,
    /// Lessons to draw, as ANGLE or ANGLE:NODES with the angle in degrees [default: 30, 90, 180 and 360
    /// degrees of a graph of at most 5,000 nodes, none of a larger one].
    #[arg(long, value_delimiter = ',', help_heading = "Graph")]
    curriculum: Vec<LessonOption>,
    #[command(flatten)]
    threads: ThreadsOption,
    /// Output directory: edges.tsv with two nodes a line, each edge once; coordinates.tsv; pictures.
    #[arg(long, default_value = "runs/disc", help_heading = RUN)]
    out: PathBuf,
}

/// `metrics.json` of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphSummary {
    /// The settings.
    pub disc: Disc,
    /// The seed.
    pub seed: u64,
    /// Hyperbolic radius of the disc.
    pub radius: f64,
    /// Number of edges.
    pub edges: usize,
    /// Mean number of neighbours of a node.
    pub mean_degree: f64,
    /// The mean over all graphs of these settings, by numerical integration.
    pub expected_degree: f64,
    /// Number of nodes of the largest connected component.
    pub largest_component: usize,
    /// Number of connected components; a node without neighbours is one.
    pub components: usize,
    /// Length of a longest shortest path, in graphs of at most 5,000 nodes.
    pub longest_path: Option<u32>,
    /// Seconds of drawing the points and finding the edges.
    pub seconds: f64,
}

/// Generates a graph, and writes and draws it.
pub(super) fn generate(args: &Generate) -> Result<()> {
    let Generate { disc, seed, curriculum, out, .. } = args;
    disc.validate()?;
    let lessons: Vec<Lesson> = match curriculum.is_empty() && disc.nodes <= SEARCHED {
        true => ANGLES.map(|angle| Lesson { angle, nodes: disc.nodes }).to_vec(),
        false => curriculum.iter().map(|lesson| lesson.on(disc)).collect(),
    };
    lessons.iter().try_for_each(|lesson| lesson.disc(disc).map(drop))?;
    let threads = args.threads.start()?;
    let _held = output::hold(out)?;
    threads.run(|| {
        let start = Instant::now();
        let graph = disc.generate(*seed, 0);
        let summary = summary(disc, *seed, &graph, start.elapsed().as_secs_f64());
        report(&summary);
        write_edges(&out.join("edges.tsv"), &graph)?;
        write_coordinates(&out.join("coordinates.tsv"), &graph)?;
        draw_graph(&out.join("disc.svg"), disc, &graph)?;
        match lessons.is_empty() {
            true => say!(
                "curriculum.svg is not drawn: for more than {SEARCHED} nodes --curriculum must name lessons"
            ),
            false => draw_lessons(&out.join("curriculum.svg"), disc, &lessons, *seed)?,
        }
        metrics::write(out, &summary)
    })?;
    say!("written to {}", out.display());
    Ok(())
}

fn summary(disc: &Disc, seed: u64, graph: &DiscGraph, seconds: f64) -> GraphSummary {
    let (component, components) = graph.adjacency().largest_component();
    GraphSummary {
        disc: *disc,
        seed,
        radius: disc.radius(),
        edges: graph.edges(),
        mean_degree: 2.0 * graph.edges() as f64 / graph.nodes() as f64,
        expected_degree: disc.expected_degree(),
        largest_component: component.len(),
        components,
        longest_path: (graph.nodes() <= SEARCHED).then(|| graph.longest_path()),
        seconds,
    }
}

fn report(summary: &GraphSummary) {
    let GraphSummary { disc, radius, edges, mean_degree, expected_degree, seconds, .. } = summary;
    say!("{} nodes in a disc of radius {radius:.3}, {edges} edges, in {seconds:.2} s", disc.nodes);
    say!("mean degree {mean_degree:.2} (expected: {expected_degree:.2})");
    say!("{} nodes in the largest of {} components", summary.largest_component, summary.components);
    match summary.longest_path {
        Some(length) => say!("longest path {length}"),
        None => say!("longest path not searched for: more than {SEARCHED} nodes"),
    }
}

/// Two nodes a line, u < v.
fn write_edges(path: &Path, graph: &DiscGraph) -> Result<()> {
    let lines = |w: &mut dyn std::io::Write| graph.pairs().try_for_each(|(u, v)| writeln!(w, "{u}\t{v}"));
    atomic::write(path, lines).map_err(AppError::io(path))
}

/// A node a line: number, distance from the centre, angle.
fn write_coordinates(path: &Path, graph: &DiscGraph) -> Result<()> {
    let mut polar = graph.radii().iter().zip(graph.angles()).enumerate();
    atomic::write(path, |w| {
        writeln!(w, "node\tradius\tangle")?;
        polar.try_for_each(|(node, (radius, angle))| writeln!(w, "{node}\t{radius}\t{angle}"))
    })
    .map_err(AppError::io(path))
}
