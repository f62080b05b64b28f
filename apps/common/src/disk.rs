//! Pictures of the Poincaré disk, as SVG: edges as geodesic arcs, labels on the nodes nearest the origin.
//!
//! A two-dimensional embedding is drawn as it is. In more dimensions, if the graph is a
//! [hierarchy](crate::hierarchy), nodes keep their relative distances from the origin, and each subtree gets
//! a sector of its own. Any other embedding is projected: the logarithm at the origin takes points to tangent
//! vectors, which are projected onto their two principal directions, and the exponential map takes them back.
//! The caption says which was done.

use std::fmt::Write;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::manifolds::symmetric_eigen;
use cotangent::prelude::*;
use svg::Document;
use svg::node::element::path::Data;
use svg::node::element::{Circle, Group, Path as SvgPath, Text};

use crate::error::{AppError, Result};
use crate::geometry::{ForManifold, Geometry, Model};
use crate::hierarchy::Hierarchy;
use crate::lettering;

/// Radius of the disk in the picture, in pixels.
const RADIUS: f64 = 440.0;
/// Both coordinates of the centre of the disk, in pixels. The margin around the disk is `CENTRE − RADIUS`.
const CENTRE: f64 = 480.0;
/// Width of the picture, and its height without the caption, in pixels.
const SIZE: f64 = 2.0 * CENTRE;
/// Font size and line height of the caption, in pixels.
const CAPTION: (f64, f64) = (18.0, 24.0);
/// Margin at the sides of the caption, in pixels.
const MARGIN: f64 = 16.0;
/// Font size and height of a label, in pixels.
const LABEL: (f64, f64) = (14.0, 15.0);
/// Largest width of a name, in pixels.
const NAME: f64 = CENTRE / 2.0;
/// Height of a line of the legend, in pixels.
const LEGEND: f64 = 18.0;
/// Largest number of lines of a legend.
const NAMES: usize = 12;
/// Largest number of labels.
const LABELS: usize = 40;
/// Largest number of edges; those nearest the origin are drawn. More would make the disk solid.
const EDGES: usize = 20_000;

/// Points in the unit disk, with their depths and a caption.
pub struct Layout {
    /// One point for each node, of norm below 1.
    pub points: Vec<[f64; 2]>,
    /// Distance of each node from the origin before any projection, in units of 1/√−κ if κ < 0.
    pub depth: Vec<f64>,
    /// The text under the picture, which says how the points were obtained.
    pub caption: String,
}

/// The logarithm of each point at the origin. Its length is the point's distance from the origin, in units of
/// the curvature radius 1/√−κ if κ < 0.
fn tangents(points: &Tensor<f64>, geometry: Geometry) -> Vec<Vec<f64>> {
    struct AtOrigin<'a>(&'a Tensor<f64>, Geometry);
    impl ForManifold for AtOrigin<'_> {
        type Output = Vec<Vec<f64>>;
        fn run<M: Manifold>(self, m: M) -> Self::Output {
            let AtOrigin(points, geometry) = self;
            let dim = m.dimension(points.width());
            let origin = m.origin::<f64>(dim);
            let tangent = |row: &[f64]| {
                let v = m.log(&origin, &Row::from(row));
                let length =
                    m.norm(&origin, &v) * (-geometry.kappa).sqrt().max(f64::from(geometry.kappa == 0.0));
                let v = &v[v.len() - dim..];
                let norm = self::length(v);
                v.iter().map(|x| if norm > 0.0 { x * (length / norm) } else { 0.0 }).collect()
            };
            points.rows().map(tangent).collect()
        }
    }
    geometry.with(AtOrigin(points, geometry))
}

