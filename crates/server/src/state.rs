//! What all tasks of a member share: the store, who watches it, and who waits for a claim.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tenure_core::service::log::Members;
use tenure_store::{Asker, At, Bytes, Claim, Command, Limits, Outcome, Store, Watchers, claim_of};
use tokio::sync::{Notify, oneshot, watch};

use crate::bounds::STORE_OPERATIONS;
use crate::errand::Released;
use crate::eviction::Eviction;
use crate::leases::Leases;

/// Who leads, as this member was told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The number of the leader's process.
    pub(crate) leader: Option<usize>,
    /// The latest term that was heard of.
    pub(crate) term: u64,
}

/// What became of a claim that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is inside.
    Inside {
        /// The revision in which it came in.
        revision: u64,
    },
    /// It is over.
    Ended,
}

/// The number of somebody who watches.
pub(crate) type WatcherId = u64;

/// What has happened to a watcher.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    /// The first revision that it has not seen, if there is one.
    pub(crate) since: Option<u64>,
    /// The revision that made the key it watches, if that is released.
    pub(crate) released: Option<u64>,
}

/// Who is to look what happened, and to which of their watchers.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    notify: Notify,
    dirty: Mutex<HashMap<WatcherId, News>>,
}

impl Signal {
    fn set(&self, watcher: WatcherId, revision: u64) {
        locked(&self.dirty).entry(watcher).or_default().since.get_or_insert(revision);
        self.notify.notify_one();
    }

    fn release(&self, watcher: WatcherId, fence: u64) {
        locked(&self.dirty).entry(watcher).or_default().released = Some(fence);
        self.notify.notify_one();
    }

    /// To whom something has happened, and what.
    pub(crate) fn take(&self) -> HashMap<WatcherId, News> {
        std::mem::take(&mut *locked(&self.dirty))
    }

    /// The same, when something has. Dropping the future loses nothing.
    pub(crate) async fn wait(&self) -> HashMap<WatcherId, News> {
        loop {
            let dirty = self.take();
            if !dirty.is_empty() {
                return dirty;
            }
            self.notify.notified().await;
        }
    }
}

/// Where clients reach members, by the number of the process.
pub(crate) type Urls = BTreeMap<u32, Vec<String>>;

/// Limits of the replicated store.
fn limits() -> Limits {
    Limits { operations: STORE_OPERATIONS, ..Limits::default() }
}

/// What all tasks of a member share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) leases: Leases,
    /// The last entry of the log that was taken, whatever it says.
    pub(crate) taken: u64,
    /// Who keeps the log there.
    pub(crate) members: Members,
    /// The index of the entry that says so; of the snapshot, where that does.
    pub(crate) members_at: u64,
    /// Where clients reach members, by the number of the process, as far as each said.
    pub(crate) urls: Urls,
    watchers: Watchers<WatcherId>,
    signals: HashMap<WatcherId, Arc<Signal>>,
    next_watcher: WatcherId,
    waiting: HashMap<Bytes, Vec<oneshot::Sender<Verdict>>>,
}

/// The same with a lock around it, and who leads, for whoever waits for that.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) standing: watch::Sender<Standing>,
    /// A snapshot would be welcome.
    pub(crate) compaction: Notify,
    /// The index of the last entry that says who the members are, whenever there is another.
    pub(crate) membership: watch::Sender<u64>,
    /// True once all calls have to end.
    pub(crate) is_stopping: watch::Sender<bool>,
    /// Why this member must not take part any more, if it must not.
    pub(crate) eviction: OnceLock<Eviction>,
}

impl Shared {
    /// Of a log that is kept by these at first.
    pub(crate) fn new(members: Members) -> Self {
        let state = State {
            store: Store::new(limits()),
            leases: Leases::default(),
            taken: 0,
            members,
            members_at: 0,
            urls: Urls::new(),
            watchers: Watchers::new(),
            signals: HashMap::new(),
            next_watcher: 0,
            waiting: HashMap::new(),
        };
        let standing = watch::Sender::new(Standing::default());
        Shared {
            state: Mutex::new(state),
            standing,
            compaction: Notify::new(),
            membership: watch::Sender::default(),
            is_stopping: watch::Sender::default(),
            eviction: OnceLock::new(),
        }
    }

