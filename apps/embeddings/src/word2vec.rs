//! The formats of word2vec, text and binary, which gensim's `KeyedVectors` reads and writes.
//!
//! Both begin with a line of two numbers: how many points, how many coordinates. The text format then has a
//! line for each point, a name and decimal numbers, split by single spaces. The binary format has a name, a
//! space and the coordinates as little-endian `f32`, and a line break, which some programs leave out. Source:
//! Mikolov's `word2vec.c`, and gensim's `load_word2vec_format`.

use std::borrow::Cow;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::table;

use crate::embeddings::{Collector, Embeddings};
use crate::names::{Index, Names};

/// Reads the text format. A file whose first line has tabs is read as a TSV without that line of numbers.
///
/// # Errors
/// If the file cannot be read, or is not in the format. The error names the line.
pub(crate) fn read_text(path: &Path, geometry: Geometry) -> Result<Embeddings> {
    if table::has_tabs(path)? {
        return Embeddings::read_tsv(path, geometry);
    }
    let mut points = Collector::new(geometry);
    let (mut header, mut read): (Option<[usize; 2]>, _) = (None, 0);
    table::read_lines(path, |number, line| {
        let Some([count, width]) = header else {
            header = Some(parse_header(line)?);
            return Ok(());
        };
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
        read = number;
        points.add(name, coordinates.split(' '))
    })?;
    let [count, _] = header.unwrap_or_default();
    if read < count {
        return Err(AppError::content(path, format!("{read} points; the first line announces {count}")));
    }
    points.finish(path)
}

/// The numbers of points and of coordinates. None of them is 0.
fn parse_header(line: &str) -> std::result::Result<[usize; 2], String> {
    let numbers = line.trim_end().split_once(' ').map(|(count, width)| (count.parse(), width.parse()));
    match numbers {
        Some((Ok(count), Ok(width))) if count > 0 && width > 0 => Ok([count, width]),
        _ => Err("the first line of a word2vec file is two numbers: points and coordinates".to_owned()),
    }
}

/// Reads the binary format.
///
/// # Errors
/// If the file cannot be read, or is not in the format. The error names the point.
pub(crate) fn read_binary(path: &Path, geometry: Geometry) -> Result<Embeddings> {
    let content = table::content(path)?;
    let (header, mut bytes) = split_once(&content, b'\n').unwrap_or((content.as_slice(), &[]));
    let header = std::str::from_utf8(header).unwrap_or_default();
    let [count, width] = parse_header(header).map_err(|message| AppError::line(path, 1, message))?;
    let mut points = Collector::new(geometry);
    for i in 0..count {
        let read = take_point(&mut bytes, width).and_then(|(name, row)| {
            points.add_numbers(name, row.iter().map(|&x| f64::from(f32::from_le_bytes(x))))
        });
        read.map_err(|message| AppError::content(path, format!("point {} of {count}: {message}", i + 1)))?;
    }
    if !bytes.trim_ascii().is_empty() {
        let message = format!("{} bytes after the {count} points that the first line announces", bytes.len());
        return Err(AppError::content(path, message));
    }
    points.finish(path)
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

/// Names as these formats can hold them: every white space becomes `_`.
///
/// # Errors
/// If two names are the same then, or a name is empty.
fn without_spaces<'a>(path: &Path, names: &'a Names) -> Result<Cow<'a, Names>> {
    if names.iter().any(str::is_empty) {
        return Err(AppError::content(path, "an empty name cannot be written in this format"));
    }
    if !names.iter().any(|name| name.contains(char::is_whitespace)) {
        return Ok(Cow::Borrowed(names));
    }
    let written: Names = names.iter().map(|name| name.replace(char::is_whitespace, "_")).collect();
    match Index::new(&written) {
        Ok(_) => Ok(Cow::Owned(written)),
        Err([first, second]) => Err(AppError::content(
            path,
            format!(
                "{:?} and {:?} would be one name, {:?}: this format has no spaces in names",
                &names[first], &names[second], &written[first]
            ),
        )),
    }
}