/// The distance between the ends of each edge.
fn lengths(points: &Tensor<f64>, geometry: Geometry, edges: &[(u32, u32)]) -> Vec<f64> {
    struct Lengths<'a>(&'a Tensor<f64>, &'a [(u32, u32)]);
    impl ForManifold for Lengths<'_> {
        type Output = Vec<f64>;
        fn run<M: Manifold>(self, m: M) -> Self::Output {
            let Lengths(points, edges) = self;
            let row = |node: u32| Row::from(points.row(node as usize));
            edges.iter().map(|&(u, v)| m.dist(&row(u), &row(v))).collect()
        }
    }
    geometry.with(Lengths(points, edges))
}

/// The space of an embedding, in words.
fn space(model: Model, dim: usize) -> String {
    let model = match model {
        Model::Poincare => "Poincaré ball",
        Model::Lorentz => "hyperboloid",
        Model::Euclidean => "Euclidean space",
    };
    format!("{dim}-dimensional {model}")
}

/// The length of a vector.
fn length(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Lays out the points of an embedding, one per row, in the unit disk: projects them if they have more than
/// two dimensions.
///
/// # Errors
/// If the principal directions cannot be found.
pub fn layout(points: &Tensor<f64>, geometry: Geometry) -> Result<Layout> {
    projected(&tangents(points, geometry), geometry)
}

/// The layout of tangent vectors at the origin by their principal directions.
fn projected(tangents: &[Vec<f64>], geometry: Geometry) -> Result<Layout> {
    let dim = tangents.first().map_or(0, Vec::len);
    let (flat, how) = project(tangents, dim)?;
    let points: Vec<[f64; 2]> = if geometry.model == Model::Euclidean {
        let largest = flat.iter().map(|p| p[0].hypot(p[1])).fold(f64::MIN_POSITIVE, f64::max);
        flat.iter().map(|p| p.map(|x| 0.98 * x / largest)).collect()
    } else {
        // A point at distance r from the origin is drawn at norm tanh(r/2).
        let shrink = |p: &[f64; 2]| {
            let r = p[0].hypot(p[1]);
            let scale = if r > 0.0 { ((r / 2.0).tanh() / r).min((1.0 - 1e-9) / r) } else { 0.5 };
            p.map(|x| x * scale)
        };
        flat.iter().map(shrink).collect()
    };
    let caption = format!("{} nodes, {}{how}", points.len(), space(geometry.model, dim));
    let depth = tangents.iter().map(|v| length(v)).collect();
    Ok(Layout { points, depth, caption })
}

/// The vectors in two dimensions, and a text that says how they were projected (empty if they were not).
fn project(vectors: &[Vec<f64>], dim: usize) -> Result<(Vec<[f64; 2]>, String)> {
    if dim <= 2 {
        let pad = |v: &Vec<f64>| [v.first().copied().unwrap_or(0.0), v.get(1).copied().unwrap_or(0.0)];
        return Ok((vectors.iter().map(pad).collect(), String::new()));
    }
    let moment = |k: usize| vectors.iter().map(|v| v[k / dim] * v[k % dim]).sum::<f64>();
    // Eigenvalues are in descending order. The sign of a direction makes its largest coordinate positive.
    let (values, directions) = symmetric_eigen(&Tensor::from_fn([dim, dim], moment));
    if !values.iter().all(|x| x.is_finite()) {
        return Err(AppError::usage("the principal directions of the embedding could not be found"));
    }
    let values: Vec<f64> = values.into_iter().map(|x| x.max(0.0)).collect();
    let (first, second) = (directions.row(0), directions.row(1));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let kept = (values[0] + values[1]) / values.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let how = format!(
        ", projected to its two principal tangent directions at the origin ({:.0} % of the spread)",
        100.0 * kept
    );
    Ok((vectors.iter().map(|v| [dot(v, first), dot(v, second)]).collect(), how))
}

/// The picture of an embedding, without its edges.
struct Picture {
    layout: Layout,
    /// All nodes, the most important first: this is the order in which they are labelled.
    order: Vec<usize>,
    /// Colour of each node, and of the edges that start at it.
    colour: Vec<&'static str>,
    /// Colours and their names.
    legend: Vec<(&'static str, String)>,
    lines: Lines,
}

/// How an edge is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// As a geodesic of the disk.
    Geodesics,
    /// As a chord.
    Chords,
    /// As a curve that leaves both ends along the radius.
    Radial,
}

/// The picture of an embedding in two dimensions, or projected to two.
fn projection(tangents: &[Vec<f64>], geometry: Geometry) -> Result<Picture> {
    let layout = projected(tangents, geometry)?;
    let mut order: Vec<usize> = (0..tangents.len()).collect();
    order.sort_by(|&a, &b| layout.depth[a].total_cmp(&layout.depth[b]).then(a.cmp(&b)));
    let lines = if geometry.model == Model::Euclidean { Lines::Chords } else { Lines::Geodesics };
    Ok(Picture { colour: vec!["#c0392b"; order.len()], layout, order, legend: Vec::new(), lines })
}

/// Colour of an edge that is in no subtree.
const EDGE: &str = "#4a6fa5";
/// Colours of the subtrees.
const SUBTREES: [&str; 8] =
    ["#3563c9", "#d98c00", "#c8432b", "#23907a", "#7d4fc4", "#c2478f", "#5d8a1e", "#3f8fb5"];
/// Colour of nodes that are in none of these subtrees.
const OTHERS: &str = "#8a8a8a";

/// Lays out a hierarchy of more than two dimensions: every node at its distance from the origin, every
/// subtree in a sector of its own. `None` if the graph is no hierarchy.
fn subtrees(
    points: &Tensor<f64>,
    tangents: &[Vec<f64>],
    geometry: Geometry,
    names: &[String],
    edges: &[(u32, u32)],
) -> Option<Picture> {
    let dim = tangents.first().map_or(0, Vec::len);
    if dim <= 2 {
        return None;
    }
    let tree = Hierarchy::find(tangents.len(), edges, &lengths(points, geometry, edges))?;
    let (flat, _) = project(tangents, dim).ok()?;
    let angle = tree.angles(&flat.iter().map(|p| p[1].atan2(p[0])).collect::<Vec<f64>>());
    let depth: Vec<f64> = tangents.iter().map(|v| length(v)).collect();
    let farthest = depth.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let place = |(r, angle): (&f64, &f64)| [angle.cos(), angle.sin()].map(|x| 0.98 * x * r / farthest);
    let points: Vec<[f64; 2]> = depth.iter().zip(&angle).map(place).collect();
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| tree.leaves[b].cmp(&tree.leaves[a]).then(depth[a].total_cmp(&depth[b])));
    let (tops, subtree) = tree.subtrees(SUBTREES.len());
    let colour = subtree.iter().map(|subtree| subtree.map_or(OTHERS, |i| SUBTREES[i])).collect();
    let count = |i| subtree.iter().filter(|subtree| **subtree == i).count();
    let mut legend: Vec<(&str, String)> = tops
        .iter()
        .enumerate()
        .map(|(i, &u)| (SUBTREES[i], format!("{} ({})", readable(&names[u as usize]), count(Some(i)))))
        .collect();
    if count(None) > 0 {
        legend.push((OTHERS, format!("others ({})", count(None))));
    }
    let caption = format!(
        "{} nodes at their distances from the origin of the {}; every subtree in a sector of its own",
        points.len(),
        space(geometry.model, dim)
    );
    Some(Picture { layout: Layout { points, depth, caption }, order, colour, legend, lines: Lines::Radial })
}

