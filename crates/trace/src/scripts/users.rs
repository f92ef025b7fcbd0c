//! Test cluster whose users respect the rules of locks and barriers.

use std::collections::BTreeMap;

use tenure_core::service::{agreement, mutex};
use tenure_core::{EventConversions, Observation, ProcessId};

use crate::scripts::cluster::{ProcessEvent, TestCluster};
use crate::scripts::runner::{ActionError, ScriptRunner};
use crate::scripts::script::ScriptAction;
use crate::scripts::service_command::{RecordableProtocol, ServiceCommand};

/// Phase of a user: the user waits for the critical section, is inside it, or waits until the exit
/// is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Inside,
    Leaving,
}

/// Test cluster whose users issue only commands that a lock or a barrier permits. Therefore the
/// processes need not check commands.
pub(super) struct ClusterWithUsers<P: RecordableProtocol> {
    pub(super) cluster: TestCluster<P>,
    phases: BTreeMap<ProcessId, Phase>,
}

impl<P: RecordableProtocol> ClusterWithUsers<P> {
    pub(super) fn new(cluster: TestCluster<P>) -> Self {
        let mut staged = ClusterWithUsers { cluster, phases: BTreeMap::new() };
        staged.update_phases();
        staged
    }

    /// Delivers a message or fires a timer. Returns false if there is nothing to do.
    pub(super) fn take_step(&mut self) -> bool {
        let has_advanced = self.cluster.take_step(true);
        self.update_phases();
        has_advanced
    }

    pub(super) fn process_inside(&self) -> Option<ProcessId> {
        let inside = self.phases.iter().find(|(_, phase)| **phase == Phase::Inside);
        inside.map(|(at, _)| *at)
    }

    fn is_allowed(&self, action: &ScriptAction) -> bool {
        let ScriptAction::Command(script_command) = action else { return true };
        let phase = self.phases.get(&script_command.at);
        match script_command.verb.as_str() {
            "enter" | "arrive" => phase.is_none(),
            "exit" => phase == Some(&Phase::Inside),
            _ => true,
        }
    }

    /// Updates the phases of the users by the events since the last call of this method.
    fn update_phases(&mut self) {
        for (at, seen) in self.cluster.take_events() {
            let phase = match (&seen, seen.to_observation()) {
                (ProcessEvent::Command(command), _) => {
                    match command.to_script_command(at).verb.as_str() {
                        "enter" | "arrive" => Some(Phase::Waiting),
                        "exit" => Some(Phase::Leaving),
                        _ => continue,
                    }
                }
                (_, Observation::Event(event)) => match (event.as_mutex(), event.to_agreement()) {
                    (Some(mutex::Event::Entered { .. }), _) => Some(Phase::Inside),
                    (Some(mutex::Event::Exited), _) => None,
                    (None, Some(agreement::Event::Barrier(_))) => None,
                    _ => continue,
                },
                _ => None, // A crashed or recovered process has no request.
            };
            match phase {
                Some(phase) => drop(self.phases.insert(at, phase)),
                None => drop(self.phases.remove(&at)),
            }
        }
    }
}

impl<P: RecordableProtocol> ScriptRunner for ClusterWithUsers<P> {
    fn perform(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        if !self.is_allowed(action) {
            return Err(ActionError::NotPossible(action.clone()));
        }
        let done = self.cluster.perform(action);
        self.update_phases();
        done
    }
}
