//! Checkpoints: any serialisable state, in a file with a checksum.
//!
//! Layout, little-endian: magic `COTANGNT`, the caller's version `u32`, payload length in bytes `u64`, CRC-32
//! of the payload `u32`, then the payload in bincode's standard configuration. Written atomically.

use std::io;
use std::path::{Path, PathBuf};

use bincode::{config::standard, error::DecodeError, serde::decode_from_slice};
use serde::{Serialize, de::DeserializeOwned};

const MAGIC: &[u8; 8] = b"COTANGNT";
const HEADER: usize = 8 + 4 + 8 + 4;

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CheckpointError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: not a Cotangent checkpoint", .0.display())]
    Foreign(PathBuf),
    #[error("{}: checkpoint of version {found}, this program reads version {expected}", path.display())]
    Version { path: PathBuf, found: u32, expected: u32 },
    /// The file is shorter or longer than its header says, or shorter than a header.
    #[error("{}: damaged checkpoint: {found} bytes, {expected} expected", path.display())]
    Length { path: PathBuf, found: u64, expected: u64 },
    #[error("{}: damaged checkpoint: its checksum does not match", .0.display())]
    Checksum(PathBuf),
    #[error("{}: the checkpoint does not fit: {message}", path.display())]
    Content { path: PathBuf, message: String },
}

/// Writes a state. `version` is the caller's: raise it when the state's type changes.
///
/// # Errors
/// If the file cannot be written or the state not be serialised.
pub fn save<S: Serialize>(path: &Path, version: u32, state: &S) -> Result<(), CheckpointError> {
    let payload = bincode::serde::encode_to_vec(state, standard())
        .map_err(|e| CheckpointError::Content { path: path.into(), message: e.to_string() })?;
    super::atomic::write(path, |w| {
        w.write_all(MAGIC)?;
        w.write_all(&version.to_le_bytes())?;
        w.write_all(&(payload.len() as u64).to_le_bytes())?;
        w.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
        w.write_all(&payload)
    })
    .map_err(|source| CheckpointError::Io { path: path.into(), source })
}

/// Reads a state back. Allocates no more than a multiple of the file's length, whatever lengths the file
/// claims.
///
/// # Errors
/// If the file cannot be read, is not a checkpoint, is of another version, truncated, damaged, or holds
/// another type of state.
pub fn load<S: DeserializeOwned>(path: &Path, version: u32) -> Result<S, CheckpointError> {
    let bytes = std::fs::read(path).map_err(|source| CheckpointError::Io { path: path.into(), source })?;
    if !bytes.starts_with(&MAGIC[..bytes.len().min(8)]) || bytes.is_empty() {
        return Err(CheckpointError::Foreign(path.into()));
    }
    let Some((header, payload)) = bytes.split_at_checked(HEADER) else {
        return Err(CheckpointError::Length {
            path: path.into(),
            found: bytes.len() as u64,
            expected: HEADER as u64,
        });
    };
    let field = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let found = field(8);
    if found != version {
        return Err(CheckpointError::Version { path: path.into(), found, expected: version });
    }
    let expected = u64::from(field(12)) | u64::from(field(16)) << 32;
    if payload.len() as u64 != expected {
        let expected = expected.saturating_add(HEADER as u64);
        return Err(CheckpointError::Length { path: path.into(), found: bytes.len() as u64, expected });
    }
    if crc32fast::hash(payload) != field(20) {
        return Err(CheckpointError::Checksum(path.into()));
    }
    match decode(payload) {
        Ok((state, read)) if read == payload.len() => Ok(state),
        Ok(_) => Err(CheckpointError::Content { path: path.into(), message: "bytes are left over".into() }),
        Err(reason) => Err(CheckpointError::Content {
            path: path.into(),
            message: format!("it holds the state of another program or model: {reason}"),
        }),
    }
}

/// The state, and the number of bytes that were read. The limit on the memory that bincode may claim is part
/// of its configuration's type, so it grows in steps. It is at least 16 times the payload, because a number
/// of 16 bytes may be stored in one byte, and at most 256 times.
fn decode<S: DeserializeOwned>(payload: &[u8]) -> Result<(S, usize), DecodeError> {
    macro_rules! up_to {
        ($($bits:literal)*) => { $(
            if payload.len() >> ($bits - 4) == 0 {
                return decode_from_slice(payload, standard().with_limit::<{ 1 << $bits }>());
            }
        )* };
    }
    up_to!(12 16 20 24 28);
    #[cfg(target_pointer_width = "64")]
    up_to!(32 36 40 44);
    Err(DecodeError::LimitExceeded)
}
