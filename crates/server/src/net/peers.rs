//! Transport between members: how they authenticate each other, and the limits of messages.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::transport::{
    GroupPublicKeys, MeshLimits, NodeKeys, PeerAuthentication, PrivateKey, ReplaceableKeys,
};
use tracing::{info, warn};

use crate::config::{Config, ConfigError};
use crate::member::log_config::MAX_BATCH_ENTRIES;

/// Mean size of an entry for which a message with [`MAX_BATCH_ENTRIES`] entries has room, in bytes.
/// `--max-request-bytes` may allow longer entries: the log then puts fewer entries into a message.
const MAX_MEAN_ENTRY_BYTES: usize = (3 << 20) / 2 + 1024;

/// Returns the limits of the transport. One message has room for a full batch of entries.
///
/// The log never waits for room in the queue of messages to a member, because a slow member must
/// not delay the others. If the queue is full, a new message is dropped, and the drop is logged.
/// The log sends missing entries again later. A request is forwarded to the leader only while the
/// queue to the leader is at most half full, and a part of each queue is reserved for small
/// messages. If a forwarded request or its response is dropped nevertheless, the client receives a
/// timeout error. The log forgets the request when the term ends or the leader is suspected.
pub(crate) fn transport_limits() -> MeshLimits {
    let max_body_bytes = MAX_BATCH_ENTRIES as usize * MAX_MEAN_ENTRY_BYTES;
    let (max_queued_bytes, half_full_timeout) = (2 * max_body_bytes, Duration::ZERO);
    MeshLimits { max_body_bytes, max_queued_bytes, half_full_timeout, ..MeshLimits::default() }
}

/// Keys by which a member and its peers authenticate each other.
#[derive(Clone, Debug)]
pub struct PeerKeys {
    config: Config,
    me: ProcessId,
    /// Number of members in the configuration. Each of them must have a public key.
    size: u32,
    /// Keys in use. `None`: the configuration has no keys.
    reloadable_keys: Option<ReplaceableKeys>,
}

impl PeerKeys {
    pub(crate) fn read(
        config: &Config,
        me: ProcessId,
        group_size: u32,
    ) -> Result<Self, ConfigError> {
        let reloadable_keys = read_keys(config, me, group_size)?.map(ReplaceableKeys::from);
        Ok(PeerKeys { config: config.clone(), me, size: group_size, reloadable_keys })
    }

    /// Returns the method by which the transport authenticates peers. If the member has keys, each
    /// peer must prove that it owns a key. Without keys, only loopback addresses are allowed,
    /// unless the option `insecure` is set.
    pub(crate) fn authentication_mode(&self) -> PeerAuthentication {
        match &self.reloadable_keys {
            Some(reloadable_keys) => PeerAuthentication::Keys(reloadable_keys.clone()),
            None if self.config.insecure => PeerAuthentication::Unauthenticated,
            None => PeerAuthentication::LoopbackOnly,
        }
    }

    /// Reads the key files again, and logs the outcome. Later connections use the new keys, and
    /// existing connections continue. If a file is invalid, the member keeps its previous keys.
    /// Blocks on the disk.
    pub fn reload(&self) {
        let me = &self.config.name;
        match (read_keys(&self.config, self.me, self.size), &self.reloadable_keys) {
            (Ok(Some(keys)), Some(reloadable_keys)) => {
                reloadable_keys.replace(keys);
                info!(me, "keys reloaded");
            }
            (Ok(_), _) => info!(me, "no keys to reload"),
            (Err(error), _) => warn!(me, %error, "keys not reloaded"),
        }
    }
}

/// Reads the key files. Returns `None` if the configuration names no key files. Fails if
/// [`PrivateKey::is_key_file_exposed`] is true for the file of the private key.
fn read_keys(config: &Config, me: ProcessId, size: u32) -> Result<Option<NodeKeys>, ConfigError> {
    let (Some(private), Some(public)) = (&config.peer_private_key, &config.peer_public_keys) else {
        return Ok(None);
    };
    let failed = |path: &PathBuf, reason: String| ConfigError::File {
        path: path.display().to_string(),
        reason,
    };
    let read =
        |path: &PathBuf| std::fs::read_to_string(path).map_err(|it| failed(path, it.to_string()));
    let metadata = std::fs::metadata(private).map_err(|it| failed(private, it.to_string()))?;
    let mode = metadata.mode() & 0o7777;
    if PrivateKey::is_key_file_exposed(mode, metadata.uid()) {
        let reason = format!(
            "other users can access this private key (mode {mode:04o}): run `chmod 600 {}`",
            private.display()
        );
        return Err(failed(private, reason));
    }
    let key = PrivateKey::parse(read(private)?.trim());
    let key = key.map_err(|why| failed(private, why.to_string()))?;
    let group = GroupPublicKeys::parse(&read(public)?, size as usize);
    let group = group.map_err(|why| failed(public, why.to_string()))?;
    NodeKeys::new(me, key, group).map(Some).map_err(|why| failed(public, why.to_string()))
}
