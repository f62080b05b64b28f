//! The pages: Markdown, with tables between `<!-- table NAME -->` and `<!-- end -->`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::Rendered;
use crate::problem::{self, Problem};
use crate::table::Tables;

const END: &str = "<!-- end -->";

/// The name in a line that opens a table.
fn opened(line: &str) -> Option<&str> {
    Some(line.strip_prefix("<!-- table ")?.strip_suffix(" -->")?.trim())
}

/// Every page in the folder with its tables rendered. Each table must be on a page.
pub(crate) fn render(results: &Path, tables: &Tables) -> Result<Vec<Rendered>, Problem> {
    let mut used = BTreeSet::new();
    let mut pages = Vec::new();
    for path in problem::files(results, "md")? {
        let present = problem::read(&path)?;
        let mut lines = present.lines().enumerate();
        let mut text = String::new();
        let mut differing = Vec::new();
        while let Some((index, line)) = lines.next() {
            text += line;
            text.push('\n');
            if line == END {
                return Err(Problem::in_line(&path, index + 1, "the end of a table that has no beginning"));
            }
            let Some(name) = opened(line) else { continue };
            let at_line =
                |what: &str| Problem::in_line(&path, index + 1, format_args!("table {name} {what}"));
            let table = tables.get(name).ok_or_else(|| at_line("is not in tables.json"))?;
            let mut before = String::new();
            loop {
                match lines.next() {
                    Some((_, END)) => break,
                    Some((_, line)) if opened(line).is_none() => {
                        before += line;
                        before.push('\n');
                    }
                    _ => return Err(at_line("has no end")),
                }
            }
            let table = format!("\n{table}\n");
            if before != table {
                differing.push(at_line("is stale: cargo run -p cotangent-results"));
            }
            text += &table;
            text += END;
            text.push('\n');
            used.insert(name.to_owned());
        }
        pages.push(Rendered { path, text, differing, present });
    }
    match tables.keys().find(|&name| !used.contains(name)) {
        Some(name) => Err(Problem::in_file(results, format_args!("table {name} is on no page"))),
        None => Ok(pages),
    }
}
