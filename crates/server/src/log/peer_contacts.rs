//! Contacts of a leader with the other members. They show which members respond to the leader.

use std::time::{Duration, SystemTime};

use tenure_core::ProcessId;
use tenure_runtime::transport::{MeshStatus, PeerStatus};

/// Lower bound on [`PeerContacts::max_silence`]. On a busy machine, a response takes longer than a
/// short election timeout.
const MIN_SILENCE: Duration = Duration::from_secs(1);

/// Contacts with the other members. Followers respond to each heartbeat of their leader, so the
/// contacts of a leader are current.
#[derive(Debug)]
pub(crate) struct PeerContacts {
    peers: MeshStatus,
    /// Time without a message after which a member is regarded as unresponsive.
    max_silence: Duration,
}

impl PeerContacts {
    pub(crate) fn new(peers: MeshStatus, election_timeout: Duration) -> Self {
        PeerContacts { peers, max_silence: election_timeout.max(MIN_SILENCE) }
    }

    /// Returns true if the member is connected and has sent a message within
    /// [`PeerContacts::max_silence`].
    pub(crate) fn has_recent_contact(&self, process: ProcessId) -> bool {
        let is_recent = |status: &PeerStatus| {
            // If the wall clock was set back, the time of the contact is in the future.
            status.last_contact_at.is_some_and(|at| {
                SystemTime::now().duration_since(at).unwrap_or_default() <= self.max_silence
            })
        };
        let peers = self.peers.peers();
        peers.iter().any(|it| it.peer == process && it.is_connected && is_recent(it))
    }
}
