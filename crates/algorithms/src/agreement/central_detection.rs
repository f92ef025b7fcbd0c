//! Central deadlock detection: a coordinator collects tables from all processes, searches the
//! wait-for graph for cycles, and aborts one process of each cycle.
//!
//! G. S. Ho, C. V. Ramamoorthy, *Protocols for deadlock detection in distributed database systems*,
//! IEEE Transactions on Software Engineering SE-8(6), 1982: the one-phase protocol, and as a
//! variant the two-phase protocol.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per acquisition | 3; none if the process itself manages the resource |
//! | messages per collection | 2(N − 1), and 1 by which a manager reports a waiting process |
//! | delay from the last request of a cycle to the abort | 5 messages |
//!
//! Every resource has a manager, which grants the resource to one process at a time. A process
//! requests one resource after the other. It may release its resources at any time at which it does
//! not wait. So the wait-for graph changes while the coordinator collects it. A graph of outdated
//! edges may show a cycle that never existed: a *phantom* deadlock. The variants `reports` and
//! `first-phase` find such phantoms. The one-phase protocol collects two tables of each process:
//! its own status, and the status of the resources that it manages. The coordinator accepts an edge
//! only if tables of both kinds show it: the waiting process reports its wait, the holder reports
//! that it holds the resource, and the manager reports both.
//!
//! **Why there are no phantoms.** Requests have numbers, so equal entries of two tables describe
//! one request. Assume that the coordinator finds a cycle, and that some wait of the cycle ends
//! with a grant, although no process is aborted. Let *p* be the process of the cycle whose wait
//! ends first. Let *q* be the process that held the resource for which *p* waited. The table of *q*
//! shows that *q* holds the resource, so *q* released the resource after sending the table. The
//! table also shows that *q* waits, and a waiting process releases nothing. So the wait of *q*
//! ended before the wait of *p*: a contradiction. Hence the cycle is a deadlock that only an abort
//! ends. Until the abort, every collection chooses the same victim and the same request of the
//! victim, so only one process is aborted.
//!
//! **Why every deadlock is found.** The last edge of a cycle appears when a manager queues a
//! request. The manager then informs the coordinator, which begins another collection. The edges of
//! a deadlock do not end, so all tables of this collection show them.
//!
//! **Why no process is aborted again and again.** A process completes a *round* when it has
//! released all its resources. The victim is the process of the cycle that has completed the most
//! rounds. Among several such processes, the victim is the one with the largest id. So the process
//! that has completed the fewest rounds of all is never a victim. If there are several such
//! processes, this holds for the one with the smallest id. When a victim requests its resources
//! again, it queues behind all waiting processes. So the process with the fewest rounds completes
//! its round, and then another process has the fewest.
//!
//! The two-phase protocol (`two-phase`) collects the status of the processes twice, but not the
//! status of the resources. It uses the edges that occur in both collections. Between the
//! collections, a process may end a wait and then wait for the same resource again. So both
//! collections may show the same phantom. The variant `double-collection` also compares the numbers
//! of the requests, which differ for the two waits. But this variant also finds a cycle while a
//! request of the cycle is in flight. The victim may acquire its resources again before this
//! request arrives, and then it is aborted again.
//!
//! The paper's coordinator collects tables periodically. Here it collects them when a process is
//! blocked, so that finite runs have finitely many collections. The arguments above hold for any
//! order of messages. But with FIFO channels (`--channel fifo`), a model checker visits fewer
//! states: 1,480 instead of 329,000 for two processes.

mod coordinator;
mod grants;
mod message;
mod wait_for_graph;

use alloc::collections::BTreeMap;

use tenure_core::service::resources::{Command, Event, Resource};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Group, MessageCost, Never, ProcessId, Property,
    Protocol, Service, ToleratedFaults,
};

