//! Raft's leader election: each process votes once per term, a majority elects, and a leader
//! without a responding majority steps down before another is elected.
//!
//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC 2014;
//! pre-vote, check-quorum, the lease and the minimum time between votes: D. Ongaro, *Consensus:
//! bridging theory and practice*, Stanford 2014. There is no log, so every candidate is up to date.
//!
//! | | |
//! |---|---|
//! | assumes | a majority is up; bounded delays, from some moment on, to make progress |
//! | assumes, for one leader at a time | clock rates within 4 %, no paused process; any delays |
//! | messages | 4(N − 1) uncontested; no bound, for votes may split again and again |
//! | time | an election timeout, then three messages |
//!
//! **Why it is right.** A leader has the votes of a majority in its term. Any two majorities have a
//! process in common. Each process votes once in a term, because it saves its term and vote before
//! it responds. So a term has at most one leader, despite delays, losses, duplicates and crashes. A
//! process that learns of a later term joins that term, and steps down if it was the leader.
//! Timeouts are random, so some candidate wins once delays are bounded.
//!
//! **Why one leads at a time.** After a process has voted for another process or received a
//! heartbeat, it votes for no other process before its election timeout. A process also waits for
//! this timeout after a restart, because it may have voted just before the crash. A leader or
//! candidate steps down when its lease expires. The lease of a candidate starts with its vote
//! request. A leader renews its lease when a majority has responded to its last heartbeat, which is
//! at most one heartbeat interval old. This interval and the lease together are shorter than the
//! election timeout, by more than clocks drift. So the leader has stepped down before the first
//! process of that majority votes again.
//!
//! **Handing over.** A leader that resigns steps down and asks another process to start an election
//! at once, as in the thesis. Voters need not wait, because the old leader no longer leads.
//!
//! Ranks play no role. With the variant `pre-vote`, a process that returns from a partition does
//! not depose the leader. In the thesis, a lease begins when a heartbeat is sent. Here it begins
//! with the responses, and is one heartbeat shorter.

mod card;
mod config;
mod message;

use tenure_core::service::election::{Command, Event};
use tenure_core::{Delay, Effects, Group, ProcessId, ProcessSet};
use tenure_core::{Protocol, Term, TimerRole, UncomparedConfig};

pub use config::{Config, VariantId};
pub(crate) use config::{
    ELECTION_DESCRIPTION, ELECTION_TIMEOUT_NAME, HEARTBEAT_DESCRIPTION, HEARTBEAT_TIMEOUT_NAME,
};
pub use message::Message;

/// State of one process of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaftElection {
    group: Group,
    config: UncomparedConfig<Config>,
    /// Latest term that this process has seen (`currentTerm` in the paper).
    term: u64,
    /// Candidate that has this process's vote in this term, if any (`votedFor` in the paper).
    voted_for: Option<ProcessId>,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// The process follows no leader, and grants votes.
    Free,
    /// The process follows a leader or has voted. Until its timeout it grants no other vote.
    Follower {
        /// The leader whose heartbeats arrive. `None` after a vote, a restart or a change of term.
        leader: Option<ProcessId>,
    },
    /// Before it starts a new term, the process asks its peers whether they would elect it.
    PreCandidate {
        /// Processes that would vote for this process. This process is one of them.
        votes: ProcessSet,
    },
    Candidate {
        /// Processes that granted their vote. This process is one of them.
        votes: ProcessSet,
    },
    Leader {
        /// Number of the last heartbeat.
        round: u64,
        /// Processes that responded to the last heartbeat. The leader itself is one of them.
        answered: ProcessSet,
    },
}

/// Timers of one process: the election timeout, and the timers of a candidate or leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The election timeout: this process has neither received a heartbeat nor voted in time.
    Election,
    /// The leader sends the next heartbeat.
    Heartbeat,
    /// The lease of the leader or candidate has expired: no majority has responded in time. The
    /// process steps down, because other processes may vote again.
    Lease,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    term: u64,
    voted_for: Option<ProcessId>,
}

