//! Application of a node that keeps a log: proposes requests of clients and applies committed
//! entries.

use std::collections::{BTreeMap, VecDeque};

use tenure_core::service::log::{Command, Content, Entry, Event, Payload, Reason};
use tenure_core::{ProcessId, Protocol, Term};
use tenure_runtime::Application;
use tokio::sync::{oneshot, watch};

use super::state_machine::{Change, Outcome, StateMachine};
use super::wire::{Part, Request, Response};

/// Number of the last entries whose terms are reported.
pub(super) const SHOWN_ENTRIES: usize = 12;

/// Request to a member.
#[derive(Debug)]
pub(super) enum MemberRequest {
    /// Request of a client, with the sender of its response.
    Client(Request, oneshot::Sender<Response>),
    /// Stop the member.
    Shutdown,
}

/// Progress of a member's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LogProgress {
    /// Number of entries that a snapshot has replaced.
    snapshot_index: u64,
    /// Terms of the entries behind the snapshot.
    terms: Vec<u64>,
    /// Number of entries that this member has applied.
    pub(super) committed: u64,
}

impl LogProgress {
    /// Returns the number of stored entries.
    pub(super) fn stored(&self) -> u64 {
        self.snapshot_index + self.terms.len() as u64
    }

    /// Returns the terms of the last entries, at removable `limit`.
    pub(super) fn last_terms(&self, limit: usize) -> Vec<u64> {
        self.terms[self.terms.len().saturating_sub(limit)..].to_vec()
    }

    /// Records an entry. Ignores repetitions of entries before a snapshot.
    fn store(&mut self, index: u64, term: u64) {
        if index > self.stored() {
            self.terms.push(term);
        }
    }

    fn drop_from(&mut self, index: u64) {
        let kept = index.saturating_sub(self.snapshot_index + 1);
        self.terms.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
    }

    /// Replaces everything by a snapshot up to an index.
    fn restore(&mut self, index: u64) {
        *self = LogProgress { snapshot_index: index, terms: Vec::new(), committed: index };
    }

    /// Removes entries up to an index that a snapshot replaced, except the last ones, which are
    /// shown.
    fn compact(&mut self, index: u64) {
        let removable = self.terms.len().saturating_sub(SHOWN_ENTRIES);
        let count = index.saturating_sub(self.snapshot_index).min(removable as u64);
        self.terms.drain(..usize::try_from(count).unwrap_or(removable));
        self.snapshot_index += count;
    }
}

/// Waiter for the result of a command.
#[derive(Debug)]
enum Waiter {
    Change(oneshot::Sender<Response>),
    Get(Part, oneshot::Sender<Response>),
    /// No waiter: the command came from this member.
    Internal,
}

/// Application of a log with a counter and a register.
#[derive(Debug)]
pub(super) struct LogApplication {
    me: ProcessId,
    machine: StateMachine,
    /// Number of commands in this session.
    last_ticket: u64,
    waiters: BTreeMap<u64, Waiter>,
    /// Outcomes of entries by index, kept while commands of this member are pending.
    outcomes: VecDeque<(u64, Outcome)>,
    leader: watch::Sender<Option<Term>>,
    progress: watch::Sender<LogProgress>,
    is_stopping: bool,
    /// Reason why this build cannot continue: committed data that it cannot read.
    unreadable: Option<String>,
    /// Clients that learn of the next leader once its election begins.
    awaiting_leader: Vec<oneshot::Sender<Response>>,
}

impl LogApplication {
    pub(super) fn new(me: ProcessId) -> Self {
        LogApplication {
            me,
            machine: StateMachine::default(),
            last_ticket: 0,
            waiters: BTreeMap::new(),
            outcomes: VecDeque::new(),
            leader: watch::Sender::new(None),
            progress: watch::Sender::new(LogProgress::default()),
            is_stopping: false,
            unreadable: None,
            awaiting_leader: Vec::new(),
        }
    }

