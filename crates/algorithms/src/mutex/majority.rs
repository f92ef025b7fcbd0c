//! Maekawa's votes among live processes: a process that suspects a voter asks another quorum.
//!
//! The votes are those of Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*,
//! ACM TOCS 3(2), 1985, with Sanders' correction. The quorums are any majorities, after R. H.
//! Thomas, *A majority consensus approach to concurrency control for multiple copy databases*, ACM
//! TODS 4(2), 1979, or those of D. Agrawal and A. El Abbadi, *An efficient and fault-tolerant
//! solution for distributed mutual exclusion*, ACM TOCS 9(1), 1991. Any other list of quorums that
//! pairwise intersect is also possible.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable first-in-first-out channels, a detector that is never wrong |
//! | messages per entry | 3(K − 1) … 6(K − 1) in a quorum of K; more for each suspicion |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 2 messages |
//!
//! **Why it is right.** Any two quorums share a member, and this member has only one vote. A voter
//! withdraws its vote only from a suspected process, and a crashed process is not inside. A process
//! that suspects one of its voters withdraws its request everywhere, and sends a new request to a
//! quorum without suspected voters. The new request has a new timestamp, so messages of the old
//! request have no effect. Suspicions are finitely many. After the last suspicion every waiting
//! process asks only live voters, and the argument of Maekawa and Sanders holds. If no quorum of
//! unsuspected processes exists, a request waits. With majorities, ⌊(N − 1)/2⌋ processes may crash.
//! With a tree, all processes outside one quorum may crash. For example, a tree of 7 processes
//! tolerates any 2 crashes. It tolerates even 4 crashes if the live processes form a path from the
//! root to a leaf. A grid of 5 processes tolerates no crash of P3, which is in every quorum.
//!
//! A process inside the critical section may crash before any other process learns the fence of its
//! entry. Therefore a voter that withdraws its vote from a suspected process starts a new
//! *generation*. Messages about votes carry the generation. A waiting process that learns of a
//! newer generation starts its request again. So a process that enters has already sent its
//! generation to its whole quorum. The fence consists of the generation and a count. A fence of a
//! newer generation is therefore higher than the fence of the suspected process.
//!
//! If the suspicion was wrong, the suspected process may be inside at the same time as another
//! process. No lock can prevent this. The fence of the suspected process is lower, so the resource
//! rejects it. When a voter trusts the process again, the voter informs the process that its
//! request was forgotten.

use alloc::string::ToString;
use alloc::sync::Arc;

use tenure_core::quorum::{QuorumError, QuorumKind, QuorumSystem};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, CrashModel, DetectorClass, Effects, Fence, Group, Labelled, Layer,
    MessageLabel, Never, PeerVerdict, ProcessId, ProcessSet, Protocol, ToleratedFaults,
    UncomparedConfig,
};

use super::maekawa::{self, Maekawa};
use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// One process. To enter the critical section, it collects the votes of a quorum without suspected
/// voters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FaultTolerantMaekawa {
    group: Group,
    variants: Variants<VariantId>,
    quorums: UncomparedConfig<QuorumSystem>,
    suspected: ProcessSet,
    /// Newest generation of votes that this process knows. A voter starts a new generation when it
    /// withdraws its vote from a suspected process. If this process waits, its request belongs to
    /// this generation.
    generation: u64,
    votes: Maekawa,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of Maekawa's algorithm.
    Vote {
        /// Newest generation known to the sender.
        generation: u64,
        /// The wrapped message.
        message: maekawa::Message,
    },
    /// Withdraws the request of the sender. The sender then makes a new request, to the same quorum
    /// or to another one.
    Withdraw,
    /// Tells the receiver that the sender has forgotten the receiver's requests. The sender had
    /// suspected the receiver, and trusts it again.
    Forgotten,
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        let kind = match self {
            Message::Vote { message, .. } => return message.label(),
            Message::Withdraw => "withdraw",
            Message::Forgotten => "forgotten",
        };
        MessageLabel { layer: Layer::Mutex, kind }
    }
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The quorums. While a process suspects no voter, it uses its own quorum of this system.
    pub quorums: Arc<QuorumSystem>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration for a group of `size` processes, with quorums of the kind `kind`.
    ///
    /// # Errors
    ///
    /// Returns an error if no quorums of that kind exist for this size.
    pub fn with_quorum_kind(kind: QuorumKind, size: u32) -> Result<Self, QuorumError> {
        Ok(Config {
            quorums: Arc::new(QuorumSystem::from_kind(kind, size)?),
            variants: Variants::none(),
        })
    }

    fn votes_config(&self) -> maekawa::Config {
        maekawa::Config { quorums: self.quorums.clone(), variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let quorums = parameters.quorums(QuorumKind::Majority)?;
        Ok(Config { quorums, variants: parameters.variants()? })
    }
}

variant_ids! {
    LeftOut = "left-out", unsound,
        "a suspected voter is left out without a substitute, so quorums need not intersect"
        => "", "-n 3 --quorums tree --crash 1";
    OneGeneration = "one-generation", unsound,
        "withdrawing a vote starts no generation, so the unpublished fence of a crashed holder is \
         reused"
        => "", "-n 3 --crash 1";
}