    /// Takes note of who the members are, as an entry says.
    pub(crate) fn members_are(&self, members: Members, at: u64) {
        let mut state = self.lock();
        (state.members, state.members_at) = (members, at);
        drop(state);
        self.membership.send_replace(at);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

impl State {
    /// Takes an entry of the log, and tells whoever is concerned but the one who asked.
    ///
    /// That it was taken is known together with what it did: a snapshot that had the one without
    /// the other would be handed the entry again, by the log behind it.
    pub(crate) fn apply(&mut self, at: At, asker: &Asker, command: Command) -> Outcome {
        let outcome = self.store.apply_for(at, asker, command);
        self.taken = at.index;
        for event in &outcome.events {
            for (watcher, signal) in self.watching(&event.kv.key) {
                signal.set(watcher, event.revision());
            }
        }
        let revision = outcome.revision;
        self.tell(&outcome.ended, Verdict::Ended);
        self.tell(&outcome.admitted, Verdict::Inside { revision });
        self.leases.take(&outcome.leases, &self.store, Instant::now());
        outcome
    }

    /// A lock is claimed no longer: whoever watches its key is told, if they wait behind it. Says
    /// whether anybody may, here or elsewhere: who comes into the queue later than this member
    /// knows hears of the deletion.
    pub(crate) fn release(&self, Released { key, fence }: &Released) -> bool {
        let there = self.store.get(key).filter(|kv| kv.create_revision == *fence);
        let Some(kv) = there else { return false };
        for (watcher, signal) in self.watching(key) {
            signal.release(watcher, *fence);
        }
        let queue = claim_of(kv).and_then(|claim| self.store.queue(&claim.name));
        queue.is_none_or(|queue| queue.len() > 1)
    }

    /// Who watches a key, and by what each is told.
    fn watching<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = (WatcherId, &'a Signal)> {
        let told = |watcher| Some((watcher, &**self.signals.get(&watcher)?));
        self.watchers.of(key).copied().filter_map(told)
    }

    /// The store is another one, that stands for all entries up to an index.
    pub(crate) fn replace(&mut self, store: Store, taken: u64) {
        let first = self.store.revision() + 1;
        (self.store, self.taken) = (store, taken);
        // A snapshot of an earlier release has a limit of its own.
        self.store.allow_operations(STORE_OPERATIONS);
        self.signals.iter().for_each(|(watcher, signal)| signal.set(*watcher, first));
        // Whoever waits for a claim asks again.
        self.waiting.clear();
    }

    fn tell(&mut self, claims: &[Claim], verdict: Verdict) {
        for claim in claims {
            for waiting in self.waiting.remove(&claim.key).into_iter().flatten() {
                // Whoever has gone away does not want to know.
                let _ = waiting.send(verdict);
            }
        }
    }

    /// Waits for what becomes of a claim; at once, where that is known.
    pub(crate) fn await_claim(&mut self, claim: &Claim) -> oneshot::Receiver<Verdict> {
        let (sender, receiver) = oneshot::channel();
        let there = self.store.get(&claim.key);
        if there.is_none_or(|kv| kv.create_revision != claim.fence) {
            let _ = sender.send(Verdict::Ended);
        } else if self.store.is_inside(claim) {
            let _ = sender.send(Verdict::Inside { revision: self.store.revision() });
        } else {
            self.waiting.entry(claim.key.clone()).or_default().push(sender);
        }
        receiver
    }

    /// Nobody waits for this claim any more, as far as one of them knows.
    pub(crate) fn forget_claim(&mut self, key: &Bytes) {
        if let Some(waiting) = self.waiting.get_mut(key) {
            waiting.retain(|sender| !sender.is_closed());
            if waiting.is_empty() {
                self.waiting.remove(key);
            }
        }
    }

    /// Somebody watches from now on.
    pub(crate) fn subscribe(
        &mut self,
        span: &tenure_store::Span,
        signal: &Arc<Signal>,
    ) -> WatcherId {
        self.next_watcher += 1;
        self.watchers.insert(span, self.next_watcher);
        self.signals.insert(self.next_watcher, signal.clone());
        self.next_watcher
    }

    /// They do so no longer.
    pub(crate) fn unsubscribe(&mut self, span: &tenure_store::Span, watcher: WatcherId) {
        self.watchers.remove(span, &watcher);
        self.signals.remove(&watcher);
    }

    /// How many watch.
    pub(crate) fn watchers(&self) -> usize {
        self.signals.len()
    }

    /// How many wait for claims.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// Whoever panicked with the lock in hand has ended the member.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tenure_core::ProcessSet;

    use super::*;

    /// A snapshot is made of what somebody sees who looks between any two of these calls.
    #[test]
    fn an_entry_counts_as_taken_as_soon_as_the_store_has_it() {
        let shared = Shared::new(Members::of(ProcessSet::first(1)));
        for index in 1..=3 {
            let at = At { index, term: 1 };
            let command = Command::Grant { lease: index, ttl: 60 };
            let outcome = shared.lock().apply(at, &Asker::Member, command);
            assert!(outcome.answer.is_ok());
            let state = shared.lock();
            assert_eq!((state.taken, state.store.applied()), (index, at));
        }
    }
}
