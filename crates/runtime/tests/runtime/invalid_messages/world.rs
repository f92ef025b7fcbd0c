//! A simulated group of processes in virtual time. A test may alter the messages between the
//! processes. The validator then rejects the invalid messages.

use std::collections::BTreeMap;
use std::fmt;

use tenure_core::service::agreement::User;
use tenure_core::service::user::{ServiceUser, UserModelConfig};
use tenure_core::service::{election, mutex};
use tenure_core::{
    Agreement, Algorithm, EffectBuffer, Election, Environment, Group, Input, LocalTime, Mutex,
    PeerVerdict, ProcessId, Protocol, TICKS_PER_TIME_UNIT, TimerChange,
};
use tenure_runtime::Validator;

/// Random choices, which are the same on every machine for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(pub(crate) fastrand::Rng);

impl Environment for SplitMix64 {
    fn choose(&mut self, bound: u32) -> u32 {
        self.0.u32(0..bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime(0)
    }
}

/// User of a process, for services in which the next command depends on earlier events. For
/// instance, a user must end each use of a resource.
pub(crate) trait ProcessUser<P: Protocol>: fmt::Debug {
    /// Returns the next command of the user; `None` if the user can issue no command now.
    fn issue(&mut self) -> Option<P::Command>;

    fn record(&mut self, event: &P::Event);
}

impl<P: Agreement> ProcessUser<P> for User {
    fn issue(&mut self) -> Option<P::Command> {
        let command = self.next_command()?;
        self.on_command(&command);
        Some(command)
    }

