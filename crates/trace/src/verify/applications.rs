//! What is done under a leader, judged by what users are told of it.

use tenure_core::monitors::{Atomicity, Durability, OneTree};
use tenure_core::service::{commit, replication, tree};
use tenure_core::{Finding, Juror, Observed, ProcessId};

use crate::format::ApplicationEvent;

/// Judges the applications of which a trace tells anything.
#[derive(Clone, Debug)]
pub(super) struct Applications {
    durability: Juror<Durability>,
    atomicity: Juror<Atomicity>,
    one_tree: Juror<OneTree>,
    /// Of which of them a user was told.
    told: [bool; 3],
}

impl Applications {
    /// Before anything happened.
    pub(super) fn new() -> Self {
        Applications {
            durability: Juror::new(Durability::new()),
            atomicity: Juror::new(Atomicity::new()),
            one_tree: Juror::new(OneTree::new()),
            told: [false; 3],
        }
    }

    /// A user was told something.
    pub(super) fn told(&mut self, time: u64, at: ProcessId, event: &ApplicationEvent) {
        let Applications { durability, atomicity, one_tree, told } = self;
        match event {
            // Clocks come together as well as they can: nothing that is said of them is wrong.
            ApplicationEvent::Clock(_) => {}
            ApplicationEvent::Replication(event) => {
                durability.observe::<replication::Command, _>(time, at, Observed::Event(event));
                told[0] = true;
            }
            ApplicationEvent::Commit(event) => {
                atomicity.observe::<commit::Command, _>(time, at, Observed::Event(event));
                told[1] = true;
            }
            ApplicationEvent::Tree(event) => {
                one_tree.observe::<tree::Command, _>(time, at, Observed::Event(event));
                told[2] = true;
            }
        }
    }

    /// A process crashed, which only trees are judged by.
    pub(super) fn crashed(&mut self, time: u64, at: ProcessId) {
        self.one_tree.observe::<tree::Command, tree::Event>(time, at, Observed::Crashed);
    }

    /// What was found so far.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let found = [self.durability.finding(), self.atomicity.finding(), self.one_tree.finding()];
        found.into_iter().zip(self.told).filter_map(|(finding, told)| told.then_some(finding))
    }
}
