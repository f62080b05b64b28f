//! Readers of files of mentions. The content decides the format:
//!
//! | format | a line |
//! |---|---|
//! | [Ultra-Fine](ultra_fine), Choi et al. 2018 | `{"left_context_token": …, "mention_span": …, …}` |
//! | [OntoNotes](ontonotes), Gillick et al. 2014 | `{"tokens": […], "mentions": [{"start": 0, …}]}` |
//! | [tab-separated](tabular) | number, left context, mention, right context, types |
//!
//! [Plain text](plain) has a reader of its own, for predictions.
//!
//! All of them may be packed with gzip. Blank lines and a byte order mark at the start are skipped.

pub mod ontonotes;
pub mod plain;
pub mod tabular;
pub mod ultra_fine;

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table;
use serde_json::Value;

use crate::mention::Mention;

/// Mentions of a file, with the line of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// The mentions.
    pub list: Vec<Mention>,
    /// The line of each mention in its file, from 1.
    pub lines: Vec<u64>,
}

/// Reads a file of mentions in any of the formats. Mentions without types are kept.
///
/// # Errors
/// If the file cannot be read or has no mentions, a line is not in its format, or a mention or a type is
/// empty. If the first of tab-separated lines is a header: it has no number where all others have one. The
/// error names the line.
pub fn read(path: &Path) -> Result<Mentions> {
    let mut json = None;
    let (mut lines, mut first_is_named, mut others_are_numbered) = (0, false, true);
    let mentions = read_lines(path, |line| {
        let json = *json.get_or_insert_with(|| line.trim_start().starts_with('{'));
        if json {
            return parse_json(line);
        }
        let is_numbered = table::is_number(line.split('\t').next().unwrap_or_default());
        if lines == 0 {
            first_is_named = !is_numbered;
        } else {
            others_are_numbered &= is_numbered;
        }
        lines += 1;
        Ok(vec![tabular::parse(line)?])
    })?;
    if first_is_named && others_are_numbered && lines > 1 {
        let message = "no number, as all other lines begin with: a header is not read, take it out";
        return Err(AppError::line(path, mentions.lines[0], message));
    }
    Ok(mentions)
}

/// Reads a file with `parse`, which is given every line that is not blank.
fn read_lines(
    path: &Path,
    mut parse: impl FnMut(&str) -> std::result::Result<Vec<Mention>, String>,
) -> Result<Mentions> {
    let mut mentions = Mentions::default();
    table::read_lines(path, |number, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let found = parse(line)?;
        mentions.lines.extend(found.iter().map(|_| number as u64 + 1));
        mentions.list.extend(found);
        Ok(())
    })?;
    if mentions.list.is_empty() {
        return Err(AppError::content(path, "no mentions"));
    }
    Ok(mentions)
}

/// The mentions of a line of JSON.
fn parse_json(line: &str) -> std::result::Result<Vec<Mention>, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    if !value.is_object() {
        return Err("not a JSON object".to_owned());
    }
    if value.get("mentions").is_some() {
        return ontonotes::parse(&value);
    }
    Ok(vec![ultra_fine::parse(&value)?])
}