/// The words of a WordNet name: `even-toed ungulate` for `even-toed_ungulate.n.01`. Any other name as it is.
fn readable(name: &str) -> String {
    let words = || {
        let (before, number) = name.rsplit_once('.')?;
        let (words, kind) = before.rsplit_once('.')?;
        // Nouns, verbs, adjectives, satellite adjectives, adverbs.
        let wordnet = ["n", "v", "a", "s", "r"].contains(&kind)
            && number.len() == 2
            && number.bytes().all(|byte| byte.is_ascii_digit());
        wordnet.then(|| words.replace('_', " "))
    };
    words().unwrap_or_else(|| name.to_owned())
}

/// Writes a picture of named points and the edges between them.
///
/// # Errors
/// If the file cannot be written.
fn draw(path: &Path, picture: &Picture, names: &[String], edges: &[(u32, u32)]) -> Result<()> {
    let Picture { layout, colour, lines, .. } = picture;
    let points = &layout.points;
    let depth = |i: u32| layout.depth[i as usize];
    let omitted =
        if edges.len() > EDGES { format!(", {EDGES} of {} edges drawn", edges.len()) } else { String::new() };
    let mut document = page(&format!("{}{omitted}", layout.caption));

    // Edges are sorted by distance from the origin, so that those left out are at the rim.
    let mut shown: Vec<(u32, u32)> = edges.to_vec();
    shown.sort_by(|a, b| depth(a.0).min(depth(a.1)).total_cmp(&depth(b.0).min(depth(b.1))).then(a.cmp(b)));
    shown.truncate(EDGES);
    let opacity = (400.0 / shown.len().max(1) as f64).clamp(0.12, 0.6);
    let paths = Group::new().set("fill", "none").set("stroke-width", 0.8);
    let mut paths = paths.set("stroke-opacity", format!("{opacity:.2}"));
    for &(u, v) in &shown {
        let [p, q] = [u, v].map(|node| points[node as usize]);
        let (line, stroke) = match lines {
            Lines::Radial => (radial(p, q), colour[u as usize]),
            Lines::Geodesics => (arc(p, q, true), EDGE),
            Lines::Chords => (arc(p, q, false), EDGE),
        };
        paths = paths.add(SvgPath::new().set("d", line).set("stroke", stroke));
    }
    let mut dots = Group::new();
    let radius = (60.0 / (points.len() as f64).sqrt()).clamp(0.8, 3.5);
    for (p, colour) in points.iter().zip(colour) {
        let [x, y] = pixel(*p);
        let dot = Circle::new().set("cx", round(x)).set("cy", round(y)).set("r", round(radius));
        dots = dots.add(dot.set("fill", *colour));
    }
    document = document.add(paths).add(dots).add(labels(picture, names)).add(legend(&picture.legend));
    atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
}

