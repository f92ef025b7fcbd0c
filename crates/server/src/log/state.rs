//! State of a member that its tasks share: the store, its watchers, and the tasks that wait for
//! claims.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tenure_core::service::log::Members;
use tenure_core::{ProcessId, ProcessSet};
use tenure_store::{
    ApplyOutcome, Bytes, Claim, Command, LogPosition, Principal, Store, StoreLimits, WatcherIndex,
    claim_from_key_value,
};
use tokio::sync::{Notify, oneshot, watch};

use crate::config::limits::MAX_STORE_TXN_OPS;
use crate::log::claim_times::ClaimTimes;
use crate::log::lease_timers::LeaseTimers;
use crate::log::peer_contacts::PeerContacts;
use crate::log::request::{ReleaseNotice, ReleasedLock};
use crate::member::eviction::EvictionReason;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaderStatus {
    /// Index of the leader's process. `None`: this member knows no leader.
    pub(crate) leader: Option<usize>,
    pub(crate) term: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimOutcome {
    Acquired {
        /// Revision of the store when this member found that the claim holds its lock. The claim
        /// may have acquired the lock earlier.
        revision: u64,
    },
    /// The claim does not exist any more.
    Ended,
}

/// Upper bound on the different ranges that the watchers of a member watch. A range is a span that
/// is neither a single key nor a prefix. Each event is compared with all ranges while the state is
/// locked.
pub(crate) const MAX_WATCHED_RANGES: usize = 1000;

/// Upper bound on the bytes that the watchers of a member count together, by [`watcher_size`].
pub(crate) const MAX_WATCHER_BYTES: usize = 256 << 20;

/// Bytes that a watcher counts in addition to the keys of its span.
const WATCHER_OVERHEAD_BYTES: usize = 256;

/// Upper bound on the number of announced releases that wait for entries of the log. Waiters of
/// further releases are notified when the key is deleted.
const MAX_HELD_RELEASES: usize = 1024;

/// Number of a watcher, unique within a member.
pub(crate) type WatcherId = u64;

/// Summary of the changes that concern a watcher, since its stream last took such a summary.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingEventSummary {
    /// Revision of the first event since then. `None`: there was no event.
    pub(crate) since: Option<u64>,
    /// Creation revision of the watched key, if the owner of the key has sent a release of its
    /// lock. `None` if there was no such release.
    pub(crate) released: Option<u64>,
    /// Time at which this member applied the first event since then. `None`: there was no event.
    pub(crate) changed_at: Option<Instant>,
}

/// Signal that wakes the task of a watch stream, and collects the changes that concern the watchers
/// of the stream.
#[derive(Debug, Default)]
pub(crate) struct WatchStreamSignal {
    notify: Notify,
    pending: Mutex<HashMap<WatcherId, PendingEventSummary>>,
}

impl WatchStreamSignal {
    fn changed(&self, watcher: WatcherId, revision: u64, now: Instant) {
        let mut pending = lock(&self.pending);
        let events = pending.entry(watcher).or_default();
        events.since.get_or_insert(revision);
        events.changed_at.get_or_insert(now);
        drop(pending);
        self.notify.notify_one();
    }

    fn released(&self, watcher: WatcherId, fence: u64) {
        lock(&self.pending).entry(watcher).or_default().released = Some(fence);
        self.notify.notify_one();
    }

    /// Removes the summaries of all watchers, and returns them.
    pub(crate) fn take_pending(&self) -> HashMap<WatcherId, PendingEventSummary> {
        std::mem::take(&mut *lock(&self.pending))
    }

    /// Waits until at least one watcher has a summary. Then removes the summaries of all watchers,
    /// and returns them. If this future is dropped, no summary is lost.
    pub(crate) async fn wait_and_take_pending(&self) -> HashMap<WatcherId, PendingEventSummary> {
        loop {
            let pending = self.take_pending();
            if !pending.is_empty() {
                return pending;
            }
            self.notify.notified().await;
        }
    }
}

/// Client URLs of members. The key is the index of the member's process.
pub(crate) type ClientUrlsByProcess = BTreeMap<u32, Vec<String>>;

/// Returns the limits of the replicated store, which are the same on all members.
fn limits() -> StoreLimits {
    StoreLimits { max_operations: MAX_STORE_TXN_OPS, ..StoreLimits::default() }
}

