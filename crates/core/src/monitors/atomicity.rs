use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::commit::{Command, Event, Transaction};

/// Nobody commits what another aborts, nor does anybody change its mind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Atomicity {
    /// By transaction: who was told first, and whether it was to commit.
    decided: BTreeMap<Transaction, (ProcessId, bool)>,
}

impl Atomicity {
    /// Before the first transaction.
    pub fn new() -> Self {
        Atomicity::default()
    }
}

impl Monitor<Command, Event> for Atomicity {
    fn property(&self) -> Property {
        Property::Atomicity
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let (transaction, commits) = match seen {
            Observed::Event(Event::Committed { transaction }) => (*transaction, true),
            Observed::Event(Event::Aborted { transaction }) => (*transaction, false),
            _ => return Ok(()),
        };
        let (other, committed) = *self.decided.entry(transaction).or_insert((at, commits));
        if committed == commits {
            return Ok(());
        }
        let (one, another) = if commits { (at, other) } else { (other, at) };
        let says = format!("{one} commits {transaction}, which {another} aborts");
        Err(Violation { at, says })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Term;

    #[test]
    fn one_who_commits_what_another_aborts_is_seen_whoever_is_first() {
        let term = Term { number: 1, leader: ProcessId(0) };
        let [first, second] = [1, 2].map(|number| Transaction { term, number });
        let committed = |transaction| Event::Committed { transaction };
        let aborted = |transaction| Event::Aborted { transaction };
        for (one, other, holds) in [
            (committed(first), committed(first), true),
            (committed(first), aborted(second), true),
            (committed(first), aborted(first), false),
            (aborted(first), committed(first), false),
        ] {
            let mut monitor = Atomicity::new();
            assert_eq!(monitor.observe(ProcessId(0), Observed::Event(&one)), Ok(()));
            let judged = monitor.observe(ProcessId(1), Observed::Event(&other));
            assert_eq!(judged.is_ok(), holds, "{one:?} {other:?}");
        }
    }
}
