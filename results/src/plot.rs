//! The plots: `plots.json` says which numbers of the data each one draws; an SVG each, in `plots/`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Rendered;
use crate::data::Record;
use crate::problem::{self, Problem};

const WIDTH: i32 = 680;
const MARGIN: i32 = 14;
const LINE: i32 = 25;
const FONT: (&str, i32) = ("sans-serif", 18);
const INK: RGBColor = RGBColor(70, 70, 70);
const GRID: RGBColor = RGBColor(215, 215, 215);
/// Told apart also by those who do not see red and green as different.
const COLOURS: [RGBColor; 4] =
    [RGBColor(46, 112, 178), RGBColor(222, 132, 52), RGBColor(120, 120, 120), RGBColor(60, 150, 110)];

/// A plot: what is common to both kinds, and the numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plot {
    /// The name of the file, without its ending.
    name: String,
    title: String,
    /// What the numbers are, with their unit.
    axis: String,
    /// The least and the largest number of the axis.
    range: [f64; 2],
    /// Whether the axis is logarithmic.
    #[serde(default)]
    log: bool,
    series: Vec<Series>,
    content: Content,
}

/// Numbers of one colour, with the text of the legend.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    label: String,
    /// In bars, the key of the number (see [`Record::get`]).
    #[serde(default)]
    key: String,
    /// The key of a number that is divided by that of `key`.
    over: Option<String>,
    /// In lines and courses, the `table` of the lines of the data that have the values of `where`.
    #[serde(default)]
    table: String,
    #[serde(default)]
    r#where: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Content {
    /// Groups of horizontal bars: a group for a line of the data, a bar in it for a series.
    Bars {
        panels: Vec<Panel>,
        /// Decimals of the numbers at the bars.
        decimals: usize,
    },
    /// A line for each series through a point for each place.
    Lines {
        /// What the horizontal axis is.
        across: String,
        /// Distance of the marks on the vertical axis; where that is logarithmic they are powers of 10.
        #[serde(default)]
        marks: Option<f64>,
        points: Vec<Place>,
    },
    /// A line for each series through a point for each line of the data.
    Courses {
        /// What the horizontal axis is.
        across: String,
        /// The key of the numbers on it.
        x: String,
        /// The key of the numbers on the vertical axis.
        y: String,
        /// Distances of the marks on both axes.
        marks: [f64; 2],
    },
}

/// Bars of the lines of `table` that have the values of `where`, labelled by the value at `label`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panel {
    title: String,
    table: String,
    #[serde(default)]
    r#where: Map<String, Value>,
    label: String,
}

/// A place on the horizontal axis, and the key of the numbers there. A series takes its number from the
/// lines of the data that have the values of both its `where` and the place's: the mean of all seeds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    x: f64,
    label: String,
    key: String,
    /// The table, if it is not that of the series.
    table: Option<String>,
    #[serde(default)]
    r#where: Map<String, Value>,
}

/// Renders every plot of `plots.json`.
pub(crate) fn render(results: &Path, records: &[Record]) -> Result<Vec<Rendered>, Problem> {
    let file = results.join("plots.json");
    let plots: Vec<Plot> = serde_json::from_str(&problem::read(&file)?)
        .map_err(|error| Problem::in_line(&file, error.line(), error))?;
    let mut rendered = Vec::new();
    for plot in &plots {
        let text = match &plot.content {
            Content::Bars { panels, decimals } => bars(plot, panels, *decimals, records),
            Content::Lines { across, marks, points } => lines(plot, across, *marks, points, records),
            Content::Courses { across, x, y, marks } => courses(plot, across, [x, y], *marks, records),
        };
        let text =
            text.map_err(|what| Problem::in_file(&file, format_args!("plot {}: {what}", plot.name)))?;
        let path = results.join("plots").join(&plot.name).with_extension("svg");
        let present = std::fs::read_to_string(&path).unwrap_or_default();
        let mut differing = Vec::new();
        if present != text {
            differing.push(Problem::in_file(&path, "the plot is stale: cargo run -p cotangent-results"));
        }
        rendered.push(Rendered { path, present, text, differing });
    }
    Ok(rendered)
}

/// A canvas whose coordinates are pixels, and the text that it writes to.
struct Canvas<'a>(DrawingArea<SVGBackend<'a>, plotters::coord::Shift>);

type Drawn = Result<(), String>;

impl Canvas<'_> {
    fn text(&self, text: &str, at: (i32, i32), horizontal: HPos) -> Drawn {
        let style = FONT.into_font().color(&INK).pos(Pos::new(horizontal, VPos::Center));
        self.0.draw(&Text::new(text.to_owned(), at, style)).map_err(failed)
    }

    fn rectangle(&self, corners: [(i32, i32); 2], colour: RGBColor) -> Drawn {
        self.0.draw(&Rectangle::new(corners, colour.filled())).map_err(failed)
    }
}

