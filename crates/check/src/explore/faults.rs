//! What the environment may do against the protocol, within its budgets.

use std::sync::Arc;

use crate::explore::successors::{FAULT, Place, Prelude, Successor, Worker};
use crate::model::processes::NOT_FAIR;
use crate::world::Fault;
use crate::world::action::{Action, Cause, Kind};

impl Worker {
    pub(super) fn faults(&mut self, place: &mut Place<'_>, visit: &mut impl FnMut(Successor<'_>)) {
        let rules = Arc::clone(&self.rules);
        let left = |world: &[u32], fault| rules.left(world, fault) > 0;
        for (kind, fault) in [(Kind::Lose, Fault::Loss), (Kind::Duplicate, Fault::Duplication)] {
            if left(place.world, fault) {
                self.link_faults(place, kind, visit);
            }
        }
        if left(place.world, Fault::Partition) {
            let action = Action::new(Kind::Cut, 0, 0, 0);
            if let Some(fate) = self.perform(place.world, place.fingerprint, action) {
                visit(Successor { action, label: FAULT, world: place.world, fate });
            }
            self.undo(place.world);
        }
        for process in 0..rules.layout.size {
            let row = self.memory.local(place.world[process]);
            if row.mute {
                // That it does was decided, and paid for, when it became mute.
                let at = Action::new(Kind::Crash, process, 0, 0);
                let fair = self.ends[process];
                self.every_outcome(place, at, Prelude::default(), (fair, Cause::Crash), visit);
            }
            if row.may_crash && left(place.world, Fault::Crash) {
                let prelude = Prelude::of_fault(Fault::Crash);
                let at = Action::new(Kind::Crash, process, 0, 0);
                self.every_outcome(place, at, prelude, (FAULT, Cause::Crash), visit);
                if rules.mutes {
                    let at = Action::new(Kind::Mute, process, 0, 0);
                    self.every_outcome(place, at, prelude, (FAULT, Cause::Mute), visit);
                }
            }
            if row.down && left(place.world, Fault::Recovery) {
                let at = Action::new(Kind::Recover, process, 0, 0);
                let prelude = Prelude::of_fault(Fault::Recovery);
                self.every_outcome(place, at, prelude, (NOT_FAIR, Cause::Recover), visit);
            }
            let busy = row.down || rules.is_busy(place.world, process);
            if busy || !left(place.world, Fault::ApplicationMessage) {
                continue;
            }
            for peer in (0..rules.layout.size).filter(|peer| *peer != process) {
                let at = Action::new(Kind::Send, process, peer, 0);
                let prelude = Prelude::of_fault(Fault::ApplicationMessage);
                let cause = Cause::Send(peer as u32);
                self.every_outcome(place, at, prelude, (NOT_FAIR, cause), visit);
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
                match self.perform(place.world, place.fingerprint, action) {
                    Some(fate) => {
                        visit(Successor { action, label: FAULT, world: place.world, fate });
                    }
                    // Only a second one is impossible: the link is full.
                    None => self.left_out = true,
                }
                self.undo(place.world);
            }
        }
    }
}