/// State of a member that is protected by one lock: the replicated state, the timers, and the tasks
/// that wait for changes.
#[derive(Debug)]
pub(crate) struct StoreAndWaiters {
    pub(crate) store: Store,
    pub(crate) lease_timers: LeaseTimers,
    pub(crate) claim_times: ClaimTimes,
    /// Index of the last log entry that this member has applied.
    pub(crate) applied: u64,
    /// Index of the last log entry that this member knew to be committed before it applied the
    /// entry. It is higher than `applied` while the entry waits for a save.
    committed: u64,
    /// Announced releases, each with the index of the entry that this member must apply before it
    /// notifies the waiters.
    held_releases: Vec<(u64, ReleasedLock)>,
    pub(crate) members: Members,
    /// Index of the last log entry that changed the membership, or of the snapshot that includes
    /// this entry. 0 while the initial members apply.
    pub(crate) membership_index: u64,
    pub(crate) client_urls: ClientUrlsByProcess,
    watchers: WatcherIndex<WatcherId>,
    signals: HashMap<WatcherId, Arc<WatchStreamSignal>>,
    /// Sum of [`watcher_size`] over all watchers.
    watcher_bytes: usize,
    last_watcher: WatcherId,
    claim_waiters: HashMap<Bytes, Vec<oneshot::Sender<ClaimOutcome>>>,
}

/// Lock that protects the state of a member, and channels on which tasks wait for its changes.
#[derive(Debug)]
pub(crate) struct SharedState {
    state: Mutex<StoreAndWaiters>,
    pub(crate) leader_status: watch::Sender<LeaderStatus>,
    /// Notification that a snapshot of the store should replace the beginning of the log.
    pub(crate) compaction_due: Notify,
    /// Index of the last log entry that changed the membership, as in
    /// [`StoreAndWaiters::membership_index`]. Tasks that wait for such a change subscribe to it.
    pub(crate) membership_index: watch::Sender<u64>,
    /// True once the member shuts down. All calls must then end.
    pub(crate) is_stopping: watch::Sender<bool>,
    /// Reason why this member must not participate any more. Empty while it may participate.
    pub(crate) eviction: OnceLock<EvictionReason>,
    /// Contacts with the other members. Empty until the transport has started.
    pub(crate) contacts: OnceLock<PeerContacts>,
}

impl SharedState {
    pub(crate) fn new(members: Members) -> Self {
        let state = StoreAndWaiters {
            store: Store::new(limits()),
            lease_timers: LeaseTimers::default(),
            claim_times: ClaimTimes::default(),
            applied: 0,
            committed: 0,
            held_releases: Vec::new(),
            members,
            membership_index: 0,
            client_urls: ClientUrlsByProcess::new(),
            watchers: WatcherIndex::new(),
            signals: HashMap::new(),
            watcher_bytes: 0,
            last_watcher: 0,
            claim_waiters: HashMap::new(),
        };
        SharedState {
            state: Mutex::new(state),
            leader_status: watch::Sender::default(),
            compaction_due: Notify::new(),
            membership_index: watch::Sender::default(),
            is_stopping: watch::Sender::default(),
            eviction: OnceLock::new(),
            contacts: OnceLock::new(),
        }
    }

    /// Returns the voters of `next` that do not respond to this leader, whose process is `me`.
    /// Omits the processes that the change adds to the voters: the log gives a process a vote only
    /// after the process has caught up.
    pub(crate) fn silent_voters(
        &self,
        me: ProcessId,
        current: &Members,
        next: &Members,
    ) -> ProcessSet {
        let responds = |process| {
            process == me || self.contacts.get().is_some_and(|it| it.has_recent_contact(process))
        };
        let remaining = next.voters.iter().filter(|process| current.voters.contains(*process));
        remaining.filter(|process| !responds(*process)).collect()
    }

