//! The face of the services of agreement: what scripts say for their commands.

use tenure_core::service::{
    agreement, barrier, broadcast, consensus, log, membership, relayed_log, renaming, snapshot,
    termination,
};
use tenure_core::{ProcessId, Service};

use super::spoken::{Heard, Spoken, number, one_word, say, say_number};
use crate::format::{Asked, Told};
use crate::scripts::script::Asking;

/// Makes of each service's words its face, and of all of them that of any: its commands of one
/// word, and how the others are understood and said, where there are any.
macro_rules! spoken {
    ($($Service:ident of $service:ident:
        words [$($word:literal => $plain:ident),*]
        $(, understand |$asking:ident| $understand:expr,
        say |$command:ident, $at:ident| $say:expr)?;)+) => {
        $(
            impl Spoken for $service::Command {
                const SERVICE: Service = Service::$Service;
                const WORDS: &'static [(&'static str, Self)] =
                    &[$(($word, $service::Command::$plain)),*];

                $(fn understand($asking: &Asking) -> Option<Self> {
                    $understand
                }

                fn say(&self, $at: ProcessId) -> Asking {
                    let $command = self;
                    $say
                })?

                fn agreeing(command: agreement::Command) -> Option<Self> {
                    command.try_into().ok()
                }

                fn agreed(&self) -> Option<agreement::Command> {
                    Some(self.clone().into())
                }

                fn asked(&self) -> Asked {
                    Asked::Agreement(self.clone().into())
                }
            }

            impl Heard for $service::Event {
                fn told(&self) -> Told {
                    Told::Agreement(self.clone().into())
                }
            }
        )+

        impl Spoken for agreement::Command {
            fn understand(asking: &Asking) -> Option<Self> {
                None$(.or_else(|| $service::Command::understand(asking).map(Self::from)))+
            }

            fn say(&self, at: ProcessId) -> Asking {
                match self {
                    $(agreement::Command::$Service(command) => command.say(at)),+
                }
            }

            fn agreeing(command: agreement::Command) -> Option<Self> {
                Some(command)
            }

            fn agreed(&self) -> Option<agreement::Command> {
                Some(self.clone())
            }

            fn asked(&self) -> Asked {
                Asked::Agreement(self.clone())
            }
        }
    };
}

spoken! {
    Consensus of consensus: words [],
        understand |asking| {
            number(asking, "propose").map(|value| consensus::Command::Propose { value })
        },
        say |command, at| {
            let consensus::Command::Propose { value } = command;
            say_number("propose", value, at)
        };
    Broadcast of broadcast: words [],
        understand |asking| {
            number(asking, "broadcast").map(|number| broadcast::Command::Broadcast { number })
        },
        say |command, at| {
            let broadcast::Command::Broadcast { number } = command;
            say_number("broadcast", number, at)
        };
    Snapshot of snapshot: words ["record" => Record],
        understand |asking| match (&*asking.verb, asking.peer, asking.words.as_slice()) {
            ("give", Some(to), [tokens]) => {
                Some(snapshot::Command::Give { to, tokens: tokens.parse().ok()? })
            }
            _ => one_word(asking),
        },
        say |command, at| match command {
            snapshot::Command::Give { to, tokens } => {
                Asking { peer: Some(*to), ..say_number("give", tokens, at) }
            }
            snapshot::Command::Record => say("record", at),
        };
    Barrier of barrier: words ["arrive" => Arrive];
    Termination of termination: words [],
        understand |asking| {
            let generations = number(asking, "compute");
            generations.map(|generations| termination::Command::Compute { generations })
        },
        say |command, at| {
            let termination::Command::Compute { generations } = command;
            say_number("compute", generations, at)
        };
    Membership of membership: words ["leave" => Leave, "join" => Join];
    Renaming of renaming: words ["rename" => Rename];
    Log of log: words [],
        understand |asking| match (&*asking.verb, asking.peer, asking.words.as_slice()) {
            ("append", None, [payload, ticket]) => Some(log::Command::Append {
                ticket: ticket.parse().ok()?,
                payload: log::Payload::of_text(payload)?,
            }),
            ("transfer", Some(to), [ticket]) => {
                Some(log::Command::Transfer { ticket: ticket.parse().ok()?, to })
            }
            ("compact", None, [index, state, ticket]) => Some(log::Command::Compact {
                ticket: ticket.parse().ok()?,
                index: index.parse().ok()?,
                state: log::Payload::of_text(state)?,
            }),
            ("members", None, [members, ticket]) => {
                let log::Members { voters, learners, .. } = log::Members::of_text(members)?;
                let ticket = ticket.parse().ok()?;
                Some(log::Command::ChangeMembers { ticket, voters, learners })
            }
            ("hand-over", None, [ticket]) => {
                Some(log::Command::HandOver { ticket: ticket.parse().ok()? })
            }
            _ => number(asking, "read").map(|ticket| log::Command::Read { ticket }),
        },
        say |command, at| match command {
            log::Command::Append { ticket, payload } => {
                let words = vec![payload.to_string(), ticket.to_string()];
                Asking { words, ..say("append", at) }
            }
            log::Command::Read { ticket } => say_number("read", ticket, at),
            log::Command::Transfer { ticket, to } => {
                Asking { peer: Some(*to), ..say_number("transfer", ticket, at) }
            }
            log::Command::HandOver { ticket } => say_number("hand-over", ticket, at),
            log::Command::Compact { ticket, index, state } => {
                let words = vec![index.to_string(), state.to_string(), ticket.to_string()];
                Asking { words, ..say("compact", at) }
            }
            log::Command::ChangeMembers { ticket, voters, learners } => {
                let members = log::Members::of(voters.clone());
                let members = log::Members { learners: learners.clone(), ..members };
                Asking { words: vec![members.text(), ticket.to_string()], ..say("members", at) }
            }
        };
}

impl Heard for agreement::Event {
    fn told(&self) -> Told {
        Told::Agreement(self.clone())
    }
}

/// What searches and scripts ask of it they ask as of all that agree; else nobody records it.
impl Spoken for relayed_log::Command {}

impl Heard for relayed_log::Event {}

#[cfg(test)]
mod tests {
    use tenure_core::service::agreement::{Client, Seat, User};

    use super::*;

    #[test]
    fn what_workloads_ask_of_each_service_is_understood_as_it_is_said() {
        for service in Service::AGREEMENTS {
            let mut asked = 0;
            for at in [0, 1, 2].map(ProcessId) {
                let seat = Seat { service: *service, at, size: 3, times: 1 };
                let Some(command) = User::first(&seat) else { continue };
                let said = command.say(at);
                assert_eq!(agreement::Command::understand(&said), Some(command.clone()));
                assert_eq!(command.asked().say(at), Some(said), "and as a trace says it");
                asked += 1;
            }
            assert!(asked > 0, "a workload asks something of a {}", service.name());
        }
    }
}
