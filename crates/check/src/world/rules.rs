//! What is fixed about a search: the layout of its worlds, its budgets, its protocol.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_core::Order;

use crate::model::Model;
use crate::world::action::Action;
use crate::world::parcel::Freight;
use crate::world::{Fault, Faults, Layout};

/// The rules of a search, shared by all threads.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) layout: Layout,
    pub(crate) order: Order,
    /// Whether time is synchronous.
    pub(crate) timed: bool,
    pub(crate) budget: Faults,
    /// Whether a crash can come between a save and the release of what it lets go.
    pub(crate) mutes: bool,
    /// Whether detectors speak of crashes.
    pub(crate) detects: bool,
    /// Who is on one side of the partition that may come, as bits; 0 for none.
    pub(crate) side: u32,
    /// Whether anybody can be down.
    pub(crate) somebody_may_be_down: bool,
    pub(crate) rebases: bool,
    /// Whether one delivery may stand for all steps of a world: every process is sent to by the
    /// one before it only.
    pub(crate) ample: bool,
    /// How many ways there are to exchange names; 1 where names matter.
    pub(crate) renamings: usize,
    /// Whether a term can lie beyond a declared bound.
    pub(crate) bounds_terms: bool,
    /// Whether a step changes more than its process, its links and the monitors: somebody may be
    /// down, or a term beyond its bound.
    pub(crate) has_consequences: bool,
    /// Whether the protocol says how its stamps shift.
    pub(crate) stamped: bool,
    /// Whether a message that finds its link full is lost; else worlds with it are cut.
    pub(crate) drops: bool,
    /// By the fingerprint of a world before the search: the step that is taken there, and no other.
    pub(crate) steered: HashMap<u64, Action>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) freight: Arc<Freight>,
}

impl Rules {
    /// How much of a budget is left.
    pub(crate) fn left(&self, world: &[u32], fault: Fault) -> u32 {
        let spent = Faults(world[self.layout.spent()]);
        self.budget.of(fault).saturating_sub(spent.of(fault))
    }

    /// Whether nothing passes between two processes.
    pub(crate) fn is_cut(&self, world: &[u32], from: usize, to: usize) -> bool {
        let sides = (self.side >> from ^ self.side >> to) & 1;
        sides != 0 && Faults(world[self.layout.spent()]).of(Fault::Partition) > 0
    }

    /// Whether a process has something to be told before anything else can happen there.
    #[inline]
    pub(crate) fn is_busy(&self, world: &[u32], process: usize) -> bool {
        self.layout.sessions && world[self.layout.met(process)] != 0
    }

    /// Whether what is under way on a link waits for its receiver to be told something else.
    #[inline]
    pub(crate) fn waits(&self, world: &[u32], slot: usize) -> bool {
        self.layout.sessions && self.is_busy(world, self.layout.receiver(slot))
    }
}
