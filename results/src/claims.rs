//! The claims of `RESULTS.md`: the page that a row of its tables links has the row's figures.

use std::collections::BTreeSet;
use std::path::Path;

use crate::data::Record;
use crate::problem::{self, Problem};

/// The claims whose page lacks a figure of three or more significant digits.
pub(crate) fn unsupported(project: &Path) -> Result<Vec<Problem>, Problem> {
    let file = project.join("RESULTS.md");
    let mut problems = Vec::new();
    for (index, row) in problem::read(&file)?.lines().enumerate() {
        let mut problem = |what: String| problems.push(Problem::in_line(&file, index + 1, what));
        for link in row.split("](").skip(1).filter_map(|after| after.split(')').next()) {
            let Some((page, _)) = link.split_once('#') else { continue };
            if !row.starts_with('|') || !project.join(page).is_file() {
                continue;
            }
            let known = figures(&problem::read(&project.join(page))?);
            let cells = row.split("](").next().unwrap_or(row);
            for figure in figures(cells).iter().filter(|figure| !known.contains(figure)) {
                problem(format!("{figure} is not on {page}"));
            }
        }
    }
    Ok(problems)
}

/// The first line of each machine that `RESULTS.md` does not describe.
pub(crate) fn unknown_machines(project: &Path, records: &[Record]) -> Result<Vec<Problem>, Problem> {
    let text = problem::read(&project.join("RESULTS.md"))?;
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    for record in records {
        let Some(machine) =
            record.get("machine").as_ref().and_then(|value| value.as_str().map(str::to_owned))
        else {
            continue;
        };
        if !text.contains(&format!("`{machine}`")) && seen.insert(machine.clone()) {
            problems.push(record.problem(format_args!("machine {machine} is not described in RESULTS.md")));
        }
    }
    Ok(problems)
}

/// The anchor of a heading: lower case, spaces as hyphens, without punctuation.
pub(crate) fn heading(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = title.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// The numbers in a text that have three or more significant digits, without commas between thousands.
fn figures(text: &str) -> Vec<String> {
    let mut figures = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !".,_".contains(c)) {
        let number = word.trim_matches(['.', ',']).replace(',', "");
        let digits = number.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
        if digits >= 3 && number.chars().all(|c| c.is_ascii_digit() || c == '.') {
            figures.push(number);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::{figures, heading};

    #[test]
    fn figures_have_three_digits_and_are_no_parts_of_words() {
        assert_eq!(
            figures("138,400 pairs, 0.9585 at 8a2cd0f, 20 s, 0.05, f32, 7.25."),
            ["138400", "0.9585", "7.25"]
        );
    }

    #[test]
    fn headings_have_the_anchors_of_markdown() {
        assert_eq!(heading("## The ball: by radius").as_deref(), Some("the-ball-by-radius"));
        assert_eq!(heading("No heading"), None);
    }
}
