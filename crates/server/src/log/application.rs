//! State machine behind the replicated log. Its code runs in the task that drives the log.
//!
//! The state machine proposes the requests of this member's other tasks, and applies committed
//! entries to the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tenure_algorithms::agreement::ForwardingLog;
use tenure_core::service::log::{
    Command as LogRequest, Content, Entry, Event as LogEvent, Members, Payload,
};
use tenure_core::service::relayed_log::{Command, Event, QueryId};
use tenure_core::{ProcessId, ProcessSet, Term};
use tenure_runtime::store::MembershipRecord;
use tenure_runtime::{Application, ProcessNames};
use tenure_store::{ApplyOutcome, LogPosition};
use tokio::sync::oneshot;
use tracing::{Span, info, warn};

use crate::log::compaction::CompactionPolicy;
use crate::log::request::{
    LeaderRequest, LogCommand, LogEntry, LogTaskResponse, MembershipChange, ProposeError,
    ReleaseNotice, encode, encode_entry,
};
use crate::log::snapshot;
use crate::log::state::{LeaderStatus, SharedState, StoreAndWaiters};
use crate::member::eviction::EvictionReason;
use crate::spans;

/// Request that a task of this member sends to the task that drives the log.
#[derive(Debug)]
pub(crate) enum LogTaskRequest {
    /// Propose a command, and return its outcome after this member has applied it.
    Propose {
        /// Encoded [`LogCommand`].
        command: Arc<[u8]>,
        reply: oneshot::Sender<Result<ApplyOutcome, ProposeError>>,
        span: Span,
    },
    /// Wait until this member has applied every entry that was known as committed when the request
    /// arrived.
    ReadIndex { reply: oneshot::Sender<LogTaskResponse> },
    /// Send a request to the leader, and return its response.
    AskLeader { request: LeaderRequest, reply: oneshot::Sender<LogTaskResponse> },
    /// Notify the members `to` that a lock was released.
    NotifyRelease { to: ProcessSet, notice: ReleaseNotice },
    /// Publish the client URLs of this member to all members.
    Announce { urls: Vec<String>, reply: oneshot::Sender<LogTaskResponse> },
    /// Replace the entries of the log up to `index` by the encoded snapshot `state`.
    Compact {
        /// Index of the last entry that the snapshot includes.
        index: u64,
        state: Vec<u8>,
    },
    /// Hand over leadership to another member.
    Transfer {
        /// Index of the process of the next leader.
        to: usize,
        reply: oneshot::Sender<LogTaskResponse>,
    },
    /// Hand over leadership if this member leads, and stop the log.
    Shutdown,
}

/// Recipient of the result of a request to the log. Each waiter is stored under a ticket, the
/// number of its request.
#[derive(Debug)]
enum Waiter {
    /// Task of this member that proposed a command. The application notifies it after applying the
    /// entry.
    Proposer(Proposer),
    /// Task of this member that waits for a response.
    Task(oneshot::Sender<LogTaskResponse>),
    /// Member that has asked this leader to change the membership, and the ticket that this member
    /// has given to its request.
    Peer(ProcessId, QueryId),
}

#[derive(Debug)]
struct Proposer {
    reply: oneshot::Sender<Result<ApplyOutcome, ProposeError>>,
    propose: Span,
    /// Span from the proposal of the command until its commit. Dropping this value ends the span,
    /// even if the command never has an outcome.
    commit: Span,
}

#[derive(Debug)]
pub(crate) struct LogApplication {
    me: ProcessId,
    session: u64,
    shared: Arc<SharedState>,
    last_ticket: u64,
    waiters: HashMap<u64, Waiter>,
    /// Number of releases of locks that `on_event_early` has handled before the state of the log
    /// was saved. After the save, the log delivers these releases again, and `on_event` ignores
    /// them.
    handled_early: usize,
    is_stopping: bool,
    /// Description of committed data that this build cannot read. If there is such data, the member
    /// stops.
    unreadable: Option<String>,
    compaction: CompactionPolicy,
    registry: Option<MembershipRecord>,
    names: ProcessNames,
}

impl LogApplication {
    pub(crate) fn new(
        me: ProcessId,
        session: u64,
        shared: Arc<SharedState>,
        registry: Option<MembershipRecord>,
        names: ProcessNames,
    ) -> Self {
        LogApplication {
            me,
            session,
            shared,
            last_ticket: 0,
            waiters: HashMap::new(),
            handled_early: 0,
            is_stopping: false,
            unreadable: None,
            compaction: CompactionPolicy::default(),
            registry,
            names,
        }
    }

