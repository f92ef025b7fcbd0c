//! Read–write locks, semaphores and sets of locks at a lock service. The service stores a queue of
//! keys for each lock. A *share* is a part of the lock or the whole lock. To request a share, a
//! client creates a key. The key is attached to the session of the client.
//!
//! Problem: P. J. Courtois, F. Heymans, D. L. Parnas, *Concurrent control with "readers" and
//! "writers"*, Communications of the ACM 14(10), 1971. Algorithm: the lock recipes of etcd's
//! clients. Their queues come from M. Burrows, *The Chubby lock service for loosely-coupled
//! distributed systems*, OSDI 2006. This module runs the code of the real service and its clients:
//! the store (`tenure-store`), and the sessions and leases (`tenure-session`).
//! [`crate::mutex::leased`] carries messages between the service and its clients, and describes
//! sessions and leases.
//!
//! | | |
//! |---|---|
//! | assumes | clock rates within 5 %, no paused process; any delays, losses, crashes |
//! | messages per entry | 5, or none if the client is at the service; 4 more for each wait, 2 per |
//! | | renewal |
//! | delay to enter, uncontended | 4 messages |
//! | delay from a crash inside to the next entry | the rest of the lease, and 3 messages |
//!
//! **Why it is right.** Each change of the store has a number, its *revision*. Keys are queued in
//! the order of the revisions that created them. A client gets its share when no earlier key in the
//! queue excludes it ([`tenure_session::AccessMode`]). New keys come last, so they cannot revoke a
//! grant. Take two keys whose shares exclude each other. The share of the later key was granted in
//! a revision in which the earlier key did not exist. The owner of the earlier key had stopped
//! using its share before the key was deleted, for the reasons in [`crate::mutex::leased`]. So the
//! two owners never use their shares at the same time.
//!
//! **Why every process is served.** A waiter reads from the queue a set of keys that block its
//! share. At least one of these keys must be deleted before the waiter gets its share. The waiter
//! watches all of them, beginning at the revision in which it read the queue, so it misses no
//! deletion. No request overtakes another, so a writer waits only for earlier requests.
//!
//! **Fences.** The fence of a holder is the revision that created its key. If two holders exclude
//! each other, the later holder has the larger fence. Readers that share the lock may enter in
//! another order than that of their fences.
//!
//! **Kinds.** By default a part of a lock is a read lock, and the whole lock is a write lock. With
//! the variant `semaphore` a part is one of *k* permits, and the whole lock is all of them. With
//! `two-locks` a process holds its share of two locks in one session, and takes them in the same
//! order as all others. The unsound variants are known mistakes.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use tenure_core::service::shares::{Command, Event, LockShare};
use tenure_core::{Algorithm, Card, Fence, MessageCost, ProcessId, Property, Service};
use tenure_session::{AccessMode, Waiter, WaiterAction, WaiterPosition};
use tenure_store::{AcquireLock, KeySpan, KeyValue, LockMode, Store, WatchFilter};

use crate::catalogue_error::CatalogueError;
use crate::mutex::RequestId;
use crate::mutex::leased::{
    self, Blockers, ClaimTicket, LockPolicy, SessionLock, older_keys_query,
};
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// One process: a client of the lock service. One of the processes is also the service.
pub type SessionSharedLock = SessionLock<Config>;

/// Configuration of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Process that runs the service, and durations of leases and sessions.
    pub base: leased::Config,
    /// Number of permits of the semaphore, at least 1. Used only with the variant `semaphore`.
    pub permits: u32,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

variant_ids! {
    Semaphore = "semaphore", sound,
        "a part is one permit of a semaphore with k permits, and the whole lock is all permits";
    TwoLocks = "two-locks", sound,
        "a process takes its share of two locks in one session, one after the other";
    EarlyRelease = "early-release", sound,
        "the end of a lease is committed later, and processes that wait for a writer alone are \
         granted the lock before, as soon as the writer has left";
    AnyHolderHandsOver = "any-holder-hands-over", unsound,
        "a writer is granted the lock early when the reader next ahead leaves, although others read"
        => "", "-n 3 --variant any-holder-hands-over,early-release --property session-exclusion \
                --after lock:p1:part,lock:p2:part,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                deliver:p1→p2,lock:p3:whole,deliver:p3→p1,deliver:p1→p3,deliver:p3→p1,\
                deliver:p1→p3,deliver:p3→p1";
    ReadersOvertake = "readers-overtake", unsound,
        "a reader joins the readers inside, although a writer waits before it"
        => "", "-n 3 --property fencing \
                --after lock:p1:part,lock:p3:whole,deliver:p3→p1,deliver:p1→p3,deliver:p3→p1,\
                deliver:p1→p3,deliver:p3→p1,lock:p2:part,deliver:p2→p1,deliver:p1→p2,\
                deliver:p2→p1,deliver:p1→p2";
    PermitCountedTwice = "permit-counted-twice", unsound,
        "a waiter counts the deletions of which it is notified and does not read the queue again: \
         a repeated notification frees a permit twice"
        => "", "-n 3 --variant permit-counted-twice,semaphore --duplicate 1 \
                --property session-exclusion \
                --after lock:p1:part,lock:p2:part,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                deliver:p1→p2,lock:p3:whole,deliver:p3→p1,deliver:p1→p3,deliver:p3→p1,\
                deliver:p1→p3,deliver:p3→p1,unlock:p1";
    UpgradeWhileHolding = "upgrade-while-holding", unsound,
        "a writer first reads, and requests the write lock while it holds the read lock: two of \
         them wait for each other"
        => "", "-n 2 --entries 2,1 --property progress";
    OppositeOrder = "opposite-order", unsound,
        "processes with an even number take two locks in the opposite order: two processes wait \
         for each other"
        => "", "-n 2 --property progress";
}

