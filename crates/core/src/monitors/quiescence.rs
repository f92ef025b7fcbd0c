//! Monitor of termination detection.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::termination::{Command, Event};

/// Monitor of termination detection: the end of a computation is announced only if no work of the
/// computation is in progress or in flight. Only work creates work, so the computation has then
/// ended for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoFalseTermination {
    /// For each initiator of a computation: the number of work items that are in progress or in
    /// flight.
    open: BTreeMap<ProcessId, u64>,
}

impl Monitor<Command, Event> for NoFalseTermination {
    fn property(&self) -> Property {
        Property::NoFalseTermination
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Compute { .. }, .. } => {
                *self.open.entry(at).or_default() += 1;
            }
            Observation::Event(Event::Done { of, more }) => {
                let open = self.open.entry(*of).or_default();
                *open = (*open + u64::from(*more)).saturating_sub(1);
            }
            Observation::Event(Event::Terminated) => {
                let open = self.open.get(&at).copied().unwrap_or(0);
                if open > 0 {
                    let pieces = if open == 1 { "piece" } else { "pieces" };
                    let message = format!(
                        "{at} reports that its computation has ended, but {open} {pieces} of work \
                         are left"
                    );
                    return violated(at, message);
                }
            }
            Observation::Event(Event::Tasked { .. })
            | Observation::Crashed
            | Observation::Recovered
            | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn detects_early_termination_announcement() {
        let [one, other] = [ProcessId(0), ProcessId(1)];
        let done = |of, more| Event::Done { of, more };
        for (events, holds) in [
            (vec![(one, done(one, 1)), (other, done(one, 0)), (one, Event::Terminated)], true),
            (vec![(one, done(one, 1)), (one, Event::Terminated)], false),
            (vec![(one, Event::Terminated)], false),
            (vec![(one, done(other, 0)), (other, Event::Terminated)], true),
            (vec![(one, done(other, 0)), (one, Event::Terminated)], false),
        ] {
            let mut monitor = NoFalseTermination::default();
            for at in [one, other] {
                let command = &Command::Compute { generations: 2 };
                monitor.observe(at, Observation::Command { command, clock: None }).unwrap();
            }
            let mut judged =
                events.iter().map(|(at, event)| monitor.observe(*at, Observation::Event(event)));
            assert_eq!(judged.all(|it| it.is_ok()), holds, "{events:?}");
        }
    }
}
