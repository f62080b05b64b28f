//! Tables in files: TSV or CSV, plain or gzip.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::{AppError, Result};

/// Opens a file, unpacking it if it begins as gzip does.
///
/// # Errors
/// If it cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn Read>> {
    let mut magic = [0; 2];
    let packed = {
        let mut file = File::open(path).map_err(AppError::io(path))?;
        file.read(&mut magic).map_err(AppError::io(path))? == 2 && magic == [0x1f, 0x8b]
    };
    let file = BufReader::new(File::open(path).map_err(AppError::io(path))?);
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// A file of a directory, plain or with `.gz` added to its name: the plain one if it is there.
pub fn plain_or_packed(directory: &Path, name: &str) -> PathBuf {
    let plain = directory.join(name);
    if plain.exists() { plain } else { directory.join(format!("{name}.gz")) }
}

/// Gives `line` the number, from 0, and the text of each line, blank ones too.
///
/// # Errors
/// If the file cannot be read or is not UTF-8; or with a message of `line`, beside the line's number.
pub fn read_lines(
    path: &Path,
    mut line: impl FnMut(usize, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut text = Vec::new();
    open(path)?.read_to_end(&mut text).map_err(AppError::io(path))?;
    for (number, bytes) in text.strip_suffix(b"\n").unwrap_or(&text).split(|&b| b == b'\n').enumerate() {
        let read = std::str::from_utf8(bytes).map_err(|_| "invalid UTF-8".to_owned());
        read.and_then(|text| line(number, text.strip_suffix('\r').unwrap_or(text)))
            .map_err(|message| AppError::line(path, number as u64 + 1, message))?;
    }
    Ok(())
}

/// Gives `row` the number, from 0, and the columns of each line that is not blank. The first line says what splits
/// columns: tabs if it has one, else commas, between which quotes may stand.
///
/// # Errors
/// If the file cannot be read or is not UTF-8; or with a message of `row`, beside the line's number.
pub fn read(
    path: &Path,
    mut row: impl FnMut(usize, &csv::StringRecord) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut text = Vec::new();
    open(path)?.read_to_end(&mut text).map_err(AppError::io(path))?;
    let first = text.split(|&b| b == b'\n').next().unwrap_or_default();
    let delimiter = if first.contains(&b'\t') { b'\t' } else { b',' };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .quoting(delimiter == b',')
        .from_reader(text.as_slice());
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
        return Err(AppError::line(path, line_at(&text, at), message));
    }
    Ok(())
}

/// The line, from 1, of the record that begins at a byte or after the blank lines there.
fn line_at(text: &[u8], byte: u64) -> u64 {
    let start = usize::try_from(byte).unwrap_or(0).min(text.len());
    let blank = text[start..].iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    1 + text[..start + blank].iter().filter(|&&b| b == b'\n').count() as u64
}