/// A Bézier curve from p to q that leaves both points along the radius. Its control points are at the mean
/// radius, but at most twice as far out as their points: otherwise the curve of a point near the origin would
/// be a loop.
fn radial(p: [f64; 2], q: [f64; 2]) -> Data {
    let middle = 0.5 * (length(&p) + length(&q));
    let control = |p: [f64; 2]| p.map(|x| x * (middle / length(&p).max(f64::MIN_POSITIVE)).min(2.0));
    let [(ax, ay), (bx, by), (cx, cy), (dx, dy)] = [p, control(p), control(q), q].map(|p| {
        let [x, y] = pixel(p);
        (round(x), round(y))
    });
    Data::new().move_to((ax, ay)).cubic_curve_to((bx, by, cx, cy, dx, dy))
}

/// Coloured dots and their names, in the top left corner beside the disk.
fn legend(entries: &[(&str, String)]) -> Group {
    let (size, _) = LABEL;
    let mut group = Group::new().set("font-size", size).set("fill", "#111");
    for (i, (colour, name)) in entries.iter().enumerate() {
        let y = LEGEND * (i as f64 + 1.0);
        let disk = CENTRE - (RADIUS * RADIUS - (CENTRE - y).powi(2)).max(0.0).sqrt();
        let dot = Circle::new().set("cx", 12).set("cy", y - 5.0).set("r", 5).set("fill", *colour);
        let name = lettering::shorten(name, size, disk.min(NAME) - 26.0);
        group = group.add(dot).add(Text::new(name).set("x", 22).set("y", y));
    }
    group
}

