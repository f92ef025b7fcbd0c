//! What may happen in a world, and what comes of it.

use std::sync::Arc;

use tenure_core::Order;

use crate::model::intern::{Change, NONE};
use crate::model::memory::{LocalRow, Memory, OutcomeRow};
use crate::reduce::canonical::{rebased, smallest_name};
use crate::world::action::{Action, Cause, Kind};
use crate::world::rules::Rules;
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
pub(super) struct Place<'w> {
    pub(super) world: &'w mut [u32],
    pub(super) fingerprint: u64,
}

/// What a step does to a link and to the budgets before a process is given anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prelude {
    link: Option<(usize, Change)>,
    fault: Option<Fault>,
}

impl Prelude {
    fn of_link(slot: usize, change: Change) -> Self {
        Prelude { link: Some((slot, change)), fault: None }
    }

    pub(super) fn of_fault(fault: Fault) -> Self {
        Prelude { link: None, fault: Some(fault) }
    }
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
    /// What fairness calls the meetings, by process and peer.
    pub(super) meetings: Vec<u32>,
    /// What fairness calls the crash of a process that is mute, by process.
    pub(super) ends: Vec<u32>,
    /// Whether the second of a message found its link full, since somebody last asked.
    pub(super) left_out: bool,
}

impl Worker {
    pub(crate) fn new(rules: Arc<Rules>) -> Self {
        let memory = Memory::new(Arc::clone(&rules));
        let scratch = vec![0; rules.layout.stride()];
        let pairs = (rules.layout.size * rules.layout.size) as u64;
        let labels = |kind: u64| (0..pairs).map(|pair| rules.freight.label(kind, pair)).collect();
        let (suspicions, meetings) = (labels(3 << 40), labels(4 << 40));
        let ends = if rules.mutes { labels(5 << 40) } else { Vec::new() };
        Worker {
            rules,
            memory,
            scratch,
            changed: Vec::new(),
            suspicions,
            meetings,
            ends,
            left_out: false,
        }
    }

    /// Shows every successor of a world but that by time, always in the same order.
    pub(crate) fn successors(&mut self, seed: Seed<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let mut world = std::mem::take(&mut self.scratch);
        world.copy_from_slice(seed.world);
        self.changed.clear();
        if self.steer(&mut world, seed.fingerprint, visit) {
            return self.scratch = world;
        }
        let ample = if self.rules.ample { self.ample(&mut world, seed.fingerprint) } else { None };
        if let Some(slot) = ample {
            let mut place = Place { world: &mut world, fingerprint: seed.fingerprint };
            self.deliveries(&mut place, slot, visit);
            self.scratch = world;
            return;
        }
        let mut place = Place { world: &mut world, fingerprint: seed.fingerprint };
        for process in 0..self.rules.layout.size {
            if self.rules.is_busy(place.world, process) {
                continue;
            }
            let row = self.memory.local(place.world[process]);
            for (item, entry) in self.memory.menu(row).enumerate() {
                let (cause, label) = self.memory.menu_item(entry);
                let at = Action::new(Kind::Own, process, item, 0);
                self.every_outcome(&mut place, at, Prelude::default(), (label, cause), visit);
            }
        }
        for slot in self.rules.layout.link_slots() {
            if place.world[slot] != 0 && !self.rules.waits(place.world, slot) {
                self.deliveries(&mut place, slot, visit);
            }
        }
        if self.rules.detects || self.rules.budget.of(Fault::FalseSuspicion) > 0 {
            self.suspicions(&mut place, visit);
        }
        if self.rules.layout.sessions {
            self.meetings(&mut place, visit);
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
                let at = Action::new(Kind::Deliver, slot, item, 0);
                let prelude = Prelude::of_link(slot, entry.rest);
                self.every_outcome(place, at, prelude, (entry.label, cause), visit);
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
            if mine.down || process == peer || self.rules.is_busy(place.world, process) {
                continue;
            }
            let gone = self.is_out_of_reach(place.world, process, peer);
            let suspected = mine.suspected & 1 << peer != 0;
            let fair = self.suspicions[process * size + peer];
            if suspected && !gone {
                let cause = Cause::Trust(peer as u32);
                let at = Action::new(Kind::Trust, process, peer, 0);
                self.every_outcome(place, at, Prelude::default(), (fair, cause), visit);
            } else if !suspected && (gone && self.rules.detects || !gone && false_ones) {
                let cause = Cause::Suspect(peer as u32);
                let at = Action::new(Kind::Suspect, process, peer, 0);
                let (label, prelude) = if gone {
                    (fair, Prelude::default()) // a true suspicion costs nothing
                } else {
                    (FAULT, Prelude::of_fault(Fault::FalseSuspicion))
                };
                self.every_outcome(place, at, prelude, (label, cause), visit);
            }
        }
    }

