//! Atomic writes: to a temporary file beside the target, flushed, then renamed over it.

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file by way of a temporary one in the same directory. On an error, or if the process is
/// killed at any moment, the old content stays as it was.
///
/// # Errors
/// Those of `content`, and of creating, flushing and renaming.
pub fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a plain create would ask for; the process's mask applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.prefix(".partial-").tempfile_in(directory)?;
    let mut writer = BufWriter::new(file);
    content(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        write(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write(&path, |w| {
            w.write_all(b"new")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
