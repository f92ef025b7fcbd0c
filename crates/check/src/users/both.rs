//! Who uses two services of one protocol: an election, and a lock or an application beside it.

use tenure_core::ProcessId;
use tenure_core::service::{election, led, mutex, office};

use super::ElectionUser;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of both at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BothUser<U> {
    other: U,
    election: ElectionUser,
}

macro_rules! both {
    ($service:ident::$Other:ident of $other:ty $(, for any $c:ident)?
        => $command:ty, $event:ty, |$user:ident| $standing:expr) => {
        impl$(<$c: Service>)? Service for $command {
            type Event = $event;
            type User = BothUser<<$other as Service>::User>;

            fn user(at: ProcessId, workload: &Workload) -> Self::User {
                let other = <$other>::user(at, workload);
                BothUser { other, election: election::Command::user(at, workload) }
            }
        }

        impl$(<$c: Service>)? User<$command> for BothUser<<$other as Service>::User> {
            fn offers(&self) -> Vec<Offer<$command>> {
                let other = self.other.offers().into_iter();
                let other = other.map(|offer| offer.of($service::Command::$Other));
                let election = self.election.offers().into_iter();
                let election = election.map(|offer| offer.of($service::Command::Election));
                other.chain(election).collect()
            }

            fn asked(&mut self, command: &$command) {
                match command {
                    $service::Command::$Other(command) => self.other.asked(command),
                    $service::Command::Election(command) => self.election.asked(command),
                }
            }

            fn told(&mut self, event: &$event) {
                match event {
                    $service::Event::$Other(event) => self.other.told(event),
                    $service::Event::Election(event) => self.election.told(event),
                }
            }

            fn crashed(&mut self) {
                self.other.crashed();
                self.election.crashed();
            }

            fn recovered(&mut self) {
                self.other.recovered();
                self.election.recovered();
            }

            fn standing(&self) -> Standing {
                let $user = self;
                $standing
            }
        }
    };
}

both!(office::Mutex of mutex::Command => office::Command, office::Event,
|user| match user.other.standing() {
    Standing::Waiting => Standing::Waiting,
    _ => user.election.standing(),
});

// Elections are judged by themselves.
both!(led::Application of C, for any C => led::Command<C>, led::Event<C::Event>,
    |user| user.other.standing());
