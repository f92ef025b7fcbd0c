use alloc::format;

use crate::cost::{Cost, Per};
use crate::monitor::{Monitor, Observed, OfElection, OfMutex, Violation};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::{election, mutex};

/// Entries, or elections, take no more messages than they may; and, where a card says exactly how
/// many an entry takes, no fewer in the end.
///
/// Each request to enter is a credit, of which every message takes one. Of elections the first is
/// judged: whoever has been told who leads and calls for another begins it while messages of the
/// first are still under way, and no card says what the two cost together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spending {
    per: Per,
    most: u64,
    exact: bool,
    /// How many messages may still be sent.
    credit: u64,
    /// Of a lock, who has asked and not left again; of an election, who knows who leads.
    marked: ProcessSet,
    /// Whether another election has begun.
    over: bool,
}

impl Spending {
    /// As a card says; nothing where it gives no bound to what is sent.
    pub fn within(cost: &Cost) -> Option<Self> {
        let most = cost.most.filter(|_| cost.is_promise())?;
        let exact = cost.per == Per::Entry && cost.exactly().is_some();
        Some(Spending { exact, ..Spending::at_most(cost.per, most) })
    }

    /// At most so many for each.
    pub fn at_most(per: Per, most: u64) -> Self {
        let credit = if per == Per::Election { most } else { 0 };
        Spending { per, most, exact: false, credit, marked: ProcessSet::new(), over: false }
    }

    fn spend(&mut self, at: ProcessId) -> Result<(), Violation> {
        let each = match self.per {
            Per::Election => "an election",
            _ => "an entry",
        };
        if self.over {
            return Ok(());
        }
        let (most, left) = (self.most, self.credit.checked_sub(1));
        self.credit = left.ok_or_else(|| {
            let says = format!("{at} sends more than the {most} messages that {each} may take");
            Violation { at, says }
        })?;
        Ok(())
    }
}

impl Monitor<mutex::Command, mutex::Event> for Spending {
    fn property(&self) -> Property {
        Property::Cost
    }

    fn observe(&mut self, at: ProcessId, seen: OfMutex<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: mutex::Command::Enter, .. } => {
                self.credit += self.most;
                self.marked.insert(at);
            }
            Observed::Event(mutex::Event::Exited) => {
                self.marked.remove(at);
            }
            Observed::Sent { .. } => return self.spend(at),
            _ => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        if !self.exact || self.credit == 0 || !self.marked.is_empty() {
            return Ok(());
        }
        let (credit, most) = (self.credit, self.most);
        let says = format!("{credit} messages are missing: an entry takes {most}, no fewer");
        Err(Violation { at: ProcessId(0), says })
    }
}

impl Monitor<election::Command, election::Event> for Spending {
    fn property(&self) -> Property {
        Property::Cost
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: election::Command::Elect, .. }
                if self.marked.contains(at) =>
            {
                // Nothing is remembered any more, so that the worlds of a checker are fewer.
                let over = Spending::at_most(self.per, self.most);
                *self = Spending { over: true, ..over };
            }
            Observed::Event(election::Event::Elected { .. }) if !self.over => {
                self.marked.insert(at);
            }
            Observed::Sent { .. } => return self.spend(at),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Fence, Term};

    const ENTER: OfMutex<'static> =
        Observed::Command { command: &mutex::Command::Enter, clock: None };
    const EXITED: OfMutex<'static> = Observed::Event(&mutex::Event::Exited);
    const SENT: OfMutex<'static> = Observed::Sent { to: ProcessId(1) };

    fn lock(most: u64, least: u64) -> Spending {
        Spending::within(&Cost::per_entry("a formula", least, Some(most))).expect("a bound")
    }

    #[test]
    fn an_entry_pays_for_its_own_messages_and_for_no_others() {
        let mut spending = lock(2, 0);
        let mut see = |seen| spending.observe(ProcessId(0), seen);
        assert_eq!(see(ENTER), Ok(()));
        assert_eq!(see(SENT), Ok(()));
        assert_eq!(see(Observed::Event(&mutex::Event::Entered { fence: Fence(0, 1) })), Ok(()));
        assert_eq!(see(SENT), Ok(()));
        let says = see(SENT).expect_err("it is one too many").says;
        assert_eq!(says, "P1 sends more than the 2 messages that an entry may take");
    }

    #[test]
    fn what_is_not_sent_is_missed_only_once_everybody_has_left() {
        let ends = |spending: &Spending| {
            Monitor::<mutex::Command, mutex::Event>::at_end(spending).map_err(|it| it.says)
        };
        let mut spending = lock(1, 1);
        spending.observe(ProcessId(0), ENTER).expect("nothing was sent");
        assert_eq!(ends(&spending), Ok(()), "it waits");
        spending.observe(ProcessId(0), EXITED).expect("it may");
        assert!(ends(&spending).is_err_and(|says| says.starts_with("1 messages are missing")));
        spending.observe(ProcessId(1), SENT).expect("it may");
        assert_eq!(ends(&spending), Ok(()));
        assert_eq!(Spending::within(&Cost::per_entry("no bound", 1, None)), None);
    }

    #[test]
    fn an_election_is_judged_until_another_begins() {
        let mut spending = Spending::at_most(Per::Election, 1);
        let elect: OfElection<'_> =
            Observed::Command { command: &election::Command::Elect, clock: None };
        let sent = OfElection::Sent { to: ProcessId(1) };
        let term = Term { number: 0, leader: ProcessId(1) };
        let elected = election::Event::Elected { leader: ProcessId(1), term };
        for at in [0, 1] {
            spending.observe(ProcessId(at), elect).expect("nothing was sent");
        }
        spending.observe(ProcessId(0), sent).expect("one may be sent");
        assert!(spending.clone().observe(ProcessId(0), sent).is_err());
        spending.observe(ProcessId(0), Observed::Event(&elected)).expect("it is told");
        spending.observe(ProcessId(0), elect).expect("it begins another");
        for _ in 0..3 {
            assert_eq!(spending.observe(ProcessId(0), sent), Ok(()));
        }
    }
}
