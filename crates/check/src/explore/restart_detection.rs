//! Detection of restarted peers.
//!
//! When a peer restarts, the runtime sees a new session of that peer, however fast the restart was.
//! When a process detects the new session, the process suspects the peer. In its next step, the
//! process trusts the peer again. The failure detector of the process plays no part in this
//! detection. The detection may happen at any moment after the restart, and the search explores all
//! of these moments.

use crate::explore::successor::{ScratchWorld, StepResult, SuccessorVisitor};
use crate::explore::successors::SuccessorWorker;
use crate::model::fingerprint::{HashDomain, fingerprint};
use crate::world::action::{Action, ActionKind};

impl SuccessorWorker {
    /// Visits the steps by which processes detect restarts. A process first suspects a restarted
    /// peer. It trusts the peer again before it receives any other input.
    pub(super) fn visit_restart_detection_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        visit: &mut impl SuccessorVisitor,
    ) {
        let layout = self.rules.layout;
        let pairs = (0..layout.size).flat_map(|p| (0..layout.size).map(move |peer| (p, peer)));
        for (process, peer) in pairs {
            let bit = 1 << peer;
            let met = scratch.world[layout.pending_trust_slot(process)];
            let kind = if met & bit != 0 {
                ActionKind::RestartTrust
            } else if met == 0 && scratch.world[layout.undetected_restarts_slot(process)] & bit != 0
            {
                ActionKind::RestartSuspect
            } else {
                continue;
            };
            let label = self.restart_labels[process * layout.size + peer];
            self.visit_input(scratch, Action::new(kind, process, peer, 0), label, visit);
        }
    }

    /// Updates two sets of bits after a step. The first set contains the restarted peers whose new
    /// sessions the process has not detected yet. The second set contains the peer that the process
    /// must trust in its next step.
    pub(super) fn update_restart_detection(
        &mut self,
        world: &mut [u32],
        action: Action,
        result: &mut StepResult,
    ) {
        let (layout, process) = (self.rules.layout, action.slot());
        match action.kind() {
            // A rebooted process knows no earlier session of its peers.
            ActionKind::Crash => {
                self.set_bits(world, layout.undetected_restarts_slot(process), 0, result);
                self.set_bits(world, layout.pending_trust_slot(process), 0, result);
            }
            ActionKind::Recover => {
                for other in (0..layout.size).filter(|other| *other != process) {
                    if !self.cache.local_facts(world[other]).down {
                        let slot = layout.undetected_restarts_slot(other);
                        self.set_bits(world, slot, world[slot] | 1 << process, result);
                    }
                }
            }
            ActionKind::RestartSuspect => {
                let (slot, bit) = (layout.undetected_restarts_slot(process), 1 << action.item());
                self.set_bits(world, slot, world[slot] & !bit, result);
                self.set_bits(world, layout.pending_trust_slot(process), bit, result);
            }
            ActionKind::RestartTrust => {
                self.set_bits(world, layout.pending_trust_slot(process), 0, result)
            }
            _ => {}
        }
    }

    /// Replaces the bits in a slot, and updates the fingerprint of the global state.
    fn set_bits(&mut self, world: &mut [u32], slot: usize, bits: u32, result: &mut StepResult) {
        let print =
            |bits| if bits == 0 { 0 } else { fingerprint(HashDomain::Session, &(slot, bits)) };
        result.fingerprint =
            result.fingerprint.wrapping_sub(print(world[slot])).wrapping_add(print(bits));
        self.set_slot(world, slot, bits);
    }
}