/// The disk and its boundary on a white background, with a caption below.
fn page(caption: &str) -> Document {
    let lines = lettering::wrap(caption, CAPTION.0, SIZE - 2.0 * MARGIN);
    let height = SIZE + CAPTION.1 * lines.len() as f64;
    let sheet = svg::node::element::Rectangle::new().set("width", SIZE).set("height", height);
    let mut text = Group::new().set("text-anchor", "middle").set("font-size", CAPTION.0).set("fill", "#333");
    for (i, line) in lines.iter().enumerate() {
        let y = SIZE + CAPTION.1 * (i as f64 + 0.4);
        text = text.add(Text::new(line.as_str()).set("x", CENTRE).set("y", round(y)));
    }
    let boundary = Circle::new().set("cx", CENTRE).set("cy", CENTRE).set("r", RADIUS);
    Document::new()
        .set("viewBox", (0, 0, SIZE, height))
        .set("width", SIZE)
        .set("height", height)
        .set("font-family", "Helvetica, Arial, sans-serif")
        .add(sheet.set("fill", "white"))
        .add(boundary.set("fill", "#fbfbfd").set("stroke", "#333").set("stroke-width", 1.2))
        .add(text)
}

/// Labels of nodes, in the picture's order. A label that would overlap an earlier one is left out.
fn labels(picture: &Picture, names: &[String]) -> Group {
    let Picture { layout: Layout { points, .. }, order, .. } = picture;
    let mut group = Group::new()
        .set("font-size", LABEL.0)
        .set("fill", "#111")
        .set("stroke", "white")
        .set("stroke-width", 3)
        .set("paint-order", "stroke");
    let mut taken: Vec<[f64; 4]> = Vec::new();
    // Labels beyond the first few hundred nodes would not show the top of the hierarchy.
    for &i in order.iter().take(10 * LABELS) {
        if taken.len() == LABELS {
            break;
        }
        let [x, y] = pixel(points[i]);
        let name = lettering::shorten(&readable(&names[i]), LABEL.0, NAME);
        let width = lettering::width(&name, LABEL.0);
        let left = if x + 6.0 + width > SIZE { x - 6.0 - width } else { x + 6.0 };
        let area = [left, y - LABEL.1 / 2.0, left + width, y + LABEL.1 / 2.0];
        let free = |o: &[f64; 4]| area[2] < o[0] || o[2] < area[0] || area[3] < o[1] || o[3] < area[1];
        if taken.iter().all(free) {
            taken.push(area);
            group = group.add(Text::new(name).set("x", round(left)).set("y", round(y + 5.0)));
        }
    }
    group
}

/// The geodesic between two points of the unit disk: an arc of the circle through both points that meets the
/// boundary at right angles. A straight line if `geodesic` is false, or if the arc would look straight.
fn arc(p: [f64; 2], q: [f64; 2], geodesic: bool) -> Data {
    let ([px, py], [qx, qy]) = (pixel(p), pixel(q));
    let start = Data::new().move_to((round(px), round(py)));
    let cross = p[0] * q[1] - p[1] * q[0];
    if !geodesic || cross.abs() < 1e-4 {
        return start.line_to((round(qx), round(qy)));
    }
    // The centre c satisfies 2⟨c, x⟩ = 1 + |x|² for both points.
    let (a, b) = ((1.0 + p[0] * p[0] + p[1] * p[1]) / 2.0, (1.0 + q[0] * q[0] + q[1] * q[1]) / 2.0);
    let centre = [(a * q[1] - b * p[1]) / cross, (b * p[0] - a * q[0]) / cross];
    let radius = RADIUS * (p[0] - centre[0]).hypot(p[1] - centre[1]);
    // Take the short arc: the origin is outside the circle, and the arc bends towards it.
    let sweep = u8::from(cross < 0.0);
    start.elliptical_arc_to((round(radius), round(radius), 0, 0, 1 - sweep, round(qx), round(qy)))
}

fn pixel([x, y]: [f64; 2]) -> [f64; 2] {
    [CENTRE + RADIUS * x, CENTRE - RADIUS * y]
}

