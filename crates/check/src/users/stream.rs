//! Users of a channel, which send and receive streams of items.

use tenure_core::ProcessId;
use tenure_core::service::stream::{Command, Event};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of a channel. [`UserWorkload::request_limit`] is the maximum number of items that it sends
/// to each peer.
///
/// The user never waits. If the check selects the monitor `ExactlyOnceInOrder`, the monitor judges
/// at the end of a run whether all items have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamUser {
    /// For each peer: the number of the next item to send, and the number of the last item to send.
    next: Vec<(ProcessId, u64, u64)>,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = StreamUser;

    fn new_user(at: ProcessId, workload: &UserWorkload) -> StreamUser {
        let most = match workload.request_limit(at) {
            RequestLimit::AtMost(most) => u64::from(most),
            RequestLimit::Unbounded => u64::MAX,
        };
        let peers = (0..workload.size()).map(ProcessId).filter(|peer| *peer != at);
        StreamUser { next: peers.map(|peer| (peer, 1, most)).collect() }
    }
}

impl User<Command> for StreamUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        let open = self.next.iter().filter(|(_, item, most)| item <= most);
        let send = |(to, item, _): &(ProcessId, u64, u64)| {
            EnabledCommand::optional(Command::Send { to: *to, item: *item })
        };
        open.map(send).collect()
    }

    fn on_command(&mut self, command: &Command) {
        let Command::Send { to, item } = command;
        for (peer, next, _) in &mut self.next {
            if peer == to {
                *next = item + 1;
            }
        }
    }

    fn on_event(&mut self, _event: &Event) {}

    fn state(&self) -> UserState {
        UserState::Idle
    }
}
