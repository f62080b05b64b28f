//! Tables in files: TSV or CSV, plain or gzip.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{AppError, Result};

/// The largest size that a packed file may unpack to: this factor times its size, clamped to these bounds
/// in bytes. Gzip packs text to a tenth or a thirtieth of its size. A file that is packed to a thousandth was
/// made to fill its reader's memory.
const UNPACKED: (u64, [u64; 2]) = (100, [64 << 20, 1 << 30]);

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How some programs begin a file in UTF-8.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The content of a file, unpacked if the file begins like gzip.
///
/// # Errors
/// If the file cannot be read, or unpacks to more than a hundred times its size and 64 MiB, or to more than
/// 1 GiB. The error names the line at that limit.
pub fn content(path: &Path) -> Result<Vec<u8>> {
    let mut text = std::fs::read(path).map_err(AppError::io(path))?;
    if !text.starts_with(&GZIP) {
        return Ok(text);
    }
    let packed = std::mem::take(&mut text);
    let (ratio, [least, largest]) = UNPACKED;
    let limit = (ratio * packed.len() as u64).clamp(least, largest);
    let mut unpacked = MultiGzDecoder::new(packed.as_slice()).take(limit + 1);
    unpacked.read_to_end(&mut text).map_err(AppError::io(path))?;
    if text.len() as u64 > limit {
        let message =
            format!("{} bytes unpack to more than {limit}; if they should, unpack it first", packed.len());
        return Err(AppError::line(path, line_at(&text, limit), message));
    }
    Ok(text)
}

/// A file that is read from its beginning to its end.
enum Source {
    /// A plain file, which is read piece by piece.
    Plain(BufReader<File>),
    /// The text of any other: one that was packed, or a pipe, which can be read only once.
    Whole(Vec<u8>),
}

impl Source {
    fn open(path: &Path) -> Result<Self> {
        if !std::fs::metadata(path).map_err(AppError::io(path))?.is_file() {
            return Ok(Source::Whole(content(path)?));
        }
        let mut reader = BufReader::with_capacity(BUFFER, File::open(path).map_err(AppError::io(path))?);
        let packed = reader.fill_buf().map_err(AppError::io(path))?.starts_with(&GZIP);
        Ok(if packed { Source::Whole(content(path)?) } else { Source::Plain(reader) })
    }

    /// The first line that is not blank, or what the buffer holds of it.
    fn first_line(&self) -> &[u8] {
        let start = match self {
            Source::Plain(reader) => reader.buffer(),
            Source::Whole(text) => text,
        };
        let start = start.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(start);
        let mut lines = start.split(|&b| b == b'\n');
        lines.find(|line| !line.is_empty() && *line != b"\r").unwrap_or_default()
    }
}

/// Bytes of a plain file that are read together.
const BUFFER: usize = 1 << 16;

/// The path of a file in a directory: the plain file if it exists, else the name with `.gz` added.
pub fn plain_or_packed(directory: &Path, name: &str) -> PathBuf {
    let plain = directory.join(name);
    if plain.exists() { plain } else { directory.join(format!("{name}.gz")) }
}

/// Whether the first line of a file that is not blank has tabs; of a long one, its first 65,536 bytes.
///
/// # Errors
/// If the file cannot be read.
pub fn has_tabs(path: &Path) -> Result<bool> {
    Ok(Source::open(path)?.first_line().contains(&b'\t'))
}

/// Calls `line` with the number (from 0) and the text of each line, including blank ones. A byte order mark
/// at the start of the file is skipped.
///
/// # Errors
/// If the file cannot be read or is not UTF-8, or if `line` returns an error. The error names the line.
pub fn read_lines(
    path: &Path,
    mut line: impl FnMut(usize, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    let text = content(path)?;
    let text = text.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(&text);
    for (number, bytes) in text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n').enumerate() {
        let read = std::str::from_utf8(bytes).map_err(|_| "invalid UTF-8".to_owned());
        read.and_then(|text| line(number, text.strip_suffix('\r').unwrap_or(text)))
            .map_err(|message| AppError::line(path, number as u64 + 1, message))?;
    }
    Ok(())
}

/// Calls `row` with the number (from 0) and the columns of each row; blank lines are skipped. If the first
/// line that is not blank has a tab, tabs separate columns; otherwise commas do, and columns may be quoted.
///
/// # Errors
/// If the file cannot be read or is not UTF-8, a quoted column does not end on its line, or `row` returns an
/// error. The error names the line.
pub fn read(
    path: &Path,
    mut row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut source = Source::open(path)?;
    let delimiter = if source.first_line().contains(&b'\t') { b'\t' } else { b',' };
    records(path, &mut source, delimiter, delimiter == b',', |number, record| {
        if record.iter().any(|column| column.contains(['\n', '\r'])) {
            return Err("a quoted column does not end on this line; is a quote not closed?".to_owned());
        }
        row(number, record)
    })
}

