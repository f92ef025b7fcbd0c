//! Maekawa's mutual exclusion: everybody in your quorum has one vote, and you need them all.
//!
//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, ACM TOCS 3(2),
//! 1985; with the correction of B. A. Sanders, *The information structure of distributed mutual
//! exclusion algorithms*, ACM TOCS 5(3), 1987.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable first-in-first-out channels, no crash |
//! | messages per entry | 3(K − 1) uncontended, at most 6(K − 1) in a quorum of K |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 2 messages |
//!
//! **Why it is right.** Any two quorums have a member in common, and it has one vote: safety. A
//! voter whose vote is out, and who learns of a smaller request, *inquires* whether it may have
//! the vote back. Whoever knows that it has *failed* somewhere gives it back, and whoever has
//! not failed anywhere either enters or will hear that it failed. So of those who wait for each
//! other in a circle, the larger give way, and the smallest request gets all its votes.
//!
//! For that, everybody who waits at a voter must have been told that it failed, but the one who
//! made the voter inquire. The paper of 1985 tells only newcomers; Sanders also tells the one
//! who is displaced by a smaller newcomer, and without it there is a deadlock (`original-1985`).
//!
//! Beyond the papers: a process's vote for itself is a local call. A vote has a number, the
//! n-th for the same request, and what is said of it carries that number, so that a duplicate
//! gives back nothing twice. A vote for a request that is over is given back at once. Votes and
//! releases carry the highest fence heard of: the last entry's, at one voter at least.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::quorum::{Kind, NoQuorums, Quorums};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Expected, Hops, Precision, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, LamportClock, Never, Order, ProcessId,
    ProcessSet, Protocol, Stamp, Strategy, labelled,
};

use super::candidate::Candidate;
use super::voter::{Arrival, Ballot, Voter};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process: it asks for votes, and it has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    group: Group,
    variants: Variants<Switch>,
    /// *S_i*: whose votes this process needs.
    quorum: ProcessSet,
    /// The highest clock of any request, sent or seen.
    clock: LamportClock,
    /// The highest fence this process has heard of.
    fence: u64,
    phase: Phase,
    /// Our own vote.
    voter: Voter,
}

/// Where this process stands with its own request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting(Candidate),
    Inside { request: Stamp, votes: Vec<(ProcessId, Ballot)> },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to enter, and this is my place in the order."
    Request {
        /// The place.
        stamp: Stamp,
    },
    /// "You have my vote."
    Locked {
        /// The vote.
        ballot: Ballot,
        /// The highest fence that the voter has heard of.
        fence: u64,
    },
    /// "You may have to wait for somebody smaller."
    Failed {
        /// Your request.
        request: Stamp,
    },
    /// "May I have my vote back, unless you will enter first?"
    Inquire {
        /// The vote.
        ballot: Ballot,
    },
    /// "Here is your vote, and I still want it."
    Relinquish {
        /// The vote.
        ballot: Ballot,
    },
    /// "Here is your vote: I have left."
    Release {
        /// The vote.
        ballot: Ballot,
        /// The fence of my entry.
        fence: u64,
    },
}

labelled!(
    Message, Mutex,
    Request => "request", Locked => "locked", Failed => "failed",
    Inquire => "inquire", Relinquish => "relinquish", Release => "release",
);

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By process: whose votes it needs, its own among them.
    pub quorums: Arc<Quorums>,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// The quorums of a kind for a group of `size`.
    ///
    /// # Errors
    ///
    /// When there are none of that kind.
    pub fn of(kind: Kind, size: u32) -> Result<Self, NoQuorums> {
        Ok(Config { quorums: Arc::new(Quorums::of(kind, size)?), variants: Variants::none() })
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let plain = Config::of(parameters.quorums, parameters.size)?;
        Ok(Config { variants: parameters.variants()?, ..plain })
    }
}

switches! {
    Basic = "basic", unsound,
        "votes are never asked back, so processes wait for each other in a circle"
        => "7-M1", "-n 3 --quorums pairs";
    Original1985 = "original-1985", unsound,
        "as printed in 1985: who is displaced by a smaller request is not told that it failed"
        => "7-M3", "-n 4 --quorums grid";
}

impl Protocol for Maekawa {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        assert!(config.quorums.size() == group.size(), "every process needs a quorum");
        Maekawa {
            group,
            variants: config.variants,
            quorum: config.quorums.quorum(group.me()).clone(),
            clock: LamportClock::default(),
            fence: 0,
            phase: Phase::Idle,
            voter: Voter::default(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.request(fx),
            Command::Exit => self.exit(fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { stamp } => self.on_request(stamp, fx),
            Message::Relinquish { ballot } => {
                if self.voter.has_given(ballot) {
                    self.voter.put_back(ballot);
                    self.vote(fx);
                }
            }
            Message::Release { ballot, fence } => {
                self.fence = self.fence.max(fence);
                if self.voter.has_given(ballot) {
                    self.vote(fx);
                }
            }
            Message::Locked { ballot, fence } => {
                self.fence = self.fence.max(fence);
                self.on_locked(from, ballot, fx);
            }
            Message::Failed { request } => {
                if let Some(candidate) = self.candidate(request) {
                    candidate.fail(from);
                    self.give_way(fx);
                }
            }
            Message::Inquire { ballot } => {
                if let Some(candidate) = self.candidate(ballot.request) {
                    candidate.inquire(from, ballot.number);
                    self.give_way(fx);
                }
            }
        }
    }
}

/// Who asks.
impl Maekawa {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process asks only when it neither waits nor is in");
        let request = Stamp { clock: self.clock.tick(), process: self.group.me() };
        self.phase = Phase::Waiting(Candidate::new(request, &self.quorum));
        for voter in &self.quorum.clone() {
            self.tell(voter, Message::Request { stamp: request }, fx);
        }
    }

