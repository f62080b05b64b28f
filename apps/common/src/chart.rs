//! Parts of charts as SVG: the sheet with its title, texts, and the rules of an axis with round numbers.

use svg::Document;
use svg::node::element::{Line, Rectangle, Text};

use cotangent_apps_common::lettering;

/// Where a chart draws, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Width and height of the picture.
    pub(crate) size: [f64; 2],
    /// Left and right edge of what is drawn.
    pub(crate) across: [f64; 2],
    /// Its upper and lower edge.
    pub(crate) down: [f64; 2],
}

impl Frame {
    /// The height at which a value is drawn, on an axis from `low` to `high`.
    pub(crate) fn y(self, value: f64, [low, high]: [f64; 2]) -> f64 {
        let [top, bottom] = self.down;
        bottom - (bottom - top) * (value - low) / (high - low)
    }

    /// An empty picture with a title.
    pub(crate) fn sheet(self, title: &str) -> Document {
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
    pub(crate) fn rule(self, y: f64, colour: &str) -> Line {
        let [left, right] = self.across;
        let line = Line::new().set("x1", left).set("x2", right).set("stroke", colour);
        line.set("y1", round(y)).set("y2", round(y))
    }

    /// Adds a rule for each of the axis's ticks, with its number at the left edge.
    pub(crate) fn rules(self, mut document: Document, [low, high]: [f64; 2]) -> Document {
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

/// The distance of ticks on an axis of this length: 1, 2 or 5 times a power of ten, so that there are three to
/// seven of them.
pub(crate) fn step(length: f64) -> f64 {
    let power = 10.0_f64.powf((length / 6.0).log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
    steps.into_iter().find(|step| length / step <= 6.0).unwrap_or(10.0 * power)
}

pub(crate) fn text(content: &str, x: f64, y: f64, anchor: &str) -> Text {
    Text::new(content).set("x", round(x)).set("y", round(y)).set("text-anchor", anchor)
}

/// A tenth of a pixel is enough.
pub(crate) fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
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
}