/// Same as [`read`], for a file whose columns are separated by tabs and may be quoted, as [`quoted`]
/// writes them.
///
/// # Errors
/// As [`read`].
pub fn read_quoted(
    path: &Path,
    row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    records(path, &mut Source::open(path)?, b'\t', true, row)
}

/// Text as a column of a tab-separated file. It is quoted if it contains a tab or a line break, or begins
/// with a quote; quotes inside are then doubled.
pub fn quoted(column: &str) -> Cow<'_, str> {
    if column.starts_with('"') || column.contains(['\t', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", column.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(column)
    }
}

fn records(
    path: &Path,
    source: &mut Source,
    delimiter: u8,
    quoting: bool,
    mut row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    let input: &mut dyn Read = match source {
        Source::Plain(reader) => reader,
        Source::Whole(text) => &mut text.as_slice(),
    };
    // Without it, a quote that is not closed on the last line would end with the file.
    let input = input.chain(&b"\n"[..]);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .quoting(quoting)
        .from_reader(input);
    let mut record = csv::StringRecord::new();
    for number in 0.. {
        let (position, message) = match reader.read_record(&mut record) {
            Ok(false) => break,
            Ok(true) => match row(number, &record) {
                Ok(()) => continue,
                Err(message) => (record.position().cloned(), message),
            },
            Err(error) => match error.kind() {
                csv::ErrorKind::Utf8 { .. } => (error.position().cloned(), "invalid UTF-8".to_owned()),
                _ => (error.position().cloned(), error.to_string()),
            },
        };
        let at = position.map_or(0, |position| position.byte());
        let line = match source {
            Source::Plain(_) => line_at(&content(path)?, at),
            Source::Whole(text) => line_at(text, at),
        };
        return Err(AppError::line(path, line, message));
    }
    Ok(())
}

/// The line number (from 1) in a text of the record that begins at a byte, or after blank lines at that byte.
pub fn line_at(text: &[u8], byte: u64) -> u64 {
    let start = usize::try_from(byte).unwrap_or(0).min(text.len());
    let blank = text[start..].iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    1 + text[..start + blank].iter().filter(|&&b| b == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The reader of CSV takes the end of the file as the end of a quoted column, which may have many lines.
    #[test]
    fn a_quote_that_is_not_closed_is_an_error_of_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pairs.csv");
        let error = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path, |_, _| Ok(())).unwrap_err().to_string()
        };
        let lines = "a,b\n".repeat(9);
        for after in [&lines, "\n", ""] {
            let begun = format!("{lines}c,\"d{after}");
            assert!(error(&begun).ends_with(
                "pairs.csv:10: a quoted column does not end on this line; is a quote not closed?"
            ));
        }
        std::fs::write(&path, "c,\"d, e\"\n").unwrap();
        read(&path, |_, record| (&record[1] == "d, e").then_some(()).ok_or_else(String::new)).unwrap();
        std::fs::write(&path, "\n\r\na, b\tc\n").unwrap();
        read(&path, |_, record| (&record[0] == "a, b").then_some(()).ok_or_else(String::new)).unwrap();
    }

    /// The file is a series of gzip members, each of which unpacks to one line of a mebibyte.
    #[test]
    fn a_file_that_unpacks_to_too_much_is_refused() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&[b'x'; (1 << 20) - 1]).and_then(|()| gzip.write_all(b"\n")).unwrap();
        let member = gzip.finish().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bomb.gz");
        std::fs::write(&path, member.repeat(66)).unwrap();
        let error = read_lines(&path, |_, _| Ok(())).unwrap_err().to_string();
        let size = 66 * member.len();
        let message =
            format!("bomb.gz:65: {size} bytes unpack to more than 67108864; if they should, unpack it first");
        assert!(error.ends_with(&message), "{error}");
        assert_eq!(read(&path, |_, _| Ok(())).unwrap_err().to_string(), error);
        std::fs::write(&path, member.repeat(63)).unwrap();
        let mut lines = 0;
        read_lines(&path, |_, line| {
            lines += usize::from(line.len() == (1 << 20) - 1);
            Ok(())
        })
        .unwrap();
        assert_eq!(lines, 63);
    }
}
