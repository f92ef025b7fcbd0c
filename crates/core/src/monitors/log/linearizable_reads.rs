//! Monitor of the reads of a log.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Event};

/// Monitor of linearizable reads. The answer to a read states an index, and covers all entries up
/// to this index. The answer must cover every entry that was known to be committed when the read
/// was issued. An entry is known to be committed if the user of any process has received an
/// acknowledgement of the entry, or an answer that covers the entry. A process that receives an
/// answer must have applied all entries that the answer covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinearizableReads {
    /// Highest index that is known to be committed: the highest index in all acknowledgements and
    /// answers so far.
    known: u64,
    /// Pending reads. The key is the reader and the ticket, which is the number of the read
    /// command. The value is the highest index that was known to be committed when the read was
    /// issued.
    pending: BTreeMap<(ProcessId, u64), u64>,
    /// Index of the last entry that each live process has applied.
    applied: BTreeMap<ProcessId, u64>,
}

impl LinearizableReads {
    fn answer(&mut self, at: ProcessId, ticket: u64, index: u64) -> MonitorResult {
        let least = self.pending.remove(&(at, ticket)).unwrap_or(0);
        let applied = self.applied.get(&at).copied().unwrap_or(0);
        self.known = self.known.max(index);
        if index >= least && applied >= index {
            return Ok(());
        }
        let message = if index < least {
            format!("{at} answers {ticket} as of {index}, but {least} was known when it was issued")
        } else {
            format!("{at} answers {ticket} as of {index}, and has applied only up to {applied}")
        };
        violated(at, message)
    }
}

impl Monitor<Command, Event> for LinearizableReads {
    fn property(&self) -> Property {
        Property::LinearizableReads
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Read { ticket }, .. } => {
                self.pending.insert((at, *ticket), self.known);
            }
            Observation::Event(Event::Acknowledged { index, .. }) => {
                self.known = self.known.max(*index);
            }
            Observation::Event(Event::Answered { ticket, index }) => {
                return self.answer(at, *ticket, *index);
            }
            Observation::Event(Event::Declined { ticket, .. }) => {
                self.pending.remove(&(at, *ticket));
            }
            Observation::Event(Event::Committed { index, .. } | Event::Restored { index, .. }) => {
                self.applied.insert(at, *index);
            }
            Observation::Crashed => {
                self.applied.remove(&at);
                self.pending.retain(|(process, _), _| *process != at);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::log::{Content, Entry};

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    #[test]
    fn detects_stale_read() {
        let entry = Entry { term: 1, content: Content::Nothing };
        let committed = Event::Committed { index: 1, entry };
        let acknowledged = Event::Acknowledged { ticket: 7, index: 1 };
        let read = Command::Read { ticket: 1 };
        let issued = || Observation::Command { command: &read, clock: None };
        let answer = |index| Event::Answered { ticket: 1, index };
        let mut monitor = LinearizableReads::default();
        let mut early = monitor.clone();
        for (at, event) in [(ONE, &committed), (ONE, &acknowledged)] {
            assert_eq!(monitor.observe(at, Observation::Event(event)), Ok(()));
        }
        assert_eq!(monitor.observe(TWO, issued()), Ok(()));
        assert!(monitor.clone().observe(TWO, Observation::Event(&answer(0))).is_err());
        assert!(
            monitor.clone().observe(TWO, Observation::Event(&answer(1))).is_err(),
            "not applied yet"
        );
        assert_eq!(monitor.observe(TWO, Observation::Event(&committed)), Ok(()));
        assert_eq!(monitor.observe(TWO, Observation::Event(&answer(1))), Ok(()));
        // A read that was issued before the entry was known to be committed need not observe the
        // entry.
        assert_eq!(early.observe(TWO, issued()), Ok(()));
        assert_eq!(early.observe(ONE, Observation::Event(&committed)), Ok(()));
        assert_eq!(early.observe(ONE, Observation::Event(&acknowledged)), Ok(()));
        assert_eq!(early.observe(TWO, Observation::Event(&answer(0))), Ok(()));
    }
}