    fn add_waiter(&mut self, waiter: Waiter) -> u64 {
        let ticket = self.next_ticket();
        self.waiters.insert(ticket, waiter);
        ticket
    }

    fn next_ticket(&mut self) -> u64 {
        self.last_ticket += 1;
        self.last_ticket
    }

    fn apply(&mut self, index: u64, Entry { term, content }: &Entry) {
        match content {
            Content::Nothing => {}
            Content::Payload(payload) => {
                // The log requests a snapshot after a number of entries. If entries are large,
                // their total size requires an earlier snapshot.
                if self.compaction.add_entry(payload.bytes().len()) {
                    self.shared.compaction_due.notify_one();
                }
                match postcard::from_bytes(payload.bytes()) {
                    Ok(entry) => self.execute(LogPosition { index, term: *term }, entry),
                    Err(_) => return self.stop_unreadable(format!("entry {index} of the log")),
                }
            }
            Content::Members(members) => {
                let voters = self.joined_names(&members.voters);
                let learners = self.joined_names(&members.learners);
                match members.is_joint() {
                    true => {
                        let outgoing = self.joined_names(&members.outgoing);
                        info!(voters, outgoing, learners, index, "membership changes");
                    }
                    false => info!(voters, learners, index, "membership changed"),
                }
                self.shared.set_members(Members::clone(members), index);
            }
        }
        self.shared.lock().set_applied(index);
    }

    fn execute(&mut self, at: LogPosition, LogEntry { origin, command }: LogEntry) {
        let (principal, command) = match command {
            LogCommand::Store(principal, command) => (principal, command),
            LogCommand::Announce { process, urls } => {
                self.shared.lock().client_urls.insert(process, urls);
                return;
            }
        };
        let (process, session, ticket) = origin;
        let is_own = (ProcessId(process), session) == (self.me, self.session);
        let waiter = if is_own { self.waiters.remove(&ticket) } else { None };
        let Some(Waiter::Proposer(Proposer { reply, propose, commit })) = waiter else {
            self.shared.lock().apply(at, &principal, command);
            return;
        };
        drop(commit);
        let apply = spans::apply_span(&propose, at.index, at.term);
        let outcome = apply.in_scope(|| self.shared.lock().apply(at, &principal, command));
        drop((apply, propose));
        // The proposer may have stopped waiting.
        let _ = reply.send(Ok(outcome));
    }

    fn append(&self, ticket: u64, command: &[u8]) -> Command {
        let entry = encode_entry((self.me.0, self.session, ticket), command);
        Command::Log(LogRequest::Append { ticket, payload: Payload::new(entry) })
    }

    /// Sends `response` to the waiter that is stored under `ticket`. If the waiter is a task of
    /// this member, sends the response at once. If the waiter is another member, returns the
    /// command that sends the response. The caller must execute this command.
    fn respond(&mut self, ticket: u64, response: LogTaskResponse) -> Option<Command> {
        match self.waiters.remove(&ticket)? {
            Waiter::Peer(to, ticket) => {
                return Some(Command::Reply { to, ticket, reply: payload(&response) });
            }
            Waiter::Task(reply) => drop(reply.send(response)),
            Waiter::Proposer(Proposer { reply, .. }) => drop(reply.send(Err(match response {
                LogTaskResponse::Failed(error) => error,
                // A snapshot included the entry, so the outcome of its command is lost.
                _ => ProposeError::Unknown,
            }))),
        }
        None
    }

