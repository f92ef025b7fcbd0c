//! Conversion of the commands of agreement services into their form in scripts, and back.

use tenure_core::service::{
    agreement, barrier, broadcast, consensus, drinking, forum, log, membership, relayed_log,
    renaming, resources, shares, snapshot, spanning_tree, termination, wave,
};
use tenure_core::{ProcessId, Service};

use super::service_command::{
    ServiceCommand, ServiceEvent, numeric_argument, numeric_command, one_word_command,
    script_command,
};
use crate::format::{DEFAULT_MAX_PROCESSES, RecordedCommand, RecordedEvent};
use crate::scripts::script::ScriptCommand;

/// Implements [`ServiceCommand`] and [`ServiceEvent`] for agreement services. The argument `words`
/// lists the commands that consist of one word in a script. The arguments `parse` and `format`
/// convert the other commands from and to their form in scripts.
macro_rules! agreement_commands {
    ($($Service:ident of $service:ident:
        words [$($word:literal => $plain:ident),*]
        $(, parse |$script_command:ident| $parse:expr,
        format |$command:ident, $at:ident| $format:expr)?;)+) => {
        $(
            impl ServiceCommand for $service::Command {
                const SERVICE: Service = Service::$Service;
                const ONE_WORD_COMMANDS: &'static [(&'static str, Self)] =
                    &[$(($word, $service::Command::$plain)),*];

                $(fn from_script_command($script_command: &ScriptCommand) -> Option<Self> {
                    $parse
                }

                fn to_script_command(&self, $at: ProcessId) -> ScriptCommand {
                    let $command = self;
                    $format
                })?

                fn from_agreement(command: agreement::Command) -> Option<Self> {
                    command.try_into().ok()
                }

                fn to_agreement(&self) -> Option<agreement::Command> {
                    Some(self.clone().into())
                }

                fn to_recorded(&self) -> RecordedCommand {
                    RecordedCommand::Agreement(self.clone().into())
                }
            }

            impl ServiceEvent for $service::Event {
                fn to_recorded(&self) -> RecordedEvent {
                    RecordedEvent::Agreement(self.clone().into())
                }
            }
        )+

        impl ServiceCommand for agreement::Command {
            fn from_script_command(script_command: &ScriptCommand) -> Option<Self> {
                None$(.or_else(|| {
                    $service::Command::from_script_command(script_command).map(Self::from)
                }))+
            }

            fn to_script_command(&self, at: ProcessId) -> ScriptCommand {
                match self {
                    $(agreement::Command::$Service(command) => command.to_script_command(at)),+
                }
            }

            fn from_agreement(command: agreement::Command) -> Option<Self> {
                Some(command)
            }

            fn to_agreement(&self) -> Option<agreement::Command> {
                Some(self.clone())
            }

            fn to_recorded(&self) -> RecordedCommand {
                RecordedCommand::Agreement(self.clone())
            }
        }
    };
}

