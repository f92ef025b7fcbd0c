//! Centralised mutual exclusion: a coordinator grants entries.
//!
//! Textbooks present this solution first. It has no paper of its own. Garcia-Molina (*Elections in
//! a distributed computing system*, IEEE ToC 1982) mentions such a coordinator as an example of a
//! process that must be elected.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a coordinator that never crashes |
//! | messages per entry | 3; none for the coordinator's own |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 2 messages |
//!
//! **Why it is right.** Only the coordinator grants. It grants again only after the holder has
//! released the latest grant. Every process numbers its requests, and grants and releases carry
//! this number. So a late duplicate of a grant or release is recognised: it has the number of a
//! request that has ended. The queue is first come, first served, so only finitely many requests
//! precede a request that has arrived.
//!
//! A late duplicate of a request that has ended may be granted again. An idle process releases such
//! a grant immediately. Otherwise all other processes would wait for the release forever. A process
//! that waits ignores the grant: the coordinator withdraws it when the new request of the process
//! arrives. If the process released the grant, the release could overtake the new request. A later
//! request of another process could then be granted first.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Fence, Group, MessageCost, Never, ProcessId,
    ProcessKnowledge, Property, Protocol, ToleratedFaults, Topology, labelled,
};

use super::{Claim, GrantQueue, RequestId};
use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// One process: a client of the coordinator. One of the processes is also the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Central {
    me: ProcessId,
    coordinator: ProcessId,
    variants: Variants<VariantId>,
    /// Number of requests that this process has made.
    requests: u64,
    phase: Phase,
    /// Grants and waiting requests; used only at the coordinator.
    grants: GrantQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry to the critical section.
    Request {
        /// Number of the request, from 1 at each process.
        number: u64,
    },
    /// Grants entry to the critical section.
    Grant {
        /// Number of the granted request.
        number: u64,
        /// Fence of the entry to the critical section.
        fence: Fence,
    },
    /// Returns a grant. The sender has left the critical section, or the grant belongs to a request
    /// that has already ended.
    Release {
        /// Number of the granted request.
        number: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Release => "release");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Process that grants entries. It must be in the group.
    pub coordinator: ProcessId,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Default for Config {
    fn default() -> Self {
        Config { coordinator: ProcessId(0), variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(Config { coordinator: parameters.coordinator, variants: parameters.variants()? })
    }
}

variant_ids! {
    UntaggedGrant = "untagged-grant", unsound,
        "a waiting process takes any grant, even one of an earlier request"
        => "7-C3", "-n 3 --entries 0,2,2 --duplicate 1 --property mutual-exclusion";
}

impl Protocol for Central {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        assert!(group.contains(config.coordinator), "the coordinator must be in the group");
        Central {
            me: group.me(),
            coordinator: config.coordinator,
            variants: config.variants,
            requests: 0,
            phase: Phase::Idle,
            grants: GrantQueue::default(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                assert!(self.phase == Phase::Idle, "a process may request only when idle");
                self.requests += 1;
                self.phase = Phase::Waiting;
                self.send_to_coordinator(Message::Request { number: self.requests }, fx);
            }
            Command::Exit => {
                assert!(self.phase == Phase::Inside, "only a process inside may exit");
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                self.send_to_coordinator(Message::Release { number: self.requests }, fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { number } => {
                self.grants.enqueue(claim(from, number));
                self.grant_next(fx);
            }
            Message::Release { number } => {
                self.grants.withdraw(claim(from, number));
                self.grant_next(fx);
            }
            Message::Grant { number, fence } => {
                if self.waits_for(number) {
                    self.phase = Phase::Inside;
                    fx.emit(Event::Entered { fence });
                } else if self.phase == Phase::Idle {
                    self.send_to_coordinator(Message::Release { number }, fx);
                }
            }
        }
    }
}

impl Central {
    /// Sends a message to the coordinator, or handles it directly if this process is the
    /// coordinator.
    fn send_to_coordinator(&mut self, message: Message, fx: &mut impl Effects<Self>) {
        if self.coordinator == self.me {
            self.on_message(self.me, message, fx);
        } else {
            fx.send(self.coordinator, message);
        }
    }

    /// As the coordinator, grants the lock to the first waiting claim, if the lock is free.
    fn grant_next(&mut self, fx: &mut impl Effects<Self>) {
        let Some((claim, count)) = self.grants.grant_next() else { return };
        let grant = Message::Grant { number: claim.ticket.number, fence: Fence(0, count) };
        if claim.process == self.me {
            self.on_message(self.me, grant, fx);
        } else {
            fx.send(claim.process, grant);
        }
    }

    fn waits_for(&self, number: u64) -> bool {
        let named = number == self.requests || self.variants.has(VariantId::UntaggedGrant);
        self.phase == Phase::Waiting && named
    }
}

fn claim(process: ProcessId, number: u64) -> Claim {
    Claim { process, ticket: RequestId { boot: 0, number } }
}

impl Algorithm for Central {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Centralised,
            faults: ToleratedFaults::duplication_only(
                "stops when the coordinator or a process that waits or is inside crashes",
            ),
            topology: Topology::Star,
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_entry("3 (0 at the coordinator)", 0, Some(3))
                .zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(
                ["2 (0 at the coordinator)", "no bound", "except for communication between users"],
                HopRange::TWO,
            )),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "central",
                "ask the coordinator",
                "textbook; cf. Garcia-Molina, IEEE ToC 1982",
            )
            .with_promises([Property::FirstComeFirstServed])
        }
    }

    fn predicted_messages(_: &Config, size: u32, workload: WorkloadKind) -> Option<Prediction> {
        let precision = match workload {
            WorkloadKind::OneAtATime => PredictionKind::Mean,
            WorkloadKind::AllEquallyOften => PredictionKind::Exact,
            _ => return None,
        };
        Some(Prediction::fraction(precision, 3 * u64::from(size - 1), size.into()))
    }
}
