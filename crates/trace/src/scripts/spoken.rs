//! Commands as scripts say them.

use std::str::FromStr;

use tenure_core::ProcessId;
use tenure_core::service::{
    clock, commit, detector, election, led, mutex, office, replication, stream, tree,
};

use crate::scripts::script::Asking;

/// A command that scripts can say: `enter p1`.
pub trait Spoken: Sized {
    /// The command that the user at `asking.at` gives; `None` when the words mean none.
    fn understand(asking: &Asking) -> Option<Self>;

    /// The words for this command, given at `at`.
    fn say(&self, at: ProcessId) -> Asking;
}

/// A command of one word.
fn word(asking: &Asking) -> Option<&str> {
    (asking.peer.is_none() && asking.words.is_empty()).then_some(&*asking.verb)
}

fn say(verb: &str, at: ProcessId) -> Asking {
    Asking { verb: verb.into(), at, peer: None, words: Vec::new() }
}

impl Spoken for mutex::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        match word(asking)? {
            "enter" => Some(mutex::Command::Enter),
            "exit" => Some(mutex::Command::Exit),
            _ => None,
        }
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            mutex::Command::Enter => say("enter", at),
            mutex::Command::Exit => say("exit", at),
        }
    }
}

impl Spoken for election::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        match word(asking)? {
            "elect" => Some(election::Command::Elect),
            "resign" => Some(election::Command::Resign),
            _ => None,
        }
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            election::Command::Elect => say("elect", at),
            election::Command::Resign => say("resign", at),
        }
    }
}

impl Spoken for office::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        let mutex = mutex::Command::understand(asking).map(office::Command::Mutex);
        mutex.or_else(|| election::Command::understand(asking).map(office::Command::Election))
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            office::Command::Mutex(command) => command.say(at),
            office::Command::Election(command) => command.say(at),
        }
    }
}

impl Spoken for stream::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        match (&*asking.verb, asking.peer, asking.words.as_slice()) {
            ("send", Some(to), [item]) => {
                Some(stream::Command::Send { to, item: item.parse().ok()? })
            }
            _ => None,
        }
    }

    fn say(&self, at: ProcessId) -> Asking {
        let stream::Command::Send { to, item } = self;
        Asking { peer: Some(*to), words: vec![item.to_string()], ..say("send", at) }
    }
}

impl<C: Spoken> Spoken for led::Command<C> {
    fn understand(asking: &Asking) -> Option<Self> {
        let application = C::understand(asking).map(led::Command::Application);
        application.or_else(|| election::Command::understand(asking).map(led::Command::Election))
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            led::Command::Application(command) => command.say(at),
            led::Command::Election(command) => command.say(at),
        }
    }
}

/// A command with one number behind it.
fn number<T: FromStr>(asking: &Asking, verb: &str) -> Option<T> {
    match (&*asking.verb, asking.peer, asking.words.as_slice()) {
        (said, None, [number]) if said == verb => number.parse().ok(),
        _ => None,
    }
}

fn say_number(verb: &str, number: impl ToString, at: ProcessId) -> Asking {
    Asking { words: vec![number.to_string()], ..say(verb, at) }
}

impl Spoken for clock::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        if let Some(to) = number(asking, "set") {
            return Some(clock::Command::Set { to });
        }
        match word(asking)? {
            "synchronise" => Some(clock::Command::Synchronise),
            "read" => Some(clock::Command::Read),
            _ => None,
        }
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            clock::Command::Set { to } => say_number("set", to, at),
            clock::Command::Synchronise => say("synchronise", at),
            clock::Command::Read => say("read", at),
        }
    }
}

impl Spoken for replication::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        number(asking, "write").map(|value| replication::Command::Write { value })
    }

    fn say(&self, at: ProcessId) -> Asking {
        let replication::Command::Write { value } = self;
        say_number("write", value, at)
    }
}

impl Spoken for commit::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        match word(asking)? {
            "begin" => Some(commit::Command::Begin),
            "veto" => Some(commit::Command::Veto),
            _ => None,
        }
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            commit::Command::Begin => say("begin", at),
            commit::Command::Veto => say("veto", at),
        }
    }
}

impl Spoken for tree::Command {
    fn understand(asking: &Asking) -> Option<Self> {
        (word(asking)? == "grow").then_some(tree::Command::Grow)
    }

    fn say(&self, at: ProcessId) -> Asking {
        say("grow", at)
    }
}

/// A detector is asked nothing.
impl Spoken for detector::Command {
    fn understand(_asking: &Asking) -> Option<Self> {
        None
    }

    fn say(&self, _at: ProcessId) -> Asking {
        match *self {}
    }
}

/// Protocols without commands understand none.
impl Spoken for () {
    fn understand(_asking: &Asking) -> Option<Self> {
        None
    }

    fn say(&self, at: ProcessId) -> Asking {
        say("nothing", at)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::scripts::script::Action;

    fn understood_as_said<C: Spoken + PartialEq + Debug>(commands: &[C]) {
        for command in commands {
            let said = command.say(ProcessId(2));
            let heard: Action = said.to_string().parse().unwrap();
            assert_eq!(heard, Action::Ask(said.clone()));
            assert_eq!(C::understand(&said).as_ref(), Some(command));
        }
    }

    #[test]
    fn every_command_is_understood_as_it_is_said() {
        let locks = [mutex::Command::Enter, mutex::Command::Exit];
        let elections = [election::Command::Elect, election::Command::Resign];
        understood_as_said(&locks);
        understood_as_said(&elections);
        understood_as_said(&locks.map(office::Command::Mutex));
        understood_as_said(&elections.map(office::Command::Election));
        understood_as_said(&[stream::Command::Send { to: ProcessId(1), item: 7 }]);
        understood_as_said(&elections.map(led::Command::<clock::Command>::Election));
        let (set, write) =
            (clock::Command::Set { to: -7 }, replication::Command::Write { value: 7 });
        understood_as_said(&[set, clock::Command::Synchronise, clock::Command::Read]);
        understood_as_said(&[led::Command::Application(write)]);
        understood_as_said(&[commit::Command::Begin, commit::Command::Veto]);
        understood_as_said(&[tree::Command::Grow]);
    }

    #[test]
    fn what_means_nothing_to_a_service_is_not_understood() {
        let said = election::Command::Elect.say(ProcessId(0));
        assert_eq!(mutex::Command::understand(&said), None);
        let said = Asking { peer: Some(ProcessId(1)), ..mutex::Command::Enter.say(ProcessId(0)) };
        assert_eq!(mutex::Command::understand(&said), None);
        assert_eq!(<()>::understand(&said), None);
    }
}
