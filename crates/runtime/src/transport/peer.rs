//! What all parts of a mesh share about one peer.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use tenure_core::ProcessId;
use tokio::sync::Notify;

use super::frame::Boot;
use super::outbox::Outbox;
use super::refusal::Refusal;
use crate::store::{Registry, SaveError};

/// Sessions stay below this, as the numbers of terms do: nobody boots that often.
pub(crate) const SESSIONS: u64 = 1 << 40;

/// How many boots of a process may go by unseen. A process that takes the place of a member begins
/// with the time, in milliseconds since 2026: enough for seventeen years of that.
const UNSEEN_BOOTS: u64 = 1 << 39;

/// One peer, seen from the consumer, the link and the listener.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) process: ProcessId,
    pub(crate) address: String,
    pub(crate) outbox: Outbox,
    /// The session that the consumer has seen come up last: whom its messages are meant for.
    addressed: AtomicU64,
    /// The newest boot that proved itself; session 0 before the first.
    newest: Mutex<Boot>,
    /// How often it did not prove the key that was expected: the next time it is another.
    failed_exchanges: AtomicUsize,
    connected: AtomicBool,
    /// Whether it was said how far away it is.
    far: AtomicBool,
    /// Told when the consumer does not believe what came over the connection.
    pub(crate) disbelieved: Notify,
    registry: Option<Registry>,
    history: Mutex<History>,
}

#[derive(Clone, Debug, Default)]
struct History {
    connected_at: Option<SystemTime>,
    error: Option<String>,
}

/// How things stand with one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Which peer.
    pub peer: ProcessId,
    /// Its address, as configured.
    pub address: String,
    /// Whether a connection carries messages now.
    pub connected: bool,
    /// Its newest session seen, if any.
    pub session: Option<u64>,
    /// When a connection last began to carry messages, by the wall clock.
    pub connected_at: Option<SystemTime>,
    /// What went wrong last, if anything did since the last connection began.
    pub error: Option<String>,
    /// The messages kept for it until it acknowledges them.
    pub held_frames: usize,
    /// The bytes of those messages.
    pub held_bytes: usize,
}

impl Peer {
    pub(crate) fn new(
        process: ProcessId,
        address: String,
        outbox: Outbox,
        registry: Option<Registry>,
    ) -> Self {
        let newest = registry.as_ref().map(|registry| registry.newest(process));
        Peer {
            process,
            address,
            outbox,
            addressed: AtomicU64::new(0),
            newest: Mutex::new(newest.unwrap_or_default()),
            failed_exchanges: AtomicUsize::new(0),
            connected: AtomicBool::new(false),
            far: AtomicBool::new(false),
            disbelieved: Notify::new(),
            registry,
            history: Mutex::default(),
        }
    }

    pub(crate) fn addressed(&self) -> u64 {
        self.addressed.load(Ordering::Acquire)
    }

    pub(crate) fn address_to(&self, session: u64) {
        self.addressed.store(session, Ordering::Release);
    }

    /// The newest session that proved itself; 0 before the first.
    pub(crate) fn newest(&self) -> u64 {
        self.newest_boot().session
    }

    /// Whether this can be the newest boot of the peer, or the one that it was.
    pub(crate) fn judge(&self, boot: Boot) -> Result<(), Refusal> {
        let newest = *self.newest_boot();
        // Sessions of a process that is no member are not compared: another may take its place.
        let is_member = self.registry.as_ref().is_none_or(|it| it.is_member(self.process));
        if boot.session == 0 || is_member && boot.session < newest.session {
            Err(Refusal::OldSession)
        } else if boot.session == newest.session && boot.nonce != newest.nonce {
            Err(Refusal::Twin)
        } else if boot.session >= SESSIONS
            || is_member && newest.session > 0 && boot.session - newest.session > UNSEEN_BOOTS
        {
            Err(Refusal::FarSession)
        } else {
            Ok(())
        }
    }

    /// Takes note of a boot that was judged and proved itself.
    pub(crate) fn adopt(&self, boot: Boot) {
        *self.newest_boot() = boot;
    }

    /// Makes a boot that was judged durable, where boots are. Blocks on the disk.
    pub(crate) fn note(&self, boot: Boot) -> Result<(), SaveError> {
        self.registry.as_ref().map_or(Ok(()), |registry| registry.note(self.process, boot))
    }

    /// Whether a boot is to be made durable yet.
    pub(crate) fn is_unnoted(&self, boot: Boot) -> bool {
        self.registry.as_ref().is_some_and(|registry| registry.newest(self.process) != boot)
    }

    /// Forgets all boots: the next is that of another process in its place.
    pub(crate) fn forget(&self) {
        *self.newest_boot() = Boot::default();
    }

    fn newest_boot(&self) -> MutexGuard<'_, Boot> {
        self.newest.lock().expect("no code panics while it holds a boot")
    }

    pub(crate) fn failed_exchanges(&self) -> usize {
        self.failed_exchanges.load(Ordering::Relaxed)
    }

    pub(crate) fn exchange_failed(&self) {
        self.failed_exchanges.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }

    /// Whether it is to be said how far away it is: once.
    pub(crate) fn is_news_of_distance(&self) -> bool {
        !self.far.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn came_up(&self) {
        self.connected.store(true, Ordering::Release);
        *self.history() = History { connected_at: Some(SystemTime::now()), error: None };
    }

    pub(crate) fn went_down(&self) {
        self.connected.store(false, Ordering::Release);
    }

    pub(crate) fn remember_error(&self, error: &str) {
        self.history().error = Some(error.to_owned());
    }

    pub(crate) fn status(&self) -> PeerStatus {
        let history = self.history().clone();
        let held = self.outbox.held();
        PeerStatus {
            peer: self.process,
            address: self.address.clone(),
            connected: self.is_connected(),
            session: Some(self.newest()).filter(|session| *session > 0),
            connected_at: history.connected_at,
            error: history.error,
            held_frames: held.frames,
            held_bytes: held.bytes,
        }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().expect("no code panics while it holds a history")
    }
}
