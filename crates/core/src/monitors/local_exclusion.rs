//! Monitor of mutual exclusion between neighbours, as among dining philosophers.

use alloc::format;
use alloc::sync::Arc;

use crate::card::Card;
use crate::graph::Graph;
use crate::monitor::{Monitor, MonitorResult, MutexObservation, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::mutex;
use crate::shared_config::UncomparedConfig;

/// Monitor of mutual exclusion between neighbours: two neighbours in the conflict graph are never
/// inside the critical section at the same time. A crash removes a process from the critical
/// section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalMutualExclusion {
    conflicts: UncomparedConfig<Graph>,
    inside: ProcessSet,
}

impl LocalMutualExclusion {
    /// Creates the monitor for these conflicts: each edge joins two processes that must not be
    /// inside the critical section at the same time.
    pub fn with_conflicts(conflicts: Arc<Graph>) -> Self {
        LocalMutualExclusion { conflicts: conflicts.into(), inside: ProcessSet::new() }
    }

    /// Creates the monitor for the graph on the [`Card`] of a lock. If the card has no graph, any
    /// two processes are neighbours, and the property is mutual exclusion.
    pub fn from_card(card: &Card, size: u32) -> Self {
        let graph = card.graph.as_ref().map(Arc::clone);
        LocalMutualExclusion::with_conflicts(
            graph.unwrap_or_else(|| Arc::new(Graph::complete(size))),
        )
    }
}

impl Monitor<mutex::Command, mutex::Event> for LocalMutualExclusion {
    fn property(&self) -> Property {
        Property::LocalMutualExclusion
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(mutex::Event::Entered { .. }) => {
                let neighbour = self.inside.iter().find(|it| self.conflicts.has_edge(at, *it));
                self.inside.insert(at);
                if let Some(neighbour) = neighbour {
                    let message = format!("{at} entered while its neighbour {neighbour} is inside");
                    return violated(at, message);
                }
            }
            Observation::Event(mutex::Event::Exited)
            | Observation::Recovered
            | Observation::Crashed => {
                self.inside.remove(at);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Fence;

    #[test]
    fn only_neighbours_exclude_each_other() {
        let enters = |monitor: &mut LocalMutualExclusion, at| {
            let entered = mutex::Event::Entered { fence: Fence::NONE };
            monitor.observe(ProcessId(at), Observation::Event(&entered))
        };
        let mut line = LocalMutualExclusion::with_conflicts(Arc::new(Graph::line(3)));
        assert_eq!((enters(&mut line, 0), enters(&mut line, 2)), (Ok(()), Ok(())));
        let message = enters(&mut line, 1).expect_err("both neighbours are inside").message;
        assert_eq!(message, "P2 entered while its neighbour P1 is inside");
    }

    #[test]
    fn exit_and_crash_end_an_entry() {
        let entered = mutex::Event::Entered { fence: Fence::NONE };
        let mut pair = LocalMutualExclusion::with_conflicts(Arc::new(Graph::line(2)));
        for end in [Observation::Event(&mutex::Event::Exited), Observation::Crashed] {
            for at in [0, 1] {
                assert_eq!(pair.observe(ProcessId(at), Observation::Event(&entered)), Ok(()));
                assert_eq!(pair.observe(ProcessId(at), end), Ok(()));
            }
        }
    }
}
