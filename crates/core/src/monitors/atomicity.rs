use alloc::collections::BTreeMap;
use alloc::format;

use crate::service::commit::{Command, Event, Transaction};
use crate::{Monitor, Observed, ProcessId, Violation};

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
        Err(Violation { property: "atomicity", at, says })
    }
}
