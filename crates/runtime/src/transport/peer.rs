//! State of one peer, shared by all parts of a mesh.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_core::ProcessId;
use tokio::sync::Notify;

use super::frame::BootId;
use super::outbox::Outbox;
use super::rejection_reason::RejectionReason;
use crate::store::{MembershipRecord, SaveError};

/// Exclusive upper bound on session numbers. Term numbers have the same bound. No process boots
/// that often.
pub(crate) const SESSION_LIMIT: u64 = 1 << 40;

/// Maximum difference between a session number of a process and the newest session number that this
/// process knows for it. If a process replaces a member, its session number is the number of
/// milliseconds since the start of 2026. That number does not exceed this maximum until 2043.
const MAX_SESSION_GAP: u64 = 1 << 39;

/// Maximum difference between the session number of a replacement and the newest session number
/// that this process knows for it. A replacement is a process that replaces a member and has not
/// joined the group yet. The difference grows by 1 with each start of the replacement.
const MAX_UNSEEN_STARTS: u64 = 1000;

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) process: ProcessId,
    pub(crate) address: String,
    pub(crate) outbox: Outbox,
    /// Session of the peer to which messages are sent. It is the session of the latest
    /// [`MeshEvent::PeerConnected`](super::MeshEvent::PeerConnected), and 0 before the first
    /// `PeerConnected`.
    target_session: AtomicU64,
    /// Newest authenticated boot of the peer. Before the first boot, a placeholder with session 0.
    newest: Mutex<BootId>,
    /// Number of failed key exchanges with this peer. If the peer has several keys, each new
    /// attempt expects the next key.
    failed_key_exchanges: AtomicUsize,
    is_connected: AtomicBool,
    is_round_trip_logged: AtomicBool,
    /// Notified when the user of the mesh rejects a message of this peer as invalid.
    pub(crate) invalid_message: Notify,
    registry: Option<MembershipRecord>,
    history: Mutex<ConnectionHistory>,
    /// Time of the last received frame, in milliseconds since 1970; 0 before the first frame.
    last_contact: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct ConnectionHistory {
    connected_at: Option<SystemTime>,
    disconnected_at: Option<SystemTime>,
    error: Option<String>,
}

/// Status of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Peer that this status describes.
    pub peer: ProcessId,
    /// Configured address of the peer, as `host:port`.
    pub address: String,
    /// True if a connection to the peer is established.
    pub is_connected: bool,
    /// Number of the newest known session of the peer. `None` if no session is known. If the mesh
    /// has a membership record, sessions that this process saw before its own restart are known
    /// too.
    pub session: Option<u64>,
    /// Time at which the last connection was established, by the wall clock. `None` before the
    /// first connection.
    pub connected_at: Option<SystemTime>,
    /// Time at which a connection was last lost, by the wall clock. `None` if none was lost.
    pub disconnected_at: Option<SystemTime>,
    /// Time at which a frame of the peer was last received, by the wall clock. It does not advance
    /// on a connection without messages.
    pub last_contact_at: Option<SystemTime>,
    /// Last error of a connection with the peer. A new connection resets it to `None`.
    pub error: Option<String>,
    /// Number of messages to the peer that are not acknowledged yet. These include messages that
    /// were not sent yet.
    pub held_messages: usize,
    /// Total size in bytes of the messages to the peer that are not acknowledged yet. These include
    /// messages that were not sent yet.
    pub held_bytes: usize,
}

impl Peer {
    pub(crate) fn new(
        process: ProcessId,
        address: String,
        outbox: Outbox,
        registry: Option<MembershipRecord>,
    ) -> Self {
        let newest = registry.as_ref().map(|registry| registry.newest_boot(process));
        Peer {
            process,
            address,
            outbox,
            target_session: AtomicU64::new(0),
            newest: Mutex::new(newest.unwrap_or_default()),
            failed_key_exchanges: AtomicUsize::new(0),
            is_connected: AtomicBool::new(false),
            is_round_trip_logged: AtomicBool::new(false),
            invalid_message: Notify::new(),
            registry,
            history: Mutex::default(),
            last_contact: AtomicU64::new(0),
        }
    }

    pub(crate) fn target_session(&self) -> u64 {
        self.target_session.load(Ordering::Acquire)
    }

    pub(crate) fn set_target_session(&self, session: u64) {
        self.target_session.store(session, Ordering::Release);
    }

    /// Returns the number of the newest known session of the peer; 0 before the first session.
    pub(crate) fn newest_session(&self) -> u64 {
        self.newest_boot().session
    }

    /// Checks that a boot may become the newest boot of the peer. The current newest boot also
    /// passes.
    pub(crate) fn check_boot(&self, boot: BootId) -> Result<(), RejectionReason> {
        let newest = *self.newest_boot();
        // Sessions of a former member are not compared, because another process may take the place
        // of this member.
        let is_member = self.registry.as_ref().is_none_or(|it| it.is_member(self.process));
        if boot.session == 0 || is_member && boot.session < newest.session {
            Err(RejectionReason::OldSession)
        } else if boot.session == newest.session && boot.nonce != newest.nonce {
            Err(RejectionReason::Twin)
        } else if boot.session >= SESSION_LIMIT
            || is_member && newest.session > 0 && boot.session - newest.session > MAX_SESSION_GAP
        {
            Err(RejectionReason::FarSession)
        } else {
            Ok(())
        }
    }

