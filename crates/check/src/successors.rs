//! What may happen in a world, and what comes of it.

use std::sync::Arc;

use tenure_core::Order;

use crate::action::{Action, Cause, Kind};
use crate::canonical::rebased;
use crate::memory::{FULL, LocalRow, Memory};
use crate::processes::NOT_FAIR;
use crate::rules::Rules;
use crate::world::{Fault, Faults, VIOLATED};

/// The label of a step that the environment takes against the protocol.
pub(crate) const FAULT: u32 = u32::MAX;

/// Marks, in a label, a step that dropped a message because a link was full.
pub(crate) const DROPPED: u32 = 1 << 31;

/// The label of a unit of time.
pub(crate) const TIME: u32 = DROPPED - 1;

/// A world and its fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed<'a> {
    pub(crate) world: &'a [u32],
    pub(crate) fingerprint: u64,
}

/// One successor of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Successor<'a> {
    pub(crate) action: Action,
    /// What fairness calls the step.
    pub(crate) label: u32,
    pub(crate) world: &'a [u32],
    pub(crate) fate: Fate,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) fingerprint: u64,
    /// The monitors that the step violated, as bits.
    pub(crate) violated: u32,
    /// Whether the successor lies beyond a declared bound.
    pub(crate) cut: Option<Cut>,
    /// Whether a message was dropped because a link was full.
    pub(crate) dropped: bool,
}

impl Fate {
    fn of(fingerprint: u64) -> Self {
        Fate { fingerprint, violated: 0, cut: None, dropped: false }
    }
}

/// A declared bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// A link was full.
    InFlight,
    /// A term was too high.
    Term,
}

/// One thread of a search: walks worlds with what it remembers.
pub(crate) struct Worker {
    pub(crate) rules: Arc<Rules>,
    pub(crate) memory: Memory,
    scratch: Vec<u32>,
    /// What fairness calls the suspicions, by process and peer.
    suspicions: Vec<u32>,
}

impl Worker {
    pub(crate) fn new(rules: Arc<Rules>) -> Self {
        let memory = Memory::new(Arc::clone(&rules));
        let scratch = vec![0; rules.layout.stride()];
        let pairs = (rules.layout.size * rules.layout.size) as u64;
        let suspicions = (0..pairs).map(|pair| rules.freight.label(3 << 40, pair)).collect();
        Worker { rules, memory, scratch, suspicions }
    }

    /// Shows every successor of a world but that by time, always in the same order.
    pub(crate) fn successors(&mut self, seed: Seed<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let rules = Arc::clone(&self.rules);
        for process in 0..rules.layout.size {
            let row = self.memory.local(seed.world[process]);
            for (item, place) in self.memory.menu(row).enumerate() {
                let (cause, label) = self.memory.menu_item(place);
                self.every_outcome(seed, Kind::Own, (process, item), label, cause, visit);
            }
        }
        for slot in rules.layout.link_slots() {
            if seed.world[slot] != 0 {
                self.deliveries(seed, slot, visit);
            }
        }
        if rules.detects || rules.budget.of(Fault::FalseSuspicion) > 0 {
            self.suspicions(seed, visit);
        }
        if rules.budget != Faults::default() {
            self.faults(seed, visit);
        }
    }

