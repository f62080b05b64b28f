//! The picture of an embedding with its edges.

use std::fmt::Write;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use svg::node::element::{Circle, Group, Path as SvgPath, Text};

use super::layout::{Layout, lengths, project, projected, space, tangents};
use super::sheet::{LABEL, NAME, SIZE, arc, legend, length, page, pixel, radial, round};
use crate::error::{AppError, Result};
use crate::geometry::Geometry;
use crate::hierarchy::Hierarchy;
use crate::lettering;

/// Largest number of labels.
const LABELS: usize = 40;
/// Largest number of edges; those nearest the origin are drawn. More would make the disk solid.
const EDGES: usize = 20_000;
/// Colour of an edge that is in no subtree.
const EDGE: &str = "#4a6fa5";
/// Colours of the subtrees.
const SUBTREES: [&str; 8] =
    ["#3563c9", "#d98c00", "#c8432b", "#23907a", "#7d4fc4", "#c2478f", "#5d8a1e", "#3f8fb5"];
/// Colour of nodes that are in none of these subtrees.
const OTHERS: &str = "#8a8a8a";

/// Draws an embedding with its edges. In a hierarchy an edge (u, v) says that u is below v.
///
/// # Errors
/// Those of [`layout`](super::layout::layout), or if the file cannot be written.
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
    let hyperbolic = geometry.single().is_some_and(|space| space.model.is_hyperbolic());
    let lines = if hyperbolic { Lines::Geodesics } else { Lines::Chords };
    Ok(Picture { colour: vec!["#c0392b"; order.len()], layout, order, legend: Vec::new(), lines })
}

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
        space(geometry, dim)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_wordnet_are_readable() {
        assert_eq!(readable("even-toed_ungulate.n.01"), "even-toed ungulate");
        assert_eq!(readable("u._s._air_force.n.01"), "u. s. air force");
        for name in ["v.1.10", "a.b.c", "x.q.01", "snake_case", "file.n.1", "..", ""] {
            assert_eq!(readable(name), name);
        }
    }
}
