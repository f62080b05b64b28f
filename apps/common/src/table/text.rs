//! The text of a file that is read from its beginning to its end: all at once, or piece by piece.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::{BYTE_ORDER_MARK, GZIP, too_large, unpack, unpacked_limit};
use crate::error::{AppError, Result};

/// A larger file, unpacked if it is gzip, is read piece by piece.
const WHOLE: u64 = 64 << 20;

/// Bytes that are read together.
const BUFFER: usize = 1 << 16;

/// Lines of a file that decide how it is read, if it is read piece by piece.
const DECIDING: usize = 10_000;

/// The text of a file.
#[derive(Debug)]
pub(super) struct Text {
    /// All of it, or the first lines.
    head: Vec<u8>,
    /// What follows, of a file that is read piece by piece.
    tail: Option<BufReader<Source>>,
    /// The number of bytes of a gzip file, and that to which it may unpack.
    packed: Option<[u64; 2]>,
}

/// What the text is read from.
#[derive(Debug)]
enum Source {
    Plain(File),
    Gzip(Box<MultiGzDecoder<BufReader<File>>>),
}

impl Read for Source {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Plain(file) => file.read(bytes),
            Source::Gzip(file) => file.read(bytes),
        }
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Bytes before it.
    byte: usize,
    /// Lines before it.
    pub(super) line: u64,
}

/// A line that is invalid UTF-8: its number.
pub(super) struct Invalid(u64);

impl Invalid {
    /// The error for a file.
    pub(super) fn at(self, path: &Path) -> AppError {
        AppError::line(path, self.0, "invalid UTF-8")
    }
}

impl Text {
    /// Opens a file, once: a pipe cannot be read a second time. A file that begins like gzip is unpacked.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(AppError::io(path))?;
        let metadata = file.metadata().map_err(AppError::io(path))?;
        let mut head = Vec::new();
        (&mut file).take(GZIP.len() as u64).read_to_end(&mut head).map_err(AppError::io(path))?;
        if head == GZIP && metadata.is_file() {
            return Self::begin_packed(file, metadata.len()).map_err(AppError::io(path));
        }
        let packed = None;
        if head == GZIP {
            file.read_to_end(&mut head).map_err(AppError::io(path))?;
            return Ok(Text { head: unpack(path, &head)?, tail: None, packed });
        }
        if metadata.is_file() && metadata.len() <= WHOLE {
            file.read_to_end(&mut head).map_err(AppError::io(path))?;
            return Ok(Text { head, tail: None, packed });
        }
        Self::begin(path, head, file, DECIDING)
    }

    /// Reads the first lines of a gzip file of so many bytes, which decide: all if they are few.
    fn begin_packed(mut file: File, bytes: u64) -> io::Result<Self> {
        file.rewind()?;
        let packed = Some([bytes, unpacked_limit(bytes)]);
        let source = Source::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, file))));
        let mut tail = BufReader::with_capacity(BUFFER, source);
        let mut head = Vec::new();
        (&mut tail).take(WHOLE).read_to_end(&mut head)?;
        tail.read_until(b'\n', &mut head)?;
        let ends = tail.fill_buf()?.is_empty();
        Ok(Text { head, tail: (!ends).then_some(tail), packed })
    }

    /// Reads the lines that decide. `head` has been read before.
    fn begin(path: &Path, mut head: Vec<u8>, file: File, lines: usize) -> Result<Self> {
        let mut tail = BufReader::with_capacity(BUFFER, Source::Plain(file));
        // The bytes that were read before may have line breaks: a line less is read for each.
        for _ in head.iter().filter(|&&byte| byte == b'\n').count()..lines {
            if tail.read_until(b'\n', &mut head).map_err(AppError::io(path))? == 0 {
                break;
            }
        }
        Ok(Text { head, tail: Some(tail), packed: None })
    }

    /// Where the first line begins that is neither blank nor a comment, and the number of comments before it.
    /// A comment begins with `#` or `%` and a space.
    pub(super) fn start(&self) -> (Place, u64) {
        let mark = BYTE_ORDER_MARK.as_bytes();
        let mut place = Place { byte: if self.head.starts_with(mark) { mark.len() } else { 0 }, line: 0 };
        let mut comments = 0;
        for line in self.head[place.byte..].split_inclusive(|&byte| byte == b'\n') {
            let text = line.trim_ascii_end();
            let is_comment =
                text == b"#" || text == b"%" || line.starts_with(b"# ") || line.starts_with(b"% ");
            if !is_comment && !text.is_empty() {
                break;
            }
            comments += u64::from(is_comment);
            place.byte += line.len();
            place.line += 1;
        }
        (place, comments)
    }

    /// The lines that decide, from a place on, each with its number from 1.
    pub(super) fn head_lines(
        &self,
        from: Place,
    ) -> impl Iterator<Item = std::result::Result<(u64, &str), Invalid>> {
        let lines = self.head[from.byte..].split_inclusive(|&byte| byte == b'\n');
        lines.zip(from.line + 1..).map(|(bytes, number)| Ok((number, line(bytes, number)?)))
    }

    /// Calls `each` with each line from a place on. The error names the line.
    pub(super) fn lines(
        self,
        path: &Path,
        from: Place,
        mut each: impl FnMut(&str) -> std::result::Result<(), String>,
    ) -> Result<()> {
        let (mut number, mut read) = (from.line, from.byte as u64);
        let packed = self.packed;
        let mut call = |bytes: &[u8]| {
            number += 1;
            read += bytes.len() as u64;
            if let Some([packed, limit]) = packed.filter(|[_, limit]| read > *limit) {
                return Err(AppError::line(path, number, too_large(packed, limit)));
            }
            let text = line(bytes, number).map_err(|invalid| invalid.at(path))?;
            each(text).map_err(|message| AppError::line(path, number, message))
        };
        self.head[from.byte..].split_inclusive(|&byte| byte == b'\n').try_for_each(&mut call)?;
        drop(self.head);
        let Some(mut tail) = self.tail else { return Ok(()) };
        let mut bytes = Vec::new();
        while tail.read_until(b'\n', &mut bytes).map_err(AppError::io(path))? > 0 {
            call(&bytes)?;
            bytes.clear();
        }
        Ok(())
    }
}

/// The text of a line without its line break.
fn line(bytes: &[u8], number: u64) -> std::result::Result<&str, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|_| Invalid(number))?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    Ok(text.strip_suffix('\r').unwrap_or(text))
}