/// Writes the text format. Numbers have enough digits to be read back exactly. White space in names becomes
/// `_`.
///
/// # Errors
/// If the file cannot be written, a name is empty, or two names are the same without white space.
pub(crate) fn write_text(path: &Path, names: &Names, points: &Tensor<f64>) -> Result<()> {
    let names = without_spaces(path, names)?;
    atomic::write(path, |w| {
        writeln!(w, "{} {}", names.len(), points.width())?;
        for (name, row) in names.iter().zip(points.rows()) {
            write!(w, "{name}")?;
            row.iter().try_for_each(|x| write!(w, " {x}"))?;
            writeln!(w)?;
        }
        Ok(())
    })
    .map_err(AppError::io(path))
}

/// Writes the binary format, in `f32`. White space in names becomes `_`. Returns the number of points that
/// are none of the space any more when they are rounded.
///
/// # Errors
/// As [`write_text`].
pub(crate) fn write_binary(
    path: &Path,
    names: &Names,
    points: &Tensor<f64>,
    geometry: Geometry,
) -> Result<usize> {
    let names = without_spaces(path, names)?;
    let mut outside = 0;
    atomic::write(path, |w| {
        writeln!(w, "{} {}", names.len(), points.width())?;
        for (name, row) in names.iter().zip(points.rows()) {
            let rounded: Vec<f64> = row.iter().map(|&x| f64::from(x as f32)).collect();
            outside += usize::from(geometry.check(&rounded).is_err());
            write!(w, "{name} ")?;
            rounded.iter().try_for_each(|&x| w.write_all(&(x as f32).to_le_bytes()))?;
            writeln!(w)?;
        }
        Ok(())
    })
    .map_err(AppError::io(path))?;
    Ok(outside)
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::Model;

    use super::*;

    fn ball() -> Geometry {
        Geometry::new(Model::Poincare, None).unwrap()
    }

    fn example(names: &[&str]) -> Embeddings {
        let points = Tensor::from_fn([names.len(), 3], |i| 0.1 * (i as f64 - 2.0).sin());
        Embeddings { names: names.iter().collect(), points, geometry: ball() }
    }

    /// The message for a file of these bytes, after its name.
    fn error(name: &str, bytes: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let message = Embeddings::read(&path, None, None).unwrap_err().to_string();
        message.rsplit_once(name).unwrap().1.to_owned()
    }

    #[test]
    fn text_is_read_back_exactly_and_binary_in_f32() {
        let dir = tempfile::tempdir().unwrap();
        let (text, binary) = (dir.path().join("e.txt"), dir.path().join("e.bin"));
        let written = example(&["dog.n.01", "ü", "three blind mice", "a\tb", "x"]);
        let mut want = written.clone();
        want.names = ["dog.n.01", "ü", "three_blind_mice", "a_b", "x"].iter().collect();
        write_text(&text, &written.names, &written.points).unwrap();
        assert_eq!(Embeddings::read(&text, None, None).unwrap(), want);
        assert_eq!(write_binary(&binary, &written.names, &written.points, ball()).unwrap(), 0);
        want.points = want.points.cast::<f32>().cast();
        assert_eq!(Embeddings::read(&binary, None, None).unwrap(), want);
    }

    /// As gensim writes the binary format, and as the original program writes the text.
    #[test]
    fn line_breaks_and_trailing_spaces_may_differ() {
        let dir = tempfile::tempdir().unwrap();
        let (text, binary) = (dir.path().join("e.vec"), dir.path().join("e.bin"));
        std::fs::write(&text, "2 1\na 0.5 \nb -1e-3 \n").unwrap();
        let half = 0.5_f32.to_le_bytes();
        std::fs::write(&binary, [b"2 1\na ", &half[..], b"b ", &(-1e-3_f32).to_le_bytes()].concat()).unwrap();
        for (path, second) in [(text, -1e-3), (binary, f64::from(-1e-3_f32))] {
            let read = Embeddings::read(&path, None, None).unwrap();
            assert_eq!(read.names, ["a", "b"]);
            assert_eq!(read.points.data(), [0.5, second]);
        }
    }

    #[test]
    fn names_that_would_be_the_same_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.txt");
        let refused = |names: &[&str]| {
            let example = example(names);
            let error = write_text(&path, &example.names, &example.points).unwrap_err().to_string();
            assert!(!path.exists());
            error
        };
        let error = refused(&["a b", "c", "a_b"]);
        assert!(
            error.ends_with(
                "\"a b\" and \"a_b\" would be one name, \"a_b\": this format has no spaces in names"
            )
        );
        assert!(refused(&["a", ""]).ends_with("an empty name cannot be written in this format"));
    }

    /// A point of the ball may round to norm 1.
    #[test]
    fn points_that_leave_the_ball_when_rounded_are_counted_and_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("e.bin");
        let names = ["in", "near", "out"].iter().collect();
        let points = Tensor::new([3, 1], vec![0.5, 0.999_999, 1.0 - 1e-12]);
        assert_eq!(write_binary(&path, &names, &points, ball()).unwrap(), 1);
        let error = Embeddings::read(&path, None, None).unwrap_err().to_string();
        assert!(error.contains("e.bin: point 3 of 3: \"out\": not a point of the Poincaré ball"), "{error}");
    }

    #[test]
    fn bad_files_name_the_place() {
        let header = ":1: the first line of a word2vec file is two numbers: points and coordinates";
        for bytes in [&b""[..], b"a 0.1 0.2\n", b"0 3\n", b"3\n", b"2 0\n", b"-1 2\n", b"\xff\n"] {
            if bytes != b"\xff\n" {
                assert_eq!(error("e.txt", bytes), header);
            }
            assert_eq!(error("e.bin", bytes), header);
        }
        assert_eq!(error("e.txt", b"2 1\na 0.1\n"), ": 1 points; the first line announces 2");
        assert_eq!(
            error("e.txt", b"1 1\na 0.1\nb 0.2\n"),
            ":3: a line after the 1 points that the first line announces"
        );
        assert_eq!(
            error("e.txt", b"2 2\na 0.1 0.2\nb c 0.1 0.2\n"),
            ":3: 3 numbers after the name; the first line announces 2"
        );
        assert_eq!(error("e.txt", b"1 1\na\n"), ":2: 0 numbers after the name; the first line announces 1");
        assert_eq!(error("e.txt", b"1 1\na x\n"), ":2: \"x\" is not a number");
        assert!(error("e.txt", b"1 1\na 1.5\n").starts_with(":2: \"a\": not a point of the Poincar"));
        assert_eq!(error("e.txt", b"2 1\na 0.1\na 0.2\n"), ": \"a\" occurs twice, as points 1 and 2");
        let half = 0.5_f32.to_le_bytes();
        let binary = |parts: &[&[u8]]| error("e.bin", &parts.concat());
        assert_eq!(binary(&[b"2 1\na ", &half, b"\n"]), ": point 2 of 2: the file ends before it");
        assert_eq!(binary(&[b"1 2\na ", &half]), ": point 1 of 1: the file ends before it");
        let huge = format!("1 {}\na ", usize::MAX);
        assert_eq!(binary(&[huge.as_bytes(), &half]), ": point 1 of 1: the file ends before it");
        assert_eq!(binary(&[b"1 1\n\xff ", &half]), ": point 1 of 1: its name is invalid UTF-8");
        assert_eq!(
            binary(&[b"1 1\na ", &half, b"\nb "]),
            ": 3 bytes after the 1 points that the first line announces"
        );
    }
}