/// The SVG of a drawing of so many pixels.
fn svg(height: i32, draw: impl FnOnce(&Canvas<'_>) -> Drawn) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        let canvas = Canvas(area);
        draw(&canvas)?;
        canvas.0.present().map_err(failed)?;
    }
    Ok(text)
}

/// The part of the axis, 0 to 1, at which a number stands.
fn part(plot: &Plot, value: f64) -> f64 {
    let scale = |value: f64| if plot.log { value.log10() } else { value };
    let [least, largest] = plot.range.map(scale);
    ((scale(value) - least) / (largest - least)).clamp(0.0, 1.0)
}

/// Title and legend. Returns the height that they take.
fn head(plot: &Plot, canvas: &Canvas<'_>) -> Result<i32, String> {
    canvas.text(&plot.title, (MARGIN, MARGIN + 6), HPos::Left)?;
    let mut y = MARGIN + 6 + LINE;
    for (series, colour) in plot.series.iter().zip(COLOURS) {
        canvas.rectangle([(MARGIN, y - 6), (MARGIN + 12, y + 6)], colour)?;
        canvas.text(&series.label, (MARGIN + 20, y), HPos::Left)?;
        y += LINE;
    }
    Ok(y)
}

/// The height of what [`head`] draws.
fn head_height(plot: &Plot) -> i32 {
    MARGIN + 6 + LINE * (1 + plot.series.len() as i32)
}

