//! The tables: `tables.json` says which lines of the data each one shows, in which columns.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::data::Record;
use crate::problem::{self, Problem};

/// How a table is laid out. It shows the lines of `data` that have the values of `where`, in their order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layout {
    /// What pages call the table.
    name: String,
    /// The `table` of its lines; its own name if none is given.
    data: Option<String>,
    /// Values that a line must have, by key.
    #[serde(default)]
    r#where: Map<String, Value>,
    /// Keys: lines that have the same values there share a row. Without any, each line is a row.
    #[serde(default)]
    by: Vec<String>,
    columns: Vec<Column>,
}

/// A column: a heading, and what its cells show.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    title: String,
    /// See [`Record::get`].
    key: String,
    /// The key of a number that is divided by that of `key`: how many times as fast.
    over: Option<String>,
    /// The key of half the width of an interval around the number.
    interval: Option<String>,
    /// Values of the lines that fill the column, where lines share a row.
    #[serde(default)]
    r#where: Map<String, Value>,
    #[serde(default)]
    format: Format,
}

/// How a cell is written.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Text as it is, a number with all of its digits.
    #[default]
    Plain,
    /// Text as code.
    Code,
    /// A whole number with commas between groups of three digits.
    Thousands,
    /// One digit and a power of ten.
    Scientific,
    /// Seconds, as minutes and seconds.
    Duration,
    /// A number with so many decimals.
    Digits(usize),
    /// A number of 1 or more with so many significant digits.
    Significant(usize),
}

/// Tables as Markdown, by name.
pub(crate) type Tables = BTreeMap<String, String>;

/// Renders every table of the file of layouts.
pub(crate) fn read(file: &Path, records: &[Record]) -> Result<Tables, Problem> {
    let layouts: Vec<Layout> = serde_json::from_str(&problem::read(file)?)
        .map_err(|error| Problem::in_line(file, error.line(), error))?;
    let mut tables = Tables::new();
    let mut shown = vec![false; records.len()];
    for layout in &layouts {
        let name = &layout.name;
        let data = layout.data.as_ref().unwrap_or(name);
        let rows: Vec<usize> =
            (0..records.len()).filter(|&row| records[row].matches(data, &layout.r#where)).collect();
        rows.iter().for_each(|&row| shown[row] = true);
        let rows: Vec<&Record> = rows.into_iter().map(|row| &records[row]).collect();
        let text = markdown(layout, &rows)
            .map_err(|what| Problem::in_file(file, format_args!("table {name}: {what}")))?;
        if tables.insert(name.clone(), text).is_some() {
            return Err(Problem::in_file(file, format_args!("two tables are called {name}")));
        }
    }
    match shown.iter().position(|&shown| !shown) {
        Some(row) => {
            let table = records[row].table();
            Err(records[row].problem(format_args!("no table shows this line of `{table}`")))
        }
        None => Ok(tables),
    }
}

/// The table in Markdown, without empty lines around it.
fn markdown(layout: &Layout, lines: &[&Record]) -> Result<String, String> {
    if lines.is_empty() {
        return Err("no line of the data has its values".into());
    }
    let rows = rows(layout, lines)?;
    let mut head = String::from("|");
    let mut rule = String::from("|");
    let mut body = vec![String::from("|"); rows.len()];
    for column in &layout.columns {
        let keys = [Some(&column.key), column.over.as_ref(), column.interval.as_ref()];
        for key in keys.into_iter().flatten() {
            if lines.iter().all(|line| line.get(key).is_none()) {
                return Err(format!("no line has the key {key}"));
            }
        }
        let numbers = lines.iter().all(|line| !matches!(line.get(&column.key), Some(Value::String(_))));
        head += &format!(" {} |", column.title);
        rule += if numbers { "---:|" } else { "---|" };
        for (text, row) in body.iter_mut().zip(&rows) {
            *text += &format!(" {} |", shared_cell(column, row)?);
        }
    }
    Ok(format!("{head}\n{rule}\n{}\n", body.join("\n")))
}

/// The lines of each row. Where a row has several, each of them must fill a column.
fn rows<'a>(layout: &Layout, lines: &[&'a Record]) -> Result<Vec<Vec<&'a Record>>, String> {
    if layout.by.is_empty() {
        return Ok(lines.iter().map(|&line| vec![line]).collect());
    }
    let values = |line: &Record| layout.by.iter().map(|key| line.get(key)).collect::<Vec<_>>();
    let mut rows: Vec<Vec<&Record>> = Vec::new();
    for &line in lines {
        let fills = |column: &Column| !column.r#where.is_empty() && line.has(&column.r#where);
        if !layout.columns.iter().any(fills) {
            return Err(line.problem("no column shows this line").to_string());
        }
        match rows.iter_mut().find(|row| values(row[0]) == values(line)) {
            Some(row) => row.push(line),
            None => rows.push(vec![line]),
        }
    }
    Ok(rows)
}