    /// Whether a detector is right to suspect a peer: it is down, or beyond a cut.
    fn is_out_of_reach(&mut self, world: &[u32], process: usize, peer: usize) -> bool {
        self.memory.local(world[peer]).down || self.rules.is_cut(world, process, peer)
    }

    /// Shows every outcome of one cause; `at` is the action with the first of them.
    #[inline]
    pub(super) fn every_outcome(
        &mut self,
        place: &mut Place<'_>,
        at: Action,
        prelude: Prelude,
        (label, cause): (u32, Cause),
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        let process = self.process_at(at);
        let mut row = self.memory.outcome(place.world[process], cause);
        for choice in 0.. {
            let fingerprint = self.begin(place.world, place.fingerprint, prelude);
            let fate = self.take(place.world, fingerprint, at, process, row);
            let dropped = if fate.dropped && label != FAULT { DROPPED } else { 0 };
            let action = at.with_outcome(choice);
            visit(Successor { action, label: label | dropped, world: place.world, fate });
            self.undo(place.world);
            match self.memory.next_outcome(row) {
                Some(next) => row = next,
                None => return,
            }
        }
    }

    /// Changes a part of a world so that it can be undone.
    #[inline]
    pub(super) fn set(&mut self, world: &mut [u32], slot: usize, id: u32) {
        self.changed.push((slot as u32, world[slot]));
        world[slot] = id;
    }

    /// Undoes all changes since the last time.
    #[inline]
    pub(crate) fn undo(&mut self, world: &mut [u32]) {
        while let Some((slot, id)) = self.changed.pop() {
            world[slot as usize] = id;
        }
    }

