//! Monitors of broadcast.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::broadcast::{Command, Event, ItemId};

/// Monitor of repeated deliveries: no process delivers an item twice, even if it crashes in
/// between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeliveredOnce(BTreeSet<(ProcessId, ItemId)>);

impl Monitor<Command, Event> for DeliveredOnce {
    fn property(&self) -> Property {
        Property::Integrity
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Delivered { item }) if !self.0.insert((at, *item)) => {
                violated(at, format!("{at} delivers {item} a second time"))
            }
            _ => Ok(()),
        }
    }
}

/// Monitor of the origin of items. If a process delivers an item, the process that the item names
/// as its sender must have broadcast this item before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoCreation(BTreeSet<ItemId>);

impl Monitor<Command, Event> for NoCreation {
    fn property(&self) -> Property {
        Property::NoCreation
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Broadcast { number }, .. } => {
                self.0.insert(ItemId { from: at, number: *number });
            }
            Observation::Event(Event::Delivered { item }) if !self.0.contains(item) => {
                return violated(at, format!("{at} delivers {item}, which was never broadcast"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Monitor of the items that correct processes deliver. At the end, if one correct process has
/// delivered an item, all correct processes must have delivered it. In the uniform version, all
/// correct processes must deliver an item even if only crashed processes have delivered the item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllDeliver {
    uniform: bool,
    /// Processes that were up at the start and have not crashed since.
    correct: BTreeSet<ProcessId>,
    delivered: BTreeMap<ItemId, BTreeSet<ProcessId>>,
}

impl AllDeliver {
    /// Creates the monitor for a group of `size` processes. The processes `down` are down from the
    /// start.
    pub fn new(size: u32, down: &[ProcessId]) -> Self {
        let all = (0..size).map(ProcessId).filter(|process| !down.contains(process));
        AllDeliver { uniform: false, correct: all.collect(), delivered: BTreeMap::new() }
    }

    /// Returns a monitor of uniform agreement. All correct processes must then deliver an item even
    /// if only crashed processes have delivered the item.
    #[must_use]
    pub fn requiring_uniform_agreement(self) -> Self {
        AllDeliver { uniform: true, ..self }
    }
}

impl Monitor<Command, Event> for AllDeliver {
    fn property(&self) -> Property {
        if self.uniform { Property::UniformAgreement } else { Property::Agreement }
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Delivered { item }) => {
                self.delivered.entry(*item).or_default().insert(at);
            }
            Observation::Crashed => {
                self.correct.remove(&at);
            }
            _ => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        for (item, by) in &self.delivered {
            let counts = |one: &&ProcessId| self.uniform || self.correct.contains(one);
            let Some(one) = by.iter().find(counts) else { continue };
            if let Some(at) = self.correct.difference(by).next() {
                return violated(*at, format!("{one} delivered {item}, and {at} never does"));
            }
        }
        Ok(())
    }
}

/// Monitor of the order of deliveries: any two processes deliver their common items in the same
/// order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TotalOrder(BTreeMap<ProcessId, Vec<ItemId>>);

impl Monitor<Command, Event> for TotalOrder {
    fn property(&self) -> Property {
        Property::TotalOrder
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Delivered { item }) = seen else { return Ok(()) };
        let before = self.0.get(&at).map_or(&[][..], Vec::as_slice);
        for (other, delivered) in self.0.iter().filter(|(other, _)| **other != at) {
            let Some(place) = delivered.iter().position(|it| it == item) else { continue };
            let late = before.iter().find(|earlier| delivered[place..].contains(earlier));
            if let Some(late) = late {
                let message = format!("{at} delivers {late} before {item}, and {other} after it");
                return violated(at, message);
            }
        }
        self.0.entry(at).or_default().push(*item);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    fn item(number: u64) -> ItemId {
        ItemId { from: ONE, number }
    }

    fn deliver<M: Monitor<Command, Event>>(
        monitor: &mut M,
        at: ProcessId,
        number: u64,
    ) -> MonitorResult {
        monitor.observe(at, Observation::Event(&Event::Delivered { item: item(number) }))
    }

    #[test]
    fn detects_duplicate_and_invented_items() {
        let mut once = DeliveredOnce::default();
        assert_eq!(deliver(&mut once, ONE, 1), Ok(()));
        assert_eq!(deliver(&mut once, TWO, 1), Ok(()));
        assert!(deliver(&mut once, TWO, 1).is_err());
        let mut known = NoCreation::default();
        let command = &Command::Broadcast { number: 1 };
        assert_eq!(known.observe(ONE, Observation::Command { command, clock: None }), Ok(()));
        assert_eq!(deliver(&mut known, TWO, 1), Ok(()));
        assert!(deliver(&mut known, TWO, 2).is_err());
    }

    #[test]
    fn delivery_before_crash_binds_only_uniformly() {
        for uniform in [false, true] {
            let plain = AllDeliver::new(2, &[]);
            let mut monitor = if uniform { plain.requiring_uniform_agreement() } else { plain };
            assert_eq!(deliver(&mut monitor, ONE, 1), Ok(()));
            assert!(monitor.check_final_state().is_err(), "P2 lacks it");
            assert_eq!(monitor.observe(ONE, Observation::Crashed), Ok(()));
            assert_eq!(monitor.check_final_state().is_err(), uniform);
            assert_eq!(deliver(&mut monitor, TWO, 1), Ok(()));
            assert_eq!(monitor.check_final_state(), Ok(()));
        }
        assert_eq!(AllDeliver::new(2, &[TWO]).check_final_state(), Ok(()));
    }

    #[test]
    fn detects_conflicting_delivery_orders() {
        let mut monitor = TotalOrder::default();
        for (at, number) in [(ONE, 1), (ONE, 2), (ONE, 3), (TWO, 1), (TWO, 3)] {
            assert_eq!(deliver(&mut monitor, at, number), Ok(()));
        }
        assert!(deliver(&mut monitor, TWO, 2).is_err());
    }
}
