//! Pictures of attention weights, as SVG: a square for each query and key. The larger the weight, the darker
//! the square.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::lettering;
use svg::Document;
use svg::node::element::{Group, Rectangle, Text, Title};

/// The attention weights of a head.
pub struct Heatmap {
    /// The title above the head's squares.
    pub title: String,
    /// `[n, m]`: a row for each query, a column for each key; from 0 to 1.
    pub weights: Tensor<f32>,
}

/// Side of a square, in pixels.
const SQUARE: f64 = 22.0;
/// Font size, in pixels.
const LETTERS: f64 = 13.0;
/// Height of a title, in pixels.
const TITLE: f64 = 24.0;
/// Largest width of a label, in pixels.
const LABEL: f64 = 200.0;
/// Number of heads side by side.
const ACROSS: usize = 4;

/// Draws the weights of several heads. `rows` are the labels of the queries, `columns` those of the keys, the
/// same for all heads.
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// If the number of labels differs from that of rows or columns.
pub fn draw(path: &Path, maps: &[Heatmap], rows: &[String], columns: &[String]) -> Result<()> {
    let shortened = |labels: &[String]| -> Vec<String> {
        labels.iter().map(|label| lettering::shorten(label, LETTERS, LABEL)).collect()
    };
    let (shown_rows, shown_columns) = (shortened(rows), shortened(columns));
    let widest = |labels: &[String]| labels.iter().map(|l| lettering::width(l, LETTERS)).fold(0.0, f64::max);
    let (left, top) = (widest(&shown_rows) + 16.0, widest(&shown_columns) + TITLE + 12.0);
    // Titles are bold, which makes them about a tenth wider.
    let title = maps.iter().map(|map| 1.1 * lettering::width(&map.title, LETTERS)).fold(0.0, f64::max);
    let (width, height) =
        ((left + SQUARE * columns.len() as f64).max(title + 16.0), top + SQUARE * rows.len() as f64);
    let across = maps.len().clamp(1, ACROSS);
    let size = (width * across as f64 + 16.0, height * maps.len().div_ceil(across) as f64 + 16.0);
    let mut document = Document::new()
        .set("viewBox", (0, 0, size.0, size.1))
        .set("font-family", "sans-serif")
        .set("width", size.0)
        .set("height", size.1)
        .set("font-size", LETTERS)
        .add(Rectangle::new().set("width", size.0).set("height", size.1).set("fill", "white"));
    for (at, map) in maps.iter().enumerate() {
        assert_eq!(map.weights.shape(), &[rows.len(), columns.len()].into(), "one label each");
        let (x, y) = (width * (at % across) as f64, height * (at / across) as f64);
        let mut head = Group::new().set("transform", format!("translate({x:.1} {y:.1})"));
        head = head.add(
            Text::new(map.title.as_str())
                .set("x", left.min(width - title))
                .set("y", TITLE - 6.0)
                .set("font-weight", "bold"),
        );
        for (j, label) in shown_columns.iter().enumerate() {
            let x = left + SQUARE * (j as f64 + 0.5) + 4.0;
            let turned = format!("translate({x:.1} {:.1}) rotate(-90)", top - 4.0);
            head = head.add(Text::new(label.as_str()).set("transform", turned));
        }
        for (i, label) in shown_rows.iter().enumerate() {
            let y = top + SQUARE * i as f64;
            let text = Text::new(label.as_str()).set("x", left - 6.0).set("y", y + 0.7 * SQUARE);
            head = head.add(text.set("text-anchor", "end"));
            for (j, &weight) in map.weights.row(i).iter().enumerate() {
                let square = Rectangle::new()
                    .set("x", left + SQUARE * j as f64)
                    .set("y", y)
                    .set("width", SQUARE - 1.0)
                    .set("height", SQUARE - 1.0)
                    .set("fill", "#1f4e79")
                    .set("fill-opacity", format!("{:.3}", 0.04 + 0.96 * weight.clamp(0.0, 1.0)))
                    .add(Title::new(lettering::allowed(&format!("{} {}: {weight:.3}", rows[i], columns[j]))));
                head = head.add(square);
            }
        }
        document = document.add(head);
    }
    atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of an attribute, in the order of the file.
    fn attribute(svg: &str, name: &str) -> Vec<f64> {
        svg.split(&format!(" {name}=\""))
            .skip(1)
            .map(|value| value.split_once('"').unwrap().0.parse().unwrap())
            .collect()
    }

    /// Each square is at the place of its query and key, and as dark as their weight.
    #[test]
    fn squares_are_as_dark_as_their_weights() {
        let weights = [[0.0_f32, 1.0, 0.25, 0.5, 0.125, 0.75], [0.3, 0.2, 0.1, 0.9, 0.6, 0.05]];
        let map = |weights: [f32; 6]| Heatmap {
            title: "head".to_owned(),
            weights: Tensor::new([2, 3], weights.to_vec()),
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("map.svg");
        let labels = |labels: &[&str]| labels.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>();
        draw(&path, &weights.map(map), &labels(&["p", "q"]), &labels(&["a", "b", "c"])).unwrap();
        let svg = std::fs::read_to_string(path).unwrap();
        let opacities = attribute(&svg, "fill-opacity");
        assert_eq!(opacities.len(), 12);
        // Each square is checked by itself, because the order of attributes may vary.
        let squares: Vec<&str> =
            svg.split("<rect").filter(|square| square.contains("fill-opacity")).collect();
        for (at, (square, opacity)) in squares.iter().zip(&opacities).enumerate() {
            let weight = f64::from(weights[at / 6][at % 6]);
            assert!((opacity - (0.04 + 0.96 * weight)).abs() < 6e-4, "{at}: {opacity}");
            let (query, key) = (["p", "q"][at % 6 / 3], ["a", "b", "c"][at % 3]);
            assert!(square.contains(&format!("{query} {key}: {weight:.3}")), "{at}: {square}");
            let place = |name| attribute(square, name)[0];
            let first = |name| attribute(squares[0], name)[0];
            assert_eq!(place("x") - first("x"), SQUARE * (at % 3) as f64, "{at}");
            assert_eq!(place("y") - first("y"), SQUARE * (at % 6 / 3) as f64, "{at}");
        }
    }
}
