//! Monitor of a list of writes that a primary replicates.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::monitor::{Monitor, MonitorResult, Observation, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::Term;
use crate::service::replicated_list::{Command, Event};

/// Monitor of replicated writes: an acknowledged write is never lost. When a primary begins to
/// serve, its list of writes contains every write that was acknowledged in an earlier term, at the
/// same position. Two different writes are never acknowledged at one position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WriteDurability {
    /// Acknowledged writes by position, from 1. Each write has the term in which it was first
    /// acknowledged, and its value.
    acknowledged: BTreeMap<u64, (Term, u64)>,
    /// Writes that each primary had when it began to serve. The key is the term of the primary.
    served: BTreeMap<Term, Vec<u64>>,
}

impl WriteDurability {
    /// Creates the monitor in its initial state: no write is acknowledged, and no primary serves.
    pub fn new() -> Self {
        WriteDurability::default()
    }

    /// Returns the number of acknowledged writes.
    pub fn acknowledged_count(&self) -> usize {
        self.acknowledged.len()
    }

    fn on_acknowledged(&mut self, term: Term, place: u64, value: u64) -> Result<(), String> {
        let (first, known) = *self.acknowledged.entry(place).or_insert((term, value));
        if known != value {
            return Err(format!(
                "{known} was acknowledged as write {place} in term {first}, and {value} in {term}"
            ));
        }
        let later =
            self.served.iter().find(|(other, writes)| **other > term && !has(writes, place, value));
        match later {
            None => Ok(()),
            Some((other, _)) => Err(format!(
                "{value} is acknowledged as write {place} in term {term}, \
                 and is unknown in term {other}"
            )),
        }
    }

    fn on_serving(&mut self, term: Term, writes: &[u64]) -> Result<(), String> {
        let mut earlier = self.acknowledged.iter().filter(|(_, (other, _))| *other < term);
        let lost = earlier.find(|(place, (_, value))| !has(writes, **place, *value));
        if let Some((place, (other, value))) = lost {
            return Err(format!(
                "{value} was acknowledged as write {place} in term {other}, \
                 and is lost in term {term}"
            ));
        }
        self.served.insert(term, writes.to_vec());
        Ok(())
    }
}

fn has(writes: &[u64], place: u64, value: u64) -> bool {
    usize::try_from(place - 1).is_ok_and(|place| writes.get(place) == Some(&value))
}

impl Monitor<Command, Event> for WriteDurability {
    fn property(&self) -> Property {
        Property::Durability
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let judged = match seen {
            Observation::Event(Event::Acknowledged { term, place, value }) => {
                self.on_acknowledged(*term, *place, *value)
            }
            Observation::Event(Event::Serving { term, writes }) => self.on_serving(*term, writes),
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

    fn term(number: u64) -> Term {
        Term { number, leader: ProcessId(0) }
    }

    fn acknowledged(number: u64, place: u64, value: u64) -> (u32, Event) {
        (0, Event::Acknowledged { term: term(number), place, value })
    }

    fn serving(number: u64, writes: &[u64]) -> (u32, Event) {
        (0, Event::Serving { term: term(number), writes: writes.to_vec() })
    }

    #[test]
    fn detects_write_lost_by_later_primary() {
        for (events, is_right) in [
            (vec![acknowledged(1, 1, 7), serving(2, &[7]), acknowledged(2, 2, 8)], true),
            // The primary of an earlier term need not have the write, even if it reports later.
            (vec![acknowledged(2, 1, 7), serving(1, &[])], true),
            (vec![acknowledged(1, 1, 7), serving(2, &[])], false),
            (vec![serving(2, &[]), acknowledged(1, 1, 7)], false),
            (vec![acknowledged(1, 2, 7), serving(2, &[7, 8])], false),
            (vec![acknowledged(1, 1, 7), acknowledged(2, 1, 8)], false),
        ] {
            assert_eq!(holds_for_events(WriteDurability::new(), &events), is_right, "{events:?}");
        }
    }
}
