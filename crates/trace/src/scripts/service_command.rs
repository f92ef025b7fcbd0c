//! Commands and events of services: their form in scripts, workloads and traces.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;
use tenure_core::service::{
    agreement, clock_synchronisation, commit, detector, election, leader_tree, mutex,
    mutex_and_election, replicated_list, stream, with_election,
};
use tenure_core::{EventConversions, ProcessId, Protocol, Service, Tagged};

use crate::format::{ApplicationCommand, ApplicationEvent, RecordedCommand, RecordedEvent};
use crate::scripts::script::ScriptCommand;

/// Protocol for scripts, workloads and traces. A script or a workload can issue commands of the
/// protocol, and a trace can record its commands and events.
pub trait RecordableProtocol: Protocol<Command: ServiceCommand, Event: ServiceEvent> {}

impl<P: Protocol<Command: ServiceCommand, Event: ServiceEvent>> RecordableProtocol for P {}

/// Command of a service, with conversions to and from the command's form in scripts, workloads and
/// traces. In a script, for example, a command has the form `enter p1`.
///
/// The commands of all services of Tenure implement this trait. For your own commands, an empty
/// `impl` is sufficient, but then scripts and workloads cannot issue them.
pub trait ServiceCommand: Clone + Debug + PartialEq + 'static {
    /// Service of the command. It selects the properties by which traces are verified.
    const SERVICE: Service = Service::Other;

    /// Commands that consist of one word in scripts. Each element is a pair of the word and the
    /// command.
    const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] = &[];

    /// Converts a command in a script to a command of this service. Returns `None` if the service
    /// has no such command.
    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        one_word_command(script_command)
    }

    /// Converts this command to its form in scripts. In the script, the user of the process `at`
    /// issues the command.
    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        let known = Self::ONE_WORD_COMMANDS.iter().find(|(_, command)| command == self);
        match known {
            Some((word, _)) => script_command(*word, at),
            None => script_command(format!("{self:?}"), at),
        }
    }

    /// Converts a command of a lock service or an election into this type. Returns `None` if this
    /// type has no such command.
    fn from_mutex_and_election(command: mutex_and_election::Command) -> Option<Self> {
        let _ = command;
        None
    }

    /// Returns this command as a command of a lock service or an election. Returns `None` if this
    /// is a command of another service.
    fn to_mutex_and_election(&self) -> Option<mutex_and_election::Command> {
        None
    }

    /// Converts a command of an agreement service into this type. Returns `None` if this type has
    /// no such command.
    fn from_agreement(command: agreement::Command) -> Option<Self> {
        let _ = command;
        None
    }

    /// Returns this command as a command of an agreement service. Returns `None` if this is a
    /// command of another service.
    fn to_agreement(&self) -> Option<agreement::Command> {
        None
    }

    /// Converts this command to the form in which traces contain commands.
    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Other(format!("{self:?}").into())
    }
}

/// An event that traces can record.
///
/// The events of all services of Tenure implement this trait. For your own events, an empty `impl`
/// of this trait and of [`EventConversions`] is sufficient.
pub trait ServiceEvent: EventConversions + Debug {
    /// Converts this event to the form in which traces contain events.
    fn to_recorded(&self) -> RecordedEvent {
        RecordedEvent::Other(format!("{self:?}").into())
    }
}

impl<C: ServiceCommand> From<C> for RecordedCommand {
    fn from(command: C) -> Self {
        command.to_recorded()
    }
}

impl<E: ServiceEvent> From<E> for RecordedEvent {
    fn from(event: E) -> Self {
        event.to_recorded()
    }
}

impl RecordedCommand {
    /// Converts this command to its form in scripts. In the script, the user of the process `at`
    /// issues the command. Returns `None` if scripts have no such command.
    pub fn to_script_command(&self, at: ProcessId) -> Option<ScriptCommand> {
        Some(match self {
            RecordedCommand::Mutex(command) => command.to_script_command(at),
            RecordedCommand::Election(command) => command.to_script_command(at),
            RecordedCommand::MutexAndElection(command) => command.to_script_command(at),
            RecordedCommand::Stream(command) => command.to_script_command(at),
            RecordedCommand::Application(command) => command.to_script_command(at),
            RecordedCommand::Agreement(command) => command.to_script_command(at),
            RecordedCommand::WithElection(command) => command.to_script_command(at),
            RecordedCommand::Other(_) => return None,
        })
    }
}

