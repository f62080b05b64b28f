//! The picture of an embedding with its edges.

use std::fmt::Write;
use std::path::Path;

use cotangent::prelude::*;
use svg::Document;
use svg::node::element::{Circle, Group, Path as SvgPath, Text};

use super::layout::Layout;
use super::picture::{Lines, Picture, readable};
use super::projection::{Distortion, Projection};
use super::sheet::{LABEL, NAME, SIZE, arc, legend, page, pixel, radial, round, save};
use crate::error::Result;
use crate::geometry::Geometry;
use crate::lettering;

/// Largest number of labels.
const LABELS: usize = 40;
/// Largest number of edges; those nearest the origin are drawn. More would make the disk solid.
const EDGES: usize = 20_000;
/// Colour of an edge that is in no subtree.
const EDGE: &str = "#4a6fa5";

/// Draws an embedding with its edges, and returns the distortion: see [`Picture::projected`]. In a hierarchy
/// an edge (u, v) says that u is below v.
///
/// # Errors
/// Those of [`Picture::projected`], or if the file cannot be written.
pub fn plot(
    path: &Path,
    names: &[String],
    points: &Tensor<f64>,
    geometry: Geometry,
    edges: &[(u32, u32)],
    projection: Option<Projection>,
    title: &str,
) -> Result<Option<Distortion>> {
    let (mut picture, distortion) = Picture::projected(names, points, geometry, edges, projection)?;
    if !title.is_empty() {
        let _ = write!(picture.layout.caption, "; {title}");
    }
    save(path, &document(&picture, names, edges))?;
    Ok(distortion)
}

/// The picture of points and the edges between them. Those in the picture's order have names.
pub fn document(picture: &Picture, names: &[String], edges: &[(u32, u32)]) -> Document {
    let Picture { layout, colour, lines, .. } = picture;
    let points = &layout.points;
    let depth = |i: u32| layout.depth[i as usize];
    let omitted =
        if edges.len() > EDGES { format!(", {EDGES} of {} edges drawn", edges.len()) } else { String::new() };
    let document = page(&format!("{}{omitted}", layout.caption));

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
    document.add(paths).add(dots).add(labels(picture, names)).add(legend(&picture.legend))
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
