//! Monitor of atomic commit.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::commit::{Command, Event, TransactionId};

/// Monitor of transactions: all processes decide alike about a transaction, and no process changes
/// its decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransactionAtomicity {
    /// For each transaction: the process that decided first, and its decision. The decision is true
    /// for a commit and false for an abort.
    decided: BTreeMap<TransactionId, (ProcessId, bool)>,
}

impl TransactionAtomicity {
    /// Creates the monitor in its initial state: no process has decided.
    pub fn new() -> Self {
        TransactionAtomicity::default()
    }
}

impl Monitor<Command, Event> for TransactionAtomicity {
    fn property(&self) -> Property {
        Property::Atomicity
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let (transaction, commits) = match seen {
            Observation::Event(Event::Committed { transaction }) => (*transaction, true),
            Observation::Event(Event::Aborted { transaction }) => (*transaction, false),
            _ => return Ok(()),
        };
        let (other, committed) = *self.decided.entry(transaction).or_insert((at, commits));
        if committed == commits {
            return Ok(());
        }
        let (one, another) = if commits { (at, other) } else { (other, at) };
        violated(at, format!("{one} commits {transaction}, which {another} aborts"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Term;

    #[test]
    fn detects_commit_and_abort_in_either_order() {
        let term = Term { number: 1, leader: ProcessId(0) };
        let [first, second] = [1, 2].map(|number| TransactionId { term, number });
        let committed = |transaction| Event::Committed { transaction };
        let aborted = |transaction| Event::Aborted { transaction };
        for (one, other, holds) in [
            (committed(first), committed(first), true),
            (committed(first), aborted(second), true),
            (committed(first), aborted(first), false),
            (aborted(first), committed(first), false),
        ] {
            let mut monitor = TransactionAtomicity::new();
            assert_eq!(monitor.observe(ProcessId(0), Observation::Event(&one)), Ok(()));
            let judged = monitor.observe(ProcessId(1), Observation::Event(&other));
            assert_eq!(judged.is_ok(), holds, "{one:?} {other:?}");
        }
    }
}
