//! State of one peer that all parts of a mesh share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use tenure_core::ProcessId;
use tokio::sync::Notify;

use super::frame::Boot;
use super::outbox::Outbox;
use super::refusal::Refusal;
use crate::store::{Registry, SaveError};

/// Exclusive upper bound on session numbers, as for term numbers. No process boots that often.
pub(crate) const SESSION_LIMIT: u64 = 1 << 40;

/// Maximum difference between successive sessions of a process. A process that replaces a member
/// starts with the time in milliseconds since 2026, which fits for 17 years.
const MAX_SESSION_GAP: u64 = 1 << 39;

/// State of one peer, shared by the consumer, the link and the listener.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) process: ProcessId,
    pub(crate) address: String,
    pub(crate) outbox: Outbox,
    /// Session that messages of the consumer are sent to: that of the latest `PeerUp`.
    target_session: AtomicU64,
    /// Newest authenticated boot; session 0 before the first.
    newest: Mutex<Boot>,
    /// Number of failed key exchanges. The next attempt expects another key of the peer.
    failed_exchanges: AtomicUsize,
    is_connected: AtomicBool,
    /// True if a warning about its distance has been logged.
    is_distance_logged: AtomicBool,
    /// Notified when the consumer rejects a message of this peer.
    pub(crate) invalid_message: Notify,
    registry: Option<Registry>,
    history: Mutex<ConnectionHistory>,
}

#[derive(Clone, Debug, Default)]
struct ConnectionHistory {
    connected_at: Option<SystemTime>,
    error: Option<String>,
}

/// Status of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Process of the peer.
    pub peer: ProcessId,
    /// Configured address.
    pub address: String,
    /// True if a connection is established.
    pub is_connected: bool,
    /// Newest known session, if any.
    pub session: Option<u64>,
    /// Time of the last established connection, by the wall clock.
    pub connected_at: Option<SystemTime>,
    /// Last error since the last established connection.
    pub error: Option<String>,
    /// Number of unacknowledged messages to the peer.
    pub held_frames: usize,
    /// Size of these messages, in bytes.
    pub held_bytes: usize,
}

impl Peer {
    pub(crate) fn new(
        process: ProcessId,
        address: String,
        outbox: Outbox,
        registry: Option<Registry>,
    ) -> Self {
        let newest = registry.as_ref().map(|registry| registry.newest_boot(process));
        Peer {
            process,
            address,
            outbox,
            target_session: AtomicU64::new(0),
            newest: Mutex::new(newest.unwrap_or_default()),
            failed_exchanges: AtomicUsize::new(0),
            is_connected: AtomicBool::new(false),
            is_distance_logged: AtomicBool::new(false),
            invalid_message: Notify::new(),
            registry,
            history: Mutex::default(),
        }
    }

    pub(crate) fn target_session(&self) -> u64 {
        self.target_session.load(Ordering::Acquire)
    }

    pub(crate) fn set_target_session(&self, session: u64) {
        self.target_session.store(session, Ordering::Release);
    }

    /// Returns the newest authenticated session; 0 before the first.
    pub(crate) fn newest(&self) -> u64 {
        self.newest_boot().session
    }

    /// Checks whether a boot can be the newest one of the peer, or equals the known one.
    pub(crate) fn check_boot(&self, boot: Boot) -> Result<(), Refusal> {
        let newest = *self.newest_boot();
        // Sessions of a former member are not compared: another process may take its place.
        let is_member = self.registry.as_ref().is_none_or(|it| it.is_member(self.process));
        if boot.session == 0 || is_member && boot.session < newest.session {
            Err(Refusal::OldSession)
        } else if boot.session == newest.session && boot.nonce != newest.nonce {
            Err(Refusal::Twin)
        } else if boot.session >= SESSION_LIMIT
            || is_member && newest.session > 0 && boot.session - newest.session > MAX_SESSION_GAP
        {
            Err(Refusal::FarSession)
        } else {
            Ok(())
        }
    }

    /// Makes an authenticated boot the newest one.
    pub(crate) fn adopt(&self, boot: Boot) {
        *self.newest_boot() = boot;
    }

    /// Saves a boot in the registry, if there is one. Blocks on the disk.
    pub(crate) fn record_boot(&self, boot: Boot) -> Result<(), SaveError> {
        self.registry.as_ref().map_or(Ok(()), |registry| registry.record_boot(self.process, boot))
    }

    /// Returns true if the registry does not have the boot yet.
    pub(crate) fn is_unrecorded(&self, boot: Boot) -> bool {
        self.registry.as_ref().is_some_and(|registry| registry.newest_boot(self.process) != boot)
    }

    /// Forgets all boots, because another process takes the place of the peer.
    pub(crate) fn forget(&self) {
        *self.newest_boot() = Boot::default();
    }

    fn newest_boot(&self) -> MutexGuard<'_, Boot> {
        self.newest.lock().expect("the lock is not poisoned")
    }

    pub(crate) fn failed_exchanges(&self) -> usize {
        self.failed_exchanges.load(Ordering::Relaxed)
    }

    pub(crate) fn count_failed_exchange(&self) {
        self.failed_exchanges.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Returns true for the first call only, so that the distance is logged once.
    pub(crate) fn mark_distance_logged(&self) -> bool {
        !self.is_distance_logged.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn on_connected(&self) {
        self.is_connected.store(true, Ordering::Release);
        *self.history() = ConnectionHistory { connected_at: Some(SystemTime::now()), error: None };
    }

    pub(crate) fn on_disconnected(&self) {
        self.is_connected.store(false, Ordering::Release);
    }

    pub(crate) fn set_last_error(&self, error: &str) {
        self.history().error = Some(error.to_owned());
    }

    pub(crate) fn status(&self) -> PeerStatus {
        let history = self.history().clone();
        let held = self.outbox.held();
        PeerStatus {
            peer: self.process,
            address: self.address.clone(),
            is_connected: self.is_connected(),
            session: Some(self.newest()).filter(|session| *session > 0),
            connected_at: history.connected_at,
            error: history.error,
            held_frames: held.frames,
            held_bytes: held.bytes,
        }
    }

    fn history(&self) -> MutexGuard<'_, ConnectionHistory> {
        self.history.lock().expect("the lock is not poisoned")
    }
}
