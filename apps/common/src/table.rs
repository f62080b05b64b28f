//! Tables and lines in files, plain or gzip.
//!
//! [`Table`] reads the tables of users: it finds out how one is laid out, and says so. [`read_quoted`] and
//! [`read_lines`] read files whose layout is fixed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{AppError, Result};

mod layout;
mod options;
mod row;
mod text;
mod trial;

pub use layout::{Table, Wanted, is_number, normalise};
pub use options::{Header, TableOptions};
pub use row::{Row, Separator};

/// Names of the columns of an edge's ends, as [`normalise`] returns them: where it starts and where it
/// ends.
pub const EDGE_ENDS: &[&[&str]] = &[
    &["source", "target"],
    &["src", "dst"],
    &["from", "to"],
    &["child", "parent"],
    &["id1", "id2"],
    &["node1", "node2"],
    &["u", "v"],
    &["head", "tail"],
    &["sourceid", "targetid"],
    &["sourcenode", "targetnode"],
    &["srcid", "dstid"],
    &["fromid", "toid"],
    &["fromnode", "tonode"],
    &["fromnodeid", "tonodeid"],
    &["childid", "parentid"],
    &["nodeid1", "nodeid2"],
    &["citing", "cited"],
    &["hyponym", "hypernym"],
];

/// The largest size that a packed file may unpack to: this factor times its size, or this many bytes. Gzip
/// packs text to a tenth or a thirtieth of its size. A file that is packed to a thousandth was made to fill
/// its reader's memory.
const UNPACKED: (u64, u64) = (100, 64 << 20);

/// The largest size that a file may unpack to if all of it is read at once.
const LARGEST: u64 = 1 << 30;

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How some programs begin a file in UTF-8.
pub const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The content of a file, unpacked if the file begins like gzip. The file is opened once, so it may be a
/// pipe.
///
/// # Errors
/// If the file cannot be read, or unpacks to more than a hundred times its size and 64 MiB, or to more than
/// 1 GiB. The error names the line at that limit.
pub fn content(path: &Path) -> Result<Vec<u8>> {
    let text = std::fs::read(path).map_err(AppError::io(path))?;
    if text.starts_with(&GZIP) { unpack(path, &text) } else { Ok(text) }
}

/// Unpacks the content of a file.
fn unpack(path: &Path, packed: &[u8]) -> Result<Vec<u8>> {
    let limit = unpacked_limit(packed.len() as u64).min(LARGEST);
    let mut text = Vec::new();
    MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut text).map_err(AppError::io(path))?;
    if text.len() as u64 > limit {
        return Err(AppError::line(path, line_at(&text, limit), too_large(packed.len() as u64, limit)));
    }
    Ok(text)
}

/// The largest size that a packed file of so many bytes may unpack to.
fn unpacked_limit(packed: u64) -> u64 {
    UNPACKED.0.saturating_mul(packed).max(UNPACKED.1)
}

/// The error for a file of so many bytes that unpacks to more than that.
fn too_large(packed: u64, limit: u64) -> String {
    format!("{packed} bytes unpack to more than {limit}; if they should, unpack it first")
}

/// Bytes of a plain file that are read together.
const BUFFER: usize = 1 << 16;

/// The path of a file in a directory: the plain file if it exists, else the name with `.gz` added.
pub fn plain_or_packed(directory: &Path, name: &str) -> PathBuf {
    let plain = directory.join(name);
    if plain.exists() { plain } else { directory.join(format!("{name}.gz")) }
}

/// The name of a directory or a file, also of one that a path such as `.` does not name.
pub fn name_of(path: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    name(path).or_else(|| name(&path.canonicalize().ok()?)).unwrap_or_default()
}

/// Calls `line` with the number (from 0) and the text of each line, including blank ones. A byte order mark
/// at the start of the file is skipped.
///
/// # Errors
/// If the file cannot be read or is not UTF-8, or if `line` returns an error. The error names the line.
pub fn read_lines(
    path: &Path,
    line: impl FnMut(usize, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    parse_lines(path, &content(path)?, line)
}

/// Same as [`read_lines`], for the content of a file. `path` is for the error.
///
/// # Errors
/// As [`read_lines`].
pub fn parse_lines(
    path: &Path,
    text: &[u8],
    mut line: impl FnMut(usize, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    let text = text.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(text);
    for (number, bytes) in text.strip_suffix(b"\n").unwrap_or(text).split(|&b| b == b'\n').enumerate() {
        let read = std::str::from_utf8(bytes).map_err(|_| "invalid UTF-8".to_owned());
        read.and_then(|text| line(number, text.strip_suffix('\r').unwrap_or(text)))
            .map_err(|message| AppError::line(path, number as u64 + 1, message))?;
    }
    Ok(())
}

/// Calls `row` with the number (from 0) and the columns of each row of a file whose columns are separated by
/// tabs and may be quoted, as [`quoted`] writes them: a quoted column may have line breaks. Blank lines are
/// skipped.
///
/// # Errors
/// If the file cannot be read or is not UTF-8, or `row` returns an error. The error names the line.
pub fn read_quoted(
    path: &Path,
    row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    if std::fs::metadata(path).map_err(AppError::io(path))?.is_file() {
        let mut reader = BufReader::with_capacity(BUFFER, File::open(path).map_err(AppError::io(path))?);
        if !reader.fill_buf().map_err(AppError::io(path))?.starts_with(&GZIP) {
            return records(path, reader, |byte| Ok(line_at(&content(path)?, byte)), row);
        }
    }
    parse_quoted(path, &content(path)?, row)
}

/// Same as [`read_quoted`], for the content of a file. `path` is for the error.
///
/// # Errors
/// As [`read_quoted`].
pub fn parse_quoted(
    path: &Path,
    text: &[u8],
    row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    records(path, text, |byte| Ok(line_at(text, byte)), row)
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
    input: impl Read,
    line: impl FnOnce(u64) -> Result<u64>,
    mut row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    // Without it, a quote that is not closed on the last line would end with the file.
    let input = input.chain(&b"\n"[..]);
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(b'\t').from_reader(input);
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
        let byte = position.map_or(0, |position| position.byte());
        return Err(AppError::line(path, line(byte)?, message));
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

    #[test]
    fn a_path_without_a_name_has_that_of_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cora");
        std::fs::create_dir_all(path.join("x")).unwrap();
        for path in [path.clone(), path.join("."), path.join("x/.."), dir.path().join("none/cora")] {
            assert_eq!(name_of(&path), "cora", "{}", path.display());
        }
        assert_eq!(name_of(Path::new("/")), "");
        assert!(!name_of(Path::new(".")).is_empty());
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
        assert_eq!(read_quoted(&path, |_, _| Ok(())).unwrap_err().to_string(), error);
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
