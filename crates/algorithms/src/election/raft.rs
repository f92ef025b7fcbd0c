//! Raft's election: a majority votes, each process once in a term, and a leader that the majority
//! no longer answers leaves its office before another can have it.
//!
//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC
//! 2014; pre-vote, check-quorum, lease and patient voters are those of D. Ongaro, *Consensus:
//! bridging theory and practice*, Stanford 2014. The election only: there is no log, so every
//! candidate's is up to date.
//!
//! | | |
//! |---|---|
//! | assumes | a majority is up; bounded delays, from some moment on, to make progress |
//! | for one leader at a time | clock rates within 4 %, whatever messages do; nobody stopped |
//! | messages | 4(N − 1) uncontested; no bound, for votes may split again and again |
//! | time | an election timeout, then three messages |
//!
//! **Why it is right.** A leader has the votes of a majority in its term. Two majorities share a
//! process, which voted once in that term, because it saves its term and vote before its answer
//! leaves, and reads them when it comes back. So a term has at most one leader, whatever is late,
//! lost, repeated or down. Whoever hears of a later term follows it, and a leader of an earlier
//! one steps down; in the end the latest leader's heartbeats reach all. Somebody wins, once
//! delays are bounded, since timeouts are drawn anew: one is early enough to collect its votes.
//!
//! **Why one leads at a time.** Whoever votes for somebody, hears a leader, or comes back and may
//! have done either, votes for nobody else before its election timeout. Who stands has a lease
//! from that moment, and a leader begins it anew when a majority has answered the heartbeat that
//! it sent last, which is at most one heartbeat old. When the lease is over it steps down. As
//! heartbeat and lease together are shorter than the election timeout, by more than clocks
//! differ, it has done so before the first of that majority votes again: no message is needed,
//! and none that is late does harm, since heartbeats are numbered.
//!
//! **Handing over.** A leader that resigns tells one of the others to stand at once, after it has
//! left its office, as the thesis has it. A voter for that one forgets its promises to earlier
//! terms: their leaders have resigned or were replaced. Late and repeated messages do no harm.
//!
//! The leader is whoever was first, not the highest rank. With the switch `pre-vote`, which is on
//! in an office, a process first asks whether a majority would vote, so that one which was cut off
//! does not depose a leader by its high term. The thesis counts a lease from when a heartbeat was
//! sent; here it is counted from the answers, as there is no clock, and shorter by a heartbeat.

mod card;
mod config;
mod message;

use tenure_core::service::election::{Command, Event};
use tenure_core::{Delay, Effects, Fixed, Group, ProcessId, ProcessSet, Protocol, Term, TimerRole};

pub use config::{Config, Switch};
pub(crate) use config::{ELECTION, HEARTBEAT, SAYS_ELECTION, SAYS_HEARTBEAT};
pub use message::Message;

/// One process of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raft {
    group: Group,
    config: Fixed<Config>,
    /// `currentTerm`: the latest term that this process has heard of.
    term: u64,
    /// `votedFor`: who got our vote in this term.
    voted_for: Option<ProcessId>,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// Follows nobody, and votes for whoever asks.
    Free,
    /// Somebody may lead because of this process: until its timeout it votes for nobody else.
    Follower {
        /// Whose heartbeats it hears; nobody's yet when it has voted or comes back.
        leader: Option<ProcessId>,
    },
    /// Asks whether others would vote for it, before it leaves its term.
    PreCandidate {
        /// Those who would.
        votes: ProcessSet,
    },
    Candidate {
        /// Those who have voted for it, itself included.
        votes: ProcessSet,
    },
    Leader {
        /// The number of the last heartbeat.
        round: u64,
        /// Who has answered it, itself included.
        answered: ProcessSet,
    },
}

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The election timeout: nothing was heard of a leader, or the vote was split.
    Election,
    /// A leader's next heartbeat is due.
    Heartbeat,
    /// No majority has answered for so long that others may vote again.
    Lease,
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    term: u64,
    voted_for: Option<ProcessId>,
}

