//! Monitor of the rounds of a barrier.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::barrier::{Command, Event};

/// Monitor of a barrier: no process leaves a round before all processes have arrived in this round.
/// Each process leaves the rounds in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NoEarlyDeparture {
    size: u32,
    /// For each process: the number of rounds in which it has arrived, and the number of rounds
    /// that it has left.
    rounds: BTreeMap<ProcessId, (u64, u64)>,
}

impl NoEarlyDeparture {
    /// Creates the monitor for a group of `size`, in its initial state: no process has arrived.
    pub const fn new(size: u32) -> Self {
        NoEarlyDeparture { size, rounds: BTreeMap::new() }
    }
}

impl Monitor<Command, Event> for NoEarlyDeparture {
    fn property(&self) -> Property {
        Property::NoEarlyDeparture
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Arrive, .. } => {
                self.rounds.entry(at).or_default().0 += 1;
            }
            Observation::Event(Event::Left { round }) => {
                let (_, left) = self.rounds.entry(at).or_default();
                if *round != *left + 1 {
                    return violated(at, format!("{at} leaves round {round} after round {left}"));
                }
                *left = *round;
                let has_arrived = |at: &ProcessId| {
                    self.rounds.get(at).is_some_and(|(arrived, _)| arrived >= round)
                };
                let missing = (0..self.size).map(ProcessId).find(|at| !has_arrived(at));
                if let Some(missing) = missing {
                    let message =
                        format!("{at} leaves round {round}, in which {missing} has not arrived");
                    return violated(at, message);
                }
            }
            Observation::Crashed | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_early_and_skipped_barrier_exits() {
        let left = |round| Some(Event::Left { round });
        // An element is a process and its event. `None` is the command of its user to arrive.
        type Case<'a> = (&'a [(u32, Option<Event>)], bool);
        let cases: [Case<'_>; 5] = [
            (&[(0, None), (1, None), (0, left(1)), (0, None), (1, left(1))], true),
            (&[(0, None), (0, left(1))], false),
            (&[(0, None), (1, None), (0, left(2))], false),
            (&[(0, None), (1, None), (0, left(1)), (0, None), (0, left(2))], false),
            (&[(0, None), (1, None), (0, left(1)), (0, left(1))], false),
        ];
        for (story, holds) in cases {
            let mut monitor = NoEarlyDeparture::new(2);
            let mut judged = story.iter().map(|(at, event)| {
                let command = &Command::Arrive;
                let arrives = Observation::Command { command, clock: None };
                monitor.observe(ProcessId(*at), event.as_ref().map_or(arrives, Observation::Event))
            });
            assert_eq!(judged.all(|it| it.is_ok()), holds, "{story:?}");
        }
    }
}
