//! A picture that compares models by the dimensions of their queries and keys, as SVG: Tseng et al. 2023,
//! Figure 4.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};
use svg::node::element::{Circle, Group, Polyline};

use cotangent_apps_common::chart::{Frame, round, text};

/// The results of one kind of model.
pub(super) struct Line {
    /// Its name, at the end of the line.
    pub(super) name: String,
    /// For each number of dimensions, in the order of the picture, the results of all seeds.
    pub(super) results: Vec<Vec<f64>>,
}

const FRAME: Frame = Frame { size: [640.0, 420.0], across: [64.0, 500.0], down: [44.0, 364.0] };
const COLOURS: [&str; 6] = ["#1f4e79", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#555555"];

/// Draws a line through the means of each kind of model, and a dot for each seed. Dimensions are evenly
/// spaced.
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// If a line does not have results for each number of dimensions.
pub(super) fn draw(path: &Path, title: &str, dimensions: &[usize], lines: &[Line]) -> Result<()> {
    let all = || lines.iter().flat_map(|line| line.results.iter().flatten().copied());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let margin = (0.05 * (high - low)).max(0.05);
    let (low, high) = (low - margin, high + margin);
    let [left, right] = FRAME.across;
    let gap = (right - left) / dimensions.len() as f64;
    let x = |at: usize| left + gap * (at as f64 + 0.5);
    let y = |result: f64| FRAME.y(result, [low, high]);
    let mut document = FRAME.sheet(title).add(text(
        "dimensions of queries and keys",
        x(0).midpoint(x(dimensions.len() - 1)),
        404.0,
        "middle",
    ));
    document = FRAME.rules(document, [low, high]);
    for (at, d) in dimensions.iter().enumerate() {
        document = document.add(text(&d.to_string(), x(at), FRAME.down[1] + 20.0, "middle"));
    }
    let mut ends: Vec<f64> = Vec::new();
    for (Line { name, results }, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        assert_eq!(results.len(), dimensions.len(), "results for each number of dimensions");
        let means: Vec<f64> =
            results.iter().map(|seeds| seeds.iter().sum::<f64>() / seeds.len() as f64).collect();
        let corner = |(at, mean): (usize, &f64)| format!("{},{}", round(x(at)), round(y(*mean)));
        let corners: Vec<String> = means.iter().enumerate().map(corner).collect();
        let line = Polyline::new().set("points", corners.join(" ")).set("fill", "none");
        let mut group =
            Group::new().set("fill", *colour).add(line.set("stroke", *colour).set("stroke-width", 2));
        for (at, seeds) in results.iter().enumerate() {
            for &result in seeds {
                group =
                    group.add(Circle::new().set("cx", round(x(at))).set("cy", round(y(result))).set("r", 3));
            }
        }
        // Names are at least a line's height from one another.
        let mut end = y(means[means.len() - 1]) + 4.0;
        while let Some(near) = ends.iter().find(|other| (*other - end).abs() < 15.0) {
            end = near + 15.5;
        }
        ends.push(end);
        document = document.add(group.add(text(name, right + 6.0, end, "start")));
    }
    atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Better results are higher, more dimensions farther to the right, and a line goes through the mean.
    #[test]
    fn lines_go_through_the_means() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines.svg");
        let line = |name: &str, results: [[f64; 2]; 2]| Line {
            name: name.to_owned(),
            results: results.map(|seeds| seeds.to_vec()).to_vec(),
        };
        let lines = [line("dot", [[10.0, 12.0], [20.0, 30.0]]), line("umbral", [[21.0, 21.0], [25.0, 25.0]])];
        draw(&path, "BLEU", &[2, 8], &lines).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.contains("dot") && svg.contains("umbral") && svg.contains("dimensions of queries"));
        let corners: Vec<Vec<f64>> = svg
            .split(" points=\"")
            .skip(1)
            .map(|part| part.split(['"', ' ', ',']).take(4).map(|x| x.parse().unwrap()).collect())
            .collect();
        let [dot, umbral] = &corners[..] else { panic!("two lines: {svg}") };
        assert!(dot[0] < dot[2] && dot[3] < dot[1] && dot[1] > umbral[1], "{corners:?}");
        assert!((dot[3] - umbral[3]).abs() < 0.2, "the same mean: {corners:?}");
        assert_eq!(svg.matches("<circle").count(), 8);
    }
}
