use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Content, Event, Payload};

/// What is appended is committed once at most, and what is declined never.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommittedOnce {
    /// What may be declined yet.
    asked: BTreeMap<(ProcessId, u64), Payload>,
    /// By payload.
    known: BTreeMap<Payload, Counted>,
}

/// Of one payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Counted {
    /// How often it was appended and not declined.
    appended: u32,
    /// Where it is committed.
    at: BTreeSet<u64>,
}

impl CommittedOnce {
    /// Before anything was appended.
    pub fn new() -> Self {
        CommittedOnce::default()
    }

    fn judge(&self, at: ProcessId, payload: &Payload) -> Result<(), Violation> {
        let Some(known) = self.known.get(payload) else { return Ok(()) };
        if known.at.len() <= known.appended as usize {
            return Ok(());
        }
        let last = known.at.last().copied().unwrap_or_default();
        let says = match known.appended {
            0 => format!("{payload}, committed at {last}, was declined"),
            1 => format!("{payload}, committed at {last}, was appended once and is elsewhere"),
            more => format!("{payload}, committed at {last}, was appended {more} times only"),
        };
        Err(Violation { at, says })
    }
}

impl Monitor<Command, Event> for CommittedOnce {
    fn property(&self) -> Property {
        Property::AtMostOnce
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: Command::Append { ticket, payload }, .. } => {
                self.asked.insert((at, *ticket), payload.clone());
                self.known.entry(payload.clone()).or_default().appended += 1;
                Ok(())
            }
            Observed::Event(Event::Committed { index, entry }) => match &entry.content {
                Content::Payload(payload) => {
                    self.known.entry(payload.clone()).or_default().at.insert(*index);
                    self.judge(at, payload)
                }
                Content::Nothing | Content::Members(_) => Ok(()),
            },
            Observed::Crashed => {
                self.asked.retain(|(process, _), _| *process != at);
                Ok(())
            }
            Observed::Event(event) => {
                let Some(ticket) = event.answers() else { return Ok(()) };
                let Some(payload) = self.asked.remove(&(at, ticket)) else { return Ok(()) };
                if !matches!(event, Event::Declined { .. }) {
                    return Ok(());
                }
                self.known.entry(payload.clone()).or_default().appended -= 1;
                self.judge(at, &payload)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::log::{Entry, Reason};

    const ONE: ProcessId = ProcessId(0);

    fn appends(monitor: &mut CommittedOnce, ticket: u64) -> bool {
        let command = Command::Append { ticket, payload: Payload::from(7) };
        monitor.observe(ONE, Observed::Command { command: &command, clock: None }).is_ok()
    }

    fn tells(monitor: &mut CommittedOnce, event: &Event) -> bool {
        monitor.observe(ONE, Observed::Event(event)).is_ok()
    }

    fn committed(index: u64) -> Event {
        let content = Content::Payload(Payload::from(7));
        Event::Committed { index, entry: Entry { term: 1, content } }
    }

    fn declined(ticket: u64) -> Event {
        Event::Declined { ticket, reason: Reason::NotLeading, leader: None }
    }

    #[test]
    fn a_second_time_is_seen_and_being_told_twice_of_one_is_none() {
        let mut monitor = CommittedOnce::new();
        assert!(appends(&mut monitor, 1) && tells(&mut monitor, &committed(1)));
        assert!(tells(&mut monitor, &committed(1)));
        assert!(!tells(&mut monitor.clone(), &committed(2)));
        assert!(appends(&mut monitor, 2) && tells(&mut monitor, &committed(2)));
    }

    #[test]
    fn what_was_declined_is_not_committed_before_that_or_behind_it() {
        let mut monitor = CommittedOnce::new();
        assert!(appends(&mut monitor, 1));
        let mut early = monitor.clone();
        assert!(tells(&mut monitor, &declined(1)) && !tells(&mut monitor, &committed(1)));
        assert!(tells(&mut early, &committed(1)) && !tells(&mut early, &declined(1)));
        let unknown = Event::Unknown { ticket: 2 };
        let mut monitor = CommittedOnce::new();
        assert!(appends(&mut monitor, 2) && tells(&mut monitor, &unknown));
        assert!(tells(&mut monitor, &committed(1)));
    }
}