    pub(crate) fn set_members(&self, members: Members, index: u64) {
        let mut state = self.lock();
        (state.members, state.membership_index) = (members, index);
        drop(state);
        self.membership_index.send_replace(index);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, StoreAndWaiters> {
        lock(&self.state)
    }
}

impl StoreAndWaiters {
    /// Applies a command of the log, and notifies watchers and waiters of its effects. The caller
    /// notifies the proposer.
    ///
    /// The store and the applied index change under one lock. If a snapshot included only one of
    /// the two changes, the member would apply the entry twice, or never.
    pub(crate) fn apply(
        &mut self,
        position: LogPosition,
        principal: &Principal,
        command: Command,
    ) -> ApplyOutcome {
        let outcome = self.store.apply_as(position, principal, command);
        self.applied = position.index;
        let now = Instant::now();
        for event in &outcome.events {
            for (watcher, signal) in self.watchers_of(&event.kv.key) {
                signal.changed(watcher, event.revision(), now);
            }
        }
        let revision = outcome.revision;
        self.notify_claims(&outcome.ended, ClaimOutcome::Ended);
        self.notify_claims(&outcome.granted, ClaimOutcome::Acquired { revision });
        self.lease_timers.apply(&outcome.lease_changes, &self.store, now);
        self.claim_times.record_outcome(position.term, &outcome, now);
        outcome
    }

    /// Records that this member knows the entry `index` to be committed.
    pub(crate) fn record_committed(&mut self, index: u64) {
        self.committed = self.committed.max(index);
    }

    /// Returns the index of the last entry that this member knows to be committed.
    pub(crate) fn last_committed(&self) -> u64 {
        self.committed.max(self.applied)
    }

    /// Records that this member has applied all entries up to `index`. Then sends the notifications
    /// about released locks that were held back until one of these entries was applied.
    pub(crate) fn set_applied(&mut self, index: u64) {
        self.applied = index;
        let due: Vec<_> =
            self.held_releases.extract_if(.., |(needed, _)| *needed <= index).collect();
        for (_, released) in due {
            self.notify_waiters_of_release(&released);
        }
    }

    /// Notifies the clients of this member that wait for the released lock. Returns true if a
    /// client of any member may be waiting for it.
    ///
    /// Holds the notification until this member has applied all entries that it or the sender of
    /// the notice knows to be committed. One of these entries may remove the claim of a waiter, and
    /// another member may already have passed the lock to the next claim.
    pub(crate) fn announce_release(&mut self, notice: &ReleaseNotice) -> bool {
        let needed = notice.committed.max(self.committed);
        if needed <= self.applied {
            return self.notify_waiters_of_release(&notice.released);
        }
        if self.held_releases.len() < MAX_HELD_RELEASES {
            self.held_releases.push((needed, notice.released.clone()));
        }
        true
    }

    /// Notifies the clients of this member that watch the key of the released lock. Returns true if
    /// a client of any member may be waiting for the lock.
    ///
    /// A client that starts to wait after this call is notified later, when the key is deleted.
    fn notify_waiters_of_release(&self, ReleasedLock { key, fence }: &ReleasedLock) -> bool {
        let held = self.store.get(key).filter(|kv| kv.create_revision == *fence);
        let Some(kv) = held else { return false };
        for (watcher, signal) in self.watchers_of(key) {
            signal.released(watcher, *fence);
        }
        let queue = claim_from_key_value(kv).and_then(|claim| self.store.queue(&claim.name));
        queue.is_none_or(|queue| queue.len() > 1)
    }

    fn watchers_of<'a>(
        &'a self,
        key: &'a [u8],
    ) -> impl Iterator<Item = (WatcherId, &'a WatchStreamSignal)> {
        let with_signal = |watcher| Some((watcher, &**self.signals.get(&watcher)?));
        self.watchers.watchers_of(key).copied().filter_map(with_signal)
    }

    /// Replaces the store by `store`, which comes from a snapshot. The snapshot includes all
    /// entries up to index `applied_index`.
    pub(crate) fn install_snapshot(&mut self, store: Store, applied_index: u64) {
        let first = self.store.revision() + 1;
        (self.store, self.applied) = (store, applied_index);
        // A snapshot of an earlier release may contain a different limit.
        self.store.set_max_txn_operations(MAX_STORE_TXN_OPS);
        self.claim_times.retain_existing_claims(&self.store);
        let now = Instant::now();
        self.signals.iter().for_each(|(watcher, signal)| signal.changed(*watcher, first, now));
        // Waiters look up their claims again when the sender is dropped.
        self.claim_waiters.clear();
        self.set_applied(applied_index);
    }

