//! Tours as SVG.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::chart::{Frame, round, text};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::lettering;
use svg::Document;
use svg::node::element::{Circle, Group, Polygon, Rectangle};

use super::config::Decoding;
use super::evaluation::{Reference, Tours};
use super::instance::{City, in_unit_square};

/// Instances of a sheet.
pub(super) const ROWS: usize = 3;

/// Side of a tour on a sheet, and the space around it.
const SIDE: f64 = 200.0;
const SPACE: f64 = 16.0;
/// Height of the title, and of the line above each tour.
const TOP: f64 = 48.0;
const LINE: f64 = 24.0;

/// Draws the first instances: nearest neighbours, the greedy tour, the best of the samples, the best tour
/// known. Above each tour is its gap.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn sheet(
    path: &Path,
    title: &str,
    reference: &Reference,
    tours: &Tours,
    decoding: Decoding,
) -> Result<()> {
    let samples = format!("best of {}", decoding.samples);
    let columns = [
        ("nearest neighbour", &tours.nearest_neighbour, GREY),
        ("greedy", &tours.greedy, BLUE),
        (&samples, &tours.best_of_samples, BLUE),
        ("shortest known", &reference.best, GREEN),
    ];
    let gaps = columns.map(|(_, tours, _)| reference.gaps(tours));
    let rows = reference.instances.len().min(ROWS);
    let size = [SPACE + columns.len() as f64 * (SIDE + SPACE), TOP + rows as f64 * (SIDE + LINE + SPACE)];
    let mut document = Frame { size, across: [0.0, size[0]], down: [0.0, size[1]] }.sheet(title);
    for (row, cities) in reference.instances.iter().take(rows).enumerate() {
        for (column, (name, tours, colour)) in columns.iter().enumerate() {
            let [x, y] = [SPACE + column as f64 * (SIDE + SPACE), TOP + row as f64 * (SIDE + LINE + SPACE)];
            let gap = 100.0 * gaps[column][row];
            let line =
                if column + 1 == columns.len() { (*name).to_owned() } else { format!("{name} +{gap:.1} %") };
            let cell = closed(cities, &tours[row], SIDE, colour);
            document = document.add(text(&line, x + SIDE / 2.0, y + 16.0, "middle"));
            document = document.add(cell.set("transform", format!("translate({x} {})", y + LINE)));
        }
    }
    write(path, &document)
}

/// Side of the picture of one tour.
const LARGE: f64 = 640.0;

/// Cities of which each has its name beside it.
const NAMED: usize = 60;

/// Draws one tour of cities with names.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn tour(
    path: &Path,
    title: &str,
    cities: &[City],
    names: &[String],
    tour: &[usize],
) -> Result<()> {
    let size = [LARGE + 2.0 * MARGIN, LARGE + TOP + MARGIN];
    let document = Frame { size, across: [0.0, size[0]], down: [0.0, size[1]] }.sheet(title);
    let unit = in_unit_square(cities);
    let place = format!("translate({MARGIN} {TOP})");
    let mut document = document.add(closed(&unit, tour, LARGE, BLUE).set("transform", place));
    if names.len() <= NAMED {
        for (city, name) in unit.iter().zip(names) {
            let [x, y] = pixels(*city, LARGE);
            let name = lettering::shorten(&lettering::allowed(name), 11.0, MARGIN);
            let is_right = x + MARGIN > LARGE;
            let x = MARGIN + x + if is_right { -7.0 } else { 7.0 };
            let name = text(&name, x, TOP + y - 5.0, if is_right { "end" } else { "start" });
            document = document.add(name.set("font-size", 11).set("fill", "#555555"));
        }
    }
    write(path, &document)
}

/// Space beside the picture of one tour.
const MARGIN: f64 = 40.0;

const BLUE: &str = "#4a6fa5";
const GREEN: &str = "#4d8b57";
const GREY: &str = "#9aa5b1";

/// A place in the unit square, in pixels from the upper left corner.
fn pixels([x, y]: City, side: f64) -> [f64; 2] {
    [x * side, (1.0 - y) * side].map(round)
}

/// A tour of cities in the unit square, with its frame. The first city is red.
fn closed(cities: &[City], tour: &[usize], side: f64, colour: &str) -> Group {
    let corners = tour.iter().map(|&city| pixels(cities[city], side)).map(|[x, y]| format!("{x},{y}"));
    let line = Polygon::new().set("points", corners.collect::<Vec<_>>().join(" "));
    let line =
        line.set("fill", colour).set("fill-opacity", 0.08).set("stroke", colour).set("stroke-width", 2);
    let frame = Rectangle::new().set("width", side).set("height", side);
    let frame = frame.set("fill", "none").set("stroke", "#dddddd");
    let mut group = Group::new().add(frame).add(line.set("stroke-linejoin", "round"));
    for (place, &city) in tour.iter().enumerate() {
        let [x, y] = pixels(cities[city], side);
        let dot = Circle::new().set("cx", x).set("cy", y).set("r", if place == 0 { 4.5 } else { 3.0 });
        group = group.add(dot.set("fill", if place == 0 { "#c0392b" } else { "#222222" }));
    }
    group
}

fn write(path: &Path, document: &Document) -> Result<()> {
    atomic::write(path, |w| svg::write(w, document)).map_err(AppError::io(path))
}
