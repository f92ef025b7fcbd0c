use alloc::collections::BTreeSet;
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Content, Event, Payload};

/// What a user asked is answered once, by the process that was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AnsweredOnce(BTreeSet<(ProcessId, u64)>);

impl AnsweredOnce {
    /// Before anything was asked.
    pub fn new() -> Self {
        AnsweredOnce::default()
    }
}

impl Monitor<Command, Event> for AnsweredOnce {
    fn property(&self) -> Property {
        Property::Integrity
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command, .. } => {
                self.0.insert((at, command.ticket()));
            }
            Observed::Crashed => self.0.retain(|(process, _)| *process != at),
            Observed::Event(event) => {
                if let Some(ticket) = event.answers()
                    && !self.0.remove(&(at, ticket))
                {
                    let says = format!("{at} answers {ticket}, for which nobody waits");
                    return Err(Violation { at, says });
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What is committed was appended by somebody, and what a process begins with was handed over by
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Appended {
    payloads: BTreeSet<Payload>,
    /// By index: what a state machine had come to.
    states: BTreeSet<(u64, Payload)>,
}

impl Appended {
    /// Before anything was appended.
    pub fn new() -> Self {
        Appended::default()
    }
}

impl Monitor<Command, Event> for Appended {
    fn property(&self) -> Property {
        Property::NoCreation
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: Command::Append { payload, .. }, .. } => {
                self.payloads.insert(payload.clone());
            }
            Observed::Command { command: Command::Compact { index, state, .. }, .. } => {
                self.states.insert((*index, state.clone()));
            }
            Observed::Event(Event::Restored { index, state, .. })
                if !self.states.contains(&(*index, state.clone())) =>
            {
                let says =
                    format!("{at} begins with {state} as of {index}, to which nobody had come");
                return Err(Violation { at, says });
            }
            Observed::Event(Event::Committed { index, entry }) => {
                if let Content::Payload(payload) = &entry.content
                    && !self.payloads.contains(payload)
                {
                    let says = format!("{payload}, committed at {index}, was never appended");
                    return Err(Violation { at, says });
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
    fn a_second_answer_and_one_after_a_crash_are_seen() {
        let answer = Event::Answered { ticket: 1, index: 0 };
        let command = Command::Read { ticket: 1 };
        let mut monitor = AnsweredOnce::new();
        let asked = Observed::Command { command: &command, clock: None };
        assert_eq!(monitor.observe(ONE, asked), Ok(()));
        let mut crashed = monitor.clone();
        assert_eq!(monitor.observe(ONE, Observed::Event(&answer)), Ok(()));
        assert!(monitor.observe(ONE, Observed::Event(&answer)).is_err());
        assert_eq!(crashed.observe(ONE, Observed::Crashed), Ok(()));
        assert!(crashed.observe(ONE, Observed::Event(&answer)).is_err());
    }

    #[test]
    fn what_nobody_appended_is_seen() {
        let payload = Payload::from(7);
        let entry = Entry { term: 1, content: Content::Payload(payload.clone()) };
        let committed = Event::Committed { index: 1, entry };
        let mut monitor = Appended::new();
        assert!(monitor.clone().observe(ONE, Observed::Event(&committed)).is_err());
        let command = Command::Append { ticket: 1, payload };
        let asked = Observed::Command { command: &command, clock: None };
        assert_eq!(monitor.observe(ONE, asked), Ok(()));
        assert_eq!(monitor.observe(ONE, Observed::Event(&committed)), Ok(()));
    }

    #[test]
    fn a_snapshot_that_nobody_handed_over_is_seen() {
        let state = Payload::from(7);
        let members = alloc::boxed::Box::default();
        let restored = Event::Restored { index: 2, term: 1, members, state: state.clone() };
        for (index, holds) in [(2, true), (1, false)] {
            let mut monitor = Appended::new();
            let command = Command::Compact { ticket: 1, index, state: state.clone() };
            let asked = Observed::Command { command: &command, clock: None };
            assert_eq!(monitor.observe(ONE, asked), Ok(()));
            assert_eq!(monitor.observe(ONE, Observed::Event(&restored)).is_ok(), holds);
        }
    }
}
