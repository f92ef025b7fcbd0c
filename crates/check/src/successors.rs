//! What may happen in a world, and what comes of it.

use std::sync::Arc;

use tenure_core::Order;

use crate::action::{Action, Cause, Kind};
use crate::canonical::{rebased, smallest_name};
use crate::memory::{FULL, LocalRow, Memory, OutcomeRow};
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

/// The world whose successors are being shown: changed, shown and changed back.
struct Place<'w> {
    world: &'w mut [u32],
    fingerprint: u64,
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
    /// What the visited set knows the world by: the same fingerprint for all worlds that are
    /// taken for one.
    pub(crate) key: u64,
    /// The monitors that the step violated, as bits.
    pub(crate) violated: u32,
    /// Whether the successor lies beyond a declared bound.
    pub(crate) cut: Option<Cut>,
    /// Whether a message was dropped because a link was full.
    pub(crate) dropped: bool,
}

impl Fate {
    fn of(fingerprint: u64) -> Self {
        Fate { fingerprint, key: fingerprint, violated: 0, cut: None, dropped: false }
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
    /// What was changed in a world, and what it was before.
    changed: Vec<(u32, u32)>,
    /// What fairness calls the suspicions, by process and peer.
    suspicions: Vec<u32>,
}

impl Worker {
    pub(crate) fn new(rules: Arc<Rules>) -> Self {
        let memory = Memory::new(Arc::clone(&rules));
        let scratch = vec![0; rules.layout.stride()];
        let pairs = (rules.layout.size * rules.layout.size) as u64;
        let suspicions = (0..pairs).map(|pair| rules.freight.label(3 << 40, pair)).collect();
        Worker { rules, memory, scratch, changed: Vec::new(), suspicions }
    }

    /// Shows every successor of a world but that by time, always in the same order.
    pub(crate) fn successors(&mut self, seed: Seed<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let mut world = std::mem::take(&mut self.scratch);
        world.copy_from_slice(seed.world);
        self.changed.clear();
        let mut place = Place { world: &mut world, fingerprint: seed.fingerprint };
        for process in 0..self.rules.layout.size {
            let row = self.memory.local(place.world[process]);
            for (item, entry) in self.memory.menu(row).enumerate() {
                let (cause, label) = self.memory.menu_item(entry);
                self.every_outcome(&mut place, Kind::Own, (process, item), label, cause, visit);
            }
        }
        for slot in self.rules.layout.link_slots() {
            if place.world[slot] != 0 {
                self.deliveries(&mut place, slot, visit);
            }
        }
        if self.rules.detects || self.rules.budget.of(Fault::FalseSuspicion) > 0 {
            self.suspicions(&mut place, visit);
        }
        if self.rules.budget != Faults::default() {
            self.faults(&mut place, visit);
        }
        self.scratch = world;
    }

    fn deliveries(
        &mut self,
        place: &mut Place<'_>,
        slot: usize,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        let row = self.memory.queue(place.world[slot]);
        for (item, entry) in self.memory.items(row).enumerate() {
            let entry = self.memory.item(entry);
            if entry.ready {
                let cause = Cause::Deliver(entry.parcel);
                let at = (slot, item);
                self.every_outcome(place, Kind::Deliver, at, entry.label, cause, visit);
            } else if self.rules.order == Order::Fifo {
                break;
            }
        }
    }

    fn suspicions(&mut self, place: &mut Place<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let false_ones = self.rules.left(place.world, Fault::FalseSuspicion) > 0;
        let size = self.rules.layout.size;
        for (process, peer) in (0..size).flat_map(|p| (0..size).map(move |peer| (p, peer))) {
            let mine = self.memory.local(place.world[process]);
            if mine.down || process == peer {
                continue;
            }
            let down = self.memory.local(place.world[peer]).down;
            let suspected = mine.suspected & 1 << peer != 0;
            let fair = self.suspicions[process * size + peer];
            let at = (process, peer);
            if suspected && !down {
                let cause = Cause::Trust(peer as u32);
                self.every_outcome(place, Kind::Trust, at, fair, cause, visit);
            } else if !suspected && (down && self.rules.detects || !down && false_ones) {
                let label = if down { fair } else { FAULT };
                let cause = Cause::Suspect(peer as u32);
                self.every_outcome(place, Kind::Suspect, at, label, cause, visit);
            }
        }
    }

