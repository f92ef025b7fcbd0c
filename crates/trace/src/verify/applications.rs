//! Verification of the applications that a leader serves, by their events.

use tenure_core::monitors::{OneTreePerWave, TransactionAtomicity, WriteDurability};
use tenure_core::service::{commit, leader_tree, replicated_list};
use tenure_core::{Finding, MonitorRun, Observation, ProcessId};

use crate::format::ApplicationEvent;

#[derive(Clone, Debug)]
pub(super) struct ApplicationVerifier {
    durability: MonitorRun<WriteDurability>,
    atomicity: MonitorRun<TransactionAtomicity>,
    one_tree: MonitorRun<OneTreePerWave>,
    /// One flag for each application: true if the trace contains an event of the application.
    has_events: [bool; 3],
}

impl ApplicationVerifier {
    pub(super) fn new() -> Self {
        ApplicationVerifier {
            durability: MonitorRun::new(WriteDurability::new()),
            atomicity: MonitorRun::new(TransactionAtomicity::new()),
            one_tree: MonitorRun::new(OneTreePerWave::new()),
            has_events: [false; 3],
        }
    }

    pub(super) fn on_event(&mut self, time: u64, at: ProcessId, event: &ApplicationEvent) {
        let ApplicationVerifier { durability, atomicity, one_tree, has_events } = self;
        match event {
            // Clock synchronization is best effort, so no event is wrong.
            ApplicationEvent::Clock(_) => {}
            ApplicationEvent::Replication(event) => {
                durability.observe::<replicated_list::Command, _>(
                    time,
                    at,
                    Observation::Event(event),
                );
                has_events[0] = true;
            }
            ApplicationEvent::Commit(event) => {
                atomicity.observe::<commit::Command, _>(time, at, Observation::Event(event));
                has_events[1] = true;
            }
            ApplicationEvent::Tree(event) => {
                one_tree.observe::<leader_tree::Command, _>(time, at, Observation::Event(event));
                has_events[2] = true;
            }
        }
    }

    /// Handles a crash of a process. Only the monitor of spanning trees observes crashes.
    pub(super) fn on_crash(&mut self, time: u64, at: ProcessId) {
        self.one_tree.observe::<leader_tree::Command, leader_tree::Event>(
            time,
            at,
            Observation::Crashed,
        );
    }

    /// Returns the verdicts of the monitors so far. Omits applications without events in the trace.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        let found = [
            self.durability.finding_so_far(),
            self.atomicity.finding_so_far(),
            self.one_tree.finding_so_far(),
        ];
        found
            .into_iter()
            .zip(self.has_events)
            .filter_map(|(finding, has_events)| has_events.then_some(finding))
    }
}
