//! Users of a protocol that combines two services: an election, and either a lock or an
//! application.

use tenure_core::ProcessId;
use tenure_core::service::{election, mutex, mutex_and_election, with_election};

use super::ElectionUser;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of a protocol that provides an election and a second service: a lock or an application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombinedUser<U> {
    other: U,
    election: ElectionUser,
}

macro_rules! both {
    ($service:ident::$Other:ident of $other:ty $(, for any $c:ident)?
        => $command:ty, $event:ty, |$user:ident| $state:expr) => {
        impl$(<$c: CheckableCommand>)? CheckableCommand for $command {
            type Event = $event;
            type User = CombinedUser<<$other as CheckableCommand>::User>;

            fn new_user(at: ProcessId, workload: &UserWorkload) -> Self::User {
                let other = <$other>::new_user(at, workload);
                CombinedUser { other, election: election::Command::new_user(at, workload) }
            }
        }

        impl$(<$c: CheckableCommand>)? User<$command>
            for CombinedUser<<$other as CheckableCommand>::User>
        {
            fn enabled_commands(&self) -> Vec<EnabledCommand<$command>> {
                let other = self.other.enabled_commands().into_iter();
                let other = other.map(|enabled| enabled.map($service::Command::$Other));
                let election = self.election.enabled_commands().into_iter();
                let election = election.map(|enabled| enabled.map($service::Command::Election));
                other.chain(election).collect()
            }

            fn on_command(&mut self, command: &$command) {
                match command {
                    $service::Command::$Other(command) => self.other.on_command(command),
                    $service::Command::Election(command) => self.election.on_command(command),
                }
            }

            fn on_event(&mut self, event: &$event) {
                match event {
                    $service::Event::$Other(event) => self.other.on_event(event),
                    $service::Event::Election(event) => self.election.on_event(event),
                }
            }

            fn on_crash(&mut self) {
                self.other.on_crash();
                self.election.on_crash();
            }

            fn on_recovery(&mut self) {
                self.other.on_recovery();
                self.election.on_recovery();
            }

            fn state(&self) -> UserState {
                let $user = self;
                $state
            }
        }
    };
}

both!(mutex_and_election::Mutex of mutex::Command
=> mutex_and_election::Command, mutex_and_election::Event,
|user| match user.other.state() {
    UserState::Waiting => UserState::Waiting,
    _ => user.election.state(),
});

// The election is checked separately.
both!(with_election::Application of C, for any C
    => with_election::Command<C>, with_election::Event<C::Event>,
    |user| user.other.state());