    /// Serves a request to the leader. The process `from` has sent the request with the ticket
    /// `their_ticket`; it is this member or another one. The log calls this only after a majority
    /// has confirmed that this member leads.
    ///
    /// Returns the command that the log must execute next. For a request to change the members,
    /// this is the command that changes them. For any other request, it is the command that sends
    /// the response.
    fn serve(&mut self, from: ProcessId, their_ticket: QueryId, request: LeaderRequest) -> Command {
        let response = match request {
            LeaderRequest::Renew(lease) => {
                let term = self.shared.leader_status.borrow().term;
                let mut state = self.shared.lock();
                let StoreAndWaiters { store, lease_timers, .. } = &mut *state;
                LogTaskResponse::Renewed { term, renewal: lease_timers.renew(lease, term, store) }
            }
            LeaderRequest::TimeToLive(lease) => {
                let (state, now) = (self.shared.lock(), Instant::now());
                let stored = state.store.lease(lease);
                let left = |ttl| {
                    state.lease_timers.time_left(lease, now).map_or(ttl, |left| left.as_secs())
                };
                LogTaskResponse::TimeToLive(stored.map(|stored| left(stored.left)))
            }
            LeaderRequest::Leases => {
                let state = self.shared.lock();
                LogTaskResponse::Leases(state.lease_timers.leases_by_expiry(&state.store))
            }
            LeaderRequest::ChangeMembers(change) => match self.check_change(change) {
                Some(Members { voters, learners, .. }) => {
                    let ticket = self.add_waiter(Waiter::Peer(from, their_ticket));
                    return Command::Log(LogRequest::ChangeMembers { ticket, voters, learners });
                }
                None => LogTaskResponse::Unhealthy,
            },
        };
        Command::Reply { to: from, ticket: their_ticket, reply: payload(&response) }
    }

    /// Returns the members after a change. Returns `None` unless a majority of the voters after the
    /// change responds to this leader. Otherwise, the change would stop the service. A process that
    /// the change adds counts as responding.
    fn check_change(&self, change: MembershipChange) -> Option<Members> {
        let current = self.shared.lock().members.clone();
        let next = change.apply_to(current.clone());
        let (voters, learners) =
            (self.joined_names(&next.voters), self.joined_names(&next.learners));
        let silent = self.shared.silent_voters(self.me, &current, &next);
        // The log itself rejects a change that leaves no voter.
        if silent.len() * 2 < next.voters.len() || silent.is_empty() {
            info!(voters, learners, "membership change requested");
            return Some(next);
        }
        let silent = self.joined_names(&silent);
        warn!(voters, learners, silent, "membership change refused: it would stop the service");
        None
    }

    fn joined_names(&self, processes: &ProcessSet) -> String {
        let names = processes.iter().map(|process| self.names.name(process).to_string());
        names.collect::<Vec<_>>().join(" ")
    }

    fn set_leader(&self, leader: Option<ProcessId>, term: u64) {
        let leader = leader.map(ProcessId::index);
        match leader {
            Some(leader) if leader == self.me.index() => info!(term, "became leader"),
            Some(leader) => {
                let leader = self.names.name(ProcessId::from_index(leader));
                info!(%leader, term, "follows leader");
            }
            None => info!(term, "no leader"),
        }
        let mut state = self.shared.lock();
        let is_leading = leader == Some(self.me.index());
        state.claim_times.set_term(term, is_leading);
        let StoreAndWaiters { store, lease_timers, .. } = &mut *state;
        match is_leading {
            true => lease_timers.start_leading(term, store, Instant::now()),
            false => lease_timers.stop_leading(),
        }
        drop(state);
        self.shared.leader_status.send_replace(LeaderStatus { leader, term });
    }

    /// Stops the log because this build cannot read `data`, which a newer build has committed. If
    /// this member skipped the data, its store would differ from the stores of all other members.
    fn stop_unreadable(&mut self, data: String) {
        self.unreadable = Some(format!("{data} is of another build of tenure"));
    }

    fn on_log_event(&mut self, event: LogEvent) -> Option<Command> {
        if self.unreadable.is_some() {
            return None;
        }
        let failed = |error| LogTaskResponse::Failed(error);
        match event {
            LogEvent::Leading { term } => self.set_leader(Some(self.me), term),
            LogEvent::Following { term, leader } => self.set_leader(leader, term),
            LogEvent::Relaying { term, leader } => self.set_leader(Some(leader), term),
            LogEvent::Committed { index, entry } => self.apply(index, &entry),
            LogEvent::Acknowledged { ticket, .. }
            | LogEvent::Answered { ticket, .. }
            | LogEvent::HandedOver { ticket }
            | LogEvent::MembersChanged { ticket, .. } => {
                return self.respond(ticket, LogTaskResponse::Done);
            }
            LogEvent::Declined { ticket, reason, .. } => {
                return self.respond(ticket, failed(ProposeError::Declined(reason)));
            }
            LogEvent::Unknown { ticket } => {
                return self.respond(ticket, failed(ProposeError::Unknown));
            }
            LogEvent::SnapshotNeeded { .. } if self.compaction.try_begin_snapshot() => {
                self.shared.compaction_due.notify_one();
            }
            LogEvent::Restored { index, state, members, .. } => {
                self.restore(index, &state, *members);
            }
            // A process that has not joined replaces a removed member, so the removal in its log is
            // that of the replaced member.
            LogEvent::Removed { at } if self.has_joined() => {
                self.evict(EvictionReason::Removed { at })
            }
            LogEvent::Forgotten { last, acknowledged } if self.has_joined() => {
                self.evict(EvictionReason::EntriesLost { last, acknowledged });
            }
            // This process never had the lost entries. The replaced member acknowledged them.
            LogEvent::Forgotten { .. } => self.evict(EvictionReason::PredecessorNotRemoved),
            LogEvent::SnapshotNeeded { .. }
            | LogEvent::Stored { .. }
            | LogEvent::Dropped { .. }
            | LogEvent::Removed { .. }
            | LogEvent::Compacted { .. } => {}
        }
        None
    }

