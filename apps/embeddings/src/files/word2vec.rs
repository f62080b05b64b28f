//! The formats of word2vec, text and binary, which gensim's `KeyedVectors` reads and writes.
//!
//! They are read by [`word_vectors`], which says what they look like.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::{table, word_vectors};

use crate::files::embeddings::{Blocks, Collector, Embeddings};
use crate::graph::names::{Index, Names};

/// Reads the text format. A file whose first line that is not blank has tabs is read as a TSV without that
/// line of numbers. The file is opened once, so it may be a pipe.
///
/// # Errors
/// If the file cannot be read, or is not in the format. The error names the line.
pub(crate) fn read_text(path: &Path, geometry: Geometry) -> Result<Embeddings> {
    let mut points = Collector::new(geometry);
    let content = table::content(path)?;
    let mut lines = content.split(|&byte| byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    if first.contains(&b'\t') {
        table::parse_quoted(path, &content, |_, record| points.add(&record[0], record.iter().skip(1)))?;
    } else {
        word_vectors::parse_text(path, &content, |name, coordinates| {
            points.add(name, coordinates.split(' '))
        })?;
    }
    points.finish(path)
}

/// Reads the binary format.
///
/// # Errors
/// If the file cannot be read, or is not in the format. The error names the point.
pub(crate) fn read_binary(path: &Path, geometry: Geometry) -> Result<Embeddings> {
    let mut points = Collector::new(geometry);
    word_vectors::read_binary(path, |name, row| {
        points.add_numbers(name, row.iter().map(|&x| f64::from(f32::from_le_bytes(x))))
    })?;
    points.finish(path)
}

/// Whether these formats have no such character in names: white space of ASCII. Other spaces, such as the
/// no-break space, are characters of a name.
fn separates(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// A name as these formats can hold it: every white space of ASCII becomes `_`.
fn without_spaces(name: &str) -> Cow<'_, str> {
    if name.contains(separates) { name.replace(separates, "_").into() } else { name.into() }
}

/// Whether names that have white space differ without it.
///
/// # Errors
/// If two names are the same then, or a block cannot be read.
fn check_without_spaces(blocks: &impl Blocks) -> io::Result<()> {
    let (mut names, mut written) = (Names::default(), Names::default());
    blocks.each(&mut |block, _| {
        block.iter().for_each(|name| {
            names.push(name);
            written.push(&without_spaces(name));
        });
        Ok(())
    })?;
    Index::new(&written).map(drop).map_err(|[first, second]| {
        io::Error::other(format!(
            "{:?} and {:?} would be one name, {:?}: this format has no spaces in names",
            &names[first], &names[second], &written[first]
        ))
    })
}

/// Writes the text format. Numbers have enough digits to be read back exactly. White space in names becomes
/// `_`.
///
/// # Errors
/// If the file cannot be written, a name is empty, or two names are the same without white space.
pub(crate) fn write_text(path: &Path, blocks: &impl Blocks) -> Result<()> {
    write_blocks(path, blocks, |w, name, row| {
        write!(w, "{name}")?;
        row.iter().try_for_each(|x| write!(w, " {x}"))
    })
}

/// Writes the binary format, in `f32`. White space in names becomes `_`. Returns the number of points that
/// are none of the space any more when they are rounded.
///
/// # Errors
/// As [`write_text`].
pub(crate) fn write_binary(path: &Path, blocks: &impl Blocks) -> Result<usize> {
    let (geometry, mut outside) = (blocks.geometry(), 0);
    write_blocks(path, blocks, |w, name, row| {
        let rounded: Vec<f64> = row.iter().map(|&x| f64::from(x as f32)).collect();
        outside += usize::from(geometry.check(&rounded).is_err());
        write!(w, "{name} ")?;
        rounded.iter().try_for_each(|&x| w.write_all(&(x as f32).to_le_bytes()))
    })?;
    Ok(outside)
}

/// Writes a line of the numbers of points and coordinates, then each point by `put`, and a line break.
fn write_blocks(
    path: &Path,
    blocks: &impl Blocks,
    mut put: impl FnMut(&mut dyn Write, &str, &[f64]) -> io::Result<()>,
) -> Result<()> {
    let [count, width] = blocks.shape();
    let mut spaces = false;
    let written = atomic::write(path, |w| {
        writeln!(w, "{count} {width}")?;
        blocks.each(&mut |names, points| {
            names.iter().zip(points.rows()).try_for_each(|(name, row)| {
                if name.is_empty() {
                    return Err(io::Error::other("an empty name cannot be written in this format"));
                }
                spaces |= name.contains(separates);
                put(w, &without_spaces(name), row)?;
                writeln!(w)
            })
        })?;
        if spaces { check_without_spaces(blocks) } else { Ok(()) }
    });
    written.map_err(AppError::io(path))
}

#[cfg(test)]
mod tests {
    use cotangent::prelude::Tensor;
    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;

    fn ball() -> Geometry {
        Geometry::new(SpaceModel::Poincare, None).unwrap()
    }

    fn example(names: &[&str]) -> Embeddings {
        let points = Tensor::from_fn([names.len(), 3], |i| 0.1 * (i as f64 - 2.0).sin());
        Embeddings { names: names.iter().collect(), points, geometry: ball(), translation: None }
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
        write_text(&text, &written).unwrap();
        assert_eq!(Embeddings::read(&text, None, None).unwrap(), want);
        assert_eq!(write_binary(&binary, &written).unwrap(), 0);
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
            let error = write_text(&path, &example(names)).unwrap_err().to_string();
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
        assert_eq!(
            write_binary(&path, &Embeddings { names, points, geometry: ball(), translation: None }).unwrap(),
            1
        );
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
        assert_eq!(
            error("e.txt", b"2 1\na 0.1\na 0.2\n"),
            ": \"a\" occurs twice, as points 1 and 2; --keep-first keeps the first"
        );
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