impl Protocol for FaultTolerantMaekawa {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        FaultTolerantMaekawa {
            group,
            variants: config.variants,
            quorums: UncomparedConfig::from(Arc::clone(&config.quorums)),
            suspected: ProcessSet::new(),
            generation: 0,
            votes: Maekawa::boot(group, &config.votes_config(), None, &mut vote_effects(0, fx)),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        self.votes.on_command(command, &mut vote_effects(self.generation, fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Vote { generation, message } => {
                if generation > self.generation {
                    self.generation = generation;
                    self.restart_request(fx);
                }
                // Ignores a request of a suspected process: a crashed process would never return
                // the vote.
                let is_request = matches!(message, maekawa::Message::Request { .. });
                if !(is_request && self.suspected.contains(from)) {
                    self.votes.on_message(from, message, &mut vote_effects(self.generation, fx));
                }
            }
            Message::Withdraw => {
                self.votes.withdraw_requests_of(from, &mut vote_effects(self.generation, fx))
            }
            Message::Forgotten => {
                if self.votes.quorum().contains(from) {
                    self.restart_request(fx);
                }
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                // Remove the requests of the suspected process before this process withdraws its
                // own. Otherwise the suspected process could get the vote that is returned.
                self.votes.remove_waiting_request(peer);
                let withdraws_vote = self.votes.has_voted_for(peer);
                if withdraws_vote && !self.variants.has(VariantId::OneGeneration) {
                    self.generation += 1;
                }
                if withdraws_vote || self.can_change_quorum() {
                    self.restart_request(fx);
                }
                // Take the vote back only after this process has restarted its own request.
                // Otherwise the vote could complete a request of an older generation.
                self.votes.withdraw_requests_of(peer, &mut vote_effects(self.generation, fx));
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                fx.send(peer, Message::Forgotten);
                if self.can_change_quorum() {
                    self.restart_request(fx);
                }
            }
        }
    }
}

impl FaultTolerantMaekawa {
    /// Returns true if a voter of the present quorum is suspected, and a quorum without suspected
    /// voters is available.
    fn can_change_quorum(&self) -> bool {
        self.votes.quorum().intersects(&self.suspected) && self.unsuspected_quorum().is_some()
    }

    fn unsuspected_quorum(&self) -> Option<ProcessSet> {
        if self.variants.has(VariantId::LeftOut) {
            let quorum = self.votes.quorum().iter();
            return Some(quorum.filter(|voter| !self.suspected.contains(*voter)).collect());
        }
        self.quorums.quorum_avoiding(self.group.me(), &self.suspected)
    }

    /// Selects a quorum without suspected voters for the next request. If there is none, keeps the
    /// present quorum. If this process waits, it also withdraws its request and makes a new one.
    fn restart_request(&mut self, fx: &mut impl Effects<Self>) {
        let (me, voters) = (self.group.me(), self.votes.quorum().clone());
        let waiting = self.votes.abandon_waiting_request();
        if let Some(quorum) = self.unsuspected_quorum() {
            self.votes.set_quorum(quorum);
        }
        if !waiting {
            return;
        }
        for voter in voters.iter().filter(|voter| *voter != me) {
            fx.send(voter, Message::Withdraw);
        }
        let fx = &mut vote_effects(self.generation, fx);
        self.votes.withdraw_requests_of(me, fx);
        self.votes.on_command(Command::Enter, fx);
    }
}

fn vote_effects(
    generation: u64,
    fx: &mut impl Effects<FaultTolerantMaekawa>,
) -> impl Effects<Maekawa> {
    fx.child_effects(
        move |message| Message::Vote { generation, message },
        |timer| timer,
        move |event| match event {
            Event::Entered { fence } => Some(Event::Entered { fence: Fence(generation, fence.1) }),
            Event::Exited => Some(Event::Exited),
        },
    )
}

fn faults(quorums: &QuorumSystem) -> ToleratedFaults {
    let description = "survives as long as a quorum is up: ⌊(N−1)/2⌋ crashes with majorities; \
                       after a wrong suspicion two may be inside, with different fences";
    let none = ToleratedFaults::none(description);
    match quorums.kind() {
        Some(QuorumKind::Majority) => {
            ToleratedFaults { crashes: CrashModel::Stop, ..none.requiring_majority() }
        }
        _ => none.with_crashes(quorums.tolerated_crashes()),
    }
}

impl Algorithm for FaultTolerantMaekawa {
    fn card(config: &Config, size: u32) -> Card {
        Card {
            name: "majority".to_string(),
            title: "the votes of a quorum, and of another one when a voter is suspected"
                .to_string(),
            paper: "after Thomas, ACM TODS 4(2), 1979; Agrawal and El Abbadi, ACM TOCS 9(1), 1991",
            faults: faults(&config.quorums),
            detection: DetectorClass::Perfect,
            variants: Variants::<VariantId>::declarations(),
            ..Maekawa::card(&config.votes_config(), size)
        }
    }

    /// Returns the number of the newest generation known to this process. Generations are the terms
    /// of this algorithm.
    fn highest_term(&self) -> u64 {
        self.generation
    }
}
