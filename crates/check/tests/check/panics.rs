//! A handler that panics ends the check with what it said and the steps that lead there.

use serde::{Deserialize, Serialize};
use tenure_check::{Check, Refusal};
use tenure_core::monitors::MutualExclusion;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, Never, ProcessId, Protocol, labelled};

/// Enters when all have greeted it, and cannot bear to be greeted while it is inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Fragile {
    group: Group,
    greetings: u32,
    is_inside: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Hello,
    Welcome,
}

labelled!(Message, Mutex, Hello => "hello", Welcome => "welcome");

impl Protocol for Fragile {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Fragile { group, greetings: 0, is_inside: false }
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
                assert!(!self.is_inside, "{from} disturbs whoever is inside");
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
fn a_panic_in_a_handler_ends_the_check_with_its_words_and_its_steps() {
    for threads in [1, 2, 7] {
        let check = Check::<Fragile>::with(3, ()).entries(2).threads(threads);
        let refusal = check.always(MutualExclusion::new()).try_run();
        let refusal = refusal.expect_err("somebody is disturbed");
        let Refusal::Panicked { says, story } = &refusal else { panic!("{refusal}") };
        assert!(says.ends_with("disturbs whoever is inside"), "{says}");
        // Two ask, one is welcomed by both others and is then greeted.
        assert_eq!(story.length(), 7, "{story}");
        assert!(refusal.to_string().contains("receives hello"), "{refusal}");
    }
}

#[test]
fn a_panic_far_down_ends_a_search_of_many_threads_too() {
    // Millions of worlds lie before it, in levels that all threads share.
    let check = Check::<Fragile>::with(4, ()).entries([1, 1, 0, 0]).losing(1).duplicating(1);
    let refused = check.threads(4).try_run().expect_err("somebody is disturbed");
    assert!(matches!(refused, Refusal::Panicked { .. }), "{refused}");
}

#[test]
#[should_panic(expected = "disturbs whoever is inside")]
fn whoever_does_not_ask_for_the_refusal_gets_the_panic() {
    let _ = Check::<Fragile>::with(2, ()).always(MutualExclusion::new()).run();
}
