//! Locks taken one after the other, and deadlocks found by chasing edges.
//!
//! K. M. Chandy, J. Misra, L. M. Haas, *Distributed deadlock detection*, ACM TOCS 1(2), 1983:
//! the algorithm for resources, where a process needs all that it waits for.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 6 without contention, 3 for a manager; more with every retry |
//! | delay to enter, uncontended | 4 messages, 2 for a manager |
//! | delay from exit to the next entry | 2 to 4 messages; more after a deadlock |
//!
//! There are three locks, one at each of the first three processes, its manager; two processes
//! have two, and one has one. Who is inside holds two of them. Everybody begins at another lock
//! and goes on to the next, in a circle, so all may hold one and wait for the next one's. Whoever
//! waits for its second lock is told who holds that: an edge of the wait-for graph. Along each new
//! edge goes a probe, and who waits too passes it on. One that comes back to its initiator has
//! found a cycle. It names the victim: who has entered most often in the cycle, the largest of
//! equals. The victim gives back what it holds and tries again.
//!
//! **Why it is right.** Any two processes need a lock in common, which is granted to one at a
//! time, and counted on from the largest count that its askers have seen. Who learns of its
//! edge of a cycle last starts a probe when the others know theirs, and that one returns. An edge
//! lasts until the attempt to enter to which it leads is over, so one that returns has found a
//! cycle that is there, or whose victim has given up. All probes round a cycle name one attempt of
//! one victim: it gives up once, and nobody gives up in vain.
//!
//! **Why nobody retries for ever.** The order of victims is fixed while they wait, and its least
//! is never a victim. Who gives a lock back asks again behind all who wait for it. So the queue
//! before the least only becomes shorter, first for one lock, which it then keeps, then for the
//! other. Who enters becomes larger: everybody is the least after finitely many entries of others.
//! The variant `ordered` prevents the cycles that are else detected.

mod message;

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, Never, ProcessId, Protocol,
};

pub use self::message::{Attempt, Candidate, Initiator, Message};
use super::{Claim, Desk, Ticket};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process: a client, and the manager of a lock if it is one of the first three.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EdgeChasing {
    group: Group,
    variants: Variants<Switch>,
    phase: Phase,
    /// How many attempts to enter this process has made.
    attempts: u64,
    entries: u64,
    /// How many probes it has started.
    probes: u64,
    /// The largest count of a grant that was ever here: the fence of an entry.
    fence: u64,
    /// Who holds and awaits the lock that this process manages.
    desk: Desk,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// How many locks are here.
        held: usize,
        /// For whom we wait, once we are told.
        edge: Option<Edge>,
    },
    Inside,
}

/// An edge of the wait-for graph, from this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Edge {
    /// Who holds the lock.
    to: Attempt,
    /// The number of its grant.
    count: u64,
    /// `dependent`: whose probes went along this edge.
    dependents: BTreeSet<Initiator>,
}

/// What is fixed for life.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        Ok(Config { variants: parameters.variants()? })
    }
}

switches! {
    NoDetection = "no-detection", unsound,
        "nobody is told for whom it waits, and a deadlock stays"
        => "I-31", "-n 2";
    Ordered = "ordered", sound,
        "everybody takes the lower lock first: there are no cycles, and nobody looks for one";
    UnnumberedAbort = "unnumbered-abort", sound,
        "a late abort hits the next attempt: a phantom deadlock costs another retry";
    CountsAlone = "counts-alone", unsound,
        "a manager counts its own grants, and not on from what its askers have seen of others'"
        => "", "-n 3 --entries 2,1,1 --property fencing";
    Talkative = "talkative", unsound,
        "with `ordered`: whoever waits is told for whom, though nobody looks for cycles: right, \
         and dear"
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
        let (variants, desk) = (config.variants, Desk::default());
        let (attempts, entries, probes, fence) = (0, 0, 0, 0);
        EdgeChasing { group, variants, phase: Phase::Idle, attempts, entries, probes, fence, desk }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                assert!(self.phase == Phase::Idle, "a process asks only when idle");
                self.attempt(fx);
            }
            Command::Exit => {
                assert!(self.phase == Phase::Inside, "only a process that is inside can leave");
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                self.release_all(fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { number, fence } => {
                self.count_from(fence);
                self.desk.ask(claim(from, number));
                if !self.grant_next(fx) {
                    self.tell(claim(from, number), fx);
                }
            }
            Message::Release { number, fence } => {
                self.count_from(fence);
                self.desk.release(claim(from, number));
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
                if number == self.attempts || self.variants.has(Switch::UnnumberedAbort) {
                    self.abort(fx);
                }
            }
        }
    }
}