    /// Checks the boot of a process that replaces the peer and has not joined the group yet. The
    /// boot must have passed [`Peer::check_boot`].
    ///
    /// Rejects the boot if the replaced process is a member, has connected before, and has a much
    /// lower session number. Without this check, the replaced process could not return, and the new
    /// process would act in its name.
    ///
    /// If the session numbers are close, the member is the new process itself, which does not know
    /// yet that it was added.
    pub(crate) fn check_replacement(&self, boot: BootId) -> Result<(), RejectionReason> {
        let newest = self.newest_session();
        let is_member = self.registry.as_ref().is_some_and(|it| it.is_member(self.process));
        // The first session number of a replacement is a time in milliseconds, so it is far above
        // the sessions of the replaced process. Later sessions of the replacement are close to the
        // first. The newest session may have grown since `check_boot`. The link therefore checks
        // the boot again.
        if is_member && newest > 0 && boot.session.saturating_sub(newest) > MAX_UNSEEN_STARTS {
            return Err(RejectionReason::PredecessorNotRemoved);
        }
        Ok(())
    }

    pub(crate) fn set_newest_boot(&self, boot: BootId) {
        *self.newest_boot() = boot;
    }

    /// Saves a boot in the membership record, if there is one. Blocks on the disk.
    pub(crate) fn record_boot(&self, boot: BootId) -> Result<(), SaveError> {
        self.registry.as_ref().map_or(Ok(()), |registry| registry.record_boot(self.process, boot))
    }

    /// Returns true if there is a membership record and it does not contain the boot yet.
    pub(crate) fn is_boot_unrecorded(&self, boot: BootId) -> bool {
        self.registry.as_ref().is_some_and(|registry| registry.newest_boot(self.process) != boot)
    }

    /// Forgets the newest boot, because another process takes the place of the peer.
    pub(crate) fn clear_newest_boot(&self) {
        *self.newest_boot() = BootId::default();
    }

    fn newest_boot(&self) -> MutexGuard<'_, BootId> {
        self.newest.lock().expect("the lock is not poisoned")
    }

    /// Returns the number of failed key exchanges with this peer.
    pub(crate) fn failed_key_exchanges(&self) -> usize {
        self.failed_key_exchanges.load(Ordering::Relaxed)
    }

    /// Counts a failed key exchange with this peer.
    pub(crate) fn count_failed_key_exchange(&self) {
        self.failed_key_exchanges.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Records that a warning about the round-trip time of the peer is logged. Returns true for the
    /// first call only, so that the warning is logged once.
    pub(crate) fn mark_round_trip_logged(&self) -> bool {
        !self.is_round_trip_logged.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn on_connected(&self) {
        self.is_connected.store(true, Ordering::Release);
        let mut history = self.history();
        history.connected_at = Some(SystemTime::now());
        history.error = None;
    }

    pub(crate) fn on_disconnected(&self) {
        self.is_connected.store(false, Ordering::Release);
        self.history().disconnected_at = Some(SystemTime::now());
    }

    pub(crate) fn record_contact(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        self.last_contact.store(millis, Ordering::Relaxed);
    }

    fn last_contact_at(&self) -> Option<SystemTime> {
        match self.last_contact.load(Ordering::Relaxed) {
            0 => None,
            millis => UNIX_EPOCH.checked_add(Duration::from_millis(millis)),
        }
    }

    pub(crate) fn set_last_error(&self, error: &str) {
        self.history().error = Some(error.to_owned());
    }

    pub(crate) fn status(&self) -> PeerStatus {
        let history = self.history().clone();
        let held = self.outbox.held_size();
        PeerStatus {
            peer: self.process,
            address: self.address.clone(),
            is_connected: self.is_connected(),
            session: Some(self.newest_session()).filter(|session| *session > 0),
            connected_at: history.connected_at,
            disconnected_at: history.disconnected_at,
            last_contact_at: self.last_contact_at(),
            error: history.error,
            held_messages: held.messages,
            held_bytes: held.bytes,
        }
    }

    fn history(&self) -> MutexGuard<'_, ConnectionHistory> {
        self.history.lock().expect("the lock is not poisoned")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::ProcessSet;

    use super::*;
    use crate::transport::reliable_session::QueueSize;

    #[test]
    fn rejects_replacement_of_present_member() {
        let directory = tempfile::tempdir().expect("a directory");
        let registry = MembershipRecord::open(directory.path(), 3, true).expect("a registry");
        let outbox = Outbox::new(QueueSize { messages: 1, bytes: 1 }, Arc::default());
        let address = "127.0.0.1:1".to_owned();
        let peer = Peer::new(ProcessId(2), address, outbox, Some(registry.clone()));
        let check = |session| peer.check_replacement(BootId { session, nonce: 7 });
        let (first, rejected) = (1 << 34, Err(RejectionReason::PredecessorNotRemoved));
        assert_eq!(check(first), Ok(()), "the member has never been seen");
        peer.set_newest_boot(BootId { session: 5, nonce: 7 });
        assert_eq!(check(first), rejected);
        registry.record_members(9, &ProcessSet::first_n(2)).expect("room");
        assert_eq!(check(first), Ok(()), "the member was removed");
        // The replacement is added. It connects again before it knows this.
        peer.set_newest_boot(BootId { session: first, nonce: 7 });
        registry.record_members(12, &ProcessSet::first_n(3)).expect("room");
        assert_eq!((check(first), check(first + 1)), (Ok(()), Ok(())));
        // A second process now replaces the replacement.
        assert_eq!(check(first + 60_000), rejected);
    }
}
