//! Parallel text: sentences and their translations.

use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{plain_or_packed, read_lines};

/// A sentence and its translation.
pub type Sentences = (String, String);

/// Text for training, validation and testing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParallelText {
    /// Text for training.
    pub train: Vec<Sentences>,
    /// Text for validation.
    pub validation: Vec<Sentences>,
    /// Text for testing.
    pub test: Vec<Sentences>,
    /// The file of the sentences for testing, for errors.
    pub test_file: PathBuf,
}

impl ParallelText {
    /// Reads `train.tsv`, `val.tsv` and `test.tsv` of a directory, each plain or gzip. `given` has files to
    /// read instead, for training, validation and testing; see [`read`].
    ///
    /// # Errors
    /// Those of [`read`], or if neither a directory nor files are given.
    pub fn read(directory: Option<&Path>, given: [&[PathBuf]; 3]) -> Result<Self> {
        let files = |name: &str, option: &str, files: &[PathBuf]| match (files, directory) {
            ([], None) => Err(AppError::usage(format!("--path or --{option} is needed"))),
            ([], Some(directory)) => Ok(vec![plain_or_packed(directory, &format!("{name}.tsv"))]),
            (files, _) => Ok(files.to_vec()),
        };
        let [train, validation, test] = given;
        let train = read(&files("train", "train", train)?)?;
        let validation = read(&files("val", "validation", validation)?)?;
        let test = files("test", "test", test)?;
        Ok(ParallelText { train, validation, test: read(&test)?, test_file: test[0].clone() })
    }
}

/// Reads sentence pairs, plain or gzip: from one file with two columns separated by a tab, or from two files,
/// line by line. Blank lines are left out; in two files, lines that are blank in both.
///
/// # Errors
/// If a file cannot be read or has no sentences, a line is not UTF-8 or does not have two columns, one
/// sentence of a pair is empty, or two files have different numbers of lines.
pub fn read(files: &[PathBuf]) -> Result<Vec<Sentences>> {
    let mut text: Vec<Sentences> = Vec::new();
    match files {
        [file] => read_lines(file, |_, line| {
            if line.trim().is_empty() {
                return Ok(());
            }
            let columns: Vec<&str> = line.split('\t').collect();
            let [source, target] = columns[..] else {
                let count = columns.len();
                return Err(format!(
                    "two columns are needed, separated by a tab: sentence, translation; this line has {count}"
                ));
            };
            text.push(pair(source, target)?);
            Ok(())
        })?,
        [sources, targets] => {
            let mut lines = Vec::new();
            read_lines(sources, |_, line| {
                lines.push(line.to_owned());
                Ok(())
            })?;
            let mut count = 0;
            read_lines(targets, |at, target| {
                count = at + 1;
                let Some(source) = lines.get(at) else {
                    return Err(format!("{} has only {} lines", sources.display(), lines.len()));
                };
                if !(source.trim().is_empty() && target.trim().is_empty()) {
                    text.push(pair(source, target)?);
                }
                Ok(())
            })?;
            if count < lines.len() {
                let message = format!("{count} lines; {} has {}", sources.display(), lines.len());
                return Err(AppError::content(targets, message));
            }
        }
        _ => return Err(AppError::usage("one file with two columns, or two files, are needed")),
    }
    if text.is_empty() {
        return Err(AppError::content(&files[0], "no sentences"));
    }
    Ok(text)
}

fn pair(source: &str, target: &str) -> std::result::Result<Sentences, String> {
    match (source.trim(), target.trim()) {
        ("", _) | (_, "") => Err("an empty sentence".to_owned()),
        (source, target) => Ok((source.to_owned(), target.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_or_two() {
        let d = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = d.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let want = vec![("a b".to_owned(), "x".to_owned()), ("c".to_owned(), "y z".to_owned())];
        let table = file("t.tsv", "a b\tx\n\n c \ty z\r\n");
        assert_eq!(read(&[table]).unwrap(), want);
        let (de, en) = (file("de", "a b\n\nc\n"), file("en", "x\n\ny z\n"));
        assert_eq!(read(&[de.clone(), en]).unwrap(), want);
        let message = |files: &[PathBuf]| read(files).unwrap_err().to_string();
        assert!(message(&[de.clone(), file("short", "x\n\n")]).contains("short: 2 lines; "));
        assert!(message(&[de.clone(), file("long", "x\n\ny\nz\n")]).contains("long:4: "));
        assert!(message(&[file("three", "a\tb\nc\td\te\n")]).ends_with("this line has 3"));
        assert!(message(&[file("half", "a\tb\nc\t \n")]).ends_with("half:2: an empty sentence"));
        assert!(message(&[file("none", "\n")]).ends_with("none: no sentences"));
    }
}
