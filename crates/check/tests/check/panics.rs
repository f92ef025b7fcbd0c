//! If a handler panics, the check ends and reports the message of the panic and the steps before
//! it.

use serde::{Deserialize, Serialize};
use tenure_check::{Check, CheckError};
use tenure_core::monitors::MutualExclusion;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, Never, ProcessId, Protocol, labelled};

/// A lock that a process enters when all others have greeted it. A process that is greeted while it
/// is inside the critical section panics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PanicOnGreeting {
    group: Group,
    greetings: u32,
    is_inside: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    Hello,
    Welcome,
}

labelled!(Message, Mutex, Hello => "hello", Welcome => "welcome");

impl Protocol for PanicOnGreeting {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        PanicOnGreeting { group, greetings: 0, is_inside: false }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => fx.broadcast(&self.group.peers(), Message::Hello),
            Command::Exit => {
                self.is_inside = false;
                fx.emit(Event::Exited);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Hello => {
                assert!(!self.is_inside, "{from} greets a process that is inside");
                fx.send(from, Message::Welcome);
            }
            Message::Welcome => {
                self.greetings += 1;
                if self.greetings.is_multiple_of(self.group.size() - 1) {
                    self.is_inside = true;
                    fx.emit(Event::Entered { fence: Fence::NONE });
                }
            }
        }
    }
}

#[test]
fn handler_panic_reports_message_and_steps() {
    for threads in [1, 2, 7] {
        let check = Check::<PanicOnGreeting>::with_protocol_config(3, ())
            .request_limits(2)
            .threads(threads);
        let error = check.always(MutualExclusion::new()).try_run();
        let error = error.expect_err("a handler panics");
        let CheckError::Panicked { message, run } = &error else { panic!("{error}") };
        assert!(message.ends_with("greets a process that is inside"), "{message}");
        // The steps are two requests, four steps in which one process gets both welcomes and
        // enters, and the arrival of the other process's greeting.
        assert_eq!(run.step_count(), 7, "{run}");
        assert!(error.to_string().contains("receives hello"), "{error}");
    }
}

#[test]
fn deep_panic_stops_all_threads() {
    // Millions of states precede the panic, so all threads take part in the search.
    let check = Check::<PanicOnGreeting>::with_protocol_config(4, ())
        .request_limits([1, 1, 0, 0])
        .max_losses(1);
    let refused = check.max_duplicates(1).threads(4).try_run().expect_err("a handler panics");
    assert!(matches!(refused, CheckError::Panicked { .. }), "{refused}");
}

#[test]
#[should_panic(expected = "greets a process that is inside")]
fn run_propagates_handler_panic() {
    let _ =
        Check::<PanicOnGreeting>::with_protocol_config(2, ()).always(MutualExclusion::new()).run();
}