/// Rounds to hundredths of a pixel, which keeps the file small.
fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// Colours of classes.
const COLOURS: [&str; 6] = ["#d4a017", "#c0392b", "#4a6fa5", "#2e8b57", "#7d3c98", "#555555"];

/// Points with classes, and hyperplanes that separate them.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// Points of the two-dimensional Poincaré ball, or of the plane for κ = 0.
    pub points: &'a [[f64; 2]],
    /// The class of each point, which gives its colour.
    pub of: &'a [u32],
    /// The classes' names.
    pub names: &'a [String],
    /// A point and a normal for each hyperplane.
    pub hyperplanes: &'a [([f64; 2], [f64; 2])],
    /// Sectional curvature.
    pub kappa: f64,
    /// Whether the hyperplanes are geodesics of the ball (true) or straight lines (false).
    pub geodesics: bool,
    /// A caption.
    pub title: &'a str,
}

/// Draws points by class, and hyperplanes.
///
/// # Errors
/// If the file cannot be written.
pub fn classes(path: &Path, classes: &Classes<'_>) -> Result<()> {
    let &Classes { points, of: labels, names, hyperplanes, kappa, geodesics, title } = classes;
    let shrink = if kappa < 0.0 {
        (-kappa).sqrt()
    } else {
        let all = points.iter().chain(hyperplanes.iter().map(|(p, _)| p));
        0.98 / all.map(|p| p[0].hypot(p[1])).fold(f64::MIN_POSITIVE, f64::max)
    };
    let inside = |p: &[f64; 2]| p.map(|x| x * shrink);
    let mut document = page(title);
    let mut dots = Group::new().set("fill-opacity", 0.55);
    let radius = (60.0 / (points.len().max(1) as f64).sqrt()).clamp(1.2, 3.5);
    for (p, &class) in points.iter().zip(labels) {
        let [x, y] = pixel(inside(p));
        let dot = Circle::new().set("cx", round(x)).set("cy", round(y)).set("r", round(radius));
        dots = dots.add(dot.set("fill", COLOURS[class as usize % COLOURS.len()]));
    }
    let mut lines = Group::new().set("fill", "none").set("stroke", "#2e8b57").set("stroke-width", 2);
    for (p, a) in hyperplanes {
        if let Some([start, end]) = ends(inside(p), *a, geodesics) {
            lines = lines.add(SvgPath::new().set("d", arc(start, end, geodesics)));
        }
    }
    // As many names as fit beside the disk.
    let shown = if names.len() > NAMES { NAMES - 1 } else { names.len() };
    let more = format!("{} more", names.len() - shown);
    let named = names[..shown].iter().chain((shown < names.len()).then_some(&more));
    let entries: Vec<(&str, String)> =
        named.enumerate().map(|(i, name)| (COLOURS[i % COLOURS.len()], name.clone())).collect();
    document = document.add(dots).add(lines).add(legend(&entries));
    atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
}

/// The two points where a line leaves the unit disk. The line passes through p at a right angle to a; it is
/// a geodesic of the disk if `curved`, else straight. `None` if a is zero or not finite, or if a straight
/// line does not meet the disk.
fn ends(p: [f64; 2], a: [f64; 2], curved: bool) -> Option<[[f64; 2]; 2]> {
    let norm = a[0].hypot(a[1]);
    if !(norm > 0.0 && norm.is_finite()) {
        return None;
    }
    let along = [-a[1] / norm, a[0] / norm];
    // The line's distance from the origin.
    if !curved && (p[0] * a[0] + p[1] * a[1]).abs() >= norm {
        return None;
    }
    Some([-1.0, 1.0].map(|sign| {
        let u = along.map(|x| sign * x);
        if curved {
            // p ⊕ u. It has norm 1 because u has.
            let (pp, pu) = (p[0] * p[0] + p[1] * p[1], p[0] * u[0] + p[1] * u[1]);
            let [x, y] = [0, 1].map(|k| (2.0 + 2.0 * pu) * p[k] + (1.0 - pp) * u[k]);
            let scale = x.hypot(y);
            [x / scale, y / scale]
        } else {
            let (pu, pp) = (p[0] * u[0] + p[1] * u[1], p[0] * p[0] + p[1] * p[1]);
            let t = -pu + (pu * pu + 1.0 - pp).sqrt();
            [0, 1].map(|k| p[k] + t * u[k])
        }
    }))
}

