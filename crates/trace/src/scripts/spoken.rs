//! The face of a service: how its commands are said, what a workload can ask of it, and how a
//! trace holds what its users ask and are told.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;
use tenure_core::service::{
    agreement, clock, commit, detector, election, led, mutex, office, replication, stream, tree,
};
use tenure_core::{Facts, Of, ProcessId, Protocol, Service};

use crate::format::{ApplicationCommand, ApplicationEvent, Asked, Told};
use crate::scripts::script::Asking;

/// A protocol whose users scripts, workloads and traces can speak for.
pub trait Recorded: Protocol<Command: Spoken, Event: Heard> {}

impl<P: Protocol<Command: Spoken, Event: Heard>> Recorded for P {}

/// A command that scripts can say (`enter p1`), workloads can give and traces can hold.
///
/// The services' commands have it. For commands of your own an empty `impl` is enough: then no
/// script says them and no workload gives them.
pub trait Spoken: Clone + Debug + PartialEq + 'static {
    /// What the service is, which decides what its traces are judged by.
    const SERVICE: Service = Service::Other;

    /// The commands of one word, and their words.
    const WORDS: &'static [(&'static str, Self)] = &[];

    /// The command that the user at `asking.at` gives; `None` when the words mean none.
    fn understand(asking: &Asking) -> Option<Self> {
        one_word(asking)
    }

    /// The words for this command, given at `at`.
    fn say(&self, at: ProcessId) -> Asking {
        let known = Self::WORDS.iter().find(|(_, command)| command == self);
        match known {
            Some((word, _)) => say(*word, at),
            None => say(format!("{self:?}"), at),
        }
    }

    /// The command that asks this of a lock or of an election; `None` when the service has none.
    fn asking(command: office::Command) -> Option<Self> {
        let _ = command;
        None
    }

    /// What this command asks of a lock or of an election, if anything.
    fn ask(&self) -> Option<office::Command> {
        None
    }

    /// The command that asks this of a service of agreement; `None` when it is another's.
    fn agreeing(command: agreement::Command) -> Option<Self> {
        let _ = command;
        None
    }

    /// What this command asks of a service of agreement, if anything.
    fn agreed(&self) -> Option<agreement::Command> {
        None
    }

    /// How a trace holds it.
    fn asked(&self) -> Asked {
        Asked::Other(format!("{self:?}").into())
    }
}

/// An event that traces can hold.
///
/// The services' events have it. For events of your own an empty `impl` is enough, of this and
/// of [`Facts`].
pub trait Heard: Facts + Debug {
    /// How a trace holds it.
    fn told(&self) -> Told {
        Told::Other(format!("{self:?}").into())
    }
}

impl<C: Spoken> From<C> for Asked {
    fn from(command: C) -> Self {
        command.asked()
    }
}

impl<E: Heard> From<E> for Told {
    fn from(event: E) -> Self {
        event.told()
    }
}

impl Asked {
    /// The words for it, given at `at`, if there are any.
    pub fn say(&self, at: ProcessId) -> Option<Asking> {
        Some(match self {
            Asked::Mutex(command) => command.say(at),
            Asked::Election(command) => command.say(at),
            Asked::Office(command) => command.say(at),
            Asked::Stream(command) => command.say(at),
            Asked::Application(command) => command.say(at),
            Asked::Agreement(command) => command.say(at),
            Asked::Led(command) => command.say(at),
            Asked::Other(_) => return None,
        })
    }
}

pub(super) fn say(verb: impl Into<String>, at: ProcessId) -> Asking {
    Asking { verb: verb.into(), at, peer: None, words: Vec::new() }
}

/// A command of one word.
pub(super) fn one_word<C: Spoken>(asking: &Asking) -> Option<C> {
    let alone = asking.peer.is_none() && asking.words.is_empty();
    let meant = C::WORDS.iter().find(|(word, _)| alone && *word == asking.verb)?;
    Some(meant.1.clone())
}

/// A command with one number behind it.
pub(super) fn number<T: FromStr>(asking: &Asking, verb: &str) -> Option<T> {
    match (&*asking.verb, asking.peer, asking.words.as_slice()) {
        (said, None, [number]) if said == verb => number.parse().ok(),
        _ => None,
    }
}

pub(super) fn say_number(verb: &str, number: impl ToString, at: ProcessId) -> Asking {
    Asking { words: vec![number.to_string()], ..say(verb, at) }
}

