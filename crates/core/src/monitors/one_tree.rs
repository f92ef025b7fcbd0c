use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::tree::{Command, Event, Wave};

/// Every wave makes a tree: whoever joins does it once, and through somebody who has joined; and
/// there is one root. So there is no cycle, all reach the root, and there is one edge fewer than
/// processes. When the root is told that the tree is complete, so many have joined, unless somebody
/// crashed: then it may know of fewer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneTree {
    joined: BTreeMap<Wave, BTreeSet<ProcessId>>,
    crashed: bool,
}

impl OneTree {
    /// Before the first wave.
    pub fn new() -> Self {
        OneTree::default()
    }
}

impl Monitor<Command, Event> for OneTree {
    fn property(&self) -> Property {
        Property::OneTree
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let violated = |says| Err(Violation { at, says });
        match seen {
            Observed::Event(Event::Joined { wave, parent }) => {
                let joined = self.joined.entry(*wave).or_default();
                match parent {
                    Some(parent) if !joined.contains(parent) => {
                        return violated(format!("{at} joins through {parent}, who has not"));
                    }
                    None if !joined.is_empty() => {
                        return violated(format!("{at} is a second root"));
                    }
                    _ => {}
                }
                if !joined.insert(at) {
                    return violated(format!("{at} joins twice"));
                }
            }
            Observed::Event(Event::Completed { wave, size }) => {
                let joined = self.joined.get(wave).map_or(0, BTreeSet::len);
                let size = *size as usize;
                if size > joined || size < joined && !self.crashed {
                    return violated(format!(
                        "{at} counts {size} in the tree, and there are {joined}"
                    ));
                }
            }
            Observed::Crashed => self.crashed = true,
            Observed::Command { .. } | Observed::Recovered | Observed::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::service::Term;

    #[test]
    fn a_second_root_a_second_parent_an_orphan_and_a_wrong_count_are_seen() {
        let wave = Wave { term: Term { number: 1, leader: ProcessId(0) }, number: 1 };
        let joined = |parent: Option<u32>| Event::Joined { wave, parent: parent.map(ProcessId) };
        let completed = |size| Event::Completed { wave, size };
        for (events, holds) in [
            (vec![(0, joined(None)), (1, joined(Some(0))), (0, completed(2))], true),
            (vec![(0, joined(None)), (1, joined(None))], false),
            (vec![(0, joined(None)), (1, joined(Some(0))), (1, joined(Some(0)))], false),
            (vec![(0, joined(None)), (1, joined(Some(2)))], false),
            (vec![(0, joined(None)), (0, completed(2))], false),
            (vec![(0, joined(None)), (1, joined(Some(0))), (0, completed(1))], false),
        ] {
            let mut monitor = OneTree::new();
            let mut judged = events
                .iter()
                .map(|(at, event)| monitor.observe(ProcessId(*at), Observed::Event(event)));
            assert_eq!(judged.all(|it| it.is_ok()), holds, "{events:?}");
        }
    }
}
