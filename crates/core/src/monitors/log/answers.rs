//! Monitors of the users of a log: answers to commands, and the origin of committed payloads.

use alloc::collections::BTreeSet;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Content, Event, Payload};

/// Monitor of answers: each command is answered at most once, by the process that received it. The
/// commands that a process received before a crash are not answered after the crash. The set
/// contains the process and the ticket of each pending command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AnsweredOnce(BTreeSet<(ProcessId, u64)>);

impl Monitor<Command, Event> for AnsweredOnce {
    fn property(&self) -> Property {
        Property::Integrity
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command, .. } => {
                self.0.insert((at, command.ticket()));
            }
            Observation::Crashed => self.0.retain(|(process, _)| *process != at),
            Observation::Event(event) => {
                if let Some(ticket) = event.answered_ticket()
                    && !self.0.remove(&(at, ticket))
                {
                    return violated(at, format!("{at} answers {ticket}, which is not pending"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Monitor of the origin of entries and snapshots: some user appended each committed payload, and
/// some user provided each restored snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommittedWasAppended {
    payloads: BTreeSet<Payload>,
    /// Snapshots that users provided. Each element contains the index of the last entry that the
    /// snapshot covers, and the state of the state machine after that entry.
    states: BTreeSet<(u64, Payload)>,
}

impl Monitor<Command, Event> for CommittedWasAppended {
    fn property(&self) -> Property {
        Property::NoCreation
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Append { payload, .. }, .. } => {
                self.payloads.insert(payload.clone());
            }
            Observation::Command { command: Command::Compact { index, state, .. }, .. } => {
                self.states.insert((*index, state.clone()));
            }
            Observation::Event(Event::Restored { index, state, .. })
                if !self.states.contains(&(*index, state.clone())) =>
            {
                let message =
                    format!("{at} begins with {state} as of {index}, which no user provided");
                return violated(at, message);
            }
            Observation::Event(Event::Committed { index, entry }) => {
                if let Content::Payload(payload) = &entry.content
                    && !self.payloads.contains(payload)
                {
                    let message = format!("{payload}, committed at {index}, was never appended");
                    return violated(at, message);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::log::Entry;

    const ONE: ProcessId = ProcessId(0);

    #[test]
    fn detects_second_answer_and_answer_after_crash() {
        let answer = Event::Answered { ticket: 1, index: 0 };
        let command = Command::Read { ticket: 1 };
        let mut monitor = AnsweredOnce::default();
        let issued = Observation::Command { command: &command, clock: None };
        assert_eq!(monitor.observe(ONE, issued), Ok(()));
        let mut crashed = monitor.clone();
        assert_eq!(monitor.observe(ONE, Observation::Event(&answer)), Ok(()));
        assert!(monitor.observe(ONE, Observation::Event(&answer)).is_err());
        assert_eq!(crashed.observe(ONE, Observation::Crashed), Ok(()));
        assert!(crashed.observe(ONE, Observation::Event(&answer)).is_err());
    }

    #[test]
    fn detects_entry_that_was_never_appended() {
        let payload = Payload::from(7);
        let entry = Entry { term: 1, content: Content::Payload(payload.clone()) };
        let committed = Event::Committed { index: 1, entry };
        let mut monitor = CommittedWasAppended::default();
        assert!(monitor.clone().observe(ONE, Observation::Event(&committed)).is_err());
        let command = Command::Append { ticket: 1, payload };
        let issued = Observation::Command { command: &command, clock: None };
        assert_eq!(monitor.observe(ONE, issued), Ok(()));
        assert_eq!(monitor.observe(ONE, Observation::Event(&committed)), Ok(()));
    }

    #[test]
    fn detects_snapshot_that_no_user_provided() {
        let state = Payload::from(7);
        let members = alloc::boxed::Box::default();
        let restored = Event::Restored { index: 2, term: 1, members, state: state.clone() };
        for (index, holds) in [(2, true), (1, false)] {
            let mut monitor = CommittedWasAppended::default();
            let command = Command::Compact { ticket: 1, index, state: state.clone() };
            let issued = Observation::Command { command: &command, clock: None };
            assert_eq!(monitor.observe(ONE, issued), Ok(()));
            assert_eq!(monitor.observe(ONE, Observation::Event(&restored)).is_ok(), holds);
        }
    }
}
