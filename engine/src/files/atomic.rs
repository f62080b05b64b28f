//! Atomic writes: to a temporary file beside the target, flushed, then renamed over it.
//!
//! A temporary file is locked while it is written. One that is not locked was left by a process that was
//! killed: the first write of a process to a directory removes those.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use tempfile::NamedTempFile;

/// How the names of temporary files begin.
const PREFIX: &str = ".cotangent-partial-";

/// Writes a file by way of a temporary one in the same directory. On an error, or if the process is
/// killed at any moment, the old content stays as it was.
///
/// A symbolic link stays, and the file that it leads to is written. A file that is replaced keeps its
/// permissions. A target that is not a regular file, such as a device or a pipe, is written to and not
/// replaced.
///
/// # Errors
/// Those of `content`, and of creating, flushing and renaming.
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

/// Where a symbolic link to nothing leads, link by link; any other path is returned as it is.
fn follow(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().map_or(to.clone(), |parent| parent.join(&to)),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// A new file with the permissions of the file that it will replace, or else those that the process
/// gives to new files. It is locked, where the file system has locks.
fn temporary(directory: &Path, old: Option<&Metadata>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a plain create would ask for; the process's mask applies.
        let permissions = || fs::Permissions::from_mode(0o666);
        builder.permissions(old.map_or_else(permissions, Metadata::permissions));
    }
    loop {
        let file = builder.tempfile_in(directory)?;
        let lost = match file.as_file().try_lock() {
            // Before it was locked, another process may have taken it for a leftover.
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

/// Removes temporary files that nobody writes any more, once for each directory. Files that cannot be
/// removed stay; they do no harm.
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

/// Makes a directory's new entry survive a power failure, where directories can be opened and synchronised.
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