impl Spoken for mutex::Command {
    const SERVICE: Service = Service::Mutex;
    const WORDS: &'static [(&'static str, Self)] =
        &[("enter", mutex::Command::Enter), ("exit", mutex::Command::Exit)];

    fn asking(command: office::Command) -> Option<Self> {
        match command {
            office::Command::Mutex(command) => Some(command),
            office::Command::Election(_) => None,
        }
    }

    fn ask(&self) -> Option<office::Command> {
        Some(office::Command::Mutex(*self))
    }

    fn asked(&self) -> Asked {
        Asked::Mutex(*self)
    }
}

impl Spoken for election::Command {
    const SERVICE: Service = Service::Election;
    const WORDS: &'static [(&'static str, Self)] =
        &[("elect", election::Command::Elect), ("resign", election::Command::Resign)];

    fn asking(command: office::Command) -> Option<Self> {
        match command {
            office::Command::Election(command) => Some(command),
            office::Command::Mutex(_) => None,
        }
    }

    fn ask(&self) -> Option<office::Command> {
        Some(office::Command::Election(*self))
    }

    fn asked(&self) -> Asked {
        Asked::Election(*self)
    }
}

impl Spoken for office::Command {
    const SERVICE: Service = Service::Office;

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

    fn asking(command: office::Command) -> Option<Self> {
        Some(command)
    }

    fn ask(&self) -> Option<office::Command> {
        Some(*self)
    }

    fn asked(&self) -> Asked {
        Asked::Office(*self)
    }
}

impl Spoken for stream::Command {
    const SERVICE: Service = Service::Stream;

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
        Asking { peer: Some(*to), ..say_number("send", item, at) }
    }

    fn asked(&self) -> Asked {
        Asked::Stream(*self)
    }
}

impl Spoken for clock::Command {
    const WORDS: &'static [(&'static str, Self)] =
        &[("synchronise", clock::Command::Synchronise), ("read", clock::Command::Read)];

    fn understand(asking: &Asking) -> Option<Self> {
        let set = number(asking, "set").map(|to| clock::Command::Set { to });
        set.or_else(|| one_word(asking))
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            clock::Command::Set { to } => say_number("set", to, at),
            clock::Command::Synchronise => say("synchronise", at),
            clock::Command::Read => say("read", at),
        }
    }

    fn asked(&self) -> Asked {
        Asked::Application(ApplicationCommand::Clock(*self))
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

    fn asked(&self) -> Asked {
        Asked::Application(ApplicationCommand::Replication(*self))
    }
}

impl Spoken for commit::Command {
    const WORDS: &'static [(&'static str, Self)] =
        &[("begin", commit::Command::Begin), ("veto", commit::Command::Veto)];

    fn asked(&self) -> Asked {
        Asked::Application(ApplicationCommand::Commit(*self))
    }
}

impl Spoken for tree::Command {
    const WORDS: &'static [(&'static str, Self)] = &[("grow", tree::Command::Grow)];

    fn asked(&self) -> Asked {
        Asked::Application(ApplicationCommand::Tree(*self))
    }
}

impl Spoken for ApplicationCommand {
    fn understand(asking: &Asking) -> Option<Self> {
        clock::Command::understand(asking)
            .map(ApplicationCommand::Clock)
            .or_else(|| one_word(asking).map(ApplicationCommand::Commit))
            .or_else(|| one_word(asking).map(ApplicationCommand::Tree))
            .or_else(|| Some(ApplicationCommand::Replication(Spoken::understand(asking)?)))
    }

    fn say(&self, at: ProcessId) -> Asking {
        match self {
            ApplicationCommand::Clock(command) => command.say(at),
            ApplicationCommand::Replication(command) => command.say(at),
            ApplicationCommand::Commit(command) => command.say(at),
            ApplicationCommand::Tree(command) => command.say(at),
        }
    }

    fn asked(&self) -> Asked {
        Asked::Application(*self)
    }
}

/// A workload asks only for the election; what the application is asked comes from scripts.
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

    fn asking(command: office::Command) -> Option<Self> {
        election::Command::asking(command).map(led::Command::Election)
    }

    fn ask(&self) -> Option<office::Command> {
        match self {
            led::Command::Application(_) => None,
            led::Command::Election(command) => command.ask(),
        }
    }

    fn asked(&self) -> Asked {
        match self {
            led::Command::Application(command) => command.asked().under_a_leader(),
            led::Command::Election(command) => Asked::Office(office::Command::Election(*command)),
        }
    }
}

/// A detector is asked nothing.
impl Spoken for detector::Command {}