impl Config {
    /// Returns a configuration for read and write locks. The first process is the service, and
    /// messages take at most `delay` ticks. With the variant `semaphore`, the semaphore has two
    /// permits.
    pub fn with_defaults(delay: u64) -> Self {
        let base = leased::Config::with_defaults(delay);
        Config { base, permits: 2, variants: Variants::none() }
    }

    /// Adds a variant.
    #[must_use]
    pub fn with_variant(mut self, variant: VariantId) -> Self {
        if variant == VariantId::EarlyRelease {
            self.base.variants = self.base.variants.with(leased::VariantId::EarlyRelease);
        }
        self.variants = self.variants.with(variant);
        self
    }

    fn has(&self, switch: VariantId) -> bool {
        self.variants.has(switch)
    }

    /// Returns the claims that the process `at` makes for `share`, in the order in which it makes
    /// them. Each element contains the number of a lock, and the share of this lock that the
    /// process requests.
    fn claims(&self, at: ProcessId, share: LockShare) -> Vec<(u32, LockShare)> {
        if self.has(VariantId::UpgradeWhileHolding) && share == LockShare::Whole {
            return [(1, LockShare::Part), (1, LockShare::Whole)].into();
        }
        let is_opposite = self.has(VariantId::OppositeOrder);
        match self.has(VariantId::TwoLocks) || is_opposite {
            true if is_opposite && at.display_number().is_multiple_of(2) => {
                [(2, share), (1, share)].into()
            }
            true => [(1, share), (2, share)].into(),
            false => [(1, share)].into(),
        }
    }

    /// Returns the name of the lock and the access that the claim `ticket` requests.
    fn claim(&self, at: ProcessId, ticket: &ShareTicket) -> (Vec<u8>, AccessMode) {
        let claims = self.claims(at, ticket.share);
        let (lock, share) = claims[usize::from(ticket.step).min(claims.len() - 1)];
        (format!("lock{lock}").into_bytes(), self.access(share))
    }

    fn access(&self, share: LockShare) -> AccessMode {
        let capacity = self.permits;
        match share {
            LockShare::Part if self.has(VariantId::Semaphore) => {
                AccessMode::Permits { weight: 1, capacity }
            }
            LockShare::Whole if self.has(VariantId::Semaphore) => {
                AccessMode::Permits { weight: capacity, capacity }
            }
            LockShare::Part => AccessMode::Shared,
            LockShare::Whole => AccessMode::Exclusive,
        }
    }

    fn access_of(&self, kv: &KeyValue) -> AccessMode {
        match kv.key.split(|byte| *byte == b'/').nth(1) {
            Some(b"read") => AccessMode::Shared,
            Some(b"permits") => {
                let weight = core::str::from_utf8(&kv.value).ok().and_then(|it| it.parse().ok());
                AccessMode::Permits { weight: weight.unwrap_or(1), capacity: self.permits }
            }
            _ => AccessMode::Exclusive,
        }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let variants: Variants<VariantId> = parameters.variants()?;
        let base = Parameters { variants: Vec::new(), ..parameters.clone() };
        let base = leased::Config::from_parameters(&base)?;
        let config = Config { base, permits: parameters.max_processes_inside.get(), variants };
        let is_early = variants.has(VariantId::EarlyRelease);
        Ok(if is_early { config.with_variant(VariantId::EarlyRelease) } else { config })
    }
}

/// Identifier of a claim: its session, the share that the user requested, and the number of earlier
/// claims in the session. With some variants, the claim itself requests another share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ShareTicket {
    session: RequestId,
    share: LockShare,
    step: u8,
}

impl From<RequestId> for ShareTicket {
    fn from(session: RequestId) -> Self {
        ShareTicket { session, share: LockShare::Part, step: 0 }
    }
}

impl ClaimTicket for ShareTicket {
    fn session(&self) -> RequestId {
        self.session
    }

    fn for_session(self, session: RequestId) -> Self {
        ShareTicket { session, step: 0, ..self }
    }
}

/// Set of keys that block a claim. The claim is not granted before at least one of these keys is
/// deleted. Each key is represented by the number of its lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ShareBlockers(Vec<u64>);

impl Blockers for ShareBlockers {
    fn contains(&self, lease: u64) -> bool {
        self.0.contains(&lease)
    }