    /// Returns a receiver of the leader as this member knows it.
    pub(super) fn watch_leader(&self) -> watch::Receiver<Option<Term>> {
        self.leader.subscribe()
    }

    /// Returns a receiver of the progress of this member.
    pub(super) fn watch_progress(&self) -> watch::Receiver<LogProgress> {
        self.progress.subscribe()
    }

    fn add_waiter(&mut self, waiter: Waiter) -> u64 {
        self.last_ticket += 1;
        self.waiters.insert(self.last_ticket, waiter);
        self.last_ticket
    }

    fn respond(&mut self, ticket: u64, response: impl FnOnce(&mut Self, Option<Part>) -> Response) {
        let (part, reply) = match self.waiters.remove(&ticket) {
            Some(Waiter::Change(reply)) => (None, reply),
            Some(Waiter::Get(part, reply)) => (Some(part), reply),
            Some(Waiter::Internal) | None => return,
        };
        let response = response(self, part);
        // The client may be gone.
        let _ = reply.send(response);
    }

    /// Delays the response during a handover, because the next leader is not known yet.
    fn await_next_leader(&mut self, ticket: u64) {
        if let Some(Waiter::Change(reply) | Waiter::Get(_, reply)) = self.waiters.remove(&ticket) {
            self.awaiting_leader.push(reply);
        }
    }

    /// Applies a committed entry.
    fn apply(&mut self, index: u64, entry: &Entry) {
        if let Content::Payload(payload) = &entry.content {
            let Some(change) = Change::of(payload) else {
                return self.stop_unreadable(format!("entry {index} of the log"));
            };
            let outcome = self.machine.apply(change);
            if self.waiters.is_empty() {
                self.outcomes.clear();
            } else {
                self.outcomes.push_back((index, outcome));
            }
        }
        self.progress.send_modify(|progress| progress.committed = index);
    }

    /// Stops the log because this build cannot read committed data. Skipping it would make this
    /// member differ from the others.
    fn stop_unreadable(&mut self, what: String) {
        self.unreadable = Some(what + " is of another build of tenure");
    }

    /// Returns the outcome of the entry at an index, which a client of this member waits for.
    fn outcome(&mut self, index: u64) -> Response {
        while let Some((at, outcome)) = self.outcomes.pop_front() {
            match outcome {
                Outcome::Counted(value) if at == index => return Response::Counter(value),
                Outcome::Written if at == index => return Response::Written,
                _ => {}
            }
        }
        Response::Unknown
    }

    /// Replaces all applied entries by a snapshot.
    fn compact(&mut self, index: u64) -> Command {
        let ticket = self.add_waiter(Waiter::Internal);
        Command::Compact { ticket, index, state: self.machine.snapshot() }
    }

    /// Restores the state of a snapshot.
    fn restore(&mut self, index: u64, state: &Payload) {
        let Some(machine) = StateMachine::of(state) else {
            return self.stop_unreadable(format!("the snapshot up to entry {index}"));
        };
        self.machine = machine;
        self.outcomes.clear();
        self.progress.send_modify(|progress| progress.restore(index));
    }

    fn set_leader(&mut self, term: u64, leader: Option<ProcessId>) {
        for reply in self.awaiting_leader.drain(..) {
            let _ = reply.send(Response::Refused { leader: leader.map(ProcessId::number) });
        }
        self.leader.send_replace(leader.map(|leader| Term { number: term, leader }));
    }

    fn other_leader(&self, known: Option<ProcessId>) -> Option<u32> {
        known.filter(|leader| *leader != self.me).map(ProcessId::number)
    }
}

impl<P: Protocol<Command = Command, Event = Event>> Application<P> for LogApplication {
    type Request = MemberRequest;

    fn on_request(&mut self, request: MemberRequest) -> Option<Command> {
        match request {
            MemberRequest::Client(Request::Change(change), reply) => {
                let ticket = self.add_waiter(Waiter::Change(reply));
                Some(Command::Append { ticket, payload: change.payload() })
            }
            MemberRequest::Client(Request::Get(part), reply) => {
                let ticket = self.add_waiter(Waiter::Get(part, reply));
                Some(Command::Read { ticket })
            }
            MemberRequest::Shutdown => {
                self.is_stopping = true;
                None
            }
        }
    }

