//! Raft's election: a majority votes, each process once in a term.
//!
//! D. Ongaro, J. Ousterhout, *In search of an understandable consensus algorithm*, USENIX ATC
//! 2014; the pre-vote of D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014.
//! The election only: there is no log, so every candidate's is up to date.
//!
//! | | |
//! |---|---|
//! | assumes | a majority is up; bounded delays, from some moment on, to make progress |
//! | messages | 3(N − 1) uncontested; no bound, for votes may split again and again |
//! | time | an election timeout, then three messages |
//!
//! **Why it is right.** A leader has the votes of a majority in its term. Two majorities share a
//! process, which voted once in that term, because it saves its term and vote before its answer
//! leaves, and reads them when it comes back. So a term has at most one leader, whatever is late,
//! lost, repeated or down. Whoever hears of a later term follows it, and a leader of an earlier
//! one steps down; in the end the latest leader's heartbeats reach all. Somebody wins, once
//! delays are bounded, since timeouts are drawn anew each time: one will be early enough to
//! collect its votes before the next fires.
//!
//! The leader is whoever was first, not the highest rank. With the switch `pre-vote` a process
//! first asks whether a majority has lost its leader as well, so that one which was cut off does
//! not depose a leader by its high term. The thesis lets a peer agree when it has heard nothing
//! for the least timeout; here it agrees when its own timeout has passed, which needs no timer
//! besides the paper's two.

mod card;

