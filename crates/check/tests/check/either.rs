//! Protocol that runs one of two protocols of the same service. The configuration selects the
//! protocol, so the checker is compiled once for both.

use serde::{Deserialize, Serialize};
use tenure_algorithms::application::Application;
use tenure_core::{
    Effects, Group, Labelled, MessageLabel, PeerVerdict, ProcessId, Protocol, Term, TimerRole,
};

/// Combines two protocols `A` and `B`: a process runs either `A` or `B`. This type also combines
/// the configurations, saved states, messages and timers of the two protocols.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Either<A, B> {
    First(A),
    Second(B),
}

use Either::{First, Second};

impl<A, B> Either<A, B> {
    fn first(self) -> A {
        match self {
            First(value) => value,
            Second(_) => unreachable!("all processes run the first protocol"),
        }
    }

    fn second(self) -> B {
        match self {
            First(_) => unreachable!("all processes run the second protocol"),
            Second(value) => value,
        }
    }
}

impl<A: Labelled, B: Labelled> Labelled for Either<A, B> {
    fn label(&self) -> MessageLabel {
        match self {
            First(message) => message.label(),
            Second(message) => message.label(),
        }
    }
}

impl<A, B> Protocol for Either<A, B>
where
    A: Protocol,
    B: Protocol<Command = A::Command, Event = A::Event>,
{
    type Config = Either<A::Config, B::Config>;
    type Command = A::Command;
    type Event = A::Event;
    type Message = Either<A::Message, B::Message>;
    type Timer = Either<A::Timer, B::Timer>;
    type Stable = Either<A::Stable, B::Stable>;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        match config {
            First(config) => {
                First(A::boot(group, config, stable.map(Either::first), &mut in_first(fx)))
            }
            Second(config) => {
                Second(B::boot(group, config, stable.map(Either::second), &mut in_second(fx)))
            }
        }
    }

    fn stable(&self) -> Self::Stable {
        match self {
            First(process) => First(process.stable()),
            Second(process) => Second(process.stable()),
        }
    }

    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>) {
        match self {
            First(process) => process.on_command(command, &mut in_first(fx)),
            Second(process) => process.on_command(command, &mut in_second(fx)),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match self {
            First(process) => process.on_message(from, message.first(), &mut in_first(fx)),
            Second(process) => process.on_message(from, message.second(), &mut in_second(fx)),
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match self {
            First(process) => process.on_timer(timer.first(), &mut in_first(fx)),
            Second(process) => process.on_timer(timer.second(), &mut in_second(fx)),
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            First(timer) => A::timer_role(timer),
            Second(timer) => B::timer_role(timer),
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match self {
            First(process) => process.on_suspicion(peer, verdict, &mut in_first(fx)),
            Second(process) => process.on_suspicion(peer, verdict, &mut in_second(fx)),
        }
    }
}

impl<A, B> Application for Either<A, B>
where
    A: Application,
    B: Application<Command = A::Command, Event = A::Event>,
{
    fn on_leader_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        match self {
            First(process) => process.on_leader_elected(term, &mut in_first(fx)),
            Second(process) => process.on_leader_elected(term, &mut in_second(fx)),
        }
    }

    fn on_leader_deposed(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        match self {
            First(process) => process.on_leader_deposed(term, &mut in_first(fx)),
            Second(process) => process.on_leader_deposed(term, &mut in_second(fx)),
        }
    }
}

fn in_first<A, B>(fx: &mut impl Effects<Either<A, B>>) -> impl Effects<A>
where
    A: Protocol,
    B: Protocol<Command = A::Command, Event = A::Event>,
{
    fx.child_effects(First, First, Some)
}

fn in_second<A, B>(fx: &mut impl Effects<Either<A, B>>) -> impl Effects<B>
where
    A: Protocol,
    B: Protocol<Command = A::Command, Event = A::Event>,
{
    fx.child_effects(Second, Second, Some)
}
