//! The messages of a run, divided among its elections.

/// Cost of one election of a run.
///
/// An election starts when a user requests one, or when the live processes no longer agree on a
/// live leader. Its cost includes all messages of the election layer until the next election
/// starts. The first election also includes all such messages before its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElectionCost {
    /// Number of messages of the election layer that were sent. Messages of a process to itself do
    /// not count.
    pub messages: u64,
    /// True if all live processes came to agree on one live leader.
    pub is_complete: bool,
    /// True if a process crashed or recovered after the start of the election and before the live
    /// processes agreed.
    pub is_disturbed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElectionChange {
    /// An election starts.
    Started,
    /// The current election ends: all live processes agree on a live leader.
    Completed,
}

/// Counter that assigns each election message of a run to one of the elections.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElectionCostCounter {
    costs: Vec<ElectionCost>,
    /// True if the last election in `costs` has started and is not complete.
    is_under_way: bool,
    /// Number of messages that were sent before the current election started.
    sent_before: u64,
}

impl ElectionCostCounter {
    /// Updates the elections after an event of the run. `agreed` is true if all live processes now
    /// agree on a live leader. `sent` returns the number of messages of the election layer sent so
    /// far. If the event starts or completes an election, records this change and returns it.
    /// Otherwise returns `None`.
    pub(crate) fn observe(
        &mut self,
        agreed: bool,
        sent: impl FnOnce() -> u64,
    ) -> Option<ElectionChange> {
        match (self.is_under_way, agreed) {
            (false, false) => {
                // Messages sent before the first election starts are part of the cost of the first
                // election.
                let sent = if self.costs.is_empty() { 0 } else { sent() };
                self.settle(sent);
                self.sent_before = sent;
                self.costs.push(ElectionCost::default());
                self.is_under_way = true;
                Some(ElectionChange::Started)
            }
            (true, true) => {
                self.is_under_way = false;
                if let Some(last) = self.costs.last_mut() {
                    last.is_complete = true;
                }
                Some(ElectionChange::Completed)
            }
            (true, false) | (false, true) => None,
        }
    }

    /// Records that a process has crashed or recovered. If an election is under way, marks this
    /// election as disturbed.
    pub(crate) fn disturb(&mut self) {
        if let Some(last) = self.costs.last_mut().filter(|_| self.is_under_way) {
            last.is_disturbed = true;
        }
    }

    /// Returns the costs of all elections of a run in which `sent` messages of the election layer
    /// were sent.
    pub(crate) fn finish(mut self, sent: u64) -> Vec<ElectionCost> {
        self.settle(sent);
        self.costs
    }

    /// Assigns all messages since the start of the last election to this election. `sent` is the
    /// number of messages of the election layer sent so far.
    fn settle(&mut self, sent: u64) {
        if let Some(last) = self.costs.last_mut() {
            last.messages = sent - self.sent_before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(messages: u64, is_complete: bool, is_disturbed: bool) -> ElectionCost {
        ElectionCost { messages, is_complete, is_disturbed }
    }

    #[test]
    fn messages_after_agreement_count_for_previous_election() {
        let mut counter = ElectionCostCounter::default();
        assert_eq!(counter.observe(false, || 2), Some(ElectionChange::Started));
        assert_eq!(counter.observe(false, || 5), None);
        assert_eq!(counter.observe(true, || 9), Some(ElectionChange::Completed));
        assert_eq!(counter.observe(true, || 10), None);
        assert_eq!(counter.observe(false, || 11), Some(ElectionChange::Started));
        assert_eq!(counter.observe(true, || 20), Some(ElectionChange::Completed));
        assert_eq!(counter.finish(21), [cost(11, true, false), cost(10, true, false)]);
    }

    #[test]
    fn crash_disturbs_only_current_election() {
        let mut counter = ElectionCostCounter::default();
        counter.observe(false, || 0);
        counter.observe(true, || 4);
        counter.disturb();
        counter.observe(false, || 4);
        counter.disturb();
        assert_eq!(counter.finish(7), [cost(4, true, false), cost(3, false, true)]);
        assert_eq!(ElectionCostCounter::default().finish(0), []);
    }
}
