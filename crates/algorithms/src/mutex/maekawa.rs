//! Maekawa's mutual exclusion: a process needs the vote of each process of its quorum.
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
//! **Why it is right.** Any two quorums share a member with only one vote, so at most one process
//! is inside. For progress, larger requests yield to smaller ones. A voter that knows a smaller
//! request informs the requester that its request has *failed*. A voter that learns of a smaller
//! request after its vote *inquires* whether it may have the vote back. A process returns an
//! inquired vote once its request has failed at a voter. A process whose request never fails gets
//! all its votes, enters, and releases them. So the smallest of several waiting requests gets all
//! votes. Therefore a voter must send `Failed` to each waiting process whose request is not the
//! smallest. In the paper of 1985, a voter sends it only for a new request, so deadlock is possible
//! (variant `original-1985`). Sanders sends it also for a waiting request when a smaller one comes.
//!
//! Beyond the papers: a process votes for itself by a local call. Votes for a request are numbered,
//! and messages about a vote carry its number, so a duplicate returns no vote twice. A vote for an
//! ended request is returned at once. Votes and releases carry the highest known fence.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::quorum::{QuorumError, QuorumKind, QuorumSystem};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, Effects, Fence, Group, LamportClock,
    MessageCost, Never, ProcessId, ProcessSet, Protocol, Timestamp, ToleratedFaults, labelled,
};

use super::quorum_request::QuorumRequest;
use super::voter::{NumberedRequest, RequestOutcome, Voter};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// One process. It requests votes to enter the critical section, and gives its own vote to one
/// request at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Maekawa {
    group: Group,
    variants: Variants<VariantId>,
    /// Processes whose votes this process needs (`S_i` in the paper).
    quorum: ProcessSet,
    /// Highest clock of any request, sent or received.
    clock: LamportClock,
    fence: u64,
    phase: Phase,
    voter: Voter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting(QuorumRequest),
    Inside { request: Timestamp, votes: Vec<(ProcessId, NumberedRequest)> },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry to the critical section.
    Request {
        /// Timestamp of the request. The request with the smallest timestamp has precedence.
        stamp: Timestamp,
    },
    /// Gives the sender's vote to the receiver.
    Locked {
        /// The vote that the sender gives.
        ballot: NumberedRequest,
        /// Highest fence known to the sender.
        fence: u64,
    },
    /// Informs the receiver that the sender knows a request that is smaller than the receiver's
    /// request. The sender may vote for the smaller request first.
    Failed {
        /// Timestamp of the receiver's request.
        request: Timestamp,
    },
    /// Asks for the vote back. The receiver returns it when its request fails, or when it exits.
    Inquire {
        /// The vote that the sender asks back.
        ballot: NumberedRequest,
    },
    /// Returns the vote before the sender has entered the critical section. The sender still needs
    /// the vote.
    Relinquish {
        /// The vote that the sender returns.
        ballot: NumberedRequest,
    },
    /// Returns a vote that the sender no longer needs, because its request has ended.
    Release {
        /// The vote that the sender returns.
        ballot: NumberedRequest,
        /// Highest fence known to the sender.
        fence: u64,
    },
}

labelled!(
    Message, Mutex,
    Request => "request", Locked => "locked", Failed => "failed",
    Inquire => "inquire", Relinquish => "relinquish", Release => "release",
);

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Quorum of each process. Each quorum includes the process itself.
    pub quorums: Arc<QuorumSystem>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration for a group of `size` processes. The quorums are of the given kind.
    ///
    /// # Errors
    ///
    /// Returns an error if no quorums of that kind exist for this size.
    pub fn with_quorum_kind(kind: QuorumKind, size: u32) -> Result<Self, QuorumError> {
        let quorums = Arc::new(QuorumSystem::from_kind(kind, size)?);
        Ok(Config { quorums, variants: Variants::none() })
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        // Grids exist for every number of processes.
        let quorums = parameters.quorums(QuorumKind::Grid)?;
        Ok(Config { quorums, variants: parameters.variants()? })
    }
}

