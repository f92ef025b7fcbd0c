//! One delivery that stands for all steps of a world.
//!
//! On a ring in one direction, a process is given messages by the process before it only. When it
//! has nothing else to do than to take the first of them, nobody can prevent that step or change
//! what comes of it. If the step is also invisible (no monitor sees anything of it, its user waits
//! neither more nor less after it), then whatever can happen before it can happen after it just
//! as well, and looks the same: the step alone is an ample set.
//!
//! Nothing is put off for ever. Where deliveries that stand for others go on without end, every
//! link must be filled again and again, so everybody takes messages; and nobody has anything else
//! to do then, nor anything to take before its next message. So no step is passed over.

use tenure_core::Order;

use crate::explore::successors::Worker;
use crate::world::Faults;
use crate::world::action::{Action, Cause, Kind};
use crate::world::rules::Rules;

impl Rules {
    /// Whether one delivery can stand for all steps at all, as far as the environment goes.
    pub(crate) fn allow_ample(&self) -> bool {
        let hostile = self.budget != Faults::default() || self.somebody_may_be_down;
        let merging = self.rebases || self.renamings > 1;
        self.order == Order::Fifo && !self.timed && !self.detects && !hostile && !merging
    }
}

impl Worker {
    /// The link whose first message stands for everything that can happen in a world.
    pub(crate) fn ample(&mut self, world: &mut [u32], fingerprint: u64) -> Option<usize> {
        let layout = self.rules.layout;
        (0..layout.size).find_map(|process| {
            let before = (process + layout.size - 1) % layout.size;
            let slot = layout.link(before as u32, process as u32, false);
            let stands = world[slot] != 0
                && self.is_free(world[process], world[slot])
                && self.stays_within_bounds(world, fingerprint, slot);
            stands.then_some(slot)
        })
    }

    /// Whether a process can do nothing but take the first message of a queue, in one way, and
    /// nobody sees anything of it.
    fn is_free(&mut self, local: u32, queue: u32) -> bool {
        let before = self.memory.local(local);
        if self.memory.menu(before).next().is_some() {
            return false;
        }
        let queue = self.memory.queue(queue);
        let parcel = self.memory.item_of(queue, 0).parcel;
        let outcome = self.memory.outcome(local, Cause::Deliver(parcel));
        outcome.observation == 0
            && self.memory.next_outcome(outcome).is_none()
            && self.memory.local(outcome.local).stand == before.stand
    }

    /// Whether the first delivery of a link leads to a world that is explored: one beyond a
    /// declared bound stands for nothing.
    fn stays_within_bounds(&mut self, world: &mut [u32], fingerprint: u64, slot: usize) -> bool {
        let fate = self.perform(world, fingerprint, Action::new(Kind::Deliver, slot, 0, 0));
        self.undo(world);
        fate.is_some_and(|fate| fate.cut.is_none())
    }
}
