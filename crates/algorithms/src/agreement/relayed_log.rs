//! A replicated log with requests at any process: a follower forwards them to the leader.
//!
//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014, describes both ways:
//! redirecting clients to the leader, as [`raft_log`] does, and forwarding their requests, as here.
//!
//! | | |
//! |---|---|
//! | assumes | the assumptions of Raft's log; reliable channels between live processes |
//! | survives | crashes with recovery of the saved state; any order |
//! | messages per entry | 2 more than those of the log, if another process leads |
//! | delay | 2 messages more than at the leader, and the time until the follower knows the commit |
//!
//! **Why it is right.**
//! * *No request takes effect twice*: it is sent once, to one process, whose log answers once. If
//!   the leader changes before the answer arrives, the outcome is unknown. Nothing is sent again.
//! * *A declined request has no effect*: the log declined it, or it was never sent.
//! * *A read is not stale*: the leader reads after the request arrives. The follower first reports
//!   to its user all entries that the leader had committed, and then answers the read.
//! * *No request waits for a process that no longer leads*: the wait ends with an unknown outcome
//!   if a later term begins, if the leader crashes or leaves, or if the search for a leader fails.
//!   The search fails after a pre-vote without a result, or if a process without a vote finds no
//!   leader in time. A failed search also ends the waits of completed requests.
//!
//! A *question* is a query that the leader's user answers. The leader first executes a read for the
//! question. When the read succeeds, the leader passes the question to its user.
//!
//! If a follower loses its leader and finds it again in the same term, its pending appends and
//! questions continue. A pending read is declined at once: the user can repeat it.

mod card;
mod config;
mod message;
mod rules;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use tenure_core::service::log::{self, DeclineReason, Payload};
use tenure_core::service::relayed_log::{Command, Event, QueryId};
use tenure_core::{
    Algorithm, CollectingEffects, Effects, Group, PeerVerdict, ProcessId, Protocol, TimerRole,
    UncomparedConfig,
};

use super::raft_log::{self, RaftReplica, Stable, Timer};
pub use config::{Config, VariantId};
pub use message::Message;
use message::{ForwardedOutcome, RequestKind, UserRequest};

/// One process: its replicated log, and the requests that it forwards or executes for others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForwardingLog {
    me: ProcessId,
    config: UncomparedConfig<Config>,
    log: RaftReplica,
    /// Leader according to the last report of the log; `None` if it knew none.
    leader: Option<ProcessId>,
    /// Requests of the local user that wait for an answer of the leader, by ticket.
    forwarded: BTreeMap<u64, Forwarded>,
    /// Completed requests of the local user, as (index, ticket, kind). Each is reported to the user
    /// once the local log has committed all entries up to its index, or the search for a leader
    /// fails.
    completed: BTreeSet<(u64, u64, RequestKind)>,
    /// Requests that this process has submitted to its log, by local ticket: forwarded requests of
    /// other processes, and questions of the local user.
    submitted: BTreeMap<u64, Submitted>,
}

/// A request of the local user that this process has forwarded to the leader `to`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Forwarded {
    to: ProcessId,
    /// Term in which `to` leads.
    term: u64,
    request: UserRequest,
}

/// A request that this leader has submitted to its log for the process `by`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Submitted {
    by: ProcessId,
    ticket: QueryId,
    /// Query to pass to the local user after the read. `None` if the request is an append or a
    /// plain read.
    query: Option<Payload>,
}

/// First ticket for requests in `submitted`. The local user chooses only smaller tickets.
const FIRST_RELAYED_TICKET: u64 = 1 << 63;

