//! Pauses of a process, and what its runner does after a pause.
//!
//! [`Pausable`] models the runner. During a pause, messages and due timers wait. Some timers
//! measure the silence of a peer. After the pause, a correct runner delivers the waiting messages
//! before it fires such timers. A runner with a known mistake fires the timers first.

use tenure_algorithms::detector::AdaptiveTimeoutDetector;
use tenure_algorithms::detector::heartbeat::Config;
use tenure_check::{Check, CheckReport};
use tenure_core::service::detector::{Command, Event};
use tenure_core::{
    Delay, Effects, Group, LocalTime, Monitor, Observation, PeerVerdict, ProcessId, Property,
    Protocol, TICKS_PER_TIME_UNIT, TimerRole, Violation,
};

use crate::catalogue::violates;

const P1: ProcessId = ProcessId(0);

/// A process together with its runner. Only P1 is paused, and only once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pausable<P: Protocol> {
    inner: P,
    is_stopped: bool,
    fires_first: bool,
    arrived: Vec<(ProcessId, P::Message)>,
    due: Vec<P::Timer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Timer<T> {
    Stop,
    Continue,
    Inner(T),
}

/// Effects of the paused process. `due` contains the timers that wait until the end of the pause.
/// If the process sets or cancels one of these timers, the timer is removed from `due`.
struct InnerEffects<'a, F, T> {
    fx: &'a mut F,
    due: &'a mut Vec<T>,
}

impl<P: Protocol<Stable = ()>, F: Effects<Pausable<P>>> Effects<P>
    for InnerEffects<'_, F, P::Timer>
{
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.fx.send(to, message);
    }

    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.due.retain(|due| *due != timer);
        self.fx.set_timer(Timer::Inner(timer), after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.due.retain(|due| *due != timer);
        self.fx.cancel_timer(Timer::Inner(timer));
    }

    fn emit(&mut self, event: P::Event) {
        self.fx.emit(event);
    }

    fn choose(&mut self, bound: u32) -> u32 {
        self.fx.choose(bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        self.fx.local_clock()
    }
}

impl<P: Protocol<Stable = ()>> Pausable<P> {
    fn fire_due(&mut self, which: impl Fn(TimerRole) -> bool, fx: &mut impl Effects<Self>) {
        while let Some(at) = self.due.iter().position(|timer| which(P::timer_role(timer))) {
            let timer = self.due.remove(at);
            self.inner.on_timer(timer, &mut InnerEffects { fx, due: &mut self.due });
        }
    }

    fn take_arrived(&mut self, fx: &mut impl Effects<Self>) {
        for (from, message) in std::mem::take(&mut self.arrived) {
            self.inner.on_message(from, message, &mut InnerEffects { fx, due: &mut self.due });
        }
    }
}

impl<P: Protocol<Stable = ()>> Protocol for Pausable<P> {
    type Config = (P::Config, bool);
    type Command = P::Command;
    type Event = P::Event;
    type Message = P::Message;
    type Timer = Timer<P::Timer>;
    type Stable = ();

    fn boot(
        group: Group,
        (config, fires_first): &Self::Config,
        _: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        if group.me() == P1 {
            fx.set_timer(Timer::Stop, Delay::between_time_units(0, 3));
        }
        let mut due = Vec::new();
        let inner = P::boot(group, config, None, &mut InnerEffects { fx, due: &mut due });
        let fires_first = *fires_first;
        Pausable { inner, is_stopped: false, fires_first, arrived: Vec::new(), due }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.inner.on_command(command, &mut InnerEffects { fx, due: &mut self.due });
    }

    fn on_message(&mut self, from: ProcessId, message: P::Message, fx: &mut impl Effects<Self>) {
        self.arrived.push((from, message));
        if !self.is_stopped {
            self.take_arrived(fx);
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Stop => {
                self.is_stopped = true;
                fx.set_timer(Timer::Continue, Delay::between_time_units(1, 4));
            }
            Timer::Continue => {
                self.is_stopped = false;
                self.fire_due(TimerRole::precedes_messages, fx);
                if self.fires_first {
                    self.fire_due(|_| true, fx);
                }
                self.take_arrived(fx);
                self.fire_due(|_| true, fx);
            }
            Timer::Inner(timer) => {
                self.due.push(timer);
                if !self.is_stopped {
                    self.fire_due(|_| true, fx);
                }
            }
        }
    }
}

/// Monitor that requires that the paused process never suspects its peer, which is live.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Accuracy;

impl Monitor<Command, Event> for Accuracy {
    fn property(&self) -> Property {
        Property::Custom("accuracy-after-a-pause")
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observation::Event(Event { peer, verdict: PeerVerdict::Suspect }) if at == P1 => {
                Err(Violation { at, message: format!("{at} suspects {peer}, which is up") })
            }
            _ => Ok(()),
        }
    }
}

fn paused(fires_first: bool) -> CheckReport {
    let (period, timeout) = (Delay::time_units(2), Delay::time_units(4).max);
    let config = Config {
        period,
        initial_timeout: timeout,
        increment: TICKS_PER_TIME_UNIT,
        max_timeout: timeout,
    };
    let check =
        Check::<Pausable<AdaptiveTimeoutDetector>>::with_protocol_config(2, (config, fires_first));
    check.synchronous(0..=1).always(Accuracy).run()
}

#[test]
fn paused_process_suspects_none_if_it_reads_first() {
    paused(false).assert_holds();
    violates(&paused(true), "accuracy-after-a-pause");
}