impl Protocol for RaftElection {
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
        let promised = stable.is_some() && !config.variants.has(VariantId::ForgottenVote);
        let role = if promised { Role::Follower { leader: None } } else { Role::Free };
        let Stable { term, voted_for } = stable.unwrap_or(Stable { term: 0, voted_for: None });
        let config = UncomparedConfig::new(config.clone());
        fx.set_timer(Timer::Election, config.election_timeout);
        RaftElection { group, config, term, voted_for, role }
    }

    fn stable(&self) -> Stable {
        let voted_for = if self.has(VariantId::ForgottenVote) { None } else { self.voted_for };
        Stable { term: self.term, voted_for }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, &self.role) {
            (Command::Elect, Role::Free) => self.campaign(fx),
            (Command::Elect, Role::Follower { .. } | Role::Leader { .. }) => {
                if let Some(leader) = self.leader() {
                    fx.emit(self.elected(leader));
                }
            }
            (Command::Resign, Role::Leader { .. }) => self.hand_over(fx),
            (Command::Elect | Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::RequestPreVote { term } => {
                let respects_leader = self.has_promised() && !self.has(VariantId::HeedlessPreVote);
                let granted = term > self.term && !respects_leader;
                let term = if granted { term } else { self.term };
                fx.send(from, Message::PreVote { term, granted });
            }
            Message::PreVote { term, granted: false } => self.update_term(term, fx),
            Message::PreVote { term, granted: true } => {
                if let Role::PreCandidate { votes } = &mut self.role
                    && term == self.term + 1
                {
                    votes.insert(from);
                    self.maybe_become_candidate(fx);
                }
            }
            Message::RequestVote { term } => {
                if !self.has_promised() {
                    self.update_term(term, fx);
                }
                self.respond_to_candidate(from, term, fx);
            }
            Message::Vote { term, granted } => {
                self.update_term(term, fx);
                if let Role::Candidate { votes } = &mut self.role
                    && granted
                    && term == self.term
                {
                    votes.insert(from);
                    self.maybe_become_leader(fx);
                }
            }
            Message::Heartbeat { term, .. } if term < self.term => {
                fx.send(from, Message::Overtaken { term: self.term });
            }
            Message::Heartbeat { term, round } => {
                self.update_term(term, fx);
                self.follow_leader(from, fx);
                fx.send(from, Message::Heard { term, round });
            }
            Message::Heard { term, round } => self.record_response(from, (term, round), fx),
            Message::Overtaken { term } => self.update_term(term, fx),
            Message::HandOver { term } => {
                if term == self.term {
                    self.become_follower(fx);
                    fx.set_timer(Timer::Election, self.config.election_timeout);
                    self.become_candidate(|term| Message::Succeed { term }, fx);
                }
            }
            Message::Succeed { term } => {
                if term > self.term {
                    self.become_follower(fx);
                }
                self.update_term(term, fx);
                self.respond_to_candidate(from, term, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election => self.campaign(fx),
            Timer::Heartbeat => self.broadcast_heartbeat(fx),
            Timer::Lease if self.has(VariantId::NoCheckQuorum) => {}
            Timer::Lease => self.become_follower(fx),
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Election => TimerRole::MeasuresSilence,
            Timer::Heartbeat => TimerRole::PacesHeartbeats,
            Timer::Lease => TimerRole::EndsClaim,
        }
    }
}

impl RaftElection {
    /// Stops following a leader, and requests the votes or pre-votes of the peers.
    fn campaign(&mut self, fx: &mut impl Effects<Self>) {
        self.become_follower(fx);
        fx.set_timer(Timer::Election, self.config.election_timeout);
        if !self.has(VariantId::PreVote) {
            return self.become_candidate(|term| Message::RequestVote { term }, fx);
        }
        fx.broadcast(&self.group.peers(), Message::RequestPreVote { term: self.term + 1 });
        self.role = Role::PreCandidate { votes: self.own_vote() };
        self.maybe_become_candidate(fx);
    }

    fn maybe_become_candidate(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::PreCandidate { votes } = &self.role
            && self.is_majority(votes)
        {
            self.become_candidate(|term| Message::RequestVote { term }, fx);
        }
    }

    /// Starts a new term as a candidate, and sends the request that `ask` creates. Without a
    /// majority, gives up when [`Timer::Lease`] fires, except with the variant `no-check-quorum`.
    fn become_candidate(&mut self, ask: fn(u64) -> Message, fx: &mut impl Effects<Self>) {
        self.term += 1;
        self.voted_for = Some(self.group.me());
        self.role = Role::Candidate { votes: self.own_vote() };
        fx.set_timer(Timer::Lease, self.lease());
        fx.broadcast(&self.group.peers(), ask(self.term));
        self.maybe_become_leader(fx);
    }

    /// Steps down and nominates a successor, preferably a peer that answered the last heartbeat.
    fn hand_over(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader { answered, .. } = &self.role else { return };
        let peers = self.group.peers();
        let responsive = peers.iter().find(|peer| answered.contains(*peer));
        let heir = responsive.or_else(|| peers.iter().next());
        self.become_follower(fx);
        if let Some(heir) = heir {
            fx.send(heir, Message::HandOver { term: self.term });
        }
    }

    fn maybe_become_leader(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::Candidate { votes } = &self.role
            && self.is_majority(votes)
        {
            self.role = Role::Leader { round: 0, answered: ProcessSet::new() };
            fx.cancel_timer(Timer::Election);
            fx.emit(self.elected(self.group.me()));
            self.broadcast_heartbeat(fx);
        }
    }

    fn broadcast_heartbeat(&mut self, fx: &mut impl Effects<Self>) {
        let (me, modulus) = (self.group.me(), self.config.heartbeat_modulus);
        let Role::Leader { round, answered } = &mut self.role else { return };
        *round = (*round + 1) % modulus;
        answered.clear();
        fx.broadcast(&self.group.peers(), Message::Heartbeat { term: self.term, round: *round });
        fx.set_timer(Timer::Heartbeat, self.config.heartbeat_interval);
        let ours = (self.term, *round);
        self.record_response(me, ours, fx);
    }

    /// Records a response to the last heartbeat. Renews the lease when a majority has responded.
    fn record_response(
        &mut self,
        from: ProcessId,
        (term, heard): (u64, u64),
        fx: &mut impl Effects<Self>,
    ) {
        let (size, lease) = (u64::from(self.group.size()), self.lease());
        if let Role::Leader { round, answered } = &mut self.role
            && (term, heard) == (self.term, *round)
            && answered.insert(from)
            && answered.len() as u64 == size / 2 + 1
        {
            fx.set_timer(Timer::Lease, lease);
        }
    }

    /// Joins a later `term` and steps down. A follower still votes only after its election timeout.
    fn update_term(&mut self, term: u64, fx: &mut impl Effects<Self>) {
        if term > self.term {
            let had_promised = matches!(self.role, Role::Follower { .. });
            self.become_follower(fx);
            if had_promised {
                self.role = Role::Follower { leader: None };
            }
            self.term = term;
            self.voted_for = None;
        }
    }

    /// Abandons the current role and follows no leader.
    fn become_follower(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(leader) = self.leader() {
            fx.emit(Event::Deposed { term: Term { number: self.term, leader } });
        }
        if matches!(self.role, Role::Leader { .. } | Role::Candidate { .. }) {
            fx.cancel_timer(Timer::Lease);
        }
        if matches!(self.role, Role::Leader { .. }) {
            fx.cancel_timer(Timer::Heartbeat);
            fx.set_timer(Timer::Election, self.config.election_timeout);
        }
        self.role = Role::Free;
    }

    fn respond_to_candidate(&mut self, from: ProcessId, term: u64, fx: &mut impl Effects<Self>) {
        let granted = term == self.term && self.grant_vote(from, fx);
        fx.send(from, Message::Vote { term: self.term, granted });
    }

    /// Votes for a candidate of the current term, if this process may vote and has not voted in
    /// this term. Returns true if this process has voted for the candidate in this term.
    fn grant_vote(&mut self, candidate: ProcessId, fx: &mut impl Effects<Self>) -> bool {
        let votes = matches!(self.role, Role::Free | Role::PreCandidate { .. });
        if votes && self.voted_for.is_none() {
            self.voted_for = Some(candidate);
            self.role = Role::Follower { leader: None };
            fx.set_timer(Timer::Election, self.config.election_timeout);
        }
        self.voted_for == Some(candidate)
    }

    /// Handles a heartbeat of `leader`: follows the leader, and restarts the election timeout.
    fn follow_leader(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Election, self.config.election_timeout);
        let role = Role::Follower { leader: Some(leader) };
        if self.role != role {
            self.become_follower(fx);
            self.role = role;
            fx.emit(self.elected(leader));
        }
    }

    fn elected(&self, leader: ProcessId) -> Event {
        Event::Elected { leader, term: Term { number: self.term, leader } }
    }

    fn leader(&self) -> Option<ProcessId> {
        match self.role {
            Role::Leader { .. } => Some(self.group.me()),
            Role::Follower { leader } => leader,
            Role::Free | Role::PreCandidate { .. } | Role::Candidate { .. } => None,
        }
    }

    /// Returns true if this process leads, follows, or may have voted for one that may still lead.
    fn has_promised(&self) -> bool {
        matches!(self.role, Role::Follower { .. } | Role::Leader { .. })
    }

    fn lease(&self) -> Delay {
        let (election, lease) = (self.config.election_timeout, self.config.lease_duration);
        if self.has(VariantId::LongLease) { election } else { lease }
    }

    fn is_majority(&self, votes: &ProcessSet) -> bool {
        votes.len() as u64 * 2 > u64::from(self.group.size())
    }

    fn own_vote(&self) -> ProcessSet {
        [self.group.me()].into_iter().collect()
    }

    fn has(&self, switch: VariantId) -> bool {
        self.config.variants.has(switch)
    }
}
