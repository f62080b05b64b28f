//! Pictures of training curves, as SVG.

use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::optim::train::Epoch;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{AppError, Result};
use crate::lettering;

/// The file of a training's curves.
pub const FILE: &str = "curves.svg";

/// Width of a panel and height of the picture, in pixels.
const PANEL: (u32, u32) = (520, 400);

/// A value for each epoch, starting with epoch 1.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// The name of the values.
    pub name: &'a str,
    /// One value per epoch; values that are not finite are left out.
    pub values: Vec<f64>,
    /// The better of two: `f64::min` for a loss, `f64::max` for an accuracy, [`NEITHER`] for what is neither
    /// good nor bad.
    pub better: fn(f64, f64) -> f64,
}

/// For a [`Series`] that has no best value: none is marked.
pub const NEITHER: fn(f64, f64) -> f64 = |_, _| f64::NAN;

/// Draws series, each in its own panel with its best value marked, if it has one.
///
/// # Errors
/// If the file cannot be written.
pub fn plot(path: &Path, title: &str, series: &[Series<'_>]) -> Result<()> {
    marked(path, title, series, &[])
}

/// Same as [`plot`], with a line at each of some epochs, which are counted from 1, and a name beside
/// it: lessons of a curriculum.
///
/// # Errors
/// If the file cannot be written.
pub fn marked(path: &Path, title: &str, series: &[Series<'_>], marks: &[(u64, String)]) -> Result<()> {
    let svg = draw(title, series, marks).map_err(|e| AppError::content(path, e))?;
    atomic::write(path, |w| w.write_all(svg.as_bytes())).map_err(AppError::io(path))
}

/// Draws the training loss and the validation of each epoch. `validation` is the name of the validation, and
/// `better` the better of two.
///
/// # Errors
/// If the file cannot be written.
pub fn training(
    path: &Path,
    title: &str,
    epochs: &[Epoch],
    validation: &'static str,
    better: fn(f64, f64) -> f64,
) -> Result<()> {
    let values = |value: fn(&Epoch) -> f64| epochs.iter().map(value).collect::<Vec<f64>>();
    let losses = Series { name: "training loss", values: values(|epoch| epoch.loss), better: f64::min };
    let validations = Series { name: validation, values: values(|epoch| epoch.validation), better };
    plot(path, title, &[losses, validations])
}

fn draw(title: &str, series: &[Series<'_>], marks: &[(u64, String)]) -> std::result::Result<String, String> {
    let mut svg = String::new();
    {
        let size = (PANEL.0 * series.len() as u32, PANEL.1);
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let failed = |e: DrawingAreaErrorKind<_>| e.to_string();
        area.fill(&WHITE).map_err(failed)?;
        let title = lettering::shorten(title, 18.0, f64::from(size.0) - 24.0);
        let area = area.titled(&title, ("sans-serif", 18)).map_err(failed)?;
        for (panel, Series { name, values, better }) in
            area.split_evenly((1, series.len())).iter().zip(series)
        {
            let finite = || values.iter().copied().filter(|v| v.is_finite());
            let (low, high) =
                (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
            if low > high {
                continue;
            }
            let margin = (0.05 * (high - low)).max(1e-3);
            let target = better(low, high);
            let points =
                || values.iter().enumerate().map(|(i, &v)| ((i + 1) as f64, v)).filter(|p| p.1.is_finite());
            let best = points().find(|p| p.1 == target);
            let caption = match best {
                Some((epoch, value)) => format!("{name}: best {value:.4}, epoch {epoch}"),
                None => (*name).to_owned(),
            };
            let caption = lettering::shorten(&caption, 15.0, f64::from(PANEL.0) - 24.0);
            let mut chart = ChartBuilder::on(panel)
                .margin(12)
                .caption(caption, ("sans-serif", 15))
                .x_label_area_size(36)
                .y_label_area_size(60)
                .build_cartesian_2d(1.0..(values.len() as f64).max(2.0), low - margin..high + margin)
                .map_err(failed)?;
            let mut mesh = chart.configure_mesh();
            mesh.x_desc("epoch").x_label_formatter(&|x| format!("{x:.0}")).light_line_style(WHITE);
            mesh.x_labels(values.len().min(10)).draw().map_err(failed)?;
            let lines = marks.iter().map(|(epoch, _)| {
                let x = *epoch as f64;
                PathElement::new(vec![(x, low - margin), (x, high + margin)], RGBColor(190, 190, 190))
            });
            chart.draw_series(lines).map_err(failed)?;
            let names = marks.iter().map(|(epoch, name)| {
                // On the side where there is room.
                let is_left = 2 * *epoch <= values.len() as u64;
                let side = Pos::new(if is_left { HPos::Left } else { HPos::Right }, VPos::Top);
                let style = TextStyle::from(("sans-serif", 11)).pos(side);
                Text::new(format!(" {name} "), (*epoch as f64, high + margin), style)
            });
            chart.draw_series(names).map_err(failed)?;
            let colour = RGBColor(74, 111, 165);
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2))).map_err(failed)?;
            let marked = best.map(|best| Circle::new(best, 4, RGBColor(192, 57, 43).filled()));
            chart.draw_series(marked).map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_has_a_panel_and_its_best_value() {
        let loss = Series { name: "loss", values: vec![0.9, 0.25, 0.5], better: f64::min };
        let accuracy = Series { name: "accuracy", values: vec![0.5, f64::NAN, 0.75], better: f64::max };
        let marks = [(2, "60°".to_owned())];
        let svg = draw("both", &[loss.clone(), accuracy], &marks).unwrap();
        assert_eq!(svg.matches("60°").count(), 2);
        for text in ["both", "loss", "accuracy", "epoch", "0.2500", "0.7500"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(!svg.contains("NaN") && svg.matches("<polyline").count() >= 2);
        let norm = Series { name: "norm", values: vec![1.0, 2.0], better: NEITHER };
        let svg = draw("neither", &[norm], &[]).unwrap();
        assert!(svg.contains("norm") && !svg.contains("best") && !svg.contains("<circle"), "{svg}");
        assert!(draw("nothing", &[Series { values: Vec::new(), ..loss }], &[]).is_ok());
    }
}
