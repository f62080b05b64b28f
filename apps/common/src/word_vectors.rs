//! Files of word vectors: the formats of word2vec, text and binary, and of GloVe.
//!
//! Both formats of word2vec begin with a line of two numbers: how many points, how many coordinates. The text
//! format then has a line for each point, a name and decimal numbers, split by single spaces. The binary
//! format has a name, a space and the coordinates as little-endian `f32`, and a line break, which some
//! programs leave out. Source: Mikolov's `word2vec.c`, and gensim's `load_word2vec_format`. GloVe's format is
//! the text without the first line.

use std::path::Path;

use crate::error::{AppError, Result};
use crate::table;

/// Reads word2vec's text format or GloVe's, plain or gzip: word2vec's if the first line is two numbers.
/// `point` is given the name of each point and its coordinates, as decimal numbers split by single spaces.
///
/// In GloVe's format the first line decides how many coordinates there are. Names after it may have spaces.
///
/// # Errors
/// If the file cannot be read, or is not in the format, or `point` returns an error. The error names the
/// line.
pub fn read_any_text(
    path: &Path,
    mut point: impl FnMut(&str, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    let (mut announced, mut width): (Option<Word2vec>, _) = (None, None);
    table::read_lines(path, |number, line| {
        if number == 0 {
            announced = header(line).map(Word2vec::new);
        }
        match &mut announced {
            Some(_) if number == 0 => Ok(()),
            Some(announced) => announced.line(line, &mut point),
            None => {
                let (name, coordinates) = glove_line(line, width)?;
                width = width.or_else(|| Some(coordinates.split(' ').count()));
                point(name, coordinates)
            }
        }
    })?;
    announced.map_or(Ok(()), |announced| announced.finish(path))
}

/// The name and the coordinates of a line of GloVe's format, with as many coordinates as the first line. What
/// is before them is the name. If it ends in numbers, the line is one with too many coordinates.
fn glove_line(line: &str, width: Option<usize>) -> std::result::Result<(&str, &str), String> {
    let line = line.trim_end_matches(' ');
    let (first, others) = line.split_once(' ').unwrap_or((line, ""));
    if others.is_empty() {
        return Err("a word without numbers".to_owned());
    }
    let Some(width) = width else { return Ok((first, others)) };
    let found = others.split(' ').count();
    let wrong = || Err(format!("{found} numbers after the word; the first has {width}"));
    if found < width {
        return wrong();
    }
    let extra = found - width;
    if extra == 0 {
        return Ok((first, others));
    }
    let is_number = |field: &str| field.parse::<f64>().is_ok_and(f64::is_finite);
    if others.split(' ').take(extra).all(is_number) {
        return wrong();
    }
    let (start, _) = line.match_indices(' ').nth(extra).expect("a space before the coordinates");
    Ok((&line[..start], &line[start + 1..]))
}

/// Reads the content of a file in word2vec's text format. `point` is given the name of each point and its
/// coordinates, as decimal numbers split by single spaces. `path` is for the error.
///
/// # Errors
/// If the content is not in the format, or `point` returns an error. The error names the line.
pub fn parse_text(
    path: &Path,
    content: &[u8],
    mut point: impl FnMut(&str, &str) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut announced = None;
    table::parse_lines(path, content, |_, line| match &mut announced {
        Some(announced) => Word2vec::line(announced, line, &mut point),
        None => {
            announced = Some(Word2vec::new(parse_header(line)?));
            Ok(())
        }
    })?;
    announced.map_or(Ok(()), |announced| announced.finish(path))
}

/// What the first line of word2vec's text format announces, and how many points were read.
struct Word2vec {
    count: usize,
    width: usize,
    read: usize,
}

impl Word2vec {
    fn new([count, width]: [usize; 2]) -> Self {
        Word2vec { count, width, read: 0 }
    }

    /// Reads the next line.
    fn line(
        &mut self,
        line: &str,
        point: &mut impl FnMut(&str, &str) -> std::result::Result<(), String>,
    ) -> std::result::Result<(), String> {
        let Word2vec { count, width, read } = *self;
        // Some programs end lines with a space.
        let line = line.trim_end_matches(' ');
        if read == count {
            return Err(format!("a line after the {count} points that the first line announces"));
        }
        let (name, coordinates) = line.split_once(' ').unwrap_or((line, ""));
        let found = if coordinates.is_empty() { 0 } else { coordinates.split(' ').count() };
        if found != width {
            return Err(format!("{found} numbers after the name; the first line announces {width}"));
        }
        self.read += 1;
        point(name, coordinates)
    }

    /// Checks that all points were read.
    fn finish(&self, path: &Path) -> Result<()> {
        let Word2vec { count, read, .. } = *self;
        if read < count {
            return Err(AppError::content(path, format!("{read} points; the first line announces {count}")));
        }
        Ok(())
    }
}

/// The numbers of points and of coordinates. None of them is 0.
fn parse_header(line: &str) -> std::result::Result<[usize; 2], String> {
    header(line)
        .ok_or_else(|| "the first line of a word2vec file is two numbers: points and coordinates".to_owned())
}

/// The numbers of points and of coordinates, if a line is the first line of a word2vec file.
fn header(line: &str) -> Option<[usize; 2]> {
    let (count, width) = line.trim_end().split_once(' ')?;
    match [count.parse(), width.parse()] {
        [Ok(count), Ok(width)] if count > 0 && width > 0 => Some([count, width]),
        _ => None,
    }
}

/// Reads word2vec's binary format, plain or gzip. `point` is given the name of each point and its
/// coordinates, as the bytes of little-endian `f32`.
///
/// # Errors
/// If the file cannot be read, or is not in the format, or `point` returns an error. The error names the
/// point.
pub fn read_binary(
    path: &Path,
    mut point: impl FnMut(&str, &[[u8; 4]]) -> std::result::Result<(), String>,
) -> Result<()> {
    let content = table::content(path)?;
    let (header, mut bytes) = split_once(&content, b'\n').unwrap_or((content.as_slice(), &[]));
    let header = std::str::from_utf8(header).unwrap_or_default();
    let [count, width] = parse_header(header).map_err(|message| AppError::line(path, 1, message))?;
    for i in 0..count {
        let read = take_point(&mut bytes, width).and_then(|(name, row)| point(name, row));
        read.map_err(|message| AppError::content(path, format!("point {} of {count}: {message}", i + 1)))?;
    }
    if !bytes.trim_ascii().is_empty() {
        let message = format!("{} bytes after the {count} points that the first line announces", bytes.len());
        return Err(AppError::content(path, message));
    }
    Ok(())
}

/// The bytes before the first `separator`, and those after it.
fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&b| b == separator)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Takes a name and its coordinates from the beginning of the bytes.
fn take_point<'a>(
    bytes: &mut &'a [u8],
    width: usize,
) -> std::result::Result<(&'a str, &'a [[u8; 4]]), String> {
    let ended = || "the file ends before it".to_owned();
    let start = bytes.strip_prefix(b"\n").unwrap_or(bytes);
    let (name, row) = split_once(start, b' ').ok_or_else(ended)?;
    let size = width.checked_mul(4).filter(|&size| size <= row.len()).ok_or_else(ended)?;
    let (row, after) = row.split_at(size);
    *bytes = after;
    let name = std::str::from_utf8(name).map_err(|_| "its name is invalid UTF-8".to_owned())?;
    Ok((name, row.as_chunks().0))
}