/// The cell of a row: what those of its lines show that have the column's values, which must be one text.
fn shared_cell(column: &Column, row: &[&Record]) -> Result<String, String> {
    let mut cells = row.iter().filter(|line| line.has(&column.r#where)).map(|line| cell(column, line));
    let Some(first) = cells.next() else { return Ok(ABSENT.into()) };
    match cells.find(|other| *other != first) {
        Some(other) => Err(format!("column {}: a row shows both {first} and {other}", column.title)),
        None => Ok(first),
    }
}

/// In a cell for what was not recorded or is not there.
const ABSENT: &str = "–";

/// What a cell shows: an en dash for what was not recorded or is not there.
fn cell(column: &Column, row: &Record) -> String {
    let absent = || ABSENT.to_string();
    match row.get(&column.key) {
        Some(Value::String(text)) => match column.format {
            Format::Code if !text.is_empty() => format!("`{}`", text.replace('|', "\\|")),
            _ => text.replace('|', "\\|"),
        },
        Some(Value::Number(_)) => {
            let Some(value) = row.number(&column.key, column.over.as_deref()) else { return absent() };
            let text = number(value, column.format);
            match column.interval.as_ref().and_then(|key| row.number(key, None)) {
                Some(width) => format!("{text} ± {}", number(width, column.format)),
                None => text,
            }
        }
        _ => absent(),
    }
}

/// A number as the format has it.
pub(crate) fn number(value: f64, format: Format) -> String {
    match format {
        Format::Plain | Format::Code => format!("{value}"),
        Format::Scientific if value == 0.0 => "0".into(),
        Format::Scientific => format!("{value:e}"),
        Format::Digits(decimals) => format!("{value:.decimals$}"),
        Format::Significant(digits) => {
            let whole = format!("{:.0}", value.floor()).len();
            format!("{value:.*}", digits.saturating_sub(whole))
        }
        Format::Duration if value < 60.0 => format!("{value} s"),
        Format::Duration => format!("{} min {} s", (value / 60.0).floor(), value % 60.0),
        Format::Thousands => {
            let digits = format!("{value:.0}");
            let mut text = String::new();
            for (index, digit) in digits.chars().enumerate() {
                if index > 0 && (digits.len() - index).is_multiple_of(3) {
                    text.push(',');
                }
                text.push(digit);
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, number};

    #[test]
    fn numbers_are_written_as_their_format_has_it() {
        for (value, format, expected) in [
            (138400.0, Format::Thousands, "138,400"),
            (614.0, Format::Thousands, "614"),
            (0.963, Format::Digits(4), "0.9630"),
            (5.8, Format::Significant(3), "5.80"),
            (41.4, Format::Significant(3), "41.4"),
            (3e-16, Format::Scientific, "3e-16"),
            (0.0, Format::Scientific, "0"),
            (400.0, Format::Duration, "6 min 40 s"),
            (31.0, Format::Duration, "31 s"),
        ] {
            assert_eq!(number(value, format), expected);
        }
    }
}