impl Protocol for Raft {
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
        let promised = stable.is_some() && !config.variants.has(Switch::ForgottenVote);
        let role = if promised { Role::Follower { leader: None } } else { Role::Free };
        let Stable { term, voted_for } = stable.unwrap_or(Stable { term: 0, voted_for: None });
        let config = Fixed::new(config.clone());
        fx.set_timer(Timer::Election, config.election);
        Raft { group, config, term, voted_for, role }
    }

    fn stable(&self) -> Stable {
        let voted_for = if self.has(Switch::ForgottenVote) { None } else { self.voted_for };
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
                let heeds = self.has_promised() && !self.has(Switch::HeedlessPreVote);
                let granted = term > self.term && !heeds;
                let term = if granted { term } else { self.term };
                fx.send(from, Message::PreVote { term, granted });
            }
            Message::PreVote { term, granted: false } => self.notice(term, fx),
            Message::PreVote { term, granted: true } => {
                if let Role::PreCandidate { votes } = &mut self.role
                    && term == self.term + 1
                {
                    votes.insert(from);
                    self.stand_if_wanted(fx);
                }
            }
            Message::RequestVote { term } => {
                if !self.has_promised() {
                    self.notice(term, fx);
                }
                self.answer_candidate(from, term, fx);
            }
            Message::Vote { term, granted } => {
                self.notice(term, fx);
                if let Role::Candidate { votes } = &mut self.role
                    && granted
                    && term == self.term
                {
                    votes.insert(from);
                    self.lead_if_elected(fx);
                }
            }
            Message::Heartbeat { term, .. } if term < self.term => {
                fx.send(from, Message::Overtaken { term: self.term });
            }
            Message::Heartbeat { term, round } => {
                self.notice(term, fx);
                self.follow(from, fx);
                fx.send(from, Message::Heard { term, round });
            }
            Message::Heard { term, round } => self.count_answer(from, (term, round), fx),
            Message::Overtaken { term } => self.notice(term, fx),
            Message::HandOver { term } => {
                if term == self.term {
                    self.step_down(fx);
                    fx.set_timer(Timer::Election, self.config.election);
                    self.stand(|term| Message::Succeed { term }, fx);
                }
            }
            Message::Succeed { term } => {
                if term > self.term {
                    self.step_down(fx);
                }
                self.notice(term, fx);
                self.answer_candidate(from, term, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election => self.campaign(fx),
            Timer::Heartbeat => self.beat(fx),
            Timer::Lease if self.has(Switch::NoCheckQuorum) => {}
            Timer::Lease => self.step_down(fx),
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Election => TimerRole::MeasuresSilence,
            Timer::Heartbeat => TimerRole::Paces,
            Timer::Lease => TimerRole::EndsClaim,
        }
    }
}

impl Raft {
    /// Nobody leads, as far as we can tell: asks whether others would vote.
    fn campaign(&mut self, fx: &mut impl Effects<Self>) {
        self.step_down(fx);
        fx.set_timer(Timer::Election, self.config.election);
        if !self.has(Switch::PreVote) {
            return self.stand(|term| Message::RequestVote { term }, fx);
        }
        fx.broadcast(&self.group.peers(), Message::RequestPreVote { term: self.term + 1 });
        self.role = Role::PreCandidate { votes: self.only_me() };
        self.stand_if_wanted(fx);
    }

    fn stand_if_wanted(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::PreCandidate { votes } = &self.role
            && self.are_majority(votes)
        {
            self.stand(|term| Message::RequestVote { term }, fx);
        }
    }

    /// Begins a term, with a vote for ourselves, and a lease: votes count while it lasts. The
    /// others are asked for theirs in these words.
    fn stand(&mut self, ask: fn(u64) -> Message, fx: &mut impl Effects<Self>) {
        self.term += 1;
        self.voted_for = Some(self.group.me());
        self.role = Role::Candidate { votes: self.only_me() };
        fx.set_timer(Timer::Lease, self.lease());
        fx.broadcast(&self.group.peers(), ask(self.term));
        self.lead_if_elected(fx);
    }

    /// Leaves the office to one of those who have answered of late, or to anybody.
    fn hand_over(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader { answered, .. } = &self.role else { return };
        let peers = self.group.peers();
        let there = peers.iter().find(|peer| answered.contains(*peer));
        let heir = there.or_else(|| peers.iter().next());
        self.step_down(fx);
        if let Some(heir) = heir {
            fx.send(heir, Message::HandOver { term: self.term });
        }
    }

