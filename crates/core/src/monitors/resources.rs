//! Monitors of exclusive resources.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::resources::{Command, Event, Resource};

/// Monitor of resources: two processes never hold the same resource at the same time. A process
/// that crashes still holds its resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneHolder(Allocation);

/// Monitor of aborts: a process is aborted only while it is part of a deadlock. A deadlock is a
/// cycle of processes, in which each process waits for a resource that the next process holds.
///
/// A deadlock lasts until one of its processes is aborted. Therefore the monitor only examines the
/// state at the time of the abort: a deadlock that was detected earlier still exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoPhantomDeadlock(Allocation);

/// Resources that each process holds, and the resource for which each process waits. The monitor
/// derives both from commands and events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Allocation {
    held: BTreeMap<Resource, BTreeSet<ProcessId>>,
    awaited: BTreeMap<ProcessId, Resource>,
}

impl Allocation {
    fn observe(&mut self, at: ProcessId, seen: &Observation<'_, Command, Event>) {
        match seen {
            Observation::Command { command: Command::Acquire { resource }, .. } => {
                self.awaited.insert(at, *resource);
            }
            Observation::Command { command: Command::Release { resource }, .. }
            | Observation::Event(Event::Released { resource }) => self.release(at, *resource),
            Observation::Event(Event::Acquired { resource }) => {
                self.awaited.remove(&at);
                self.held.entry(*resource).or_default().insert(at);
            }
            Observation::Event(Event::Aborted) => {
                self.awaited.remove(&at);
                self.held.retain(|_, by| {
                    by.remove(&at);
                    !by.is_empty()
                });
            }
            Observation::Crashed | Observation::Recovered | Observation::Sent { .. } => {}
        }
    }

    fn release(&mut self, at: ProcessId, resource: Resource) {
        if let Some(by) = self.held.get_mut(&resource) {
            by.remove(&at);
            if by.is_empty() {
                self.held.remove(&resource);
            }
        }
    }

    /// Returns the resource for which `at` waits, and a process that holds this resource. Returns
    /// `None` if `at` does not wait or no process holds the resource.
    fn blocker(&self, at: ProcessId) -> Option<(Resource, ProcessId)> {
        let resource = self.awaited.get(&at)?;
        Some((*resource, *self.held.get(resource)?.first()?))
    }

    /// Returns true if `at` is on a cycle of processes, each of which waits for the next.
    fn is_deadlocked(&self, at: ProcessId) -> bool {
        let mut seen = BTreeSet::new();
        let mut last = at;
        while let Some((_, next)) = self.blocker(last) {
            if next == at {
                return true;
            }
            if !seen.insert(next) {
                return false;
            }
            last = next;
        }
        false
    }
}

impl Monitor<Command, Event> for OneHolder {
    fn property(&self) -> Property {
        Property::OneHolder
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        if let Observation::Event(Event::Acquired { resource }) = seen
            && let Some(holder) = self.0.held.get(resource).and_then(|by| by.first())
        {
            return violated(at, format!("{at} acquires {resource}, which {holder} holds"));
        }
        self.0.observe(at, &seen);
        Ok(())
    }
}

impl Monitor<Command, Event> for NoPhantomDeadlock {
    fn property(&self) -> Property {
        Property::NoPhantomDeadlock
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        if seen == Observation::Event(&Event::Aborted) && !self.0.is_deadlocked(at) {
            let message = match (self.0.awaited.get(&at), self.0.blocker(at)) {
                (None, _) => format!("{at} is aborted, but waits for nothing"),
                (Some(resource), None) => {
                    format!("{at} is aborted, but no process holds {resource}, which it awaits")
                }
                (Some(_), Some((resource, holder))) => {
                    format!(
                        "{at} is aborted, but {holder}, holding {resource}, does not wait for it"
                    )
                }
            };
            return violated(at, message);
        }
        self.0.observe(at, &seen);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Step {
        Command(Command),
        Event(Event),
    }

    fn requests(resource: u64) -> Step {
        Step::Command(Command::Acquire { resource: Resource(resource) })
    }

    fn releases(resource: u64) -> Step {
        Step::Command(Command::Release { resource: Resource(resource) })
    }

    fn acquires(resource: u64) -> Step {
        Step::Event(Event::Acquired { resource: Resource(resource) })
    }

    const ABORTED: Step = Step::Event(Event::Aborted);

    fn holds(mut monitor: impl Monitor<Command, Event>, steps: &[(u32, Step)]) -> bool {
        let mut judged = steps.iter().map(|(at, step)| {
            let seen = match step {
                Step::Command(command) => Observation::Command { command, clock: None },
                Step::Event(event) => Observation::Event(event),
            };
            monitor.observe(ProcessId(*at), seen)
        });
        judged.all(|it| it.is_ok())
    }

    /// P1 holds R1 and P2 holds R2; each waits for the resource of the other.
    const DEADLOCK: [(u32, Step); 6] = [
        (0, Step::Command(Command::Acquire { resource: Resource(1) })),
        (0, Step::Event(Event::Acquired { resource: Resource(1) })),
        (1, Step::Command(Command::Acquire { resource: Resource(2) })),
        (1, Step::Event(Event::Acquired { resource: Resource(2) })),
        (0, Step::Command(Command::Acquire { resource: Resource(2) })),
        (1, Step::Command(Command::Acquire { resource: Resource(1) })),
    ];

    #[test]
    fn abort_needs_a_deadlock() {
        for (more, is_right) in [
            (&[(1, ABORTED)][..], true),
            (&[(0, ABORTED)], true),
            (&[(1, ABORTED), (0, ABORTED)], false),
            (&[(2, ABORTED)], false),
            (&[(2, requests(1)), (2, ABORTED)], false),
            (&[(1, ABORTED), (0, acquires(2)), (1, requests(2)), (1, ABORTED)], false),
        ] {
            assert_eq!(holds(NoPhantomDeadlock::default(), &[&DEADLOCK, more].concat()), is_right);
        }
        assert!(!holds(NoPhantomDeadlock::default(), &[(0, requests(1)), (0, ABORTED)]));
    }

    #[test]
    fn a_released_resource_closes_no_cycle() {
        let more = [(0, acquires(2)), (0, releases(1)), (0, requests(3)), (1, ABORTED)];
        assert!(!holds(NoPhantomDeadlock::default(), &[&DEADLOCK[..], &more].concat()));
    }

    #[test]
    fn two_holders_are_detected() {
        let first = [(0, requests(1)), (0, acquires(1)), (1, requests(1))];
        let then = |more: &[(u32, Step)]| holds(OneHolder::default(), &[&first, more].concat());
        assert!(!then(&[(1, acquires(1))]));
        assert!(then(&[(0, releases(1)), (1, acquires(1))]));
        assert!(then(&[(0, ABORTED), (1, acquires(1))]));
        assert!(!then(&[(1, releases(1)), (1, acquires(1))]));
    }
}
