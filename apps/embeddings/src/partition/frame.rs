//! Files with a header and a checksum.
//!
//! Layout, little-endian: magic `COTGPART`, version `u32`, four letters that say what is in it, the
//! fingerprint of the graph or run that it belongs to `u32`, bytes of the content `u64`, the content, its
//! CRC-32.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};

const MAGIC: &[u8; 8] = b"COTGPART";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 4 + 4 + 8;

/// Bytes of all that is not the content.
pub(crate) const FRAME: u64 = HEADER as u64 + 4;

/// Bytes of elements that are converted together.
const BUFFER: usize = 1 << 16;

/// What a file holds, in four letters.
pub(crate) type Holds = &'static [u8; 4];

/// Writes a file atomically.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(
    path: &Path,
    holds: (Holds, u32),
    bytes: u64,
    content: impl FnOnce(&mut Content<'_>) -> io::Result<()>,
) -> Result<()> {
    atomic::write(path, |file| put(file, holds, bytes, content)).map_err(AppError::io(path))
}

/// Writes a file that nobody needs after a kill or a loss of power, until [`sync`] is called with it.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_unsynced(
    path: &Path,
    holds: (Holds, u32),
    bytes: u64,
    content: impl FnOnce(&mut Content<'_>) -> io::Result<()>,
) -> Result<()> {
    let written = || {
        let mut file = BufWriter::with_capacity(BUFFER, File::create(path)?);
        put(&mut file, holds, bytes, content)?;
        file.flush()
    };
    written().map_err(AppError::io(path))
}

/// Returns when a file, or the names in a directory, are on the disk.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(AppError::io(path))
}

fn put(
    file: &mut dyn Write,
    (holds, fingerprint): (Holds, u32),
    bytes: u64,
    content: impl FnOnce(&mut Content<'_>) -> io::Result<()>,
) -> io::Result<()> {
    file.write_all(MAGIC)?;
    file.write_all(&VERSION.to_le_bytes())?;
    file.write_all(holds)?;
    file.write_all(&fingerprint.to_le_bytes())?;
    file.write_all(&bytes.to_le_bytes())?;
    let mut writer = Content { file, checksum: crc32fast::Hasher::new(), bytes: 0 };
    content(&mut writer)?;
    assert_eq!(writer.bytes, bytes, "the length was said before");
    let checksum = writer.checksum.finalize();
    writer.file.write_all(&checksum.to_le_bytes())
}

/// The content of a file that is written.
pub(crate) struct Content<'a> {
    file: &'a mut dyn Write,
    checksum: crc32fast::Hasher,
    bytes: u64,
}

impl Content<'_> {
    /// Adds bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Adds elements, each of which `put` appends to bytes.
    pub(crate) fn elements<X>(&mut self, elements: &[X], put: impl Fn(&X, &mut Vec<u8>)) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(2 * BUFFER);
        for element in elements {
            put(element, &mut bytes);
            if bytes.len() >= BUFFER {
                self.bytes(&bytes)?;
                bytes.clear();
            }
        }
        self.bytes(&bytes)
    }
}