impl Protocol for ForwardingLog {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let me = group.me();
        let boot = |fx: &mut Inner<'_, _>| RaftReplica::boot(group, &config.log, stable, fx);
        let (log, events) = fx.run_child(Message::Log as OfLog, identity as OfTimer, boot);
        let mut process = ForwardingLog {
            me,
            config: UncomparedConfig::new(config.clone()),
            log,
            leader: None,
            forwarded: BTreeMap::new(),
            completed: BTreeSet::new(),
            submitted: BTreeMap::new(),
        };
        process.on_log_events(events, fx);
        process.report_completed(fx);
        process
    }

    fn stable(&self) -> Stable {
        self.log.stable()
    }

    fn unsaved_change(&self, saved: &Stable) -> Option<Stable> {
        self.log.unsaved_change(saved)
    }

    const DEFERS_SAVES: bool = RaftReplica::DEFERS_SAVES;

    fn urgent_change(&self, saved: &Stable) -> Option<Stable> {
        self.log.urgent_change(saved)
    }

    fn apply_change(saved: &mut Stable, change: Stable) {
        RaftReplica::apply_change(saved, change);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Log(command) => {
                let ticket = command.ticket();
                let request = match &command {
                    log::Command::Append { payload, .. } => UserRequest::Append(payload.clone()),
                    log::Command::Read { .. } => UserRequest::Read,
                    // These commands concern the local process only.
                    log::Command::Transfer { .. }
                    | log::Command::HandOver { .. }
                    | log::Command::Compact { .. }
                    | log::Command::ChangeMembers { .. } => return self.step_command(command, fx),
                };
                if !self.forward(ticket, request, fx) {
                    self.step_command(command, fx);
                }
            }
            Command::Query { ticket, query } => {
                let request = UserRequest::Question(query);
                if !self.forward(ticket, request.clone(), fx) {
                    let ticket = QueryId { incarnation: self.config.incarnation, number: ticket };
                    self.submit(self.me, ticket, request, fx);
                }
            }
            Command::Reply { to, ticket, reply } => {
                self.respond(to, ticket, ForwardedOutcome::Reply(reply), fx);
            }
            Command::Notify { to, payload } => {
                to.iter().for_each(|to| fx.send(to, Message::Notify { payload: payload.clone() }));
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Log(message) => self.step(fx, |log, fx| log.on_message(from, message, fx)),
            Message::Ask { ticket, request } => self.submit(from, ticket, request, fx),
            Message::Answer { ticket: QueryId { incarnation, number }, outcome } => {
                let is_awaited = self.forwarded.get(&number).is_some_and(|it| it.to == from);
                if incarnation == self.config.incarnation
                    && is_awaited
                    && let Some(forwarded) = self.forwarded.remove(&number)
                {
                    self.report_outcome(number, forwarded.request.kind(), outcome, fx);
                }
            }
            Message::Notify { payload } => fx.emit(Event::Notified { payload }),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        let was_searching = timer == Timer::Election && self.searches_leader();
        self.step(fx, |log, fx| log.on_timer(timer, fx));
        if was_searching && self.leader.is_none() {
            self.end_all_waits(fx);
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        RaftReplica::timer_role(timer)
    }

    /// Returns true if the state of this process must be saved before `message` is sent. An answer
    /// requires a save, because it must remain true after a crash. Some messages of the log also
    /// require a save.
    fn must_wait_for_save(message: &Message) -> bool {
        match message {
            Message::Log(message) => RaftReplica::must_wait_for_save(message),
            Message::Ask { .. } | Message::Notify { .. } => false,
            Message::Answer { .. } => true,
        }
    }

    /// Stops waiting for the answers of `peer` if `peer` is suspected. The log ignores suspicions,
    /// because it has its own timeouts.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        if verdict == PeerVerdict::Suspect {
            self.end_waits(|forwarded| forwarded.to == peer, fx);
        }
    }
}

type OfLog = fn(raft_log::Message) -> Message;
type OfTimer = fn(Timer) -> Timer;
type Inner<'a, F> = CollectingEffects<'a, F, ForwardingLog, RaftReplica, OfLog, OfTimer>;

fn identity(timer: Timer) -> Timer {
    timer
}

impl ForwardingLog {
    fn step<F: Effects<Self>>(
        &mut self,
        fx: &mut F,
        step: impl FnOnce(&mut RaftReplica, &mut Inner<'_, F>),
    ) {
        let before = self.leadership();
        let step = |fx: &mut Inner<'_, F>| step(&mut self.log, fx);
        let ((), events) = fx.run_child(Message::Log as OfLog, identity as OfTimer, step);
        self.on_log_events(events, fx);
        // An event of the log can end a wait only if it changes the term or the leader.
        if self.leadership() != before {
            self.end_overtaken_waits(fx);
        }
        self.report_completed(fx);
    }

    fn step_command(&mut self, command: log::Command, fx: &mut impl Effects<Self>) {
        self.step(fx, |log, fx| log.on_command(command, fx));
    }

    /// Forwards a request to the leader. Returns false, without effect, if this process leads or
    /// knows no leader.
    fn forward(&mut self, ticket: u64, request: UserRequest, fx: &mut impl Effects<Self>) -> bool {
        let Some(leader) = self.leader.filter(|leader| *leader != self.me) else { return false };
        let term = self.log.highest_term();
        self.forwarded.insert(ticket, Forwarded { to: leader, term, request: request.clone() });
        let ticket = QueryId { incarnation: self.config.incarnation, number: ticket };
        fx.send(leader, Message::Ask { ticket, request });
        true
    }

    fn submit(
        &mut self,
        by: ProcessId,
        ticket: QueryId,
        request: UserRequest,
        fx: &mut impl Effects<Self>,
    ) {
        let last = self.submitted.last_key_value();
        let local = last.map_or(FIRST_RELAYED_TICKET, |(last, _)| last + 1);
        let (command, query) = match request {
            UserRequest::Append(payload) => (log::Command::Append { ticket: local, payload }, None),
            UserRequest::Read => (log::Command::Read { ticket: local }, None),
            UserRequest::Question(query) => (log::Command::Read { ticket: local }, Some(query)),
        };
        self.submitted.insert(local, Submitted { by, ticket, query });
        self.step_command(command, fx);
    }

    fn on_log_events(&mut self, events: Vec<log::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            match event.answered_ticket().filter(|ticket| *ticket >= FIRST_RELAYED_TICKET) {
                Some(local_ticket) => self.on_completed(local_ticket, &event, fx),
                None => self.on_log_event(event, fx),
            }
        }
    }

