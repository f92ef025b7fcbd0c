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

/// What is committed was appended by somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Appended(BTreeSet<Payload>);

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
                self.0.insert(payload.clone());
            }
            Observed::Event(Event::Committed { index, entry }) => {
                if let Content::Payload(payload) = &entry.content
                    && !self.0.contains(payload)
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
}