    fn on_locked(&mut self, from: ProcessId, ballot: Ballot, fx: &mut impl Effects<Self>) {
        if let Some(candidate) = self.candidate(ballot.request) {
            candidate.lock(from, ballot.number);
            self.enter_if_elected(fx);
        } else if !self.is_inside_by(ballot.request) {
            // For a request that is over: give it back, or everybody waits for us.
            self.tell(from, Message::Release { ballot, fence: self.fence }, fx);
        }
    }

    fn enter_if_elected(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting(candidate) = &self.phase
            && let Some(votes) = candidate.elected()
        {
            self.phase = Phase::Inside { request: candidate.request, votes };
            self.fence += 1;
            fx.emit(Event::Entered { fence: Fence(0, self.fence) });
        }
    }

    fn give_way(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting(candidate) = &mut self.phase else { return };
        for (voter, ballot) in candidate.give_way() {
            self.tell(voter, Message::Relinquish { ballot }, fx);
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Inside { votes, .. } = core::mem::replace(&mut self.phase, Phase::Idle) else {
            panic!("only a process that is inside can leave");
        };
        fx.emit(Event::Exited);
        for (voter, ballot) in votes {
            self.tell(voter, Message::Release { ballot, fence: self.fence }, fx);
        }
    }

    /// A request of ours, if it still waits.
    fn candidate(&mut self, request: Stamp) -> Option<&mut Candidate> {
        match &mut self.phase {
            Phase::Waiting(candidate) if candidate.request == request => Some(candidate),
            _ => None,
        }
    }

    fn is_inside_by(&self, request: Stamp) -> bool {
        matches!(&self.phase, Phase::Inside { request: ours, .. } if *ours == request)
    }

    /// Sends a message; by a local call where it is to ourselves.
    fn tell(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.group.me() {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

/// Who votes.
impl Maekawa {
    fn on_request(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        self.clock.observe(request.clock);
        let arrival = self.voter.receive(request);
        match arrival {
            Arrival::Voted(ballot) => self.lock(ballot, fx),
            _ if self.variants.has(Switch::Basic) => {}
            Arrival::InFrontOf(_) if self.variants.has(Switch::Original1985) => {}
            Arrival::Behind => self.fail(request, fx),
            Arrival::InFrontOf(displaced) => self.fail(displaced.request, fx),
            Arrival::After(holder) => {
                self.tell(holder.request.process, Message::Inquire { ballot: holder }, fx);
            }
            Arrival::Known => {}
        }
    }

    /// Our vote is back: it goes to the smallest request that waits.
    fn vote(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(ballot) = self.voter.vote() {
            self.lock(ballot, fx);
        }
    }

    fn lock(&mut self, ballot: Ballot, fx: &mut impl Effects<Self>) {
        self.tell(ballot.request.process, Message::Locked { ballot, fence: self.fence }, fx);
    }

    fn fail(&mut self, request: Stamp, fx: &mut impl Effects<Self>) {
        self.tell(request.process, Message::Failed { request }, fx);
    }
}

/// For whoever changes its mind about whom to ask.
impl Maekawa {
    /// Whose votes this process needs.
    pub(super) fn quorum(&self) -> &ProcessSet {
        &self.quorum
    }

    /// From the next request on, it needs these.
    pub(super) fn ask_of(&mut self, quorum: ProcessSet) {
        self.quorum = quorum;
    }

    /// Gives up a request that waits; tells whether there was one. The voters do not know.
    pub(super) fn abandon(&mut self) -> bool {
        let waiting = matches!(self.phase, Phase::Waiting(_));
        if waiting {
            self.phase = Phase::Idle;
        }
        waiting
    }

    /// Whether a process has our vote.
    pub(super) fn votes_for(&self, process: ProcessId) -> bool {
        self.voter.holder() == Some(process)
    }

    /// Forgets a process that waits for our vote.
    pub(super) fn strike(&mut self, process: ProcessId) {
        self.voter.strike(process);
    }

    /// Forgets what a process has asked of us; our vote goes to another, if it had it.
    pub(super) fn forget(&mut self, process: ProcessId, fx: &mut impl Effects<Self>) {
        self.strike(process);
        if self.votes_for(process) {
            self.vote(fx);
        }
    }
}

impl Algorithm for Maekawa {
    fn card(config: &Config, size: u32) -> Card {
        let others = |process| u64::from(config.quorums.quorum(ProcessId(process)).len() - 1);
        let (least, most) = ((0..size).map(others).min(), (0..size).map(others).max());
        Card {
            strategy: Strategy::Quorum,
            order: Order::Fifo,
            faults: Faults::duplication(
                "needs every vote of a fixed quorum: no crash in one that is used, no loss",
            ),
            messages: Cost::per_entry(
                "3(K−1) … 6(K−1)",
                3 * least.unwrap_or(0),
                most.map(|most| 6 * most),
            ),
            theory: Some(Theory::lock(["2", "not known", "no"], Hops::TWO)),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "maekawa",
                "everybody in your quorum has one vote, and you need them all",
                "Maekawa, ACM TOCS 3(2), 1985; Sanders, ACM TOCS 5(3), 1987",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        let precision = match scene {
            Scene::OneAtATime => Precision::Mean,
            Scene::Alike => Precision::Least,
            _ => return None,
        };
        let others = |process| u64::from(config.quorums.quorum(ProcessId(process)).len() - 1);
        Some(Expected::shared(precision, 3 * (0..size).map(others).sum::<u64>(), size.into()))
    }
}
