//! Locks acquired one after the other, with deadlock detection by edge chasing.
//!
//! K. M. Chandy, J. Misra, L. M. Haas, *Distributed deadlock detection*, ACM TOCS 1(2), 1983: the
//! algorithm for the resource model, in which a process needs all resources that it waits for.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 6 without contention, 3 for a manager; more with every retry |
//! | delay to enter, uncontended | 4 messages, 2 for a manager |
//! | delay from exit to the next entry | 2 to 4 messages; more after a deadlock |
//!
//! There are three locks. Each of the first three processes manages one of them. (A group of two
//! has two locks, and a group of one has one.) A process needs two locks to enter: process *i*,
//! counted from 0, first acquires lock *i* modulo 3, and then the next lock in cyclic order. So all
//! processes may hold one lock and wait for the next: a deadlock. When a process waits for its
//! second lock, the manager of this lock tells the process which process holds the lock. This wait
//! is an edge of the wait-for graph. The waiting process sends a probe along each new edge, and
//! other waiting processes forward the probe. A probe that returns to its initiator has found a
//! cycle, and names the victim. The victim is the process of the cycle that has entered the
//! critical section most often. Among several such processes, it is the process with the largest
//! id. The victim releases its locks and tries again.
//!
//! **Why it is right.** Any two processes have at least one lock in common, and this lock is
//! granted to one of them at a time. The manager of a lock gives each grant a number greater than
//! all grant numbers that the processes had seen when they sent their requests. In a cycle, one
//! process is the last to learn which process it waits for. The probe of this process returns,
//! because the other processes already know their edges. An edge ends only when the attempt of the
//! holder or of the waiting process ends. So a probe that returns has found an existing cycle, or a
//! cycle whose victim has already given up. All probes around a cycle name the same attempt of the
//! same victim, so only one attempt is abandoned.
//!
//! **Why no process retries forever.** The rule for the victim orders the processes by their number
//! of entries, and then by id. The victim is the largest process of the cycle. The order does not
//! change while processes wait, and the least waiting process is never a victim. A process that
//! releases a lock and requests it again queues behind all waiting processes. So the least process
//! gets its first lock, keeps it, and then gets its second lock. Each entry makes a process larger
//! in the order. So every waiting process becomes the least after finitely many entries of others.

mod message;

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Fence, Group, MessageCost, Never, ProcessId,
    Protocol, ToleratedFaults,
};

pub use self::message::{Attempt, Message, ProbeId, VictimCandidate};
use super::{Claim, GrantQueue, RequestId};
use crate::Variants;
use crate::variants::variant_ids;

/// One process: a client that acquires locks. Each of the first three processes is also the manager
/// of one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EdgeChasing {
    group: Group,
    variants: Variants<VariantId>,
    phase: Phase,
    /// Number of attempts of this process to enter so far. It is also the number of the current or
    /// last attempt.
    attempts: u64,
    /// Number of times that this process has entered the critical section.
    entries: u64,
    /// Number of probes that this process has initiated.
    probes: u64,
    /// Largest grant number that this process has seen. When the process enters the critical
    /// section, this number is the fence of the entry.
    fence: u64,
    /// Grants and waiting requests of the lock that this process manages. Unused if it manages
    /// none.
    grants: GrantQueue,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// Number of locks that the process holds. It waits for the next lock.
        held: usize,
        /// Edge of the wait-for graph: it leads from this process to the attempt that holds the
        /// awaited lock. `None` until the manager of the lock has reported the holder.
        edge: Option<Edge>,
    },
    Inside,
}

/// An edge of the wait-for graph. The edge starts at this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Edge {
    /// Attempt that holds the awaited lock.
    to: Attempt,
    /// Number of the grant that gave the lock to `to`.
    count: u64,
    /// Initiators whose probes this process has forwarded along this edge (`dependent` in the
    /// paper).
    dependents: BTreeSet<ProbeId>,
}

/// Configuration of one process: the variants that are switched on.
pub type Config = Variants<VariantId>;

variant_ids! {
    NoDetection = "no-detection", unsound,
        "waiters are not informed of the holder, and a deadlock persists"
        => "I-31", "-n 2";
    Ordered = "ordered", sound,
        "every process acquires the lower lock first: there are no cycles, and none are searched \
         for";
    UnnumberedAbort = "unnumbered-abort", sound,
        "a late abort hits the next attempt: a phantom deadlock costs another retry";
    CountsAlone = "counts-alone", unsound,
        "a manager counts only its own grants, regardless of larger counts seen by its requesters"
        => "", "-n 3 --entries 2,1,1 --property fencing";
    Talkative = "talkative", unsound,
        "with `ordered`: waiters are informed of the holder although no cycle is searched for: \
         correct but expensive"
        => "", "-n 5 --variant ordered,talkative --entries 0,0,0,1,1 --property cost";
}

