//! The face of the services of agreement: what scripts say for their commands.

use tenure_core::service::{
    agreement, barrier, broadcast, consensus, membership, renaming, snapshot, termination,
};
use tenure_core::{ProcessId, Service};

use super::spoken::{Heard, Spoken, number, say, say_number};
use crate::format::{Asked, Told};
use crate::scripts::script::Asking;

/// A command of one word.
fn word<C>(asking: &Asking, verb: &str, command: C) -> Option<C> {
    let is_meant = asking.verb == verb && asking.peer.is_none() && asking.words.is_empty();
    is_meant.then_some(command)
}

/// Makes of each service's words its face, and of all of them that of any.
macro_rules! spoken {
    ($($Service:ident of $service:ident:
        understand |$asking:ident| $understand:expr,
        say |$command:ident, $at:ident| $say:expr;)+) => {
        $(
            impl Spoken for $service::Command {
                const SERVICE: Service = Service::$Service;

                fn understand($asking: &Asking) -> Option<Self> {
                    $understand
                }

                fn say(&self, $at: ProcessId) -> Asking {
                    let $command = self;
                    $say
                }

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
    Consensus of consensus:
        understand |asking| {
            number(asking, "propose").map(|value| consensus::Command::Propose { value })
        },
        say |command, at| {
            let consensus::Command::Propose { value } = command;
            say_number("propose", value, at)
        };
    Broadcast of broadcast:
        understand |asking| {
            number(asking, "broadcast").map(|number| broadcast::Command::Broadcast { number })
        },
        say |command, at| {
            let broadcast::Command::Broadcast { number } = command;
            say_number("broadcast", number, at)
        };
    Snapshot of snapshot:
        understand |asking| match (&*asking.verb, asking.peer, asking.words.as_slice()) {
            ("give", Some(to), [tokens]) => {
                Some(snapshot::Command::Give { to, tokens: tokens.parse().ok()? })
            }
            _ => word(asking, "record", snapshot::Command::Record),
        },
        say |command, at| match command {
            snapshot::Command::Give { to, tokens } => {
                Asking { peer: Some(*to), ..say_number("give", tokens, at) }
            }
            snapshot::Command::Record => say("record", at),
        };
    Barrier of barrier:
        understand |asking| word(asking, "arrive", barrier::Command::Arrive),
        say |command, at| {
            let barrier::Command::Arrive = command;
            say("arrive", at)
        };
    Termination of termination:
        understand |asking| {
            let generations = number(asking, "compute");
            generations.map(|generations| termination::Command::Compute { generations })
        },
        say |command, at| {
            let termination::Command::Compute { generations } = command;
            say_number("compute", generations, at)
        };
    Membership of membership:
        understand |asking| {
            let leave = word(asking, "leave", membership::Command::Leave);
            leave.or_else(|| word(asking, "join", membership::Command::Join))
        },
        say |command, at| match command {
            membership::Command::Leave => say("leave", at),
            membership::Command::Join => say("join", at),
        };
    Renaming of renaming:
        understand |asking| word(asking, "rename", renaming::Command::Rename),
        say |command, at| {
            let renaming::Command::Rename = command;
            say("rename", at)
        };
}

impl Heard for agreement::Event {
    fn told(&self) -> Told {
        Told::Agreement(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::service::agreement::{Client, Seat, User};

    use super::*;

    #[test]
    fn what_workloads_ask_of_each_service_is_understood_as_it_is_said() {
        for service in Service::AGREEMENTS {
            let mut asked = 0;
            for at in [0, 1, 2].map(ProcessId) {
                let user = User::new(&Seat { service: *service, at, size: 3, times: 1 });
                let Some(command) = user.next() else { continue };
                let said = command.say(at);
                assert_eq!(agreement::Command::understand(&said), Some(command.clone()));
                assert_eq!(command.asked().say(at), Some(said), "and as a trace says it");
                asked += 1;
            }
            assert!(asked > 0, "a workload asks something of a {}", service.name());
        }
    }
}
