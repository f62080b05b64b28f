//! The measurements: `data/*.jsonl`, one JSON object a line.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::problem::{self, Problem};

/// A run, or a figure: one line. Every key must be there; what was not recorded is `null`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    table: String,
    row: Map<String, Value>,
    #[serde(deserialize_with = "nullable")]
    commit: Option<String>,
    #[serde(deserialize_with = "nullable")]
    date: Option<String>,
    #[serde(deserialize_with = "nullable")]
    machine: Option<String>,
    #[serde(deserialize_with = "nullable")]
    command: Option<String>,
    #[serde(deserialize_with = "nullable")]
    seed: Option<u64>,
    figures: Map<String, Value>,
}

/// An option whose key must be there: serde takes a missing key for `None` otherwise.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(from)
}

/// A line and the place that it was read from.
pub(crate) struct Record {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    content: Line,
}

impl Record {
    /// The name of the data that the line belongs to.
    pub(crate) fn table(&self) -> &str {
        &self.content.table
    }

    /// The value at a key: `row.NAME`, `figures.NAME`, or a name of the line itself, as `commit`. `None` is a
    /// key that the line lacks, `Null` a value that was not recorded.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        let text = |value: &Option<String>| Some(value.clone().map_or(Value::Null, Value::String));
        match key.split_once('.') {
            Some(("row", name)) => self.content.row.get(name).cloned(),
            Some(("figures", name)) => self.content.figures.get(name).cloned(),
            _ => match key {
                "commit" => text(&self.content.commit),
                "date" => text(&self.content.date),
                "machine" => text(&self.content.machine),
                "command" => text(&self.content.command),
                "seed" => Some(self.content.seed.map_or(Value::Null, Value::from)),
                _ => None,
            },
        }
    }

    /// The number at a key, divided into the number at `over` if that is given.
    pub(crate) fn number(&self, key: &str, over: Option<&str>) -> Option<f64> {
        let number = self.get(key)?.as_f64()?;
        match over {
            None => Some(number),
            Some(over) => Some(self.get(over)?.as_f64()? / number),
        }
    }

    /// Whether the line belongs to `table` and has the given values.
    pub(crate) fn matches(&self, table: &str, values: &Map<String, Value>) -> bool {
        self.table() == table && self.has(values)
    }

    /// Whether the line has the given values, by key.
    pub(crate) fn has(&self, values: &Map<String, Value>) -> bool {
        values.iter().all(|(key, value)| self.get(key).as_ref() == Some(value))
    }

    /// A fault of this line.
    pub(crate) fn problem(&self, what: impl std::fmt::Display) -> Problem {
        Problem::in_line(&self.file, self.line, what)
    }
}

/// All lines of all files in the folder, in the order of the files' names.
pub(crate) fn read(folder: &Path) -> Result<Vec<Record>, Problem> {
    let mut records = Vec::new();
    for file in problem::files(folder, "jsonl")? {
        for (index, text) in problem::read(&file)?.lines().enumerate() {
            let content: Line =
                serde_json::from_str(text).map_err(|error| Problem::in_line(&file, index + 1, error))?;
            let record = Record { file: file.clone(), line: index + 1, content };
            if let Some((name, _)) =
                record.content.figures.iter().find(|(_, value)| !value.is_number() && !value.is_null())
            {
                return Err(
                    record.problem(format_args!("figure `{name}` is no number; text belongs in `row`"))
                );
            }
            records.push(record);
        }
    }
    Ok(records)
}
