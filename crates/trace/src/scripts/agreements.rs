//! The face of the services of agreement: what scripts say for their commands.

use tenure_core::service::{agreement, broadcast, consensus};
use tenure_core::{ProcessId, Service};

use super::spoken::{Heard, Spoken, number, say_number};
use crate::format::{Asked, Told};
use crate::scripts::script::Asking;

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
}

impl Heard for agreement::Event {
    fn told(&self) -> Told {
        Told::Agreement(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::service::agreement::{Seat, User};

    use super::*;

    #[test]
    fn what_workloads_ask_of_each_service_is_understood_as_it_is_said() {
        let at = ProcessId(1);
        for service in Service::AGREEMENTS {
            let user = User::of(*service, &Seat { at, size: 3, times: 1 });
            let command = user.and_then(|user| user.next()).expect("a workload asks something");
            let said = command.say(at);
            assert_eq!(agreement::Command::understand(&said), Some(command.clone()));
            assert_eq!(command.asked().say(at), Some(said), "and as a trace says it");
        }
    }
}
