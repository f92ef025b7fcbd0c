//! How members talk to each other: by what they know each other, and how much they send at a time.

use std::path::PathBuf;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::{GroupKeys, Keyring, Keys, Limits, PrivateKey, Trust};

use crate::config::{Config, ConfigError};
use crate::member::BATCH;

/// Bytes that an entry has at most, on average over a batch of them. A member may allow longer ones
/// by `--max-request-bytes`; the log sends few of those at a time.
const ENTRY: usize = (3 << 20) / 2 + 1024;

/// As much as the entries of one message may have. Nobody waits for a member whose queue is full:
/// the log sends it again what it lacks.
pub(crate) fn limits() -> Limits {
    let longest_body = BATCH as usize * ENTRY;
    let (queue_bytes, patience) = (2 * longest_body, Duration::ZERO);
    Limits { longest_body, queue_bytes, patience, ..Limits::default() }
}

/// By what members know each other.
pub(crate) fn trust(config: &Config, me: ProcessId, size: u32) -> Result<Trust, ConfigError> {
    let (Some(private), Some(public)) = (&config.peer_private_key, &config.peer_public_keys) else {
        return Ok(if config.insecure { Trust::Anybody } else { Trust::Machine });
    };
    let failed =
        |path: &PathBuf, says: String| ConfigError::File { path: path.display().to_string(), says };
    let read =
        |path: &PathBuf| std::fs::read_to_string(path).map_err(|it| failed(path, it.to_string()));
    let key = PrivateKey::parse(read(private)?.trim());
    let key = key.map_err(|why| failed(private, why.to_string()))?;
    let group = GroupKeys::parse(&read(public)?, size as usize);
    let group = group.map_err(|why| failed(public, why.to_string()))?;
    let keys = Keys::new(me, key, group).map_err(|why| failed(public, why.to_string()))?;
    Ok(Trust::Keys(Keyring::from(keys)))
}