    fn notify_claims(&mut self, claims: &[Claim], outcome: ClaimOutcome) {
        for claim in claims {
            for waiter in self.claim_waiters.remove(&claim.key).into_iter().flatten() {
                // The waiter may have stopped waiting.
                let _ = waiter.send(outcome);
            }
        }
    }

    /// Returns a receiver for the outcome of a claim. If the outcome is known already, the receiver
    /// contains it. The receiver fails if a snapshot replaces the store.
    pub(crate) fn subscribe_to_claim(&mut self, claim: &Claim) -> oneshot::Receiver<ClaimOutcome> {
        let (sender, receiver) = oneshot::channel();
        // A key that was detached from its lease exists, and is no longer a claim.
        let current = self.store.get(&claim.key).and_then(|kv| claim_from_key_value(kv));
        if current.as_ref() != Some(claim) {
            let _ = sender.send(ClaimOutcome::Ended);
        } else if self.store.is_holder(claim) {
            let _ = sender.send(ClaimOutcome::Acquired { revision: self.store.revision() });
        } else {
            self.claim_waiters.entry(claim.key.clone()).or_default().push(sender);
        }
        receiver
    }

    /// Returns the revision of the last write to the key of a claim. `None` if the claim does not
    /// exist.
    pub(crate) fn last_claim_write(&self, claim: &Claim) -> Option<u64> {
        let kv = self.store.get(&claim.key).filter(|kv| kv.create_revision == claim.fence);
        kv.map(|kv| kv.mod_revision)
    }

    /// Removes the waiters whose tasks have stopped waiting for the claim with this key.
    pub(crate) fn remove_closed_waiters(&mut self, key: &Bytes) {
        if let Some(waiters) = self.claim_waiters.get_mut(key) {
            waiters.retain(|waiter| !waiter.is_closed());
            if waiters.is_empty() {
                self.claim_waiters.remove(key);
            }
        }
    }

    pub(crate) fn subscribe(
        &mut self,
        span: &tenure_store::KeySpan,
        signal: &Arc<WatchStreamSignal>,
    ) -> WatcherId {
        self.last_watcher += 1;
        self.watchers.insert(span, self.last_watcher);
        self.signals.insert(self.last_watcher, signal.clone());
        self.watcher_bytes += watcher_size(span);
        self.last_watcher
    }

    pub(crate) fn unsubscribe(&mut self, span: &tenure_store::KeySpan, watcher: WatcherId) {
        self.watchers.remove(span, &watcher);
        if self.signals.remove(&watcher).is_some() {
            self.watcher_bytes -= watcher_size(span);
        }
    }

    /// Returns true if a watcher of `span` may be added without exceeding [`MAX_WATCHED_RANGES`] or
    /// [`MAX_WATCHER_BYTES`].
    pub(crate) fn has_room_for_watcher(&self, span: &tenure_store::KeySpan) -> bool {
        self.watchers.range_count_after_insert(span) <= MAX_WATCHED_RANGES
            && self.watcher_bytes + watcher_size(span) <= MAX_WATCHER_BYTES
    }

    /// Returns true if the watchers of this member exceed [`MAX_WATCHER_BYTES`].
    pub(crate) fn has_too_many_watchers(&self) -> bool {
        self.watcher_bytes > MAX_WATCHER_BYTES
    }

    pub(crate) fn watcher_count(&self) -> usize {
        self.signals.len()
    }

    /// Returns the number of claims for which at least one task waits.
    pub(crate) fn waiting_claim_count(&self) -> usize {
        self.claim_waiters.len()
    }
}

/// Returns the bytes that a watcher of a span counts.
fn watcher_size(span: &tenure_store::KeySpan) -> usize {
    WATCHER_OVERHEAD_BYTES + span.key.len() + span.end.len()
}

