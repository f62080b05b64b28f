//! Charts as SVG: bars, and the parts of other charts, which are the sheet with its title, texts, and the
//! rules of an axis with round numbers.

use std::path::Path;

use cotangent::engine::files::atomic;
use svg::Document;
use svg::node::element::{Line, Rectangle, Text};

use crate::error::{AppError, Result};
use crate::lettering;

/// Where a chart draws, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Width and height of the picture.
    pub size: [f64; 2],
    /// Left and right edge of what is drawn.
    pub across: [f64; 2],
    /// Its upper and lower edge.
    pub down: [f64; 2],
}

impl Frame {
    /// The height at which a value is drawn, on an axis from `low` to `high`.
    pub fn y(self, value: f64, [low, high]: [f64; 2]) -> f64 {
        let [top, bottom] = self.down;
        bottom - (bottom - top) * (value - low) / (high - low)
    }

    /// An empty picture with a title.
    pub fn sheet(self, title: &str) -> Document {
        let [width, height] = self.size;
        let title = lettering::shorten(title, 15.0, width - 24.0);
        Document::new()
            .set("viewBox", (0, 0, width, height))
            .set("font-family", "sans-serif")
            .set("font-size", 13)
            .set("width", width)
            .set("height", height)
            .add(Rectangle::new().set("width", width).set("height", height).set("fill", "white"))
            .add(text(&title, width / 2.0, 26.0, "middle").set("font-size", 15))
    }

    /// A line from the left to the right edge.
    pub fn rule(self, y: f64, colour: &str) -> Line {
        let [left, right] = self.across;
        let line = Line::new().set("x1", left).set("x2", right).set("stroke", colour);
        line.set("y1", round(y)).set("y2", round(y))
    }

    /// Adds a rule for each of the axis's ticks, with its number at the left edge.
    pub fn rules(self, mut document: Document, [low, high]: [f64; 2]) -> Document {
        let step = step(high - low);
        let decimals = (-step.log10()).ceil().max(0.0) as usize;
        // Quotients of multiples may be rounded.
        let [first, last] = [(low / step - 1e-9).ceil(), (high / step + 1e-9).floor()];
        for number in first as i64..=last as i64 {
            let value = number as f64 * step;
            let y = self.y(value, [low, high]);
            let label = text(&format!("{value:.decimals$}"), self.across[0] - 8.0, y + 4.0, "end");
            document = document.add(self.rule(y, "#dddddd")).add(label);
        }
        document
    }
}

