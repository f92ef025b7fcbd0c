//! Who sends numbered items to everybody else.

use tenure_core::ProcessId;
use tenure_core::service::stream::{Command, Event};

use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of a channel: sends as many items to each peer as the workload has entries.
///
/// Whether they arrive is judged by the monitor `NoLoss` in the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamUser {
    /// For each peer: the number of the next item, and of the last that may be sent.
    next: Vec<(ProcessId, u64, u64)>,
}

impl Service for Command {
    type Event = Event;
    type User = StreamUser;

    fn user(at: ProcessId, workload: &Workload) -> StreamUser {
        let most = match workload.entries(at) {
            crate::users::entries::Entries::AtMost(most) => u64::from(most),
            crate::users::entries::Entries::Unbounded => u64::MAX,
        };
        let peers = (0..workload.size()).map(ProcessId).filter(|peer| *peer != at);
        StreamUser { next: peers.map(|peer| (peer, 1, most)).collect() }
    }
}

impl User<Command> for StreamUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        let open = self.next.iter().filter(|(_, item, most)| item <= most);
        open.map(|(to, item, _)| Offer {
            command: Command::Send { to: *to, item: *item },
            obliged: false,
        })
        .collect()
    }

    fn asked(&mut self, command: &Command) {
        let Command::Send { to, item } = command;
        for (peer, next, _) in &mut self.next {
            if peer == to {
                *next = item + 1;
            }
        }
    }

    fn told(&mut self, _event: &Event) {}

    fn standing(&self) -> Standing {
        Standing::Content
    }
}