fn bars(plot: &Plot, panels: &[Panel], decimals: usize, records: &[Record]) -> Result<String, String> {
    const BAR: i32 = 19;
    const GAP: i32 = 9;
    const LABELS: i32 = 262;
    const NUMBERS: i32 = 74;
    let mut groups = Vec::new();
    for panel in panels {
        let rows: Vec<&Record> =
            records.iter().filter(|row| row.matches(&panel.table, &panel.r#where)).collect();
        if rows.is_empty() {
            return Err(format!("panel {}: no line of the data has its values", panel.title));
        }
        groups.push(rows);
    }
    let values = |row: &Record| -> Vec<(f64, RGBColor)> {
        let numbers = plot.series.iter().map(|series| row.number(&series.key, series.over.as_deref()));
        numbers.zip(COLOURS).filter_map(|(value, colour)| Some((value?, colour))).collect()
    };
    let bodies: i32 = groups
        .iter()
        .map(|rows| LINE + rows.iter().map(|row| BAR * values(row).len() as i32 + GAP).sum::<i32>() + GAP)
        .sum();
    svg(head_height(plot) + bodies + LINE + MARGIN, |canvas| {
        let mut y = head(plot, canvas)?;
        for (panel, rows) in panels.iter().zip(&groups) {
            canvas.text(&panel.title, (MARGIN, y + LINE / 2), HPos::Left)?;
            y += LINE;
            for row in rows {
                let values = values(row);
                let height = BAR * values.len() as i32;
                let label = row.get(&panel.label).unwrap_or_default();
                let label = label.as_str().map_or_else(|| label.to_string(), str::to_owned);
                canvas.text(&label, (LABELS - 8, y + height / 2), HPos::Right)?;
                for (value, colour) in values {
                    let length = part(plot, value) * f64::from(WIDTH - MARGIN - NUMBERS - LABELS);
                    let end = LABELS + length.round() as i32;
                    canvas.rectangle([(LABELS, y + 1), (end, y + BAR - 1)], colour)?;
                    canvas.text(&with_commas(value, decimals), (end + 6, y + BAR / 2), HPos::Left)?;
                    y += BAR;
                }
                y += GAP;
            }
            y += GAP;
        }
        canvas.text(&plot.axis, (WIDTH - MARGIN, y + LINE / 2), HPos::Right)
    })
}

/// A number with so many decimals, and commas between thousands if it has none.
fn with_commas(value: f64, decimals: usize) -> String {
    use crate::table::{Format, number};
    number(value, if decimals == 0 { Format::Thousands } else { Format::Digits(decimals) })
}

/// An axis with marks of its own. Those of plotters cannot have both marks and texts that are chosen.
struct Axis {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        start + (part * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Lines through points, with marks and their texts on both axes. The vertical marks are multiples of `step`,
/// on a logarithmic axis those of its exponents.
fn chart(
    plot: &Plot,
    across: &str,
    marks: &[(f64, String)],
    step: f64,
    courses: &[Vec<(f64, f64)>],
) -> Result<String, String> {
    const HEIGHT: i32 = 329;
    let scale = |value: f64| if plot.log { value.log10() } else { value };
    let [least, largest] = plot.range.map(scale);
    let level = |&y: &f64| if plot.log { format!("1e{y:.0}") } else { with_commas(y, decimals(step)) };
    let place = |x: &f64| marks.iter().find(|mark| mark.0 == *x).map_or(String::new(), |mark| mark.1.clone());
    let xs = || courses.iter().flatten().map(|point| point.0).chain(marks.iter().map(|mark| mark.0));
    let [first, last] = [xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max)];
    let inset = 0.025 * (last - first);
    let top = head_height(plot) + LINE + 6;
    svg(top + HEIGHT + 2 * LINE + MARGIN, |canvas| {
        head(plot, canvas)?;
        canvas.text(&plot.axis, (MARGIN, top - LINE), HPos::Left)?;
        let mut chart = ChartBuilder::on(&canvas.0)
            .margin(MARGIN)
            .margin_top(top)
            .x_label_area_size(2 * LINE)
            .y_label_area_size(66)
            .build_cartesian_2d(
                Axis { range: first - inset..last + inset, marks: marks.iter().map(|mark| mark.0).collect() },
                Axis { range: least..largest, marks: multiples(least, largest, step).collect() },
            )
            .map_err(failed)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().bold_line_style(GRID).light_line_style(TRANSPARENT).axis_style(GRID);
        mesh.label_style(FONT.into_font().color(&INK)).x_desc(across);
        mesh.x_label_formatter(&place).y_label_formatter(&level).draw().map_err(failed)?;
        for (course, colour) in courses.iter().zip(COLOURS) {
            let points = || course.iter().map(|&(x, y)| (x, scale(y).clamp(least, largest)));
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(3))).map_err(failed)?;
            let dots = points().map(|point| Circle::new(point, 5, colour.filled()));
            chart.draw_series(dots).map_err(failed)?;
        }
        Ok(())
    })
}

fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn lines(
    plot: &Plot,
    across: &str,
    marks: Option<f64>,
    places: &[Place],
    records: &[Record],
) -> Result<String, String> {
    let step = if plot.log { 4.0 } else { marks.ok_or("an axis that is not logarithmic needs marks")? };
    let mut courses = Vec::new();
    for series in &plot.series {
        let mut points = Vec::new();
        for place in places {
            let table = place.table.as_ref().unwrap_or(&series.table);
            let wanted = |row: &&Record| {
                [&series.r#where, &place.r#where].iter().all(|values| row.matches(table, values))
            };
            let rows: Vec<&Record> = records.iter().filter(wanted).collect();
            let seeds: BTreeSet<String> =
                rows.iter().filter_map(|row| row.get("seed")).map(|seed| seed.to_string()).collect();
            if rows.is_empty() || seeds.len() < rows.len() {
                return Err(format!(
                    "series {}, {}: not one line of the data for each seed has its values",
                    series.label, place.label
                ));
            }
            let number =
                |row: &Record| row.number(&place.key, None).ok_or_else(|| format!("no number {}", place.key));
            let sum = rows.iter().map(|&row| number(row)).sum::<Result<f64, String>>()?;
            points.push((place.x, sum / rows.len() as f64));
        }
        courses.push(points);
    }
    let marks: Vec<_> = places.iter().map(|place| (place.x, place.label.clone())).collect();
    chart(plot, across, &marks, step, &courses)
}

/// All numbers from `from` to `to` that are multiples of `step`.
fn multiples(from: f64, to: f64, step: f64) -> impl Iterator<Item = f64> {
    // The step is not added up, since ten times 0.1 is not 1 then. Quotients of multiples may be rounded.
    let [first, last] = [(from / step - 1e-9).ceil(), (to / step + 1e-9).floor()].map(|number| number as i64);
    (first..=last).map(move |number| number as f64 * step)
}

fn courses(
    plot: &Plot,
    across: &str,
    [x, y]: [&str; 2],
    marks: [f64; 2],
    records: &[Record],
) -> Result<String, String> {
    let mut courses = Vec::new();
    for series in &plot.series {
        let rows = records.iter().filter(|row| row.matches(&series.table, &series.r#where));
        let number =
            |row: &Record, key: &str| row.number(key, None).ok_or_else(|| format!("no number {key}"));
        let course = rows.map(|row| Ok((number(row, x)?, number(row, y)?)));
        let course = course.collect::<Result<Vec<(f64, f64)>, String>>()?;
        if course.is_empty() {
            return Err(format!("series {}: no line of the data has its values", series.label));
        }
        courses.push(course);
    }
    let end = courses.iter().flatten().fold(0.0, |end: f64, &(x, _)| end.max(x));
    let text = |value| (value, with_commas(value, decimals(marks[0])));
    let places: Vec<_> = multiples(0.0, end, marks[0]).map(text).collect();
    chart(plot, across, &places, marks[1], &courses)
}

/// Decimals that tell multiples of a number from each other: 1 for 0.1.
fn decimals(step: f64) -> usize {
    (-step.log10()).ceil().max(0.0) as usize
}