/// Protocols without commands understand none.
impl Spoken for () {
    fn asked(&self) -> Asked {
        Asked::Other(Value::Null)
    }
}

/// The last word says of which it is: `enter p1 printer`. A trace is judged as one lock or one
/// election, so nothing judges many by their names.
impl<K, C> Spoken for Of<K, C>
where
    K: Clone + Debug + Display + FromStr + PartialEq + Serialize + 'static,
    C: Spoken + Serialize,
{
    fn understand(asking: &Asking) -> Option<Self> {
        let (key, words) = asking.words.split_last()?;
        let inner = C::understand(&Asking { words: words.to_vec(), ..asking.clone() })?;
        Some(Of { key: key.parse().ok()?, inner })
    }

    fn say(&self, at: ProcessId) -> Asking {
        let mut asking = self.inner.say(at);
        asking.words.push(self.key.to_string());
        asking
    }

    fn asked(&self) -> Asked {
        Asked::Other(serde_json::to_value(self).unwrap_or_default())
    }
}

macro_rules! heard {
    ($($service:ident => |$event:ident| $told:expr),+ $(,)?) => {
        $(impl Heard for $service::Event {
            fn told(&self) -> Told {
                let $event = self.clone();
                $told
            }
        })+
    };
}

heard! {
    mutex => |event| Told::Mutex(event),
    election => |event| Told::Election(event),
    office => |event| Told::Office(event),
    stream => |event| Told::Stream(event),
    clock => |event| Told::Application(ApplicationEvent::Clock(event)),
    replication => |event| Told::Application(ApplicationEvent::Replication(event)),
    commit => |event| Told::Application(ApplicationEvent::Commit(event)),
    tree => |event| Told::Application(ApplicationEvent::Tree(event)),
    // Detectors are not judged by a trace, so their events need no variant of their own.
    detector => |event| Told::Other(serde_json::to_value(event).unwrap_or_default()),
}

impl Heard for () {
    fn told(&self) -> Told {
        Told::Other(Value::Null)
    }
}

impl<E: Heard> Heard for led::Event<E> {
    fn told(&self) -> Told {
        match self {
            led::Event::Application(event) => event.told().under_a_leader(),
            led::Event::Election(event) => Told::Office(office::Event::Election(*event)),
        }
    }
}

impl<K: Debug + Serialize, E: Debug + Serialize> Heard for Of<K, E> {
    fn told(&self) -> Told {
        Told::Other(serde_json::to_value(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::script::Action;

    fn understood_as_said<C: Spoken>(commands: &[C]) {
        for command in commands {
            let said = understood(command);
            assert_eq!(command.asked().say(ProcessId(2)), Some(said), "and as a trace says it");
        }
    }

    fn understood<C: Spoken>(command: &C) -> Asking {
        let said = command.say(ProcessId(2));
        let heard: Action = said.to_string().parse().unwrap();
        assert_eq!(heard, Action::Ask(said.clone()));
        assert_eq!(C::understand(&said).as_ref(), Some(command));
        said
    }

    #[test]
    fn every_command_is_understood_as_it_is_said() {
        let locks = [mutex::Command::Enter, mutex::Command::Exit];
        let elections = [election::Command::Elect, election::Command::Resign];
        understood_as_said(&locks);
        understood_as_said(&elections);
        understood_as_said(&locks.map(office::Command::Mutex));
        let named = |inner| Of { key: "printer".parse::<tenure_core::Name>().unwrap(), inner };
        // Their traces have them as data of which nothing is said.
        locks.map(named).iter().for_each(|command| drop(understood(command)));
        understood_as_said(&elections.map(office::Command::Election));
        understood_as_said(&[stream::Command::Send { to: ProcessId(1), item: 7 }]);
        understood_as_said(&elections.map(led::Command::<clock::Command>::Election));
        let (set, write) =
            (clock::Command::Set { to: -7 }, replication::Command::Write { value: 7 });
        let clocks = [set, clock::Command::Synchronise, clock::Command::Read];
        let commits = [commit::Command::Begin, commit::Command::Veto];
        understood_as_said(&clocks);
        understood_as_said(&clocks.map(ApplicationCommand::Clock));
        understood_as_said(&[led::Command::Application(write)]);
        understood_as_said(&[ApplicationCommand::Replication(write)]);
        understood_as_said(&commits);
        understood_as_said(&commits.map(ApplicationCommand::Commit));
        understood_as_said(&[tree::Command::Grow]);
        understood_as_said(&[ApplicationCommand::Tree(tree::Command::Grow)]);
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