agreement_commands! {
    Consensus of consensus: words [],
        parse |script_command| {
            let value = numeric_argument(script_command, "propose");
            value.map(|value| consensus::Command::Propose { value })
        },
        format |command, at| {
            let consensus::Command::Propose { value } = command;
            numeric_command("propose", value, at)
        };
    Broadcast of broadcast: words [],
        parse |script_command| {
            let number = numeric_argument(script_command, "broadcast");
            number.map(|number| broadcast::Command::Broadcast { number })
        },
        format |command, at| {
            let broadcast::Command::Broadcast { number } = command;
            numeric_command("broadcast", number, at)
        };
    Snapshot of snapshot: words ["record" => Record],
        parse |script_command| match (
            &*script_command.verb, script_command.peer, script_command.words.as_slice(),
        ) {
            ("give", Some(to), [tokens]) => {
                Some(snapshot::Command::Give { to, tokens: tokens.parse().ok()? })
            }
            _ => one_word_command(script_command),
        },
        format |command, at| match command {
            snapshot::Command::Give { to, tokens } => {
                ScriptCommand { peer: Some(*to), ..numeric_command("give", tokens, at) }
            }
            snapshot::Command::Record => script_command("record", at),
        };
    Barrier of barrier: words ["arrive" => Arrive];
    Termination of termination: words [],
        parse |script_command| {
            let generations = numeric_argument(script_command, "compute");
            generations.map(|generations| termination::Command::Compute { generations })
        },
        format |command, at| {
            let termination::Command::Compute { generations } = command;
            numeric_command("compute", generations, at)
        };
    Membership of membership: words ["leave" => Leave, "join" => Join];
    Renaming of renaming: words ["rename" => Rename];
    Wave of wave: words ["explore" => Explore];
    SpanningTree of spanning_tree: words ["build" => Build];
    Drinking of drinking: words ["quench" => Quench],
        parse |script_command| match (&*script_command.verb, script_command.words.as_slice()) {
            ("thirst", [peers]) => {
                let process = |number: &str| {
                    let number = number.parse::<u32>().ok()?.checked_sub(1)?;
                    (number < DEFAULT_MAX_PROCESSES).then_some(number)
                };
                let peers = peers.split(',').map(|number| process(number).map(ProcessId));
                Some(drinking::Command::Thirst { bottles: peers.collect::<Option<_>>()? })
            }
            _ => one_word_command(script_command),
        },
        format |command, at| match command {
            drinking::Command::Thirst { bottles } => {
                let numbers = bottles.iter().map(|it| it.display_number().to_string());
                let peers: Vec<String> = numbers.collect();
                ScriptCommand { words: vec![peers.join(",")], ..script_command("thirst", at) }
            }
            drinking::Command::Quench => script_command("quench", at),
        };
    Forum of forum: words ["depart" => Depart],
        parse |script_command| match numeric_argument(script_command, "attend") {
            Some(forum) => Some(forum::Command::Attend { forum }),
            None => one_word_command(script_command),
        },
        format |command, at| match command {
            forum::Command::Attend { forum } => numeric_command("attend", forum, at),
            forum::Command::Depart => script_command("depart", at),
        };
    Resources of resources: words [],
        parse |script_command| {
            let resource = |verb| numeric_argument(script_command, verb).map(resources::Resource);
            let acquire = |resource| resources::Command::Acquire { resource };
            let release = |resource| resources::Command::Release { resource };
            resource("acquire").map(acquire).or_else(|| resource("release").map(release))
        },
        format |command, at| match command {
            resources::Command::Acquire { resource } => numeric_command("acquire", resource.0, at),
            resources::Command::Release { resource } => numeric_command("release", resource.0, at),
        };
    Shares of shares: words ["unlock" => Unlock],
        parse |script_command| match (&*script_command.verb, script_command.words.as_slice()) {
            ("lock", [share]) => {
                let share = match &**share {
                    "part" => shares::LockShare::Part,
                    "whole" => shares::LockShare::Whole,
                    _ => return None,
                };
                Some(shares::Command::Lock { share })
            }
            _ => one_word_command(script_command),
        },
        format |command, at| match command {
            shares::Command::Lock { share } => {
                let word = match share {
                    shares::LockShare::Part => "part",
                    shares::LockShare::Whole => "whole",
                };
                ScriptCommand { words: vec![word.into()], ..script_command("lock", at) }
            }
            shares::Command::Unlock => script_command("unlock", at),
        };
    Log of log: words [],
        parse |script_command| match (
            &*script_command.verb, script_command.peer, script_command.words.as_slice(),
        ) {
            ("append", None, [payload, ticket]) => Some(log::Command::Append {
                ticket: ticket.parse().ok()?,
                payload: log::Payload::parse(payload)?,
            }),
            ("transfer", Some(to), [ticket]) => {
                Some(log::Command::Transfer { ticket: ticket.parse().ok()?, to })
            }
            ("compact", None, [index, state, ticket]) => Some(log::Command::Compact {
                ticket: ticket.parse().ok()?,
                index: index.parse().ok()?,
                state: log::Payload::parse(state)?,
            }),
            ("members", None, [members, ticket]) => {
                let log::Members { voters, learners, .. } = log::Members::parse(members)?;
                let ticket = ticket.parse().ok()?;
                Some(log::Command::ChangeMembers { ticket, voters, learners })
            }
            ("hand-over", None, [ticket]) => {
                Some(log::Command::HandOver { ticket: ticket.parse().ok()? })
            }
            _ => {
                let ticket = numeric_argument(script_command, "read");
                ticket.map(|ticket| log::Command::Read { ticket })
            }
        },
        format |command, at| match command {
            log::Command::Append { ticket, payload } => {
                let words = vec![payload.to_string(), ticket.to_string()];
                ScriptCommand { words, ..script_command("append", at) }
            }
            log::Command::Read { ticket } => numeric_command("read", ticket, at),
            log::Command::Transfer { ticket, to } => {
                ScriptCommand { peer: Some(*to), ..numeric_command("transfer", ticket, at) }
            }
            log::Command::HandOver { ticket } => numeric_command("hand-over", ticket, at),
            log::Command::Compact { ticket, index, state } => {
                let words = vec![index.to_string(), state.to_string(), ticket.to_string()];
                ScriptCommand { words, ..script_command("compact", at) }
            }
            log::Command::ChangeMembers { ticket, voters, learners } => {
                let members = log::Members::from_voters(voters.clone());
                let members = log::Members { learners: learners.clone(), ..members };
                let words = vec![members.to_text(), ticket.to_string()];
                ScriptCommand { words, ..script_command("members", at) }
            }
        };
}

impl ServiceEvent for agreement::Event {
    fn to_recorded(&self) -> RecordedEvent {
        RecordedEvent::Agreement(self.clone())
    }
}

/// Uses the default methods: traces do not record commands of this type. Scripts and the checker
/// use [`agreement::Command`] instead.
impl ServiceCommand for relayed_log::Command {}

impl ServiceEvent for relayed_log::Event {}

#[cfg(test)]
mod tests {
    use tenure_core::service::agreement::User;
    use tenure_core::service::user::{ServiceUser, UserModelConfig};

    use super::*;

    #[test]
    fn workload_commands_round_trip_through_scripts() {
        for service in Service::AGREEMENTS {
            let mut checked = 0;
            for at in [0, 1, 2].map(ProcessId) {
                let user_config = UserModelConfig { service: *service, at, size: 3, work_count: 1 };
                let Some(command) = User::first_command(&user_config) else { continue };
                let said = command.to_script_command(at);
                assert_eq!(agreement::Command::from_script_command(&said), Some(command.clone()));
                assert_eq!(
                    command.to_recorded().to_script_command(at),
                    Some(said),
                    "and as a trace says it"
                );
                checked += 1;
            }
            assert!(checked > 0, "a workload asks something of a {}", service.name());
        }
    }
}