pub(super) fn script_command(verb: impl Into<String>, at: ProcessId) -> ScriptCommand {
    ScriptCommand { verb: verb.into(), at, peer: None, words: Vec::new() }
}

/// Converts a script command that consists of one word and a process. Returns `None` if the word is
/// not in `ONE_WORD_COMMANDS`, or if the script command has further words.
pub(super) fn one_word_command<C: ServiceCommand>(script_command: &ScriptCommand) -> Option<C> {
    let alone = script_command.peer.is_none() && script_command.words.is_empty();
    let meant =
        C::ONE_WORD_COMMANDS.iter().find(|(word, _)| alone && *word == script_command.verb)?;
    Some(meant.1.clone())
}

/// Returns the number in a script command that consists of the verb `verb` and one number. Returns
/// `None` for other script commands.
pub(super) fn numeric_argument<T: FromStr>(
    script_command: &ScriptCommand,
    verb: &str,
) -> Option<T> {
    match (&*script_command.verb, script_command.peer, script_command.words.as_slice()) {
        (said, None, [number]) if said == verb => number.parse().ok(),
        _ => None,
    }
}

pub(super) fn numeric_command(verb: &str, number: impl ToString, at: ProcessId) -> ScriptCommand {
    ScriptCommand { words: vec![number.to_string()], ..script_command(verb, at) }
}

impl ServiceCommand for mutex::Command {
    const SERVICE: Service = Service::Mutex;
    const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] =
        &[("enter", mutex::Command::Enter), ("exit", mutex::Command::Exit)];

    fn from_mutex_and_election(command: mutex_and_election::Command) -> Option<Self> {
        match command {
            mutex_and_election::Command::Mutex(command) => Some(command),
            mutex_and_election::Command::Election(_) => None,
        }
    }

    fn to_mutex_and_election(&self) -> Option<mutex_and_election::Command> {
        Some(mutex_and_election::Command::Mutex(*self))
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Mutex(*self)
    }
}

impl ServiceCommand for election::Command {
    const SERVICE: Service = Service::Election;
    const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] =
        &[("elect", election::Command::Elect), ("resign", election::Command::Resign)];

    fn from_mutex_and_election(command: mutex_and_election::Command) -> Option<Self> {
        match command {
            mutex_and_election::Command::Election(command) => Some(command),
            mutex_and_election::Command::Mutex(_) => None,
        }
    }

    fn to_mutex_and_election(&self) -> Option<mutex_and_election::Command> {
        Some(mutex_and_election::Command::Election(*self))
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Election(*self)
    }
}

impl ServiceCommand for mutex_and_election::Command {
    const SERVICE: Service = Service::MutexAndElection;

    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        let mutex = mutex::Command::from_script_command(script_command)
            .map(mutex_and_election::Command::Mutex);
        mutex.or_else(|| {
            election::Command::from_script_command(script_command)
                .map(mutex_and_election::Command::Election)
        })
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        match self {
            mutex_and_election::Command::Mutex(command) => command.to_script_command(at),
            mutex_and_election::Command::Election(command) => command.to_script_command(at),
        }
    }

    fn from_mutex_and_election(command: mutex_and_election::Command) -> Option<Self> {
        Some(command)
    }

    fn to_mutex_and_election(&self) -> Option<mutex_and_election::Command> {
        Some(*self)
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::MutexAndElection(*self)
    }
}

impl ServiceCommand for stream::Command {
    const SERVICE: Service = Service::Stream;

    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        match (&*script_command.verb, script_command.peer, script_command.words.as_slice()) {
            ("send", Some(to), [item]) => {
                Some(stream::Command::Send { to, item: item.parse().ok()? })
            }
            _ => None,
        }
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        let stream::Command::Send { to, item } = self;
        ScriptCommand { peer: Some(*to), ..numeric_command("send", item, at) }
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Stream(*self)
    }
}

impl ServiceCommand for clock_synchronisation::Command {
    const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] = &[
        ("synchronise", clock_synchronisation::Command::Synchronise),
        ("read", clock_synchronisation::Command::Read),
    ];

    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        let set = numeric_argument(script_command, "set")
            .map(|to| clock_synchronisation::Command::Set { to });
        set.or_else(|| one_word_command(script_command))
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        match self {
            clock_synchronisation::Command::Set { to } => numeric_command("set", to, at),
            clock_synchronisation::Command::Synchronise => script_command("synchronise", at),
            clock_synchronisation::Command::Read => script_command("read", at),
        }
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Application(ApplicationCommand::Clock(*self))
    }
}

