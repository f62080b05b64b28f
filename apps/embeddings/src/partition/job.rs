//! What several ranks agree on before they train.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cotangent::optim::exchange::Exchange;
use cotangent_apps_common::error::{AppError, Result};

use cotangent::optim::train::CHECKPOINT;

/// The name of a file by which a rank sees whether it has the same disk as rank 0.
const TOKEN: &str = "rank-0.token";

/// The directory of the graph: that of rank 0, if this rank sees it, or its own.
///
/// # Errors
/// If files cannot be written, or another rank has ended.
pub(crate) fn graph_directory(ranks: &dyn Exchange, own: &Path) -> Result<PathBuf> {
    if ranks.size() == 1 {
        return Ok(own.to_path_buf());
    }
    std::fs::create_dir_all(own).map_err(AppError::io(own))?;
    let absolute = std::path::absolute(own).map_err(AppError::io(own))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let token = format!("{now} {}", std::process::id());
    let is_first = ranks.rank() == 0;
    let path = own.join(TOKEN);
    if is_first {
        std::fs::write(&path, &token).map_err(AppError::io(&path))?;
    }
    let shared = ranks.broadcast(0, absolute.as_os_str().as_encoded_bytes())?;
    let token = ranks.broadcast(0, token.as_bytes())?;
    let shared = PathBuf::from(String::from_utf8_lossy(&shared).into_owned());
    let is_seen = std::fs::read(shared.join(TOKEN)).is_ok_and(|found| found == token);
    ranks.barrier()?;
    if is_first {
        std::fs::remove_file(&path).map_err(AppError::io(&path))?;
    }
    Ok(if is_seen { shared } else { own.to_path_buf() })
}

/// Copies the checkpoint of rank 0, without the parts, to the directories of the others.
///
/// # Errors
/// If there is none, it cannot be written, or another rank has ended.
pub(crate) fn copy_checkpoint(ranks: &dyn Exchange, own: &Path) -> Result<()> {
    if ranks.size() == 1 {
        return Ok(());
    }
    let path = own.join(CHECKPOINT);
    let is_first = ranks.rank() == 0;
    let bytes = if is_first { std::fs::read(&path).map_err(AppError::io(&path))? } else { Vec::new() };
    let bytes = ranks.broadcast(0, &bytes)?;
    if !is_first {
        std::fs::create_dir_all(own).map_err(AppError::io(own))?;
        std::fs::write(&path, bytes).map_err(AppError::io(&path))?;
    }
    Ok(())
}

/// Checks that so many parts are enough for so many ranks.
///
/// # Errors
/// If they are not.
pub(crate) fn check(ranks: usize, parts: usize) -> Result<()> {
    if ranks > 1 && parts < 2 * ranks {
        let message = format!("--partitions {parts}: {ranks} ranks need at least {} parts", 2 * ranks);
        return Err(AppError::usage(message));
    }
    Ok(())
}
