//! Monitor of global snapshots.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use crate::monitor::{Monitor, MonitorResult, Observation, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::snapshot::{Command, Event, INITIAL_TOKENS, SnapshotId};

/// Monitor of snapshots: each snapshot shows a state that could have occurred. If a snapshot shows
/// that a process took a token, the snapshot also shows that another process gave this token. Each
/// channel contains exactly the tokens that are given and not yet taken. Hence tokens are neither
/// created nor lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConsistentCut {
    ledgers: BTreeMap<ProcessId, Ledger>,
    /// For each snapshot and each process: the ledger of the process at the time when the snapshot
    /// recorded the process.
    cuts: BTreeMap<SnapshotId, BTreeMap<ProcessId, Ledger>>,
}

/// Tokens that a process has exchanged with its peers. For each peer, `given` is the number of
/// tokens that the process gave to the peer. `taken` is the number of tokens that the process took
/// from the peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Ledger {
    given: BTreeMap<ProcessId, u64>,
    taken: BTreeMap<ProcessId, u64>,
}

impl Ledger {
    /// Returns the number of tokens that the process holds. The number is negative if the process
    /// has given tokens that it did not have.
    fn held(&self) -> i128 {
        i128::from(INITIAL_TOKENS) + sum(self.taken.values()) - sum(self.given.values())
    }
}

fn sum<'n>(numbers: impl Iterator<Item = &'n u64>) -> i128 {
    numbers.map(|number| i128::from(*number)).sum()
}

/// Adds `tokens` to the number of tokens that were exchanged with `peer`.
fn count(exchanged: &mut BTreeMap<ProcessId, u64>, peer: ProcessId, tokens: u64) {
    let sum = exchanged.entry(peer).or_default();
    *sum = sum.saturating_add(tokens);
}

impl ConsistentCut {
    /// Stores the ledger of `at` in the snapshot. Returns an error if the snapshot has recorded
    /// `at` before, or if `tokens` is not the number of tokens that `at` holds.
    fn on_recorded(
        &mut self,
        at: ProcessId,
        snapshot: SnapshotId,
        tokens: u64,
    ) -> Result<(), String> {
        let ledger = self.ledgers.entry(at).or_default().clone();
        let held = ledger.held();
        let twice = self.cuts.entry(snapshot).or_default().insert(at, ledger).is_some();
        match (twice, held == i128::from(tokens)) {
            (true, _) => Err(format!("{snapshot}: {at} is recorded twice")),
            (_, false) => Err(format!("{snapshot}: {at} has {held}, and {tokens} are recorded")),
            (false, true) => Ok(()),
        }
    }

    /// Checks one channel of a snapshot. The snapshot contains the tokens in the channel, the
    /// ledger of the sender and the ledger of the receiver. Returns an error if the three
    /// contradict each other.
    fn channel(
        &self,
        snapshot: SnapshotId,
        (from, to): (ProcessId, ProcessId),
        tokens: u64,
    ) -> Result<(), String> {
        let side = |at| self.cuts.get(&snapshot).and_then(|cut| cut.get(&at));
        let (Some(sender), Some(receiver)) = (side(from), side(to)) else {
            return Err(format!("{snapshot}: {from} → {to} is closed before both are recorded"));
        };
        let given = sender.given.get(&to).copied().unwrap_or(0);
        let taken = receiver.taken.get(&from).copied().unwrap_or(0);
        match given.checked_sub(taken) {
            None => Err(format!(
                "{snapshot}: {to} has taken {taken} from {from}, which has given {given}"
            )),
            Some(under_way) if under_way != tokens => Err(format!(
                "{snapshot}: {under_way} are under way from {from} to {to}, and {tokens} are \
                 recorded"
            )),
            Some(_) => Ok(()),
        }
    }

    fn on_event(&mut self, at: ProcessId, event: &Event) -> Result<(), String> {
        match event {
            Event::Given { to, tokens } => {
                count(&mut self.ledgers.entry(at).or_default().given, *to, *tokens);
            }
            Event::Taken { from, tokens } => {
                count(&mut self.ledgers.entry(at).or_default().taken, *from, *tokens);
            }
            Event::Recorded { snapshot, tokens } => {
                return self.on_recorded(at, *snapshot, *tokens);
            }
            Event::Closed { snapshot, channels } => {
                let mut channels = channels.iter();
                return channels
                    .try_for_each(|(from, tokens)| self.channel(*snapshot, (*from, at), *tokens));
            }
            Event::Collected { snapshot, held, under_way } => {
                let recorded = self.cuts.get(snapshot).map_or(0, BTreeMap::len) as u64;
                let shown = sum([held, under_way].into_iter());
                let all = i128::from(recorded) * i128::from(INITIAL_TOKENS);
                if shown != all {
                    return Err(format!("{snapshot} shows {shown} tokens, and there are {all}"));
                }
            }
        }
        Ok(())
    }
}

impl Monitor<Command, Event> for ConsistentCut {
    fn property(&self) -> Property {
        Property::ConsistentCut
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let judged = match seen {
            Observation::Event(event) => self.on_event(at, event),
            _ => Ok(()),
        };
        judged.map_err(|message| Violation { at, message })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::monitors::testing::holds_for_events;

    const SNAPSHOT: SnapshotId = SnapshotId { by: ProcessId(0), number: 1 };

    fn recorded(tokens: u64) -> Event {
        Event::Recorded { snapshot: SNAPSHOT, tokens }
    }

    fn closed(from: u32, tokens: u64) -> Event {
        Event::Closed { snapshot: SNAPSHOT, channels: vec![(ProcessId(from), tokens)] }
    }

    #[test]
    fn detects_inconsistent_cuts() {
        let [one, other] = [ProcessId(0), ProcessId(1)];
        let given = Event::Given { to: other, tokens: 1 };
        let many = |tokens| Event::Given { to: other, tokens };
        let taken = Event::Taken { from: one, tokens: 1 };
        let all = |held| Event::Collected { snapshot: SNAPSHOT, held, under_way: 1 };
        let (before, after) = (INITIAL_TOKENS, INITIAL_TOKENS - 1);
        for (events, is_right) in [
            (vec![(0, given.clone()), (0, recorded(after)), (1, recorded(before))], true),
            (vec![(0, given.clone()), (0, recorded(before))], false),
            (vec![(0, recorded(before)), (0, recorded(before))], false),
            (
                vec![
                    (0, given.clone()),
                    (0, recorded(after)),
                    (1, recorded(before)),
                    (1, closed(0, 1)),
                    (0, all(before + after)),
                ],
                true,
            ),
            (
                vec![
                    (0, given.clone()),
                    (0, recorded(after)),
                    (1, recorded(before)),
                    (1, closed(0, 0)),
                ],
                false,
            ),
            (
                vec![
                    (0, recorded(before)),
                    (0, given.clone()),
                    (1, taken.clone()),
                    (1, recorded(before + 1)),
                    (1, closed(0, 0)),
                ],
                false,
            ),
            (vec![(1, recorded(before)), (1, closed(0, 0))], false),
            (vec![(0, recorded(before)), (0, all(before))], false),
            // More tokens than the process has, or than a number holds.
            (vec![(0, many(u64::MAX)), (0, recorded(before))], false),
            (vec![(0, many(u64::MAX)), (0, many(u64::MAX)), (0, recorded(0))], false),
            (vec![(0, recorded(before)), (0, all(u64::MAX))], false),
        ] {
            assert_eq!(holds_for_events(ConsistentCut::default(), &events), is_right, "{events:?}");
        }
    }
}
