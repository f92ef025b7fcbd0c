//! Checks a protocol of your own, in every order of messages and requests. The protocol is a polite
//! lock for two processes. A process that wants to enter asks the other process. The other process
//! agrees if it is not inside. The check shows whether this is enough for mutual exclusion.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use tenure_check::Check;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, ProcessId, Protocol, labelled, monitors};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PoliteLock {
    group: Group,
    inside: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
enum Message {
    MayI,
    PleaseDo,
}
labelled!(Message, Mutex, MayI => "may-i", PleaseDo => "please-do");

impl Protocol for PoliteLock {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, _: &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        PoliteLock { group, inside: false }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if command == Command::Enter {
            return fx.broadcast(&self.group.peers(), Message::MayI);
        }
        self.inside = false;
        fx.emit(Event::Exited);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if message == Message::PleaseDo {
            self.inside = true;
            fx.emit(Event::Entered { fence: Fence::NONE });
        } else if !self.inside {
            fx.send(from, Message::PleaseDo);
        }
    }
}

fn main() {
    let check = Check::<PoliteLock>::new(2)
        .always(monitors::MutualExclusion::new())
        .check_starvation_freedom();
    println!("{}", check.run()); // it is not: two are inside after six steps
}
