//! Monitor of causal broadcast.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::broadcast::{Command, Event, Item};

/// Monitor of causal broadcast: a process delivers an item only after all items that happened
/// before the item. An item *A* happened before *B* if the broadcaster of *B* had broadcast or
/// delivered *A* before *B*. The relation is transitive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CausalOrder {
    before: BTreeMap<Item, BTreeSet<Item>>,
    /// For each process: the items that it has broadcast or delivered, and all items that happened
    /// before them.
    past: BTreeMap<ProcessId, BTreeSet<Item>>,
    delivered: BTreeSet<(ProcessId, Item)>,
}

impl Monitor<Command, Event> for CausalOrder {
    fn property(&self) -> Property {
        Property::CausalOrder
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Broadcast { number }, .. } => {
                let item = Item { from: at, number: *number };
                let past = self.past.entry(at).or_default();
                self.before.insert(item, past.clone());
                past.insert(item);
            }
            Observation::Event(Event::Delivered { item }) => {
                let before = self.before.get(item).into_iter().flatten();
                let mut missing = before.filter(|it| !self.delivered.contains(&(at, **it)));
                if let Some(missing) = missing.next() {
                    let message = format!("{at} delivers {item} before {missing}, its cause");
                    return violated(at, message);
                }
                self.delivered.insert((at, *item));
                let past = self.past.entry(at).or_default();
                past.extend(self.before.get(item).into_iter().flatten().copied());
                past.insert(*item);
            }
            Observation::Crashed | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Step {
        Broadcasts(u32, u64),
        Delivers(u32, u32, u64),
    }

    use Step::{Broadcasts, Delivers};

    fn holds(steps: &[Step]) -> bool {
        let mut monitor = CausalOrder::default();
        let mut judged = steps.iter().map(|step| match *step {
            Broadcasts(at, number) => {
                let command = &Command::Broadcast { number };
                monitor.observe(ProcessId(at), Observation::Command { command, clock: None })
            }
            Delivers(at, from, number) => {
                let item = Item { from: ProcessId(from), number };
                monitor.observe(ProcessId(at), Observation::Event(&Event::Delivered { item }))
            }
        });
        judged.all(|it| it.is_ok())
    }

    #[test]
    fn answer_follows_its_question() {
        let answered = [Broadcasts(0, 1), Delivers(0, 0, 1), Delivers(1, 0, 1), Broadcasts(1, 1)];
        let then = |more: &[Step]| holds(&[&answered, more].concat());
        assert!(then(&[Delivers(2, 0, 1), Delivers(2, 1, 1)]));
        assert!(!then(&[Delivers(2, 1, 1)]));
        assert!(!holds(&[Broadcasts(0, 1), Broadcasts(0, 2), Delivers(1, 0, 2)]));
        assert!(holds(&[Broadcasts(0, 1), Broadcasts(1, 1), Delivers(2, 1, 1), Delivers(2, 0, 1)]));
    }

    #[test]
    fn causes_of_causes_count() {
        let chain = [
            Broadcasts(0, 1),
            Delivers(1, 0, 1),
            Broadcasts(1, 1),
            Delivers(2, 0, 1),
            Delivers(2, 1, 1),
            Broadcasts(2, 1),
        ];
        let then = |more: &[Step]| holds(&[&chain, more].concat());
        assert!(!then(&[Delivers(3, 2, 1)]));
        assert!(!then(&[Delivers(3, 0, 1), Delivers(3, 2, 1)]));
        assert!(then(&[Delivers(3, 0, 1), Delivers(3, 1, 1), Delivers(3, 2, 1)]));
    }
}
