use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::termination::{Command, Event};

/// The end of a computation is announced only when nobody works for it and no work of it is under
/// way: then there will never be any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quiescence {
    /// By who began it: how many pieces of work there are, in hand or under way.
    open: BTreeMap<ProcessId, u64>,
}

impl Quiescence {
    /// Before anybody worked.
    pub fn new() -> Self {
        Quiescence::default()
    }
}

impl Monitor<Command, Event> for Quiescence {
    fn property(&self) -> Property {
        Property::Quiescence
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: Command::Compute { .. }, .. } => {
                *self.open.entry(at).or_default() += 1;
            }
            Observed::Event(Event::Done { of, more }) => {
                let open = self.open.entry(*of).or_default();
                *open = (*open + u64::from(*more)).saturating_sub(1);
            }
            Observed::Event(Event::Terminated) => {
                let open = self.open.get(&at).copied().unwrap_or(0);
                if open > 0 {
                    let pieces = if open == 1 { "piece" } else { "pieces" };
                    let says = format!(
                        "{at} is told that its computation has ended, and {open} {pieces} of it \
                         are left"
                    );
                    return Err(Violation { at, says });
                }
            }
            Observed::Event(Event::Tasked { .. })
            | Observed::Crashed
            | Observed::Recovered
            | Observed::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn an_end_that_is_announced_while_work_is_left_is_seen_and_others_work_does_not_matter() {
        let [one, other] = [ProcessId(0), ProcessId(1)];
        let done = |of, more| Event::Done { of, more };
        for (events, holds) in [
            (vec![(one, done(one, 1)), (other, done(one, 0)), (one, Event::Terminated)], true),
            (vec![(one, done(one, 1)), (one, Event::Terminated)], false),
            (vec![(one, Event::Terminated)], false),
            (vec![(one, done(other, 0)), (other, Event::Terminated)], true),
            (vec![(one, done(other, 0)), (one, Event::Terminated)], false),
        ] {
            let mut monitor = Quiescence::new();
            for at in [one, other] {
                let command = &Command::Compute { generations: 2 };
                monitor.observe(at, Observed::Command { command, clock: None }).unwrap();
            }
            let mut judged =
                events.iter().map(|(at, event)| monitor.observe(*at, Observed::Event(event)));
            assert_eq!(judged.all(|it| it.is_ok()), holds, "{events:?}");
        }
    }
}