impl Protocol for EdgeChasing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let (variants, grants) = (*config, GrantQueue::default());
        let (attempts, entries, probes, fence) = (0, 0, 0, 0);
        EdgeChasing {
            group,
            variants,
            phase: Phase::Idle,
            attempts,
            entries,
            probes,
            fence,
            grants,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                assert!(self.phase == Phase::Idle, "a process may request only when idle");
                self.attempt(fx);
            }
            Command::Exit => {
                assert!(self.phase == Phase::Inside, "only a process inside may exit");
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                self.release_all(fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { number, fence } => {
                self.raise_grant_count(fence);
                self.grants.enqueue(claim(from, number));
                if !self.grant_next(fx) {
                    self.report_holder(claim(from, number), fx);
                }
            }
            Message::Release { number, fence } => {
                self.raise_grant_count(fence);
                self.grants.withdraw(claim(from, number));
                self.grant_next(fx);
            }
            Message::Grant { number, count } => self.on_grant(from, number, count, fx),
            Message::Wait { number, holder, count } => self.on_wait(number, holder, count, fx),
            Message::Probe { initiator, number, victim } => {
                if number == self.attempts {
                    self.on_probe(initiator, victim, fx);
                }
            }
            Message::Abort { number } => {
                if number == self.attempts || self.variants.has(VariantId::UnnumberedAbort) {
                    self.abort(fx);
                }
            }
        }
    }
}

/// Client role: acquires the locks one after the other.
impl EdgeChasing {
    /// Returns the managers of the locks that a process needs, in the order in which it acquires
    /// them.
    fn locks(&self, process: ProcessId) -> Vec<ProcessId> {
        let managers = self.group.size().min(3);
        let mut locks = vec![process.0 % managers, (process.0 + 1) % managers];
        if self.variants.has(VariantId::Ordered) {
            locks.sort_unstable();
        }
        locks.dedup();
        locks.into_iter().map(ProcessId).collect()
    }

    /// Returns the number of attempts of this process to enter the critical section.
    pub fn attempt_count(&self) -> u64 {
        self.attempts
    }

    fn attempt(&mut self, fx: &mut impl Effects<Self>) {
        self.attempts += 1;
        self.phase = Phase::Waiting { held: 0, edge: None };
        self.request(self.locks(self.group.me())[0], fx);
    }

    fn request(&mut self, lock: ProcessId, fx: &mut impl Effects<Self>) {
        self.send(lock, Message::Request { number: self.attempts, fence: self.fence }, fx);
    }

    fn on_grant(&mut self, from: ProcessId, number: u64, count: u64, fx: &mut impl Effects<Self>) {
        self.fence = self.fence.max(count);
        if number != self.attempts || self.phase == Phase::Idle {
            // The grant answers a duplicate of an old request, or an abandoned attempt. So the lock
            // is released.
            return self.send(from, Message::Release { number, fence: self.fence }, fx);
        }
        let locks = self.locks(self.group.me());
        let Phase::Waiting { held, .. } = self.phase else { return };
        if from != locks[held] {
            // Ignores a duplicate of an earlier grant.
        } else if let Some(next) = locks.get(held + 1) {
            self.phase = Phase::Waiting { held: held + 1, edge: None };
            self.request(*next, fx);
        } else {
            self.phase = Phase::Inside;
            self.entries += 1;
            fx.emit(Event::Entered { fence: Fence(0, self.fence) });
        }
    }

    fn release_all(&mut self, fx: &mut impl Effects<Self>) {
        for lock in self.locks(self.group.me()) {
            self.send(lock, Message::Release { number: self.attempts, fence: self.fence }, fx);
        }
    }
}

/// Deadlock detection: sends probes along the edges of the wait-for graph.
impl EdgeChasing {
    fn on_wait(&mut self, number: u64, to: Attempt, count: u64, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { edge, .. } = &mut self.phase else { return };
        let is_new = edge.as_ref().is_none_or(|known| known.count < count);
        if number == self.attempts && is_new {
            *edge = Some(Edge { to, count, dependents: BTreeSet::new() });
            self.probes += 1;
            let (initiator, victim) = ((self.group.me(), self.probes), self.candidate());
            self.send(to.process, Message::Probe { initiator, number: to.number, victim }, fx);
        }
    }