impl ServiceCommand for replicated_list::Command {
    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        numeric_argument(script_command, "write")
            .map(|value| replicated_list::Command::Write { value })
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        let replicated_list::Command::Write { value } = self;
        numeric_command("write", value, at)
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Application(ApplicationCommand::Replication(*self))
    }
}

impl ServiceCommand for commit::Command {
    const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] =
        &[("begin", commit::Command::Begin), ("veto", commit::Command::Veto)];

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Application(ApplicationCommand::Commit(*self))
    }
}

impl ServiceCommand for leader_tree::Command {
    const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] =
        &[("grow", leader_tree::Command::Grow)];

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Application(ApplicationCommand::Tree(*self))
    }
}

impl ServiceCommand for ApplicationCommand {
    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        clock_synchronisation::Command::from_script_command(script_command)
            .map(ApplicationCommand::Clock)
            .or_else(|| one_word_command(script_command).map(ApplicationCommand::Commit))
            .or_else(|| one_word_command(script_command).map(ApplicationCommand::Tree))
            .or_else(|| {
                Some(ApplicationCommand::Replication(ServiceCommand::from_script_command(
                    script_command,
                )?))
            })
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        match self {
            ApplicationCommand::Clock(command) => command.to_script_command(at),
            ApplicationCommand::Replication(command) => command.to_script_command(at),
            ApplicationCommand::Commit(command) => command.to_script_command(at),
            ApplicationCommand::Tree(command) => command.to_script_command(at),
        }
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Application(*self)
    }
}

/// Command to a protocol that combines an application with the election of its leader. Scripts can
/// issue all these commands. Workloads issue only the commands of the election.
impl<C: ServiceCommand> ServiceCommand for with_election::Command<C> {
    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        let application =
            C::from_script_command(script_command).map(with_election::Command::Application);
        application.or_else(|| {
            election::Command::from_script_command(script_command)
                .map(with_election::Command::Election)
        })
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        match self {
            with_election::Command::Application(command) => command.to_script_command(at),
            with_election::Command::Election(command) => command.to_script_command(at),
        }
    }

    fn from_mutex_and_election(command: mutex_and_election::Command) -> Option<Self> {
        election::Command::from_mutex_and_election(command).map(with_election::Command::Election)
    }

    fn to_mutex_and_election(&self) -> Option<mutex_and_election::Command> {
        match self {
            with_election::Command::Application(_) => None,
            with_election::Command::Election(command) => command.to_mutex_and_election(),
        }
    }

    fn to_recorded(&self) -> RecordedCommand {
        match self {
            with_election::Command::Application(command) => {
                command.to_recorded().into_with_election()
            }
            with_election::Command::Election(command) => {
                RecordedCommand::MutexAndElection(mutex_and_election::Command::Election(*command))
            }
        }
    }
}

/// A failure detector has no commands.
impl ServiceCommand for detector::Command {}

/// The command type of protocols without commands. It accepts no command.
impl ServiceCommand for () {
    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Other(Value::Null)
    }
}

/// Command to one of several named locks or elections. In a script, the last word is the name:
/// `enter p1 printer`.
///
/// Verification assumes that a trace has one lock or one election. Therefore it does not verify
/// runs with several names.
impl<K, C> ServiceCommand for Tagged<K, C>
where
    K: Clone + Debug + Display + FromStr + PartialEq + Serialize + 'static,
    C: ServiceCommand + Serialize,
{
    fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
        let (key, words) = script_command.words.split_last()?;
        let inner = C::from_script_command(&ScriptCommand {
            words: words.to_vec(),
            ..script_command.clone()
        })?;
        Some(Tagged { key: key.parse().ok()?, inner })
    }

    fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
        let mut script_command = self.inner.to_script_command(at);
        script_command.words.push(self.key.to_string());
        script_command
    }

    fn to_recorded(&self) -> RecordedCommand {
        RecordedCommand::Other(serde_json::to_value(self).unwrap_or_default())
    }
}

macro_rules! service_events {
    ($($service:ident => |$event:ident| $record:expr),+ $(,)?) => {
        $(impl ServiceEvent for $service::Event {
            fn to_recorded(&self) -> RecordedEvent {
                let $event = self.clone();
                $record
            }
        })+
    };
}