    fn faults(&mut self, place: &mut Place<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let rules = Arc::clone(&self.rules);
        let left = |world: &[u32], fault| rules.left(world, fault) > 0;
        for (kind, fault) in [(Kind::Lose, Fault::Loss), (Kind::Duplicate, Fault::Duplication)] {
            if left(place.world, fault) {
                self.link_faults(place, kind, visit);
            }
        }
        for process in 0..rules.layout.size {
            let row = self.memory.local(place.world[process]);
            let at = (process, 0);
            if !row.down && left(place.world, Fault::Crash) {
                self.every_outcome(place, Kind::Crash, at, FAULT, Cause::Crash, visit);
            }
            if row.down && left(place.world, Fault::Recovery) {
                self.every_outcome(place, Kind::Recover, at, NOT_FAIR, Cause::Recover, visit);
            }
            if row.down || !left(place.world, Fault::ApplicationMessage) {
                continue;
            }
            for peer in (0..rules.layout.size).filter(|peer| *peer != process) {
                let (at, cause) = ((process, peer), Cause::Send(peer as u32));
                self.every_outcome(place, Kind::Send, at, NOT_FAIR, cause, visit);
            }
        }
    }

    fn link_faults(
        &mut self,
        place: &mut Place<'_>,
        kind: Kind,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        for slot in self.rules.layout.link_slots() {
            let row = self.memory.queue(place.world[slot]);
            for item in 0..self.memory.items(row).len() {
                if self.memory.item_of(row, item).application {
                    continue;
                }
                let action = Action::new(kind, slot, item, 0);
                if let Some(fate) = self.perform(place.world, place.fingerprint, action) {
                    visit(Successor { action, label: FAULT, world: place.world, fate });
                }
                self.undo(place.world);
            }
        }
    }

    /// Shows every outcome of one cause at a slot and item.
    #[inline]
    fn every_outcome(
        &mut self,
        place: &mut Place<'_>,
        kind: Kind,
        (slot, item): (usize, usize),
        label: u32,
        cause: Cause,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        let process = self.process_at(kind, slot);
        let mut row = self.memory.outcome(place.world[process], cause);
        for choice in 0.. {
            let action = Action::new(kind, slot, item, choice);
            let before = self.before_outcome(place.world, place.fingerprint, action);
            if let Some(fingerprint) = before {
                let fate = self.take(place.world, fingerprint, kind, process, row);
                let dropped = if fate.dropped && label != FAULT { DROPPED } else { 0 };
                visit(Successor { action, label: label | dropped, world: place.world, fate });
            }
            self.undo(place.world);
            match self.memory.next_outcome(row) {
                Some(next) => row = next,
                None => return,
            }
        }
    }

    /// Changes a part of a world so that it can be undone.
    #[inline]
    fn set(&mut self, world: &mut [u32], slot: usize, id: u32) {
        self.changed.push((slot as u32, world[slot]));
        world[slot] = id;
    }

    /// Undoes all changes since the last time.
    #[inline]
    fn undo(&mut self, world: &mut [u32]) {
        while let Some((slot, id)) = self.changed.pop() {
            world[slot as usize] = id;
        }
    }

    fn process_at(&self, kind: Kind, place: usize) -> usize {
        if kind == Kind::Deliver { self.rules.layout.receiver(place) } else { place }
    }

    /// Performs an action on a world for good; `None` where it is not possible.
    pub(crate) fn advance(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
    ) -> Option<Fate> {
        let fate = self.perform(world, fingerprint, action);
        self.changed.clear();
        fate
    }