/// A file that is read.
pub(crate) struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    left: u64,
    checksum: crc32fast::Hasher,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, holds something else, is of another run, or has another length than it says.
    pub(crate) fn open(path: &Path, (holds, fingerprint): (Holds, u32)) -> Result<Self> {
        let mut file = File::open(path).map_err(AppError::io(path))?;
        let length = file.metadata().map_err(AppError::io(path))?.len();
        let wrong = |message: String| AppError::content(path, message);
        if length < FRAME {
            return Err(wrong(format!("it is cut: {length} bytes")));
        }
        let mut header = [0; HEADER];
        file.read_exact(&mut header).map_err(AppError::io(path))?;
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        if &header[..8] != MAGIC || &header[12..16] != holds {
            return Err(wrong("it is no such file of a training with --partitions".to_owned()));
        }
        if number(8) != VERSION {
            return Err(wrong(format!("version {}, this program reads version {VERSION}", number(8))));
        }
        if number(16) != fingerprint {
            return Err(wrong("it is of another run".to_owned()));
        }
        let bytes = u64::from_le_bytes(header[20..].try_into().expect("eight bytes"));
        if length - FRAME != bytes {
            let needed = bytes.saturating_add(FRAME);
            return Err(wrong(format!("it is cut: {length} bytes, {needed} are needed")));
        }
        let file = BufReader::with_capacity(BUFFER, file);
        Ok(Reader { path: path.to_path_buf(), file, left: bytes, checksum: crc32fast::Hasher::new() })
    }

    /// Bytes of the content that are not read yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Reads as many bytes of the content.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn bytes(&mut self, bytes: &mut [u8]) -> Result<()> {
        if self.left < bytes.len() as u64 {
            return Err(AppError::content(
                &self.path,
                "it is damaged: its content does not end where it says",
            ));
        }
        self.file.read_exact(bytes).map_err(AppError::io(&self.path))?;
        self.left -= bytes.len() as u64;
        self.checksum.update(bytes);
        Ok(())
    }

    /// Reads elements of so many bytes each.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn elements<X>(
        &mut self,
        count: usize,
        size: usize,
        mut add: impl FnMut(X),
        get: impl Fn(&[u8]) -> X,
    ) -> Result<()> {
        let together = BUFFER / size;
        let mut bytes = vec![0; size * together.min(count)];
        for first in (0..count).step_by(together) {
            let read = &mut bytes[..size * together.min(count - first)];
            self.bytes(read)?;
            read.chunks_exact(size).for_each(|bytes| add(get(bytes)));
        }
        Ok(())
    }

    /// Checks the checksum, after all of the content was read.
    ///
    /// # Errors
    /// If the content is not what was written.
    pub(crate) fn finish(mut self) -> Result<()> {
        let mut checksum = [0; 4];
        self.file.read_exact(&mut checksum).map_err(AppError::io(&self.path))?;
        if self.left > 0 || u32::from_le_bytes(checksum) != self.checksum.finalize() {
            return Err(AppError::content(&self.path, "it is damaged: its checksum does not match"));
        }
        Ok(())
    }
}

/// A number from its four bytes.
pub(crate) fn u32_from(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &Path) {
        write(path, (b"TEST", 7), 12, |content| {
            content.elements(&[1_u32, 2, 3], |x, bytes| bytes.extend(x.to_le_bytes()))
        })
        .unwrap();
    }

    fn read(path: &Path, holds: Holds, fingerprint: u32) -> Result<Vec<u32>> {
        let mut reader = Reader::open(path, (holds, fingerprint))?;
        let mut found = Vec::new();
        reader.elements(reader.left() as usize / 4, 4, |x| found.push(x), u32_from)?;
        reader.finish().map(|()| found)
    }

    /// Each damage is found and named.
    #[test]
    fn what_is_no_such_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let error = |holds, fingerprint| {
            let message = read(&path, holds, fingerprint).unwrap_err().to_string();
            message.rsplit_once("/file: ").unwrap().1.to_owned()
        };
        written(&path);
        assert_eq!(read(&path, b"TEST", 7).unwrap(), [1, 2, 3]);
        assert_eq!(error(b"TEST", 8), "it is of another run");
        assert_eq!(error(b"TOAD", 7), "it is no such file of a training with --partitions");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(error(b"TEST", 7), "it is cut: 43 bytes, 44 are needed");
        std::fs::write(&path, &bytes[..9]).unwrap();
        assert_eq!(error(b"TEST", 7), "it is cut: 9 bytes");
        for (place, message) in [
            (HEADER + 5, "it is damaged: its checksum does not match"),
            (8, "version 0, this program reads version 1"),
        ] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(error(b"TEST", 7), message);
        }
    }
}