service_events! {
    mutex => |event| RecordedEvent::Mutex(event),
    election => |event| RecordedEvent::Election(event),
    mutex_and_election => |event| RecordedEvent::MutexAndElection(event),
    stream => |event| RecordedEvent::Stream(event),
    clock_synchronisation => |event| RecordedEvent::Application(ApplicationEvent::Clock(event)),
    replicated_list => |event| RecordedEvent::Application(ApplicationEvent::Replication(event)),
    commit => |event| RecordedEvent::Application(ApplicationEvent::Commit(event)),
    leader_tree => |event| RecordedEvent::Application(ApplicationEvent::Tree(event)),
    // Verification ignores failure detectors, so their events need no variant of their own.
    detector => |event| RecordedEvent::Other(serde_json::to_value(event).unwrap_or_default()),
}

impl ServiceEvent for () {
    fn to_recorded(&self) -> RecordedEvent {
        RecordedEvent::Other(Value::Null)
    }
}

impl<E: ServiceEvent> ServiceEvent for with_election::Event<E> {
    fn to_recorded(&self) -> RecordedEvent {
        match self {
            with_election::Event::Application(event) => event.to_recorded().into_with_election(),
            with_election::Event::Election(event) => {
                RecordedEvent::MutexAndElection(mutex_and_election::Event::Election(*event))
            }
        }
    }
}

impl<K: Debug + Serialize, E: Debug + Serialize> ServiceEvent for Tagged<K, E> {
    fn to_recorded(&self) -> RecordedEvent {
        RecordedEvent::Other(serde_json::to_value(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::script::ScriptAction;

    fn understood_as_said<C: ServiceCommand>(commands: &[C]) {
        for command in commands {
            let said = understood(command);
            assert_eq!(
                command.to_recorded().to_script_command(ProcessId(2)),
                Some(said),
                "and as a trace says it"
            );
        }
    }

    fn understood<C: ServiceCommand>(command: &C) -> ScriptCommand {
        let said = command.to_script_command(ProcessId(2));
        let parsed: ScriptAction = said.to_string().parse().unwrap();
        assert_eq!(parsed, ScriptAction::Command(said.clone()));
        assert_eq!(C::from_script_command(&said).as_ref(), Some(command));
        said
    }

    #[test]
    fn commands_round_trip_through_scripts() {
        let locks = [mutex::Command::Enter, mutex::Command::Exit];
        let elections = [election::Command::Elect, election::Command::Resign];
        understood_as_said(&locks);
        understood_as_said(&elections);
        understood_as_said(&locks.map(mutex_and_election::Command::Mutex));
        let named =
            |inner| Tagged { key: "printer".parse::<tenure_core::LockName>().unwrap(), inner };
        // Traces record these commands as data that they do not interpret.
        locks.map(named).iter().for_each(|command| drop(understood(command)));
        understood_as_said(&elections.map(mutex_and_election::Command::Election));
        understood_as_said(&[stream::Command::Send { to: ProcessId(1), item: 7 }]);
        understood_as_said(
            &elections.map(with_election::Command::<clock_synchronisation::Command>::Election),
        );
        let (set, write) = (
            clock_synchronisation::Command::Set { to: -7 },
            replicated_list::Command::Write { value: 7 },
        );
        let clocks = [
            set,
            clock_synchronisation::Command::Synchronise,
            clock_synchronisation::Command::Read,
        ];
        let commits = [commit::Command::Begin, commit::Command::Veto];
        understood_as_said(&clocks);
        understood_as_said(&clocks.map(ApplicationCommand::Clock));
        understood_as_said(&[with_election::Command::Application(write)]);
        understood_as_said(&[ApplicationCommand::Replication(write)]);
        understood_as_said(&commits);
        understood_as_said(&commits.map(ApplicationCommand::Commit));
        understood_as_said(&[leader_tree::Command::Grow]);
        understood_as_said(&[ApplicationCommand::Tree(leader_tree::Command::Grow)]);
    }

    #[test]
    fn rejects_commands_of_other_services() {
        let said = election::Command::Elect.to_script_command(ProcessId(0));
        assert_eq!(mutex::Command::from_script_command(&said), None);
        let said = ScriptCommand {
            peer: Some(ProcessId(1)),
            ..mutex::Command::Enter.to_script_command(ProcessId(0))
        };
        assert_eq!(mutex::Command::from_script_command(&said), None);
        assert_eq!(<()>::from_script_command(&said), None);
    }
}