    fn record(&mut self, event: &P::Event) {
        self.on_event(event);
    }
}

/// Function that creates the user of a process. The arguments are the process and the group size.
type NewUser<P> = fn(ProcessId, u32) -> Box<dyn ProcessUser<P>>;

const REQUESTS: u32 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Service<P: Protocol> {
    /// Function that creates the user of a process. `None` if all users issue the command `ask`.
    user: Option<NewUser<P>>,
    pub(crate) ask: P::Command,
    /// Command that ends a use of the service. The command `ask` begins the use. For a lock, `ask`
    /// enters and `leave` exits. `None` if a use need not be ended, as in an election.
    pub(crate) leave: Option<P::Command>,
    pub(crate) serves: fn(&P::Event) -> bool,
}

impl<P: Mutex> Service<P> {
    pub(crate) fn lock() -> Self {
        let serves = |event: &mutex::Event| matches!(event, mutex::Event::Entered { .. });
        let (ask, leave) = (mutex::Command::Enter, Some(mutex::Command::Exit));
        Service { user: None, ask, leave, serves }
    }
}

impl<P: Election> Service<P> {
    pub(crate) fn election() -> Self {
        let serves = |event: &election::Event| matches!(event, election::Event::Elected { .. });
        Service { user: None, ask: election::Command::Elect, leave: None, serves }
    }
}

impl<P: Agreement + Algorithm> Service<P> {
    /// Returns the service of an agreement algorithm. Returns `None` if the algorithm takes no
    /// commands from its users.
    pub(crate) fn agreement(config: &P::Config, size: u32) -> Option<Self> {
        use tenure_core::Service::{Drinking, Forum, Resources, Shares};
        let service = P::card(config, size).service;
        let user: Option<NewUser<P>> = match service {
            Drinking => Some(|at, size| user::<P>(Drinking, at, size)),
            Forum => Some(|at, size| user::<P>(Forum, at, size)),
            Resources => Some(|at, size| user::<P>(Resources, at, size)),
            Shares => Some(|at, size| user::<P>(Shares, at, size)),
            _ => None,
        };
        let ask = User::first_command(&UserModelConfig {
            service,
            at: ProcessId(0),
            size,
            work_count: 1,
        })?;
        Some(Service { user, ask, leave: None, serves: |_| true })
    }
}

fn user<P: Agreement>(
    service: tenure_core::Service,
    at: ProcessId,
    size: u32,
) -> Box<dyn ProcessUser<P>> {
    Box::new(User::new(&UserModelConfig { service, at, size, work_count: REQUESTS }))
}

#[derive(Clone, Debug)]
pub(crate) enum Due<P: Protocol> {
    Message { from: ProcessId, to: ProcessId, message: P::Message },
    Timer(ProcessId, P::Timer),
    Ask(ProcessId),
    Leave(ProcessId),
}

/// A process, with the validator and the saved state that a real node would keep for it.
#[derive(Clone, Debug)]
pub(crate) struct Member<P: Protocol> {
    pub(crate) process: P,
    pub(crate) validator: Validator,
    saved: Option<P::Stable>,
    /// True if the process has stopped. A process stops when the validator rejects its new state.
    /// The state is then not saved.
    pub(crate) stopped: bool,
    served: u32,
}

#[derive(Debug)]
pub(crate) struct World<P: Protocol> {
    config: P::Config,
    service: Service<P>,
    pub(crate) members: Vec<Member<P>>,
    /// Users of the processes. Empty if all users issue the command of the service.
    users: Vec<Box<dyn ProcessUser<P>>>,
    due: BTreeMap<(u64, u64), Due<P>>,
    timers: BTreeMap<(ProcessId, P::Timer), (u64, u64)>,
    now: u64,
    number: u64,
    batch: EffectBuffer<P, SplitMix64>,
}

impl<P: Protocol> World<P> {
    /// Boots all processes with their saved states. The user of each process issues its first
    /// command.
    pub(crate) fn boot(
        size: u32,
        config: P::Config,
        service: Service<P>,
        saved: Vec<Option<P::Stable>>,
        seed: u64,
    ) -> Self {
        let new_batch = || EffectBuffer::new(SplitMix64(fastrand::Rng::with_seed(seed)));
        let user = service
            .user
            .into_iter()
            .flat_map(|user| (0..size).map(move |at| user(ProcessId(at), size)));
        let mut world = World {
            users: user.collect(),
            config,
            service,
            members: Vec::new(),
            due: BTreeMap::new(),
            timers: BTreeMap::new(),
            now: 0,
            number: 0,
            batch: new_batch(),
        };
        for (place, saved) in saved.into_iter().enumerate() {
            let at = ProcessId::from_index(place);
            let mut validator = Validator::new(size);
            if let Some(stable) = &saved {
                validator.check_state(stable).expect("a saved state is valid");
            }
            world.batch = new_batch();
            let group = Group::new(at, size);
            let process = P::boot(group, &world.config, saved.clone(), &mut world.batch);
            world.members.push(Member { process, validator, saved, stopped: false, served: 0 });
            world.release(at);
            world.after(TICKS_PER_TIME_UNIT, Due::Ask(at));
        }
        world
    }

    /// Crashes all processes and boots them again. If `survives` is true, the processes keep their
    /// saved states.
    pub(crate) fn restarted(self, survives: bool, seed: u64) -> Self {
        let saved = self.members.into_iter().map(|member| member.saved.filter(|_| survives));
        let saved = saved.collect::<Vec<_>>();
        let size = u32::try_from(saved.len()).expect("a small group");
        World::boot(size, self.config, self.service, saved, seed)
    }

    pub(crate) fn next(&mut self) -> Option<Due<P>> {
        let ((time, _), due) = self.due.pop_first()?;
        self.now = time;
        if let Due::Timer(at, timer) = &due {
            self.timers.remove(&(*at, timer.clone()));
        }
        Some(due)
    }

