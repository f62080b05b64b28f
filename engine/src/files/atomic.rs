//! Atomic writes: to a temporary file beside the target, flushed, then renamed over it.
//!
//! A temporary file is locked while it is written. One that is not locked was left by a process that was
//! killed. The first write of a process to a directory removes such files.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use tempfile::NamedTempFile;

/// How the names of temporary files begin.
const PREFIX: &str = ".cotangent-partial-";

/// Writes a file by way of a temporary one in the same directory. If there is an error or the process is
/// killed, the old content stays as it was.
///
/// A symbolic link stays, and the file that it points to is written. A file that is replaced keeps its
/// permissions. A target that is not a regular file, such as a device or a pipe, is written to directly.
///
/// # Errors
/// Those of `content`, and of creating, flushing and renaming files.
pub fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let (target, old) = match fs::metadata(path) {
        Ok(old) if !old.is_file() => {
            let mut writer = BufWriter::new(File::options().write(true).open(path)?);
            content(&mut writer)?;
            return writer.flush();
        }
        Ok(old) => (fs::canonicalize(path)?, Some(old)),
        Err(error) if error.kind() == ErrorKind::NotFound => (follow(path)?, None),
        Err(error) => return Err(error),
    };
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    remove_leftovers(directory);
    let mut writer = BufWriter::new(temporary(directory, old.as_ref())?);
    content(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|e| e.error)?;
    sync(directory)
}

/// The path that a dangling symbolic link points to, through all links. Any other path is returned as it is.
fn follow(path: &Path) -> io::Result<PathBuf> {
    /// The limit of Linux.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().map_or(next.clone(), |parent| parent.join(&next)),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A new file with the permissions of the file that it will replace, or else those that the process
/// gives to new files. It is locked if the file system has locks.
fn temporary(directory: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for a file that is created without a mode; the process's mask applies.
        let permissions = || fs::Permissions::from_mode(0o666);
        builder.permissions(old.map_or_else(permissions, Metadata::permissions));
    }
    loop {
        let file = builder.tempfile_in(directory)?;
        let lost = match file.as_file().try_lock() {
            // Before this lock, another process may have taken the file for a leftover and removed it.
            Ok(()) => !file.path().exists(),
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        };
        if !lost {
            if let Some(old) = old {
                file.as_file().set_permissions(old.permissions())?;
            }
            return Ok(file);
        }
    }
}

/// Removes temporary files that no process is writing, once for each directory. Errors are ignored: a file
/// that stays does no harm.
fn remove_leftovers(directory: &Path) {
    static DONE: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
    if !DONE.lock().unwrap_or_else(PoisonError::into_inner).insert(directory.to_path_buf()) {
        return;
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let partial = entries.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|t| t.is_file())
    });
    for entry in partial {
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes a directory's new entry to the disk, so that it survives a power failure. Does nothing where
/// directories cannot be synchronised.
fn sync(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        Ok(directory) if cfg!(unix) => match directory.sync_all() {
            Err(error) if !matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
                Err(error)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
