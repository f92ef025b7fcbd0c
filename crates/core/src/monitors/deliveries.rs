//! What is expected of a broadcast.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::broadcast::{Command, Event, Item};

/// Nobody delivers an item twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeliveredOnce(BTreeSet<(ProcessId, Item)>);

impl DeliveredOnce {
    /// Before the first item.
    pub fn new() -> Self {
        DeliveredOnce::default()
    }
}

impl Monitor<Command, Event> for DeliveredOnce {
    fn property(&self) -> Property {
        Property::Integrity
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Event(Event::Delivered { item }) if !self.0.insert((at, *item)) => {
                Err(Violation { at, says: format!("{at} delivers {item} a second time") })
            }
            _ => Ok(()),
        }
    }
}

/// What is delivered was broadcast.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoCreation(BTreeSet<Item>);

impl NoCreation {
    /// Before the first item.
    pub fn new() -> Self {
        NoCreation::default()
    }
}

impl Monitor<Command, Event> for NoCreation {
    fn property(&self) -> Property {
        Property::NoCreation
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: Command::Broadcast { number }, .. } => {
                self.0.insert(Item { from: at, number: *number });
            }
            Observed::Event(Event::Delivered { item }) if !self.0.contains(item) => {
                let says = format!("{at} delivers {item}, which was never broadcast");
                return Err(Violation { at, says });
            }
            _ => {}
        }
        Ok(())
    }
}

/// In the end, what one has delivered all who never crashed have delivered. Uniformly: though that
/// one crashed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllDeliver {
    uniform: bool,
    /// Who has not crashed so far.
    correct: BTreeSet<ProcessId>,
    /// By item: who has delivered it.
    delivered: BTreeMap<Item, BTreeSet<ProcessId>>,
}

impl AllDeliver {
    /// Of a group of `size` in which these are down from the start.
    pub fn new(size: u32, down: &[ProcessId]) -> Self {
        let all = (0..size).map(ProcessId).filter(|process| !down.contains(process));
        AllDeliver { uniform: false, correct: all.collect(), delivered: BTreeMap::new() }
    }

    /// The same, uniformly.
    #[must_use]
    pub fn uniformly(self) -> Self {
        AllDeliver { uniform: true, ..self }
    }
}

impl Monitor<Command, Event> for AllDeliver {
    fn property(&self) -> Property {
        if self.uniform { Property::UniformAgreement } else { Property::Agreement }
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Event(Event::Delivered { item }) => {
                self.delivered.entry(*item).or_default().insert(at);
            }
            Observed::Crashed => {
                self.correct.remove(&at);
            }
            _ => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        for (item, by) in &self.delivered {
            let counts = |one: &&ProcessId| self.uniform || self.correct.contains(one);
            let Some(one) = by.iter().find(counts) else { continue };
            if let Some(at) = self.correct.difference(by).next() {
                let says = format!("{one} delivered {item}, and {at} never does");
                return Err(Violation { at: *at, says });
            }
        }
        Ok(())
    }
}

/// Any two who deliver the same two items do so in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneOrder(BTreeMap<ProcessId, Vec<Item>>);

impl OneOrder {
    /// Before the first item.
    pub fn new() -> Self {
        OneOrder::default()
    }
}

impl Monitor<Command, Event> for OneOrder {
    fn property(&self) -> Property {
        Property::TotalOrder
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(Event::Delivered { item }) = seen else { return Ok(()) };
        let before = self.0.get(&at).map_or(&[][..], Vec::as_slice);
        for (other, delivered) in self.0.iter().filter(|(other, _)| **other != at) {
            let Some(place) = delivered.iter().position(|it| it == item) else { continue };
            let late = before.iter().find(|earlier| delivered[place..].contains(earlier));
            if let Some(late) = late {
                let says = format!("{at} delivers {late} before {item}, and {other} after it");
                return Err(Violation { at, says });
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

    fn item(number: u64) -> Item {
        Item { from: ONE, number }
    }

    fn deliver<M: Monitor<Command, Event>>(
        monitor: &mut M,
        at: ProcessId,
        number: u64,
    ) -> Result<(), Violation> {
        monitor.observe(at, Observed::Event(&Event::Delivered { item: item(number) }))
    }

    #[test]
    fn what_comes_twice_or_from_nowhere_is_seen() {
        let mut once = DeliveredOnce::new();
        assert_eq!(deliver(&mut once, ONE, 1), Ok(()));
        assert_eq!(deliver(&mut once, TWO, 1), Ok(()));
        assert!(deliver(&mut once, TWO, 1).is_err());
        let mut known = NoCreation::new();
        let command = &Command::Broadcast { number: 1 };
        assert_eq!(known.observe(ONE, Observed::Command { command, clock: None }), Ok(()));
        assert_eq!(deliver(&mut known, TWO, 1), Ok(()));
        assert!(deliver(&mut known, TWO, 2).is_err());
    }

    #[test]
    fn what_one_delivers_and_crashes_binds_the_others_only_uniformly() {
        for uniform in [false, true] {
            let plain = AllDeliver::new(2, &[]);
            let mut monitor = if uniform { plain.uniformly() } else { plain };
            assert_eq!(deliver(&mut monitor, ONE, 1), Ok(()));
            assert!(monitor.at_end().is_err(), "P2 lacks it");
            assert_eq!(monitor.observe(ONE, Observed::Crashed), Ok(()));
            assert_eq!(monitor.at_end().is_err(), uniform);
            assert_eq!(deliver(&mut monitor, TWO, 1), Ok(()));
            assert_eq!(monitor.at_end(), Ok(()));
        }
        assert_eq!(AllDeliver::new(2, &[TWO]).at_end(), Ok(()));
    }

    #[test]
    fn two_orders_are_seen_and_one_with_gaps_is_not() {
        let mut monitor = OneOrder::new();
        for (at, number) in [(ONE, 1), (ONE, 2), (ONE, 3), (TWO, 1), (TWO, 3)] {
            assert_eq!(deliver(&mut monitor, at, number), Ok(()));
        }
        assert!(deliver(&mut monitor, TWO, 2).is_err());
    }
}
