//! New sessions of peers: whoever comes back is met by the others, one by one.
//!
//! The runtime knows by the session that a peer crashed, however quickly it came back, and tells
//! the protocol so: a suspicion, and in the next step at that process the opposite. Its detector
//! is not asked. Here that happens at any moment after the peer has come back.

use crate::explore::successors::{Fate, Place, Prelude, Successor, Worker};
use crate::model::fingerprint::{Role, fingerprint};
use crate::world::action::{Action, Cause, Kind};

impl Worker {
    /// Shows the meetings that are due, and the greetings, which nothing at their process
    /// precedes.
    pub(super) fn meetings(
        &mut self,
        place: &mut Place<'_>,
        visit: &mut impl FnMut(Successor<'_>),
    ) {
        let layout = self.rules.layout;
        let pairs = (0..layout.size).flat_map(|p| (0..layout.size).map(move |peer| (p, peer)));
        for (process, peer) in pairs {
            let bit = 1 << peer;
            let met = place.world[layout.met(process)];
            let (kind, cause) = if met & bit != 0 {
                (Kind::Greet, Cause::Greet(peer as u32))
            } else if met == 0 && place.world[layout.unmet(process)] & bit != 0 {
                (Kind::Meet, Cause::Meet(peer as u32))
            } else {
                continue;
            };
            let label = self.meetings[process * layout.size + peer];
            let at = Action::new(kind, process, peer, 0);
            self.every_outcome(place, at, Prelude::default(), (label, cause), visit);
        }
    }

    /// Takes note of who has to meet whom after a step.
    pub(super) fn note_sessions(&mut self, world: &mut [u32], action: Action, fate: &mut Fate) {
        let (layout, process) = (self.rules.layout, action.place());
        match action.kind() {
            // Whoever boots knows of no session before its own.
            Kind::Crash => {
                self.put(world, layout.unmet(process), 0, fate);
                self.put(world, layout.met(process), 0, fate);
            }
            Kind::Recover => {
                for other in (0..layout.size).filter(|other| *other != process) {
                    if !self.memory.local(world[other]).down {
                        let slot = layout.unmet(other);
                        self.put(world, slot, world[slot] | 1 << process, fate);
                    }
                }
            }
            Kind::Meet => {
                let (slot, bit) = (layout.unmet(process), 1 << action.item());
                self.put(world, slot, world[slot] & !bit, fate);
                self.put(world, layout.met(process), bit, fate);
            }
            Kind::Greet => self.put(world, layout.met(process), 0, fate),
            _ => {}
        }
    }

    fn put(&mut self, world: &mut [u32], slot: usize, bits: u32, fate: &mut Fate) {
        let print = |bits| if bits == 0 { 0 } else { fingerprint(Role::Session, &(slot, bits)) };
        fate.fingerprint =
            fate.fingerprint.wrapping_sub(print(world[slot])).wrapping_add(print(bits));
        self.set(world, slot, bits);
    }
}