    fn process_at(&self, action: Action) -> usize {
        if action.kind() == Kind::Deliver {
            self.rules.layout.receiver(action.place())
        } else {
            action.place()
        }
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
        let prelude = self.prelude(world, action)?;
        let fingerprint = self.begin(world, fingerprint, prelude);
        let Some(cause) = cause else {
            let mut fate = Fate::of(fingerprint);
            if action.kind() == Kind::Cut {
                self.clear_cut_links(world, &mut fate);
            }
            self.finish(world, &mut fate);
            return Some(fate);
        };
        let process = self.process_at(action);
        let row = self.memory.outcome_at(world[process], cause, action.outcome());
        Some(self.take(world, fingerprint, action, process, row))
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
            Kind::Meet => Cause::Meet(action.item() as u32),
            Kind::Greet => Cause::Greet(action.item() as u32),
            Kind::Mute => Cause::Mute,
            Kind::Lose | Kind::Duplicate | Kind::Tick | Kind::Cut => return None,
        })
    }

    /// What an action does to a link and to the budgets; `None` where it is not possible.
    fn prelude(&mut self, world: &[u32], action: Action) -> Option<Prelude> {
        let slot = action.place();
        let item = |memory: &mut Memory| {
            let row = memory.queue(world[slot]);
            memory.item_of(row, action.item())
        };
        Some(match action.kind() {
            Kind::Own | Kind::Trust | Kind::Tick | Kind::Meet | Kind::Greet => Prelude::default(),
            Kind::Deliver => Prelude::of_link(slot, item(&mut self.memory).rest),
            Kind::Lose => {
                let prelude = Prelude::of_link(slot, item(&mut self.memory).rest);
                Prelude { fault: Some(Fault::Loss), ..prelude }
            }
            Kind::Duplicate => {
                let parcel = item(&mut self.memory).parcel;
                let doubled = self.memory.double(world[slot], parcel);
                if doubled.id == NONE {
                    return None;
                }
                let prelude = Prelude::of_link(slot, doubled);
                Prelude { fault: Some(Fault::Duplication), ..prelude }
            }
            // A true suspicion costs nothing.
            Kind::Suspect if self.is_out_of_reach(world, slot, action.item()) => Prelude::default(),
            Kind::Suspect => Prelude::of_fault(Fault::FalseSuspicion),
            Kind::Cut => Prelude::of_fault(Fault::Partition),
            Kind::Crash if self.memory.local(world[slot]).mute => Prelude::default(),
            Kind::Crash | Kind::Mute => Prelude::of_fault(Fault::Crash),
            Kind::Recover => Prelude::of_fault(Fault::Recovery),
            Kind::Send => Prelude::of_fault(Fault::ApplicationMessage),
        })
    }

    #[inline]
    fn begin(&mut self, world: &mut [u32], fingerprint: u64, prelude: Prelude) -> u64 {
        let mut fingerprint = fingerprint;
        if let Some((slot, link)) = prelude.link {
            self.set(world, slot, link.id);
            fingerprint = fingerprint.wrapping_add(link.change);
        }
        match prelude.fault {
            Some(fault) => self.spend(world, fingerprint, fault),
            None => fingerprint,
        }
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
        action: Action,
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
            if self.rules.side != 0 && self.rules.is_cut(world, process, sent.to as usize) {
                continue;
            }
            let pushed = self.memory.push(world[sent.slot as usize], sent.parcel);
            if pushed.id != NONE {
                self.set(world, sent.slot as usize, pushed.id);
                fate.fingerprint = fate.fingerprint.wrapping_add(pushed.change);
            } else if self.rules.drops {
                fate.dropped = true;
            } else {
                fate.cut = Some(Cut::InFlight);
            }
        }
        if row.observation != 0 {
            self.judge(world, row.observation, &mut fate);
        }
        if self.rules.has_consequences {
            self.consequences(world, action, row.local, &mut fate);
        }
        self.finish(world, &mut fate);
        fate
    }

    /// What a step changes besides, where somebody may be down or terms are bounded. Most searches
    /// know neither, so this stays out of their way.
    #[inline(never)]
    fn consequences(&mut self, world: &mut [u32], action: Action, local: u32, fate: &mut Fate) {
        if matches!(action.kind(), Kind::Crash | Kind::Recover) {
            self.clear_links_to_the_gone(world, fate);
        }
        if self.rules.layout.sessions {
            self.note_sessions(world, action, fate);
        }
        if self.rules.bounds_terms && self.memory.local(local).beyond {
            fate.cut = Some(Cut::Term);
        }
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

    /// What is under way between the sides does not arrive.
    fn clear_cut_links(&mut self, world: &mut [u32], fate: &mut Fate) {
        let layout = self.rules.layout;
        for slot in layout.link_slots() {
            let (from, to) = (layout.sender(slot), layout.receiver(slot));
            if world[slot] != 0 && self.rules.is_cut(world, from, to) {
                let queue = self.memory.queue(world[slot]);
                fate.fingerprint = fate.fingerprint.wrapping_sub(queue.fingerprint);
                self.set(world, slot, 0);
            }
        }
    }

    /// A unit of time: when nothing is due, something is under way, and no step is said.
    pub(crate) fn tick(&mut self, world: &mut [u32], fingerprint: u64) -> Option<Fate> {
        let layout = self.rules.layout;
        let due = self.rules.steered.contains_key(&fingerprint)
            || (0..layout.size).any(|p| self.memory.local(world[p]).urgent)
            || (0..layout.size).any(|p| self.rules.is_busy(world, p))
            || layout.link_slots().any(|slot| self.memory.queue(world[slot]).urgent);
        if due {
            return None;
        }
        let (mut later, mut moved) = (fingerprint, false);
        for (slot, part) in world[..layout.spent()].iter_mut().enumerate() {
            if slot >= layout.size && *part == 0 {
                continue;
            }
            let aged = self.memory.age(*part, slot >= layout.size);
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
