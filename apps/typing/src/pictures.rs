//! Pictures of a model: López & Strube 2020, Figures 4, 5 and 6.

use std::path::Path;

use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::SpaceModel;

use crate::config::Space;
use crate::examples::Example;
use crate::model::space::geometry;
use crate::train::TypingMetrics;
use crate::typer::Typer;

/// Largest number of points in a picture of queries and keys.
const POINTS: usize = 2000;

/// Draws the hyperplanes of some types, and the text vectors of examples: Figure 4. A text vector has the
/// colour of the last of these types that its mention has.
///
/// # Errors
/// If the model's hyperplanes are not in two dimensions, or the file cannot be written.
pub fn hyperplanes<T: Float>(
    path: &Path,
    typer: &Typer<T>,
    examples: &[Example],
    shown: &[u32],
) -> Result<()> {
    let [points, normals] = typer.hyperplanes();
    let m = points.width();
    if m != 2 {
        let message = format!("the hyperplanes are in {m} dimensions; train with --dim 2 to draw them");
        return Err(AppError::usage(message));
    }
    let space = typer.space();
    let mut rows = Vec::new();
    typer.for_batches(examples, |_, output| {
        let tape = output.text.coordinates().tape();
        let x = into_space(geometry(space).on(tape), output.text).coordinates().to_tensor();
        rows.extend(x.rows().map(|row| [row[0].to_f64(), row[1].to_f64()]));
    });
    let of_example = |example: &Example| {
        shown.iter().rposition(|number| example.types.contains(number)).unwrap_or(shown.len())
    };
    let labels: Vec<u32> = examples.iter().map(|example| of_example(example) as u32).collect();
    let types = &typer.description.types;
    let mut names: Vec<String> = shown.iter().map(|&number| types.name(number).to_owned()).collect();
    if !examples.is_empty() {
        names.push("none of these".to_owned());
    }
    let pair = |row: &[f64]| [row[0], row[1]];
    let planes: Vec<_> = shown
        .iter()
        .map(|&number| (pair(points.row(number as usize)), pair(normals.row(number as usize))))
        .collect();
    let kappa = if space == Space::Hyperbolic { -1.0 } else { 0.0 };
    let title = format!("hyperplanes of {}", names[..shown.len()].join(", "));
    disk::classes(
        path,
        &Classes {
            points: &rows,
            labels: &labels,
            names: &names,
            hyperplanes: &planes,
            coloured: true,
            kappa,
            geodesics: space == Space::Hyperbolic,
            title: &title,
        },
    )
}

/// Draws queries and keys of the attention over contexts, projected to two dimensions: Figure 5.
///
/// # Errors
/// If the file cannot be written.
pub fn queries_and_keys<T: Float>(path: &Path, typer: &Typer<T>, examples: &[Example]) -> Result<()> {
    let mut parts: [Vec<f64>; 2] = Default::default();
    let mut width = 0;
    typer.for_batches(examples, |batch, output| {
        for (part, located) in parts.iter_mut().zip(output.queries_and_keys) {
            let x = located.coordinates().to_tensor();
            width = x.width();
            for (b, &length) in batch.context.lengths.iter().enumerate() {
                for t in 0..length {
                    if part.len() < POINTS / 2 * width {
                        part.extend(x.row(b * batch.context.len + t).iter().map(|x| x.to_f64()));
                    }
                }
            }
        }
    });
    let [queries, keys] = parts.each_ref().map(|part| part.len() / width.max(1));
    let points = Tensor::new([queries + keys, width], parts.concat());
    let hyperbolic = typer.description.config.spaces.attention == Space::Hyperbolic;
    let model = if hyperbolic { SpaceModel::Poincare } else { SpaceModel::Euclidean };
    let layout = disk::layout(&points, cotangent_apps_common::geometry::Geometry::new(model, None)?)?;
    let labels: Vec<u32> = (0..queries + keys).map(|i| u32::from(i < queries)).collect();
    disk::classes(
        path,
        &Classes {
            points: &layout.points,
            labels: &labels,
            names: &["keys", "queries"].map(str::to_owned),
            hyperplanes: &[],
            coloured: true,
            kappa: if hyperbolic { -1.0 } else { 0.0 },
            geodesics: hyperbolic,
            title: &layout.caption.replacen("nodes", "queries and keys", 1),
        },
    )
}

/// Draws the mean distance of text vectors from the origin by epoch, a panel for each run: Figure 6.
///
/// # Errors
/// If the file cannot be written.
pub fn norms(path: &Path, runs: &[TypingMetrics]) -> Result<()> {
    let series = runs.iter().map(|run| Series {
        name: match run.config.spaces.concatenation {
            Space::Hyperbolic => "hyperbolic norm of text vectors",
            Space::Euclidean => "Euclidean norm of text vectors",
        },
        values: run.epochs.iter().map(|epoch| epoch.text_norm).collect(),
        better: curves::NEITHER,
    });
    curves::plot(path, "mean distance of text vectors from the origin", &series.collect::<Vec<_>>())
}
