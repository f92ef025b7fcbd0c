use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observation, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::stream;

/// Every item arrives exactly once, in order and without gaps; at the end none is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoLoss {
    /// Last item sent and received, by (sender, receiver).
    links: BTreeMap<(ProcessId, ProcessId), (u64, u64)>,
}

impl NoLoss {
    /// Creates the monitor before the first item.
    pub fn new() -> Self {
        NoLoss::default()
    }
}

impl Monitor<stream::Command, stream::Event> for NoLoss {
    fn property(&self) -> Property {
        Property::NoLoss
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, stream::Command, stream::Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observation::Command { command: stream::Command::Send { to, item }, .. } => {
                self.links.entry((at, *to)).or_default().0 = *item;
            }
            Observation::Event(stream::Event::Received { from, item }) => {
                let (_, received) = self.links.entry((*from, at)).or_default();
                if *item != *received + 1 {
                    let message = format!("{at} got item {item} of {from} after item {received}");
                    return Err(Violation { at, message });
                }
                *received = *item;
            }
            Observation::Crashed | Observation::Recovered => {
                self.links.retain(|(from, to), _| *from != at && *to != at);
            }
            Observation::Sent { .. } => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        let missing = self.links.iter().find(|(_, (sent, received))| sent != received);
        let Some(((from, to), (sent, received))) = missing else { return Ok(()) };
        let message = format!("{from} sent {sent} items to {to}, which got {received}");
        Err(Violation { at: *to, message })
    }
}