variant_ids! {
    Basic = "basic", unsound,
        "votes are never asked back, so processes wait for each other in a cycle"
        => "7-M1", "-n 3 --quorums pairs";
    Original1985 = "original-1985", unsound,
        "as printed in 1985: a request displaced by a smaller one is not informed that it failed"
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
                if self.voter.has_voted_for(ballot) {
                    self.voter.requeue_request(ballot);
                    self.vote(fx);
                }
            }
            Message::Release { ballot, fence } => {
                self.fence = self.fence.max(fence);
                if self.voter.has_voted_for(ballot) {
                    self.vote(fx);
                }
            }
            Message::Locked { ballot, fence } => {
                self.fence = self.fence.max(fence);
                self.on_locked(from, ballot, fx);
            }
            Message::Failed { request } => {
                if let Some(quorum_request) = self.waiting_request(request) {
                    quorum_request.on_failed(from);
                    self.relinquish(fx);
                }
            }
            Message::Inquire { ballot } => {
                if let Some(quorum_request) = self.waiting_request(ballot.request) {
                    quorum_request.on_inquire(from, ballot.number);
                    self.relinquish(fx);
                }
            }
        }
    }
}

/// Requesting role: collects votes.
impl Maekawa {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process may request only when idle");
        let request = Timestamp { clock: self.clock.tick(), process: self.group.me() };
        self.phase = Phase::Waiting(QuorumRequest::new(request, &self.quorum));
        for voter in &self.quorum.clone() {
            self.send(voter, Message::Request { stamp: request }, fx);
        }
    }

    fn on_locked(&mut self, from: ProcessId, ballot: NumberedRequest, fx: &mut impl Effects<Self>) {
        if let Some(quorum_request) = self.waiting_request(ballot.request) {
            quorum_request.on_locked(from, ballot.number);
            self.enter_if_voted(fx);
        } else if !self.is_inside_by(ballot.request) {
            // The request has ended: return the vote, or others would wait for it.
            self.send(from, Message::Release { ballot, fence: self.fence }, fx);
        }
    }

    fn enter_if_voted(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting(quorum_request) = &self.phase
            && let Some(votes) = quorum_request.all_votes()
        {
            self.phase = Phase::Inside { request: quorum_request.request, votes };
            self.fence += 1;
            fx.emit(Event::Entered { fence: Fence(0, self.fence) });
        }
    }

    fn relinquish(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting(quorum_request) = &mut self.phase else { return };
        for (voter, ballot) in quorum_request.relinquish_inquired_votes() {
            self.send(voter, Message::Relinquish { ballot }, fx);
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Inside { votes, .. } = core::mem::replace(&mut self.phase, Phase::Idle) else {
            panic!("only a process inside may exit");
        };
        fx.emit(Event::Exited);
        for (voter, ballot) in votes {
            self.send(voter, Message::Release { ballot, fence: self.fence }, fx);
        }
    }

    fn waiting_request(&mut self, request: Timestamp) -> Option<&mut QuorumRequest> {
        match &mut self.phase {
            Phase::Waiting(waiting) if waiting.request == request => Some(waiting),
            _ => None,
        }
    }

    fn is_inside_by(&self, request: Timestamp) -> bool {
        matches!(&self.phase, Phase::Inside { request: ours, .. } if *ours == request)
    }

    /// Sends a message, or handles it directly if this process is the receiver.
    fn send(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.group.me() {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

/// Voting role: gives the vote to the smallest request.
impl Maekawa {
    fn on_request(&mut self, request: Timestamp, fx: &mut impl Effects<Self>) {
        self.clock.observe(request.clock);
        let arrival = self.voter.on_request(request);
        match arrival {
            RequestOutcome::Voted(ballot) => self.lock(ballot, fx),
            _ if self.variants.has(VariantId::Basic) => {}
            RequestOutcome::Displaces(_) if self.variants.has(VariantId::Original1985) => {}
            RequestOutcome::Behind => self.fail(request, fx),
            RequestOutcome::Displaces(displaced) => self.fail(displaced.request, fx),
            RequestOutcome::PrecedesHolder(holder) => {
                self.send(holder.request.process, Message::Inquire { ballot: holder }, fx);
            }
            RequestOutcome::Known => {}
        }
    }

    /// Gives the vote to the smallest waiting request. If no request waits, the vote becomes free.
    fn vote(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(ballot) = self.voter.vote_for_next() {
            self.lock(ballot, fx);
        }
    }

    fn lock(&mut self, ballot: NumberedRequest, fx: &mut impl Effects<Self>) {
        self.send(ballot.request.process, Message::Locked { ballot, fence: self.fence }, fx);
    }

    fn fail(&mut self, request: Timestamp, fx: &mut impl Effects<Self>) {
        self.send(request.process, Message::Failed { request }, fx);
    }
}

/// Operations for algorithms that change the quorum of a process.
impl Maekawa {
    pub(super) fn quorum(&self) -> &ProcessSet {
        &self.quorum
    }

    /// Sets the quorum that later requests use.
    pub(super) fn set_quorum(&mut self, quorum: ProcessSet) {
        self.quorum = quorum;
    }

    /// Abandons the waiting request without informing the voters. Returns true if a request was
    /// waiting.
    pub(super) fn abandon_waiting_request(&mut self) -> bool {
        let waiting = matches!(self.phase, Phase::Waiting(_));
        if waiting {
            self.phase = Phase::Idle;
        }
        waiting
    }

    pub(super) fn has_voted_for(&self, process: ProcessId) -> bool {
        self.voter.holder() == Some(process)
    }

    /// Removes the waiting request of a process. If this voter has already voted for the process,
    /// the vote stays with the process.
    pub(super) fn remove_waiting_request(&mut self, process: ProcessId) {
        self.voter.remove_waiting_request(process);
    }

    /// Withdraws all requests of a process. If this voter has voted for one of these requests, it
    /// gives the vote to the next waiting request, if any.
    pub(super) fn withdraw_requests_of(&mut self, process: ProcessId, fx: &mut impl Effects<Self>) {
        self.remove_waiting_request(process);
        if self.has_voted_for(process) {
            self.vote(fx);
        }
    }
}

impl Algorithm for Maekawa {
    fn card(config: &Config, size: u32) -> Card {
        let others = |process| u64::from(config.quorums.quorum(ProcessId(process)).len() - 1);
        let (min_voters, max_voters) = ((0..size).map(others).min(), (0..size).map(others).max());
        Card {
            strategy: AlgorithmClass::Quorum,
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::duplication_only(
                "needs every vote of a fixed quorum: no crash in one that is used, no loss",
            ),
            messages: MessageCost::per_entry(
                "3(K−1) … 6(K−1)",
                3 * min_voters.unwrap_or(0),
                max_voters.map(|max_voters| 6 * max_voters),
            ),
            theory: Some(ExpectedCosts::lock(["2", "not known", "no"], HopRange::TWO)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "maekawa",
                "each process has one vote, and entering needs the votes of a whole quorum",
                "Maekawa, ACM TOCS 3(2), 1985; Sanders, ACM TOCS 5(3), 1987",
            )
        }
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let precision = match workload {
            WorkloadKind::OneAtATime => PredictionKind::Mean,
            WorkloadKind::AllEquallyOften => PredictionKind::Least,
            _ => return None,
        };
        let others = |process| u64::from(config.quorums.quorum(ProcessId(process)).len() - 1);
        Some(Prediction::fraction(precision, 3 * (0..size).map(others).sum::<u64>(), size.into()))
    }
}