    fn deliveries(&mut self, seed: Seed<'_>, slot: usize, visit: &mut impl FnMut(Successor<'_>)) {
        let row = self.memory.queue(seed.world[slot]);
        for (item, place) in self.memory.items(row).enumerate() {
            let entry = self.memory.item(place);
            if entry.ready {
                let cause = Cause::Deliver(entry.parcel);
                let at = (slot, item);
                self.every_outcome(seed, Kind::Deliver, at, entry.label, cause, visit);
            } else if self.rules.order == Order::Fifo {
                break;
            }
        }
    }

    fn suspicions(&mut self, seed: Seed<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let false_ones = self.rules.left(seed.world, Fault::FalseSuspicion) > 0;
        let size = self.rules.layout.size;
        for (process, peer) in (0..size).flat_map(|p| (0..size).map(move |peer| (p, peer))) {
            let mine = self.memory.local(seed.world[process]);
            if mine.down || process == peer {
                continue;
            }
            let down = self.memory.local(seed.world[peer]).down;
            let suspected = mine.suspected & 1 << peer != 0;
            let fair = self.suspicions[process * size + peer];
            let at = (process, peer);
            if suspected && !down {
                let cause = Cause::Trust(peer as u32);
                self.every_outcome(seed, Kind::Trust, at, fair, cause, visit);
            } else if !suspected && (down && self.rules.detects || !down && false_ones) {
                let label = if down { fair } else { FAULT };
                let cause = Cause::Suspect(peer as u32);
                self.every_outcome(seed, Kind::Suspect, at, label, cause, visit);
            }
        }
    }

    fn faults(&mut self, seed: Seed<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let rules = Arc::clone(&self.rules);
        let left = |fault| rules.left(seed.world, fault) > 0;
        for (kind, fault) in [(Kind::Lose, Fault::Loss), (Kind::Duplicate, Fault::Duplication)] {
            if left(fault) {
                self.link_faults(seed, kind, visit);
            }
        }
        for process in 0..rules.layout.size {
            let row = self.memory.local(seed.world[process]);
            let at = (process, 0);
            if !row.down && left(Fault::Crash) {
                self.every_outcome(seed, Kind::Crash, at, FAULT, Cause::Crash, visit);
            }
            if row.down && left(Fault::Recovery) {
                self.every_outcome(seed, Kind::Recover, at, NOT_FAIR, Cause::Recover, visit);
            }
            if row.down || !left(Fault::ApplicationMessage) {
                continue;
            }
            for peer in (0..rules.layout.size).filter(|peer| *peer != process) {
                let (at, cause) = ((process, peer), Cause::Send(peer as u32));
                self.every_outcome(seed, Kind::Send, at, NOT_FAIR, cause, visit);
            }
        }
    }

    fn link_faults(&mut self, seed: Seed<'_>, kind: Kind, visit: &mut impl FnMut(Successor<'_>)) {
        for slot in self.rules.layout.link_slots() {
            let row = self.memory.queue(seed.world[slot]);
            for item in 0..self.memory.items(row).len() {
                if self.memory.item_of(row, item).application {
                    continue;
                }
                let action = Action::new(kind, slot, item, 0);
                self.show(seed, action, FAULT, visit);
            }
        }
    }

    /// Shows every outcome of one cause at a place and item.
    fn every_outcome(
        &mut self,
        seed: Seed<'_>,
        kind: Kind,
        (place, item): (usize, usize),
        label: u32,
        cause: Cause,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        let process = self.process_at(kind, place);
        let outcomes = self.memory.outcomes(seed.world[process], cause);
        for (choice, outcome) in outcomes.enumerate() {
            let action = Action::new(kind, place, item, choice);
            let mut world = std::mem::take(&mut self.scratch);
            world.copy_from_slice(seed.world);
            let fingerprint = self.before_outcome(&mut world, seed.fingerprint, action);
            if let Some(fingerprint) = fingerprint {
                let fate = self.take(&mut world, fingerprint, action, process, outcome);
                let dropped = if fate.dropped && label != FAULT { DROPPED } else { 0 };
                visit(Successor { action, label: label | dropped, world: &world, fate });
            }
            self.scratch = world;
        }
    }

    fn show(
        &mut self,
        seed: Seed<'_>,
        action: Action,
        label: u32,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        let mut world = std::mem::take(&mut self.scratch);
        world.copy_from_slice(seed.world);
        if let Some(fate) = self.perform(&mut world, seed.fingerprint, action) {
            visit(Successor { action, label, world: &world, fate });
        }
        self.scratch = world;
    }

    fn process_at(&self, kind: Kind, place: usize) -> usize {
        if kind == Kind::Deliver { self.rules.layout.receiver(place) } else { place }
    }

    /// Performs an action on a world; `None` where it is not possible.
    pub(crate) fn perform(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
    ) -> Option<Fate> {
        if action.kind() == Kind::Tick {
            return self.tick(world, fingerprint);
        }
        let cause = self.cause(world, action);
        let fingerprint = self.before_outcome(world, fingerprint, action)?;
        let Some(cause) = cause else {
            return Some(Fate::of(self.canonical(world, fingerprint)));
        };
        let process = self.process_at(action.kind(), action.place());
        let outcome = self.memory.outcomes(world[process], cause).start + action.outcome();
        Some(self.take(world, fingerprint, action, process, outcome))
    }

    /// What the process is given in an action; `None` where no process is given anything.
    pub(crate) fn cause(&mut self, world: &[u32], action: Action) -> Option<Cause> {
        Some(match action.kind() {
            Kind::Own => {
                let row = self.memory.local(world[action.place()]);
                self.memory.cause(row, action.item())
            }
            Kind::Deliver => {
                let row = self.memory.queue(world[action.place()]);
                Cause::Deliver(self.memory.item_of(row, action.item()).parcel)
            }
            Kind::Suspect => Cause::Suspect(action.item() as u32),
            Kind::Trust => Cause::Trust(action.item() as u32),
            Kind::Crash => Cause::Crash,
            Kind::Recover => Cause::Recover,
            Kind::Send => Cause::Send(action.item() as u32),
            Kind::Lose | Kind::Duplicate | Kind::Tick => return None,
        })
    }

    /// What an action does to links and budgets before the process is given anything.
    fn before_outcome(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
    ) -> Option<u64> {
        let place = action.place();
        let fault = match action.kind() {
            Kind::Own | Kind::Trust | Kind::Tick => return Some(fingerprint),
            Kind::Deliver => return Some(self.remove(world, fingerprint, action)),
            Kind::Lose => {
                let fingerprint = self.remove(world, fingerprint, action);
                return Some(self.spend(world, fingerprint, Fault::Loss));
            }
            Kind::Duplicate => {
                let row = self.memory.queue(world[place]);
                let parcel = self.memory.item_of(row, action.item()).parcel;
                let doubled = self.memory.double(world[place], parcel);
                if doubled.id == FULL {
                    return None;
                }
                world[place] = doubled.id;
                let fingerprint = fingerprint.wrapping_add(doubled.change);
                return Some(self.spend(world, fingerprint, Fault::Duplication));
            }
            Kind::Suspect => {
                if self.memory.local(world[action.item()]).down {
                    return Some(fingerprint); // a true suspicion costs nothing
                }
                Fault::FalseSuspicion
            }
            Kind::Crash => Fault::Crash,
            Kind::Recover => Fault::Recovery,
            Kind::Send => Fault::ApplicationMessage,
        };
        Some(self.spend(world, fingerprint, fault))
    }

    fn remove(&mut self, world: &mut [u32], fingerprint: u64, action: Action) -> u64 {
        let row = self.memory.queue(world[action.place()]);
        let rest = self.memory.item_of(row, action.item()).rest;
        world[action.place()] = rest.id;
        fingerprint.wrapping_sub(row.fingerprint).wrapping_add(rest.fingerprint)
    }

    fn spend(&self, world: &mut [u32], fingerprint: u64, fault: Fault) -> u64 {
        let slot = self.rules.layout.spent();
        let before = Faults(world[slot]);
        let after = before.and_one(fault);
        world[slot] = after.0;
        fingerprint.wrapping_sub(before.fingerprint()).wrapping_add(after.fingerprint())
    }

    /// Applies an outcome at a process: its new state, what it sends, what monitors say.
    #[inline]
    pub(crate) fn take(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
        process: usize,
        outcome: usize,
    ) -> Fate {
        let row = self.memory.outcome(outcome);
        world[process] = row.local;
        let fingerprint = fingerprint.wrapping_add(row.change);
        let mut fate = Fate::of(fingerprint);
        for place in self.memory.sent(row) {
            let sent = self.memory.sent_item(place);
            if self.rules.somebody_may_be_down && self.is_gone(world, sent.to as usize) {
                continue;
            }
            let pushed = self.memory.push(world[sent.slot as usize], sent.parcel);
            if pushed.id != FULL {
                world[sent.slot as usize] = pushed.id;
                fate.fingerprint = fate.fingerprint.wrapping_add(pushed.change);
            } else if self.rules.drops_beyond() {
                fate.dropped = true;
            } else {
                fate.cut = Some(Cut::InFlight);
            }
        }
        if row.observation != 0 {
            self.judge(world, row.observation, &mut fate);
        }
        if matches!(action.kind(), Kind::Crash | Kind::Recover) {
            self.clear_links_to_the_gone(world, &mut fate);
        }
        if self.memory.local(row.local).beyond {
            fate.cut = Some(Cut::Term);
        }
        fate.fingerprint = self.canonical(world, fate.fingerprint);
        fate
    }

    fn judge(&mut self, world: &mut [u32], observation: u32, fate: &mut Fate) {
        for place in 0..self.rules.layout.monitors {
            let slot = self.rules.layout.monitor(place);
            if world[slot] == VIOLATED {
                continue;
            }
            let judged = self.memory.judge(place, world[slot], observation);
            world[slot] = judged.id;
            fate.fingerprint = fate.fingerprint.wrapping_add(judged.change);
            if judged.id == VIOLATED {
                fate.violated |= 1 << place;
            }
        }
    }

    /// Whether a process is down and can never come back.
    fn is_gone(&mut self, world: &[u32], process: usize) -> bool {
        self.memory.local(world[process]).down && self.rules.left(world, Fault::Recovery) == 0
    }

    /// A message to somebody who is gone for ever would make no difference.
    fn clear_links_to_the_gone(&mut self, world: &mut [u32], fate: &mut Fate) {
        for slot in self.rules.layout.link_slots() {
            if world[slot] != 0 && self.is_gone(world, self.rules.layout.receiver(slot)) {
                let queue = self.memory.queue(world[slot]);
                fate.fingerprint = fate.fingerprint.wrapping_sub(queue.fingerprint);
                world[slot] = 0;
            }
        }
    }

    /// A unit of time: possible when nothing is due and something is under way.
    pub(crate) fn tick(&mut self, world: &mut [u32], fingerprint: u64) -> Option<Fate> {
        let layout = self.rules.layout;
        let due = (0..layout.size).any(|p| self.memory.local(world[p]).urgent)
            || layout.link_slots().any(|slot| self.memory.queue(world[slot]).urgent);
        if due {
            return None;
        }
        let (mut later, mut moved) = (fingerprint, false);
        for (slot, part) in world[..layout.spent()].iter_mut().enumerate() {
            let is_queue = slot >= layout.size;
            if is_queue && *part == 0 {
                continue;
            }
            let aged = self.memory.age(*part, is_queue);
            moved |= aged.id != *part;
            *part = aged.id;
            later = later.wrapping_add(aged.change);
        }
        moved.then_some(Fate::of(later))
    }

    fn canonical(&mut self, world: &mut [u32], fingerprint: u64) -> u64 {
        if !self.rules.rebases {
            return fingerprint;
        }
        rebased(&mut self.memory, self.rules.layout, world, fingerprint)
    }

    /// A process of a world.
    pub(crate) fn local(&mut self, world: &[u32], process: usize) -> LocalRow {
        self.memory.local(world[process])
    }
}
