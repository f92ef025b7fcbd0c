//! Adapters that apply the monitor of one service to a combined service.

use crate::monitor::{Monitor, MonitorResult, Observation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{election, mutex, mutex_and_election, with_election};

/// A monitor of mutual exclusion, applied to a service that combines a lock and an election. The
/// monitor ignores the commands and events of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MutexProjection<M>(pub M);

/// A monitor of elections, applied to a service that combines a lock and an election. The monitor
/// ignores the commands and events of the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElectionProjection<M>(pub M);

/// A monitor of an application that is combined with a leader election. The monitor ignores the
/// commands and events of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ApplicationProjection<M>(pub M);

/// Implements [`Monitor`] for an adapter of a service that consists of two parts. The adapter
/// passes the commands and events of one part to its monitor, and ignores those of the other part.
/// It also passes crashes, recoveries and sent messages.
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
                seen: Observation<'_, $whole_command, $whole_event>,
            ) -> MonitorResult {
                let seen = match seen {
                    Observation::Command { command: $whole::Command::$half(command), clock } => {
                        Observation::Command { command, clock }
                    }
                    Observation::Event($whole::Event::$half(event)) => Observation::Event(event),
                    Observation::Crashed => Observation::Crashed,
                    Observation::Recovered => Observation::Recovered,
                    Observation::Sent { to } => Observation::Sent { to },
                    Observation::Command { .. } | Observation::Event(_) => return Ok(()),
                };
                self.0.observe(at, seen)
            }

            fn check_final_state(&self) -> MonitorResult {
                self.0.check_final_state()
            }

            fn measure(&self) -> u64 {
                self.0.measure()
            }

            fn smallest_timestamp(&self) -> Option<u64> {
                self.0.smallest_timestamp()
            }

            fn lower_timestamps(&mut self, by: u64) {
                self.0.lower_timestamps(by);
            }
        }
    };
}

on_half!(MutexProjection<M> reads Mutex, mutex::Command, mutex::Event,
    of mutex_and_election, mutex_and_election::Command, mutex_and_election::Event);
on_half!(ElectionProjection<M> reads Election, election::Command, election::Event,
    of mutex_and_election, mutex_and_election::Command, mutex_and_election::Event);
on_half!(ApplicationProjection<M, C, E> reads Application, C, E,
    of with_election, with_election::Command<C>, with_election::Event<E>);
