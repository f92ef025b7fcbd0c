//! Monitor of the items of a stream.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::stream;

/// Monitor of streams: each item arrives exactly once, in order and without gaps. At the end of a
/// run no item is missing. A crash or a recovery of a process resets all streams from and to this
/// process: their next item has number 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExactlyOnceInOrder {
    /// For each pair of sender and receiver: the number of the last item sent, and the number of
    /// the last item received.
    links: BTreeMap<(ProcessId, ProcessId), (u64, u64)>,
}

impl Monitor<stream::Command, stream::Event> for ExactlyOnceInOrder {
    fn property(&self) -> Property {
        Property::ExactlyOnceInOrder
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, stream::Command, stream::Event>,
    ) -> MonitorResult {
        match seen {
            Observation::Command { command: stream::Command::Send { to, item }, .. } => {
                self.links.entry((at, *to)).or_default().0 = *item;
            }
            Observation::Event(stream::Event::Received { from, item }) => {
                let (_, received) = self.links.entry((*from, at)).or_default();
                if *item != *received + 1 {
                    let message = format!("{at} got item {item} of {from} after item {received}");
                    return violated(at, message);
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

    fn check_final_state(&self) -> MonitorResult {
        let missing = self.links.iter().find(|(_, (sent, received))| sent != received);
        let Some(((from, to), (sent, received))) = missing else { return Ok(()) };
        violated(*to, format!("{from} sent {sent} items to {to}, which got {received}"))
    }
}