    fn leadership(&self) -> (u64, Option<ProcessId>) {
        (self.log.highest_term(), self.leader)
    }

    /// Ends each wait for an answer from a leader of an older term. Also ends each wait for a read
    /// if the asked process is no longer the known leader.
    fn end_overtaken_waits(&mut self, fx: &mut impl Effects<Self>) {
        let (term, leader) = self.leadership();
        let is_overtaken = |forwarded: &Forwarded| {
            let is_repeatable = forwarded.request == UserRequest::Read;
            forwarded.term < term || is_repeatable && leader != Some(forwarded.to)
        };
        self.end_waits(is_overtaken, fx);
    }

    fn on_log_event(&mut self, event: log::Event, fx: &mut impl Effects<Self>) {
        let leader = match event {
            log::Event::Leading { .. } => Some(self.me),
            log::Event::Following { leader, .. } => leader,
            event => return fx.emit(Event::Log(event)),
        };
        self.leader = leader;
        fx.emit(Event::Log(match (event, leader) {
            (log::Event::Following { term, .. }, Some(leader)) => {
                log::Event::Relaying { term, leader }
            }
            (event, _) => event,
        }));
    }

    /// Handles the result of a request in `submitted`. The log reports the result as `event`. If
    /// the request is a query and its read has succeeded, passes the query to the local user.
    /// Otherwise sends the result to the process that made the request.
    fn on_completed(&mut self, local_ticket: u64, event: &log::Event, fx: &mut impl Effects<Self>) {
        let Some(Submitted { by, ticket, query }) = self.submitted.remove(&local_ticket) else {
            return;
        };
        let outcome = match (event, query) {
            (log::Event::Answered { .. }, Some(query)) => {
                return fx.emit(Event::QueryReceived { by, ticket, query });
            }
            (log::Event::Acknowledged { index, .. } | log::Event::Answered { index, .. }, None) => {
                ForwardedOutcome::Done { index: *index }
            }
            (log::Event::Declined { reason, .. }, _) => ForwardedOutcome::Declined(*reason),
            _ => ForwardedOutcome::Unknown,
        };
        self.respond(by, ticket, outcome, fx);
    }

    fn respond(
        &mut self,
        to: ProcessId,
        ticket: QueryId,
        outcome: ForwardedOutcome,
        fx: &mut impl Effects<Self>,
    ) {
        match to == self.me {
            // The only requests of the local user in `submitted` are questions.
            true => self.report_outcome(ticket.number, RequestKind::Question, outcome, fx),
            false => fx.send(to, Message::Answer { ticket, outcome }),
        }
    }

    /// Reports the outcome of a request of the local user. A successful append or read is reported
    /// only when the local log has committed the entries up to the index of the outcome.
    fn report_outcome(
        &mut self,
        ticket: u64,
        kind: RequestKind,
        outcome: ForwardedOutcome,
        fx: &mut impl Effects<Self>,
    ) {
        fx.emit(match (kind, outcome) {
            (RequestKind::Append | RequestKind::Read, ForwardedOutcome::Done { index }) => {
                self.completed.insert((index, ticket, kind));
                return self.report_completed(fx);
            }
            (RequestKind::Question, ForwardedOutcome::Reply(reply)) => {
                Event::Replied { ticket, reply }
            }
            (_, ForwardedOutcome::Declined(reason)) => self.declined(ticket, reason),
            // A read never takes effect, so an unknown outcome is reported as declined.
            (RequestKind::Read, _) => self.declined(ticket, DeclineReason::Deposed),
            (RequestKind::Append | RequestKind::Question, _) => {
                Event::Log(log::Event::Unknown { ticket })
            }
        });
    }

    fn declined(&self, ticket: u64, reason: DeclineReason) -> Event {
        Event::Log(log::Event::Declined { ticket, reason, leader: self.leader })
    }

    fn report_completed(&mut self, fx: &mut impl Effects<Self>) {
        let limit = self.reportable_index();
        while let Some(done @ (index, ticket, kind)) = self.completed.first().copied()
            && index <= limit
        {
            self.completed.remove(&done);
            fx.emit(Event::Log(match kind {
                RequestKind::Append => log::Event::Acknowledged { ticket, index },
                RequestKind::Read | RequestKind::Question => log::Event::Answered { ticket, index },
            }));
        }
    }
}
