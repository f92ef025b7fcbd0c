//! Monitor of the message cost that a card states.

use alloc::format;

use crate::cost::{CostUnit, MessageCost};
use crate::monitor::{
    ElectionObservation, Monitor, MonitorResult, MutexObservation, Observation, Violation, violated,
};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::{election, mutex};

/// Monitor of the number of messages for each entry into the critical section, or for each
/// election. The number must not exceed the bound on the algorithm's [`Card`](crate::Card). If the
/// card states an exact number for each entry, the number must not be lower either. This is judged
/// at the end of a run in which all requests were served.
///
/// The monitor keeps a credit: the number of messages that may still be sent. The credit begins
/// with the allowed number for an election, and with 0 for a lock. Each request for the lock adds
/// the allowed number. Every sent message reduces the credit by one. Only the first election is
/// judged, because no card states a cost for two overlapping elections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageBudget {
    per: CostUnit,
    most: u64,
    /// True if an entry takes exactly `most` messages.
    exact: bool,
    credit: u64,
    /// For a lock: the processes that wait for the critical section or are inside it. For an
    /// election: the processes that know the leader.
    marked: ProcessSet,
    /// True if a process that knew the leader has begun a second election. The monitor then counts
    /// no further messages.
    over: bool,
}

impl MessageBudget {
    /// Creates the monitor from the cost in an algorithm's [`Card`](crate::Card). Returns `None` if
    /// the cost has no upper bound or is not checkable.
    pub fn from_cost(cost: &MessageCost) -> Option<Self> {
        let most = cost.most.filter(|_| cost.is_checkable())?;
        let exact = cost.per == CostUnit::Entry && cost.exact_messages().is_some();
        Some(MessageBudget { exact, ..MessageBudget::at_most(cost.per, most) })
    }

    /// Creates a monitor that allows at most `most` messages for each election if `per` is
    /// [`CostUnit::Election`], and for each entry otherwise.
    pub fn at_most(per: CostUnit, most: u64) -> Self {
        let credit = if per == CostUnit::Election { most } else { 0 };
        MessageBudget { per, most, exact: false, credit, marked: ProcessSet::new(), over: false }
    }

    fn spend(&mut self, at: ProcessId) -> MonitorResult {
        let each = match self.per {
            CostUnit::Election => "an election",
            _ => "an entry",
        };
        if self.over {
            return Ok(());
        }
        let (most, left) = (self.most, self.credit.checked_sub(1));
        self.credit = left.ok_or_else(|| {
            let message = format!("{at} sends more than the {most} messages that {each} may take");
            Violation { at, message }
        })?;
        Ok(())
    }
}

impl Monitor<mutex::Command, mutex::Event> for MessageBudget {
    fn property(&self) -> Property {
        Property::Cost
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Command { command: mutex::Command::Enter, .. } => {
                self.credit += self.most;
                self.marked.insert(at);
            }
            Observation::Event(mutex::Event::Exited) => {
                self.marked.remove(at);
            }
            Observation::Sent { .. } => return self.spend(at),
            _ => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        if !self.exact || self.credit == 0 || !self.marked.is_empty() {
            return Ok(());
        }
        let (credit, most) = (self.credit, self.most);
        let message = format!("{credit} messages are missing: an entry takes {most}, no fewer");
        violated(ProcessId(0), message)
    }
}

impl Monitor<election::Command, election::Event> for MessageBudget {
    fn property(&self) -> Property {
        Property::Cost
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Command { command: election::Command::Elect, .. }
                if self.marked.contains(at) =>
            {
                // Clears the state, so that a checker explores fewer global states.
                let over = MessageBudget::at_most(self.per, self.most);
                *self = MessageBudget { over: true, ..over };
            }
            Observation::Event(election::Event::Elected { .. }) if !self.over => {
                self.marked.insert(at);
            }
            Observation::Sent { .. } => return self.spend(at),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Fence, Term};

    const ENTER: MutexObservation<'static> =
        Observation::Command { command: &mutex::Command::Enter, clock: None };
    const EXITED: MutexObservation<'static> = Observation::Event(&mutex::Event::Exited);
    const SENT: MutexObservation<'static> = Observation::Sent { to: ProcessId(1) };

    fn lock(most: u64, least: u64) -> MessageBudget {
        MessageBudget::from_cost(&MessageCost::per_entry("a formula", least, Some(most)))
            .expect("a bound")
    }

    #[test]
    fn each_request_pays_for_its_messages() {
        let mut message_budget = lock(2, 0);
        let mut see = |seen| message_budget.observe(ProcessId(0), seen);
        assert_eq!(see(ENTER), Ok(()));
        assert_eq!(see(SENT), Ok(()));
        assert_eq!(see(Observation::Event(&mutex::Event::Entered { fence: Fence(0, 1) })), Ok(()));
        assert_eq!(see(SENT), Ok(()));
        let message = see(SENT).expect_err("it is one too many").message;
        assert_eq!(message, "P1 sends more than the 2 messages that an entry may take");
    }

    #[test]
    fn reports_missing_messages_only_when_idle() {
        let ends = |message_budget: &MessageBudget| {
            Monitor::<mutex::Command, mutex::Event>::check_final_state(message_budget)
                .map_err(|it| it.message)
        };
        let mut message_budget = lock(1, 1);
        message_budget.observe(ProcessId(0), ENTER).expect("nothing was sent");
        assert_eq!(ends(&message_budget), Ok(()), "it waits");
        message_budget.observe(ProcessId(0), EXITED).expect("no violation");
        assert!(
            ends(&message_budget)
                .is_err_and(|message| message.starts_with("1 messages are missing"))
        );
        message_budget.observe(ProcessId(1), SENT).expect("no violation");
        assert_eq!(ends(&message_budget), Ok(()));
        assert_eq!(MessageBudget::from_cost(&MessageCost::per_entry("no bound", 1, None)), None);
    }

    #[test]
    fn judges_election_until_next_begins() {
        let mut message_budget = MessageBudget::at_most(CostUnit::Election, 1);
        let elect: ElectionObservation<'_> =
            Observation::Command { command: &election::Command::Elect, clock: None };
        let sent = ElectionObservation::Sent { to: ProcessId(1) };
        let term = Term { number: 0, leader: ProcessId(1) };
        let elected = election::Event::Elected { leader: ProcessId(1), term };
        for at in [0, 1] {
            message_budget.observe(ProcessId(at), elect).expect("nothing was sent");
        }
        message_budget.observe(ProcessId(0), sent).expect("one may be sent");
        assert!(message_budget.clone().observe(ProcessId(0), sent).is_err());
        message_budget.observe(ProcessId(0), Observation::Event(&elected)).expect("no violation");
        message_budget.observe(ProcessId(0), elect).expect("it begins another");
        for _ in 0..3 {
            assert_eq!(message_budget.observe(ProcessId(0), sent), Ok(()));
        }
    }
}