/// The client: its locks, one after the other.
impl EdgeChasing {
    /// Whose locks a process needs, in the order in which it takes them.
    fn locks(&self, process: ProcessId) -> Vec<ProcessId> {
        let managers = self.group.size().min(3);
        let mut locks = vec![process.0 % managers, (process.0 + 1) % managers];
        if self.variants.has(Switch::Ordered) {
            locks.sort_unstable();
        }
        locks.dedup();
        locks.into_iter().map(ProcessId).collect()
    }

    /// How many attempts to enter this process has made.
    pub fn attempts(&self) -> u64 {
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
            // Nobody wants it: a duplicate of an old request was granted, or one that we gave up.
            return self.send(from, Message::Release { number, fence: self.fence }, fx);
        }
        let locks = self.locks(self.group.me());
        let Phase::Waiting { held, .. } = self.phase else { return };
        if from != locks[held] {
            // A duplicate.
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

/// The detection: probes along the edges.
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

    fn on_probe(&mut self, initiator: Initiator, victim: Candidate, fx: &mut impl Effects<Self>) {
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

    fn candidate(&self) -> Candidate {
        (self.entries, Attempt { process: self.group.me(), number: self.attempts })
    }

    /// The victim of a cycle lets the others pass and tries again.
    fn abort(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { held: 1.., .. } = self.phase {
            self.release_all(fx);
            self.attempt(fx);
        }
    }
}

/// The manager: whoever waits is told for whom.
impl EdgeChasing {
    /// Entries need locks of several managers: whose next count is above all that were seen.
    fn count_from(&mut self, fence: u64) {
        if !self.variants.has(Switch::CountsAlone) {
            self.desk.count_from(fence);
        }
    }

    /// Whether a grant was given.
    fn grant_next(&mut self, fx: &mut impl Effects<Self>) -> bool {
        let Some((claim, count)) = self.desk.grant() else { return false };
        for waiting in self.desk.queue().clone() {
            self.tell(waiting, fx);
        }
        self.send(claim.process, Message::Grant { number: claim.ticket.number, count }, fx);
        true
    }

    /// Tells one who waits for its second lock who holds it. Nobody waits for one without a lock.
    fn tell(&mut self, waiting: Claim, fx: &mut impl Effects<Self>) {
        if self.detects()
            && self.locks(waiting.process)[0] != self.group.me()
            && let Some((holder, count)) = self.desk.awaited_by(waiting)
        {
            let holder = Attempt { process: holder.process, number: holder.ticket.number };
            let number = waiting.ticket.number;
            self.send(waiting.process, Message::Wait { number, holder, count }, fx);
        }
    }

    /// Whether there may be cycles, and somebody looks for them.
    fn detects(&self) -> bool {
        let has = |switch| self.variants.has(switch);
        !has(Switch::NoDetection) && (!has(Switch::Ordered) || has(Switch::Talkative))
    }

    /// A message to anybody; a local call where that is us.
    fn send(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.group.me() {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

fn claim(process: ProcessId, number: u64) -> Claim {
    Claim { process, ticket: Ticket { boot: 0, number } }
}

impl Algorithm for EdgeChasing {
    fn card(config: &Config, size: u32) -> Card {
        let messages = Cost::per_entry("6 (3 at a manager), more with retries", 3, None);
        // Without cycles there is nothing else than three messages with each of two managers.
        let ordered = Cost { most: Some(6), ..messages.clone() };
        let is_ordered = config.variants.has(Switch::Ordered);
        let messages = if is_ordered { ordered } else { messages.in_part() };
        Card {
            faults: Faults::duplication(
                "stops when a manager or a process that waits or is inside crashes",
            ),
            messages: messages.none_alone(size),
            theory: Some(Theory::lock(
                ["4 (2 at a manager)", "not known", "no"],
                Hops { words: "2…4 (alone)", least: 2, most: 4, whole: false },
            )),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "edge-chasing",
                "locks one after the other, and probes that find deadlocks",
                "Chandy, Misra & Haas, ACM TOCS 1(2), 1983",
            )
        }
    }
}
