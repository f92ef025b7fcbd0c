//! Kinds of locks that clients build on the queues of a lock service. The mutex is one of them.

use core::fmt::Debug;
use core::hash::Hash;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Fence, ProcessId, Wire};
use tenure_session::{Waiter, WaiterAction};
use tenure_store::{
    AcquireLock, KeySpan, LockMode, RangeRead, SortOrder, SortTarget, Store, WatchFilter, claim_key,
};

use super::Config;
use crate::mutex::RequestId;

const NAME: &[u8] = b"lock";

/// Policy of a lock: the commands and events of its users, the keys of its queues, and the rule
/// that decides for which earlier keys a claim waits.
///
/// The configuration of a lock selects its policy. Sessions, leases and the service are the same
/// for all policies.
pub trait LockPolicy: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// Command of the local user.
    type Command: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Event for the local user.
    type Event: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Identifier of a claim. It contains the ticket of its session.
    type Ticket: ClaimTicket;
    /// Keys that block a claim. Before the claim can hold the lock, all these keys must be deleted.
    type Blockers: Blockers;
    /// Number of deletions of blocking keys of which a waiting claim was notified. Only a variant
    /// with a known mistake counts them. The type is `()` for a policy without such a variant.
    type NotifiedDeletionCount: Copy + Debug + Default + Eq + Hash + Send + Sync + 'static;

    /// Returns the configuration of the service and of the sessions, which all policies share.
    fn service_config(&self) -> &Config;

    /// Returns the ticket of the first claim that `command` makes in a new session. `session` is
    /// the ticket of that session. Returns `None` if `command` ends a session instead.
    fn ticket_of_first_claim(
        &self,
        command: &Self::Command,
        session: RequestId,
    ) -> Option<Self::Ticket>;

    /// Returns the ticket of the claim that the process `at` must make after its claim `ticket` is
    /// granted. Returns `None` if the process needs no further claim in this session.
    fn ticket_of_next_claim(&self, at: ProcessId, ticket: &Self::Ticket) -> Option<Self::Ticket>;

    /// Returns the event that informs the user that this process has entered the critical section.
    /// `fence` is the fencing token of the claim that was granted last.
    fn entered_event(&self, ticket: &Self::Ticket, fence: Fence) -> Self::Event;

    /// Returns the event that reports to the user that this process has left the critical section.
    /// The event occurs at the end of a session.
    fn exited_event() -> Self::Event;

    /// Returns the store command that appends the key of the claim `ticket` to its queue. `at` is
    /// the process that makes the claim, and `lease` the lease to which the key is attached.
    fn acquire_command(&self, at: ProcessId, ticket: &Self::Ticket, lease: u64) -> AcquireLock;

    /// Returns the keys in the queue for which the claim waits, or `None` if the claim waits for no
    /// key. `claim` consists of the process, the ticket and the ID of the lease. Only keys that
    /// were created before `revision` count. The queue is read as it was at the revision `at`.
    fn blockers(
        &self,
        store: &Store,
        claim: (ProcessId, &Self::Ticket, u64),
        revision: u64,
        at: u64,
    ) -> Option<Self::Blockers>;

    /// Returns true if one of the keys was deleted at revision `from` or later, or if the store no
    /// longer has the history since `from`. The revision 0 means the present: only future deletions
    /// count, so the result is false.
    fn is_any_deleted_since(&self, store: &Store, blockers: &Self::Blockers, from: u64) -> bool;

    /// Returns true if the claim `waiting` gets the lock when the claim `released` ends. The caller
    /// ensures that `released` is the only claim for which `waiting` waits.
    fn acquires_on_release(
        &self,
        waiting: (ProcessId, &Self::Ticket),
        released: (ProcessId, &Self::Ticket),
    ) -> bool;

    /// Handles the deletion of one of the keys `blockers`, for which a claim waits. `revision` is
    /// the revision of the deletion, or a later one. Returns the next action of the waiter, if any.
    fn on_deleted(
        &self,
        _ticket: &Self::Ticket,
        waiter: &mut Waiter<Self::Blockers>,
        _counted: &mut Self::NotifiedDeletionCount,
        blockers: &Self::Blockers,
        revision: u64,
    ) -> Option<WaiterAction<Self::Blockers>> {
        waiter.on_deleted(blockers, revision)
    }
}