    fn on_probe(
        &mut self,
        initiator: ProbeId,
        victim: VictimCandidate,
        fx: &mut impl Effects<Self>,
    ) {
        let ours = (self.group.me(), self.probes);
        let Phase::Waiting { edge: Some(edge), .. } = &mut self.phase else { return };
        if initiator == ours {
            let Attempt { process, number } = victim.1;
            self.send(process, Message::Abort { number }, fx);
        } else if edge.dependents.insert(initiator) {
            let (Attempt { process, number }, victim) = (edge.to, victim.max(self.candidate()));
            self.send(process, Message::Probe { initiator, number, victim }, fx);
        }
    }

    fn candidate(&self) -> VictimCandidate {
        (self.entries, Attempt { process: self.group.me(), number: self.attempts })
    }

    /// Abandons the attempt and starts a new one, because this process is the victim of a cycle.
    /// Does nothing unless this process holds a lock and waits for the next one.
    fn abort(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { held: 1.., .. } = self.phase {
            self.release_all(fx);
            self.attempt(fx);
        }
    }
}

/// Manager role: grants the lock, and informs waiting processes of the holder of the lock.
impl EdgeChasing {
    /// Ensures that the number of the next grant is larger than `fence`, the largest grant number
    /// that the requester has seen. The requester may have got that number from another manager, so
    /// grant numbers grow across all managers.
    fn raise_grant_count(&mut self, fence: u64) {
        if !self.variants.has(VariantId::CountsAlone) {
            self.grants.raise_grant_count(fence);
        }
    }

    /// If the lock is free, grants it to the first waiting claim, and reports the new holder to the
    /// other waiting processes. Returns true if a claim was granted.
    fn grant_next(&mut self, fx: &mut impl Effects<Self>) -> bool {
        let Some((claim, count)) = self.grants.grant_next() else { return false };
        for waiting in self.grants.waiting_claims().clone() {
            self.report_holder(waiting, fx);
        }
        self.send(claim.process, Message::Grant { number: claim.ticket.number, count }, fx);
        true
    }

    /// Informs a waiting process of the holder of the lock, if this lock is the second lock that
    /// the process needs. A process that waits for its first lock holds no lock and cannot be part
    /// of a cycle.
    fn report_holder(&mut self, waiting: Claim, fx: &mut impl Effects<Self>) {
        if self.has_detection()
            && self.locks(waiting.process)[0] != self.group.me()
            && let Some((holder, count)) = self.grants.holder_awaited_by(waiting)
        {
            let holder = Attempt { process: holder.process, number: holder.ticket.number };
            let number = waiting.ticket.number;
            self.send(waiting.process, Message::Wait { number, holder, count }, fx);
        }
    }

    /// Returns true if managers report the holder of a lock to waiting processes, so that these
    /// send probes. With the variant `ordered`, no cycle is possible, so this happens only with
    /// `talkative`.
    fn has_detection(&self) -> bool {
        let has = |switch| self.variants.has(switch);
        !has(VariantId::NoDetection) && (!has(VariantId::Ordered) || has(VariantId::Talkative))
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

fn claim(process: ProcessId, number: u64) -> Claim {
    Claim { process, ticket: RequestId { boot: 0, number } }
}

impl Algorithm for EdgeChasing {
    fn card(config: &Config, size: u32) -> Card {
        let messages = MessageCost::per_entry("6 (3 at a manager), more with retries", 3, None);
        // Without cycles, three messages with each of two managers suffice.
        let ordered = MessageCost { most: Some(6), ..messages.clone() };
        let is_ordered = config.has(VariantId::Ordered);
        let messages = if is_ordered { ordered } else { messages.marked_incomplete() };
        Card {
            faults: ToleratedFaults::duplication_only(
                "stops when a manager or a process that waits or is inside crashes",
            ),
            messages: messages.zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(
                ["4 (2 at a manager)", "not known", "no"],
                HopRange { formula: "2…4 (alone)", least: 2, most: 4, is_unconditional: false },
            )),
            // Any two processes need a common lock.
            strategy: AlgorithmClass::Quorum,
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "edge-chasing",
                "locks one after the other, and probes that find deadlocks",
                "Chandy, Misra & Haas, ACM TOCS 1(2), 1983",
            )
        }
    }
}
