//! The picture of classified points, with the hyperplanes between the classes.

use std::path::Path;

use svg::node::element::{Circle, Group, Path as SvgPath};

use super::sheet::{arc, legend, page, pixel, round, save};
use crate::error::Result;

/// Largest number of lines of a legend.
const NAMES: usize = 12;
/// Colours of classes.
const COLOURS: [&str; 6] = ["#d4a017", "#c0392b", "#4a6fa5", "#2e8b57", "#7d3c98", "#555555"];

/// Points with classes, and hyperplanes that separate them.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// Points of the two-dimensional Poincaré ball, or of the plane for κ = 0.
    pub points: &'a [[f64; 2]],
    /// The class of each point, which gives its colour.
    pub labels: &'a [u32],
    /// The classes' names.
    pub names: &'a [String],
    /// A point and a normal for each hyperplane.
    pub hyperplanes: &'a [([f64; 2], [f64; 2])],
    /// Whether hyperplane i has the colour of class i. Otherwise all have the same colour.
    pub coloured: bool,
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
    let &Classes { points, labels, names, hyperplanes, coloured, kappa, geodesics, title } = classes;
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
    for (class, (p, a)) in hyperplanes.iter().enumerate() {
        if let Some([start, end]) = ends(inside(p), *a, geodesics) {
            let mut line = SvgPath::new().set("d", arc(start, end, geodesics));
            if coloured {
                line = line.set("stroke", COLOURS[class % COLOURS.len()]);
            }
            lines = lines.add(line);
        }
    }
    // As many names as fit beside the disk.
    let shown = if names.len() > NAMES { NAMES - 1 } else { names.len() };
    let more = format!("{} more", names.len() - shown);
    let named = names[..shown].iter().chain((shown < names.len()).then_some(&more));
    let entries: Vec<(&str, String)> =
        named.enumerate().map(|(i, name)| (COLOURS[i % COLOURS.len()], name.clone())).collect();
    document = document.add(dots).add(lines).add(legend(&entries));
    save(path, &document)
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

#[cfg(test)]
mod tests {
    use cotangent::prelude::*;

    use super::*;

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
}