/// Identifier of a claim. It contains the ticket of the session of the claim.
pub trait ClaimTicket:
    From<RequestId> + Copy + Debug + Ord + Hash + Wire + Send + Sync + 'static
{
    /// Returns the ticket of the session.
    fn session(&self) -> RequestId;

    /// Converts the ticket of a request to a ticket of the session `session`. The result is the
    /// ticket of the first claim of the request in that session.
    #[must_use]
    fn for_session(self, session: RequestId) -> Self;
}

/// Non-empty set of keys. A claim waits until these keys are deleted. Each key is identified by the
/// ID of the lease to which the key is attached.
pub trait Blockers: Clone + Debug + Eq + Hash + Wire + Send + Sync + 'static {
    /// Returns true if one of the keys has this lease.
    fn contains(&self, lease: u64) -> bool;

    /// Returns the lease of the key if there is exactly one key, and `None` otherwise.
    fn only(&self) -> Option<u64>;
}

impl ClaimTicket for RequestId {
    fn session(&self) -> RequestId {
        *self
    }

    fn for_session(self, session: RequestId) -> Self {
        session
    }
}

/// Blockers of a claim to the mutex: only the nearest earlier key in the queue, given by the ID of
/// its lease.
impl Blockers for u64 {
    fn contains(&self, lease: u64) -> bool {
        *self == lease
    }

    fn only(&self) -> Option<u64> {
        Some(*self)
    }
}

/// The mutex. Each claim waits only for the nearest earlier key in the queue.
impl LockPolicy for Config {
    type Command = Command;
    type Event = Event;
    type Ticket = RequestId;
    type Blockers = u64;
    type NotifiedDeletionCount = ();

    fn service_config(&self) -> &Config {
        self
    }

    fn ticket_of_first_claim(&self, command: &Command, session: RequestId) -> Option<RequestId> {
        (*command == Command::Enter).then_some(session)
    }

    fn ticket_of_next_claim(&self, _: ProcessId, _: &RequestId) -> Option<RequestId> {
        None
    }

    fn entered_event(&self, _: &RequestId, fence: Fence) -> Event {
        Event::Entered { fence }
    }

    fn exited_event() -> Event {
        Event::Exited
    }

    fn acquire_command(&self, _: ProcessId, _: &RequestId, lease: u64) -> AcquireLock {
        AcquireLock { name: NAME.into(), lease, mode: LockMode::Exclusive, value: b"".into() }
    }

    fn blockers(
        &self,
        store: &Store,
        _: (ProcessId, &RequestId, u64),
        revision: u64,
        at: u64,
    ) -> Option<u64> {
        let range = RangeRead { limit: 1, ..older_keys_query(NAME, revision, at)? };
        let found = store.range(&range).ok()?;
        found.kvs.first().map(|kv| kv.lease)
    }

    fn is_any_deleted_since(&self, store: &Store, blocker: &u64, from: u64) -> bool {
        let key = claim_key(NAME, *blocker, LockMode::Exclusive);
        let watch =
            WatchFilter { span: KeySpan::single(key), no_put: true, ..WatchFilter::default() };
        let past = store.past_events(&watch, from, usize::MAX);
        past.is_err() || past.is_ok_and(|past| !past.events.is_empty())
    }

    fn acquires_on_release(&self, _: (ProcessId, &RequestId), _: (ProcessId, &RequestId)) -> bool {
        true
    }
}

/// Returns a query for the keys that begin with `name/` and were created before `before_revision`,
/// newest first. `read_revision` is the revision of the store to read. Returns `None` if no
/// revision precedes `before_revision`.
pub(crate) fn older_keys_query(
    name: &[u8],
    before_revision: u64,
    read_revision: u64,
) -> Option<RangeRead> {
    Some(RangeRead {
        revision: read_revision,
        order: SortOrder::Descend,
        target: SortTarget::Create,
        max_create_revision: before_revision.checked_sub(1).filter(|most| *most > 0)?,
        ..RangeRead::at_current_revision(KeySpan::prefix([name, b"/"].concat()))
    })
}
