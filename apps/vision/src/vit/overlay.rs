//! Pictures of where heads look, as SVG: the picture, and over it a square for each patch, the denser the
//! more weight it has.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::chart::{Frame, round, text};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_pictures::{Raster, codec};
use svg::node::element::{Definitions, Group, Image, Rectangle, Title, Use};

/// Where the heads of a layer look.
pub(super) struct Overlay<'a> {
    pub(super) title: String,
    /// The picture, a square.
    pub(super) image: &'a Raster,
    /// Number of patches along its side.
    pub(super) grid: usize,
    /// The weights of each head: of the class token, then of the patches, row by row.
    pub(super) heads: Vec<&'a [f32]>,
}

/// Side of the picture as it is drawn, in pixels.
const SIDE: f64 = 224.0;
/// Side of a cell, height of its title, and of what is above the cells.
const CELL: f64 = SIDE + 16.0;
const TITLE: f64 = 24.0;
const TOP: f64 = 64.0;
/// Number of cells side by side.
const ACROSS: usize = 4;

/// Draws the picture by itself, and under the weights of each head.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn draw(path: &Path, overlay: &Overlay<'_>) -> Result<()> {
    let cells = overlay.heads.len() + 1;
    let (across, down) = (cells.min(ACROSS), cells.div_ceil(ACROSS));
    let size = [CELL * across.max(2) as f64 + 16.0, TOP + (CELL + TITLE) * down as f64];
    let frame = Frame { size, across: [0.0, size[0]], down: [0.0, size[1]] };
    let picture = Image::new()
        .set("id", "picture")
        .set("width", SIDE)
        .set("height", SIDE)
        .set("style", "image-rendering: pixelated")
        .set("href", codec::data_url(overlay.image));
    let mut document = frame.sheet(&overlay.title).add(Definitions::new().add(picture));
    document = document.add(text("red: where the class token looks, by head", size[0] / 2.0, 46.0, "middle"));
    for number in 0..cells {
        let [column, row] = [number % across, number / across].map(|place| place as f64);
        let place = format!("translate({} {})", 16.0 + CELL * column, TOP + (CELL + TITLE) * row);
        let mut cell = Group::new().set("transform", place);
        let shown = Use::new().set("href", "#picture").set("y", TITLE);
        cell = match number.checked_sub(1) {
            None => cell.add(text("the picture", 0.0, TITLE - 8.0, "start")).add(shown),
            Some(head) => {
                let weights = overlay.heads[head];
                let title = format!("head {}: {:.0} % on itself", head + 1, 100.0 * weights[0]);
                let cell = cell.add(text(&title, 0.0, TITLE - 8.0, "start")).add(shown);
                squares(&weights[1..], overlay.grid).into_iter().fold(cell, Group::add)
            }
        };
        document = document.add(cell);
    }
    atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
}

/// The squares of patches. That of the largest weight is the densest.
fn squares(weights: &[f32], grid: usize) -> Vec<Rectangle> {
    let largest = weights.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let side = SIDE / grid as f64;
    let square = |(at, &weight): (usize, &f32)| {
        let [row, column] = [at / grid, at % grid];
        Rectangle::new()
            .set("x", round(side * column as f64))
            .set("y", round(TITLE + side * row as f64))
            .set("width", round(side))
            .set("height", round(side))
            .set("fill", "#d62728")
            .set("fill-opacity", format!("{:.3}", 0.8 * weight / largest))
            .add(Title::new(format!("row {}, column {}: {weight:.3}", row + 1, column + 1)))
    };
    weights.iter().enumerate().map(square).collect()
}