    fn on_event(&mut self, event: Event) -> Option<Command> {
        if self.unreadable.is_some() {
            return None;
        }
        match event {
            Event::Leading { term } => self.set_leader(term, Some(self.me)),
            Event::Following { term, leader } => self.set_leader(term, leader),
            Event::Stored { index, entry } => {
                self.progress.send_modify(|progress| progress.store(index, entry.term));
            }
            Event::Dropped { from } => {
                self.progress.send_modify(|progress| progress.drop_from(from));
            }
            Event::Committed { index, entry } => self.apply(index, &entry),
            Event::SnapshotNeeded { index } => return Some(self.compact(index)),
            Event::Compacted { ticket, index } => {
                self.waiters.remove(&ticket);
                self.progress.send_modify(|progress| progress.compact(index));
            }
            Event::Restored { index, state, .. } => self.restore(index, &state),
            Event::Acknowledged { ticket, index } => {
                self.respond(ticket, |application, _| application.outcome(index));
            }
            Event::Answered { ticket, .. } => {
                self.respond(ticket, |application, part| match part {
                    Some(Part::Counter) => Response::Counter(application.machine.counter()),
                    Some(Part::Register) => Response::Register(application.machine.register()),
                    None => Response::Unknown,
                })
            }
            Event::Declined { ticket, reason: Reason::HandingOver, .. } => {
                self.await_next_leader(ticket)
            }
            Event::Declined { ticket, leader, .. } => self.respond(ticket, |application, _| {
                Response::Refused { leader: application.other_leader(leader) }
            }),
            Event::Unknown { ticket } => self.respond(ticket, |_, _| Response::Unknown),
            other => {
                if let Some(ticket) = other.answers() {
                    self.waiters.remove(&ticket);
                }
            }
        }
        None
    }

    fn is_shutdown_requested(&self) -> bool {
        self.is_stopping
    }

    fn fatal_error(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    fn leader(&self) -> Option<Term> {
        *self.leader.borrow()
    }

    fn on_shutdown(&mut self) -> Option<Command> {
        Some(Command::HandOver { ticket: self.add_waiter(Waiter::Internal) })
    }

    fn is_leading_until_replaced(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use tenure_algorithms::agreement::raft_log::RaftLog;
    use tenure_core::ProcessSet;
    use tenure_core::service::log::Members;

    use super::*;

    fn application_after(events: impl IntoIterator<Item = Event>) -> LogApplication {
        let mut application = LogApplication::new(ProcessId(0));
        for event in events {
            Application::<RaftLog>::on_event(&mut application, event);
        }
        application
    }

    fn fatal_error(application: &LogApplication) -> Option<&str> {
        Application::<RaftLog>::fatal_error(application)
    }

    #[test]
    fn stops_at_entry_of_another_build() {
        let application = application_after((1..).zip(["add-1.1", "multiply-1.2", "add-1.3"]).map(
            |(index, word)| {
                let content = Content::Payload(Payload::new(word.as_bytes()));
                Event::Committed { index, entry: Entry { term: 1, content } }
            },
        ));
        assert_eq!(
            fatal_error(&application),
            Some("entry 2 of the log is of another build of tenure")
        );
        assert_eq!(
            (application.machine.counter(), application.progress.borrow().committed),
            (1, 1)
        );
    }

    #[test]
    fn stops_at_snapshot_of_another_build() {
        let state = Payload::new(*b"42");
        let members = Box::new(Members::of(ProcessSet::first(1)));
        let application =
            application_after([Event::Restored { index: 9, term: 1, members, state }]);
        let why = "the snapshot up to entry 9 is of another build of tenure";
        assert_eq!(fatal_error(&application), Some(why));
    }
}