    /// Performs an event, unless validation rejects it.
    pub(crate) fn perform(&mut self, due: Due<P>) {
        match due {
            Due::Message { from, to, message } => {
                if self.members[to.index()].validator.check_message(&message).is_ok() {
                    self.step(to, Input::Message { from, message });
                }
            }
            Due::Timer(at, timer) => self.step(at, Input::Timer(timer)),
            Due::Ask(at) => {
                let command = match self.users.get_mut(at.index()) {
                    Some(_) if self.members[at.index()].stopped => None,
                    Some(user) => user.issue(),
                    None => Some(self.service.ask.clone()),
                };
                if let Some(command) = command {
                    self.step(at, Input::Command(command));
                }
            }
            Due::Leave(at) => {
                if let Some(command) = self.service.leave.clone() {
                    self.step(at, Input::Command(command));
                    self.after(TICKS_PER_TIME_UNIT, Due::Ask(at));
                }
            }
        }
    }

    pub(crate) fn is_served(&self, times: u32) -> bool {
        self.members.iter().all(|member| member.served >= times)
    }

    /// Runs for at most `steps` steps. Returns true if each user was served `times` times.
    pub(crate) fn serves(&mut self, times: u32, steps: usize) -> bool {
        for _ in 0..steps {
            if self.is_served(times) {
                return true;
            }
            let Some(due) = self.next() else { break };
            self.perform(due);
        }
        self.is_served(times)
    }

    /// Lets all processes suspect each other for a moment, as happens when nodes start one after
    /// another.
    pub(crate) fn suspect_all(&mut self) {
        let all: Vec<ProcessId> = (0..self.members.len()).map(ProcessId::from_index).collect();
        for verdict in [PeerVerdict::Suspect, PeerVerdict::Trust] {
            for (at, peer) in all.iter().flat_map(|at| all.iter().map(move |peer| (*at, *peer))) {
                if at != peer {
                    self.step(at, Input::Suspicion { peer, verdict });
                }
            }
        }
    }

    fn step(&mut self, at: ProcessId, input: Input<P>) {
        let member = &mut self.members[at.index()];
        if member.stopped {
            return;
        }
        member.process.step(input, &mut self.batch);
        self.release(at);
    }

    fn release(&mut self, at: ProcessId) {
        let member = &mut self.members[at.index()];
        let stable = member.process.stable();
        if size_of::<P::Stable>() > 0 && member.saved.as_ref() != Some(&stable) {
            member.stopped = member.validator.check_state(&stable).is_err();
            if member.stopped {
                self.batch = EffectBuffer::new(self.batch.environment.clone());
                return;
            }
            member.saved = Some(stable);
        }
        let messages: Vec<_> = self.batch.messages.drain(..).collect();
        let timers: Vec<_> = self.batch.timers.drain(..).collect();
        let events: Vec<_> = self.batch.events.drain(..).collect();
        for (to, message) in messages {
            if to != at {
                self.after(TICKS_PER_TIME_UNIT / 2, Due::Message { from: at, to, message });
            }
        }
        for change in timers {
            let (timer, after) = match change {
                TimerChange::Set(timer, after) => (timer, Some(after)),
                TimerChange::Cancel(timer) => (timer, None),
            };
            if let Some(armed) = self.timers.remove(&(at, timer.clone())) {
                self.due.remove(&armed);
            }
            if let Some(after) = after {
                let ticks = self.batch.environment.0.u64(after.min..=after.max);
                let key = self.after(ticks, Due::Timer(at, timer.clone()));
                self.timers.insert((at, timer), key);
            }
        }
        for event in events {
            if let Some(user) = self.users.get_mut(at.index()) {
                user.record(&event);
                self.after(TICKS_PER_TIME_UNIT, Due::Ask(at));
            }
            if (self.service.serves)(&event) {
                self.members[at.index()].served += 1;
                self.after(TICKS_PER_TIME_UNIT, Due::Leave(at));
            }
        }
    }

    fn after(&mut self, ticks: u64, due: Due<P>) -> (u64, u64) {
        self.number += 1;
        let key = (self.now + ticks, self.number);
        self.due.insert(key, due);
        key
    }
}
