//! The steps of a synchronous round, in which all processes step together.
//!
//! A round is one unit of time, and has four parts. First, users issue their commands. Second,
//! processes may crash; if a process crashes, each of its messages that has not arrived yet may be
//! lost. These include the messages that it sent at the end of the previous round. Third, time
//! passes. Fourth, one process after the other ends its round: it receives its messages in any
//! order, and then its timers fire.
//!
//! The processes end a round in a fixed order, because no process can notice this order: a message
//! that is sent at the end of a round arrives only at the end of the next round.

use crate::explore::step_setup::ChangesBeforeInput;
use crate::explore::successor::{FAULT_LABEL, ScratchWorld, Successor, SuccessorVisitor};
use crate::explore::successors::SuccessorWorker;
use crate::world::action::{Action, ActionKind, ProcessInput};

/// One of the three groups of steps that a process takes in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Command,
    /// The process receives the messages that arrive at the end of the round.
    Messages,
    Timers,
}

impl SuccessorWorker {
    /// Visits the steps of the process that must step next in the round. Returns false if no
    /// process must take a step: then processes may crash, or time passes.
    pub(super) fn visit_round_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        visit: &mut impl SuccessorVisitor,
    ) -> bool {
        let Some((process, part)) = self.next_in_round(scratch.world) else { return false };
        if part == Part::Messages {
            for slot in self.rules.layout.link_slots() {
                if self.rules.layout.receiver(slot) == process && scratch.world[slot] != 0 {
                    self.round_end_steps(scratch, slot, visit);
                }
            }
            return true;
        }
        for (item, entry) in self.cache.enabled_inputs(scratch.world[process]).enumerate() {
            let (cause, label) = self.cache.enabled_input(entry);
            let is_command = matches!(cause, ProcessInput::Command(_));
            if is_command != (part == Part::Command) {
                continue;
            }
            // Users issue commands as soon as they can, so a fair run must take these steps.
            let label = if is_command {
                self.rules.network.intern_label(7 << 40, process as u64)
            } else {
                label
            };
            let at = Action::new(ActionKind::Internal, process, item, 0);
            self.visit_outcomes(scratch, at, ChangesBeforeInput::default(), (label, cause), visit);
        }
        true
    }

    /// Returns true if some process must still take a step of the current round before time passes.
    pub(super) fn has_round_step_left(&mut self, world: &[u32]) -> bool {
        self.rules.has_rounds && self.next_in_round(world).is_some()
    }

    /// Returns the process that must step next in the round, and the part of its steps. `None` if
    /// no process must take a step before time passes.
    fn next_in_round(&mut self, world: &[u32]) -> Option<(usize, Part)> {
        let layout = self.rules.layout;
        let processes = 0..layout.size;
        if let Some(process) =
            processes.clone().find(|process| self.cache.local_facts(world[*process]).has_command)
        {
            return Some((process, Part::Command));
        }
        processes.into_iter().find_map(|process| {
            let mut links = layout.link_slots().filter(|slot| layout.receiver(*slot) == process);
            if links.any(|slot| self.cache.cached_queue(world[slot]).is_urgent) {
                return Some((process, Part::Messages));
            }
            let is_due = self.cache.local_facts(world[process]).is_urgent;
            is_due.then_some((process, Part::Timers))
        })
    }

    /// Visits the deliveries of the messages on a link. If the sender has crashed in this round,
    /// also visits their losses.
    fn round_end_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        slot: usize,
        visit: &mut impl SuccessorVisitor,
    ) {
        self.visit_delivery_steps(scratch, slot, visit);
        if !self.has_sender_crashed(scratch.world, slot) {
            return;
        }
        let row = self.cache.cached_queue(scratch.world[slot]);
        for item in 0..self.cache.item_indices(row).len() {
            let action = Action::new(ActionKind::Lose, slot, item, 0);
            if let Some(result) = self.perform(scratch.world, scratch.fingerprint, action) {
                visit(Successor { action, label: FAULT_LABEL, world: scratch.world, result });
            }
            self.undo_changes(scratch.world);
        }
    }

    /// Returns true if the sender of a link has crashed in the current round. Any of the messages
    /// on the link may then be lost. Returns false if the search has no rounds.
    pub(super) fn has_sender_crashed(&mut self, world: &[u32], slot: usize) -> bool {
        self.rules.has_rounds && self.cache.local_facts(world[self.rules.layout.sender(slot)]).down
    }
}
