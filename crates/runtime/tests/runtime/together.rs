//! What users ask at the same time is taken before what comes of the first of it.

use std::time::Duration;

use tempfile::TempDir;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol};
use tenure_runtime::Recorder;
use tokio::time::timeout;

use crate::{start_alone, store_alone};

const PATIENCE: Duration = Duration::from_secs(20);

/// Says in the step after it was asked how often it was asked by then.
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
        fx.set_timer((), Delay::NONE);
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        fx.emit(Event::Entered { fence: Fence(0, self.0) });
    }
}

#[tokio::test]
async fn all_that_was_asked_is_taken_before_a_timer_that_is_due() {
    let directory = TempDir::new().unwrap();
    let store = store_alone(directory.path(), "gathering 1");
    // It runs when this test waits.
    let (asks, mut told, _running) = start_alone::<Gathering>(store, Recorder::none());
    (0..64).for_each(|_| asks.send(Command::Enter).unwrap());
    let first = timeout(PATIENCE, told.recv()).await.expect("in time");
    assert_eq!(first, Some(Event::Entered { fence: Fence(0, 64) }));
}