/// An entry that is a list of texts.
fn texts(value: &Value, name: &str) -> std::result::Result<Vec<String>, String> {
    let wrong = || format!("the entry {name:?} must be a list of texts");
    let list = value.get(name).and_then(Value::as_array).ok_or_else(wrong)?;
    list.iter().map(|text| text.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> std::result::Result<Mentions, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m.txt");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.to_string().rsplit_once("m.txt").unwrap().1.to_owned())
    }

    const ULTRA_FINE: &str = r#"{"annot_id": "a:1", "left_context_token": ["The", "painter"],
        "mention_span": "Jan Vermeer", "right_context_token": ["lived", "."],
        "y_str": ["person", "artist"]}"#;

    #[test]
    fn three_formats_give_the_same_mention() {
        let ultra_fine = read_text(&ULTRA_FINE.replace('\n', " ")).unwrap();
        let tabular = read_text("7\tThe painter\tJan Vermeer\tlived .\tperson artist\n").unwrap();
        assert_eq!(ultra_fine, tabular);
        let ontonotes = r#"{"tokens": ["The", "painter", "Jan", "Vermeer", "lived", "."],
            "mentions": [{"start": 2, "end": 4, "labels": ["person", "artist"]}]}"#;
        assert_eq!(read_text(&ontonotes.replace('\n', " ")).unwrap(), tabular);
        assert_eq!(tabular.list[0].left, ["The", "painter"]);
        assert_eq!(tabular.list[0].text(), "Jan Vermeer");
    }

    #[test]
    fn contexts_and_types_may_be_empty() {
        let mentions = read_text("0\t\tHe\t\t\n\n1\t\tShe\truns\tperson\n").unwrap();
        assert_eq!(mentions.lines, [1, 3]);
        assert!(mentions.list[0].left.is_empty() && mentions.list[0].types.is_empty());
    }

    #[test]
    fn bad_lines_are_named() {
        let good = ULTRA_FINE.replace('\n', " ");
        let second = |line: &str| read_text(&format!("{good}\n{line}\n")).unwrap_err();
        assert!(second("{\"a\": ").starts_with(":2: not JSON: "));
        assert!(second("person").starts_with(":2: not JSON: "));
        assert_eq!(second("[1]"), ":2: not a JSON object");
        assert_eq!(second("{}"), ":2: the entry \"left_context_token\" must be a list of texts");
        let emptied = good.replace("Jan Vermeer", " ");
        assert_eq!(second(&emptied), ":2: an empty mention");
        assert_eq!(second(&good.replace("artist", "")), ":2: an empty name of a type");
        let labels = r#"{"tokens": ["A"], "mentions": [{"start": 0, "end": 1, "labels": [" "]}]}"#;
        assert_eq!(second(labels), ":2: an empty name of a type");
        assert_eq!(
            second(&good.replace("\"Jan Vermeer\"", "3")),
            ":2: the entry \"mention_span\" must be a text"
        );
        let columns = read_text("1\ta\tb\tc\n").unwrap_err();
        assert_eq!(
            columns,
            ":1: 4 columns; five are needed: number, left context, mention, right context, types"
        );
        assert_eq!(read_text("1\ta\t \tc\tperson\n").unwrap_err(), ":1: an empty mention");
        assert_eq!(read_text("\n").unwrap_err(), ": no mentions");
    }

    /// It was a mention.
    #[test]
    fn a_header_is_an_error() {
        let header = "id\tleft\tmention\tright\ttypes\n";
        let error = read_text(&format!("{header}0\t\tHe\t\tperson\n1\t\tShe\t\tperson\n")).unwrap_err();
        assert_eq!(error, ":1: no number, as all other lines begin with: a header is not read, take it out");
        // Numbers are not compared where some lines have names.
        assert_eq!(read_text(&format!("{header}0\t\tHe\t\t\nx\t\tShe\t\t\n")).unwrap().list.len(), 3);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        for text in [ULTRA_FINE.replace('\n', " "), "7\ta\tb\tc\tperson".to_owned()] {
            assert_eq!(read_text(&format!("\u{feff}{text}")).unwrap(), read_text(&text).unwrap());
        }
    }

    #[test]
    fn a_sentence_has_several_mentions() {
        let line = r#"{"tokens": ["A", "met", "B"], "mentions": [
            {"start": 0, "end": 1, "labels": ["/person"]}, {"start": 2, "end": 3, "labels": []}]}"#;
        let mentions = read_text(&line.replace('\n', " ")).unwrap();
        assert_eq!(mentions.lines, [1, 1]);
        assert_eq!(mentions.list[1].left, ["A", "met"]);
        let wrong = line.replace("\"end\": 3", "\"end\": 4").replace('\n', " ");
        let error = read_text(&wrong).unwrap_err();
        assert_eq!(error, ":1: a mention from token 2 to 4 in a sentence of 3 tokens");
    }
}
