//! Links of the project's texts: every file and every section that one names is there.

use std::path::{Path, PathBuf};

use crate::claims::heading;
use crate::problem::{self, Problem};

/// The relative links that lead nowhere: of the texts beside `RESULTS.md`, of the guide and of the record.
pub(crate) fn broken(project: &Path) -> Result<Vec<Problem>, Problem> {
    let mut problems = Vec::new();
    for folder in ["", "guide", "results", "results/peers"] {
        let folder = project.join(folder);
        if !folder.is_dir() {
            continue;
        }
        for file in problem::files(&folder, "md")? {
            for (index, line) in prose(&problem::read(&file)?).enumerate() {
                for link in line.split("](").skip(1).filter_map(|after| after.split(')').next()) {
                    if let Some(what) = fault(&file, link)? {
                        problems.push(Problem::in_line(&file, index + 1, what));
                    }
                }
            }
        }
    }
    Ok(problems)
}

/// The lines of a text; those of code blocks are empty.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().map(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        if code || fence { "" } else { line }
    })
}

/// What is wrong with a link of a file, if anything.
fn fault(file: &Path, link: &str) -> Result<Option<String>, Problem> {
    if link.starts_with("http") {
        return Ok(None);
    }
    let (path, section) = link.split_once('#').unwrap_or((link, ""));
    let target: PathBuf = match path {
        "" => file.into(),
        path => file.parent().unwrap_or(Path::new("")).join(path),
    };
    if !target.exists() {
        return Ok(Some(format!("link to {link}: there is no such file")));
    }
    let has_section = || -> Result<bool, Problem> {
        Ok(problem::read(&target)?.lines().filter_map(heading).any(|heading| heading == section))
    };
    let found = section.is_empty() || target.extension().is_none_or(|kind| kind != "md") || has_section()?;
    Ok((!found).then(|| format!("link to {link}: there is no such section")))
}
