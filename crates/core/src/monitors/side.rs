use crate::service::{election, led, mutex, office};
use crate::{Monitor, Observed, ProcessId, Property, Violation};

/// A monitor of mutual exclusion that reads the lock's half of an office.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnMutex<M>(pub M);

/// A monitor of elections that reads the leader's half of an office.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnElection<M>(pub M);

/// A monitor of what is done under a leader, and not of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OnApplication<M>(pub M);

impl<C, E, M: Monitor<C, E>> Monitor<led::Command<C>, led::Event<E>> for OnApplication<M> {
    fn property(&self) -> Property {
        self.0.property()
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, led::Command<C>, led::Event<E>>,
    ) -> Result<(), Violation> {
        let seen = match seen {
            Observed::Command { command: led::Command::Application(command), clock } => {
                Observed::Command { command, clock }
            }
            Observed::Event(led::Event::Application(event)) => Observed::Event(event),
            Observed::Crashed => Observed::Crashed,
            Observed::Recovered => Observed::Recovered,
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

impl<M: Monitor<mutex::Command, mutex::Event>> Monitor<office::Command, office::Event>
    for OnMutex<M>
{
    fn property(&self) -> Property {
        self.0.property()
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, office::Command, office::Event>,
    ) -> Result<(), Violation> {
        let seen = match seen {
            Observed::Command { command: office::Command::Mutex(command), clock } => {
                Observed::Command { command, clock }
            }
            Observed::Event(office::Event::Mutex(event)) => Observed::Event(event),
            Observed::Crashed => Observed::Crashed,
            Observed::Recovered => Observed::Recovered,
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

impl<M: Monitor<election::Command, election::Event>> Monitor<office::Command, office::Event>
    for OnElection<M>
{
    fn property(&self) -> Property {
        self.0.property()
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, office::Command, office::Event>,
    ) -> Result<(), Violation> {
        let seen = match seen {
            Observed::Command { command: office::Command::Election(command), clock } => {
                Observed::Command { command, clock }
            }
            Observed::Event(office::Event::Election(event)) => Observed::Event(event),
            Observed::Crashed => Observed::Crashed,
            Observed::Recovered => Observed::Recovered,
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
