//! Monitor of causal broadcast.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::clock::VectorClock;
use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::broadcast::{Command, Event, ItemId};

/// Monitor of causal broadcast: a process delivers an item only after all items that happened
/// before this item. An item *A* happened before an item *B* if the sender of *B* had broadcast or
/// delivered *A* when it broadcast *B*. The relation is transitive.
///
/// If an item happened before *B*, all earlier items of the same sender also happened before *B*.
/// Therefore the monitor stores the items that happened before *B* as a vector clock, which counts
/// the items of each sender. The monitor ignores items that no process has broadcast, because they
/// violate another property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CausalOrder {
    /// For each item: the items that happened before it, as a number of items of each sender.
    before: BTreeMap<ItemId, VectorClock>,
    /// For each process: the items that it has broadcast or delivered, and all items that happened
    /// before them.
    past: BTreeMap<ProcessId, VectorClock>,
    /// For each process: the items that it has delivered.
    delivered: BTreeMap<ProcessId, VectorClock>,
}

impl Monitor<Command, Event> for CausalOrder {
    fn property(&self) -> Property {
        Property::CausalOrder
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Broadcast { number }, .. } => {
                let past = self.past.entry(at).or_default();
                self.before.insert(ItemId { from: at, number: *number }, past.clone());
                past.tick(at);
            }
            Observation::Event(Event::Delivered { item }) => return self.deliver(at, *item),
            Observation::Crashed | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

impl CausalOrder {
    fn deliver(&mut self, at: ProcessId, item: ItemId) -> MonitorResult {
        let Some(before) = self.before.get(&item) else { return Ok(()) };
        let delivered = self.delivered.entry(at).or_default();
        let counts = (0..).map(ProcessId).zip(before.counts());
        let mut counts = counts.map(|(sender, count)| (sender, delivered.count(sender), *count));
        if let Some((sender, known, _)) = counts.find(|(_, known, count)| known < count) {
            let missing = self
                .before
                .iter()
                .find(|(it, earlier)| it.from == sender && earlier.count(sender) == known);
            let missing = missing.map_or(item, |(missing, _)| *missing);
            return violated(at, format!("{at} delivers {item} before {missing}, its cause"));
        }
        // The item is the next item of its sender, or `at` has delivered it before.
        let mut with_item = before.clone();
        with_item.tick(item.from);
        delivered.merge(&with_item);
        self.past.entry(at).or_default().merge(&with_item);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[derive(Clone, Copy)]
    enum Step {
        Broadcasts(u32, u64),
        Delivers(u32, u32, u64),
    }

    use Step::{Broadcasts, Delivers};

    fn holds(steps: &[Step]) -> bool {
        holds_by(&mut CausalOrder::default(), steps)
    }

    fn holds_by(monitor: &mut CausalOrder, steps: &[Step]) -> bool {
        let mut judged = steps.iter().map(|step| match *step {
            Broadcasts(at, number) => {
                let command = &Command::Broadcast { number };
                monitor.observe(ProcessId(at), Observation::Command { command, clock: None })
            }
            Delivers(at, from, number) => {
                let item = ItemId { from: ProcessId(from), number };
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
    fn order_of_items_does_not_depend_on_their_numbers() {
        let sent = [Broadcasts(0, 7), Broadcasts(0, 3)];
        let then = |more: &[Step]| holds(&[&sent, more].concat());
        assert!(then(&[Delivers(1, 0, 7), Delivers(1, 0, 3), Delivers(1, 0, 7)]));
        assert!(!then(&[Delivers(1, 0, 3)]));
    }

    #[test]
    fn thousands_of_items_of_a_sender_are_stored_as_one_number() {
        let rounds = (1..=20_000).flat_map(|number| {
            [Broadcasts(0, number), Delivers(0, 0, number), Delivers(1, 0, number)]
        });
        let mut monitor = CausalOrder::default();
        assert!(holds_by(&mut monitor, &rounds.collect::<Vec<_>>()));
        assert_eq!(monitor.past[&ProcessId(1)].counts(), [20_000]);
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
