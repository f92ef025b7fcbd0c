use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{election, led, mutex, office};

/// A monitor of mutual exclusion that reads the lock's half of an office.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnMutex<M>(pub M);

/// A monitor of elections that reads the leader's half of an office.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnElection<M>(pub M);

/// A monitor of what is done under a leader, and not of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnApplication<M>(pub M);

/// A monitor of one half of a service is one of the whole: it does not see the other half.
macro_rules! on_half {
    ($on:ident<$m:ident $(, $c:ident, $e:ident)?> reads $half:ident, $command:ty, $event:ty,
     of $whole:ident, $whole_command:ty, $whole_event:ty) => {
        impl<$($c, $e,)? $m: Monitor<$command, $event>> Monitor<$whole_command, $whole_event>
            for $on<$m>
        {
            fn property(&self) -> Property {
                self.0.property()
            }

            fn observe(
                &mut self,
                at: ProcessId,
                seen: Observed<'_, $whole_command, $whole_event>,
            ) -> Result<(), Violation> {
                let seen = match seen {
                    Observed::Command { command: $whole::Command::$half(command), clock } => {
                        Observed::Command { command, clock }
                    }
                    Observed::Event($whole::Event::$half(event)) => Observed::Event(event),
                    Observed::Crashed => Observed::Crashed,
                    Observed::Recovered => Observed::Recovered,
                    Observed::Sent { to } => Observed::Sent { to },
                    Observed::Command { .. } | Observed::Event(_) => return Ok(()),
                };
                self.0.observe(at, seen)
            }

            fn at_end(&self) -> Result<(), Violation> {
                self.0.at_end()
            }

            fn measure(&self) -> u64 {
                self.0.measure()
            }

            fn smallest(&self) -> Option<u64> {
                self.0.smallest()
            }

            fn shift(&mut self, by: u64) {
                self.0.shift(by);
            }
        }
    };
}

on_half!(OnMutex<M> reads Mutex, mutex::Command, mutex::Event,
    of office, office::Command, office::Event);
on_half!(OnElection<M> reads Election, election::Command, election::Event,
    of office, office::Command, office::Event);
on_half!(OnApplication<M, C, E> reads Application, C, E, of led, led::Command<C>, led::Event<E>);