use tenure_core::service::election::{Command, Event};
use tenure_core::{Delay, Effects, Fixed, Group, ProcessId, ProcessSet, Protocol, Term, labelled};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

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
    Follower {
        /// Whose heartbeats it hears.
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
    Leader,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Would you vote for me in this term?"
    RequestPreVote {
        /// The term that the sender would begin.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// The answer to that, which binds nobody.
    PreVote {
        /// The term that was asked about if granted, else the sender's.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Whether the sender would.
        granted: bool,
    },
    /// "Vote for me."
    RequestVote {
        /// The term in which the sender stands.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// The answer to that.
    Vote {
        /// The sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Whether this is a vote.
        granted: bool,
    },
    /// "I lead in this term." An `AppendEntries` with no entries.
    Heartbeat {
        /// The sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// "Your term is over."
    Overtaken {
        /// The sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
}

labelled!(
    Message, Election,
    RequestPreVote => "request-pre-vote", PreVote => "pre-vote",
    RequestVote => "request-vote", Vote => "vote",
    Heartbeat => "heartbeat", Overtaken => "overtaken",
);

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The election timeout: nothing was heard of a leader, or the vote was split.
    Election,
    /// A leader's next heartbeat is due.
    Heartbeat,
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// The election timeout: much longer than the heartbeat, and wide enough for one process to
    /// be alone in time out of it.
    pub election: Delay,
    /// How often a leader says that it is there: longer than a message takes.
    pub heartbeat: Delay,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Timeouts for a group of `size` whose messages take at most `delay` ticks: ten delays, and
    /// four more for each process, lest two time out together.
    pub fn plain(size: u32, delay: u64) -> Self {
        let min = 10 * delay;
        Config {
            election: Delay { min, max: min + 4 * delay * u64::from(size) },
            heartbeat: Delay::ticks(3 * delay),
            variants: Variants::none(),
        }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let plain = Config::plain(parameters.size, parameters.delay);
        Ok(Config { variants: parameters.variants()?, ..plain })
    }
}

switches! {
    PreVote = "pre-vote", sound,
        "a candidate first asks whether a majority has lost its leader, and keeps its term if not";
    ForgottenVote = "forgotten-vote", unsound,
        "the vote is not saved: whoever comes back votes a second time in the same term"
        => "", "-n 3 --crash 1 --recover 1 --property one-leader-per-term";
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
        let Stable { term, voted_for } = stable.unwrap_or(Stable { term: 0, voted_for: None });
        let config = Fixed::new(config.clone());
        fx.set_timer(Timer::Election, config.election);
        Raft { group, config, term, voted_for, role: Role::Follower { leader: None } }
    }

    fn stable(&self) -> Stable {
        let voted_for = if self.has(Switch::ForgottenVote) { None } else { self.voted_for };
        Stable { term: self.term, voted_for }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if !self.campaigns() => self.campaign(fx),
            Command::Resign if self.role == Role::Leader => self.step_down(fx),
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::RequestPreVote { term } => {
                let granted = term > self.term && self.leader().is_none();
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
                self.notice(term, fx);
                let granted = term == self.term && self.may_vote_for(from);
                if granted {
                    self.voted_for = Some(from);
                    fx.set_timer(Timer::Election, self.config.election);
                }
                fx.send(from, Message::Vote { term: self.term, granted });
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
            Message::Heartbeat { term } if term < self.term => {
                fx.send(from, Message::Overtaken { term: self.term });
            }
            Message::Heartbeat { term } => {
                self.notice(term, fx);
                self.follow(from, fx);
            }
            Message::Overtaken { term } => self.notice(term, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election => self.campaign(fx),
            Timer::Heartbeat => self.beat(fx),
        }
    }
}

impl Raft {
    /// Nobody leads, as far as we can tell: asks for votes, or first whether to.
    fn campaign(&mut self, fx: &mut impl Effects<Self>) {
        self.step_down(fx);
        fx.set_timer(Timer::Election, self.config.election);
        if !self.has(Switch::PreVote) {
            return self.stand(fx);
        }
        fx.broadcast(&self.group.peers(), Message::RequestPreVote { term: self.term + 1 });
        self.role = Role::PreCandidate { votes: self.only_me() };
        self.stand_if_wanted(fx);
    }

    fn stand_if_wanted(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::PreCandidate { votes } = &self.role
            && self.are_majority(votes)
        {
            self.stand(fx);
        }
    }

    /// Begins a term, with a vote for ourselves.
    fn stand(&mut self, fx: &mut impl Effects<Self>) {
        self.term += 1;
        self.voted_for = Some(self.group.me());
        self.role = Role::Candidate { votes: self.only_me() };
        fx.broadcast(&self.group.peers(), Message::RequestVote { term: self.term });
        self.lead_if_elected(fx);
    }

    fn lead_if_elected(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::Candidate { votes } = &self.role
            && self.are_majority(votes)
        {
            self.role = Role::Leader;
            fx.cancel_timer(Timer::Election);
            fx.emit(self.elected(self.group.me()));
            self.beat(fx);
        }
    }

    fn beat(&mut self, fx: &mut impl Effects<Self>) {
        fx.broadcast(&self.group.peers(), Message::Heartbeat { term: self.term });
        fx.set_timer(Timer::Heartbeat, self.config.heartbeat);
    }

    /// Takes note of a later term than ours.
    fn notice(&mut self, term: u64, fx: &mut impl Effects<Self>) {
        if term > self.term {
            self.step_down(fx);
            self.term = term;
            self.voted_for = None;
        }
    }

    /// Ends whatever we were in this term, and follows nobody.
    fn step_down(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(leader) = self.leader() {
            fx.emit(Event::Deposed { term: Term { number: self.term, leader } });
        }
        if self.role == Role::Leader {
            fx.cancel_timer(Timer::Heartbeat);
            fx.set_timer(Timer::Election, self.config.election);
        }
        self.role = Role::Follower { leader: None };
    }

    /// The leader of our term is there.
    fn follow(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        if self.role == Role::Leader {
            return;
        }
        fx.set_timer(Timer::Election, self.config.election);
        let role = Role::Follower { leader: Some(leader) };
        if self.role != role {
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
            Role::Leader => Some(self.group.me()),
            Role::Follower { leader } => leader,
            Role::PreCandidate { .. } | Role::Candidate { .. } => None,
        }
    }

    fn may_vote_for(&self, peer: ProcessId) -> bool {
        let free = self.voted_for.is_none_or(|chosen| chosen == peer);
        free && matches!(self.role, Role::Follower { .. } | Role::PreCandidate { .. })
    }

    fn campaigns(&self) -> bool {
        matches!(self.role, Role::PreCandidate { .. } | Role::Candidate { .. })
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