/// Draws an embedding with its edges. In a hierarchy an edge (u, v) says that u is below v.
///
/// # Errors
/// Those of [`layout`], or if the file cannot be written.
pub fn plot(
    path: &Path,
    names: &[String],
    points: &Tensor<f64>,
    geometry: Geometry,
    edges: &[(u32, u32)],
    title: &str,
) -> Result<()> {
    let tangents = tangents(points, geometry);
    let mut picture = match subtrees(points, &tangents, geometry, names, edges) {
        Some(picture) => picture,
        None => projection(&tangents, geometry)?,
    };
    if !title.is_empty() {
        let _ = write!(picture.layout.caption, "; {title}");
    }
    draw(path, &picture, names, edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arc's circle is orthogonal to the unit circle, and the arc bends towards the origin.
    #[test]
    fn arcs_are_geodesics() {
        let ball = PoincareBall::new(-1.0);
        for (p, q) in [([0.5, 0.1], [-0.2, 0.7]), ([-0.2, 0.7], [0.5, 0.1]), ([0.9, 0.1], [0.6, -0.7])] {
            let data = svg::node::Value::from(arc(p, q, true)).to_string();
            let numbers: Vec<f64> = data
                .split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
                .filter_map(|t| t.parse().ok())
                .collect();
            let [x0, y0, radius, _, _, large, sweep, x1, y1] = numbers[..] else { panic!("{data}") };
            assert_eq!(large, 0.0);
            // The middle of an SVG arc. The sweep flag says on which side of the chord it is.
            let (dx, dy) = (x1 - x0, y1 - y0);
            let half = dx.hypot(dy) / 2.0;
            let sagitta = radius - (radius * radius - half * half).sqrt();
            let side = if sweep == 1.0 { 1.0 } else { -1.0 };
            let middle = [
                (x0 + x1) / 2.0 + side * sagitta * dy / (2.0 * half),
                (y0 + y1) / 2.0 - side * sagitta * dx / (2.0 * half),
            ];
            let middle = [(middle[0] - CENTRE) / RADIUS, (CENTRE - middle[1]) / RADIUS];
            let dist = |a: [f64; 2], b: [f64; 2]| ball.dist(&Row::from(a), &Row::from(b));
            let detour = dist(p, middle) + dist(middle, q) - dist(p, q);
            assert!(detour.abs() < 1e-3, "{p:?} {q:?}: {data}, {detour}");
        }
    }

    /// The ends of a hyperplane are on the boundary, and its geodesic goes through p, at a right angle
    /// to a.
    #[test]
    fn hyperplanes_pass_through_their_points() {
        for (p, a) in [([0.3, -0.5], [1.0, 2.0]), ([0.0, 0.0], [1.0, 0.0]), ([-0.9, 0.1], [0.5, -3.0])] {
            let [start, end] = ends(p, a, true).unwrap();
            let ball = PoincareBall::new(-1.0);
            let log_p = |q: [f64; 2]| ball.log(&Row::from(p), &Row::from(q.map(|x| x * (1.0 - 1e-9))));
            let [u, v] = [log_p(start), log_p(end)];
            assert!((start[0].hypot(start[1]) - 1.0).abs() < 1e-12);
            for w in [&u, &v] {
                let cosine = (w[0] * a[0] + w[1] * a[1]) / (w[0].hypot(w[1]) * a[0].hypot(a[1]));
                assert!(cosine.abs() < 1e-7, "{p:?} {a:?}: {cosine}");
            }
            assert!(u[0] * v[0] + u[1] * v[1] < 0.0);
            let [start, end] = ends(p, a, false).unwrap();
            let cross = (start[0] - p[0]) * (end[1] - p[1]) - (start[1] - p[1]) * (end[0] - p[0]);
            assert!(cross.abs() < 1e-12 && (end[0].hypot(end[1]) - 1.0).abs() < 1e-12);
        }
        assert!(ends([0.0, 0.0], [0.0, 0.0], true).is_none());
    }

    #[test]
    fn names_of_wordnet_are_readable() {
        assert_eq!(readable("even-toed_ungulate.n.01"), "even-toed ungulate");
        assert_eq!(readable("u._s._air_force.n.01"), "u. s. air force");
        for name in ["v.1.10", "a.b.c", "x.q.01", "snake_case", "file.n.1", "..", ""] {
            assert_eq!(readable(name), name);
        }
    }

    /// The length of an edge is a distance of the embedding's own geometry.
    #[test]
    fn lengths_are_distances_of_the_model() {
        let points = Tensor::new([2, 3], vec![0.0, 0.0, 0.0, 0.3, 0.4, 0.0]);
        let length = |model| lengths(&points, Geometry::new(model, None).unwrap(), &[(0, 1)])[0];
        assert!((length(Model::Euclidean) - 0.5).abs() < 1e-15);
        assert!((length(Model::Poincare) - 2.0 * 0.5_f64.atanh()).abs() < 1e-15);
    }

    /// The curve of a point near the origin does not overshoot.
    #[test]
    fn radial_lines_are_no_loops() {
        for p in [[0.0, 0.0], [1e-9, 0.0], [0.01, 0.02]] {
            let data = svg::node::Value::from(radial(p, [-0.9, 0.1])).to_string();
            let numbers: Vec<f64> = data
                .split(|c: char| !(c.is_ascii_digit() || c == '.'))
                .filter_map(|t| t.parse().ok())
                .collect();
            let [control_x, control_y] = numbers[2..4] else { panic!("{data}") };
            let from_origin = (control_x - CENTRE).hypot(control_y - CENTRE) / RADIUS;
            assert!(from_origin <= 2.0 * length(&p) + 1e-4, "{data}");
        }
    }

    #[test]
    fn projection_keeps_the_principal_directions() {
        let v: Vec<Vec<f64>> = (0..50)
            .map(|i| (f64::from(i) * 0.7).sin_cos())
            .map(|(s, c)| vec![0.01 * s * c, 3.0 * s, c])
            .collect();
        let (flat, how) = project(&v, 3).unwrap();
        assert!(how.contains("100 %"), "{how}");
        for (p, v) in flat.iter().zip(&v) {
            assert!((p[0].hypot(p[1]) - v[1].hypot(v[2])).abs() < 0.02);
        }
    }

    #[test]
    fn hyperboloid_and_ball_give_one_picture() {
        let lorentz = Lorentz::new(-2.0);
        let p = [0.3, -0.4]; // in the unit disk
        let r = 0.5_f64.atanh() * 2.0; // its distance from the origin at κ = −1
        let x = lorentz.project(&Row::from([
            0.0,
            p[0] / 0.5 * r.sinh() / 2f64.sqrt(),
            p[1] / 0.5 * r.sinh() / 2f64.sqrt(),
        ]));
        let l = layout(&Tensor::new([1, 3], x.to_vec()), Geometry::new(Model::Lorentz, Some(-2.0)).unwrap())
            .unwrap();
        let b = layout(
            &Tensor::new([1, 2], p.map(|x| x / 2f64.sqrt()).to_vec()),
            Geometry::new(Model::Poincare, Some(-2.0)).unwrap(),
        )
        .unwrap();
        for k in 0..2 {
            assert!((l.points[0][k] - p[k]).abs() < 1e-12 && (b.points[0][k] - p[k]).abs() < 1e-12);
        }
    }
}
