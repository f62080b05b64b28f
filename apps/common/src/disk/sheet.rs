//! The sheet that disks are drawn on: the boundary, lines, a legend, a caption.

use std::path::Path;

use cotangent::engine::files::atomic;
use svg::Document;
use svg::node::element::path::Data;
use svg::node::element::{Circle, Group, Text};

use crate::error::{AppError, Result};
use crate::lettering;

/// Radius of the disk in the picture, in pixels.
pub(super) const RADIUS: f64 = 440.0;
/// Both coordinates of the centre of the disk, in pixels. The margin around the disk is `CENTRE − RADIUS`.
pub(super) const CENTRE: f64 = 480.0;
/// Width of the picture, and its height without the caption, in pixels.
pub const SIZE: f64 = 2.0 * CENTRE;
/// Font size and line height of the caption, in pixels.
pub(super) const CAPTION: (f64, f64) = (18.0, 24.0);
/// Margin at the sides of the caption, in pixels.
pub(super) const MARGIN: f64 = 16.0;
/// Font size and height of a label, in pixels.
pub(super) const LABEL: (f64, f64) = (14.0, 15.0);
/// Largest width of a name, in pixels.
pub(super) const NAME: f64 = CENTRE / 2.0;
/// Height of a line of the legend, in pixels.
pub(super) const LEGEND: f64 = 18.0;

/// The length of a vector.
pub(super) fn length(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A Bézier curve from p to q that leaves both points along the radius. Its control points are at the mean
/// radius, but at most twice as far out as their points: otherwise the curve of a point near the origin would
/// be a loop.
pub(super) fn radial(p: [f64; 2], q: [f64; 2]) -> Data {
    let middle = 0.5 * (length(&p) + length(&q));
    let control = |p: [f64; 2]| p.map(|x| x * (middle / length(&p).max(f64::MIN_POSITIVE)).min(2.0));
    let [(ax, ay), (bx, by), (cx, cy), (dx, dy)] = [p, control(p), control(q), q].map(|p| {
        let [x, y] = pixel(p);
        (round(x), round(y))
    });
    Data::new().move_to((ax, ay)).cubic_curve_to((bx, by, cx, cy, dx, dy))
}

/// Coloured dots and their names, in the top left corner beside the disk.
pub(super) fn legend(entries: &[(&str, String)]) -> Group {
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
pub(super) fn page(caption: &str) -> Document {
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

/// Writes a picture.
///
/// # Errors
/// If the file cannot be written.
pub fn save(path: &Path, document: &Document) -> Result<()> {
    atomic::write(path, |w| svg::write(w, document)).map_err(AppError::io(path))
}

/// The geodesic between two points of the unit disk: an arc of the circle through both points that meets the
/// boundary at right angles. A straight line if `geodesic` is false, or if the arc would look straight.
pub(super) fn arc(p: [f64; 2], q: [f64; 2], geodesic: bool) -> Data {
    let ([px, py], [qx, qy]) = (pixel(p), pixel(q));
    let start = Data::new().move_to((round(px), round(py)));
    let cross = p[0] * q[1] - p[1] * q[0];
    if !geodesic || cross.abs() < 1e-4 {
        return start.line_to((round(qx), round(qy)));
    }
    // The centre c satisfies 2⟨c, x⟩ = 1 + |x|² for each of the two points.
    let (a, b) = ((1.0 + p[0] * p[0] + p[1] * p[1]) / 2.0, (1.0 + q[0] * q[0] + q[1] * q[1]) / 2.0);
    let centre = [(a * q[1] - b * p[1]) / cross, (b * p[0] - a * q[0]) / cross];
    let radius = RADIUS * (p[0] - centre[0]).hypot(p[1] - centre[1]);
    // Take the short arc: the origin is outside the circle, and the arc bends towards it.
    let sweep = u8::from(cross < 0.0);
    start.elliptical_arc_to((round(radius), round(radius), 0, 0, 1 - sweep, round(qx), round(qy)))
}

/// Where a point of the unit disk is in the picture, in pixels.
pub fn pixel([x, y]: [f64; 2]) -> [f64; 2] {
    [CENTRE + RADIUS * x, CENTRE - RADIUS * y]
}

/// Rounds to hundredths of a pixel, which keeps the file small.
pub(super) fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use cotangent::prelude::*;

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
}