    fn only(&self) -> Option<u64> {
        match self.0[..] {
            [lease] => Some(lease),
            _ => None,
        }
    }
}

impl LockPolicy for Config {
    type Command = Command;
    type Event = Event;
    type Ticket = ShareTicket;
    type Blockers = ShareBlockers;
    type NotifiedDeletionCount = usize;

    fn service_config(&self) -> &leased::Config {
        &self.base
    }

    fn ticket_of_first_claim(&self, command: &Command, session: RequestId) -> Option<ShareTicket> {
        match command {
            Command::Lock { share } => Some(ShareTicket { session, share: *share, step: 0 }),
            Command::Unlock => None,
        }
    }

    fn ticket_of_next_claim(&self, at: ProcessId, ticket: &ShareTicket) -> Option<ShareTicket> {
        let step = ticket.step.checked_add(1)?;
        let is_needed = usize::from(step) < self.claims(at, ticket.share).len();
        is_needed.then_some(ShareTicket { step, ..*ticket })
    }

    fn entered_event(&self, ticket: &ShareTicket, fence: Fence) -> Event {
        let limit = self.has(VariantId::Semaphore).then_some(self.permits);
        Event::Locked { share: ticket.share, limit, fence }
    }

    fn exited_event() -> Event {
        Event::Unlocked
    }

    fn acquire_command(&self, at: ProcessId, ticket: &ShareTicket, lease: u64) -> AcquireLock {
        let (lock, access) = self.claim(at, ticket);
        let (kind, value) = match access {
            AccessMode::Shared => (&b"/read"[..], Vec::new()),
            AccessMode::Exclusive => (&b"/write"[..], Vec::new()),
            AccessMode::Permits { weight, .. } => {
                (&b"/permits"[..], weight.to_string().into_bytes())
            }
        };
        let name = [&lock[..], kind].concat().into();
        AcquireLock { name, lease, mode: LockMode::Exclusive, value: value.into() }
    }

    fn blockers(
        &self,
        store: &Store,
        (process, ticket, lease): (ProcessId, &ShareTicket, u64),
        revision: u64,
        at: u64,
    ) -> Option<ShareBlockers> {
        let (lock, access) = self.claim(process, ticket);
        let found = store.range(&older_keys_query(&lock, revision, at)?).ok()?;
        // An upgrade does not wait for the process's own read lock.
        let others = found.kvs.iter().filter(|kv| kv.lease != lease);
        let earlier = others.map(|kv| (kv.lease, self.access_of(kv)));
        let keys = if self.has(VariantId::ReadersOvertake) && access == AccessMode::Shared {
            access.blocking_claims(earlier.rev().take(1))
        } else {
            access.blocking_claims(earlier)
        };
        (!keys.is_empty()).then_some(ShareBlockers(keys))
    }

    fn is_any_deleted_since(&self, store: &Store, blockers: &ShareBlockers, from: u64) -> bool {
        let span = KeySpan::prefix(b"lock");
        let watch = WatchFilter { span, no_put: true, prev_kv: true, ..WatchFilter::default() };
        let Ok(past) = store.past_events(&watch, from, usize::MAX) else { return true };
        let mut deleted = past.events.iter().filter_map(|event| event.prev.as_ref());
        deleted.any(|kv| blockers.contains(kv.lease))
    }

    fn acquires_on_release(
        &self,
        (waiter, waiting): (ProcessId, &ShareTicket),
        (holder, released): (ProcessId, &ShareTicket),
    ) -> bool {
        let (waiting, released) = (self.claim(waiter, waiting).1, self.claim(holder, released).1);
        waiting.acquires_on_release_of(released) || self.has(VariantId::AnyHolderHandsOver)
    }

    fn on_deleted(
        &self,
        ticket: &ShareTicket,
        waiter: &mut Waiter<ShareBlockers>,
        counted: &mut usize,
        blockers: &ShareBlockers,
        revision: u64,
    ) -> Option<WaiterAction<ShareBlockers>> {
        let is_waiting =
            matches!(waiter.position(), WaiterPosition::Waiting { key, .. } if key == blockers);
        if !is_waiting || !self.has(VariantId::PermitCountedTwice) {
            return waiter.on_deleted(blockers, revision);
        }
        *counted += 1;
        let needed = match ticket.share {
            LockShare::Part => 1,
            LockShare::Whole => blockers.0.len(),
        };
        if *counted < needed { None } else { waiter.on_released(blockers) }
    }
}

impl Algorithm for SessionSharedLock {
    fn card(config: &Config, size: u32) -> Card {
        let formula = "5 (0 at the service), 4 for each wait, 2 for a renewal";
        let card = Card {
            messages: MessageCost::per_agreement(formula, 0, None)
                .zero_if_alone(size)
                .marked_incomplete(),
            timed_promises: [Property::SessionExclusion, Property::Fencing].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Shares,
                "leased-shares",
                "read and write locks and semaphores of a lock service: queues of session keys",
                "Courtois, Heymans and Parnas, CACM 14(10), 1971; Burrows, OSDI, 2006",
            )
        };
        leased::with_service_assumptions(card, &config.base)
    }
}
