//! Composition of an application and a leader election into one protocol. The protocol accepts the
//! commands of both.

use alloc::vec::Vec;

use tenure_core::service::election;
use tenure_core::service::with_election::{Command, Event};
use tenure_core::{
    Effects, Election, Group, Input, Labelled, MessageLabel, PeerVerdict, ProcessId, Protocol,
    Term, TimerRole,
};

/// An application that needs a leader. The application is informed of the result of each election.
/// It relies on the fact that two leaders never have the same term.
pub trait Application: Protocol {
    /// Handles the election of the leader of `term`. This process may be the elected leader.
    fn on_leader_elected(&mut self, term: Term, fx: &mut impl Effects<Self>);

    /// Handles the end of `term`. The term ends because the detector no longer trusts the leader of
    /// `term`.
    fn on_leader_deposed(&mut self, term: Term, fx: &mut impl Effects<Self>);
}

/// One process: its part in the application and its part in the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WithElection<A: Application, E: Election> {
    application: A,
    election: E,
}

/// A message, or a timer, of the application or of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ApplicationOrElection<A, E> {
    /// A message or timer of the application.
    Application(A),
    /// A message or timer of the election.
    Election(E),
}

impl<A: Labelled, E: Labelled> Labelled for ApplicationOrElection<A, E> {
    fn label(&self) -> MessageLabel {
        match self {
            ApplicationOrElection::Application(message) => message.label(),
            ApplicationOrElection::Election(message) => message.label(),
        }
    }
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<A, E> {
    /// Configuration of the application.
    pub application: A,
    /// Configuration of the election.
    pub election: E,
}

impl<A: Application, E: Election> WithElection<A, E> {
    /// Returns the application.
    pub fn application(&self) -> &A {
        &self.application
    }
}

impl<A: Application, E: Election> Protocol for WithElection<A, E> {
    type Config = Config<A::Config, E::Config>;
    type Command = Command<A::Command>;
    type Event = Event<A::Event>;
    type Message = ApplicationOrElection<A::Message, E::Message>;
    type Timer = ApplicationOrElection<A::Timer, E::Timer>;
    type Stable = (A::Stable, E::Stable);

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (of_application, of_election) = stable.unzip();
        let application = A::boot(group, &config.application, of_application, &mut application(fx));
        let (election, events) =
            fx.run_child(ApplicationOrElection::Election, ApplicationOrElection::Election, |fx| {
                E::boot(group, &config.election, of_election, fx)
            });
        let mut process = WithElection { application, election };
        process.on_election_events(events, fx);
        process
    }

    fn stable(&self) -> Self::Stable {
        (self.application.stable(), self.election.stable())
    }

    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Application(command) => {
                self.application.on_command(command, &mut application(fx));
            }
            Command::Election(command) => self.step_election(Input::Command(command), fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            ApplicationOrElection::Application(message) => {
                self.application.on_message(from, message, &mut application(fx));
            }
            ApplicationOrElection::Election(message) => {
                self.step_election(Input::Message { from, message }, fx)
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            ApplicationOrElection::Application(timer) => {
                self.application.on_timer(timer, &mut application(fx));
            }
            ApplicationOrElection::Election(timer) => self.step_election(Input::Timer(timer), fx),
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            ApplicationOrElection::Application(timer) => A::timer_role(timer),
            ApplicationOrElection::Election(timer) => E::timer_role(timer),
        }
    }

    /// Handles a verdict of the failure detector about `peer`. Passes the verdict to the
    /// application first and then to the election. So when the election reports a new leader, the
    /// application knows which processes are suspected.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.application.on_suspicion(peer, verdict, &mut application(fx));
        self.step_election(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<A: Application, E: Election> WithElection<A, E> {
    fn step_election(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let (_, events) =
            fx.run_child(ApplicationOrElection::Election, ApplicationOrElection::Election, |fx| {
                self.election.step(input, fx)
            });
        self.on_election_events(events, fx);
    }

    fn on_election_events(&mut self, events: Vec<election::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            fx.emit(Event::Election(event));
            let fx = &mut application(fx);
            match event {
                election::Event::Elected { term, .. } => {
                    self.application.on_leader_elected(term, fx)
                }
                election::Event::Deposed { term } => self.application.on_leader_deposed(term, fx),
            }
        }
    }
}

fn application<A: Application, E: Election>(
    fx: &mut impl Effects<WithElection<A, E>>,
) -> impl Effects<A> {
    fx.child_effects(
        ApplicationOrElection::Application,
        ApplicationOrElection::Application,
        |event| Some(Event::Application(event)),
    )
}
