//! Mentions in plain text: the text before a mention, the mention and the text after it, split by tabs.

use std::path::Path;

use cotangent_apps_common::error::Result;

use super::{Mentions, parse_json, read_lines};
use crate::mention::Mention;
use crate::tokens::tokenise;

/// Reads a file of plain text, a mention a line. Lines of JSON are read as [`read`](super::read) does.
///
/// # Errors
/// If the file cannot be read or has no mentions, a line has not three columns, or a mention is empty. The
/// error names the line.
pub fn read(path: &Path) -> Result<Mentions> {
    read_lines(path, |line| {
        let json = line.trim_start().starts_with('{') && !line.contains('\t');
        if json { parse_json(line) } else { Ok(vec![parse(line)?]) }
    })
}

/// The mention of a line.
fn parse(line: &str) -> std::result::Result<Mention, String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[left, mention, right] = &columns[..] else {
        return Err(format!(
            "{} columns; three are needed: text before the mention, mention, text after it",
            columns.len()
        ));
    };
    Mention::new(tokenise(left), tokenise(mention), tokenise(right), Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_tokenised() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.tsv");
        std::fs::write(&path, "Yesterday,\tDr. Who's friend\tleft.\n\n\tHe\t\n").unwrap();
        let mentions = read(&path).unwrap();
        assert_eq!(mentions.lines, [1, 3]);
        std::fs::write(&path, "\u{feff}Yesterday,\tDr. Who's friend\tleft.\n\n\tHe\t\n").unwrap();
        assert_eq!(read(&path).unwrap(), mentions);
        assert_eq!(mentions.list[0].left, ["Yesterday", ","]);
        assert_eq!(mentions.list[0].words, ["Dr.", "Who", "'s", "friend"]);
        assert_eq!(mentions.list[0].right, ["left", "."]);
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string().rsplit_once("t.tsv").unwrap().1.to_owned()
        };
        assert_eq!(
            error("a\tb\n"),
            ":1: 2 columns; three are needed: text before the mention, mention, text after it"
        );
        assert_eq!(error("a\t \tb\n"), ":1: an empty mention");
        assert!(error("{\"a\": }\n").starts_with(":1: not JSON"));
        assert_eq!(error(""), ": no mentions");
    }
}