use self::coordinator::StatusCollection;
use self::grants::ManagedResources;
pub use self::message::{
    Message, ProcessStatus, ResourceRequest, ResourceRequestId, ResourceStatus, StatusTables,
};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// One process. It uses resources, manages some of the resources, and may be the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CentralDeadlockDetection {
    group: Group,
    coordinator: ProcessId,
    variants: Variants<VariantId>,
    /// Number of requests that this process has made. The last request has this number.
    requests: u64,
    /// Resources that this process holds, with the numbers of their requests.
    held: BTreeMap<Resource, u64>,
    /// Request for which this process waits; `None` if it does not wait.
    awaited: Option<ResourceRequest>,
    /// Number of rounds that this process has completed. A round ends when the process has released
    /// all its resources.
    completed: u64,
    /// Resources that this process manages.
    grants: ManagedResources,
    /// Number of reports that this process has sent. Only the variant `reports` sends reports.
    reports: u64,
    /// State of this process in the role of the coordinator. Other processes do not use this field.
    collection: StatusCollection,
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Process that collects the tables and detects deadlocks.
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
    Reports = "reports", unsound,
        "managers report each change of their tables, and the coordinator searches the last \
         reports: a late report shows a phantom deadlock"
        => "", "-n 3 --entries 1,1,0 --channel fifo --property no-phantom";
    FirstPhase = "first-phase", unsound,
        "a cycle in the process tables of one collection is a deadlock"
        => "", "-n 2 --property no-phantom";
    TwoPhase = "two-phase", unsound,
        "the two-phase protocol: a cycle in the process tables of two collections is a deadlock, \
         though each may show other requests"
        => "", "-n 2 --property no-phantom";
    DoubleCollection = "double-collection", sound,
        "the two-phase protocol with numbers: both collections must show the same requests";
    NoDetection = "no-detection", unsound,
        "the coordinator is not informed of waiting processes, and a deadlock persists"
        => "", "-n 2 --property progress";
    AllVictims = "all-victims", unsound,
        "all processes of a cycle are aborted, although one would do"
        => "", "-n 2 --property no-phantom";
    UnnumberedRelease = "unnumbered-release", unsound,
        "a release ends any grant of its sender, and a late one ends the next grant"
        => "", "-n 2 --entries 2,1 --property one-holder";
}

