//! Renders the record of measurements: the tables of the pages in `results/` and the plots in
//! `results/plots`, from the lines in `results/data`.
//!
//! `cargo run -p cotangent-results` writes them. With `-- --check` it writes nothing and fails if a page or a
//! plot is not what the data say. `tables.json` lays out the tables, `plots.json` the plots.

mod claims;
mod data;
mod links;
mod page;
mod plot;
mod problem;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use problem::Problem;

fn main() -> ExitCode {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: cargo run -p cotangent-results [-- --check]");
            return ExitCode::FAILURE;
        }
    };
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace holds this crate");
    let outcome = if check { stale(project) } else { render(project) };
    match outcome {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            problems.iter().for_each(|problem| eprintln!("{problem}"));
            ExitCode::FAILURE
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// A file that is rendered: its present text, what the data say, and the tables in which the two differ.
struct Rendered {
    path: PathBuf,
    present: String,
    text: String,
    differing: Vec<Problem>,
}

/// Everything that is rendered in the project, and what no rendering can mend: claims that their pages do not
/// bear out, machines that are not described, links that lead nowhere. Nothing is written.
fn rendered(project: &Path) -> Result<(Vec<Rendered>, Vec<Problem>), Problem> {
    let results = project.join("results");
    let records = data::read(&results.join("data"))?;
    let tables = table::read(&results.join("tables.json"), &records)?;
    let mut files = page::render(&results, &tables)?;
    files.extend(plot::render(&results, &records)?);
    let mut problems = claims::unsupported(project)?;
    problems.extend(claims::unknown_machines(project, &records)?);
    problems.extend(links::broken(project)?);
    Ok((files, problems))
}

/// Writes the files that have changed. Returns what no rendering can mend.
fn render(project: &Path) -> Result<Vec<Problem>, Problem> {
    for file in rendered(project)?.0 {
        if file.text != file.present {
            std::fs::write(&file.path, &file.text).map_err(|error| Problem::in_file(&file.path, error))?;
            println!("wrote {}", file.path.display());
        }
    }
    Ok(rendered(project)?.1)
}

/// Everything that is not what the data say.
fn stale(project: &Path) -> Result<Vec<Problem>, Problem> {
    let (files, problems) = rendered(project)?;
    Ok(files.into_iter().flat_map(|file| file.differing).chain(problems).collect())
}

#[cfg(test)]
mod tests;