    fn has_joined(&self) -> bool {
        self.registry.as_ref().is_none_or(MembershipRecord::has_joined)
    }

    fn evict(&mut self, why: EvictionReason) {
        self.shared.evict(why);
        self.is_stopping = true;
    }

    /// Replaces the store of this member by the store in a snapshot. `index` is the index of the
    /// last log entry that the snapshot includes.
    fn restore(&mut self, index: u64, state: &Payload, members: Members) {
        self.compaction = CompactionPolicy::after_snapshot(state.bytes().len());
        match snapshot::decode(state.bytes()) {
            Ok((client_urls, store)) => {
                let mut state = self.shared.lock();
                state.install_snapshot(store, index);
                state.client_urls = client_urls;
                drop(state);
                self.shared.set_members(members, index);
            }
            Err(_) => self.stop_unreadable(format!("the snapshot up to entry {index}")),
        }
    }

    /// Handles a message from another member about the release of a lock. If this build cannot read
    /// the message, because another build has sent it, the message is ignored.
    fn on_release(&self, message: &Payload) {
        if let Ok(notice) = postcard::from_bytes(message.bytes()) {
            self.shared.lock().announce_release(&notice);
        }
    }

    fn record_committed(&self, index: Option<u64>) {
        if let Some(index) = index {
            self.shared.lock().record_committed(index);
        }
    }
}

impl Application<ForwardingLog> for LogApplication {
    type Request = LogTaskRequest;

    fn on_request(&mut self, request: LogTaskRequest) -> Option<Command> {
        Some(match request {
            LogTaskRequest::Propose { command, reply, span } => {
                let commit = spans::commit_span(&span);
                let proposer = Proposer { reply, propose: span, commit };
                let ticket = self.add_waiter(Waiter::Proposer(proposer));
                self.append(ticket, &command)
            }
            LogTaskRequest::NotifyRelease { to, notice } => {
                Command::Notify { to, payload: payload(&notice) }
            }
            LogTaskRequest::Announce { urls, reply } => {
                let ticket = self.add_waiter(Waiter::Task(reply));
                self.append(ticket, &encode(&LogCommand::Announce { process: self.me.0, urls }))
            }
            LogTaskRequest::Compact { index, state } => {
                let ticket = self.next_ticket();
                self.compaction.record_snapshot_size(state.len());
                Command::Log(LogRequest::Compact { ticket, index, state: Payload::new(state) })
            }
            LogTaskRequest::ReadIndex { reply } => {
                Command::Log(LogRequest::Read { ticket: self.add_waiter(Waiter::Task(reply)) })
            }
            LogTaskRequest::AskLeader { request, reply } => {
                let ticket = self.add_waiter(Waiter::Task(reply));
                Command::Query { ticket, query: payload(&request) }
            }
            LogTaskRequest::Transfer { to, reply } => {
                let ticket = self.add_waiter(Waiter::Task(reply));
                Command::Log(LogRequest::Transfer { ticket, to: ProcessId::from_index(to) })
            }
            LogTaskRequest::Shutdown => {
                self.is_stopping = true;
                return None;
            }
        })
    }