impl Protocol for CentralDeadlockDetection {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        assert!(group.contains(config.coordinator), "the coordinator must be in the group");
        CentralDeadlockDetection {
            group,
            coordinator: config.coordinator,
            variants: config.variants,
            requests: 0,
            held: BTreeMap::new(),
            awaited: None,
            completed: 0,
            grants: ManagedResources::default(),
            reports: 0,
            collection: StatusCollection::default(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        assert!(self.awaited.is_none(), "a waiting process issues no command");
        match command {
            Command::Acquire { resource } => {
                assert!(!self.held.contains_key(&resource), "a process requests no held resource");
                self.requests += 1;
                let of = ResourceRequest { resource, number: self.requests };
                self.awaited = Some(of);
                self.send(self.manager(resource), Message::Request { of }, fx);
            }
            Command::Release { resource } => {
                fx.emit(Event::Released { resource });
                if let Some(number) = self.held.remove(&resource) {
                    self.completed += u64::from(self.held.is_empty());
                    self.release(ResourceRequest { resource, number }, fx);
                }
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let claim = |of: ResourceRequest| ResourceRequestId { process: from, number: of.number };
        match message {
            Message::Request { of } => self.on_request(of.resource, claim(of), fx),
            Message::Release { of } => self.on_release(of.resource, claim(of), fx),
            Message::Grant { of } => self.on_grant(of, fx),
            Message::Blocked => {
                if self.collection.lacking.is_empty() {
                    self.start_detection(fx);
                } else {
                    self.collection.is_outdated = true;
                }
            }
            Message::Collect { number } => {
                self.send(from, Message::Status { number, tables: self.tables() }, fx);
            }
            Message::Status { number, tables } => self.on_status(from, number, tables, fx),
            Message::Abort { number } => {
                if self.awaited.is_some_and(|awaited| awaited.number == number) {
                    self.abort(fx);
                }
            }
        }
    }
}

/// Role of a user: this process requests resources, one at a time.
impl CentralDeadlockDetection {
    fn manager(&self, resource: Resource) -> ProcessId {
        let index = resource.0.saturating_sub(1) % u64::from(self.group.size());
        ProcessId(u32::try_from(index).expect("the remainder is below the group size"))
    }

    fn release(&mut self, of: ResourceRequest, fx: &mut impl Effects<Self>) {
        self.send(self.manager(of.resource), Message::Release { of }, fx);
    }

    fn on_grant(&mut self, of: ResourceRequest, fx: &mut impl Effects<Self>) {
        if self.awaited == Some(of) {
            self.awaited = None;
            self.held.insert(of.resource, of.number);
            fx.emit(Event::Acquired { resource: of.resource });
        } else if self.held.get(&of.resource) != Some(&of.number) {
            // Returns the resource, because the grant answers a duplicate or a withdrawn request.
            self.release(of, fx);
        }
    }

    /// Releases all resources and withdraws the request, because the coordinator has chosen this
    /// process as the victim of a deadlock.
    fn abort(&mut self, fx: &mut impl Effects<Self>) {
        fx.emit(Event::Aborted);
        let held = core::mem::take(&mut self.held).into_iter();
        let held = held.map(|(resource, number)| ResourceRequest { resource, number });
        for of in held.chain(self.awaited.take()) {
            self.release(of, fx);
        }
    }

    fn tables(&self) -> StatusTables {
        let held = self.held.iter();
        let held =
            held.map(|(resource, number)| ResourceRequest { resource: *resource, number: *number });
        let (held, awaited, completed) = (held.collect(), self.awaited, self.completed);
        let process = ProcessStatus { held, awaited, completed };
        StatusTables { process, resources: self.grants.resource_statuses() }
    }
}

/// Role of a manager: this process grants resources. If a process waits for a resource, this
/// process informs the coordinator.
impl CentralDeadlockDetection {
    fn on_request(
        &mut self,
        resource: Resource,
        claim: ResourceRequestId,
        fx: &mut impl Effects<Self>,
    ) {
        let had_waiting = self.has_waiting(resource);
        let next = self.grants.grant_or_queue(resource, claim);
        self.grant(resource, next, fx);
        if self.variants.has(VariantId::Reports) {
            self.report(had_waiting || self.has_waiting(resource), fx);
        } else if !self.variants.has(VariantId::NoDetection)
            && self.grants.waiting_claims(resource).any(|other| other == claim)
        {
            self.send(self.coordinator, Message::Blocked, fx);
        }
    }

    fn on_release(
        &mut self,
        resource: Resource,
        claim: ResourceRequestId,
        fx: &mut impl Effects<Self>,
    ) {
        let had_waiting = self.has_waiting(resource);
        let granted = self.grants.held_claim_of_process(resource, claim);
        let ended = granted.filter(|_| self.variants.has(VariantId::UnnumberedRelease));
        let next = self.grants.release_and_grant_next(resource, ended.unwrap_or(claim));
        self.grant(resource, next, fx);
        if self.variants.has(VariantId::Reports) {
            self.report(had_waiting, fx);
        }
    }

    fn has_waiting(&self, resource: Resource) -> bool {
        self.grants.waiting_claims(resource).next().is_some()
    }

    fn grant(
        &mut self,
        resource: Resource,
        next: Option<ResourceRequestId>,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(ResourceRequestId { process, number }) = next {
            self.send(process, Message::Grant { of: ResourceRequest { resource, number } }, fx);
        }
    }

    fn report(&mut self, is_changed: bool, fx: &mut impl Effects<Self>) {
        if is_changed {
            self.reports += 1;
            let (number, tables) = (self.reports, self.tables());
            self.send(self.coordinator, Message::Status { number, tables }, fx);
        }
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

impl Algorithm for CentralDeadlockDetection {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Centralised,
            faults: ToleratedFaults::duplication_only(
                "stops when a process crashes or a message is lost",
            ),
            messages: MessageCost::per_agreement("3 (0 at the manager), 2N−1 if blocked", 0, None)
                .zero_if_alone(size),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Resources,
                "central-detection",
                "a coordinator finds deadlocks in the tables of all processes, and aborts a victim",
                "Ho and Ramamoorthy, IEEE TSE SE-8(6), 1982",
            )
            .with_promises([Property::OneHolder, Property::NoPhantomDeadlock])
        }
    }
}
