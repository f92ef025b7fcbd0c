//! Commands as scripts say them.

use tenure_core::ProcessId;
use tenure_core::service::{detector, election, mutex, office, stream};

use crate::Asking;

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
    use crate::Action;

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
