//! Pictures of a graph in its disc: the distance from the centre is the hyperbolic one, edges are straight.

use std::path::Path;

use cotangent_apps_common::disk::{self, Layout, Picture, SIZE, pixel};
use cotangent_apps_common::error::Result;
use svg::Document;
use svg::node::element::Path as SvgPath;
use svg::node::element::path::Data;

use super::disc::{Disc, DiscGraph};
use super::task::Lesson;

/// Edges of larger graphs are left out.
const WITH_EDGES: usize = 5_000;
/// At most this many nodes are drawn; of a larger graph, every second, third, .. by angle.
const NODES: usize = 10_000;
/// Colour of a node.
const NODE: &str = "#c0392b";
/// Colour of a node that a lesson leaves out.
const LEFT_OUT: &str = "#c9cbd1";
/// Colour of the outline of a slice.
const SLICE: &str = "#1f4e9c";
/// Number of lessons beside each other, and the height of each: a disc and a caption of two lines.
const COLUMNS: usize = 2;
const HEIGHT: f64 = SIZE + 48.0;

/// What is drawn of a graph.
struct Drawing {
    points: Vec<[f64; 2]>,
    depth: Vec<f64>,
    colour: Vec<&'static str>,
    edges: Vec<(u32, u32)>,
    /// What is left out, to end the caption with.
    left_out: String,
}

impl Drawing {
    /// All of a small graph, or some nodes of a large one.
    fn new(graph: &DiscGraph, radius: f64, colour: &'static str) -> Self {
        let step = graph.nodes().div_ceil(NODES).max(1);
        let polar = graph.radii().iter().zip(graph.angles()).step_by(step);
        let point = |(r, angle): (&f64, &f64)| [angle.cos(), angle.sin()].map(|x| x * r / radius);
        let points: Vec<[f64; 2]> = polar.map(point).collect();
        let is_small = graph.nodes() <= WITH_EDGES;
        let left_out = match step {
            1 if is_small => String::new(),
            1 => "; without edges".to_owned(),
            _ => format!("; {} nodes are drawn, without edges", points.len()),
        };
        Drawing {
            depth: graph.radii().iter().copied().step_by(step).collect(),
            colour: vec![colour; points.len()],
            points,
            edges: if is_small { graph.pairs().collect() } else { Vec::new() },
            left_out,
        }
    }

    /// Another drawing over this one, whose edges are drawn alone.
    fn under(mut self, over: Drawing) -> Self {
        let first = self.points.len() as u32;
        self.points.extend(over.points);
        self.depth.extend(over.depth);
        self.colour.extend(over.colour);
        self.edges = over.edges.into_iter().map(|(u, v)| (u + first, v + first)).collect();
        self
    }

    fn document(self, caption: &str) -> Document {
        let Drawing { points, depth, colour, edges, left_out } = self;
        let layout = Layout { points, depth, caption: format!("{caption}{left_out}") };
        disk::document(&Picture::chords(layout, colour), &[], &edges)
    }
}

/// Draws a graph.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn draw_graph(path: &Path, disc: &Disc, graph: &DiscGraph) -> Result<()> {
    let radius = disc.radius();
    let caption = format!("{} nodes, {} edges, radius {radius:.2}", graph.nodes(), graph.edges());
    disk::save(path, &Drawing::new(graph, radius, NODE).document(&caption))
}

/// Draws the lessons of a curriculum beside each other: the whole graph, the slice that the lesson takes of
/// it, and in another colour the largest connected component of the slice, with its edges. Gulcehre et al.
/// 2019, Figure 6.
///
/// # Errors
/// If the file cannot be written, or a lesson is impossible.
pub(super) fn draw_lessons(path: &Path, disc: &Disc, lessons: &[Lesson], seed: u64) -> Result<()> {
    let columns = lessons.len().min(COLUMNS);
    let mut document = Document::new();
    for (i, lesson) in lessons.iter().enumerate() {
        let (x, y) = (SIZE * (i % columns) as f64, HEIGHT * (i / columns) as f64);
        document = document.add(panel(disc, lesson, i + 1, seed)?.set("x", x).set("y", y));
    }
    let (width, height) = (SIZE * columns as f64, HEIGHT * lessons.len().div_ceil(columns) as f64);
    document = document.set("viewBox", (0, 0, width, height)).set("width", width).set("height", height);
    disk::save(path, &document)
}

/// The picture of a lesson, counted from 1.
fn panel(disc: &Disc, lesson: &Lesson, number: usize, seed: u64) -> Result<Document> {
    let disc = lesson.disc(disc)?;
    let graph = disc.generate(seed, 0);
    let whole = Drawing::new(&graph, disc.radius(), LEFT_OUT);
    let part = lesson.cut(graph);
    let caption = format!(
        "lesson {number}: {}° of {} nodes, {} nodes and {} edges",
        lesson.angle,
        lesson.nodes,
        part.nodes(),
        part.edges()
    );
    let document = whole.under(Drawing::new(&part, disc.radius(), NODE)).document(&caption);
    if lesson.angle >= 360.0 {
        return Ok(document);
    }
    let angle = lesson.angle.to_radians();
    let [[x, y], [start, level], [end, rise]] =
        [[0.0, 0.0], [1.0, 0.0], [angle.cos(), angle.sin()]].map(pixel);
    let rim = (start - x, start - x, 0, u8::from(lesson.angle > 180.0), 0, end, rise);
    let outline = Data::new().move_to((x, y)).line_to((start, level)).elliptical_arc_to(rim).close();
    let slice = SvgPath::new().set("d", outline).set("fill", "none");
    Ok(document.add(slice.set("stroke", SLICE).set("stroke-width", 2.5)))
}