    fn on_event(&mut self, event: Event) -> Option<Command> {
        match event {
            Event::Log(event) => self.on_log_event(event),
            Event::QueryReceived { by, ticket, query } => {
                // If this build cannot read the request, a newer build has sent it. The sender gets
                // no response.
                let request = postcard::from_bytes(query.bytes()).ok()?;
                Some(self.serve(by, ticket, request))
            }
            Event::Notified { payload } => {
                match self.handled_early.checked_sub(1) {
                    Some(left) => self.handled_early = left,
                    None => self.on_release(&payload),
                }
                None
            }
            Event::Replied { ticket, reply } => {
                let response = postcard::from_bytes(reply.bytes());
                let unknown = LogTaskResponse::Failed(ProposeError::Unknown);
                self.respond(ticket, response.unwrap_or(unknown))
            }
        }
    }

    /// Notifies waiters of released locks before this member saves its state to disk. The
    /// notification is only a message, so it does not depend on the saved state.
    ///
    /// `events` contains all events of one step of the log. This method handles only releases of
    /// locks, and records commits, because a release must wait for the entries that are committed
    /// before it. After the save, the log delivers all of these events again, in the same order.
    fn on_event_early(&mut self, events: &[Event]) {
        // Last commit that is not recorded yet. A series of commits needs the lock only once.
        let mut committed = None;
        for event in events {
            match event {
                Event::Log(
                    LogEvent::Committed { index, .. } | LogEvent::Restored { index, .. },
                ) => committed = Some(*index),
                Event::Notified { payload } => {
                    self.record_committed(committed.take());
                    self.on_release(payload);
                    self.handled_early += 1;
                }
                _ => {}
            }
        }
        self.record_committed(committed);
    }

    fn is_shutdown_requested(&self) -> bool {
        self.is_stopping
    }

    fn fatal_error(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    fn leader_term(&self) -> Option<Term> {
        let LeaderStatus { leader, term } = *self.shared.leader_status.borrow();
        leader.map(|leader| Term { number: term, leader: ProcessId::from_index(leader) })
    }

    fn handover_command(&mut self) -> Option<Command> {
        Some(Command::Log(LogRequest::HandOver { ticket: self.next_ticket() }))
    }

    fn keeps_leading_during_handover(&self) -> bool {
        true
    }
}

fn payload(message: &impl serde::Serialize) -> Payload {
    Payload::new(encode(message))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::ProcessSet;
    use tenure_runtime::NodeFailure;
    use tokio::time::timeout;

    use super::*;
    use crate::backup::create_restored_directory;
    use crate::config::Config;
    use crate::member::{ServeError, state_owner};
    use crate::server::Server;

    #[test]
    fn stops_at_entry_of_another_build() {
        let shared = Arc::new(SharedState::new(Members::from_voters(ProcessSet::first_n(1))));
        let names = ProcessNames::default();
        let mut application = LogApplication::new(ProcessId(0), 1, shared.clone(), None, names);
        let grant = LogCommand::Store(tenure_store::Principal::Member, grant());
        let grant = application.append(1, &encode(&grant));
        let Command::Log(LogRequest::Append { payload: grant, .. }) = grant else {
            panic!("expected an append")
        };
        let unreadable = Payload::new(&b"\xff\xff"[..]);
        for (index, payload) in [(1, grant.clone()), (2, unreadable), (3, grant)] {
            let entry = Entry { term: 1, content: Content::Payload(payload) };
            application.on_event(Event::Log(LogEvent::Committed { index, entry }));
        }
        let expected = "entry 2 of the log is of another build of tenure";
        assert_eq!(application.fatal_error(), Some(expected));
        assert_eq!(shared.lock().applied, 1);
    }

    fn grant() -> tenure_store::Command {
        tenure_store::Command::Grant { lease: 1, ttl: 60 }
    }

    #[tokio::test]
    async fn stops_at_snapshot_of_another_build() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut config = Config { data_dir: Some(folder.path().into()), ..Config::default() };
        config.listen_client_urls = "http://127.0.0.1:0".into();
        let validated = config.validate().expect("a valid configuration");
        let owner = state_owner(&config, &validated);
        let restored = create_restored_directory(folder.path(), &owner, b"\0tnstore\x01".to_vec());
        restored.expect("data of a member");
        let server = Server::start(&config).await.expect("a member");
        let ended = timeout(Duration::from_secs(120), server.serve(std::future::pending())).await;
        let ended = ended.expect("the member stops");
        let Err(ServeError::Failure(NodeFailure::Application(why))) = ended else {
            panic!("{ended:?}")
        };
        assert_eq!(why, "the snapshot up to entry 1 is of another build of tenure");
    }
}