/// The distance of ticks on an axis of this length: 1, 2 or 5 times a power of ten, so that there are three
/// to seven of them.
pub fn step(length: f64) -> f64 {
    let power = 10.0_f64.powf((length / 6.0).log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
    steps.into_iter().find(|step| length / step <= 6.0).unwrap_or(10.0 * power)
}

/// A text that starts, ends or has its middle (`anchor`) at a point of its base line.
pub fn text(content: &str, x: f64, y: f64, anchor: &str) -> Text {
    Text::new(content).set("x", round(x)).set("y", round(y)).set("text-anchor", anchor)
}

/// A tenth of a pixel is enough.
pub fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// Shares that are drawn as bars side by side.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// Above the picture.
    pub title: &'a str,
    /// What is on the horizontal axis.
    pub axis: &'a str,
    /// The names of the groups of bars; some may be empty.
    pub labels: Vec<String>,
    /// At most three, each with its name: a number for each group, at least 0.
    pub series: Vec<(&'a str, Vec<f64>)>,
    /// A dashed line with its name, if there is one.
    pub dashed: Option<(&'a str, f64)>,
}

const FRAME: Frame = Frame { size: [720.0, 420.0], across: [64.0, 700.0], down: [76.0, 360.0] };
const COLOURS: [&str; 3] = ["#4a6fa5", "#e0a458", "#9aa5b1"];

impl Bars<'_> {
    /// Draws the bars.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn draw(&self, path: &Path) -> Result<()> {
        let all = self.series.iter().flat_map(|(_, values)| values).chain(self.dashed.iter().map(|d| &d.1));
        let top = all.copied().fold(0.0, f64::max);
        let top = if top > 0.0 { top } else { 1.0 };
        let y = |value: f64| FRAME.y(value, [0.0, top]);
        let mut document = FRAME.rules(self.legend(FRAME.sheet(self.title)), [0.0, top]);
        let ([left_edge, right_edge], bottom) = (FRAME.across, FRAME.down[1]);
        let group = (right_edge - left_edge) / self.labels.len() as f64;
        let bar = 0.8 * group / self.series.len() as f64;
        for (number, label) in self.labels.iter().enumerate() {
            let left = left_edge + group * number as f64;
            for (place, ((_, values), colour)) in self.series.iter().zip(COLOURS).enumerate() {
                let (x, height) = (left + 0.1 * group + bar * place as f64, bottom - y(values[number]));
                let rectangle = Rectangle::new().set("x", round(x)).set("y", round(bottom - height));
                let rectangle = rectangle.set("width", round(bar)).set("height", round(height));
                document = document.add(rectangle.set("fill", colour));
            }
            document = document.add(text(label, left + group / 2.0, bottom + 18.0, "middle"));
        }
        if let Some((_, value)) = self.dashed {
            document = document.add(FRAME.rule(y(value), "#222222").set("stroke-dasharray", "6 4"));
        }
        let middle = f64::midpoint(left_edge, right_edge);
        document = document.add(text(self.axis, middle, bottom + 44.0, "middle"));
        atomic::write(path, |w| svg::write(w, &document)).map_err(AppError::io(path))
    }

    /// Adds the names of series and line.
    fn legend(&self, mut document: Document) -> Document {
        let mut left = FRAME.across[0];
        for ((name, _), colour) in self.series.iter().zip(COLOURS) {
            let sample = Rectangle::new().set("x", round(left)).set("y", 46).set("width", 12);
            document = document.add(sample.set("height", 12).set("fill", colour));
            document = document.add(text(name, left + 18.0, 57.0, "start"));
            left += 40.0 + lettering::width(name, 13.0);
        }
        let Some((name, value)) = self.dashed else { return document };
        document.add(text(&format!("dashed: {name} {value:.3}"), left, 57.0, "start"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        for (length, want) in [(1.0, 0.2), (0.06, 0.01), (0.061, 0.02), (7.0, 2.0), (30.0, 5.0), (61.0, 20.0)]
        {
            let step = step(length);
            assert!((step / want - 1.0).abs() < 1e-12, "{length}: {step}");
            assert!((2.0..=6.0 + 1e-9).contains(&(length / step)), "{length}: {step}");
        }
        let frame = Frame { size: [100.0; 2], across: [20.0, 90.0], down: [10.0, 90.0] };
        let svg = frame.rules(frame.sheet("title"), [0.0, 0.045]).to_string();
        for number in ["0.00", "0.01", "0.02", "0.03", "0.04"] {
            assert!(svg.contains(&format!("\n{number}\n")), "{number}: {svg}");
        }
        assert_eq!(svg.matches("<line").count(), 5);
    }

    /// Heights are in proportion, and the line is where its value is.
    #[test]
    fn bars_are_as_high_as_their_values() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bars.svg");
        let bars = Bars {
            title: "two",
            axis: "length",
            labels: ["1", "2"].map(str::to_owned).to_vec(),
            series: vec![("accuracy", vec![1.0, 0.5]), ("share", vec![0.25, 0.0])],
            dashed: Some(("constant", 0.75)),
        };
        bars.draw(&path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for words in ["two", "length", "accuracy", "dashed: constant 0.750"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        let [top, bottom] = FRAME.down;
        let height = |part: f64| format!("height=\"{}\"", round(part * (bottom - top)));
        assert!([1.0, 0.5, 0.25].iter().all(|&part| svg.contains(&height(part))), "{svg}");
        let line = svg.lines().find(|line| line.contains("dasharray")).unwrap();
        assert!(line.contains(&format!("y1=\"{}\"", round(bottom - 0.75 * (bottom - top)))), "{line}");
    }
}