/// Locks a mutex, even if it is poisoned. A panic of the log task ends the member. After a panic of
/// any other task under the lock, the member continues with the state that this task has left.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tenure_core::ProcessSet;
    use tenure_core::service::log::{Content, Entry, Event as LogEvent, Payload};
    use tenure_core::service::relayed_log::Event;
    use tenure_runtime::{Application as _, ProcessNames};
    use tenure_store::{AcquireLock, CommandResult, KeySpan, LockMode, Put};

    use super::*;
    use crate::log::application::LogApplication;
    use crate::log::request::{LogCommand, encode, encode_entry};

    /// Checks after each command that the applied index agrees with the store, so that another task
    /// can make a consistent snapshot at any time.
    #[test]
    fn applied_index_changes_together_with_the_store() {
        let shared = SharedState::new(Members::from_voters(ProcessSet::first_n(1)));
        for index in 1..=3 {
            let at = LogPosition { index, term: 1 };
            let command = Command::Grant { lease: index, ttl: 60 };
            let outcome = shared.lock().apply(at, &Principal::Member, command);
            assert!(outcome.result.is_ok());
            let state = shared.lock();
            assert_eq!((state.applied, state.store.applied()), (index, at));
        }
    }

    #[test]
    fn wait_ends_if_the_key_is_detached_from_its_lease() {
        let shared = SharedState::new(Members::from_voters(ProcessSet::first_n(1)));
        let mut state = shared.lock();
        let mut index = 0;
        let mut apply = |state: &mut StoreAndWaiters, command| {
            index += 1;
            let outcome = state.apply(LogPosition { index, term: 1 }, &Principal::Member, command);
            outcome.result.expect("a result")
        };
        let mut queued = |state: &mut StoreAndWaiters, lease| {
            apply(state, Command::Grant { lease, ttl: 60 });
            let (mode, value) = (LockMode::Exclusive, Bytes::default());
            let enqueue = AcquireLock { name: "jobs".into(), lease, mode, value };
            match apply(state, Command::AcquireLock(enqueue)) {
                CommandResult::Enqueued { claim, .. } => claim,
                other => panic!("unexpected result: {other:?}"),
            }
        };
        let (holder, waiting) = (queued(&mut state, 1), queued(&mut state, 2));
        let mut early = state.subscribe_to_claim(&waiting);
        for claim in [&holder, &waiting] {
            let put = Put { key: claim.key.clone(), ..Put::default() };
            apply(&mut state, Command::Put(put));
        }
        assert_eq!(early.try_recv(), Ok(ClaimOutcome::Ended));
        for claim in [&holder, &waiting] {
            let outcome = state.subscribe_to_claim(claim).try_recv();
            assert_eq!(outcome, Ok(ClaimOutcome::Ended));
        }
        assert_eq!(state.waiting_claim_count(), 0);
    }

    /// Returns the event that the entry `index`, which writes a key, is committed.
    fn committed(index: u64, key: &str) -> Event {
        let put = Command::Put(Put { key: key.into(), ..Put::default() });
        let command = encode(&LogCommand::Store(Principal::Member, put));
        let content = Content::Payload(Payload::new(encode_entry((1, 1, index), &command)));
        Event::Log(LogEvent::Committed { index, entry: Entry { term: 1, content } })
    }

    /// A member handles releases before the save of committed entries, which may end the lease of a
    /// waiter.
    #[test]
    fn release_waits_for_entries_that_are_known_to_be_committed() {
        let shared = Arc::new(SharedState::new(Members::from_voters(ProcessSet::first_n(3))));
        let names = ProcessNames::default();
        let mut application = LogApplication::new(ProcessId(0), 1, shared.clone(), None, names);
        application.on_event(committed(1, "held"));
        let (signal, span) = (Arc::default(), KeySpan::single(&b"held"[..]));
        let watcher = shared.lock().subscribe(&span, &signal);
        let fence = shared.lock().store.revision();
        let announced = || signal.take_pending().get(&watcher).and_then(|it| it.released);
        let notified = |committed| {
            let released = ReleasedLock { key: "held".into(), fence };
            let notice = ReleaseNotice { released, committed };
            Event::Notified { payload: Payload::new(encode(&notice)) }
        };
        application.on_event_early(&[notified(1)]);
        assert_eq!(announced(), Some(fence), "all known entries are applied");
        application.on_event(notified(1));
        // The member knows that the second entry is committed.
        application.on_event_early(&[committed(2, "other"), notified(1)]);
        assert_eq!(announced(), None);
        application.on_event(committed(2, "other"));
        assert_eq!(announced(), Some(fence));
        application.on_event(notified(1));
        assert_eq!(announced(), None, "a release is announced once");
        // Only the sender knows that the third entry is committed.
        application.on_event_early(&[notified(3)]);
        application.on_event(notified(3));
        assert_eq!(announced(), None);
        application.on_event(committed(3, "other"));
        assert_eq!(announced(), Some(fence));
    }
}