    /// Performs an action on a world, so that it can be undone; `None` where it is not possible.
    fn perform(&mut self, world: &mut [u32], fingerprint: u64, action: Action) -> Option<Fate> {
        if action.kind() == Kind::Tick {
            return self.tick(world, fingerprint);
        }
        let cause = self.cause(world, action);
        let fingerprint = self.before_outcome(world, fingerprint, action)?;
        let Some(cause) = cause else {
            let mut fate = Fate::of(fingerprint);
            self.finish(world, &mut fate);
            return Some(fate);
        };
        let process = self.process_at(action.kind(), action.place());
        let row = self.memory.outcome_at(world[process], cause, action.outcome());
        Some(self.take(world, fingerprint, action.kind(), process, row))
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
                self.set(world, place, doubled.id);
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
        self.set(world, action.place(), rest.id);
        fingerprint.wrapping_sub(row.fingerprint).wrapping_add(rest.fingerprint)
    }

    fn spend(&mut self, world: &mut [u32], fingerprint: u64, fault: Fault) -> u64 {
        let slot = self.rules.layout.spent();
        let before = Faults(world[slot]);
        let after = before.and_one(fault);
        self.set(world, slot, after.0);
        fingerprint.wrapping_sub(before.fingerprint()).wrapping_add(after.fingerprint())
    }

    /// Applies an outcome at a process: its new state, what it sends, what monitors say.
    #[inline]
    fn take(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        kind: Kind,
        process: usize,
        row: OutcomeRow,
    ) -> Fate {
        self.set(world, process, row.local);
        let fingerprint = fingerprint.wrapping_add(row.change);
        let mut fate = Fate::of(fingerprint);
        for place in self.memory.sent(row) {
            let sent = self.memory.sent_item(place);
            if self.rules.somebody_may_be_down && self.is_gone(world, sent.to as usize) {
                continue;
            }
            let pushed = self.memory.push(world[sent.slot as usize], sent.parcel);
            if pushed.id != FULL {
                self.set(world, sent.slot as usize, pushed.id);
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
        if matches!(kind, Kind::Crash | Kind::Recover) {
            self.clear_links_to_the_gone(world, &mut fate);
        }
        if self.rules.bounds_terms && self.memory.local(row.local).beyond {
            fate.cut = Some(Cut::Term);
        }
        self.finish(world, &mut fate);
        fate
    }

    fn judge(&mut self, world: &mut [u32], observation: u32, fate: &mut Fate) {
        for place in 0..self.rules.layout.monitors {
            let slot = self.rules.layout.monitor(place);
            if world[slot] == VIOLATED {
                continue;
            }
            let judged = self.memory.judge(place, world[slot], observation);
            self.set(world, slot, judged.id);
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
                self.set(world, slot, 0);
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
        let key = self.key(world, later);
        moved.then_some(Fate { key, ..Fate::of(later) })
    }

    /// Brings a world into its canonical form and finds its key.
    #[inline]
    fn finish(&mut self, world: &mut [u32], fate: &mut Fate) {
        if self.rules.rebases {
            let (memory, changed) = (&mut self.memory, &mut self.changed);
            fate.fingerprint = rebased(memory, self.rules.layout, world, changed, fate.fingerprint);
        }
        fate.key = self.key(world, fate.fingerprint);
    }

    /// What the visited set knows a world by.
    #[inline]
    pub(crate) fn key(&mut self, world: &[u32], fingerprint: u64) -> u64 {
        if self.rules.renamings == 1 {
            return fingerprint;
        }
        smallest_name(&mut self.memory, self.rules.layout, world, self.rules.renamings)
    }

    /// A process of a world.
    pub(crate) fn local(&mut self, world: &[u32], process: usize) -> LocalRow {
        self.memory.local(world[process])
    }
}
