//! Monitor of entries that are committed twice, or committed although they were declined.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Content, Event, Payload};

/// Monitor of committed payloads: a payload is committed at most as often as it was appended.
/// Append commands that were declined do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommittedOnce {
    /// Payloads of append commands that may still be declined, by process and ticket of the
    /// command.
    pending: BTreeMap<(ProcessId, u64), Payload>,
    known: BTreeMap<Payload, PayloadState>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct PayloadState {
    /// Number of times that the payload was appended and not declined.
    appended: u32,
    /// Indices of the log at which the payload is committed.
    at: BTreeSet<u64>,
}

impl CommittedOnce {
    /// Returns an error if the payload is committed more often than it was appended.
    fn judge(&self, at: ProcessId, payload: &Payload) -> MonitorResult {
        let Some(known) = self.known.get(payload) else { return Ok(()) };
        if known.at.len() <= known.appended as usize {
            return Ok(());
        }
        let last = known.at.last().copied().unwrap_or_default();
        let message = match known.appended {
            0 => format!("{payload}, committed at {last}, was declined"),
            1 => format!("{payload}, committed at {last}, was appended once and is elsewhere"),
            more => format!("{payload}, committed at {last}, was appended {more} times only"),
        };
        violated(at, message)
    }
}

impl Monitor<Command, Event> for CommittedOnce {
    fn property(&self) -> Property {
        Property::AtMostOnce
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Append { ticket, payload }, .. } => {
                self.pending.insert((at, *ticket), payload.clone());
                self.known.entry(payload.clone()).or_default().appended += 1;
                Ok(())
            }
            Observation::Event(Event::Committed { index, entry }) => match &entry.content {
                Content::Payload(payload) => {
                    self.known.entry(payload.clone()).or_default().at.insert(*index);
                    self.judge(at, payload)
                }
                Content::Nothing | Content::Members(_) => Ok(()),
            },
            Observation::Crashed => {
                self.pending.retain(|(process, _), _| *process != at);
                Ok(())
            }
            Observation::Event(event) => {
                let Some(ticket) = event.answered_ticket() else { return Ok(()) };
                let Some(payload) = self.pending.remove(&(at, ticket)) else { return Ok(()) };
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
    use crate::service::log::{DeclineReason, Entry};

    const ONE: ProcessId = ProcessId(0);

    fn appends(monitor: &mut CommittedOnce, ticket: u64) -> bool {
        let command = Command::Append { ticket, payload: Payload::from(7) };
        monitor.observe(ONE, Observation::Command { command: &command, clock: None }).is_ok()
    }

    fn receives(monitor: &mut CommittedOnce, event: &Event) -> bool {
        monitor.observe(ONE, Observation::Event(event)).is_ok()
    }

    fn committed(index: u64) -> Event {
        let content = Content::Payload(Payload::from(7));
        Event::Committed { index, entry: Entry { term: 1, content } }
    }

    fn declined(ticket: u64) -> Event {
        Event::Declined { ticket, reason: DeclineReason::NotLeading, leader: None }
    }

    #[test]
    fn detects_second_commit_of_payload() {
        let mut monitor = CommittedOnce::default();
        assert!(appends(&mut monitor, 1) && receives(&mut monitor, &committed(1)));
        assert!(receives(&mut monitor, &committed(1)));
        assert!(!receives(&mut monitor.clone(), &committed(2)));
        assert!(appends(&mut monitor, 2) && receives(&mut monitor, &committed(2)));
    }

    #[test]
    fn detects_commit_of_declined_entry() {
        let mut monitor = CommittedOnce::default();
        assert!(appends(&mut monitor, 1));
        let mut early = monitor.clone();
        assert!(receives(&mut monitor, &declined(1)) && !receives(&mut monitor, &committed(1)));
        assert!(receives(&mut early, &committed(1)) && !receives(&mut early, &declined(1)));
        let unknown = Event::Unknown { ticket: 2 };
        let mut monitor = CommittedOnce::default();
        assert!(appends(&mut monitor, 2) && receives(&mut monitor, &unknown));
        assert!(receives(&mut monitor, &committed(1)));
    }
}