    fn lead_if_elected(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::Candidate { votes } = &self.role
            && self.are_majority(votes)
        {
            self.role = Role::Leader { round: 0, answered: ProcessSet::new() };
            fx.cancel_timer(Timer::Election);
            fx.emit(self.elected(self.group.me()));
            self.beat(fx);
        }
    }

    fn beat(&mut self, fx: &mut impl Effects<Self>) {
        let (me, rounds) = (self.group.me(), self.config.rounds);
        let Role::Leader { round, answered } = &mut self.role else { return };
        *round = (*round + 1) % rounds;
        answered.clear();
        fx.broadcast(&self.group.peers(), Message::Heartbeat { term: self.term, round: *round });
        fx.set_timer(Timer::Heartbeat, self.config.heartbeat);
        let ours = (self.term, *round);
        self.count_answer(me, ours, fx);
    }

    /// Begins the lease anew with the answer that makes a majority, unless it is to an earlier
    /// heartbeat.
    fn count_answer(
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

    /// Takes note of a later term than ours.
    fn notice(&mut self, term: u64, fx: &mut impl Effects<Self>) {
        if term > self.term {
            let patient = matches!(self.role, Role::Follower { .. });
            self.step_down(fx);
            if patient {
                self.role = Role::Follower { leader: None };
            }
            self.term = term;
            self.voted_for = None;
        }
    }

    /// Ends whatever we were in this term, and follows nobody.
    fn step_down(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(leader) = self.leader() {
            fx.emit(Event::Deposed { term: Term { number: self.term, leader } });
        }
        if matches!(self.role, Role::Leader { .. } | Role::Candidate { .. }) {
            fx.cancel_timer(Timer::Lease);
        }
        if matches!(self.role, Role::Leader { .. }) {
            fx.cancel_timer(Timer::Heartbeat);
            fx.set_timer(Timer::Election, self.config.election);
        }
        self.role = Role::Free;
    }

    /// Votes, or says that it does not.
    fn answer_candidate(&mut self, from: ProcessId, term: u64, fx: &mut impl Effects<Self>) {
        let granted = term == self.term && self.votes_for(from, fx);
        fx.send(from, Message::Vote { term: self.term, granted });
    }

    /// Whether a candidate of our term has our vote: if nobody else has, and we follow nobody.
    fn votes_for(&mut self, candidate: ProcessId, fx: &mut impl Effects<Self>) -> bool {
        let votes = matches!(self.role, Role::Free | Role::PreCandidate { .. });
        if votes && self.voted_for.is_none() {
            self.voted_for = Some(candidate);
            self.role = Role::Follower { leader: None };
            fx.set_timer(Timer::Election, self.config.election);
        }
        self.voted_for == Some(candidate)
    }

    /// The leader of our term is there.
    fn follow(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Election, self.config.election);
        let role = Role::Follower { leader: Some(leader) };
        if self.role != role {
            self.step_down(fx);
            self.role = role;
            fx.emit(self.elected(leader));
        }
    }

    fn elected(&self, leader: ProcessId) -> Event {
        Event::Elected { leader, term: Term { number: self.term, leader } }
    }

    /// Whom we believe in.
    fn leader(&self) -> Option<ProcessId> {
        match self.role {
            Role::Leader { .. } => Some(self.group.me()),
            Role::Follower { leader } => leader,
            Role::Free | Role::PreCandidate { .. } | Role::Candidate { .. } => None,
        }
    }

    /// Whether somebody may lead because of us, as it may be ourselves.
    fn has_promised(&self) -> bool {
        matches!(self.role, Role::Follower { .. } | Role::Leader { .. })
    }

    fn lease(&self) -> Delay {
        if self.has(Switch::LongLease) { self.config.election } else { self.config.lease }
    }

    fn are_majority(&self, votes: &ProcessSet) -> bool {
        votes.len() as u64 * 2 > u64::from(self.group.size())
    }

    fn only_me(&self) -> ProcessSet {
        [self.group.me()].into_iter().collect()
    }

    fn has(&self, switch: Switch) -> bool {
        self.config.variants.has(switch)
    }
}
