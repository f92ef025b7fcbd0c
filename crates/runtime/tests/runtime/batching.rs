//! A node handles simultaneous requests before it releases the effects of the first request.

use tempfile::TempDir;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol};
use tenure_runtime::TraceSink;

use crate::{next_event, start_alone, store_alone};

/// A protocol that counts commands. It emits the count in the step that follows a command, not in
/// the step of the command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Gathering(u64);

impl Protocol for Gathering {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Gathering(0)
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.0 += 1;
        fx.set_timer((), Delay::ZERO);
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        fx.emit(Event::Entered { fence: Fence(0, self.0) });
    }
}

#[tokio::test]
async fn pending_requests_precede_due_timer() {
    let directory = TempDir::new().unwrap();
    let store = store_alone(directory.path(), "gathering 1");
    // The node runs while this test waits.
    let (commands, mut events, _running) = start_alone::<Gathering>(store, TraceSink::none());
    (0..64).for_each(|_| commands.send(Command::Enter).unwrap());
    assert_eq!(next_event(&mut events).await, Event::Entered { fence: Fence(0, 64) });
}
