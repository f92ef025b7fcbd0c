//! What users ask at the same time is taken before what comes of the first of it.

use std::time::Duration;

use tempfile::TempDir;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol};
use tenure_runtime::store::Owner;
use tenure_runtime::{Injection, Parts, Raw, Recorder, Store, start};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::alone;

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
    let owner = Owner { cluster: "test".into(), process: ProcessId(0), group_size: 1 };
    let store = Store::open(directory.path(), &owner, "gathering 1").unwrap();
    let (local, mut told) = Raw::<Gathering>::new();
    let (asks, asked) = mpsc::unbounded_channel();
    (0..64).for_each(|_| asks.send(Command::Enter).unwrap());
    let _running = start::<Gathering, Raw<Gathering>>(Parts {
        config: (),
        transport: alone(store.session()),
        store,
        local,
        asks: asked,
        recorder: Recorder::none(),
        injection: Injection::none(),
        suspected: None,
    })
    .unwrap();
    let first = timeout(PATIENCE, told.recv()).await.expect("in time");
    assert_eq!(first, Some(Event::Entered { fence: Fence(0, 64) }));
}
